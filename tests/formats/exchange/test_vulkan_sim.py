"""Dumps of Vulkan-Sim's RT unit as traces of rays: the records of every lane in order, and errors with their line."""

import lzma
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.exchange.vulkan_sim import import_vulkan_sim, read_calls
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.laws.check import validate
from rayplay.formats.schema.trace import NODE_HIT_BIT

DUMP = """\
A 1 2 77 100
T 0 1 2 3 0.5 0 0 -1 10000 c0:64:0 100:64:1 200:8:3 200:64:5
T 3 1 2 4 0.5 0 1 0 10000 c0:64:0
M 1 77 101 c0 0 2
A 0 0 78 105
T 31 0 0 0 0 1 0 0 10 c0:64:0 S300:32:0
R 1 77 300 c0 c0 0
D 1 2 77 100 400 0:300 3:200
A 1 2 79 500
T 3 5 5 5 0 1 0 0 10 100:64:1
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text) if path.suffix == ".txt" else path.write_bytes(lzma.compress(text.encode()))
    return path


@pytest.mark.parametrize("name", ["dump.txt", "dump.txt.xz"])
def test_every_lane_keeps_its_records_in_order(tmp_path: Path, name: str) -> None:
    import_vulkan_sim(write(tmp_path / name, DUMP), tmp_path / "a.trace")
    trace = open_trace(tmp_path / "a.trace")
    assert validate(trace) == []
    rays, nodes = trace.read("rays"), trace.read("nodes")
    assert list(zip(rays["warp_id"], rays["visit"], rays["lane"], strict=True)) == [
        (0, 0, 31), (1, 0, 0), (1, 0, 3), (1, 1, 3),
    ]  # fmt: skip
    lists = np.split(rays["node"], rays["node_offset"].astype(int)[1:-1])
    addresses = [[int(nodes["address"][node & (NODE_HIT_BIT - 1)]) for node in row] for row in lists]
    assert addresses == [[0xC0], [0xC0, 0x100, 0x200, 0x200], [0xC0], [0x100]]
    assert [bool(node & NODE_HIT_BIT) for node in lists[1]] == [False, False, False, True]
    assert rays["origin_z"].tolist() == [0, 3, 4, 5]
    assert [call.stores for call in read_calls(tmp_path / name)][1] == {31: [(0x300, 32, 0)]}
    assert trace.read("visits")["active_mask"].tolist() == [1 << 31, 0xFFFF_FFFF, 9, 8, 0xFFFF_FFFF]


@pytest.mark.parametrize(
    ("line", "text", "message"),
    [
        (2, "T 0 1 2 3 0.5 0 0 -1 10000 c0:64", "a record must be address:bytes:type, found 'c0:64'"),
        (2, "T 0 1 2 3 0.5 0 0 -1 10000 c0:256:0", "a record must have a type below 7 and at most 128 bytes"),
        (3, "T 32 1 2 4 0.5 0 1 0 10000", "must be a lane below 32"),
        (3, "T 3 1 2 4", "must be a lane below 32 and eight numbers"),
        (5, "A 0", "must be 'A sm warp uid cycle'"),
        (1, "T 0 1 2 3 0.5 0 0 -1 10000", "a ray must follow a line"),
        (4, "Q 1", "must begin with A, T, M, R or D, found 'Q'"),
    ],
)
def test_a_line_that_does_not_fit_is_named(tmp_path: Path, line: int, text: str, message: str) -> None:
    lines = DUMP.splitlines()
    lines[line - 1] = text
    path = write(tmp_path / "dump.txt", "\n".join(lines))
    with pytest.raises(FormatError, match=f"dump.txt:{line}: {message}"):
        import_vulkan_sim(path, tmp_path / "a.trace")
    assert [found.name for found in tmp_path.iterdir()] == ["dump.txt"]


def test_a_cut_off_file_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "dump.txt.xz", DUMP * 100)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FormatError, match="must be whole"):
        import_vulkan_sim(path, tmp_path / "a.trace")


@pytest.mark.parametrize(("name", "calls", "records"), [("box32", 122, 12.4), ("shipao32", 160, 42.6)])
def test_the_references_dumps_have_its_figures(data: Path, tmp_path: Path, name, calls, records) -> None:
    """Warp-traces and records per ray of docs/sources/vulkan-sim.md#golden-dumps."""
    import_vulkan_sim(data / f"reference/vulkansim/{name}.txt.xz", tmp_path / "a.trace")
    rays = open_trace(tmp_path / "a.trace").read("rays")
    assert len(np.unique(rays["warp_id"].astype(np.int64) << 32 | rays["visit"])) == calls
    assert round(len(rays["node"]) / len(rays["lane"]), 1) == records
