"""Traces that the tests of the formats share."""

import dataclasses
import shutil
from pathlib import Path

import pytest

from rayplay.formats.schema.column import Format
from rayplay.formats.schema.trace import TRACE
from rayplay.formats.testing.generate import make_trace


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A valid trace with every table; never to be changed."""
    return make_trace(
        tmp_path_factory.mktemp("sample") / "sample.trace", seed=5, traversals=True, cooperative=True, hints=True
    )


@pytest.fixture
def copy(sample: Path, tmp_path: Path) -> Path:
    """A trace that a test may damage."""
    return Path(shutil.copytree(sample, tmp_path / "copy.trace"))


@pytest.fixture(scope="session")
def small_groups() -> Format:
    """The trace format with row groups of five rows, so that few rows make many groups."""
    return dataclasses.replace(TRACE, tables=tuple(dataclasses.replace(t, group_rows=5) for t in TRACE.tables))
