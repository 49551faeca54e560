"""Windows of a schedule: spans of time that hold equally many requests."""

import numpy as np

from rayplay.zatel.model.follow import loop

WINDOWS = 128  # so short that a slice which is busy for a while shows, so long that thousands of requests are in each
BINS = 1 << 14


def window_bounds(time: np.ndarray) -> np.ndarray:
    """Times of the first request of each window but the first, float64[WINDOWS - 1]; windows hold equally many.

    time  float64[requests], finite; its hundreds of millions are neither copied nor sorted as a whole: bins of equal
          width are counted, and the times of those bins alone are sorted that hold a bound.
    """
    if not len(time):
        return np.zeros(0)
    rank = np.minimum(-(-np.arange(1, WINDOWS) * len(time) // WINDOWS), len(time) - 1)
    low, width = time.min(), (time.max() - time.min()) / BINS or 1.0
    counts = count(time, low, width, BINS)
    before = np.cumsum(counts) - counts
    holding = np.unique(np.searchsorted(before, rank, side="right") - 1)
    wanted = np.zeros(BINS, bool)
    wanted[holding] = True
    found = np.sort(times_of(time, low, width, wanted, int(counts[wanted].sum())))
    skipped = np.cumsum(np.where(wanted, 0, counts))  # times of lower bins that were not sorted
    return found[rank - skipped[np.searchsorted(before, rank, side="right") - 1]]


@loop
def count(time: np.ndarray, low: float, width: float, bins: int) -> np.ndarray:
    """Times of each bin, int64[bins]."""
    counts = np.zeros(bins, np.int64)
    for one in time:
        counts[min(int((one - low) / width), bins - 1)] += 1
    return counts


@loop
def times_of(time: np.ndarray, low: float, width: float, wanted: np.ndarray, total: int) -> np.ndarray:
    """The ``total`` times of the bins ``wanted``, bool[bins]."""
    found = np.empty(total)
    taken = 0
    for one in time:
        if wanted[min(int((one - low) / width), wanted.size - 1)]:
            found[taken] = one
            taken += 1
    return found
