"""``docs/formats.md``: the text of ``page.md`` with the tables of the schema, the laws and the limits.

A person can write a trace from this page alone.
"""

from collections.abc import Callable
from pathlib import Path
from string import Template
from typing import Any

from rayplay.formats.dataset.energy import ENERGY_FORMAT
from rayplay.formats.dataset.profile import PROFILE
from rayplay.formats.dataset.result import RESULT
from rayplay.formats.guard.limits import LIMITS
from rayplay.formats.laws.check import COLUMN_LAWS, EXECUTION_LAWS, STATIC_LAWS
from rayplay.formats.look.show import notes, type_name
from rayplay.formats.parquet.shards import GROUPS_PER_SHARD
from rayplay.formats.schema.column import Column, Table
from rayplay.formats.schema.prediction import PREDICTION
from rayplay.formats.schema.trace import TRACE

TEXT = Path(__file__).with_name("page.md")


def page() -> str:
    """The text of docs/formats.md."""
    major, minor = TRACE.version
    made: dict[str, Any] = {"groups": GROUPS_PER_SHARD, "major": major, "minor": minor}
    for layout in (TRACE, RESULT, PREDICTION, PROFILE, ENERGY_FORMAT):
        name = layout.name.split()[-1]
        made[name] = "\n".join(_table_section(table) for table in layout.tables)
        made[f"{name}_version"] = "{}.{}".format(*layout.version)
    for name, laws in (("column", COLUMN_LAWS), ("static", STATIC_LAWS), ("execution", EXECUTION_LAWS)):
        made[f"{name}_laws"] = _laws(laws)
    made["limits"] = "\n".join(f"| `{one.name}` | {one.default:,} {one.unit} | {one.what} |" for one in LIMITS)
    return Template(TEXT.read_text(encoding="utf-8")).substitute(made)


def _table_section(table: Table) -> str:
    optional = " Optional." if table.optional else ""
    lines = [
        f"### {table.name}",
        "",
        f"One row per {table.per_row}.{optional} {table.group_rows:,} rows per row group.",
        "",
        "| column | type | unit | meaning | Parquet encoding |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *(_column_line(column) for column in table.columns)]) + "\n"


def _column_line(column: Column) -> str:
    encoding = f"{column.encoding}, zstd {column.level}"
    meaning = f"{column.doc}{notes(column)}".replace("|", "\\|")
    return f"| `{column.name}` | {type_name(column)} | {column.unit} | {meaning} | {encoding} |"


def _laws(laws: tuple[Callable[..., Any], ...]) -> str:
    return "\n".join(f"- `{law.__name__}`: {(law.__doc__ or '').strip()}" for law in laws)
