"""The page about opcodes is current, and says of each form what the executor says."""

import math
from pathlib import Path

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.isa.patterns import parsed
from rayplay.ptx.isa.table import TABLE
from rayplay.tracer.lower import dispatch
from rayplay.tracer.opcodes import calls
from rayplay.tracer.opcodes.page import executed, page, refusals, shown_patterns
from rayplay.tracer.opcodes.patterns import MOST_TRIED, expand, words_of
from rayplay.tracer.opcodes.trial import try_all
from tests.tracer.harness.execution import execute

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_is_current() -> None:
    written = (ROOT / "docs" / "opcodes.md").read_text()
    assert written == page(), "docs/opcodes.md is old: run make docs"


def test_the_page_of_optix_calls_is_current() -> None:
    assert (ROOT / "docs" / "programs" / "calls.md").read_text() == calls.page(), (
        "docs/programs/calls.md is old: run make docs"
    )


def test_the_executor_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    assert executed(try_all(["shfl"])) == "yes"
    monkeypatch.delitem(dispatch.ANY, "shfl")
    assert executed(try_all(["shfl"])) == "no"


@pytest.mark.parametrize(
    ("key", "state", "texts"),
    [
        ("lop3", "yes", []),
        ("brkpt", "no", ["``"]),
        ("txq", "partly", ["with `num_samples`"]),
        ("stmatrix", "partly", ["`sync aligned m16n8 x1/x2/x4 trans CTA? b8`"]),
    ],
)
def test_what_is_refused_is_told_by_pattern_or_word(key: str, state: str, texts: list[str]) -> None:
    trials = try_all([key])
    assert executed(trials) == state
    assert refusals(trials) == texts


@pytest.mark.parametrize("backend", ["machine", "interpreter"])
def test_a_launch_refuses_what_the_page_does(backend: str) -> None:
    text = ".visible .entry k() { .reg .b64 %a, %b; stacksave.u64 %a; ret; }"
    with pytest.raises(UserError, match=r"test\.ptx:\d+:\d+: the executor does not know stacksave\.u64"):
        execute(text, [], backend)


def test_each_word_of_a_pattern_is_tried() -> None:
    for key in ("ld", "atom", "set", "add"):
        for pattern in TABLE[key].patterns:
            forms = list(expand(pattern, key))
            total = math.prod(len(words_of(slot)) for slot in parsed(pattern))
            assert len(forms) == total if total <= MOST_TRIED else MOST_TRIED <= len(set(forms)) < total
            assert {w for slot in parsed(pattern) for w in words_of(slot)} - {""} <= {w for f in forms for w in f[1]}


def test_accesses_that_differ_in_width_are_shown_as_one() -> None:
    assert shown_patterns("ldu") == ["global? DATA"]
    assert "weak? NEAR CACHED? DATA" in shown_patterns("ld")
