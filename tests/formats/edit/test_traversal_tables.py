"""Parents, distances and culled visits go along wherever rays go; each law of theirs is found when it is broken."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.edit.convert import convert
from rayplay.formats.edit.filter import filter_to_many
from rayplay.formats.edit.merge import merge
from rayplay.formats.edit.select import select
from rayplay.formats.guard.errors import UserError
from rayplay.formats.laws.check import validate
from rayplay.formats.parquet.groups import checked
from rayplay.formats.schema.trace import TRACE
from rayplay.formats.testing.generate import make_trace

TABLES = ("parents", "distances", "culled")
Tables = dict[str, dict[str, Any]]
pytestmark = pytest.mark.filterwarnings("ignore:.*no instruction filter_shader")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    path = tmp_path_factory.mktemp("walked") / "whole.trace"
    return open_trace(make_trace(path, 3, (40, 6), ctas=2, traversals=True))


def told(trace: Trace, shift: int = 0) -> list[tuple[Any, ...]]:
    """Lane of each ray with the lists of its records, distances and culled visits, in order."""
    rays, distances, culled = (trace.read(name) for name in ("rays", "distances", "culled"))
    assert np.array_equal(distances["warp_id"], rays["warp_id"])
    assert np.array_equal(culled["warp_id"], rays["warp_id"])
    lists = []
    for ray in range(len(rays["lane"])):
        of = [(rays, "node"), (distances, "distance"), *((culled, name) for name in ("node", "distance", "position"))]
        parts = [np.asarray(rows[name])[slice(*rows[f"{name}_offset"][ray : ray + 2].tolist())] for rows, name in of]
        parts[0], parts[2] = parts[0] - np.uint32(shift), parts[2] - np.uint32(shift)
        lists.append((int(rays["lane"][ray]), *(tuple(part.tolist()) for part in parts)))
    return lists


def test_convert_keeps_them(whole: Trace, tmp_path: Path) -> None:
    convert(whole, tmp_path / "a.trace.h5")
    convert(open_trace(tmp_path / "a.trace.h5"), tmp_path / "a.trace")
    again = open_trace(tmp_path / "a.trace")
    assert validate(again) == []
    assert told(again) == told(whole)


def test_select_keeps_those_of_its_warps(whole: Trace, tmp_path: Path) -> None:
    select(whole, tmp_path / "a.trace", warps="2-5,9")
    part = open_trace(tmp_path / "a.trace")
    assert validate(part) == []
    stays = np.isin(whole.read("rays", ["warp_id"])["warp_id"], [2, 3, 4, 5, 9])
    assert told(part) == [ray for ray, stay in zip(told(whole), stays, strict=True) if stay]
    assert np.array_equal(part.read("parents")["parent"], whole.read("parents")["parent"])


def test_filter_keeps_those_of_its_lanes(whole: Trace, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    chosen = [rng.random((6, 40)) < share for share in (0.5, 0.1)]
    filter_to_many(whole, chosen, [tmp_path / "0.trace", tmp_path / "1.trace"])
    rays, threads = whole.read("rays"), whole.read("threads")
    pixel = {
        (w, lane): (y, x)
        for w, lane, x, y in zip(*(threads[n].tolist() for n in ("warp_id", "lane", "pixel_x", "pixel_y")), strict=True)
    }
    for number, selected in enumerate(chosen):
        part = open_trace(tmp_path / f"{number}.trace")
        assert validate(part) == []
        stays = [selected[pixel[key]] for key in zip(rays["warp_id"].tolist(), rays["lane"].tolist(), strict=True)]
        assert told(part) == [ray for ray, stay in zip(told(whole), stays, strict=True) if stay]


def test_merge_shifts_their_records(whole: Trace, tmp_path: Path) -> None:
    second = open_trace(make_trace(tmp_path / "b.trace", 4, None, ctas=1))
    select(whole, tmp_path / "image.trace", kernels="0")
    merge([second, open_trace(tmp_path / "image.trace")], tmp_path / "a.trace")
    joined = open_trace(tmp_path / "a.trace")
    assert validate(joined) == []
    assert told(joined) == told(whole)


def test_merge_refuses_rays_without_them(tmp_path: Path) -> None:
    paths = [make_trace(tmp_path / f"{n}.trace", n, (33, 2), 0, traversals=n == 0) for n in range(2)]
    plain = open_trace(paths[1])
    with TraceWriter(tmp_path / "no-pixels.trace") as writer:  # of two images one trace must have no pixels
        for name in plain.tables:
            if name not in ("threads", "image"):
                writer.put(name, plain.read(name))
    with pytest.raises(UserError, match="must have a table parents, since another"):
        merge([open_trace(paths[0]), open_trace(tmp_path / "no-pixels.trace")], tmp_path / "a.trace")


def cell(table: str, column: str, row: int, value: Any) -> Callable[[Tables], None]:
    def apply(tables: Tables) -> None:
        tables[table][column][row] = value(tables[table][column][row]) if callable(value) else value

    return apply


def swapped_positions(tables: Tables) -> None:
    rows = tables["culled"]
    begin = rows["position_offset"].astype(int)
    ray = next(r for r in range(len(begin) - 1) if len(set(rows["position"][begin[r] : begin[r + 1]].tolist())) > 1)
    rows["position"][begin[ray] : begin[ray + 1]] = rows["position"][begin[ray] : begin[ray + 1]][::-1].copy()


def first_row_gone(tables: Tables) -> None:
    rows = tables["distances"]
    begin = rows["distance_offset"].astype(np.int64)
    tables["distances"] = {
        "warp_id": rows["warp_id"][1:], "distance": rows["distance"][begin[1] :],
        "distance_offset": (begin - begin[1])[1:],
    }  # fmt: skip


BROKEN = [
    ("parents_lead_to_records", cell("parents", "parent", 0, 1)),
    ("parents_lead_to_records", cell("parents", "parent", 3, -1)),
    ("parents_lead_to_records", cell("parents", "node_id", 5, 4)),
    ("lists_are_of_rays", first_row_gone),
    ("lists_are_of_rays", cell("distances", "distance_offset", 1, lambda old: old - 1)),
    ("distances_are_numbers", cell("distances", "distance", 3, np.nan)),
    ("culled_are_in_order", cell("culled", "position", 0, 1 << 20)),
    ("culled_are_in_order", swapped_positions),
    ("parents_come_first", cell("rays", "node", 2, lambda old: 9)),
    ("references_exist", cell("culled", "node", 0, 1 << 20)),
]


@pytest.mark.parametrize(("law", "breaking"), BROKEN)
def test_a_broken_law_is_found(whole: Trace, tmp_path: Path, law: str, breaking: Callable[[Tables], None]) -> None:
    tables = {name: {key: values.copy() for key, values in whole.read(name).items()} for name in whole.tables}
    breaking(tables)
    with TraceWriter(tmp_path / "a.trace", image_size=whole.image_size) as writer:
        for name, columns in tables.items():
            writer.put(name, checked(TRACE.table(name), columns))
    assert law in {problem.law for problem in validate(open_trace(tmp_path / "a.trace"))}
