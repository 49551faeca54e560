"""The suites of ``tests.reliability`` in their short form; ``make reliability`` runs them at length."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.reliability import damage, faults, guided
from tests.reliability.report import page
from tests.reliability.suite import Row, Suite
from tests.reliability.worker import run_cases

MUTATIONS = 200
CUTS = 6


@pytest.mark.parametrize("subject", damage.SUITES[0].subjects)
def test_mutations_are_refused_or_harmless(subject: str) -> None:
    row = damage.mutations(subject, seed=7, count=MUTATIONS)
    assert sum(row.outcomes.values()) == MUTATIONS
    assert not row.failures, "\n".join(row.failures)


@pytest.mark.parametrize("subject", damage.SUITES[1].subjects)
def test_truncations_are_refused_or_harmless(subject: str) -> None:
    row = damage.cuts(subject, seed=7, count=CUTS)
    assert sum(row.outcomes.values()) == row.cases
    assert not row.failures, "\n".join(row.failures)


FEWEST_REFUSED = {"comparison with a card": 5}  # of 7 steps; all other writers have more


@pytest.mark.parametrize("subject", [*faults.FILES])
def test_a_writer_survives_each_step_that_fails(subject: str) -> None:
    row = faults.steps(subject, 1, 40)
    assert not row.failures, "\n".join(row.failures)
    assert row.outcomes["refused"] > FEWEST_REFUSED.get(subject, 10)
    assert row.outcomes["written"] > 0


@pytest.mark.parametrize("subject", ["manifest, signed again", "PTX", "GLB (document)", "Nsight CSV", "TOML (GPU)"])
def test_mutation_guided_by_coverage_finds_nothing(tmp_path: Path, subject: str) -> None:
    row = guided.explore(subject, "smoke", tmp_path, cases=30)
    assert not row.failures, "\n".join(row.failures)
    assert list((tmp_path / "corpus").rglob("0-*"))
    assert not [path for path in (tmp_path / "findings").rglob("*") if path.is_file()]


def test_guided_mutation_keeps_what_it_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = guided.SUBJECTS["Nsight CSV"]

    def read(file: Path) -> str:
        if file.read_bytes() != whole:
            raise KeyError("a bug")
        return "valid"

    whole = subject.make(tmp_path)[0].read_bytes()
    monkeypatch.setitem(guided.SUBJECTS, "Nsight CSV", replace(subject, read=read))
    row = guided.explore("Nsight CSV", "bug", tmp_path, cases=3)
    assert row.outcomes == {"other error": 3}
    assert {path.suffix for path in (tmp_path / "findings").rglob("*") if path.is_file()} == {"", ".txt"}


def test_a_process_that_dies_is_an_outcome() -> None:
    """The suites can fail: a crash, a hang, another error and a wrong value are each counted and named."""
    import faulthandler
    import os
    import signal

    def prepare(folder):
        def case(number: int) -> tuple[str, str]:
            if number == 1:
                faulthandler.disable()  # a page of stacks in the tests' output would look like a crash of theirs
                os.kill(os.getpid(), signal.SIGSEGV)
            if number == 2:
                os.kill(os.getpid(), signal.SIGPROF)
            if number == 3:
                raise KeyError("place")
            return ("wrong data", "not as written") if number == 4 else ("refused", "")

        return case

    row = run_cases("a subject", 6, prepare)
    assert row.outcomes == {"refused": 2, "crash": 1, "hang": 1, "other error": 1, "wrong data": 1}
    assert [failure.split(":")[0] for failure in row.failures] == ["case 1", "case 2", "case 3", "case 4"]


def test_the_page_has_a_row_for_every_outcome(tmp_path) -> None:
    suite = Suite(
        "storm", "What was done.", "What must come out.", ("a", "b/c"), lambda subject, seed, count: Row(subject, 0)
    )
    (tmp_path / "storm").mkdir()
    (tmp_path / "storm" / "b-c.json").write_text(
        '{"subject": "b/c", "cases": 1234, "outcomes": {"refused": 1234}, "failures": [], "note": "peak", "seed": 3}'
    )
    text = page((suite,), tmp_path)
    assert "| b/c | 1,234 | 3 | 1,234 refused | 0 | peak |" in text
    assert "1,234 cases, 0 failures." in text
    assert "| a |" not in text
