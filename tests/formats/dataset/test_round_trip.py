"""Round trip in both containers, whatever the calls; the bytes depend on the rows alone."""

from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from rayplay.formats.dataset.hdf5_writer import write_hdf5
from rayplay.formats.dataset.reader import Dataset, open_source, open_trace
from rayplay.formats.dataset.writer import FolderWriter, TraceWriter
from rayplay.formats.edit.convert import convert
from rayplay.formats.hdf5.source import Hdf5Source
from rayplay.formats.parquet.arrow import empty, row_count, take_rows
from rayplay.formats.schema.column import Format
from rayplay.formats.schema.trace import TABLES, TRACE
from rayplay.formats.testing.generate import make_tables
from tests.formats.schema_strategies import assert_equal_columns, table_columns, tree_bytes

quick = settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip syncing for hundreds of small traces: durability does not matter here."""
    monkeypatch.setattr("os.fsync", lambda handle: None)


def write(path: Path, layout: Format, tables: dict, cuts: dict[str, list[int]]) -> Dataset:
    """Write tables in pieces that end at ``cuts``."""
    with FolderWriter(path, layout, {"made": "by a test"}) as writer:
        for name, columns in tables.items():
            table = layout.table(name)
            rows = row_count(table.columns, columns)
            ends = sorted({min(cut, rows) for cut in cuts.get(name, [])} | {rows})
            for first, end in zip([0, *ends[:-1]], ends, strict=True):
                writer.put(name, take_rows(table.columns, columns, first, end))
    return Dataset(open_source(path, layout), layout)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
@quick
@given(data=st.data())
def test_every_table_comes_back(tmp_path_factory, small_groups, table, data) -> None:
    folder = tmp_path_factory.mktemp("round")
    columns = data.draw(table_columns(table))
    cuts = data.draw(st.lists(st.integers(0, 13), max_size=4))
    dataset = write(folder / "a.trace", small_groups, {table.name: columns}, {table.name: cuts})
    assert_equal_columns(dataset.read(table.name), columns)
    write_hdf5(dataset, folder / "a.h5")
    assert_equal_columns(Dataset(Hdf5Source(folder / "a.h5", small_groups), small_groups).read(table.name), columns)


@quick
@given(cuts=st.lists(st.integers(0, 300), max_size=6))
def test_bytes_do_not_depend_on_the_calls(tmp_path_factory, monkeypatch, small_groups, cuts) -> None:
    monkeypatch.setattr("rayplay.formats.parquet.shards.GROUPS_PER_SHARD", 3)
    folder = tmp_path_factory.mktemp("calls")
    tables = {name: typed(small_groups, name, columns) for name, columns in make_tables(2, (34, 2), 1).items()}
    write(folder / "whole", small_groups, tables, {})
    write(folder / "pieces", small_groups, tables, dict.fromkeys(tables, cuts))
    assert tree_bytes(folder / "whole") == tree_bytes(folder / "pieces")
    assert len(list((folder / "whole").glob("rays-*.parquet"))) > 3


def typed(layout: Format, name: str, columns: dict) -> dict:
    """Lists of the generator as arrays."""
    from rayplay.formats.parquet.groups import checked

    return checked(layout.table(name), columns)


def test_parquet_to_hdf5_to_parquet_gives_the_same_bytes(sample: Path, tmp_path: Path) -> None:
    convert(open_trace(sample), tmp_path / "a.trace.h5")
    convert(open_trace(tmp_path / "a.trace.h5"), tmp_path / "a.trace")
    assert tree_bytes(tmp_path / "a.trace") == tree_bytes(sample)
    convert(open_trace(tmp_path / "a.trace"), tmp_path / "b.trace.h5")
    assert (tmp_path / "a.trace.h5").read_bytes() == (tmp_path / "b.trace.h5").read_bytes()


def test_an_optional_table_without_rows_survives_conversion(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "a.trace") as writer:
        writer.declare("nodes")
    convert(open_trace(tmp_path / "a.trace"), tmp_path / "a.h5")
    convert(open_trace(tmp_path / "a.h5"), tmp_path / "b.trace")
    assert "nodes" in open_trace(tmp_path / "b.trace").tables
    assert "rays" not in open_trace(tmp_path / "b.trace").tables
    assert tree_bytes(tmp_path / "a.trace") == tree_bytes(tmp_path / "b.trace")


def test_an_absent_optional_table_has_no_rows(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "a.trace"):
        pass
    trace = open_trace(tmp_path / "a.trace")
    assert trace.rows("rays") == 0
    assert_equal_columns(trace.read("rays"), empty(TRACE.table("rays").columns))
    assert list(trace.batches("rays")) == []


def test_some_columns_can_be_read_alone(sample: Path) -> None:
    trace = open_trace(sample)
    whole = trace.read("rays")
    part = trace.read("rays", ["node", "lane"])
    assert_equal_columns(part, {name: whole[name] for name in ("node", "node_offset", "lane")})


@pytest.mark.parametrize("warps_per_batch", [1, 3, 7, 1000])
@pytest.mark.parametrize("container", ["parquet", "hdf5"])
def test_batches_of_warps_add_up(tmp_path, small_groups, warps_per_batch, container) -> None:
    from rayplay.formats.dataset.reader import Trace

    tables = {name: typed(small_groups, name, columns) for name, columns in make_tables(4).items()}
    dataset = write(tmp_path / "a.trace", small_groups, tables, {})
    if container == "hdf5":
        write_hdf5(dataset, tmp_path / "a.h5")
    source = open_source(tmp_path / ("a.h5" if container == "hdf5" else "a.trace"), small_groups)
    trace = Trace(source, small_groups)
    seen, expected_first = {"visits": 0, "accesses": 0, "rays": 0}, 0
    for first, last, batch in trace.warp_batches(warps_per_batch):
        assert first == expected_first
        assert last == min(first + warps_per_batch, trace.rows("warps"))
        expected_first = last
        for name, columns in batch.items():
            rows = row_count(small_groups.table(name).columns, columns)
            wanted = take_rows(small_groups.table(name).columns, tables[name], seen[name], seen[name] + rows)
            assert_equal_columns(columns, wanted)
            assert ((columns["warp_id"] >= first) & (columns["warp_id"] < last)).all()
            seen[name] += rows
    assert expected_first == trace.rows("warps")
    assert seen == {name: trace.rows(name) for name in seen}


def test_batches_of_warps_may_have_some_columns_only(sample: Path) -> None:
    wanted = {"visits": ["warp_id", "block_id"], "rays": ["node", "warp_id"]}
    trace = open_trace(sample)
    for (_, _, part), (_, _, whole) in zip(trace.warp_batches(6, wanted), trace.warp_batches(6), strict=True):
        assert part.keys() == wanted.keys()
        assert set(part["rays"]) == {"node", "node_offset", "warp_id"}
        for table, columns in part.items():
            assert_equal_columns(columns, {name: whole[table][name] for name in columns})


def test_arrays_can_be_written_to_and_are_contiguous(sample: Path) -> None:
    for table in TABLES:
        for name, array in open_trace(sample).read(table.name).items():
            assert array.flags.writeable, (table.name, name)
            assert array.flags.c_contiguous, (table.name, name)


def test_arrays_given_to_put_may_be_used_again(tmp_path: Path) -> None:
    scratch = np.zeros(3, np.uint32)
    with TraceWriter(tmp_path / "a.trace") as writer:
        for step in range(40_000):
            scratch[:] = step
            writer.put("visits", {"warp_id": scratch, "block_id": scratch, "active_mask": scratch})
    found = open_trace(tmp_path / "a.trace").read("visits")
    np.testing.assert_array_equal(found["block_id"], np.repeat(np.arange(40_000), 3))
    np.testing.assert_array_equal(found["active_mask"], found["warp_id"])
