"""Windows of a schedule: spans of time that hold equally many requests."""

from collections.abc import Iterator

import numpy as np

WINDOWS = 128  # so short that a slice which is busy for a while shows, so long that thousands of requests are in each
BINS = 1 << 14
AT_ONCE = 1 << 21


def window_bounds(time: np.ndarray) -> np.ndarray:
    """Times of the first request of each window but the first, float64[WINDOWS - 1]; windows hold equally many.

    time  float64[requests], finite; its hundreds of millions are neither copied nor sorted as a whole: bins of equal
          width are counted, and the times of those bins alone are sorted that hold a bound.
    """
    if not len(time):
        return np.zeros(0)
    rank = np.minimum(-(-np.arange(1, WINDOWS) * len(time) // WINDOWS), len(time) - 1)
    low, width = time.min(), (time.max() - time.min()) / BINS or 1.0
    counts = np.zeros(BINS, np.int64)
    for _, bins in _binned(time, low, width):
        counts += np.bincount(bins, minlength=BINS)
    before = np.cumsum(counts) - counts
    holding = np.unique(np.searchsorted(before, rank, side="right") - 1)
    wanted = np.zeros(BINS, bool)
    wanted[holding] = True
    found = np.sort(np.concatenate([part[wanted[bins]] for part, bins in _binned(time, low, width)]))
    skipped = np.cumsum(np.where(wanted, 0, counts))  # times of lower bins that were not sorted
    return found[rank - skipped[np.searchsorted(before, rank, side="right") - 1]]


def _binned(time: np.ndarray, low: float, width: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Parts of the times, and the bin of each time."""
    for begin in range(0, len(time), AT_ONCE):
        part = time[begin : begin + AT_ONCE]
        yield part, np.minimum((part - low) / width, BINS - 1).astype(np.int64)
