"""One replay of the sample on two GPUs, for all pages."""

from pathlib import Path

import pytest

import rayplay
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.result import open_result
from rayplay.report.page import page
from rayplay.report.run import Run

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "traces" / "sample.trace"


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """The sample on ``mobile`` and on ``rtx2060``, with one RT warp in place of its number."""
    folder, trace = tmp_path_factory.mktemp("report"), open_trace(SAMPLE)
    changed = rayplay.Gpu.load("rtx2060").with_values(**{"rt.warps": 1})
    for name, gpu in (("mobile", "mobile"), ("changed", changed)):
        rayplay.replay(trace, gpu, out=folder / f"{name}.result", interval=2000)
    return [Run(open_result(folder / f"{name}.result"), trace) for name in ("mobile", "changed")]


@pytest.fixture(scope="session")
def one(runs: list[Run]) -> str:
    """The page of one result."""
    return page(runs[:1])


@pytest.fixture(scope="session")
def two(runs: list[Run]) -> str:
    """The page of two results."""
    return page(runs)
