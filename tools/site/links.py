"""Links of the repository's pages, and the headings that they lead to."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Link:
    """A link of a page: the file or folder it leads to, and the anchor there ("" without one)."""

    text: str
    target: Path
    anchor: str


@cache
def pages() -> tuple[Path, ...]:
    """Every Markdown page of the repository; the packages hold texts that become part of one."""
    places = [":(glob)*.md", *(f"{folder}/*.md" for folder in ("docs", "examples", "tests", "traces"))]
    listed = subprocess.run(["git", "ls-files", *places], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return tuple(ROOT / line for line in listed.splitlines())


def links(page: Path) -> Iterator[Link]:
    """The links of a page that stay inside the repository, outside of code."""
    for text in _LINK.findall(_CODE.sub("", page.read_text())):
        target, _, anchor = text.partition("#")
        if "://" not in text and not text.startswith("mailto:"):
            yield Link(text, (page.parent / target).resolve() if target else page, anchor)


@cache
def anchors(page: Path) -> tuple[str, ...]:
    """The anchors of a page's headings, as they are made where Markdown is shown."""
    found = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S), re.MULTILINE)
    return tuple(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found)


def broken(page: Path) -> list[str]:
    """Links of a page that lead to no file, or to no heading of a page."""
    return [link.text for link in links(page) if not _resolves(link)]


def _resolves(link: Link) -> bool:
    if not link.target.exists():
        return False
    return not link.anchor or (link.target.suffix == ".md" and link.anchor in anchors(link.target))
