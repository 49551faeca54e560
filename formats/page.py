"""``docs/formats.md`` from the schema and the laws: a person can write a trace from this page alone."""

from collections.abc import Callable, Iterator
from typing import Any

from rayplay.formats.dataset.profile import PROFILE
from rayplay.formats.dataset.result import RESULT
from rayplay.formats.guard.limits import LIMITS
from rayplay.formats.guide import GUIDE
from rayplay.formats.laws.check import COLUMN_LAWS, EXECUTION_LAWS, STATIC_LAWS
from rayplay.formats.look.show import notes, type_name
from rayplay.formats.parquet.shards import GROUPS_PER_SHARD
from rayplay.formats.schema.column import Column, Format, Table
from rayplay.formats.schema.prediction import PREDICTION
from rayplay.formats.schema.trace import TRACE

HEAD = """\
# File formats

This page is made from the schema by `python -m formats docs`; `make docs` writes it, and a test fails when it differs.
`python -m formats show PATH` prints the same about a file at hand, `python -m formats check PATH` verifies it.

## Containers

A trace is a folder `NAME.trace/`, a result `NAME.result/`, a prediction `NAME.prediction/`, a profile
`NAME.profile/`: Parquet files and `manifest.json`. A trace may also be one HDF5 file `NAME.trace.h5` with the same
tables; `python -m formats convert` turns one into the other without loss.

### Parquet

- A table is one or more files `TABLE-00000.parquet`, `TABLE-00001.parquet`, ... whose rows follow each other.
- Column names and types are exactly those below (`int64` for `uint32` is refused), in any order. Strings are UTF-8
  without NUL characters: Arrow's string or large_string. A ragged column (`uint32[]`) is a list or large_list. Columns
  may be dictionary-encoded, and fields may be declared nullable, but no value may be null.
- Rayplay writes zstd, checksums on every page, row groups of a fixed number of rows (given with each table) and
  {groups} row groups per file, so that the bytes depend on the rows alone. It reads any compression, encoding and
  division into row groups and files within the limits below.
- Not every reader verifies page checksums (DuckDB and polars do not): `python -m formats verify` compares each
  file's SHA-256 with the manifest, and reads every page.

### manifest.json

```json
{{
 "format": "rayplay trace",
 "version": [{major}, {minor}],
 "provenance": {{"command": "python -m tracer render cornell", "seed": 1}},
 "image_size": [128, 128],
 "launches": [{{"name": "__raygen__", "stream": 0, "grid": [4, 128, 1], "block": [32, 1, 1]}}],
 "tables": {{"visits": [{{"file": "visits-00000.parquet", "rows": 1000, "bytes": 1900, "sha256": "64 digits"}}]}}
}}
```

- `version`: major and minor; see Versions.
- `provenance` (may be left out): any JSON object: command, tool version, seeds, input hashes; no clock times, so that
  the same inputs give the same bytes.
- `image_size` (may be left out): width and height of an image launch, else null; tables `threads` and `image` need it.
- `launches` (may be left out): a summary of `kernels` in its order, with which it must agree.
- `tables`: for each table its files in order, each with its rows, length and SHA-256 (lowercase). A file's name is a
  plain name in this folder. Tables marked optional may be absent, which is the same as having no rows.
- `files` (may be left out): further files of the folder, such as `summary.json`, each with its SHA-256.
- `digest` (may be left out; leave it out when editing by hand): SHA-256 of this document without `digest`, as JSON with
  sorted keys, no white space, and characters beyond ASCII escaped as `\\uXXXX`
  (`json.dumps(document, sort_keys=True, separators=(",", ":"))`), so that a changed manifest is found.

### HDF5

- A group per table, a dataset with one dimension per column, attributes `units` and `description` on each.
- A ragged column `x` is the dataset `x` with the values of all rows and `x_offset` (uint64, rows + 1): row r has the
  values from `x_offset[r]` up to `x_offset[r + 1]`. The arrays in memory are the same.
- Strings have a fixed length and are UTF-8. The dataset `manifest` (uint8) holds the JSON text of the manifest, its
  tables with empty lists of files.
- Rayplay writes the newest file layout (`libver="latest"`), gzip, shuffle and Fletcher-32. It refuses links, external
  storage, virtual datasets, other filters, other types, and rows that are not stored; and it reads in a child process,
  so that a file that crashes the library is one error.

### Writing a trace from Python

```python
from rayplay.formats import TraceWriter

with TraceWriter("mine.trace", provenance={{"command": "my tool 1.0"}}, image_size=None) as writer:
    writer.put("kernels", {{"kernel_id": [0], "name": ["copy"], ...}})  # one array or list per column
    writer.put("accesses", {{..., "address": values, "address_offset": offsets}})  # ragged: values and offsets
```

`put` may be called any number of times per table; the rows add up.

### Pixel lists

Text, one `x y` per line, `#` starts a comment, `0 0` is the top left: `formats.read_pixels`, `formats.write_pixels`.
"""

TRACE_SENTENCE = """\
What the warps of one or more launches did, in order, never when. Warps are numbered in launch order: CTAs x fastest,
then y, then z, and the warps of a CTA in order. `visits`, `accesses` and `rays` are sorted by warp, and inside a warp
by time."""
LAWS_HEAD = """\
## Laws

`python -m formats check PATH` prints the path and, for each problem, law, table, row and value. Its exit code is 0 when
all laws hold, 1 when one is broken, 2 when a file cannot be read at all (one line says why). `verify` compares bytes
alone: 0 when all are as they were written, 2 when not.
"""
LIMITS_HEAD = """\
## Limits

What a file may ask for, checked before the memory is taken and counted from pages and chunks, never from the sizes a
file declares. `--limit NAME=N`, which the message names and every verb takes, replaces the
limit; so does the environment variable `RAYPLAY_MAX_NAME` (capitals, `_` for `-`), also for programs in Python.
"""
EXECUTION_NOTE = """\
Recorded memory instructions are of class load, store, atomic or texture, in global, shared, local, generic or texture
memory. A predicate is a text that starts with `@`. Instructions that touch more than one place per lane have
one address per lane all the same: a texture access the first texel of its footprint (brought into the image), a matrix
load or store the lane's equal share of the matrix in memory order, an asynchronous copy where it reads.
"""


def page() -> str:
    """The text of docs/formats.md."""
    major, minor = TRACE.version
    parts = [HEAD.format(groups=GROUPS_PER_SHARD, major=major, minor=minor), GUIDE]
    parts += _format_section(TRACE, "Trace", TRACE_SENTENCE)
    parts.append(LAWS_HEAD)
    parts.append(_laws("Of every table", COLUMN_LAWS))
    parts.append(_laws("Of the small tables of a trace", STATIC_LAWS))
    parts.append(_laws("Of what the warps did", EXECUTION_LAWS) + "\n" + EXECUTION_NOTE)
    result = (
        "What a replay counted. Beside the tables: `summary.json` (metric to value, unit, kind and definition) and "
    )
    result += "`host.json` (times of the machine that ran the replay, the one file that differs from run to run)."
    parts += _format_section(RESULT, "Result", result)
    parts += _format_section(PREDICTION, "Prediction", "What Zatel predicts from a part of the pixels.")
    profile = (
        "What the launches of a PTX program execute (`python -m ptx analyse`). Beside the tables: `profile.csv` (a row "
        "per launch, HyPA's 15 columns in its order: the first 14 of `launches`, then `duration_ms`) and `host.json` "
        "(the same durations). Only these two files differ from run to run."
    )
    parts += _format_section(PROFILE, "Profile", profile)
    parts.append(_limits())
    return "\n".join(parts)


def _limits() -> str:
    rows = "".join(f"| `{limit.name}` | {limit.default:,} {limit.unit} | {limit.what} |\n" for limit in LIMITS)
    return f"{LIMITS_HEAD}\n| name | default | what it limits |\n|---|---|---|\n{rows}"


def _format_section(layout: Format, title: str, sentence: str) -> Iterator[str]:
    yield f'## {title}: `"{layout.name}"`, version {layout.version[0]}.{layout.version[1]}\n\n{sentence}\n'
    for table in layout.tables:
        yield _table_section(table)


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


def _laws(title: str, laws: tuple[Callable[..., Any], ...]) -> str:
    lines = [f"- `{law.__name__}`: {(law.__doc__ or '').strip()}" for law in laws]
    return "\n".join([f"### {title}", "", *lines]) + "\n"
