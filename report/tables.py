"""Tables that a reader sorts and searches."""

from collections.abc import Sequence
from typing import Any

from rayplay.report.markup import Child, Markup, tag


def table(heads: Sequence[str], rows: Sequence[Sequence[Any]], caption: str, searched: bool = False) -> Markup:
    """A table whose heads sort it; ``searched``: with a field that hides the rows without a text.

    Numbers are shown in full and sorted by value; None is ``-``.
    """
    numeric = [
        all(isinstance(row[place], (int, float, Markup, type(None))) for row in rows) for place in range(len(heads))
    ]
    head = tag("tr", *(head_cell(name, is_number) for name, is_number in zip(heads, numeric, strict=True)))
    body = [tag("tr", *(cell(value, place == 0) for place, value in enumerate(row))) for row in rows]
    field = None
    if searched:
        field = tag("label", "Search ", tag("input", type="search", class_="search"), tag("output", class_="found"))
    name = tag("caption", caption)
    made = tag("table", name, tag("thead", head), tag("tbody", *body))
    return tag("div", field, scrolled(made, caption))


def scrolled(made: Markup, name: str) -> Markup:
    """A table in a box that scrolls, by keyboard as well."""
    return tag("div", made, class_="scroll", tabindex=0, role="region", aria_label=name)


def wide(name: str, chart: Markup) -> Markup:
    """A chart that scrolls sideways where the window is narrow."""
    return tag("div", chart, class_="wide", tabindex=0, role="region", aria_label=name)


def head_cell(name: str, is_number: bool) -> Markup:
    """The head of a column, which sorts it."""
    return tag(
        "th", tag("button", name, type="button", class_="sort"), scope="col", class_="number" if is_number else None
    )


def cell(value: Any, first: bool) -> Markup:
    """One cell; a number keeps its exact value for sorting and tests, ``Markup`` is a cell already."""
    if isinstance(value, Markup):
        return value
    kind = "th" if first else "td"
    scope = "row" if first else None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        shown = f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
        return tag(kind, shown, class_="number", data_value=repr(value), scope=scope)
    if value is None:
        return tag(kind, "-", class_="number", scope=scope)
    return tag(kind, value, scope=scope)


def section(title: str, *children: Child, note: str = "") -> Markup:
    """A part of the second screen."""
    return tag("section", tag("h2", title), tag("p", note, class_="note") if note else None, *children)


def sized(count: float) -> str:
    """Bytes for a reader."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count /= 1000
    return f"{count:,.0f} {unit}" if unit == "B" else f"{count:,.1f} {unit}"
