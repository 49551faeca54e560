"""Short stacks: loads and stores of a ray against a stack kept as Python lists, and laws of its depth."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.formats.testing.generate import make_trace
from rayplay.replay.input import rays as record
from rayplay.replay.input.stacks import ENTRY_BYTES, FIRST_BYTE, LANES, SECTOR, add_spills, stack_nodes
from rayplay.replay.input.traversals import expect_needs

FIRST_LOAD = 1 << 20


class Walk:
    """Rays of a generated trace, with the parents of its records."""

    def __init__(self, path: Path, seed: int) -> None:
        trace = open_trace(make_trace(path, seed, (40, 4), ctas=0, traversals=True))
        self.rays, self.parent = trace.read("rays"), trace.read("parents")["parent"]
        self.lane = self.rays["lane"]
        self.offset = self.rays["node_offset"].astype(np.int64)

    def spilled(self, entries: int) -> tuple[np.ndarray, ...]:
        none = np.zeros(len(self.offset), np.int64)
        lists = self.offset, self.rays["node"], none, np.zeros(0, np.int64)
        return add_spills(entries, self.lane, lists, self.parent, FIRST_LOAD, "here")


@pytest.fixture(params=range(3))
def walk(request: pytest.FixtureRequest, tmp_path: Path) -> Walk:
    return Walk(tmp_path / "a.trace", request.param)


def twin(nodes: list[int], parent: list[int], lane: int, entries: int) -> tuple[list[int], list[int]]:
    """Records with their loads, and offsets of the stores, of one ray: entries by name, the chip's stack a list."""
    owner, latest = [], {}
    for visit, node in enumerate(nodes):
        owner.append(latest.get(parent[node]))
        latest[node] = visit
    chip: list[int] = []
    memory: list[int] = []
    listed, stores = [], []
    for visit, node in enumerate(nodes):
        if owner[visit] is not None and owner[visit] != visit - 1:
            if not chip:
                chip.append(memory.pop())
                listed.append(FIRST_LOAD + (len(memory) * LANES + lane) * ENTRY_BYTES // SECTOR)
            assert chip.pop() == owner[visit], "entries come back in order: each is known by who pushed it"
        listed.append(node)
        for child in reversed([v for v in range(len(nodes)) if owner[v] == visit][1:]):
            assert child > visit
            if len(chip) == entries:
                stores.append(FIRST_BYTE + (len(memory) * LANES + lane) * ENTRY_BYTES)
                memory.append(chip.pop(0))
            chip.append(visit)
    assert not chip
    assert not memory
    return listed, stores


@pytest.mark.parametrize("entries", [1, 2])
def test_loads_and_stores_are_a_stacks(walk: Walk, entries: int) -> None:
    first_node, node, first_store, store = walk.spilled(entries)
    spilled = 0
    for ray in range(len(walk.lane)):
        words = walk.rays["node"][walk.offset[ray] : walk.offset[ray + 1]]
        plain = (words & np.uint32(record.NODE_BITS)).tolist()
        listed, stores = twin(plain, walk.parent.tolist(), int(walk.lane[ray]), entries)
        found = node[first_node[ray] : first_node[ray + 1]]
        assert (found & np.uint32(record.NODE_BITS)).tolist() == listed
        assert np.array_equal(found[(found & np.uint32(record.NODE_BITS)) < FIRST_LOAD], words)
        assert store[first_store[ray] : first_store[ray + 1]].tolist() == stores
        spilled += len(stores)
    assert spilled > 5


def test_a_deeper_stack_spills_less_and_one_that_is_deep_enough_nothing(walk: Walk) -> None:
    counts = [len(walk.spilled(entries)[3]) for entries in (1, 2, 3, 4, 6, 500)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[1] > 0
    assert counts[-1] == 0
    assert np.array_equal(walk.spilled(500)[1], walk.rays["node"])


def test_every_store_of_an_entry_is_loaded_at_most_once(walk: Walk) -> None:
    _, node, _, store = walk.spilled(1)
    loads = np.count_nonzero((node & np.uint32(record.NODE_BITS)) >= FIRST_LOAD)
    assert loads == len(store)


def test_entries_lie_behind_the_tables_of_the_warp() -> None:
    info = stack_nodes()
    address = info >> record.ADDRESS_SHIFT
    assert address[0] == FIRST_BYTE
    assert (np.diff(address) == SECTOR).all()
    assert FIRST_BYTE >= 1000 * 384
    assert address[-1] + SECTOR <= 1 << 19
    assert set(info & 15) == {record.TABLE_LOAD}


def test_a_trace_without_what_is_needed_is_refused(tmp_path: Path) -> None:
    from rayplay.replay.gpu.description import load
    from rayplay.replay.run.driver import simulate

    trace = open_trace(make_trace(tmp_path / "a.trace", 0, (8, 2), ctas=0))
    with pytest.raises(UserError, match=r"a\.trace: must have a table parents for rt\.stack_entries: render it with"):
        simulate(trace, load("mobile", ["rt.stack_entries=4"]))
    with pytest.raises(UserError, match=r"table culled, which p\.py needs: render it with --record culled"):
        expect_needs(trace, ("culled",), "p.py")
