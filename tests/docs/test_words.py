"""The house's words: phrases that hide the field's terms in docstrings, comments and pages; their counts only shrink.

``words.toml`` holds how many of each phrase a folder may still have. ``python -m tests.docs.test_words`` lists every
place, and writes the counts with ``--lower``, which never raises one.
"""

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COUNTS = Path(__file__).with_name("words.toml")
PHRASES = {
    "what is": r"\bwhat (?:is|are|was|were)\b",
    "those of": r"\bthose (?:of|that|who|which)\b",
    "that of": r"\bthat of\b",
    "is over": r"\b(?:is|are|was|were) over\b",
    "in the mean": r"\bin the mean\b",
    "gone on with": r"\b(?:go|goes|gone|went|going) on with\b",
    ", too": r", too\b",
    "so many": r"\bso many\b",
    "lest": r"\blest\b|\bnevertheless\b|\banew\b",
    "is none": r"\b(?:is|are) none\b",
    "begin": r"\b(?:its|the|a) begin\b",
    "whoever": r"\bwho knows\b|\bwhoever\b|\bnobody\b",
    "but for": r"\bbut for\b",
    "the reference": r"\bthe reference(?:'s)?\b",
    "What": r"\AWhat\b",
    "Where": r"\AWhere\b",
}
FOLDERS = (
    "formats",
    "ptx",
    "tracer",
    "replay",
    "zatel",
    "hypa",
    "tuner",
    "crisp",
    "report",
    "sweep",
    "silicon",
    "cuda",
    "rayplay",
    "outside",
    "tools",
    "bench",
    "tests",
)
PAGES = "pages"


@cache
def texts(path: Path) -> tuple[tuple[int, str], ...]:
    """Line and text of each docstring and comment of a Python file; a page is one text."""
    return tuple(_texts(path))


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    source = path.read_text()
    if path.suffix == ".md":
        yield 1, source
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and (text := ast.get_docstring(node)):
            yield node.body[0].lineno, text
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")


def files(folder: str) -> list[Path]:
    """Python files of a folder; of ``pages`` the Markdown pages, without the changelog and written reports."""
    if folder == PAGES:
        pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
        return sorted(p for p in pages if p.name != "CHANGELOG.md" and "paper" not in p.relative_to(ROOT).parts)
    return sorted(p for p in (ROOT / folder).rglob("*.py") if not any(parent.is_symlink() for parent in p.parents))


def places(folder: str, phrase: str) -> list[str]:
    """``file:line: match`` of every place of a phrase."""
    found = []
    for path in files(folder):
        if path == Path(__file__).resolve() or path.name == "CONTRIBUTING.md":
            continue
        for line, text in texts(path):
            for match in re.finditer(PHRASES[phrase], text, re.IGNORECASE if phrase[0].islower() else 0):
                found.append(f"{path.relative_to(ROOT)}:{line + text.count(chr(10), 0, match.start())}: {match[0]}")
    return found


@pytest.mark.parametrize("folder", [*FOLDERS, PAGES])
def test_phrases_only_shrink(folder: str) -> None:
    allowed = tomllib.loads(COUNTS.read_text()).get(folder, {})
    for phrase in PHRASES:
        found = places(folder, phrase)
        assert len(found) <= allowed.get(phrase, 0), f"{phrase!r}: say it in the field's terms\n" + "\n".join(found)


def test_a_phrase_is_found(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text('"""What is left."""\n\n# those of others\n')
    assert [line for line, _ in texts(path)] == [1, 3]
    assert all(
        re.search(PHRASES[phrase], text) for phrase, (_, text) in zip(["What", "those of"], texts(path), strict=True)
    )


def main(arguments: list[str]) -> None:
    """Print every place, or lower the counts."""
    before = tomllib.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    lines = []
    for folder in (*FOLDERS, PAGES):
        lines.append(f"[{folder}]")
        for phrase in PHRASES:
            found = places(folder, phrase)
            count = min(len(found), before.get(folder, {}).get(phrase, len(found) if not before else 0))
            if count:
                lines.append(f'"{phrase}" = {count}')
            if arguments != ["--lower"]:
                print(*found, sep="\n", end="\n" if found else "")
        lines.append("")
    if arguments == ["--lower"]:
        COUNTS.write_text("\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
