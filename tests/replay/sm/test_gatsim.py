"""GATSim's model: equal to its slow twin in every cycle, and to what the paper says of single instructions."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu import description as gpu_description
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.input.program import load_program, read_characterisation
from rayplay.replay.input.work import Program, Work
from rayplay.replay.jit.bits import FAR, entry_point, lowest_bit
from rayplay.replay.launch.launches import read_launches
from rayplay.replay.run.driver import simulate
from rayplay.replay.sm.ctas import occupancy
from rayplay.replay.sm.gatsim import algorithm1 as gatsim
from rayplay.replay.sm.gatsim import units as gatsim_units
from rayplay.replay.sm.gatsim.units import Gatsim
from rayplay.replay.sm.warps import LAST, WARP_INSTRUCTIONS, Warps
from tests.reference import gatsim_slow
from tests.replay.sm import gatsim_inputs as inputs

LAUNCH = 1000


@pytest.fixture(scope="module")
def gpu() -> Gpu:
    """The RTX 2060."""
    return gpu_description.load("rtx2060", [f"sm.kernel_launch_cycles={LAUNCH}"])


@entry_point
def log_cycles(
    state: Gatsim, core: Warps, program: Program, work: Work, longest: np.ndarray, sm: int, log: np.ndarray
) -> int:
    """Run one SM; rows of ``log``: a cycle it visits, instructions issued in it, the warp each scheduler chose last."""
    now, rows = state.clock[sm], 0
    while now < FAR:
        state.clock[sm] = now
        log[rows, 0] = now
        log[rows, 1] = core.stats[sm, WARP_INSTRUCTIONS]
        now = gatsim.cycle(state, core, program, work, longest, sm, now, FAR)
        log[rows, 1] = core.stats[sm, WARP_INSTRUCTIONS] - log[rows, 1]
        for scheduler in range(core.schedulers):
            last = core.mask[sm, LAST] & core.lane[scheduler]
            log[rows, 2 + scheduler] = core.member[sm, lowest_bit(last)] if last else -1
        rows += 1
    return rows


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(inputs.situations())
def test_every_cycle_is_that_of_the_slow_twin(
    situation: tuple[gatsim_slow.Machine, list[list[gatsim_slow.Instruction]], inputs.Blocks],
) -> None:
    machine, program, blocks = situation
    work, longest, bounds = inputs.engine_work(program, blocks)
    state, core = inputs.engine_state(machine, program, bounds)
    log = np.zeros((1 << 16, 2 + machine.schedulers), np.int64)
    for sm, twin in enumerate(gatsim_slow.run(machine, program, blocks)):
        rows = log_cycles(state, core, inputs.engine_program(program), work, longest, sm, log)
        issued: dict[int, list[int]] = {}
        for cycle, slot in twin.issued:
            issued.setdefault(cycle, []).append(slot)
        assert state.clock[sm] == twin.cycles
        assert {int(row[0]): int(row[1]) for row in log[:rows] if row[1]} == {c: len(s) for c, s in issued.items()}
        for row in log[:rows]:
            for slot in issued.get(int(row[0]), []):
                assert row[2 + slot % machine.schedulers] == slot
        if machine.sets:
            tags = state.tag[sm * machine.sets : (sm + 1) * machine.sets]
            assert [row[row >= 0].tolist()[::-1] for row in tags] == twin.tags


@pytest.mark.parametrize("caches", gatsim_units.CACHES)
def test_a_trace_takes_the_cycles_of_the_slow_twin(generated: Path, gpu: Gpu, caches: str) -> None:
    small = gpu.with_values([f"gatsim.caches={caches}", "sm.count=3", "memory.count=1", "l2.bytes=262144"])
    trace = open_trace(generated)
    program, warps = inputs.read_program(trace), inputs.read_warps(trace)
    tables = {name: trace.read(name) for name in ("instructions", "blocks")}
    lengths = load_program(tables, read_characterisation(trace, None), "trace").length
    cycles = 0
    launches, ctas = read_launches(trace, small, lengths, True)
    for launch in launches:
        blocks = [warps[first:last] for first, last in ctas[slice(*launch.ctas)]]
        machine = inputs.machine_of(small, occupancy(small.sm, launch.need, len(blocks)), launch.need.warps)
        cycles += LAUNCH + max(sm.cycles for sm in gatsim_slow.run(machine, program, blocks))
    result = simulate(trace, small, model="gatsim")
    assert result.value("gpu_cycles") == cycles
    assert result.value("warp_instructions") == simulate(trace, small).value("warp_instructions")
    assert result.value("thread_instructions") == simulate(trace, small).value("thread_instructions")
    assert (result.summary["l1d_miss_rate"]["value"] is None) == (caches == "perfect")


def test_a_load_blocks_for_the_sum_of_its_lines(micro: Callable, op: type, load_op: Callable, gpu: Gpu) -> None:
    """L lines take L hits; a load that was fetched before hits where caches are behavioural, else it misses."""
    behavioural = gpu.with_values(["gatsim.caches=behavioural"])
    hit, miss = gpu.gatsim.hit_cycles, gpu.gatsim.miss_cycles
    for lines in (1, 4, 32):
        trace = micro([load_op(), op(stall=3)], [2], lambda warp, visit, index, lane, n=lines: lane % n * 128)
        assert simulate(trace, gpu, model="gatsim").value("gpu_cycles") == LAUNCH + 2 * (lines * hit + 3)
        expected = LAUNCH + lines * (miss + hit) + 6
        assert simulate(trace, behavioural, model="gatsim").value("gpu_cycles") == expected


def test_load_store_units_limit_the_loads_under_way(micro: Callable, load_op: Callable, gpu: Gpu) -> None:
    """Warps with one load each: as many at a time as there are units, the rest wait."""
    near = lambda warp, visit, index, lane: lane * 4  # noqa: E731
    trace = micro([load_op()], [1] * 12, near, warps_per_cta=12)
    for units, rounds in ((1, 12), (3, 4), (12, 1)):
        one = gpu.with_values([f"gatsim.load_store_units={units}", "scheduler.count=1"])
        late = min(units, 12) - 1  # one scheduler: the units begin one after the other
        cycles = simulate(trace, one, model="gatsim").value("gpu_cycles")
        assert cycles == LAUNCH + rounds * gpu.gatsim.hit_cycles + late


def test_rays_without_a_price_are_refused(generated: Path, gpu: Gpu) -> None:
    free = replace(gpu, gatsim=replace(gpu.gatsim, record_cycles=0))
    with pytest.raises(UserError, match=r"gatsim\.record_cycles is 0"):
        simulate(generated, free, model="gatsim")
