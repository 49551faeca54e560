"""Gates of the RT unit: each constraint holds a cycle before and ends in the cycle that the rules give."""

import numpy as np
import pytest

from rayplay.replay.input.rays import FIRST_STRETCH, Records, node_info
from rayplay.replay.input.work import LANES
from tests.replay.rt.drive import MISS, drive

LATENCY = {0: 4, 1: 8, 2: 8, 3: 4, 4: 8, 5: 8}
BYTES = {0: 64, 1: 64, 2: 128, 3: 8, 4: 64, 5: 64}
PERFECT = ["rt.perfect_memory=true", "rt.mshr_limit=vulkan-sim"]


def rays(warps: list[list[tuple[int, int]]]) -> Records:
    """Warps whose lanes 0, 1, ... fetch one record (address, kind) each."""
    lanes = [record for warp in warps for record in warp]
    address, kind = (np.array(column) for column in zip(*lanes, strict=True))
    count = np.arange(len(lanes) + 1)
    return Records(
        np.cumsum([0, *(len(warp) for warp in warps)]),
        np.array([lane | FIRST_STRETCH for warp in warps for lane in range(len(warp))], np.uint8),
        count, count[:-1].astype(np.uint32), count * 0, np.zeros(0, np.int64),
        node_info(address, np.array([BYTES[k] for k in kind.tolist()]), kind),
    )  # fmt: skip


def cycles(
    warps: list[list[tuple[int, int]]], settings: list[str], access: list = (), response: list = ()
) -> np.ndarray:  # fmt: skip
    """Start, end and the lanes' ends of warps that all come in cycle 10."""
    found = np.zeros((len(warps), 2 + LANES), np.int64)
    arrivals = np.array([[number, 10, number] for number in range(len(warps))])
    rows = np.array(access, np.int64).reshape(-1, 5), np.array(response, np.int64).reshape(-1, 4)
    count, _ = drive(rays(warps), arrivals, *rows, found, settings)
    assert count[1:].tolist() == [0, 0]
    return found


@pytest.mark.parametrize("kind", LATENCY)
def test_a_record_takes_a_cycle_per_chunk_and_its_latency(kind: int) -> None:
    found = cycles([[(4096, kind)]], PERFECT)
    done = 10 + -(-BYTES[kind] // 32) - 1 + LATENCY[kind]
    assert found[0, :3].tolist() == [10, done, done]


@pytest.mark.parametrize("lanes", [1, 2, 31, 32])
def test_different_records_go_out_at_a_chunk_a_cycle(lanes: int) -> None:
    found = cycles([[(4096 + 64 * lane, 1) for lane in range(lanes)]], PERFECT)
    assert found[0, 2 : 2 + lanes].tolist() == [10 + 2 * lane + 1 + 8 for lane in range(lanes)]


def test_lanes_share_the_request_of_a_record() -> None:
    found = cycles([[(4096, 1)] * LANES], PERFECT)
    assert set(found[0, 2:].tolist()) == {10 + 1 + 8}


@pytest.mark.parametrize("places", [1, 2])
def test_a_warp_enters_the_cycle_after_a_place_is_free(places: int) -> None:
    found = cycles([[(4096, 3)]] * (places + 1), [*PERFECT, f"rt.warps={places}"])
    assert found[places, 0] == found[0, 1] + 1


def test_one_warp_is_accepted_per_cycle() -> None:
    found = cycles([[(4096, 3)]] * 4, PERFECT)
    assert found[:, 0].tolist() == [10, 11, 12, 13]


@pytest.mark.parametrize("delay", [1, 20])
def test_a_late_hit_is_that_much_later(delay: int) -> None:
    found = cycles([[(4096, 3)]], [*PERFECT, f"rt.hit_cycles={delay}"])
    assert found[0, 1] == 10 + delay + LATENCY[3]


@pytest.mark.parametrize("arrives", [11, 12, 200])
def test_a_miss_ends_with_its_response(arrives: int) -> None:
    found = cycles([[(4096, 3)]], [], [(10, 0, 128, 0, MISS)], [(arrives, 128, 0, 0)])
    assert found[0, 1] == arrives + LATENCY[3]
