"""The RT unit with perfect memory against Vulkan-Sim's own, cycle by cycle.

Source: ``docs/sources/vulkan-sim.md#rt-unit, #golden-dumps``.
"""

from pathlib import Path

import numpy as np
import pytest

from outside.dump import WarpTrace, read_dump, to_records
from rayplay.formats.exchange.vulkan_sim import TRIANGLE_HIT
from rayplay.replay.gpu import description as gpu_description
from rayplay.replay.input.rays import Records
from rayplay.replay.input.work import LANES
from rayplay.replay.jit.bits import FAR, entry_point
from rayplay.replay.memory import l1
from rayplay.replay.memory.l1 import L1
from rayplay.replay.memory.port import Port
from rayplay.replay.rt import entry as rt_unit_entry
from rayplay.replay.rt import state as rt_unit_state
from rayplay.replay.rt import unit as rt_unit
from rayplay.replay.rt.state import FINISHED_AT, NEXT_CYCLE, START, WARP, RtUnit
from tests.replay.memory.memory_driver import make_port

WARPS = 122  # in the file
# Of 122 warps, those with the same start, end and latency of every lane. A number that rises is good news: raise it.
EXACT_WARPS = 122
EXACT_LANES = 3_069
WORST_CYCLES = 0


@entry_point
def run_unit(
    state: RtUnit, caches: L1, ports: Port, records: Records, sm: int, warps: np.ndarray, arrival: np.ndarray,
    row_of: np.ndarray, found: np.ndarray,
) -> None:  # fmt: skip
    """Drive one SM's unit alone with ``warps`` (operations) in order of arrival, through the cycles it asks for.

    row_of  int64[len(warps)]: scratch, the unit's row that holds a warp.
    found   int64[operations, 2 + 32]: cycle accepted, cycle completed, cycle each lane finished.
    """
    now = following = 0
    while now < FAR:
        while following < warps.size and arrival[warps[following]] <= now:
            rt_unit_entry.enqueue(state, sm, now, following, warps[following], 0)
            following += 1
        finished = rt_unit.cycle(state, caches, ports, records, sm, 0, now)
        for row in range(sm * state.warps, (sm + 1) * state.warps):
            if state.slot[row, WARP] >= 0:
                row_of[state.slot[row, WARP]] = row
        if finished >= 0:
            row, operation = row_of[finished], warps[finished]
            found[operation, 0], found[operation, 1] = state.slot[row, START], now
            for lane in range(LANES):
                found[operation, 2 + lane] = state.lane[FINISHED_AT, row * LANES + lane]
        now = state.gate[sm, NEXT_CYCLE]
        if following < warps.size:
            now = min(now, arrival[warps[following]])


def replay_dump(warps: list[WarpTrace]) -> tuple[np.ndarray, RtUnit]:
    """Results of ``run_unit`` for every warp of a dump with perfect memory, and the units' state."""
    gpu = gpu_description.load("rtx2060", ["rt.perfect_memory=true"])
    sms = max(warp.sm for warp in warps) + 1
    state, records = rt_unit_state.make_state(gpu.rt, sms), to_records(warps)
    caches, ports = l1.make_state(gpu.l1, sms, 16), make_port(gpu, sms)
    arrival = np.array([warp.arrival_cycle for warp in warps])
    found = np.zeros((len(warps), 2 + LANES), np.int64)
    for sm in range(sms):
        mine = np.array([index for index, warp in enumerate(warps) if warp.sm == sm], np.int64)
        run_unit(state, caches, ports, records, sm, mine, arrival, np.zeros_like(mine), found)
    return found, state


@pytest.fixture(scope="module")
def perfect(data: Path) -> tuple[list[WarpTrace], np.ndarray, RtUnit]:
    warps = read_dump(data / "reference/vulkansim/box32_perfect.txt.xz")
    assert len(warps) == WARPS
    return warps, *replay_dump(warps)


def latencies(warp: WarpTrace, found: np.ndarray) -> dict[int, int]:
    return {lane: int(found[2 + lane] - found[0]) for lane in warp.records}


def test_warps_are_accepted_in_the_dumps_cycles(perfect: tuple) -> None:
    warps, found, _ = perfect
    assert [warp.start_cycle for warp in warps] == found[:, 0].tolist()


def test_warps_and_lanes_that_end_in_the_dumps_cycles(perfect: tuple) -> None:
    warps, found, _ = perfect
    exact_lanes = exact_warps = 0
    for warp, row in zip(warps, found, strict=True):
        lanes = latencies(warp, row)
        exact_lanes += sum(warp.latency[lane] == cycles for lane, cycles in lanes.items())
        exact_warps += warp.end_cycle == row[1] and lanes == warp.latency
    assert (exact_warps, exact_lanes) == (EXACT_WARPS, EXACT_LANES)


def test_no_warp_is_far_from_the_dump(perfect: tuple) -> None:
    warps, found, _ = perfect
    for warp, row in zip(warps, found, strict=True):
        assert abs(int(row[1] - row[0]) - (warp.end_cycle - warp.start_cycle)) <= WORST_CYCLES


def test_efficiency_is_that_of_the_dump(perfect: tuple) -> None:
    warps, _, state = perfect
    theirs = np.mean([sum(w.latency.values()) / (32 * (w.end_cycle - w.start_cycle)) for w in warps])
    ours = (
        state.stats[:, rt_unit_state.EFFICIENCY].sum()
        / rt_unit_state.EFFICIENCY_UNIT
        / state.stats[:, rt_unit_state.WARPS_DONE].sum()
    )
    assert ours == pytest.approx(theirs, abs=0.005)


def test_every_record_is_delivered_and_every_hit_stored(perfect: tuple) -> None:
    """A lane that is handed two hits in one delay stores once, as in Vulkan-Sim; the dump has one such pair."""
    warps, _, state = perfect
    kinds = [kind for warp in warps for lane in warp.records.values() for _, _, kind in lane]
    assert state.stats[:, rt_unit_state.RECORDS].sum() == len(kinds)
    assert state.stats[:, rt_unit_state.STORES_SENT].sum() == kinds.count(TRIANGLE_HIT) - 1
