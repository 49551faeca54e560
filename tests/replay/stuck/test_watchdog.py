"""Replays that are made to hang, and what the watchdog says of each; replays that only take long are left alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.replay.engine.machine import Machine
from rayplay.replay.gpu.description import load
from rayplay.replay.input.program import read_characterisation
from rayplay.replay.jit.bits import FAR
from rayplay.replay.memory import port
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.memory.dram import state as dram_state
from rayplay.replay.memory.l2 import state as l2_state
from rayplay.replay.run.driver import Replay
from rayplay.replay.sm import ctas as dispatch
from rayplay.replay.sm import warps as scheduler
from rayplay.replay.sm.pipeline import state as pipeline_state
from rayplay.replay.stuck import watchdog
from tests.replay.launches import Kernel, write_kernels

ONE = ("sm.count=1", "sm.kernel_launch_cycles=0")
Harm = Callable[[Machine], None]


def hung(trace: Path, model: str, at: int, harm: Harm, *values: str) -> str:
    """The watchdog's message when ``harm`` is done to a replay in each of the 200 cycles from ``at`` on."""
    opened, gpu = open_trace(trace), load("mobile", [*ONE, *values])
    latencies = read_characterisation(opened, None)
    replay = Replay(Machine(opened, gpu, latencies, model=model))
    machine = replay.machine
    run_until, until = machine.run_until, at + 200

    def broken(stop: int, quantum: int) -> int:
        now = machine.now
        status = run_until(min(stop, max(now + 1, at)) if now < until else stop, quantum)
        if at <= machine.now <= until:
            harm(machine)
        return status

    machine.run_until = broken  # type: ignore[method-assign]
    with pytest.raises(UserError) as caught:
        replay.run(lambda standing: None)
    return str(caught.value)


def once(harm: Harm) -> Harm:
    """The same harm, done the first time only."""
    done: list[bool] = []

    def harm_once(machine: Machine) -> None:
        if not done:
            done.append(True)
            harm(machine)

    return harm_once


def drop_requests(machine: Machine) -> None:
    """Requests in the port never leave it."""
    machine.port.port[:, port.REQUEST_HEAD] = machine.port.port[:, port.REQUEST_TAIL]


def drop_looked_up(machine: Machine) -> None:
    """Requests of a slice to the DRAM never get there."""
    machine.memory.dram.slice[:, dram_state.TO_HEAD] = machine.memory.dram.slice[:, dram_state.TO_TAIL]
    machine.memory.dram.slice[:, dram_state.OLDEST_AT] = FAR


def same_line(warp: int, visit: int, index: int, lane: int) -> int:
    return 0x10000 + 4 * lane


MODELS = ("characterised", "pipeline")
LOST = r"4 of 4 sectors from address 0x10000 on \(4 in the MSHRs of the L1, which no unit holds any more\)"


@pytest.fixture
def hangs(micro: Callable[..., Path], op: Any, load_op: Any) -> dict[str, Path]:
    """Traces of two warps of one CTA."""
    barrier, store = op("barrier", "branch"), op("store", "lsu", space="global")
    atomic, sfu = op("atomic", "lsu", 1, 1, 0, 1, "global"), op("sfu", "sfu", 1, 8)
    return {
        "load": micro([load_op(), op(wait=1), barrier, op(stall=4)], [2, 2], same_line, 2),
        "store": micro([op(), store, op()], [1, 1], same_line, 2),
        "atomic": micro([op(), atomic, op(wait=1)], [1, 1], same_line, 2),
        "barrier": micro([op(stall=50), barrier, op(stall=9)], [3, 3], None, 2),
        "sfu": micro([op(stall=50), sfu, sfu], [9, 9], None, 2),
    }


@pytest.mark.parametrize("model", MODELS)
def test_a_lost_request_and_the_barrier_behind_it(hangs: dict[str, Path], model: str) -> None:
    said = hung(hangs["load"], model, 1, drop_requests)
    waits = {
        "characterised": r"waits for slot 0 set by instruction 0 \(load\): ",
        "pipeline": r"at its end waits for 2 instructions in flight: instruction 0 \(load\), ",
    }[model]
    assert_said(said, rf"warp \d of CTA 0 on SM 0 .*{waits}{LOST}")


@pytest.mark.parametrize("model", MODELS)
def test_a_lost_acknowledgement(hangs: dict[str, Path], model: str) -> None:
    said = hung(hangs["store"], model, 1, drop_requests)
    assert_said(said, r"warp 0 of CTA 0 on SM 0 \(and 1 more\): at its end waits for acknowledgements of 4 sectors")


@pytest.mark.parametrize("model", MODELS)
def test_a_lost_atomic(hangs: dict[str, Path], model: str) -> None:
    said = hung(hangs["atomic"], model, 1, drop_looked_up)
    by = {"characterised": r"slot 0 set by instruction 1 \(atomic\): ", "pipeline": r"instruction 1 \(atomic\), "}[
        model
    ]
    assert_said(said, by + r"\d of \d sectors from address 0x10000 on \(\d in the MSHRs of L2 slice")


def test_a_request_lost_between_slice_and_dram(hangs: dict[str, Path]) -> None:
    said = hung(hangs["load"], "characterised", 1, drop_looked_up)
    assert_said(said, r"4 in the MSHRs of L2 slice \d+, for data from its DRAM channel")


def test_a_barrier_that_counts_a_warp_too_many(hangs: dict[str, Path]) -> None:
    def one_more(machine: Machine) -> None:
        machine.core.barrier[0, scheduler.RUNNING] |= 1 << 40

    said = hung(hangs["barrier"], "characterised", 20, once(one_more))
    missing = "1 that the CTA counts and the SM does not hold"
    assert_said(said, rf"waits for the barrier that 2 of 3 warps of the CTA have reached, but not {missing}")
    assert "nothing can happen any more after cycle" in said


def test_a_barrier_that_a_warp_of_the_pipeline_never_reaches(hangs: dict[str, Path]) -> None:
    def never(machine: Machine) -> None:
        core = machine.core
        core.unit[0, pipeline_state.WAITING] |= 2
        core.unit[0, pipeline_state.FENCES] |= 2
        core.warp[1, pipeline_state.WRITES] += 1

    said = hung(hangs["barrier"], "pipeline", 3, once(never))
    assert_said(
        said, r"warp 0 of CTA 0 .*waits for the barrier that 1 of 2 warps of the CTA have reached, but not warp 1;"
    )
    assert_said(said, r"warp 1 of CTA 0 on SM 0: at instruction \d .*waits for the fence: 1 registers")


def test_a_slot_that_nobody_set(hangs: dict[str, Path]) -> None:
    def hold(machine: Machine) -> None:
        machine.core.pending[:2, 0] += 1
        machine.core.warp[:2, scheduler.PENDING] |= 1

    said = hung(hangs["atomic"], "characterised", 2, once(hold))
    assert_said(said, r"waits for slot 0 set by .*which nothing under way will clear")


def test_mshrs_that_are_never_free(hangs: dict[str, Path]) -> None:
    def take_all(machine: Machine) -> None:
        machine.l1.cache.unit[:, cache_state.MSHR_FREE] = 0

    said = hung(hangs["load"], "characterised", 1, take_all)
    assert_said(said, r"all \d+ MSHRs of the L1 are taken")


def test_a_network_that_is_full(hangs: dict[str, Path]) -> None:
    def fill(machine: Machine) -> None:
        machine.port.port[:, port.IN_FLIGHT] = machine.port.packets_in_flight

    said = hung(hangs["load"], "characterised", 1, fill)
    assert_said(said, r"all \d+ packets of the SM are in flight")


def test_a_slice_that_takes_no_request(hangs: dict[str, Path]) -> None:
    def stop(machine: Machine) -> None:
        machine.memory.l2.slice[:, l2_state.NEXT] = FAR

    said = hung(hangs["load"], "characterised", 1, stop)
    assert_said(said, r"4 in the (input|MSHRs) of L2 slice \d+")


@pytest.mark.parametrize("model", MODELS)
def test_a_unit_that_is_never_free(hangs: dict[str, Path], model: str) -> None:
    def busy(machine: Machine) -> None:
        machine.core.free_at[:] = FAR

    assert_said(hung(hangs["sfu"], model, 20, busy), r"waits for (its )?unit sfu|waits for .*unit (sfu|int)")


def test_a_place_for_a_cta_that_is_never_free(tmp_path: Path) -> None:
    def occupy(machine: Machine) -> None:
        machine.dispatch.unit[:, dispatch.HELD] += 100

    trace = write_kernels(tmp_path / "two.trace", [Kernel((10,) * 80, 0), Kernel((10,) * 80, 1)])
    said = hung(trace, "characterised", 60, once(occupy), "sm.concurrent_kernels=2")
    assert_said(said, r"\d+ CTAs of kernel 0 wait for a CTA place of an SM: the SMs hold \d+ CTAs")


def test_rays_whose_records_are_lost(generated: Path) -> None:
    said = hung(generated, "characterised", 1, drop_requests)
    assert_said(
        said, r"waits for (the RT unit: \d+ lanes wait for records|a place in the RT unit)|sectors from address"
    )


def assert_said(said: str, expected: str) -> None:
    """The message names who waits for whom."""
    import re

    assert re.search(expected, said), said
    assert "\n" not in said


def test_patience_is_longer_than_any_latency() -> None:
    gpu = load("mobile", ["dram.latency_cycles=1000000"])
    assert watchdog.patience_cycles(gpu) > 64 * 1_000_000
    assert watchdog.patience_cycles(load("mobile")) < 2_000_000


@pytest.mark.parametrize("model", MODELS)
def test_an_l1_that_can_send_nothing(hangs: dict[str, Path], model: str) -> None:
    said = hung(hangs["load"], model, 1, lambda machine: None, "l1.miss_queue=1")
    assert "in the banks of the LSU: the LSU of the SM, with" in said


def test_sectors_that_have_arrived_are_not_lost(hangs: dict[str, Path]) -> None:
    said = hung(hangs["load"], "pipeline", 29, drop_requests)
    assert "1 of 4 sectors from address 0x10000 on (1 in the MSHRs of the L1, which no unit holds any more)" in said
