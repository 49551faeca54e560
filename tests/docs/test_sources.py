"""Every citation of code, descriptions and pages resolves: to a heading of ``docs/sources`` or a place in a paper."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rayplay.replay.gpu.description import FOLDER, explain, read_description
from rayplay.replay.unit.schema import CITATION, read_text
from tools.site.links import anchors, links

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "docs" / "sources"
FOLDERS = (
    "bench", "crisp", "cuda", "docs", "examples", "formats", "hypa", "outside", "ptx", "replay", "report", "silicon",
    "tests", "tools", "tracer", "tuner", "zatel",
)  # fmt: skip
SUFFIXES = (".py", ".md", ".toml", ".h", ".cu", ".lark")
FILES = sorted(
    path
    for path in (*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*")))
    if path.suffix in SUFFIXES and path != Path(__file__).resolve()
)
GPUS = sorted(FOLDER.glob("*.toml"))

ANCHOR = r"#[a-z0-9][a-z0-9-]*"
PATH = re.compile(rf"docs/sources/([\w-]+)\.md((?:{ANCHOR})?(?:,? (?:and )?{ANCHOR})*)")
OUTSIDE = re.compile(r"reference/[a-z-]+\.(?:md|csv)|scenes/(?:procedural|README)\.md|shared/reference")
CODE = re.compile(r"\b[A-Z] (?:[A-Z]\.\d+|\d+\.\d+)(?=[:;,.)\]\s]|$)")
"""A code such as "A B.2" or "V 1.10", which nobody can look up."""

PAPERS = ("Zatel", "GATSim", "HyPA")
SECTION = r"\b(?:II|III|IV|V)-[A-H]\b"
PLACE = (
    rf"(?:{SECTION}|Table [IVX]+|Fig\. \d+|Algorithm \d|Listing \d|equation \(?\d\)?|definition \d|reference \[?\d+\]?)"
)
PAPER = re.compile(rf"\b({'|'.join(PAPERS)})(?:'s|,)? ({PLACE}(?:(?:,| and) {PLACE})*)")


def prose(path: Path) -> str:
    """A file's text with its line ends, and the comment marks after them, as blanks."""
    return re.sub(r"\s*\n\s*(?:(?:#+|//) )?", " ", path.read_text())


def cited(text: str) -> Iterator[tuple[str, str]]:
    """(page, anchor) of each citation by path; the anchor is empty where the page as a whole is cited."""
    for page, found in PATH.findall(text):
        yield from ((page, anchor[1:]) for anchor in re.findall(ANCHOR, found) or [""])


@cache
def headings() -> dict[str, set[str]]:
    """Page -> its anchors, and "" for the page as a whole."""
    return {page.stem: {"", *anchors(page)} for page in SOURCES.glob("*.md")}


def missing(citations: Iterator[tuple[str, str]]) -> list[str]:
    """Citations of pages or headings that are not there."""
    return [f"{page}#{anchor}" for page, anchor in citations if anchor not in headings().get(page, ())]


@cache
def places(paper: str) -> set[str]:
    """The places of a paper that ``papers.md`` lists."""
    section = (SOURCES / "papers.md").read_text().split(f"\n## {paper}\n")[1].split("\n## ")[0]
    return {plain(place) for place in re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE)}


def plain(place: str) -> str:
    """A place without the brackets that it may have."""
    return re.sub(r"[()\[\]]", "", place.strip())


def unlisted(text: str) -> list[str]:
    """Places in papers that ``papers.md`` does not list, and sections without a paper's name."""
    found = []
    for paper, list_of_places in PAPER.findall(text):
        wrong = [place for place in re.findall(PLACE, list_of_places) if plain(place) not in places(paper)]
        found += [f"{paper} {place}" for place in wrong]
    return found + re.findall(SECTION, PAPER.sub("", text))


@pytest.mark.parametrize("page", sorted(SOURCES.glob("*.md")), ids=lambda page: page.stem)
def test_headings_of_a_page_are_different(page: Path) -> None:
    assert len(anchors(page)) == len(set(anchors(page)))


def test_citations_resolve() -> None:
    found = {path: missing(cited(prose(path))) for path in FILES}
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


def linked(path: Path) -> Iterator[tuple[str, str]]:
    """(page, anchor) of each link of a page that leads to a page of sources."""
    if path.suffix == ".md":
        yield from ((link.target.stem, link.anchor) for link in links(path) if link.target.parent == SOURCES)


def test_nothing_outside_of_the_repository_is_cited() -> None:
    found = {path: OUTSIDE.findall(text) + CODE.findall(text) for path in FILES for text in [prose(path)]}
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


def test_places_in_papers_are_listed() -> None:
    """The list itself and the study's output, which names the paper once, apart."""
    apart = (SOURCES / "papers.md", *(ROOT / "docs" / "paper").rglob("*.md"))
    found = {path: unlisted(prose(path)) for path in FILES if path not in apart}
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


def test_every_page_is_cited() -> None:
    pages = {page for path in FILES if SOURCES not in path.parents for page, _ in (*cited(prose(path)), *linked(path))}
    by_values = {
        page for path in GPUS for comment in read_text(path).comments.values() for page, _ in CITATION.findall(comment)
    }
    assert {page.stem for page in SOURCES.glob("*.md")} <= pages | by_values


@pytest.mark.parametrize("path", GPUS, ids=lambda path: path.stem)
def test_every_value_of_a_description_cites_a_source(path: Path) -> None:
    text = read_description(str(path))
    comments = {key: text.comments.get(key, "") for key in dotted(text.values)}
    assert len(comments) > 150
    for key, comment in comments.items():
        assert CITATION.search(comment) or PAPER.search(comment), f"{key} cites nothing: {comment!r}"
        assert missing(iter(CITATION.findall(comment))) == [], key


def dotted(table: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """The dotted keys of all values."""
    for key, entry in table.items():
        if isinstance(entry, dict):
            yield from dotted(entry, f"{prefix}{key}.")
        else:
            yield prefix + key


@pytest.mark.parametrize("path", GPUS, ids=lambda path: path.stem)
def test_explain_prints_what_can_be_opened(path: Path) -> None:
    printed = [line for line in explain(path.stem) if line.endswith("]") and not line.startswith("[")]
    assert len(printed) > 150
    for line in printed:
        source = line[line.index(" [") :]
        assert list(cited(source)) or PAPER.search(source), line
        assert missing(cited(source)) == []


def test_what_does_not_resolve_is_found() -> None:
    good = (
        "docs/sources/accel-sim.md#fetch, #schedulers and docs/sources/papers.md; Zatel III-G and IV-F, HyPA's Table II"
    )
    assert missing(cited(good)) == []
    assert unlisted(good) == []
    bad = "docs/sources/accel-sim.md#fetch, #nosuch; docs/sources/nosuch.md#fetch"
    assert missing(cited(bad)) == ["accel-sim#nosuch", "nosuch#fetch"]
    bad = "Zatel Table IX, GATSim's Algorithm 2, Zatel III-G and III-Z, HyPA V-A; as in III-B"
    assert unlisted(bad) == ["Zatel Table IX", "GATSim Algorithm 2", "HyPA V-A", "III-B"]
    assert CODE.findall("A B.2: x, V 1.10 and A C") == ["A B.2", "V 1.10"]
