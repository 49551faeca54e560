"""Points of the study: for each scene a list of predictions, each a study's name, a GPU and options."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import product

from rayplay.zatel.paper.options import DISTRIBUTIONS, DIVISIONS, Options

MOBILE, RTX = "mobile", "rtx2060"
GPUS = (MOBILE, RTX)
STUDIES = ("whole", "fractions", "regression", "downscaling", "tuning")
BLOCKS = ((32, 1), (32, 2), (32, 16), (32, 32))  # Zatel IV-C


@dataclass(frozen=True)
class Point:
    """One prediction of one scene."""

    study: str
    gpu: str
    options: Options


@dataclass(frozen=True)
class Extent:
    """Extent of a study.

    fractions        of the pixels, without downscaling, on both GPUs (Figs. 13 to 16).
    factors          K on RTX 2060, with all pixels, fine and coarse (Figs. 17 to 19).
    subset           scenes of Fig. 17; Fig. 18 has all.
    tuned            scenes of Table III, from cold to warm.
    only_whole       scenes that are only predicted as a whole (Figs. 10 and 11).
    tuning_fractions, tuning_seeds  of Table III.
    """

    fractions: tuple[float, ...]
    factors: tuple[int, ...]
    subset: tuple[str, ...]
    tuned: tuple[str, ...]
    tuning_fractions: tuple[float, ...]
    tuning_seeds: int
    only_whole: tuple[str, ...] = ()


SATURATING = ("park", "bath", "spnza", "bunny", "ref")
WHOLE = Extent(
    fractions=tuple(tenths / 10 for tenths in range(1, 10)),
    factors=(2, 3, 4, 5, 6),
    subset=SATURATING,
    tuned=("chsnt", "wknd", "bunny"),
    tuning_fractions=(0.02, 0.03, 0.04),
    tuning_seeds=5,
)
QUICK = Extent(
    fractions=(0.1, 0.2, 0.3, 0.4, 0.7),
    factors=(2, 6),
    subset=SATURATING,
    tuned=("car", "wknd", "bunny"),
    tuning_fractions=(0.04,),
    tuning_seeds=2,
    only_whole=("park",),
)


def points_of(scene: str, extent: Extent, studies: Collection[str] = STUDIES) -> list[Point]:
    """Predictions of one scene for the requested studies, in the order of the paper's figures."""
    points = list(_whole())
    if scene not in extent.only_whole:
        points += [*_fractions(extent), *_regression(), *_downscaling(extent)]
        points += _tuning(extent) if scene in extent.tuned else []
    return [point for point in points if point.study in studies]


def _whole() -> Iterator[Point]:
    """Zatel IV-B: everything together, with equation (1) and with a tenth of the pixels (Figs. 10 and 11)."""
    for gpu, fraction in product(GPUS, (None, 0.1)):
        yield Point("whole", gpu, Options(fraction=fraction))


def _fractions(extent: Extent) -> Iterator[Point]:
    """Zatel IV-D: a part of the pixels on the whole GPU (Figs. 13 to 16)."""
    for gpu, fraction in product(GPUS, extent.fractions):
        yield Point("fractions", gpu, Options(factor=1, fraction=fraction))


def _regression() -> Iterator[Point]:
    """Zatel IV-F: the exponential through 20, 30 and 40 % (Fig. 20); its replays are shared with ``_fractions``."""
    for gpu in GPUS:
        yield Point("regression", gpu, Options(factor=1, extrapolation="regression"))


def _downscaling(extent: Extent) -> Iterator[Point]:
    """Zatel IV-E: all pixels, in K groups on GPUs K times smaller (Figs. 17 to 19)."""
    for division, factor in product(DIVISIONS, extent.factors):
        yield Point("downscaling", RTX, Options(factor=factor, division=division, fraction=1.0))


def _tuning(extent: Extent) -> Iterator[Point]:
    """Zatel IV-C: distributions and block sizes at very few pixels, averaged over seeds (Table III)."""
    seeds = range(1, extent.tuning_seeds + 1)
    for distribution, block, fraction, seed in product(DISTRIBUTIONS, BLOCKS, extent.tuning_fractions, seeds):
        options = Options(factor=1, fraction=fraction, distribution=distribution, block=block, seed=seed)
        yield Point("tuning", RTX, options)
