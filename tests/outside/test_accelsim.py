"""Accel-Sim's results, row by row as ``make reference`` prints them: every one is exact."""

from pathlib import Path

import pytest

from outside.accelsim import COUNTS, Run, present, rows_of, runs
from outside.rows import compare


@pytest.mark.parametrize("run", [*runs("micro"), *runs("traces")], ids=lambda run: run.name)
def test_every_row_is_that_of_accel_sim(data: Path, run: Run) -> None:
    """Kernel 11 of bfs on the RTX 2060 and stream_read@32 depend on its sums of clock periods."""
    if not present(run):
        pytest.skip(f"{run.trace} is not in the data folder")
    rows = list(rows_of(run))
    assert len(rows) == (1 + len(COUNTS)) * len(run.expected)
    assert [row for row in rows if row.error] == []


def test_the_rows_cover_three_configurations() -> None:
    assert {run.config for run in runs("traces")} == {"SM75_RTX2060", "SM86_RTX3070", "SM7_QV100"}


def test_a_row_passes_within_its_tolerance_only() -> None:
    assert compare("case", "cycles", 100, 103, 0.03).passed
    assert not compare("case", "cycles", 100, 104, 0.03).passed
    assert not compare("case", "accesses", 0, 1, 0.03).passed
    assert not compare("case", "accesses", 5, float("nan"), 0.03).passed
    assert compare("case", "accesses", 0, 0).passed
