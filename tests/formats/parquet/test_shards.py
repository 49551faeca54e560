"""Files of row groups that were encoded apart have the bytes of one Parquet writer, however often it was stopped."""

import hashlib
import io
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.parquet.arrow import Columns, arrow_schema, parquet_options, row_count, to_arrow
from rayplay.formats.parquet.encoders import Encoders
from rayplay.formats.parquet.shards import GROUPS_PER_SHARD, Encoder, ShardWriter
from rayplay.formats.schema.trace import ACCESSES, KERNELS, TRACE, VISITS
from tests.formats.schema_strategies import table_columns, tree_bytes


def groups_of(count: int, rows: int = 40) -> list[Columns]:
    """Row groups of ``accesses`` that differ."""
    rng = np.random.default_rng(count)
    made = []
    for number in range(count):
        lanes = rng.integers(0, 5, rows)
        made.append({
            "warp_id": np.sort(rng.integers(0, 1 << 20, rows)).astype(np.uint32),
            "visit": np.arange(rows, dtype=np.uint32) * number,
            "instruction_id": rng.integers(0, 9, rows).astype(np.uint32),
            "lane_mask": rng.integers(1, 1 << 32, rows).astype(np.uint32),
            "address": rng.integers(0, 1 << 40, lanes.sum()).astype(np.uint64),
            "address_offset": np.concatenate([[0], np.cumsum(lanes)]).astype(np.uint64),
        })  # fmt: skip
    return made


def one_writer(groups: list[Columns]) -> bytes:
    """Bytes written by pyarrow alone."""
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, arrow_schema(ACCESSES), **parquet_options(ACCESSES)) as parquet:
        for group in groups:
            data = to_arrow(ACCESSES, group)
            parquet.write_table(data, row_group_size=len(data))
        parquet.add_key_value_metadata(
            {"rayplay.format": TRACE.name, "rayplay.version": "{}.{}".format(*TRACE.version)}
        )
    return sink.getvalue()


@pytest.mark.parametrize("count", [1, 2, 14, 15, 16, GROUPS_PER_SHARD])
def test_the_bytes_are_those_of_one_writer(tmp_path: Path, count: int) -> None:
    groups = groups_of(count)
    shards = ShardWriter(tmp_path, Encoder(TRACE, ACCESSES))
    for group in groups:
        shards.append(shards.encoder.encode(group))
    shards.close()
    written = (tmp_path / "accesses-00000.parquet").read_bytes()
    assert written == one_writer(groups)
    entry = shards.entries[0]
    assert (entry.rows, entry.bytes, entry.sha256) == (40 * count, len(written), hashlib.sha256(written).hexdigest())


@pytest.mark.parametrize("table", [KERNELS, VISITS, ACCESSES], ids=lambda table: table.name)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_any_rows_of_any_table(tmp_path_factory: pytest.TempPathFactory, table, data) -> None:
    folder = tmp_path_factory.mktemp("shards")
    some_rows = table_columns(table).filter(lambda group: row_count(table.columns, group) > 0)
    groups = [data.draw(some_rows) for _ in range(3)]
    shards = ShardWriter(folder, Encoder(TRACE, table))
    for group in groups:
        shards.append(shards.encoder.encode(group))
    shards.close()
    file = pq.ParquetFile(folder / f"{table.name}-00000.parquet", page_checksum_verification=True)
    for number, group in enumerate(groups):
        assert file.read_row_group(number).equals(to_arrow(table, group))


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_bytes_do_not_depend_on_the_workers(tmp_path: Path, workers: int) -> None:
    groups = groups_of(9, rows=ACCESSES.group_rows // 16)
    paths = tmp_path / "one.trace", tmp_path / "many.trace"
    for path, count in zip(paths, (1, workers), strict=True):
        with TraceWriter(path, workers=count) as writer:
            for number in range(40):
                writer.put("accesses", groups[number % 9])
                group = groups[number % 9]
                visits = {"warp_id": group["warp_id"], "block_id": group["visit"], "active_mask": group["lane_mask"]}
                writer.put("visits", visits)
    assert tree_bytes(paths[0]) == tree_bytes(paths[1])


@pytest.mark.parametrize("cut", range(0, GROUPS_PER_SHARD + 3, 9))
def test_a_file_is_gone_on_with_where_it_was_left(tmp_path: Path, cut: int) -> None:
    groups = groups_of(GROUPS_PER_SHARD + 3)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for folder in (whole, parts):
        folder.mkdir()
    encoder = Encoder(TRACE, ACCESSES)
    shards, first = ShardWriter(whole, encoder), ShardWriter(parts, encoder)
    for number, group in enumerate(groups):
        shards.append(encoder.encode(group))
        if number < cut:
            first.append(encoder.encode(group))
    shards.close()
    state = first.state()
    if cut < len(groups):
        first.append(encoder.encode(groups[0]))  # killed in the middle of something else
    first.abort()
    second = ShardWriter(parts, encoder)
    second.resume(state)
    for group in groups[cut:]:
        second.append(encoder.encode(group))
    second.close()
    assert second.entries == shards.entries
    assert tree_bytes(parts) == tree_bytes(whole)


def test_an_error_of_an_earlier_group_is_raised_and_nothing_follows_it(tmp_path: Path) -> None:
    class Failing(ShardWriter):
        appended = 0

        def append(self, group) -> None:
            self.appended += 1
            raise OSError("No space left on device")

    shards, encoders = Failing(tmp_path, Encoder(TRACE, ACCESSES)), Encoders(2)

    def write() -> None:
        for group in groups_of(9):
            encoders.submit(shards, group, lambda group: None)
        encoders.finish()

    with pytest.raises(OSError, match="No space"):
        write()
    encoders.stop()
    assert shards.appended == 1
