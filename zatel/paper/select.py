"""Step 5: select the representative pixels of a group (Zatel III-E).

Rules of the released code, by their names in ``options.DEPARTURES``, are in ``released``.
"""

from typing import NamedTuple

import numpy as np

from rayplay.formats.guard import exact
from rayplay.zatel.paper import released
from rayplay.zatel.paper.divide import section_blocks
from rayplay.zatel.paper.options import Options
from rayplay.zatel.paper.quantise import QuantisedHeatmap

AMPLIFICATION = 5  # the power of equation (3)


class Selection(NamedTuple):
    """The representative pixels of one group.

    pixels     bool[height, width].
    fraction   selected pixels divided by the pixels of the group: what extrapolation divides by.
    """

    pixels: np.ndarray
    fraction: float


def wanted_fraction(coldness: np.ndarray, bounds: tuple[float, float] = (0.3, 0.6)) -> float:
    """P of equation (1): the mean coldness c_i of the group's pixels, float64[M], kept within ``bounds``.

    Below 0.3 the paper found intolerable errors, above 0.6 little gain.
    """
    return float(np.clip(np.mean(coldness), *bounds))


def select(
    heatmap: QuantisedHeatmap, groups: np.ndarray, group: int, options: Options, fraction: float | None = None
) -> Selection:
    """Choose section blocks of one group at random, each colour by its share of the distribution.

    ``groups`` is int32[height, width] from ``divide``. ``fraction`` overrides the options' fraction. The choice depends
    on the seed of the options and ``group`` only. A block has the colour of most of its pixels. Whole blocks are taken,
    the fewest that reach the fraction. When a colour has too few blocks, others drawn at random replace them.
    """
    members = groups == group
    labels = heatmap.labels[members]
    share = _share(heatmap, labels, options) if fraction is None else fraction
    names, first, index = np.unique(section_blocks(members, options.block), return_index=True, return_inverse=True)
    if "corner-colour" in options.departures:
        colour_of_block = labels[first]
    else:
        colour_of_block = _block_colours(index, labels, len(heatmap.colours))
    quota = _quota(heatmap, labels, len(names), share, options)
    random = np.random.default_rng([options.seed, group])
    choose = released.choose_cold_first if "cold-first" in options.departures else choose_with_others
    chosen = choose(colour_of_block, quota, random)
    y, x = np.nonzero(members)
    order = np.argsort(index, kind="stable")  # the group's pixels, block after block
    bounds = np.searchsorted(index[order], np.arange(len(names) + 1))
    taken = np.concatenate([order[bounds[block] : bounds[block + 1]] for block in chosen] or [order[:0]])
    recorded = len(taken) / len(labels)
    if "lost-tail" in options.departures:
        return Selection(released.read_back(x[taken], y[taken], groups.shape), recorded)
    pixels = np.zeros(groups.shape, bool)
    pixels[y[taken], x[taken]] = True
    return Selection(pixels, recorded)


def _share(heatmap: QuantisedHeatmap, labels: np.ndarray, options: Options) -> float:
    """Fraction of the group's pixels to take: the options' constant, or from the colours."""
    if options.fraction is not None:
        return options.fraction
    if "warm-fraction" in options.departures:
        return released.warm_fraction(1.0 - heatmap.coldness[labels])
    return wanted_fraction(heatmap.coldness[labels], options.bounds)


def _quota(heatmap: QuantisedHeatmap, labels: np.ndarray, blocks: int, share: float, options: Options) -> np.ndarray:
    """int64[colours]: number of the group's ``blocks`` due to each colour."""
    everywhere = heatmap.labels.ravel() if "image-shares" in options.departures else labels
    counted = everywhere if options.distribution == "uniform" else labels
    counts = np.bincount(counted, minlength=len(heatmap.colours))
    weights = colour_weights(counts, heatmap.coldness, options.distribution)
    if "colour-shares" in options.departures and options.distribution != "uniform":
        power = AMPLIFICATION if options.distribution == "exptmp" else 1
        weights = released.colour_shares(1.0 - heatmap.coldness, power, len(labels))
    if "extra-block" in options.departures:
        return released.extra_block(weights, len(labels), share, options.block)
    return apportion(weights, min(blocks, int(np.ceil(share * blocks - 1e-9))))


def colour_weights(counts: np.ndarray, coldness: np.ndarray, distribution: str) -> np.ndarray:
    """float64[colours]: p_j of each colour, up to their sum.

    counts  int64[colours], pixels of each colour; the uniform distribution takes them as they are. Equation (2) adds up
    the warmth c'_j = 1 - c_j of a colour's pixels. Equation (3) is printed with c_j, but amplifies "each color's
    weight", which is c'_j.
    """
    if distribution == "uniform":
        return counts.astype(np.float64)
    raised = [exact.power(1.0 - cold, AMPLIFICATION if distribution == "exptmp" else 1) for cold in coldness.tolist()]
    return counts * np.array(raised)


def _block_colours(index: np.ndarray, labels: np.ndarray, colours: int) -> np.ndarray:
    """The colour that most pixels of each block have, the colder one when two tie; ``index`` is each pixel's block."""
    blocks = int(index.max()) + 1
    return np.bincount(index * colours + labels, minlength=blocks * colours).reshape(blocks, colours).argmax(axis=1)


def apportion(weights: np.ndarray, total: int) -> np.ndarray:
    """int64[n]: ``total`` split in proportion to ``weights`` by largest remainders, each within one of its share."""
    shares = weights * total / weights.sum()
    parts = np.floor(shares).astype(np.int64)
    order = np.argsort(parts - shares, kind="stable")
    parts[order[: total - parts.sum()]] += 1
    return parts


def choose_with_others(colour_of_block: np.ndarray, quota: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Sorted indices of the chosen blocks: ``quota`` of each colour, and random others for what a colour lacks."""
    chosen = []
    for colour, count in enumerate(quota):
        candidates = np.flatnonzero(colour_of_block == colour)
        chosen.append(random.choice(candidates, min(int(count), len(candidates)), replace=False))
    taken = np.concatenate(chosen)
    others = np.setdiff1d(np.arange(len(colour_of_block)), taken)
    missing = min(int(quota.sum()) - len(taken), len(others))
    return np.sort(np.concatenate([taken, random.choice(others, missing, replace=False)]))
