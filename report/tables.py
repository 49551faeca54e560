"""Tables that a reader sorts and searches."""

from collections.abc import Sequence
from typing import Any

from rayplay.report.markup import Child, Markup, tag

IDENTIFIERS = frozenset((
    "line", "warp", "lane", "SM", "launch", "stream", "trace call", "pixel x", "slowest pixel x", "y",
))  # fmt: skip
SHORT = 15  # rows of a table that one page of print holds whole
PRINTED = 30  # rows of a sorted table in print
MOST_DECIMALS = 3  # of a column that is aligned


def table(
    heads: Sequence[str], rows: Sequence[Sequence[Any]], caption: str, searched: bool = False,
    sorted_by: str = "", ids: Sequence[str] = (),
) -> Markup:  # fmt: skip
    """A table whose heads sort it. Numbers are shown in full and sorted by value; None is ``-``.

    searched   with a field that hides the rows without a text.
    sorted_by  head of the column by which the rows stand already, the largest first.
    ids        anchor of each row.
    """
    numeric = [
        all(isinstance(row[place], (int, float, Markup, type(None))) for row in rows) for place in range(len(heads))
    ]
    head = tag("tr", *(head_cell(name, is_n, name == sorted_by) for name, is_n in zip(heads, numeric, strict=True)))
    columns = [aligned(name, [row[place] for row in rows], place == 0) for place, name in enumerate(heads)]
    body = [
        tag("tr", *(column[at] for column in columns), id=ids[at] if ids else None) for at in range(len(rows))
    ]  # fmt: skip
    field = None
    if searched:
        field = tag("label", "Search ", tag("input", type="search", class_="search"), tag("output", class_="found"))
    name = tag("caption", caption)
    made = tag("table", name, tag("thead", head), tag("tbody", *body), class_="short" if len(rows) <= SHORT else None)
    printed = None
    if sorted_by and len(rows) > PRINTED:
        printed = tag("p", f"Printed: the first {PRINTED} of {len(rows):,} rows.", class_="note printed")
    return tag("div", field, scrolled(made, caption), printed, class_="first-rows" if printed else None)


def aligned(head: str, values: Sequence[Any], first: bool) -> list[Markup]:
    """Cells of a column: fractions with the same number of decimals, names that are numbers without separators."""
    named, decimals = head in IDENTIFIERS, 0
    if all(isinstance(value, float) or value is None for value in values):
        decimals = max((len(f"{value:.6g}".partition(".")[2]) for value in values if value is not None), default=0)
    cells = []
    for value in values:
        if named and isinstance(value, int):
            cells.append(cell(value, first, f"{value}"))
        elif 0 < decimals <= MOST_DECIMALS and value is not None:
            cells.append(cell(value, first, f"{value:,.{decimals}f}"))
        else:
            cells.append(cell(value, first))
    return cells


def scrolled(made: Markup, name: str) -> Markup:
    """A table in a box that scrolls, by keyboard as well."""
    return tag("div", made, class_="scroll", tabindex=0, role="region", aria_label=name)


def wide(name: str, chart: Markup) -> Markup:
    """A chart that scrolls sideways where the window is narrow."""
    return tag("div", chart, class_="wide", tabindex=0, role="region", aria_label=name)


def head_cell(name: str, is_number: bool, sorts: bool = False) -> Markup:
    """The head of a column, which sorts it; ``sorts``: the rows stand by it already, the largest first."""
    return tag(
        "th", tag("button", name, type="button", class_="sort"), scope="col", class_="number" if is_number else None,
        aria_sort="descending" if sorts else None,
    )  # fmt: skip


def cell(value: Any, first: bool, words: str = "") -> Markup:
    """One cell; a number keeps its exact value for sorting and tests, ``Markup`` is a cell already.

    words  the number for the reader, where a column has its own form.
    """
    if isinstance(value, Markup):
        return value
    kind = "th" if first else "td"
    scope = "row" if first else None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        shown = words or (f"{value:,}" if isinstance(value, int) else f"{value:,.6g}")
        return tag(kind, shown, class_="number", data_value=repr(value), scope=scope)
    if value is None:
        return tag(kind, "-", class_="number", scope=scope)
    return tag(kind, value, scope=scope)


class Section(Markup):
    """A part of the page, with its title for the table of contents."""

    heading: str


def section(title: str, *children: Child, note: str = "") -> Section:
    """A part of the second screen."""
    made = Section(tag("section", tag("h2", title), tag("p", note, class_="note") if note else None, *children))
    made.heading = title
    return made


def contents(parts: Sequence[tuple[str, str]]) -> Markup:
    """Links to parts of the page. parts: anchor and title of each."""
    return tag("nav", *(tag("a", title, href=f"#{anchor}") for anchor, title in parts), aria_label="Contents",
               class_="contents")  # fmt: skip


def sized(count: float) -> str:
    """Bytes for a reader."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count /= 1000
    return f"{count:,.0f} {unit}" if unit == "B" else f"{count:,.1f} {unit}"
