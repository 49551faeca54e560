"""Every verb refuses every hostile input: exit code 2, one line, 1.5 GB, 30 s, nothing half-written."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.cases import CASES, Case
from tests.hostile.run import run_case, write_beside
from tests.hostile.warm import Warm


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    made = Warm()
    yield made
    made.close()


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_beside(tmp_path_factory.mktemp("beside"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_verb_refuses_it(tmp_path: Path, warm: Warm, beside: Path, case: Case) -> None:
    wrong = [found for _, _, found in run_case(warm, beside, tmp_path / "here", case)]
    assert "\n".join(filter(None, wrong)) == ""
