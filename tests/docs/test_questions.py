"""The table of questions and tiers names tests that are there."""

import re
from fnmatch import fnmatch

import pytest

from tests.conftest import QUESTIONS, ROOT, TABLE

FILES = {path.relative_to(ROOT / "tests").as_posix(): path for path in (ROOT / "tests").rglob("test_*.py")}


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_pattern_of_a_question_fits_a_file(question: str) -> None:
    stale = [pattern for pattern in QUESTIONS[question] if not any(fnmatch(name, pattern) for name in FILES)]
    assert stale == []


@pytest.mark.parametrize("pattern", TABLE["later"]["tests"])
def test_every_pattern_of_the_later_tier_fits_a_test(pattern: str) -> None:
    place, _, test = pattern.partition("::")
    names = [name for name in FILES if fnmatch(f"tests/{name}", place) or fnmatch(f"tests/{name}", place.rstrip("*"))]
    assert names
    function = re.match(r"\w*", test)[0]
    assert any(f"def {function}" in FILES[name].read_text() for name in names)
