"""Refusals of ``put``: each column that does not fit is named, with the requirement."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.guard.errors import FormatError

ACCESS = {
    "warp_id": [0, 0], "visit": [0, 1], "instruction_id": [3, 3], "lane_mask": [1, 3], "address": [8, 16, 24],
    "address_offset": [0, 1, 3],
}  # fmt: skip
BLOCK = {
    "kernel_id": [0], "block_id": [0], "first_instruction": [0], "instruction_count": [1], "reconvergence_block": [-1],
    "program": ["main"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("table", "columns", "message"),
    [
        ("accesses", {"warp_id": [0]}, "columns must have the same number of rows, not warp_id 1, visit 2"),
        ("accesses", {"hope": [0]}, "column hope is unknown; columns must be"),
        ("accesses", {"lane_mask": [1, 1 << 32]}, "column lane_mask: must be uint32, but holds 4294967296"),
        ("accesses", {"lane_mask": [1, -1]}, "column lane_mask: must be uint32, but holds -1"),
        ("accesses", {"lane_mask": [1.5, 2]}, "column lane_mask: must be uint32, not float64"),
        ("accesses", {"lane_mask": [[1, 2]]}, "column lane_mask: must be one-dimensional"),
        ("accesses", {"address_offset": [1, 2, 3]}, "column address_offset: must run from 0 to 3, not from 1 to 3"),
        ("accesses", {"address_offset": [0, 1, 2]}, "column address_offset: must run from 0 to 3, not from 0 to 2"),
        ("accesses", {"address_offset": [0, 4, 3]}, "column address_offset: must never decrease"),
        ("accesses", {"address_offset": [0.0, 1, 3]}, "column address_offset: must be rows"),
        ("blocks", {"program": ["a\0b"]}, "column program: must be without NUL characters"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, table, columns, message) -> None:
    whole = (ACCESS if table == "accesses" else BLOCK) | columns
    with pytest.raises(FormatError, match=f"table {table}.*{message}"), TraceWriter(tmp_path / "a.trace") as writer:
        writer.put(table, whole)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    part = {name: values for name, values in ACCESS.items() if name != "visit"}
    with (
        pytest.raises(FormatError, match="table accesses: column visit is missing; columns must be warp_id, visit"),
        TraceWriter(tmp_path / "a.trace") as writer,
    ):
        writer.put("accesses", part)


def test_a_name_outside_the_list_is_refused(tmp_path: Path) -> None:
    names = ["kernel_id", "name", "stream", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"]
    names += ["registers_per_thread", "shared_bytes", "shared_base", "local_base", "local_bytes"]
    kernel = {name: ["x" if name == "name" else 1] for name in names} | {"source": ["basic"]}
    message = "column source: must be one of ptx, sass, not 'basic'"
    with pytest.raises(FormatError, match=message), TraceWriter(tmp_path / "a.trace") as writer:
        writer.put("kernels", kernel)


def test_other_integer_types_are_converted(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "a.trace") as writer:
        writer.put("accesses", {name: np.array(values, np.int64) for name, values in ACCESS.items()})
        writer.put("blocks", BLOCK)
    trace = open_trace(tmp_path / "a.trace")
    assert trace.read("accesses")["lane_mask"].dtype == np.uint32
    assert trace.read("accesses")["address"].tolist() == ACCESS["address"]
    assert trace.read("blocks")["reconvergence_block"].tolist() == [-1]


@pytest.mark.parametrize("value", [np.int64(3), {1, 2}, float("nan"), b"x"])
def test_provenance_that_is_no_json_is_refused_before_the_work(tmp_path: Path, value) -> None:
    with pytest.raises(FormatError, match="provenance must be JSON values"):
        TraceWriter(tmp_path / "a.trace", {"seed": value})


def test_image_size_may_be_numpy_integers(tmp_path: Path) -> None:
    width, height = np.array([4, 3])
    with TraceWriter(tmp_path / "a.trace", image_size=(width, height)):
        pass
    assert open_trace(tmp_path / "a.trace").image_size == (4, 3)
