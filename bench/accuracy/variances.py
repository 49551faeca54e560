"""Variance estimators of a stratified sample with one CTA a stratum, by enumeration of all samples of small frames.

    python -m bench.accuracy.variances TRACE [TRACE ...]

A frame is a run of consecutive CTAs of a launch, cut into strata of equal size; every possible sample is drawn. Whole
launches, cut into as many strata as an estimate has, follow with some thousand random samples each. The estimate is a
ratio of two known sums of the CTAs, so the truth is known. Prints per estimator the mean of its variance over the true
mean squared error, the share of samples whose 95 % interval holds the truth, and the mean half width in per cent:
successive differences (``zatel.sample.intervals``), the delete-one jackknife, and the jackknife that deletes one of two
CTAs of neighbouring strata and counts the other twice (a group within a stratum of two).
"""

import argparse
from itertools import product
from pathlib import Path

import numpy as np

from rayplay.formats.dataset.reader import open_trace
from rayplay.zatel.model.sizes import read_sizes
from rayplay.zatel.sample.estimate import auxiliary
from rayplay.zatel.sample.intervals import STRATA, quantile

FRAMES = ((8, 3), (12, 2))  # strata of a frame, and CTAs of a stratum
DRAWN = 4000
NAMES = ("successive differences", "delete-one jackknife", "delete-a-group jackknife")
RATIOS = {"steps / instructions": (0, 3), "records / steps": (2, 0), "records / instructions": (2, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=Path, metavar="TRACE")
    arguments = parser.parse_args()
    known = []
    for path in arguments.traces:
        trace = open_trace(path)
        cta = np.unique(trace.read("warps", ["cta_id"])["cta_id"], return_inverse=True)[1]
        known.append(auxiliary(read_sizes(trace), cta))
    for strata, size in FRAMES:
        count = strata * size
        frames = [all_of[at : at + count] for all_of in known for at in range(0, len(all_of) - count + 1, count)]
        print(f"{len(frames)} frames of {strata} strata of {size} CTAs, {size**strata:,} samples each")
        report(frames, np.array(list(product(range(size), repeat=strata))) + size * np.arange(strata))
    frames = [all_of[: len(all_of) // STRATA * STRATA] for all_of in known]
    print(f"{len(frames)} whole launches of {STRATA} strata, {DRAWN:,} samples each")
    for size in {len(frame) // STRATA for frame in frames}:
        inside = np.random.default_rng(1).integers(0, size, (DRAWN, STRATA))
        report([frame for frame in frames if len(frame) == size * STRATA], inside + size * np.arange(STRATA))


def report(frames: list[np.ndarray], chosen: np.ndarray) -> None:
    """Print a line per ratio and estimator: means over the frames."""
    for name, (above, below) in RATIOS.items():
        found = [judge(frame[:, above], frame[:, below], chosen) for frame in frames]
        bias, covered, width = np.mean([one for one in found if one is not None], axis=0)
        for row, estimator in enumerate(NAMES):
            shown = f"variance {bias[row]:.2f}, covered {100 * covered[row]:.1f} %, half width {100 * width[row]:.1f}"
            print(f"  {name}, {estimator}: {shown}")


def judge(above: np.ndarray, below: np.ndarray, chosen: np.ndarray) -> np.ndarray | None:
    """Variance / mean squared error, coverage and relative half width of each estimator, float64[3, estimators].

    chosen  int64[samples, strata], the CTA of each stratum.

    None for a frame whose ratio is the same in all samples.
    """
    strata = chosen.shape[1]
    size = len(above) // strata
    y, x = above[chosen], below[chosen]
    ratio = y.sum(axis=1) / x.sum(axis=1)
    truth, left = above.sum() / below.sum(), 1.0 - 1.0 / size
    off = y - ratio[:, None] * x
    scale = x.sum(axis=1)
    successive = strata / (2 * (strata - 1)) * (np.diff(off, axis=1) ** 2).sum(axis=1) / scale**2
    without = (y.sum(axis=1)[:, None] - y) / (scale[:, None] - x)
    one = (strata - 1) / strata * ((without - ratio[:, None]) ** 2).sum(axis=1)
    more = y[:, ::2] - y[:, 1::2], x[:, ::2] - x[:, 1::2]  # the first twice, the second not at all
    doubled = (y.sum(axis=1)[:, None] + more[0]) / (scale[:, None] + more[1])
    group = ((doubled - ratio[:, None]) ** 2).sum(axis=1)
    squared = ((ratio - truth) ** 2).mean()
    if squared <= 1e-12 * truth**2:
        return None
    variances = np.array([successive, one, group]) * left
    degrees = strata - 1, strata - 1, strata // 2
    half = np.array([quantile(free) for free in degrees])[:, None] * np.sqrt(variances)
    covered = (np.abs(ratio - truth) <= half).mean(axis=1)
    return np.array([variances.mean(axis=1) / squared, covered, half.mean(axis=1) / truth])


if __name__ == "__main__":
    main()
