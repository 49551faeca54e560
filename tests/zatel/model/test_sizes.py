"""Sizes read ahead of the addresses, against the whole reading; requests of one batch, against bytes one by one."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.testing.generate import make_tables, make_trace
from rayplay.replay.gpu.description import load
from rayplay.replay.input import coalescer
from rayplay.replay.input.coalescer import static_of
from rayplay.replay.jit.bits import called_from_python
from rayplay.zatel.model.accesses import (
    ELSEWHERE,
    GENERIC,
    GLOBAL,
    LOCAL,
    LOCAL_LINES,
    Room,
    Static,
    lines_of,
    read_static,
)
from rayplay.zatel.model.accesses import space_of as modelled
from rayplay.zatel.model.sizes import read_sizes
from rayplay.zatel.model.traffic import read_stream

OWN = 64  # bytes of a thread's local memory
BEGIN, THREADS = 1 << 20, 64
SHARED = 1 << 16, 1 << 17


@pytest.mark.parametrize("at_once", [3, 1 << 13])
def test_sizes_are_those_of_the_whole_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr("rayplay.formats.parquet.source.ROWS_AT_ONCE", at_once)  # a piece ends within a trace call
    trace = open_trace(make_trace(tmp_path / "t.trace", 5, (96, 24), 0))
    sizes, stream = read_sizes(trace), read_stream(trace)
    assert sizes.records.sum() > 0
    assert len(np.unique(sizes.steps)) > 1
    for name, values in sizes._asdict().items():
        assert values.tolist() == getattr(stream, name).tolist()
    monkeypatch.undo()
    whole = read_stream(trace)
    assert all(getattr(stream, name).tolist() == getattr(whole, name).tolist() for name in ("line", "sectors", "step"))


@pytest.mark.parametrize("seed", range(20))
def test_requests_are_those_of_the_bytes_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, space = rng.choice([1, 2, 4, 8, 16], 4), np.array([GLOBAL, LOCAL, GENERIC, GENERIC])
    static = Static(size.astype(np.int64), rng.random(4) < 0.5, space, BEGIN, BEGIN + THREADS * OWN, OWN, *SHARED)
    of, masks = rng.integers(0, 4, 30), rng.integers(1, 1 << 32, 30, np.uint32)
    rows, expected = [], []
    for instruction, mask in zip(of, masks, strict=True):
        lanes = [lane for lane in range(32) if mask >> lane & 1]
        near = BEGIN + 4 * rng.integers(0, 8) + OWN * np.array(lanes)  # the same words of most threads
        far = np.where(rng.random(len(lanes)) < 0.5, BEGIN + 4 * rng.integers(0, 900, len(lanes)), near)
        local = np.where(rng.random(len(lanes)) < rng.choice([0.0, 0.3]), far, near)
        elsewhere = 4096 + size[instruction] * rng.integers(0, 40, len(lanes)) + rng.choice([0, 2, SHARED[0]])
        mixed = np.where(rng.random(len(lanes)) < 0.3, elsewhere, local)
        rows.append([elsewhere, local, mixed, local][instruction])
        expected.append(by_bytes(lanes, rows[-1].tolist(), int(size[instruction]), bool(static.stores[instruction]),
                                 int(space[instruction])))  # fmt: skip
    columns = {
        "warp_id": np.zeros(30, np.uint32), "visit": np.arange(30, dtype=np.uint32),
        "instruction_id": of.astype(np.uint32), "lane_mask": masks,
        "address_offset": np.cumsum([0, *map(len, rows)]).astype(np.uint64),
        "address": np.concatenate(rows).astype(np.uint64),
    }  # fmt: skip
    room = Room()
    room.of(1 << 15)[0][:] = LOCAL_LINES  # what an earlier batch left
    found = lines_of([columns], static, 0, room)
    for row, wanted in enumerate(expected):
        here = slice(found.offset[row], found.offset[row + 1])
        assert list(zip(found.line[here].tolist(), found.sectors[here].tolist(), strict=True)) == wanted


def by_bytes(lanes: list[int], addresses: list[int], size: int, stores: bool, space: int) -> list[tuple[int, int]]:
    """Lines in the order of their first use, and their sectors, with a store's marks."""
    words: dict[int, set[int]] = {}
    for lane, address in zip(lanes, addresses, strict=True):
        if space == GENERIC and SHARED[0] <= addresses[0] < SHARED[1]:
            return []
        local = space == LOCAL or (space == GENERIC and BEGIN <= addresses[0] < BEGIN + THREADS * OWN)
        inside = (address - BEGIN) % OWN
        for byte in range(size):
            line = LOCAL_LINES + inside // 4 + byte // 4 if local else (address + byte) // 128
            words.setdefault(line, set()).add(lane if local else (address + byte) % 128 // 4)
    found = []
    for line, touched in words.items():
        sectors = sum(1 << sector for sector in {word // 8 for word in touched})
        whole = [sector for sector in range(4) if touched >= set(range(8 * sector, 8 * sector + 8))]
        found.append((line, sectors + (16 + sum(256 << sector for sector in whole)) * stores))
    return found


@pytest.mark.parametrize(("source", "shared", "local"), [("ptx", 0x7F00_0000, 0x4000_0000), ("ptx", 0, 0),
                         ("sass", 0x3FFF_0000, 0x4000_0000), ("sass", 0x3FFF_0000, 0), ("sass", 0, 0)])  # fmt: skip
def test_spaces_of_generic_accesses_are_the_replays(tmp_path: Path, source: str, shared: int, local: int) -> None:
    tables = make_tables(3, None, 4)
    rows = tables["instructions"]
    spaces, atomic = (np.array(rows[name], object) for name in ("memory_space", "operation_class"))
    generic = np.flatnonzero(spaces != "none")[:3]
    spaces[generic], atomic[generic[0]] = "generic", "atomic"
    tables["instructions"] |= {"memory_space": spaces, "operation_class": atomic}
    tables["kernels"] |= {"source": [source], "shared_base": [shared], "local_base": [local]}
    with TraceWriter(tmp_path / "t.trace", {}, None) as writer:
        for name, columns in tables.items():
            writer.put(name, columns)
    trace = open_trace(tmp_path / "t.trace")
    instructions, kernels, warps = trace.read("instructions"), trace.read("kernels"), np.full(1, 2)
    mine, its = read_static(trace), static_of(instructions, kernels, warps, warps, load("mobile").lsu)
    its_space = called_from_python(coalescer.space_of)
    names = {coalescer.GLOBAL: GLOBAL, coalescer.SHARED: ELSEWHERE, coalescer.LOCAL: LOCAL}
    edges = (mine.shared_begin, mine.shared_end, mine.local_begin, mine.local_end, shared, local, 1 << 28)
    addresses = sorted({max(edge + step, 0) for edge in edges for step in (-1, 0, 1)})
    found = set()
    for number in generic.tolist():
        for address in addresses:
            space = modelled(mine, number, address)
            assert space == names[its_space(its, number, address)]
            found.add(space)
    assert ELSEWHERE in found
