"""Cutting, joining and comparing traces: what each keeps, the laws of what comes out, and the errors."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayplay.formats.__main__ import main
from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.edit.convert import convert
from rayplay.formats.edit.merge import merge
from rayplay.formats.edit.pixels import write_pixels
from rayplay.formats.edit.select import select
from rayplay.formats.guard.command import run
from rayplay.formats.guard.errors import UserError
from rayplay.formats.laws.check import validate
from rayplay.formats.look.diff import differences
from rayplay.formats.look.statistics import measure
from rayplay.formats.parquet.groups import checked
from rayplay.formats.schema.trace import OPERATION_CLASSES, TRACE
from rayplay.formats.testing.generate import make_trace
from tests.reference.filter_twin import rows_of
from tests.replay.launches import Kernel, write_kernels

STREAMED = ("visits", "accesses", "predicates", "hints", "rays", "threads")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_trace(tmp_path_factory.mktemp("parts") / "whole.trace", 7, hints=True)


def opcodes(trace: Trace) -> list[str]:
    return [str(opcode) for opcode in trace.read("instructions", ["opcode"])["opcode"]]


def stories(trace: Trace) -> dict[tuple[str, int, int], list[Any]]:
    """Execution of each warp without row numbers: (launch, CTA, warp in CTA) -> opcodes, masks, addresses and rays."""
    names, texts = trace.read("kernels", ["name"])["name"], opcodes(trace)
    blocks = trace.read("blocks", ["first_instruction", "instruction_count"])
    spans = list(zip(blocks["first_instruction"].tolist(), blocks["instruction_count"].tolist(), strict=True))
    warps = rows_of(trace.read("warps"))
    told: dict[int, list[Any]] = {warp["warp_id"]: [] for warp in warps}
    for row in rows_of(trace.read("visits")):
        first, count = spans[row["block_id"]]
        told[row["warp_id"]].append((texts[first : first + count], row["active_mask"]))
    for table in ("accesses", "predicates", "hints", "rays"):
        for row in rows_of(trace.read(table)):
            instruction = texts[row.pop("instruction_id")]
            told[row.pop("warp_id")].append((table, instruction, sorted(row.items())))
    return {
        (str(names[warp["kernel_id"]]), warp["cta_id"], warp["warp_in_cta"]): told[warp["warp_id"]] for warp in warps
    }


@pytest.mark.parametrize(
    ("sets", "stays"),
    [
        ({"kernels": "1"}, lambda launch, cta, warp: launch == 1),
        ({"kernels": "0"}, lambda launch, cta, warp: launch == 0),
        ({"ctas": "1-2"}, lambda launch, cta, warp: cta in (1, 2)),
        ({"warps": "0,3-5,14"}, lambda launch, cta, warp: warp in (0, 3, 4, 5, 14)),
        ({"kernels": "1", "ctas": "0,3"}, lambda launch, cta, warp: launch == 1 and cta in (0, 3)),
    ],
)
def test_a_part_is_the_chosen_warps_and_nothing_else(whole: Path, tmp_path: Path, sets, stays) -> None:
    trace = open_trace(whole)
    select(trace, tmp_path / "part.trace", **sets)
    part = open_trace(tmp_path / "part.trace")
    assert validate(part) == []
    names = [str(name) for name in trace.read("kernels", ["name"])["name"]]
    wanted = {
        (names[row["kernel_id"]], row["cta_id"], row["warp_in_cta"])
        for row in rows_of(trace.read("warps"))
        if stays(row["kernel_id"], row["cta_id"], row["warp_id"])
    }
    told = stories(trace)
    assert stories(part) == {key: story for key, story in told.items() if key in wanted}
    assert 0 < len(wanted) < len(told)


def test_all_launches_are_the_whole_trace(whole: Path, tmp_path: Path) -> None:
    trace = open_trace(whole)
    select(trace, tmp_path / "part.trace", kernels="0-1")
    assert list(differences(trace, open_trace(tmp_path / "part.trace"))) == []


def test_copies_stay_before_the_launch_that_follows(whole: Path, tmp_path: Path) -> None:
    select(open_trace(whole), tmp_path / "part.trace", kernels="1")
    assert open_trace(tmp_path / "part.trace").read("copies")["kernel_id"].tolist() == [0]


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ({"kernels": "2"}, "--kernels: must be numbers below 2 in growing ranges, not 2"),
        ({"ctas": "5-3"}, "--ctas: must be numbers below 12 in growing ranges, not 5-3"),
        ({"warps": "1,x"}, "--warps: must be numbers and ranges such as 0,4-7, not '1,x'"),
        ({"kernels": "0", "warps": "19"}, "the selection must leave a warp"),
    ],
)
def test_an_impossible_part_is_refused(whole: Path, tmp_path: Path, sets, message: str) -> None:
    with pytest.raises(UserError, match=message.replace("(", r"\(")):
        select(open_trace(whole), tmp_path / "part.trace", **sets)
    assert list(tmp_path.iterdir()) == []


def test_merged_traces_keep_their_stories(whole: Path, tmp_path: Path) -> None:
    make_trace(tmp_path / "other.trace", 8, image_size=None, ctas=3)
    first, second = open_trace(whole), open_trace(tmp_path / "other.trace")
    merge([first, second], tmp_path / "both.trace")
    both = open_trace(tmp_path / "both.trace")
    assert validate(both) == []
    kernels = rows_of(both.read("kernels"))
    assert [kernel["stream"] for kernel in kernels] == [0, 0, 1]
    for trace, chosen in ((first, "0-1"), (second, "2")):
        select(both, tmp_path / "part.trace", kernels=chosen)
        assert stories(open_trace(tmp_path / "part.trace")) == stories(trace)


def drawn(path: Path) -> Trace:
    """Four launches; the middle two are the stages of a draw, and each but the first has memory of its own."""
    rows = {
        "stages": {
            "kernel_id": [1, 2], "stage": ["vertex", "fragment"], "draw": [7, 7], "draw_name": ["mesh", "mesh"],
            "triangles": [2, 2], "shaded": [4, 2**32 - 1], "live": [4, 50], "covered": [0, 60],
        },
        "fills": {
            "kernel_id": [1, 2, 2, 3], "address": np.array([1 << 40, 64, 2**63, 256], np.uint64),
            "bytes": [1 << 39, 640, 32, 0], "cta_bytes": np.array([768, 64, 0, 2**64 - 1], np.uint64),
            "kind": ["buffer", "buffer", "texture", "buffer"],
        },
    }  # fmt: skip
    typed = {name: checked(TRACE.table(name), columns) for name, columns in rows.items()}
    return open_trace(write_kernels(path, [Kernel((2, 3))] * 4, typed))


def of_draws(trace: Trace) -> dict[str, list[dict[str, Any]]]:
    return {name: rows_of(trace.read(name)) for name in ("stages", "fills")}


def test_draws_follow_their_launches_through_every_verb(tmp_path: Path) -> None:
    """Stages and fills are kept, renumbered or dropped with the launches they belong to; no other column changes."""
    trace = drawn(tmp_path / "drawn.trace")
    assert validate(trace) == []
    whole = of_draws(trace)

    def moved(launches: dict[int, int]) -> dict[str, list[dict[str, Any]]]:
        return {
            name: [row | {"kernel_id": launches[row["kernel_id"]]} for row in rows if row["kernel_id"] in launches]
            for name, rows in whole.items()
        }

    convert(trace, tmp_path / "drawn.trace.h5")
    convert(open_trace(tmp_path / "drawn.trace.h5"), tmp_path / "back.trace")
    for name in ("drawn.trace.h5", "back.trace"):
        assert of_draws(open_trace(tmp_path / name)) == whole
    select(trace, tmp_path / "two.trace", kernels="0,2-3")
    assert of_draws(open_trace(tmp_path / "two.trace")) == moved({2: 1, 3: 2})
    select(trace, tmp_path / "ctas.trace", ctas="1")
    assert of_draws(open_trace(tmp_path / "ctas.trace")) == whole, "a part of a launch has the whole launch's memory"
    merge([trace, open_trace(tmp_path / "two.trace")], tmp_path / "both.trace")
    both = open_trace(tmp_path / "both.trace")
    assert validate(both) == []
    again = moved({2: 5, 3: 6})
    assert of_draws(both) == {name: rows + again[name] for name, rows in whole.items()}


def test_two_images_are_not_merged(whole: Path, tmp_path: Path) -> None:
    make_trace(tmp_path / "other.trace", 8)
    with pytest.raises(UserError, match="at most one of the traces may be of an image launch"):
        merge([open_trace(whole), open_trace(tmp_path / "other.trace")], tmp_path / "both.trace")
    assert not (tmp_path / "both.trace").exists()


def test_equal_traces_do_not_differ_whatever_the_container(whole: Path, tmp_path: Path) -> None:
    convert(open_trace(whole), tmp_path / "whole.trace.h5")
    assert list(differences(open_trace(whole), open_trace(tmp_path / "whole.trace.h5"))) == []


def changed(trace: Trace, path: Path, table: str, change) -> Trace:
    with TraceWriter(path, image_size=trace.image_size) as writer:
        for name in trace.tables:
            columns = {column: values.copy() for column, values in trace.read(name).items()}
            if name == table:
                change(columns)
            writer.put(name, columns)
    return open_trace(path)


@pytest.mark.parametrize(
    ("table", "column", "row", "value"),
    [
        ("visits", "active_mask", 17, 5),
        ("blocks", "program", 2, "else"),
        ("rays", "hit_t", 3, 0.25),
        ("stages", "covered", 0, 9),
        ("fills", "kind", 0, "texture"),
    ],
)
def test_the_first_differing_row_and_column_are_named(whole: Path, tmp_path: Path, table, column, row, value) -> None:
    def change(columns: dict[str, np.ndarray]) -> None:
        columns[column][row] = value
        columns[column][row + 2 : row + 3] = value

    other = changed(open_trace(whole), tmp_path / "other.trace", table, change)
    found = list(differences(open_trace(whole), other))
    assert len(found) == 1
    assert found[0].startswith(f"table {table}, row {row}, column {column}: ")


def test_a_differing_list_and_missing_rows_are_named(whole: Path, tmp_path: Path) -> None:
    def cut(columns: dict[str, np.ndarray]) -> None:
        end = int(columns["address_offset"][4])
        for name in columns:
            columns[name] = columns[name][: 5 if name == "address_offset" else end if name == "address" else 4]
        columns["address"][-1] += 4

    other = changed(open_trace(whole), tmp_path / "other.trace", "accesses", cut)
    rows = open_trace(whole).rows("accesses")
    found = list(differences(open_trace(whole), other))
    assert found[0].startswith("table accesses, row 3, column address: [")
    assert found[1] == f"table accesses: {rows:,} and 4 rows"


def test_statistics_equal_the_sums_row_by_row(whole: Path) -> None:
    trace = open_trace(whole)
    found = measure(trace)
    blocks, instructions = rows_of(trace.read("blocks")), rows_of(trace.read("instructions"))
    warps, threads, touched = dict.fromkeys(OPERATION_CLASSES, 0), dict.fromkeys(OPERATION_CLASSES, 0), set()
    for visit in rows_of(trace.read("visits")):
        block = blocks[visit["block_id"]]
        for number in range(block["first_instruction"], block["first_instruction"] + block["instruction_count"]):
            warps[instructions[number]["operation_class"]] += 1
            threads[instructions[number]["operation_class"]] += visit["active_mask"].bit_count()
    masks: dict[int, list[int]] = {}
    for visit in rows_of(trace.read("visits")):
        masks.setdefault(visit["warp_id"], []).append(visit["active_mask"])
    for row in rows_of(trace.read("predicates")):
        left_out = masks[row["warp_id"]][row["visit"]] & ~row["lane_mask"]
        threads[instructions[row["instruction_id"]]["operation_class"]] -= left_out.bit_count()
    for access in rows_of(trace.read("accesses")):
        instruction = instructions[access["instruction_id"]]
        for address in access["address"]:
            for byte in range(address, address + instruction["access_bytes"]):
                touched.add((instruction["memory_space"], byte >> 5))
    assert dict(zip(OPERATION_CLASSES, found.warp_instructions.tolist(), strict=True)) == warps
    assert dict(zip(OPERATION_CLASSES, found.thread_instructions.tolist(), strict=True)) == threads
    assert {(space, int(sector)) for space, sectors in found.sectors.items() for sector in sectors} == touched
    assert found.active_lanes.sum() == found.warp_instructions.sum()


def formats(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    monkeypatch.setattr(sys, "argv", ["formats", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        run("formats", main)
    return end.value.code


def test_the_verbs_say_what_they_did(monkeypatch, capsys, whole: Path, tmp_path: Path) -> None:
    part, pixels = tmp_path / "part.trace", tmp_path / "pixels.txt"
    assert formats(monkeypatch, "select", whole, "--kernels", "1", "--out", part) == 0
    assert "1 of 2 kernels, 8 of 20 warps" in capsys.readouterr().out
    assert formats(monkeypatch, "diff", whole, whole) == 0
    assert formats(monkeypatch, "diff", whole, part) == 1
    assert "table kernels: 2 and 1 rows" in capsys.readouterr().out
    assert formats(monkeypatch, "stats", whole) == 0
    assert "per warp instruction" in capsys.readouterr().out
    write_pixels(pixels, np.eye(6, 40, dtype=bool))
    assert formats(monkeypatch, "select", whole, "--pixels", pixels, "--out", part) == 0
    assert "6 of 240 pixels" in capsys.readouterr().out
    assert formats(monkeypatch, "select", whole, "--out", part) == 2
    assert "give either --pixels or" in capsys.readouterr().err
    assert formats(monkeypatch, "merge", whole, "--out", tmp_path / "one.trace") == 2
    assert "must be merged from two traces or more" in capsys.readouterr().err
