"""The schedule of a launch: by hand, and laws that hold for any launch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayplay.tuner.schedule import launch_cycles, slowed

LAUNCHES = st.tuples(
    st.lists(st.tuples(st.floats(1, 100), st.floats(0, 1)), min_size=1, max_size=12),
    st.integers(1, 40), st.integers(1, 4), st.integers(1, 5),
)  # fmt: skip


def cycles(alone: list[float], share: list[float], blocks: int, cores: int, resident: int, step: int = 1) -> float:
    times = np.array(alone, np.float64)[:, None]
    return float(launch_cycles(times, times * np.array(share)[:, None], blocks, step, cores, resident))


@pytest.mark.parametrize(
    ("alone", "share", "blocks", "cores", "resident", "expected"),
    [
        ([10.0], [0.0], 6, 2, 3, 10.0),  # all at once
        ([10.0], [0.0], 7, 2, 3, 20.0),  # one more
        ([10.0], [1.0], 6, 2, 3, 30.0),  # three share a core
        ([10.0], [0.5], 6, 2, 3, 5 + 10 * (0.5 + 0.5**0.5)),  # they wait for each other: R^2 - R - 1/4 = 0
        ([30.0, 10.0, 10.0, 10.0], [0.0] * 4, 4, 2, 1, 30.0),  # blocks 2 and 3 follow on the core that is free first
        ([10.0, 30.0], [1.0, 1.0], 2, 1, 2, 40.0),  # both at half the speed to 20, then one with 20 left
    ],
)
def test_by_hand(
    alone: list[float], share: list[float], blocks: int, cores: int, resident: int, expected: float
) -> None:
    assert cycles(alone, share, blocks, cores, resident) == pytest.approx(expected)


def test_a_block_keeps_its_slot_until_its_last_warp_retires() -> None:
    alone = np.array([[10.0, 30.0]])
    assert launch_cycles(alone, np.zeros((1, 2)), 2, 1, 1, 1) == 60


def test_sampled_blocks_stand_for_their_neighbours() -> None:
    """Blocks 0 to 2 are like the first sample, 3 and all later ones like the second."""
    assert cycles([1.0, 10.0], [0.0, 0.0], 5, 1, 1, step=3) == 23


@settings(max_examples=60)
@given(LAUNCHES)
def test_no_launch_is_shorter_than_its_work_or_longest_warp_nor_longer_than_both(launch: tuple) -> None:
    warps, blocks, cores, resident = launch
    alone, share = (list(column) for column in zip(*warps, strict=True))
    rows = [min(block, len(alone) - 1) for block in range(blocks)]
    busy = sum(alone[row] * share[row] for row in rows)
    found = cycles(alone, share, blocks, cores, resident)
    assert found >= max(busy / cores, max(alone[row] for row in rows)) * (1 - 1e-9)
    assert found <= sum(alone[row] for row in rows) * (1 + 1e-9)


@settings(deadline=None)
@given(st.floats(0, 1), st.integers(1, 64))
def test_warps_wait_between_not_at_all_and_for_all(served: float, warps: int) -> None:
    """Never less than the unit takes; not at all alone, nor where it is not needed; for all where nothing else is."""
    found = slowed(served * warps, warps)
    assert max(1, served * warps) * (1 - 1e-9) <= found <= (1 - served + served * warps) * (1 + 1e-9)
    assert slowed(served, 1) == pytest.approx(1)
    assert slowed(warps, warps) == pytest.approx(warps)


def test_waiting_against_a_simulated_queue() -> None:
    """Twelve customers, service and absence of random lengths: within 8 %."""
    draw = np.random.default_rng(5)
    for share in (0.02, 0.08, 0.12, 0.3):
        free, ready, served = 0.0, [float(draw.exponential(1 - share)) for _ in range(12)], 20_000
        for _ in range(served):
            place = int(np.argmin(ready))
            free = max(free, ready[place]) + float(draw.exponential(share))
            ready[place] = free + float(draw.exponential(1 - share))
        assert slowed(12 * share, 12) == pytest.approx(12 * free / served, rel=0.08)
