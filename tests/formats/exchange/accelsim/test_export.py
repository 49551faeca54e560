"""Export to Accel-Sim's files: importing them gives every warp's instructions, lanes and addresses again."""

import sys
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.__main__ import main
from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.edit.select import select
from rayplay.formats.exchange.accelsim.export import export_accelsim
from rayplay.formats.exchange.accelsim.importer import import_accelsim
from rayplay.formats.guard.command import run
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.laws.check import validate
from rayplay.formats.look.diff import differences
from rayplay.formats.testing.generate import make_trace
from tests.reference.filter_twin import Row, lanes_of, rows_of

Step = tuple[int, dict[int, int]]  # lanes, and the address of each that accessed memory


def steps(trace: Trace) -> dict[tuple[int, int, int], list[Step]]:
    """Execution of each warp: (launch, CTA, warp in CTA) -> one step per executed instruction."""
    blocks, told = rows_of(trace.read("blocks")), {}
    tables = {name: by_warp(trace, name) for name in ("visits", "accesses", "predicates")}
    for warp in rows_of(trace.read("warps")):
        keyed = {
            name: {(row["visit"], row["instruction_id"]): row for row in tables[name].get(warp["warp_id"], [])}
            for name in ("accesses", "predicates")
        }
        own: list[Step] = []
        for number, visit in enumerate(tables["visits"].get(warp["warp_id"], [])):
            block = blocks[visit["block_id"]]
            for place in range(block["first_instruction"], block["first_instruction"] + block["instruction_count"]):
                access, left = keyed["accesses"].get((number, place)), keyed["predicates"].get((number, place))
                mask = left["lane_mask"] if left else visit["active_mask"]
                lanes = dict(zip(lanes_of(access["lane_mask"]), access["address"], strict=True)) if access else {}
                own.append((mask, lanes))
        told[warp["kernel_id"], warp["cta_id"], warp["warp_in_cta"]] = own
    return told


def by_warp(trace: Trace, table: str) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows_of(trace.read(table)):
        found.setdefault(row["warp_id"], []).append(row)
    return found


def there_and_back(trace: Trace, folder: Path) -> Trace:
    export_accelsim(trace, folder / "files", compress=True)
    import_accelsim(folder / "files/kernelslist.g", folder / "back.trace")
    return open_trace(folder / "back.trace")


@pytest.mark.parametrize("seed", range(5))
def test_a_trace_comes_back_with_every_lane_and_address(tmp_path: Path, seed: int) -> None:
    trace = open_trace(make_trace(tmp_path / "a.trace", seed, image_size=None, ctas=5))
    back = there_and_back(trace, tmp_path)
    assert validate(back) == []
    before, after = steps(trace), steps(back)
    assert before.keys() == after.keys()
    for warp, own in before.items():
        exits = [mask for mask, _ in after[warp][len(own) :]]
        assert after[warp][: len(own)] == own
        assert len(exits) <= 1, "only lanes that never exited get an exit"
    copies = [tuple(row.values()) for row in rows_of(trace.read("copies"))]
    assert [tuple(row.values()) for row in rows_of(back.read("copies"))] == copies


def test_what_was_imported_comes_back_equal(tmp_path: Path) -> None:
    trace = there_and_back(open_trace(make_trace(tmp_path / "a.trace", 3, image_size=None)), tmp_path)
    (tmp_path / "again").mkdir()
    assert list(differences(trace, there_and_back(trace, tmp_path / "again"))) == []


def test_chosen_ctas_become_a_grid_of_one_dimension(tmp_path: Path) -> None:
    trace = open_trace(make_trace(tmp_path / "a.trace", 2, image_size=None, ctas=6))
    select(trace, tmp_path / "part.trace", ctas="1,4")
    back = there_and_back(open_trace(tmp_path / "part.trace"), tmp_path)
    assert [int(back.read("kernels")[f"grid_{axis}"][0]) for axis in "xyz"] == [2, 1, 1]
    assert np.unique(back.read("warps")["cta_id"]).tolist() == [0, 1]


@pytest.mark.parametrize("name", ["bfs-rodinia-2.0-ft", "matrixmul-32-32"])
def test_the_references_traces_come_back_equal(data: Path, tmp_path: Path, name: str) -> None:
    listing = next((data / "reference/accelsim/traces" / name).rglob("kernelslist.g"))
    import_accelsim(listing, tmp_path / "first.trace")
    trace = open_trace(tmp_path / "first.trace")
    assert list(differences(trace, there_and_back(trace, tmp_path))) == []


def test_rays_and_foreign_folders_are_refused(monkeypatch, capsys, tmp_path: Path) -> None:
    rays = make_trace(tmp_path / "rays.trace", 1)
    with pytest.raises(FormatError, match="must be without rays: Accel-Sim has no RT unit"):
        export_accelsim(open_trace(rays), tmp_path / "files")
    make_trace(tmp_path / "a.trace", 1, image_size=None)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/letter.txt").write_text("keep me")
    arguments = ["formats", "export", str(tmp_path / "a.trace"), "--out", str(tmp_path / "mine")]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as end:
        run("formats", main)
    assert end.value.code == 2
    assert "must be absent or an earlier export" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]


def test_files_beside_an_earlier_export_are_not_lost(tmp_path: Path) -> None:
    trace = open_trace(make_trace(tmp_path / "a.trace", 1, image_size=None))
    export_accelsim(trace, tmp_path / "files", compress=True)
    export_accelsim(trace, tmp_path / "files")
    (tmp_path / "files" / "stats.csv").write_text("measured")
    with pytest.raises(FormatError, match=r"holds stats\.csv, which is not of an earlier export: not replaced"):
        export_accelsim(trace, tmp_path / "files")
    assert (tmp_path / "files" / "stats.csv").read_text() == "measured"


@pytest.mark.parametrize("seed", [0, 4])
def test_kernel_files_keep_the_rules_that_accel_sim_asserts(tmp_path: Path, seed: int) -> None:
    """docs/sources/accel-sim.md#refused-traces: operands, widths, one exit per lane, every warp of every CTA."""
    make_trace(tmp_path / "a.trace", seed, image_size=None, ctas=3)
    export_accelsim(open_trace(tmp_path / "a.trace"), tmp_path / "files")
    text = (tmp_path / "files/kernel-1.traceg").read_text()
    assert text.endswith("\n")
    ctas = text.split("#BEGIN_TB")[1:]
    assert len(ctas) == 3
    for cta in ctas:
        warps = cta.split("warp = ")[1:]
        assert len(warps) == 2
        for warp in warps:
            lines = [line for line in warp.splitlines()[1:] if line and not line.startswith("#")]
            assert lines[0] == f"insts = {len(lines) - 1}"
            exited = 0
            for line in lines[1:]:
                exited ^= check_line(line.split())
            assert exited == 0xFFFF_FFFF


def check_line(words: list[str]) -> int:
    """The lanes that a line's instruction lets exit."""
    mask, written = int(words[1], 16), int(words[2])
    opcode, read = words[3 + written], int(words[4 + written])
    width, rest = int(words[5 + written + read]), words[6 + written + read :]
    assert written <= 1
    assert read <= 4
    assert all(word.startswith("R") for word in [*words[3 : 3 + written], *words[5 + written : 5 + written + read]])
    assert width in (0, 1, 2, 4, 8, 16)
    if width:
        lanes = mask.bit_count()
        assert len(rest) == (3 if rest[0] == "1" else 1 + lanes)
    return mask if opcode == "EXIT" else 0
