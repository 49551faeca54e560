"""Each law holds on generated traces, and is found with table and row when it is broken."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.guard.problem import Problem
from rayplay.formats.laws.check import LAWS, PROBLEMS_PER_LAW, validate
from rayplay.formats.parquet.arrow import Columns
from rayplay.formats.parquet.groups import checked
from rayplay.formats.schema.trace import NODE_HIT_BIT, TRACE
from rayplay.formats.testing.generate import make_tables, make_trace, reordering
from tests.formats.edit.test_traversal_tables import BROKEN as BROKEN_TRAVERSALS

Tables = dict[str, Columns]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("image_size", "ctas"), [((40, 6), 4), (None, 2), ((33, 2), 0), ((5, 1), 1)])
def test_generated_traces_keep_all_laws(tmp_path: Path, seed, image_size, ctas) -> None:
    trace = open_trace(make_trace(tmp_path / "a.trace", seed, image_size, ctas))
    assert validate(trace) == []
    assert trace.rows("accesses") > 0


def change(table: str, column: str, row: int, value: Any) -> Callable[[Tables], None]:
    """Put ``value`` (or ``value(old)``) into one cell."""

    def apply(tables: Tables) -> None:
        cells = tables[table][column]
        cells[row] = value(cells[row]) if callable(value) else value

    return apply


def remove(table: str, row: int) -> Callable[[Tables], None]:
    """Take one row out of a table."""

    def apply(tables: Tables) -> None:
        columns = tables[table]
        for column in TRACE.table(table).columns:
            if column.ragged:
                offsets = columns[f"{column.name}_offset"].astype(np.int64)
                first, end = offsets[row : row + 2]
                columns[column.name] = np.delete(columns[column.name], slice(first, end))
                lengths = np.delete(np.diff(offsets), row)
                columns[f"{column.name}_offset"] = np.concatenate([[0], np.cumsum(lengths)])
            else:
                columns[column.name] = np.delete(columns[column.name], row)

    return apply


def first_row(tables: Tables, table: str, **wanted: Any) -> int:
    """First row whose cells have the values wanted."""
    match = np.ones(len(next(iter(tables[table].values()))), bool)
    for name, value in wanted.items():
        match &= tables[table][name] == value
    return int(np.flatnonzero(match)[0])


def swap_accesses_of_a_visit(tables: Tables) -> None:
    rows = tables["accesses"]
    same = (rows["warp_id"][1:] == rows["warp_id"][:-1]) & (rows["visit"][1:] == rows["visit"][:-1])
    same &= rows["lane_mask"][1:] == rows["lane_mask"][:-1]
    row = int(np.flatnonzero(same)[0])
    rows["instruction_id"][[row, row + 1]] = rows["instruction_id"][[row + 1, row]]


def access_elsewhere(tables: Tables) -> None:
    rows = tables["accesses"]
    stores = np.flatnonzero(tables["instructions"]["operation_class"] == "store")
    rows["instruction_id"][0] = stores[0] if rows["instruction_id"][0] != stores[0] else stores[1]


def lane_that_was_not_launched(tables: Tables) -> None:
    tables["visits"]["active_mask"][first_row(tables, "visits", warp_id=1)] |= np.uint32(1 << 31)


def continue_another_instruction(tables: Tables) -> None:
    row = first_row(tables, "rays", segment=1)
    tables["rays"]["segment"][row] = 2


def wrong_lane_of_a_ray(tables: Tables) -> None:
    rows = tables["rays"]
    last = np.flatnonzero((rows["segment"] == 0) & (rows["lane"] < 31))
    visit_end = [r for r in last if r + 1 == len(rows["lane"]) or rows["visit"][r + 1] != rows["visit"][r]]
    rows["lane"][visit_end[0]] = 31


def ray_of_a_load(tables: Tables) -> None:
    loads = np.flatnonzero(tables["instructions"]["operation_class"] == "load")
    tables["rays"]["instruction_id"][0] = loads[0]


def hints_of_rows(rows: Callable[[list[int]], list[int]]) -> Callable[[Tables], None]:
    """The rows of hints in another order, some again or some alone."""

    def apply(tables: Tables) -> None:
        columns = tables["hints"]
        order = rows([*range(len(columns["visit"]))])
        lists = np.split(columns["hint"], columns["hint_offset"][1:-1].astype(np.int64))
        taken = [lists[row] for row in order]
        tables["hints"] = {name: columns[name][order] for name in ("warp_id", "visit", "instruction_id", "lane_mask")}
        tables["hints"]["hint"] = np.concatenate([np.zeros(0, np.uint32), *taken])
        tables["hints"]["hint_offset"] = np.cumsum([0, *map(len, taken)])

    return apply


def hints_of_two_visits_swapped(tables: Tables) -> None:
    warp = tables["hints"]["warp_id"]
    row = int(np.flatnonzero(warp[1:] == warp[:-1])[0])
    hints_of_rows(lambda rows: [*rows[:row], row + 1, row, *rows[row + 2 :]])(tables)


def hint_of_one_lane_missing(tables: Tables) -> None:
    """Of a row without predicate, mask and value alike."""
    rows = tables["hints"]
    rows["lane_mask"][0] &= rows["lane_mask"][0] - 1
    rows["hint"] = rows["hint"][1:]
    rows["hint_offset"][1:] -= 1


def lane_beyond_the_cta(tables: Tables) -> None:
    tables["kernels"]["block_x"][:] -= 1
    tables["warps"]["launched_mask"][:] = 0xFFFF_FFFF


def copy(address: int, size: int) -> Callable[[Tables], None]:
    """A copy from the host before the first launch, behind one that is possible."""

    def apply(tables: Tables) -> None:
        rows = {"kernel_id": [0, 0], "address": [1 << 63, address], "bytes": [4096, size]}
        tables["copies"] = {name: np.array(values, np.uint64) for name, values in rows.items()}

    return apply


BROKEN: list[tuple[str, str, Callable[[Tables], None]]] = [
    ("ids_are_row_numbers", "warps", change("warps", "warp_id", 3, 2)),
    ("ids_are_row_numbers", "nodes", change("nodes", "node_id", 63, 64)),
    ("columns_are_sorted", "visits", change("visits", "warp_id", 9, 19)),
    ("references_exist", "visits", change("visits", "block_id", 4, 12)),
    ("references_exist", "warps", change("warps", "kernel_id", 19, 2)),
    ("references_exist", "rays", change("rays", "node", 5, 64)),
    ("references_exist", "rays", change("rays", "node", 5, NODE_HIT_BIT | 64)),
    ("references_exist", "accesses", change("accesses", "instruction_id", 5, 1 << 30)),
    ("codes_are_known", "nodes", change("nodes", "kind", 2, 6)),
    ("codes_are_known", "rays", change("rays", "kind", 2, 2)),
    ("launches_are_possible", "kernels", change("kernels", "grid_y", 0, 0)),
    ("launches_are_possible", "kernels", change("kernels", "block_z", 1, 0)),
    ("launches_are_possible", "kernels", change("kernels", "grid_x", 0, (1 << 32) - 1)),
    ("launches_are_possible", "kernels", change("kernels", "block_z", 1, 1 << 16)),
    ("launches_are_possible", "kernels", change("kernels", "stream", 1, 1 << 31)),
    ("launches_are_possible", "kernels", change("kernels", "local_base", 0, 1 << 63)),
    ("instructions_are_possible", "instructions", change("instructions", "access_bytes", 2, 257)),
    ("instructions_are_possible", "instructions", change("instructions", "source_registers", 1, 1 << 20)),
    ("copies_are_possible", "copies", copy(0, (1 << 64) - 1)),
    ("copies_are_possible", "copies", copy(0, 1 << 40)),
    ("copies_are_possible", "copies", change("copies", "kernel_id", -1, 3)),
    ("copies_are_possible", "copies", copy((1 << 64) - 4096, 4096)),
    ("records_are_possible", "nodes", change("nodes", "address", 5, (1 << 64) - 1)),
    ("records_are_possible", "nodes", change("nodes", "address", 0, 1 << 46)),
    ("records_are_possible", "nodes", change("nodes", "bytes", 7, 129)),
    ("blocks_partition_instructions", "blocks", change("blocks", "first_instruction", 3, lambda old: old + 1)),
    ("blocks_partition_instructions", "blocks", change("blocks", "instruction_count", 3, 0)),
    ("blocks_partition_instructions", "instructions", change("instructions", "kernel_id", -1, 0)),
    ("blocks_partition_instructions", "instructions", change("instructions", "block_id", 7, lambda old: old + 1)),
    ("reconvergence_stays_in_the_launch", "blocks", change("blocks", "reconvergence_block", 0, 12)),
    ("reconvergence_stays_in_the_launch", "blocks", change("blocks", "reconvergence_block", 0, 9)),
    ("reconvergence_stays_in_the_launch", "blocks", change("blocks", "reconvergence_block", 0, -2)),
    ("warps_are_in_launch_order", "warps", change("warps", "cta_id", 3, 2)),
    ("warps_are_in_launch_order", "warps", change("warps", "cta_id", 11, 12)),
    ("warps_are_in_launch_order", "warps", change("warps", "warp_in_cta", 13, 2)),
    ("warps_are_in_launch_order", "warps", change("warps", "launched_mask", 3, 0)),
    ("warps_are_in_launch_order", "warps", lane_beyond_the_cta),
    ("threads_have_lanes_and_pixels", "threads", change("threads", "lane", 39, 8)),
    ("threads_have_lanes_and_pixels", "threads", change("threads", "lane", 3, 2)),
    ("threads_have_lanes_and_pixels", "threads", change("threads", "pixel_x", 3, 40)),
    ("threads_have_lanes_and_pixels", "threads", change("threads", "pixel_y", 3, 6)),
    ("image_is_complete", "image", change("image", "pixel_x", 3, 4)),
    ("image_is_complete", "image", change("image", "pixel_y", 3, 6)),
    ("image_is_complete", "image", remove("image", 17)),
    ("characterisation_is_possible", "characterisation", remove("characterisation", -1)),
    ("characterisation_is_possible", "characterisation", change("characterisation", "stall_cycles", 4, 0)),
    ("characterisation_is_possible", "characterisation", change("characterisation", "scoreboard_slot", 4, 6)),
    ("characterisation_is_possible", "characterisation", change("characterisation", "wait_mask", 4, 64)),
    ("active_masks_are_launched", "visits", change("visits", "active_mask", 4, 0)),
    ("active_masks_are_launched", "visits", lane_that_was_not_launched),
    ("visits_run_their_launch", "visits", change("visits", "block_id", 0, 9)),
    ("accesses_belong_to_visits", "accesses", change("accesses", "visit", 4, 1000)),
    ("accesses_belong_to_visits", "accesses", access_elsewhere),
    ("accesses_are_complete", "visits", remove("accesses", 0)),
    ("accesses_are_complete", "accesses", swap_accesses_of_a_visit),
    ("lane_masks_are_active", "accesses", change("accesses", "lane_mask", 0, lambda old: ~old)),
    ("lane_masks_are_active", "accesses", change("accesses", "lane_mask", 0, lambda old: old & (old - 1))),
    ("lane_masks_are_active", "accesses", change("accesses", "lane_mask", 0, 0)),
    ("one_address_per_lane", "accesses", change("accesses", "address_offset", 1, lambda old: old - 1)),
    ("rays_belong_to_visits", "rays", change("rays", "visit", 3, 1000)),
    ("rays_belong_to_visits", "rays", change("rays", "lane", -1, 32)),
    ("rays_belong_to_visits", "rays", wrong_lane_of_a_ray),
    ("rays_belong_to_visits", "rays", ray_of_a_load),
    ("rays_are_complete", "visits", remove("rays", 0)),
    ("predicates_leave_out_lanes", "predicates", change("predicates", "visit", 0, 1 << 20)),
    ("predicates_leave_out_lanes", "predicates", change("predicates", "lane_mask", 0, 0xFFFF_FFFF)),
    ("predicates_leave_out_lanes", "predicates", change("predicates", "instruction_id", 1, 0)),
    ("hints_belong_to_calls", "hints", change("hints", "visit", 0, 1 << 20)),
    ("hints_belong_to_calls", "hints", change("hints", "instruction_id", 0, 0)),
    ("hints_belong_to_calls", "hints", change("hints", "lane_mask", 0, 0)),
    ("hints_belong_to_calls", "hints", change("hints", "lane_mask", 0, 1)),
    ("hints_belong_to_calls", "hints", hints_of_rows(lambda rows: [0, *rows])),
    ("hints_belong_to_calls", "hints", hints_of_two_visits_swapped),
    ("hints_belong_to_calls", "hints", hint_of_one_lane_missing),
    ("hints_are_complete", "visits", hints_of_rows(lambda rows: rows[1:])),
    ("hints_are_complete", "visits", hints_of_rows(lambda rows: rows[:-1])),
    ("hints_are_complete", "visits", hints_of_rows(lambda rows: [])),
    ("rays_are_in_order", "rays", change("rays", "lane", 1, lambda old: old - 1)),
    ("segments_continue", "rays", continue_another_instruction),
    ("hits_are_whole", "rays", change("rays", "instance", 3, lambda old: -1 - old)),
    ("hits_are_whole", "rays", change("rays", "hit_t", 3, np.float32(-np.inf))),
]  # fmt: skip


@pytest.mark.parametrize(("law", "table", "breaking"), BROKEN, ids=[f"{law}-{k}" for k, (law, *_) in enumerate(BROKEN)])
def test_a_broken_law_is_found(tmp_path: Path, law, table, breaking) -> None:
    tables = fresh_tables()
    breaking(tables)
    problems = problems_of(tmp_path, tables)
    found = [problem for problem in problems if problem.law == law and problem.table == table]
    assert found, [str(problem) for problem in problems]
    assert all(problem.row < len(next(iter(tables[table].values()))) for problem in found)
    assert str(found[0]).startswith(f"{law}: table {table}")


def fresh_tables() -> Tables:
    """A valid trace as arrays that a test may change."""
    made = make_tables(5)
    made |= reordering(np.random.default_rng(5), made)
    tables = {name: checked(TRACE.table(name), columns) for name, columns in made.items()}
    return {name: {key: array.copy() for key, array in columns.items()} for name, columns in tables.items()}


def problems_of(folder: Path, tables: Tables) -> list[Problem]:
    """Findings of ``validate`` when the tables are a trace."""
    with TraceWriter(folder / "a.trace", image_size=(40, 6)) as writer:
        for name, columns in tables.items():
            writer.put(name, columns)
    return validate(open_trace(folder / "a.trace"))


def test_every_law_is_broken_once() -> None:
    elsewhere = {"files_intact", *(law for law, _ in BROKEN_TRAVERSALS)}
    assert {law.__name__ for law in LAWS} == {law for law, *_ in BROKEN} | elsewhere
    assert all((law.__doc__ or "").strip().count("\n") == 0 for law in LAWS)


def test_a_file_with_another_digest_is_found(tmp_path: Path) -> None:
    path = make_trace(tmp_path / "a.trace")
    document = json.loads((path / "manifest.json").read_text())
    del document["digest"]
    document["tables"]["warps"][0]["sha256"] = "0" * 64
    (path / "manifest.json").write_text(json.dumps(document))
    (problem,) = validate(open_trace(path))
    assert (problem.law, problem.table, problem.row) == ("files_intact", "warps", -1)


@pytest.mark.parametrize(
    "change", [lambda launches: launches[0].update(grid=[9, 9, 9]), lambda launches: launches.pop()]
)
def test_a_manifest_that_contradicts_the_launches_is_found(tmp_path: Path, change) -> None:
    path = make_trace(tmp_path / "a.trace")
    document = json.loads((path / "manifest.json").read_text())
    del document["digest"]
    change(document["launches"])
    (path / "manifest.json").write_text(json.dumps(document))
    assert {problem.law for problem in validate(open_trace(path))} == {"launches_are_possible"}


def test_one_wrong_block_is_one_problem(tmp_path: Path) -> None:
    tables = fresh_tables()
    tables["blocks"]["instruction_count"][4] += 1
    rows = [problem.row for problem in problems_of(tmp_path, tables) if problem.table == "blocks"]
    assert rows == [5, -1]


def test_row_and_value_are_named(tmp_path: Path) -> None:
    tables = fresh_tables()
    tables["visits"]["active_mask"][250] = 0
    problems = [str(problem) for problem in problems_of(tmp_path, tables)]
    assert "active_masks_are_launched: table visits, row 250: active_mask must have a lane, not 0x0" in problems


@pytest.mark.parametrize("rows_per_batch", [1, 50, 1 << 20])
def test_rows_do_not_depend_on_the_batches(tmp_path: Path, monkeypatch, rows_per_batch) -> None:
    monkeypatch.setattr("rayplay.formats.dataset.reader.BATCH_VALUES", rows_per_batch)
    tables = fresh_tables()
    tables["accesses"]["lane_mask"][[7, 60, 200]] = 0
    tables["rays"]["segment"][[30, 300]] = 9
    problems = problems_of(tmp_path, tables)
    rows = [problem.row for problem in problems if problem.message == "lane_mask must have a lane"]
    assert rows == [7, 60, 200]
    assert {30, 300} <= {problem.row for problem in problems if problem.law == "segments_continue"}


def test_at_most_twenty_problems_of_a_law_are_listed(tmp_path: Path) -> None:
    tables = fresh_tables()
    tables["rays"]["hit_t"][:] = -np.inf
    problems = problems_of(tmp_path, tables)
    assert sum(problem.law == "hits_are_whole" for problem in problems) == PROBLEMS_PER_LAW


def test_broken_ids_put_off_the_laws_that_need_them(tmp_path: Path) -> None:
    tables = fresh_tables()
    tables["visits"]["block_id"][0] = 99
    laws = [problem.law for problem in problems_of(tmp_path, tables)]
    assert laws == ["references_exist", "execution_is_checked"]
