"""Tables as pandas data frames, and as HTML in a notebook."""

from collections.abc import Iterable, Mapping
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np

from rayplay.formats.guard.answer import Record
from rayplay.formats.guard.errors import UserError

OFFSET = "_offset"  # ends the name of a ragged column's offsets


def frame(columns: Mapping[str, np.ndarray]) -> Any:
    """A ``pandas.DataFrame`` of columns; a cell of a ragged column is an array. ``UserError`` without pandas."""
    pandas = _pandas()
    cells: dict[str, Any] = {}
    for name, values in columns.items():
        if f"{name}{OFFSET}" in columns:
            offsets = columns[f"{name}{OFFSET}"].astype(np.int64).tolist()
            cells[name] = [values[begin:end] for begin, end in pairwise(offsets)]
        elif not (name.endswith(OFFSET) and name.removesuffix(OFFSET) in columns):
            cells[name] = values
    return pandas.DataFrame(cells)


def metric_frame(summary: Mapping[str, Mapping[str, Any]]) -> Any:
    """A row per metric of ``summary.json``, indexed by its name: value, unit, kind, definition."""
    return record_frame({"metric": name} | dict(entry) for name, entry in summary.items()).set_index("metric")


def record_frame(records: Iterable[Record]) -> Any:
    """A row per record."""
    return _pandas().DataFrame(list(records))


def html_table(title: str, records: Iterable[Record]) -> str:
    """A table of records of the same names, as a notebook shows it; every text is escaped, None is an empty cell."""
    rows = list(records)
    heads = "".join(f"<th>{escape(name)}</th>" for name in (rows[0] if rows else ()))
    body = "".join("<tr>" + "".join(map(_cell, row.values())) + "</tr>" for row in rows)
    caption = f"<caption>{escape(title)}</caption>"
    return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def metric_table(title: str, summary: Mapping[str, Mapping[str, Any]]) -> str:
    """The metrics of ``summary.json`` as HTML."""
    return html_table(title, ({"metric": name, "value": e["value"], "unit": e["unit"]} for name, e in summary.items()))


def _cell(value: Any) -> str:
    if isinstance(value, (int, float)):
        shown = f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
        return f'<td style="text-align:right">{shown}</td>'
    return f'<td style="text-align:left">{"" if value is None else escape(str(value))}</td>'


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise UserError("to_pandas needs pandas: pip install pandas") from None
    return pandas
