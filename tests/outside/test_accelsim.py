"""Accel-Sim's results, row by row as ``make reference`` prints them, on traces that replay quickly."""

from pathlib import Path

import pytest

from outside.accelsim import KERNEL_MEAN, MICRO_MEAN, Run, present, rows_of, runs
from outside.rows import compare, mean_error

# Trace and quantity of every row that is wrong. A row that comes right breaks the test: take it out.
KNOWN: set[tuple[str, str]] = set()
LONG = ("@1024", "@32", "_32w", "_16w")


def quick(kind: str) -> list[Run]:
    """The runs that the tests repeat: short micro traces; every other trace without launch latency, or on one GPU."""
    found = [
        run for run in runs(kind) if not run.trace.endswith(LONG[:2]) and not any(w in run.trace for w in LONG[2:])
    ]
    return [run for run in found if run.config == "SM75_RTX2060" and run.latency == 0]


@pytest.mark.parametrize("run", quick("micro") + quick("traces"), ids=lambda run: run.name)
def test_a_trace_replays_as_in_accel_sim(data: Path, run: Run) -> None:
    if not present(run):
        pytest.skip(f"{run.trace} is not in the data folder")
    missed = {(run.trace, row.quantity) for row in rows_of(run) if not row.passed}
    assert missed == {known for known in KNOWN if known[0] == run.trace}


@pytest.mark.parametrize(("kind", "tolerance"), [("micro", MICRO_MEAN), ("traces", KERNEL_MEAN)])
def test_the_mean_error_of_cycles(data: Path, kind: str, tolerance: float) -> None:
    cycles = [row for run in quick(kind) if present(run) for row in rows_of(run) if row.quantity == "cycles"]
    assert len(cycles) > 15
    assert mean_error(kind, cycles, tolerance).passed


def test_a_row_passes_within_its_tolerance_only() -> None:
    assert compare("case", "cycles", 100, 103, 0.03).passed
    assert not compare("case", "cycles", 100, 104, 0.03).passed
    assert not compare("case", "accesses", 0, 1, 0.03).passed
    assert not compare("case", "accesses", 5, float("nan"), 0.03).passed
    assert compare("case", "accesses", 0, 0).passed


@pytest.mark.parametrize("trace", ["vectoradd-100-32", "matrixmul-32-32", "ffma-4096-16"])
def test_small_kernels_are_exact_on_every_configuration(data: Path, trace: str) -> None:
    """Two of them of sm_61, whose branches the integer unit executes."""
    mine = [run for run in runs("traces") if run.trace == trace and present(run)]
    if not mine:
        pytest.skip(f"{trace} is not in the data folder")
    assert {run.config for run in mine} == {"SM75_RTX2060", "SM86_RTX3070", "SM7_QV100"}
    assert [row for run in mine for row in rows_of(run) if row.error] == []
