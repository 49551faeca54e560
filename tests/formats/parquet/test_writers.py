"""Tables of every writer of Parquet are read: pyarrow, pandas, polars and DuckDB, with rows and without."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.digest import file_digest
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.laws.check import validate
from rayplay.formats.look.diff import differences
from rayplay.formats.parquet.loose import read_arrow
from rayplay.formats.schema.manifest import MANIFEST
from rayplay.formats.testing.generate import make_trace

ROOT = Path(__file__).resolve().parents[3]
Write = Callable[[pa.Table, Path], object]


def by_duckdb(options: str) -> Write:
    """Write with DuckDB's ``COPY``."""

    def write(table: pa.Table, file: Path) -> None:
        with duckdb.connect() as connection:
            connection.register("rows", table)
            connection.execute(f"COPY rows TO '{file}' (FORMAT parquet, {options})")

    return write


WRITERS: dict[str, Write] = {
    "pyarrow": pq.write_table,
    "pyarrow, pages of version 2": lambda table, file: pq.write_table(table, file, data_page_version="2.0"),
    "pyarrow, plain": lambda table, file: pq.write_table(table, file, compression="none", use_dictionary=False),
    "pandas": lambda table, file: table.to_pandas().to_parquet(file),
    "polars": lambda table, file: polars.from_arrow(table).write_parquet(file),
    "polars by pyarrow": lambda table, file: polars.from_arrow(table).write_parquet(file, use_pyarrow=True),
    "DuckDB": by_duckdb("PARQUET_VERSION V1"),
    "DuckDB, zstd": by_duckdb("PARQUET_VERSION V1, COMPRESSION zstd"),
    "DuckDB, version 2": by_duckdb("PARQUET_VERSION V2"),
}


def rewritten(path: Path, write: Write, rows: int | None, keep: tuple[str, ...] = ()) -> Path:
    """The trace with all files but ``keep`` written by another; the first ``rows`` of each, or all."""
    document = json.loads((path / MANIFEST).read_text())
    document = {key: document[key] for key in ("format", "version", "image_size", "tables")}
    for name, entries in document["tables"].items():
        file = path / entries[0]["file"]
        table = pq.read_table(file).slice(0, rows)
        (pq.write_table if name in keep else write)(table, file)
        entries[0] = {"file": file.name, "rows": len(table), "bytes": file.stat().st_size, "sha256": file_digest(file)}
    (path / MANIFEST).write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("writer", WRITERS)
def test_files_of_every_writer_are_read(tmp_path: Path, writer: str) -> None:
    make_trace(tmp_path / "ours.trace", 1)
    masks = ("warps", "visits", "accesses", "predicates", "rays") if writer == "DuckDB, version 2" else ()
    theirs = open_trace(rewritten(make_trace(tmp_path / "theirs.trace", 1), WRITERS[writer], None, masks))
    assert validate(theirs) == []
    assert list(differences(theirs, open_trace(tmp_path / "ours.trace"))) == []
    for table in theirs.tables:
        assert len(read_arrow(tmp_path / "theirs.trace" / f"{table}-00000.parquet")) == theirs.rows(table)


@pytest.mark.parametrize("writer", WRITERS)
def test_empty_tables_of_every_writer_are_read(tmp_path: Path, writer: str) -> None:
    theirs = open_trace(rewritten(make_trace(tmp_path / "theirs.trace", 1, None), WRITERS[writer], 0))
    assert validate(theirs) == []
    assert all(len(read_arrow(file)) == 0 for file in (tmp_path / "theirs.trace").glob("*.parquet"))


def test_numbers_that_arrow_cannot_read_are_one_error_with_advice(tmp_path: Path) -> None:
    theirs = rewritten(make_trace(tmp_path / "theirs.trace", 1), WRITERS["DuckDB, version 2"], None)
    with pytest.raises(FormatError, match=r"column active_mask: cannot be read: .*PARQUET_VERSION V1 alone"):
        open_trace(theirs).read("visits")


def test_a_trace_without_the_table_of_accesses_is_valid(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "formats.md").read_text()
    example = page.split("## A writer to start from")[1].split("```python\n")[1].split("```\n")[0]
    start, end = example.index('    "accesses": {'), example.index("os.makedirs")
    without = example[:start].rstrip() + "}\n" + example[end:]
    without = without.replace('"load"', '"int"').replace('"global"', '"none"').replace("[4, 0, 0, 0]", "[0] * 4")
    (tmp_path / "writer.py").write_text(without)
    subprocess.run([sys.executable, "-I", "writer.py"], cwd=tmp_path, check=True)
    trace = open_trace(tmp_path / "mine.trace")
    assert "accesses" not in trace.tables
    assert validate(trace) == []
    commands = (
        ("formats", "stats mine.trace"), ("formats", "convert mine.trace mine.trace.h5"),
        ("formats", "check mine.trace.h5"), ("formats", "select mine.trace --warps 0-9 --out part.trace"),
        ("formats", "merge mine.trace part.trace --out both.trace"), ("formats", "export mine.trace --out out"),
        ("replay", "mine.trace --gpu mobile --model pipeline"),
    )  # fmt: skip
    run_all(tmp_path, commands)


def test_paths_that_are_no_utf8(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    make_trace(folder / os.fsdecode(b"\xff.trace"), 1)
    name = os.fsdecode(b"\xff.trace")
    commands = [f"show {name}", f"check {name}", f"convert {name} {name}.h5", f"check {name}.h5", f"stats {name}"]
    commands += [f"select {name} --warps 0-9 --out b{name}", f"check b{name}"]
    replay = f"b{name} --gpu mobile --model gatsim --set gatsim.record_cycles=9"
    run_all(folder, (*(("formats", words) for words in commands), ("replay", replay)))


def run_all(folder: Path, commands: tuple[tuple[str, str], ...]) -> None:
    """Run command lines in a folder; each must end well."""
    for module, words in commands:
        command = [sys.executable, "-m", f"rayplay.{module}", *words.split()]
        run = subprocess.run(command, cwd=folder, capture_output=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
        assert run.returncode == 0, (words, run.stderr)
