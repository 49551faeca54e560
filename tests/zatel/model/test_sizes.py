"""Sizes read ahead of the addresses, against the whole reading; requests of one batch, against bytes one by one."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.testing.generate import make_trace
from rayplay.zatel.model.accesses import GENERIC, GLOBAL, LOCAL, LOCAL_LINES, Room, Static, lines_of
from rayplay.zatel.model.sizes import read_sizes
from rayplay.zatel.model.traffic import read_stream

OWN = 64  # bytes of a thread's local memory
BEGIN, THREADS = 1 << 20, 64


@pytest.mark.parametrize("at_once", [3, 1 << 13])
def test_sizes_are_those_of_the_whole_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr("rayplay.formats.parquet.source.ROWS_AT_ONCE", at_once)  # a piece ends within a trace call
    trace = open_trace(make_trace(tmp_path / "t.trace", 5, (96, 24), 0))
    sizes, stream = read_sizes(trace), read_stream(trace)
    assert sizes.records.sum() > 0
    assert len(np.unique(sizes.steps)) > 1
    for name, values in sizes._asdict().items():
        assert values.tolist() == getattr(stream, name).tolist()


@pytest.mark.parametrize("seed", range(20))
def test_requests_are_those_of_the_bytes_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, space = rng.choice([1, 2, 4, 8, 16], 4), np.array([GLOBAL, LOCAL, GENERIC, GENERIC])
    static = Static(size.astype(np.int64), rng.random(4) < 0.5, space, BEGIN, BEGIN + THREADS * OWN, OWN)
    of, masks = rng.integers(0, 4, 30), rng.integers(1, 1 << 32, 30, np.uint32)
    rows, expected = [], []
    for instruction, mask in zip(of, masks, strict=True):
        lanes = [lane for lane in range(32) if mask >> lane & 1]
        near = BEGIN + 4 * rng.integers(0, 8) + OWN * np.array(lanes)  # the same words of most threads
        far = np.where(rng.random(len(lanes)) < 0.5, BEGIN + 4 * rng.integers(0, 900, len(lanes)), near)
        local = np.where(rng.random(len(lanes)) < rng.choice([0.0, 0.3]), far, near)
        elsewhere = 4096 + size[instruction] * rng.integers(0, 40, len(lanes)) + rng.choice([0, 2])
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
    found = lines_of(columns, static, 0, room)
    for row, wanted in enumerate(expected):
        here = slice(found.offset[row], found.offset[row + 1])
        assert list(zip(found.line[here].tolist(), found.sectors[here].tolist(), strict=True)) == wanted


def by_bytes(lanes: list[int], addresses: list[int], size: int, stores: bool, space: int) -> list[tuple[int, int]]:
    """Lines in the order of their first use, and their sectors, with a store's marks."""
    words: dict[int, set[int]] = {}
    for lane, address in zip(lanes, addresses, strict=True):
        local = space == LOCAL or (space == GENERIC and BEGIN <= address < BEGIN + THREADS * OWN)
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
