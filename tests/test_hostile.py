"""Verbs refuse hostile input: exit code 2, one line, 1.5 GB, 30 s, nothing half-written.

A case meets a third of the verbs that read its kind, the next case of the kind the next third. All verbs on all cases:
``python -m bench.hostile``.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.cases import CASES, Case
from tests.hostile.run import run_case, write_beside
from tests.hostile.warm import Warm

SHARE = 3


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    made = Warm()
    yield made
    made.close()


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_beside(tmp_path_factory.mktemp("beside"))


@pytest.mark.parametrize(("number", "case"), list(enumerate(CASES)), ids=[case.name for case in CASES])
def test_a_verb_refuses_it(tmp_path: Path, warm: Warm, beside: Path, number: int, case: Case) -> None:
    turn = sum(other.kind == case.kind for other in CASES[:number])
    wrong = [found for _, _, found in run_case(warm, beside, tmp_path / "here", case, SHARE, turn)]
    assert "\n".join(filter(None, wrong)) == ""
