"""Reorders that a replay carries out: threads keep their work, warps get fuller, state and sort cost what they say."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.memory import MemorySource
from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.edit.filter import filter_trace
from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.formats.laws.check import problems
from rayplay.replay.gpu.description import load
from rayplay.replay.reorder import carry_out
from rayplay.replay.reorder.carry_out import carried_out
from rayplay.replay.reorder.paths import code_of, dealt, paths_of, run_together
from rayplay.replay.reorder.spec import KEYS, Spec
from rayplay.replay.run.driver import simulate
from rayplay.tracer.render import Request, render
from rayplay.zatel.paper.options import Options
from rayplay.zatel.paper.predict import predict
from rayplay.zatel.sample.estimate import estimate_many
from tests.reference.reorder_slow import SlowReorder
from tools.gallery import ROOT, figures_of

PROGRAM = ROOT / "examples" / "gallery" / "hit_objects.ptx"
WIDTH, HEIGHT = 32, 16


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """A trace of 16 warps whose threads reorder at every hit."""
    out = tmp_path_factory.mktemp("plain") / "hits.trace"
    render(Request("wknd", PROGRAM, None, out, WIDTH, HEIGHT, samples=2))
    return open_trace(out)


def moved(trace: Trace, window: int, state_bytes: int = 0, key: str = "path", sort_cycles: int = 0) -> Trace:
    spec = Spec(window, key, state_bytes, sort_cycles)
    return carried_out(trace, spec, trace.read("characterisation"))[0]


def lane_visits(trace: Trace) -> np.ndarray:
    """How many lanes visit each block of the program."""
    visits, count = trace.read("visits"), trace.rows("blocks")
    return np.bincount(visits["block_id"], np.bitwise_count(visits["active_mask"]), count).astype(int)


def lane_addresses(trace: Trace, instructions: int) -> np.ndarray:
    """Instruction and address of every access of a lane, sorted."""
    rows = trace.read("accesses")
    number = np.repeat(rows["instruction_id"], np.diff(rows["address_offset"].astype(np.int64)))
    found = np.stack([number.astype(np.uint64), rows["address"]], 1)[number < instructions]
    return found[np.lexsort(found.T)]


@pytest.mark.parametrize(
    ("window", "key"), [(8, "none"), (8, "program"), (8, "hint"), (8, "path"), (5, "path"), (1, "path")]
)
def test_threads_keep_their_work_and_warps_run_as_the_twin_says(plain: Trace, window: int, key: str) -> None:
    made = moved(plain, window, 32, key)
    assert not list(problems(made)), "every law of a trace holds"
    program, lengths = plain.rows("blocks"), plain.rows("instructions")
    before, after = lane_visits(plain), lane_visits(made)
    assert np.array_equal(before, after[:program])
    assert np.array_equal(lane_addresses(plain, lengths), lane_addresses(made, lengths))
    columns = ["origin_x", "direction_y", "t_max", "hit_t", "instance", "primitive", "segment"]
    ours, theirs = (np.stack([t.read("rays", columns)[name] for name in columns]) for t in (made, plain))
    assert np.array_equal(ours[:, np.lexsort(ours)], theirs[:, np.lexsort(theirs)])
    assert after[program] > 0
    assert len(set(after[program:])) == 1, "stored, met, loaded: once each time"
    slow = SlowReorder(plain, window, key)
    added = {"store": program, "meet": program + 1, "load": program + 2}
    said = [
        (warp, added.get(block, block), sum(1 << lane for lane in lanes))
        for warp, visits in enumerate(slow.visits)
        for block, lanes in visits
    ]
    rows = made.read("visits")
    found = zip(*(rows[name].tolist() for name in ("warp_id", "block_id", "active_mask")), strict=True)
    assert list(found) == said
    assert rays_by_lane(made) == rays_by_twin(plain, slow)


def rays_by_lane(trace: Trace) -> list[tuple[float, ...]]:
    """Place and line of every ray: warp, visit, lane, segment, direction, records."""
    rays = trace.read("rays", ["warp_id", "visit", "lane", "segment", "direction_x", "direction_y", "node"])
    records = np.diff(rays["node_offset"].astype(int)).tolist()
    names = ("warp_id", "visit", "lane", "segment", "direction_x", "direction_y")
    return list(zip(*(rays[name].tolist() for name in names), records, strict=True))


def rays_by_twin(trace: Trace, slow: SlowReorder) -> list[tuple[float, ...]]:
    """The same of the trace's rays, at the places where the twin runs their threads."""
    warps = trace.read("visits", ["warp_id"])["warp_id"]
    rays: dict[tuple[int, int], list[tuple[float, ...]]] = {}
    for warp, visit, lane, *more in rays_by_lane(trace):
        rays.setdefault((int(np.searchsorted(warps, warp)) + int(visit), int(lane)), []).append(tuple(more))
    return [
        (warp, visit, lane, *more)
        for warp, visits in enumerate(slow.visits)
        for visit, (_, lanes) in enumerate(visits)
        for lane in sorted(lanes)
        for more in rays.get(lanes[lane], ())
    ]


LISTS = (
    ("rays", "node"),
    ("distances", "distance"),
    ("culled", "node"),
    ("culled", "distance"),
    ("culled", "position"),
)


def rays_with_lists(trace: Trace) -> list[tuple[object, ...]]:
    """Every ray with what the tables beside ``rays`` say of it, sorted."""
    tables = {name: trace.read(name) for name in ("rays", "distances", "culled")}
    names = ("origin_x", "direction_x", "direction_y", "t_max", "segment", "instance", "primitive")
    columns: list[list[object]] = [tables["rays"][name].tolist() for name in names]
    for table, name in LISTS:
        values, ends = tables[table][name], tables[table][f"{name}_offset"].astype(int)
        columns.append([tuple(values[a:b].tolist()) for a, b in pairwise(ends)])
    return sorted(zip(*columns, strict=True))


def test_distances_and_culled_visits_move_with_their_rays(tmp_path: Path) -> None:
    render(Request("wknd", PROGRAM, None, tmp_path / "t.trace", WIDTH, HEIGHT, samples=1, record="culled"))
    trace = open_trace(tmp_path / "t.trace")
    made = moved(trace, 8, 16)
    assert not list(problems(made)), "every law of a trace holds"
    before, after = rays_with_lists(trace), rays_with_lists(made)
    assert any(row[-1] for row in before), "some visits were culled"
    assert before == after
    order = ("direction_x", "direction_y")
    assert any(not np.array_equal(made.read("rays")[name], trace.read("rays")[name]) for name in order), "rays moved"


def test_threads_that_never_reorder_run_together_as_they_were_traced(plain: Trace) -> None:
    code, visits, count = code_of(plain), plain.read("visits"), plain.rows("warps")
    assert code is not None
    paths = paths_of(visits, count, code._replace(reorders=np.zeros_like(code.reorders)))
    found = run_together(paths, dealt(paths, 8, "path"), count, np.full(3, -1)).visits
    traced = np.stack([visits[name] for name in ("warp_id", "block_id", "active_mask")], 1)
    assert np.array_equal(found[np.lexsort(found.T)], traced[np.lexsort(traced.T)])


def test_a_better_key_makes_fuller_warps(plain: Trace) -> None:
    found = [figures_of(moved(plain, 16, key=key), 1).lanes for key in ("none", "program", "hint", "path")]
    assert set(KEYS) == {"none", "program", "hint", "path"}
    assert 1.1 * figures_of(plain, 1).lanes < found[0] < found[1] < found[2] < found[3]


def test_a_window_of_one_warp_orders_its_lanes(plain: Trace) -> None:
    """Each warp runs the blocks of its own threads."""
    counts = []
    for trace in (plain, moved(plain, 1)):
        visits, program = trace.read("visits"), plain.rows("blocks")
        own = visits["block_id"] < program
        key = visits["warp_id"][own].astype(int) * program + visits["block_id"][own]
        counts.append(np.bincount(key, np.bitwise_count(visits["active_mask"][own]), trace.rows("warps") * program))
    assert np.array_equal(*counts)


def test_batches_of_windows_change_nothing(plain: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = moved(plain, 4, 16)
    monkeypatch.setattr(carry_out, "LANES_AT_ONCE", 1000)
    assert carry_out.bounds_of(plain, 4) == [0, 4, 8, 12, 16]
    pieces = moved(plain, 4, 16)
    for table in ("visits", "accesses", "rays", "warps", "kernels"):
        ours, theirs = whole.read(table), pieces.read(table)
        assert all(np.array_equal(ours[name], theirs[name]) for name in ours), table


def held(trace: Trace, table: str = "", **columns: np.ndarray) -> Trace:
    """The trace in memory, with other columns of a table."""
    tables = {name: trace.read(name) for name in trace.tables}
    if table:
        tables[table] = tables[table] | columns
    return Trace(MemorySource(trace.path, trace.layout, trace.manifest, tables), trace.layout)


def test_a_trace_in_memory_stays_as_it_is(plain: Trace) -> None:
    """A worker of a sweep replays it again, with another window or none."""
    given = held(plain)
    made = moved(given, 8, 16)
    assert made.read("kernels")["block_x"].tolist() == [256]
    for table in plain.tables:
        ours, theirs = given.read(table), plain.read(table)
        assert all(np.array_equal(ours[name], theirs[name]) for name in ours), table


def first(column: np.ndarray, value: int) -> np.ndarray:
    """A column with another first value."""
    return np.r_[np.array([value], column.dtype), column[1:]]


@pytest.mark.parametrize(
    ("table", "column", "value", "message"),
    [
        ("visits", "block_id", 1 << 30, "visits, row 0"),
        ("accesses", "visit", 1 << 31, "accesses, row 0"),
        ("accesses", "lane_mask", 0, "accesses, row 0"),
        ("rays", "visit", 1 << 31, "rays, row 0"),
        ("rays", "lane", 33, "rays, row 0"),
    ],
)
def test_rows_that_break_a_law_are_not_moved(
    plain: Trace, table: str, column: str, value: int, message: str
) -> None:  # fmt: skip
    broken = held(plain, table, **{column: first(plain.read(table)[column], value)})
    with pytest.raises(FormatError, match=message):
        moved(broken, 8, 16)


def test_a_characterisation_has_a_row_per_instruction(plain: Trace) -> None:
    short = {name: column[:-1] for name, column in plain.read("characterisation").items()}
    with pytest.raises(FormatError, match=r"must have a row per instruction \(\d+\), not \d+"):
        carried_out(plain, Spec(8, "path", 0, 0), short)


def test_state_lies_below_the_tables_of_the_rt_unit(plain: Trace) -> None:
    high = first(plain.read("accesses")["address"], (1 << 46) - 4)
    with pytest.raises(UserError, match=r"addresses must be below 2\^46 where reorder\.state_bytes is set"):
        moved(held(plain, "accesses", address=high), 8, 16)
    assert moved(held(plain, "accesses", address=high), 8).rows("visits")


def test_state_is_loaded_where_it_was_stored(plain: Trace) -> None:
    made = moved(plain, 8, 48)
    rows, program = made.read("accesses"), plain.rows("instructions")
    number = np.repeat(rows["instruction_id"].astype(int), np.diff(rows["address_offset"].astype(np.int64)))
    stores = [np.sort(rows["address"][number == program + k]) for k in range(3)]
    loads = [np.sort(rows["address"][number == program + 4 + k]) for k in range(3)]
    assert all(np.array_equal(s, load) for s, load in zip(stores, loads, strict=True))
    assert min(stores[0]) > rows["address"][number < program].max()
    assert not set(stores[0]) & set(stores[1])


@pytest.mark.parametrize(("model", "gpu"), [(None, "mobile"), ("pipeline", "mobile"), ("gatsim", "mobile"),
                                            (None, "card-rtx2060")])  # fmt: skip
def test_a_sort_takes_its_cycles(plain: Trace, model: str | None, gpu: str) -> None:
    """One window is the whole launch: each of its reorders takes as long as the sort, whatever the SM's model."""
    cycles = []
    for sort in (0, 1000):
        described = load(gpu, ["reorder.window_warps=16", f"reorder.sort_cycles={sort}"])
        found = simulate(plain, described, model=model)
        cycles.append(found.value("gpu_cycles"))
    made = moved(plain, 16).read("visits")
    times = int((made["block_id"][made["warp_id"] == 0] == plain.rows("blocks")).sum())
    assert times > 5
    assert (cycles[1] - cycles[0]) / times == pytest.approx(1000, rel=0.05)


def test_warps_of_a_window_meet(plain: Trace) -> None:
    """A barrier opens once for each reorder of the thread that reorders most often."""
    found = simulate(plain, load("mobile", ["reorder.window_warps=8", "reorder.state_bytes=32"]))
    visits, meets = moved(plain, 8).read("visits"), plain.rows("blocks")
    times = np.bincount(visits["warp_id"][visits["block_id"] == meets], minlength=16).reshape(2, 8)
    counters = found.counters
    opened = counters["value"][counters["counter"] == "barrier_releases"].sum()
    assert opened == times.max(1).sum() > 10


def test_a_filter_keeps_the_hints_of_its_pixels(plain: Trace, tmp_path: Path) -> None:
    """As tracing these pixels does."""
    selected = np.arange(WIDTH * HEIGHT).reshape(HEIGHT, WIDTH) % 3 == 0
    chosen = tmp_path / "pixels"
    chosen.write_text("".join(f"{x} {y}\n" for y, x in np.argwhere(selected)))
    render(Request("wknd", PROGRAM, None, tmp_path / "t.trace", WIDTH, HEIGHT, samples=2, pixels=chosen))
    filter_trace(plain.path, selected, tmp_path / "f.trace")
    traced, filtered = open_trace(tmp_path / "t.trace"), open_trace(tmp_path / "f.trace")
    assert 0 < len(traced.read("hints")["hint"]) < len(plain.read("hints")["hint"])
    for table in ("visits", "hints", "accesses"):
        ours, theirs = filtered.read(table), traced.read(table)
        assert all(np.array_equal(ours[name], theirs[name]) for name in theirs), table


def test_hints_are_needed_to_sort_by_them(plain: Trace) -> None:
    tables = {name: plain.read(name) for name in plain.tables if name != "hints"}
    without = Trace(MemorySource(plain.path, plain.layout, plain.manifest, tables), plain.layout)
    with pytest.raises(UserError, match=r"must have a table hints where reorder\.key is hint: trace it again"):
        moved(without, 8, key="hint")
    assert moved(without, 8).rows("visits")


def test_without_a_window_or_a_reorder_a_trace_is_as_it_is(plain: Trace) -> None:
    assert carried_out(plain, Spec(0, "path", 64, 9), None) == (plain, None)
    sample = open_trace(ROOT / "traces" / "sample.trace")
    assert carried_out(sample, Spec(8, "path", 64, 9), None) == (sample, None)


def test_what_cannot_be_reordered_is_one_line(plain: Trace) -> None:
    for value, message in {
        "window_warps=33": "window_warps must be at most 32, the warps of a CTA, not 33",
        "state_bytes=24": "state_bytes must be a multiple of 16, at most 1024, not 24",
        "sort_cycles=65536": "sort_cycles must be at most 65535, not 65536",
        "key=colour": "unknown name 'colour'; known are path, program, hint, none",
    }.items():
        with pytest.raises(UserError, match=message):
            load("mobile", [f"reorder.{value}"])
    with pytest.raises(UserError, match=r"reorder\.window_warps must be 0 where a part of the warps stands for all"):
        estimate_many(plain, [load("mobile", ["reorder.window_warps=8"])], 0.5)
    made = moved(plain, 8)
    with pytest.raises(UserError, match=r"must be one launch of rays, .* where reorder\.window_warps is set"):
        carried_out(made, Spec(8, "path", 0, 0), None)
    with pytest.raises(UserError, match=r"kernel .* needs 32 warps a CTA, but an SM has sm\.warps = 16"):
        simulate(plain, load("mobile", ["reorder.window_warps=32", "sm.warps=16"]))


def test_estimates_sample_whole_windows_and_predictions_lack_pixels(tmp_path: Path) -> None:
    render(Request("wknd", PROGRAM, None, tmp_path / "t.trace", WIDTH, 34, samples=1))
    made = moved(open_trace(tmp_path / "t.trace"), 3)  # 34 warps: the last window has one
    windows = made.read("warps")["cta_id"]
    assert np.bincount(windows).tolist() == [3] * 11 + [1]
    whole, part = (estimate_many(made, [load("mobile")], fraction)[0] for fraction in (1.0, 0.7))
    summary = simulate(made, load("mobile")).summary
    assert all(value == summary[name]["value"] for name, value in whole.metrics.items())
    assert 0 < part.warps.sum() < 34
    assert np.isin(windows, windows[part.warps]).tolist() == part.warps.tolist()
    with pytest.raises(UserError, match="says no pixel of any thread"):
        predict(made, load("mobile"), Options())
