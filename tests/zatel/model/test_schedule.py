"""The schedule of warps, worked out by hand."""

import numpy as np

from rayplay.zatel.model.schedule import Machine, Phases, moments, schedule


def phases(*warps: list[int]) -> Phases:
    length = np.array([length for warp in warps for length in warp])
    return Phases(np.cumsum([0, *map(len, warps)]), length, np.arange(len(warps) + 1))


def test_a_schedule_by_hand() -> None:
    # One SM of two places, an RT unit of one warp. The first two warps ask at 2 and at 3; the second waits until 7. The
    # first one's last access ends at 8; the third takes its place, asks at 9 and waits until 10.
    warps = phases([2, 5, 1, 0], [3, 3], [1, 4])
    every = np.ones(3, bool)
    found = schedule(warps, every, Machine(1, 1, 2, 1))
    assert found.begins.tolist() == [0, 2, 7, 8, 0, 7, 8, 10]
    assert found.place.tolist() == [0, 1, 0]
    assert (found.steps, found.resident) == (14, (8 + 10 + 6) / 14)
    # With room for both in the RT unit no warp waits, and an access of two steps ends later.
    assert schedule(warps, every, Machine(1, 1, 2, 2), 2.0).begins.tolist() == [0, 4, 9, 11, 0, 6, 9, 11]
    # Two SMs: the third warp goes to the place that is free first. Only the chosen warps count.
    assert schedule(warps, every, Machine(2, 1, 1, 1)).begins.tolist() == [0, 2, 7, 8, 0, 3, 6, 7]
    assert schedule(warps, np.array([False, True, True]), Machine(1, 1, 1, 1)).begins.tolist() == [0] * 5 + [3, 6, 7]
    requests, step = np.array([3, 2, 0]), np.array([0, 2, 7, 3, 5])
    assert moments(warps, found.begins, 1.0, every, requests, step).tolist() == [0, 2, 7, 7, 9]
