"""Step 5: how many pixels of a group represent it, and which (paper III-E)."""

from typing import NamedTuple

import numpy as np

from formats.errors import UserError
from zatel.divide import section_blocks
from zatel.quantise import QuantisedHeatmap

LEAST_FRACTION = 0.3  # below, errors were intolerable; above the other, accuracy gained little (paper III-E)
MOST_FRACTION = 0.6


class Selection(NamedTuple):
    """The representative pixels of one group.

    pixels     bool[height, width].
    fraction   selected pixels divided by the pixels of the group: what extrapolation divides by.
    """

    pixels: np.ndarray
    fraction: float


def wanted_fraction(coldness: np.ndarray) -> float:
    """P of equation (1): the mean coldness c_i of the group's pixels, float64[M], kept within 0.3 and 0.6."""
    return float(np.clip(np.mean(coldness), LEAST_FRACTION, MOST_FRACTION))


def check_fraction(fraction: float | None) -> None:
    """``UserError`` unless the constant fraction, when there is one, lies in (0, 1]."""
    if fraction is not None and not 0.0 < fraction <= 1.0:
        raise UserError(f"--fraction must be greater than 0 and at most 1, not {fraction:g}")


def select(
    heatmap: QuantisedHeatmap, groups: np.ndarray, group: int, seed: int, fraction: float | None = None
) -> Selection:
    """Choose section blocks of one group at random, in the colours' own proportion (uniform distribution).

    ``groups`` is int32[height, width] as ``divide`` gives it. ``fraction`` replaces equation (1) when given. The choice
    depends on ``seed`` and ``group`` only. A block has the colour that most of its pixels have (the released code takes
    its top-left pixel's); a colour's share is its share of the group's pixels; whole blocks are taken, as few as reach
    the fraction; when a colour has too few, blocks of other colours, drawn at random, make up for it.
    """
    check_fraction(fraction)
    members = groups == group
    labels = heatmap.labels[members]
    share = wanted_fraction(heatmap.coldness[labels]) if fraction is None else fraction
    height, width = groups.shape
    blocks = section_blocks(width, height)
    names, colour_of_block = _block_colours(blocks[members], labels, len(heatmap.colours))
    wanted = min(len(names), int(np.ceil(share * len(names) - 1e-9)))
    quota = apportion(np.bincount(labels, minlength=len(heatmap.colours)), wanted)
    chosen = _choose(colour_of_block, quota, np.random.default_rng([seed, group]))
    pixels = members & np.isin(blocks, names[chosen])
    return Selection(pixels, float(pixels.sum() / members.sum()))


def _block_colours(blocks: np.ndarray, labels: np.ndarray, colours: int) -> tuple[np.ndarray, np.ndarray]:
    """The group's blocks and the colour that most pixels of each have, the colder one when two tie."""
    names, index = np.unique(blocks, return_inverse=True)
    counts = np.bincount(index * colours + labels, minlength=len(names) * colours).reshape(len(names), colours)
    return names, counts.argmax(axis=1)


def apportion(weights: np.ndarray, total: int) -> np.ndarray:
    """int64[n]: ``total`` split in proportion to ``weights``, int64[n], each within one of its share."""
    parts, remainders = np.divmod(weights * total, weights.sum())
    order = np.argsort(-remainders, kind="stable")
    parts[order[: total - parts.sum()]] += 1
    return parts


def _choose(colour_of_block: np.ndarray, quota: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Sorted indices of the chosen blocks: ``quota`` of each colour, and random others for what a colour lacks."""
    chosen = []
    for colour, count in enumerate(quota):
        candidates = np.flatnonzero(colour_of_block == colour)
        chosen.append(random.choice(candidates, min(int(count), len(candidates)), replace=False))
    taken = np.concatenate(chosen)
    others = np.setdiff1d(np.arange(len(colour_of_block)), taken)
    missing = int(quota.sum()) - len(taken)
    return np.sort(np.concatenate([taken, random.choice(others, missing, replace=False)]))
