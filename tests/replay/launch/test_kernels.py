"""Several kernels: which are replayed, what each adds, and that nothing is lost between them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.result import open_result
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.edit.select import select
from rayplay.formats.guard.errors import UserError
from rayplay.formats.laws.check import validate
from rayplay.replay.engine.machine import Machine
from rayplay.replay.gpu.description import load
from rayplay.replay.launch.selection import Selection
from rayplay.replay.results.ledger import APART, flat
from rayplay.replay.results.metrics import Result, unit_counters
from rayplay.replay.run.driver import Replay, simulate
from tests.replay.launches import STALL, Kernel, write_kernels

GPU = ("sm.count=2", "sm.kernel_launch_cycles=10")
KERNELS = [
    Kernel((3, 9, 4), 0, name="render"), Kernel((5, 5), 7, name="blur"), Kernel((8,) * 9, 0, name="render"),
    Kernel((2,), 7, name="copy"), Kernel((30, 1), 3, name="blur"),
]  # fmt: skip


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write_kernels(tmp_path / "several.trace", KERNELS)


def chosen(trace: Path, **options: object) -> list[int]:
    """Kernels that a selection replays."""
    return simulate(trace, load("mobile", GPU), selection=Selection(**options)).kernels["kernel_id"].tolist()


def test_launches_are_chosen_as_by_ncu(trace: Path) -> None:
    assert chosen(trace) == [0, 1, 2, 3, 4]
    assert chosen(trace, kernels=(3, 1)) == [1, 3]
    assert chosen(trace, name="^blur$") == [1, 4]
    assert chosen(trace, name="r", skip=1, count=2) == [1, 2]
    assert chosen(trace, skip=3) == [3, 4]
    assert chosen(trace, skip=1, count=1) == [1]
    assert chosen(trace, name="render|copy", skip=1, kernels=(3,)) == [3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernels": (5,)}, "--kernel 5: must be one of the trace's kernels, 0 to 4"),
        ({"name": "shade"}, "--kernel-name shade: must match a kernel of the trace, such as blur, copy, render"),
        ({"name": "("}, r"--kernel-name \(: must be a regular expression: "),
        ({"skip": 5}, "--launch-skip 5 leaves none of 5 launches"),
        ({"skip": -1}, "--launch-skip must not be negative, but is -1"),
        ({"count": 0}, "--launch-count must be at least 1, not 0"),
        ({"kernels": (1,), "skip": 2}, "--kernel 1: the other options leave none of these"),
    ],
)
def test_a_selection_of_nothing_is_refused(trace: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=f"^{message}"):
        chosen(trace, **options)


def test_a_kernel_left_out_takes_no_cycle(trace: Path) -> None:
    gpu = load("mobile", GPU)
    for kernel in range(len(KERNELS)):
        alone = simulate(trace, gpu, selection=Selection((kernel,)))
        whole = simulate(trace, gpu)
        start, end = (int(whole.kernels[name][kernel]) for name in ("start_cycle", "end_cycle"))
        assert alone.value("gpu_cycles") == end - start


def test_a_kernel_without_work_takes_its_launch_latency(tmp_path: Path) -> None:
    trace = write_kernels(tmp_path / "empty.trace", [Kernel((0, 0)), Kernel((2,)), Kernel((0,))])
    for concurrent in (1, 4):
        result = simulate(trace, load("mobile", [*GPU, f"sm.concurrent_kernels={concurrent}"]))
        assert result.kernels["end_cycle"].tolist() == [10, 10 + 10 + 1 + 2 * STALL + 1, 10 + 10 + 1 + 2 * STALL + 11]


def test_each_cta_of_the_grid_adds_to_the_launch_latency(trace: Path) -> None:
    before = simulate(trace, load("mobile", GPU)).kernels
    after = simulate(trace, load("mobile", [*GPU, "sm.cta_launch_cycles=100"])).kernels
    added = 100 * np.array([len(kernel.visits) for kernel in KERNELS])
    cycles = [found["end_cycle"] - found["start_cycle"] for found in (before, after)]
    assert (cycles[1] - cycles[0]).tolist() == added.tolist()


@pytest.mark.parametrize("concurrent", [1, 4])
def test_kernels_and_streams_sum_to_the_total(trace: Path, concurrent: int) -> None:
    opened = open_trace(trace)
    replay = Replay(Machine(opened, load("mobile", [*GPU, f"sm.concurrent_kernels={concurrent}"]), None), 50)
    replay.run(lambda standing: None)
    end, ledger = max(end for _, end in replay.kernels.spans.values()), replay.kernels.ledger
    kernels = ledger.kernels
    assert np.array_equal(
        np.sum([added.values() for added in kernels], axis=0), flat(unit_counters(replay.machine, end))
    )
    timeline = np.sum([added.values() for added in ledger.intervals], axis=0)
    names = [(unit, name) for unit, name, _ in ledger.names]
    issued = names.index(("sm", "warp_instructions"))
    assert timeline[issued] == sum(sum(kernel.visits) for kernel in KERNELS)
    streams = [added.stream for added in kernels]
    assert streams == ([0, 7, 0, 7, 3] if concurrent == 1 else [0, 7, 0, 7, 3, APART])
    for stream in (0, 7, 3):
        values = sum(added.values() for added in kernels if added.stream == stream)
        at = np.cumsum([0] + [count for _, _, count in ledger.names])[issued : issued + 2]
        assert values[slice(*at)].sum() == sum(sum(kernel.visits) for kernel in KERNELS if kernel.stream == stream)


def test_counters_of_a_kernel_are_its_own(trace: Path) -> None:
    """A kernel without memory accesses adds the same counts alone and after others."""
    gpu = load("mobile", GPU)
    whole = simulate(trace, gpu)
    for kernel in range(len(KERNELS)):
        alone = simulate(trace, gpu, selection=Selection((kernel,)))
        for unit, counter in (("sm", "warp_instructions"), ("sm", "retired_ctas"), ("sm", "issue_cycles")):
            assert added(whole, kernel, unit, counter) == added(alone, kernel, unit, counter) > 0


def added(result: Result, kernel: int, unit: str, counter: str) -> int:
    """Sum of a counter over instances, of one kernel."""
    table = result.counters
    mine = (table["unit"] == unit) & (table["counter"] == counter) & (table["kernel_id"] == kernel)
    return int(table["value"][mine].sum())


def test_the_table_of_kernels_is_written(trace: Path, tmp_path: Path, run_replay: Callable[..., int]) -> None:
    out = tmp_path / "several.result"
    assert run_replay(trace, "--gpu", "mobile", "--kernel", 4, 1, "--out", out) == 0
    result = open_result(out)
    kernels = result.read("kernels")
    assert kernels["kernel_id"].tolist() == [1, 4]
    assert list(kernels["name"]) == ["blur", "blur"]
    assert kernels["stream"].tolist() == [7, 3]
    assert kernels["warp_instructions"].tolist() == [10, 31]
    assert set(result.read("counters")["kernel_id"].tolist()) == {1, 4}
    assert result.manifest.provenance["kernel"] == [4, 1]


def test_a_streams_successors_do_not_hold_up_another_stream(tmp_path: Path) -> None:
    """The window is of as many kernels as may run at a time, though fewer streams are there.

    Source: docs/sources/accel-sim.md#concurrent-kernels.
    """
    kernels = [Kernel((50,), 0), Kernel((50,), 0), Kernel((50,), 1)]
    path = write_kernels(tmp_path / "streams.trace", kernels)
    replay = Replay(Machine(open_trace(path), load("mobile", [*GPU, "sm.concurrent_kernels=8"]), None), 1)
    replay.run(lambda standing: None)
    assert replay.kernels.spans[2][0] == replay.kernels.spans[0][0] < replay.kernels.spans[1][0]


@pytest.mark.parametrize("model", ["characterised", "pipeline", "gatsim"])
@pytest.mark.parametrize("empty", [{0}, {2}, {4}, {0, 1, 2}, {1, 2, 3, 4}])
def test_a_kernel_without_warps_costs_its_launch_alone(tmp_path: Path, model: str, empty: set[int]) -> None:
    """Its result equals the one of the same kernel whose warps visit nothing."""
    kernels = [replace(k, visits=(0,) * len(k.visits)) if n in empty else k for n, k in enumerate(KERNELS)]
    trace = open_trace(write_kernels(tmp_path / "idle.trace", kernels))
    owner = trace.read("warps", ["kernel_id"])["kernel_id"]
    stay = ",".join(str(warp) for warp in np.flatnonzero(~np.isin(owner, list(empty))))
    select(trace, tmp_path / "gone.trace", warps=stay)
    assert validate(open_trace(tmp_path / "gone.trace")) == []
    idle, gone = (
        simulate(tmp_path / f"{name}.trace", load("mobile", GPU), model=model, threads=1) for name in ("idle", "gone")
    )
    assert gone.summary == idle.summary
    assert gone.kernels["start_cycle"].tolist() == idle.kernels["start_cycle"].tolist()
    assert gone.kernels["end_cycle"].tolist() == idle.kernels["end_cycle"].tolist()


@pytest.mark.parametrize("model", ["characterised", "pipeline", "gatsim"])
def test_a_trace_without_warps_or_without_kernels_replays(tmp_path: Path, model: str) -> None:
    write_kernels(tmp_path / "whole.trace", KERNELS)
    trace = open_trace(tmp_path / "whole.trace")
    with TraceWriter(tmp_path / "bare.trace") as writer:
        for name in ("kernels", "instructions", "blocks", "characterisation"):
            writer.put(name, trace.read(name))
    with TraceWriter(tmp_path / "nothing.trace") as writer:
        writer.declare("characterisation")
    for name, kernels in (("bare", len(KERNELS)), ("nothing", 0)):
        assert validate(open_trace(tmp_path / f"{name}.trace")) == []
        result = simulate(tmp_path / f"{name}.trace", load("mobile", GPU), model=model)
        assert result.summary["gpu_cycles"]["value"] == kernels * 10
