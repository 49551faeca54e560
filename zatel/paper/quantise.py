"""Step 2: merge similar temperature colours into a few, and rate their coldness (Zatel III-B and III-E)."""

import colorsys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.cluster.vq import ClusterError, kmeans2

COLOURS = 5
ATTEMPTS = 4
ITERATIONS = 30

# The paper shifts the hue so that 0 is hot and 1 is cold but does not say by how much. The released code adds 0.14 of
# a turn (docs/sources/zatel-code.md#quantise): the gradient's hottest colour (145, 0, 65), hue 0.925, becomes 0.065 and
# its coldest (0, 2, 91), hue 0.663, becomes 0.803. Without the shift magenta would be colder than blue.
HUE_SHIFT = 0.14


class QuantisedHeatmap(NamedTuple):
    """A heatmap in few colours.

    labels    int32[height, width], the colour of each pixel, 0 the coldest.
    colours   float64[n, 3], red, green and blue in [0, 1] of each.
    coldness  float64[n], c_i of equation (1): 0 hot, 1 cold; never increasing.
    """

    labels: np.ndarray
    colours: np.ndarray
    coldness: np.ndarray


def quantise(colour: np.ndarray, colours: int = COLOURS, seed: int | Sequence[int] = 1) -> QuantisedHeatmap:
    """K-means of the pixels' colours, float64[height, width, 3], into at most ``colours`` of them.

    Fewer when the heatmap has fewer distinct colours. The best of a few seeded starts is taken, so the same picture and
    seed give the same labels. The whole image is quantised once, as Zatel Fig. 3 shows; the released code repeats
    it for every group.
    """
    points = colour.reshape(-1, 3)
    distinct = np.unique(points, axis=0)
    if len(distinct) <= colours:
        return _by_coldness(points, distinct, colour.shape[:2])
    seeds = np.random.SeedSequence(seed).spawn(ATTEMPTS)
    found = [_cluster(points, colours, np.random.default_rng(attempt)) for attempt in seeds]
    centres = min(found, key=lambda centres: _distortion(points, centres))
    return _by_coldness(points, centres, colour.shape[:2])


def _cluster(points: np.ndarray, colours: int, random: np.random.Generator) -> np.ndarray:
    """Centres of one run of k-means; an empty cluster means that fewer colours suffice."""
    for count in range(colours, 1, -1):
        try:
            return kmeans2(points, count, iter=ITERATIONS, minit="++", missing="raise", rng=random)[0]
        except ClusterError:
            continue
    return points.mean(axis=0, keepdims=True)


def _distortion(points: np.ndarray, centres: np.ndarray) -> float:
    return float(_square_distances(points, centres).min(axis=1).sum())


def _square_distances(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """float64[points, centres]"""
    return np.stack([((points - centre) ** 2).sum(axis=1) for centre in centres], axis=1)


def _by_coldness(points: np.ndarray, centres: np.ndarray, shape: tuple[int, ...]) -> QuantisedHeatmap:
    """Number the centres from cold to hot and give each pixel its nearest one."""
    coldness = shifted_hue(centres)
    order = np.lexsort((*centres.T, -coldness))
    centres = centres[order]
    labels = _square_distances(points, centres).argmin(axis=1).astype(np.int32)
    return QuantisedHeatmap(labels.reshape(shape), centres, coldness[order])


def shifted_hue(colours: np.ndarray) -> np.ndarray:
    """float64[n]: the hue of each colour, in turns, plus ``HUE_SHIFT``, modulo 1: how cold it is (Zatel III-E)."""
    hues = [colorsys.rgb_to_hsv(*map(float, colour))[0] for colour in colours]
    return (np.array(hues) + HUE_SHIFT) % 1.0
