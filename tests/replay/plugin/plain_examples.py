"""The example policies in plain Python, where nothing is compiled (``test_examples.py`` runs this file so).

Each is held to the laws of every policy, and to the invariant that its paper implies.
"""

import re
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.guard.errors import UserError
from rayplay.formats.testing.generate import make_tables, make_trace
from rayplay.replay.gpu.description import load
from rayplay.replay.input.subtrees import subtrees
from rayplay.replay.memory.cache import access, fill, mshr
from rayplay.replay.memory.cache import state as cache
from rayplay.replay.plugin.attach import attach
from rayplay.replay.plugin.load import load as load_plugin
from rayplay.replay.results.metrics import Result
from rayplay.replay.rt import deliver
from rayplay.replay.run.driver import simulate
from rayplay.replay.stuck import watchdog
from rayplay.replay.testing import check_policy, digest, totals
from tests.replay.conftest import load as load_op
from tests.replay.conftest import write_micro

EXAMPLES = Path(__file__).parents[3] / "examples" / "policies"
PUBLISHED = ("coherence_engine", "coop", "traversal_trend", "treelet_prefetch", "srrip", "ray_bypass")
FILES = sorted(path.name for path in EXAMPLES.glob("*.py"))
SMALL = ("sm.count=1", "memory.count=1", "l2.bytes=65536", "l1.bytes=2048", "l1.ways=4", "sm.kernel_launch_cycles=0")
PATIENCE_CYCLES = 20_000  # of a replay without progress; its latencies are some hundred cycles
SPREAD = ("rt.mshr_entries=0", "l1.latency_cycles=20")


@pytest.fixture(autouse=True)
def numbers_wrap() -> Any:
    """As in machine code."""
    with np.errstate(over="ignore"):
        yield


@pytest.fixture
def rays(tmp_path: Path) -> Path:
    return make_trace(tmp_path / "rays.trace", seed=7, image_size=(40, 4), ctas=2)


@pytest.fixture
def walks(tmp_path: Path) -> Path:
    return make_trace(tmp_path / "walks.trace", seed=7, image_size=(40, 2), ctas=0, traversals=True)


def write_lone_ray(path: Path) -> Path:
    """A trace of one warp in which lane 5 alone walks a whole binary tree; the other rays read its header."""
    parent = [-1]

    def grow(above: int, depth: int) -> None:
        parent.append(above)
        node = len(parent) - 1
        for _ in range(2 if depth else 0):
            grow(node, depth - 1)

    grow(0, 7)
    ids = np.arange(len(parent))
    tables = make_tables(7, (32, 1), 0)
    rays = tables["rays"]
    lengths = np.where(np.asarray(rays["lane"]) == 5, len(ids), 1)
    offset = np.concatenate([[0], np.cumsum(lengths)])
    lists = {"node": np.concatenate([ids[:length] for length in lengths]), "node_offset": offset}
    nothing = {name: np.zeros(0, np.uint32) for name in ("node", "distance", "position")}
    nothing |= {f"{name}_offset": offset * 0 for name in nothing}
    tables |= {
        "rays": rays | lists, "parents": {"node_id": ids, "parent": np.array(parent)},
        "nodes": {"node_id": ids, "address": (1 << 29) + 64 * ids, "bytes": ids * 0 + 64, "kind": np.minimum(ids, 1)},
        "distances": {"warp_id": rays["warp_id"], "distance": np.zeros(offset[-1]), "distance_offset": offset},
        "culled": {"warp_id": rays["warp_id"], **nothing},
    }  # fmt: skip
    with TraceWriter(path, {"command": "test"}, (32, 1)) as writer:
        for name, columns in tables.items():
            writer.put(name, columns)
    return path


def replay(trace: Path, plugin: str | None, *values: str) -> Result:
    gpu = load("mobile", [*SMALL, *values], plugin and EXAMPLES / plugin)
    return simulate(open_trace(trace), gpu, model="characterised")


@pytest.mark.parametrize("name", FILES)
def test_the_laws_of_every_policy_hold(name: str) -> None:
    assert check_policy(EXAMPLES / name, cases=1, seed=0) >= 4


@pytest.mark.parametrize("name", FILES)
def test_an_example_is_short_and_names_its_source(name: str) -> None:
    plugin = load_plugin(EXAMPLES / name)
    assert len(plugin.source.splitlines()) <= 250
    if name.removesuffix(".py") in PUBLISHED:
        assert re.search(r"[A-Z]\w+ [^.]*\b(19|20)\d\d\b", plugin.module.__doc__ or "")
        assert plugin.parameters


def test_fifo_is_the_engines_own(rays: Path) -> None:
    result, own = replay(rays, "fifo.py"), replay(rays, None, "l1.replacement=fifo")
    assert digest(result) == digest(own)
    assert digest(result) != digest(replay(rays, None))


def test_first_come_first_served_hits_fewer_rows(rays: Path) -> None:
    result, own = totals(replay(rays, "fcfs.py")), totals(replay(rays, None))
    assert result["dram.row_hits"] < own["dram.row_hits"]
    assert result["dram.activates"] > own["dram.activates"]


def test_next_line_prefetch_finds_a_stream_on_its_way(tmp_path: Path) -> None:
    """A warp reads line after line: with the next one on its way, it waits less, and no line comes twice."""
    stream = lambda warp, visit, index, lane: (1 << 20) + 128 * visit + 4 * (lane & 7)  # noqa: E731
    trace = write_micro(tmp_path / "stream.trace", [load_op(wait=1)], [30], stream)
    result, own = replay(trace, "next_line.py"), replay(trace, None)
    assert result.value("gpu_cycles") < 0.75 * own.value("gpu_cycles")
    assert totals(result)["policy.l1.sent"] >= 15
    assert totals(result)["l1d.fills"] <= totals(own)["l1d.fills"] + 1


def test_bypass_gives_no_line_to_a_first_read(rays: Path) -> None:
    """With a table of one sector, hardly any record is known when it is read again: loads alone evict."""
    result, own = replay(rays, "ray_bypass.py", "policy.ray_bypass.reach=1"), replay(rays, None)
    counted = totals(result)
    assert counted["policy.l1.first_reads"] > 10 * counted["policy.l1.repeated_reads"]
    assert counted["l1d.evictions"] < 0.9 * totals(own)["l1d.evictions"]


@pytest.mark.parametrize(("plugin", "stays"), [("srrip.py", True), (None, False)])
def test_srrip_keeps_a_line_used_twice_through_a_scan(plugin: str | None, stays: bool) -> None:
    spec = replace(load("mobile").rt.private, set_hash="linear")
    state = cache.make_state(spec, sets=1, instances=1, ways=4, entries=4)
    state = state._replace(ways=4)
    cache.clear(state)
    if plugin:
        state = attach(load_plugin(EXAMPLES / plugin), {"bits": 2}, "l1", state)
    now = 0

    def read(line: int) -> int:
        nonlocal now
        now += 10
        answer = access.read(state, 0, now, 4 * line, line, cache.FULL, 0, 2, 0)
        if answer != cache.HIT:
            fill.fill(state, 0, now + 5, mshr.find_entry(state, 0, 4 * line))
            assert mshr.next_ready(state, 0) == 2
        return answer

    assert [read(1), read(1)] == [cache.MISS, cache.HIT]
    assert all(read(line) == cache.MISS for line in range(10, 16))
    assert (read(1) == cache.HIT) == stays


def test_longest_job_first_serves_the_longest_and_of_several_the_oldest() -> None:
    from rayplay.replay.rt import state as rt

    slot = np.zeros((4, rt.SLOT_COLUMNS), np.int64)
    slot[:, rt.ASKING], slot[:, rt.AGE] = 1, [4, 3, 2, 1]
    state, own = SimpleNamespace(slot=slot, warps=4), SimpleNamespace(left=np.array([9, 9, 5, 20]))
    choose = load_plugin(EXAMPLES / "longest_job_first.py").functions["rt.choose_warp"]
    assert choose(state, own, 0) == 3
    slot[3, rt.WARP] = -1
    assert choose(state, own, 0) == 1
    slot[1, rt.ASKING] = 0
    assert choose(state, own, 0) == 0


def test_a_textbooks_unit_takes_as_long_as_its_rate_and_latency_say(rays: Path) -> None:
    """A warp alone takes its longest ray x latency; of many the records / rate that go through the pipeline."""
    trace = open_trace(rays)
    rows = trace.read("rays", ["warp_id", "visit", "node"])
    lengths = np.diff(rows["node_offset"].astype(np.int64))
    operation = np.cumsum(np.diff(rows["warp_id"].astype(np.int64) << 32 | rows["visit"], prepend=-1) != 0) - 1
    longest = np.zeros(operation[-1] + 1, np.int64)
    np.maximum.at(longest, operation, lengths)
    alone = totals(replay(rays, "fixed_rate.py", "policy.fixed_rate.rate=100000", "policy.fixed_rate.latency=50"))
    assert 0 <= alone["rt_unit.warp_cycles"] - 50 * longest.sum() <= len(longest) * 10
    assert alone["rt_unit.reads"] == alone["rt_unit.stores"] == 0
    slow = totals(replay(rays, "fixed_rate.py", "policy.fixed_rate.rate=1", "policy.fixed_rate.latency=1"))
    assert slow["rt_unit.busy_cycles"] >= slow["rt_unit.records"] == lengths.sum()
    assert slow["rt_unit.busy_cycles"] <= 1.1 * lengths.sum() + 10 * len(longest)


def test_coherence_engine_reads_the_same_records_with_fewer_requests(rays: Path) -> None:
    """The records that rays read are as before; rays of several warps share requests, so that no more are sent."""
    result, own = totals(replay(rays, "coherence_engine.py")), totals(replay(rays, None))
    assert result["rt_unit.records"] == own["rt_unit.records"]
    assert result["rt_unit.reads"] < own["rt_unit.reads"]
    assert result["policy.rt.rays"] == result["rt_unit.lanes"]
    assert result["policy.rt.rays_served"] > result["policy.rt.requests"] > 0


def test_coherence_engine_waits_for_its_timer_where_few_rays_come(rays: Path) -> None:
    few = totals(replay(rays, "coherence_engine.py", "policy.coherence_engine.min_rays=10000"))
    assert few["policy.rt.by_timer"] > 0 == few["policy.rt.by_rays"]


def test_prefetches_of_the_traversal_trend_are_read(walks: Path) -> None:
    """All that is prefetched is read later: culling removes nothing from these stacks."""
    result = totals(replay(walks, "traversal_trend.py", *SPREAD))
    assert result["policy.rt.sent"] > 0
    assert result["policy.rt.used"] >= 0.95 * result["policy.rt.sent"]


def test_lanes_that_help_each_other_read_each_record_once(walks: Path) -> None:
    """Without culling, whatever the group: all visits, and all that culling would have removed, none twice."""
    trace = open_trace(walks)
    all_of_them = sum(len(trace.read(name, ["node"])["node"]) for name in ("rays", "culled"))
    cycles = []
    for group in (1, 32):
        result = replay(walks, "coop.py", "policy.coop.culling=off", f"policy.coop.group={group}")
        assert totals(result)["rt_unit.records"] == all_of_them
        assert (totals(result)["policy.rt.taken"] > 0) == (group > 1)
        cycles.append(result.value("gpu_cycles"))
    assert cycles[1] < cycles[0]


@pytest.mark.parametrize(
    ("plugin", "values", "tables"),
    [("coherence_engine.py", (), ("rays",)), ("coop.py", ("policy.coop.culling=off",), ("rays", "culled"))],
)
def test_each_ray_reads_its_own_records_once(
    walks: Path, monkeypatch: pytest.MonkeyPatch, plugin: str, values: tuple[str, ...], tables: tuple[str, ...]
) -> None:
    """Reads of each ray, exactly: every record of its list is completed once, by whatever lane."""
    read: list[int] = []
    following = deliver.record_after

    def noting(state: Any, records: Any, sm: int, at: int, lane: int, record: int, now: int) -> int:
        read.extend([record] if record >= 0 else [])
        return int(following(state, records, sm, at, lane, record, now))

    monkeypatch.setattr(deliver, "record_after", noting)
    replay(walks, plugin, *values)
    trace = open_trace(walks)
    assert sorted(read) == list(range(sum(len(trace.read(name, ["node"])["node"]) for name in tables)))


def test_a_lone_long_ray_is_shared_by_its_warp(tmp_path: Path) -> None:
    """One lane has a whole tree, 31 have one record: its warp takes less than half of the time with helpers."""
    trace = write_lone_ray(tmp_path / "lone.trace")
    alone, together = (replay(trace, "coop.py", f"policy.coop.group={group}") for group in (1, 32))
    assert totals(alone)["rt_unit.records"] == totals(together)["rt_unit.records"]
    assert together.value("gpu_cycles") < 0.5 * alone.value("gpu_cycles")


def test_treelets_hold_each_record_once_and_no_more_bytes_than_said() -> None:
    module = load_plugin(EXAMPLES / "treelet_prefetch.py").module
    parent = np.array([-1, 0, 1, 1, 2, 2, 3, -1, 7], np.int32)
    nodes = {"parent": parent, "bytes": np.full(9, 64), "address": 64 * np.arange(9)}
    treelet, members = module.cut(nodes, 256)
    assert treelet.tolist() == [0, 0, 0, 0, 2, 3, 4, 1, 1]
    assert members[0] == list(range(8))
    assert sorted(sector for each in members for sector in each) == list(range(18))


@pytest.mark.parametrize("scheduler", ["baseline", "oldest", "most"])
def test_treelet_prefetch_brings_what_lanes_read(walks: Path, scheduler: str) -> None:
    result = totals(replay(walks, "treelet_prefetch.py", *SPREAD, f"policy.treelet_prefetch.scheduler={scheduler}"))
    assert result["rt_unit.records"] == totals(replay(walks, None, *SPREAD))["rt_unit.records"]
    assert result["policy.rt.sent"] >= result["policy.rt.used"] > 0


def test_subtrees_are_those_of_the_parents(walks: Path) -> None:
    """Of each record: all that its ray reads behind it until a record whose parent came earlier."""
    trace = open_trace(walks)
    read = trace.read("rays", ["node"])
    node, offset = read["node"] & 0x3FFFFFFF, read["node_offset"].astype(np.int64)
    parent, kind = trace.read("parents", ["parent"])["parent"], trace.read("nodes", ["kind"])["kind"]
    found = subtrees(offset, read["node"], parent, kind)
    for first, end in pairwise(offset[:41]):
        above = {}
        for at in range(first, end):
            is_below = kind[node[at]] == 0 and at > first
            wanted = node[at - 1] if is_below else parent[node[at]]
            above[at] = next((one for one in range(at - 1, first - 1, -1) if node[one] == wanted), -1)
        for at in range(first, end):
            below = next((one for one in range(at + 1, end) if above[one] < at), end)
            assert found[at] == below - at


def test_a_breakpoint_in_a_policy_is_reached(rays: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stops: list[int] = []
    monkeypatch.setattr("sys.breakpointhook", lambda: stops.append(1))
    policy = tmp_path / "stops.py"
    policy.write_text("""
from rayplay.policy import default, hook

oldest = default("rt.choose_warp")

@hook("rt.choose_warp")
def choose(state, own, core):
    breakpoint()
    return oldest(state, core)
""")
    gpu = load("mobile", SMALL, policy)
    assert digest(simulate(open_trace(rays), gpu)) == digest(replay(rays, None))
    assert stops


def test_a_policy_that_breaks_a_law_is_caught(tmp_path: Path) -> None:
    policy = tmp_path / "never.py"
    policy.write_text("""
from rayplay.policy import hook

@hook("rt.may_complete")
def never(state, own, sm, at):
    return False
""")
    with pytest.raises(AssertionError, match=r"(?s)0\.trace.*ends: "):
        check_policy(policy, cases=1)


@pytest.mark.parametrize("answer", [-7, 1 << 40])
@pytest.mark.parametrize(
    ("hook", "arguments"),
    [
        ("sm.choose_warp", "core, own, sm, row, able, last"), ("l1.replace", "state, own, at, group"),
        ("ctas.sm_in_turn", "state, own, last, turn, core"),
        ("dram.choose_request", "state, own, channel, here, first"),
        ("rt.choose_lane", "state, own, records, at, rest"), ("rt.choose_warp", "state, own, core"),
        ("rt.next_record", "state, own, records, sm, at, lane, record, now"),
        ("rt.start_lane", "state, own, records, sm, at, idle, now"),
    ],
)  # fmt: skip
def test_an_answer_that_cannot_be_reads_no_other_memory(
    rays: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hook: str, arguments: str, answer: int
) -> None:
    """Every second answer is nonsense: the replay ends, or says why it cannot, and never leaves its arrays."""
    monkeypatch.setattr(watchdog, "patience_cycles", lambda gpu: PATIENCE_CYCLES)
    policy = tmp_path / "nonsense.py"
    policy.write_text(f"""
from rayplay.policy import default, hook

asked = []
usual = default("{hook}")

@hook("{hook}")
def choose({arguments}):
    asked.append(1)
    return {answer} if len(asked) % 2 else usual({arguments.replace(", own", "")})
""")
    with suppress(UserError):
        simulate(open_trace(rays), load("mobile", SMALL, policy))
    assert load_plugin(policy).module.asked
