"""Small rules of the units against slow twins."""

import importlib.util
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from rayplay.replay.input.coalescer import SCRATCH_WORDS, Accesses, Rows, Static, coalesce
from rayplay.replay.input.work import IS_LOCAL
from rayplay.replay.jit.bits import bucket, count_bits, entry_point, highest_bit, lowest_bit, shift_right
from rayplay.replay.sm import policies


@pytest.fixture(scope="module")
def slow() -> ModuleType:
    """The twins of tests/reference/replay_slow.py."""
    path = Path(__file__).parents[2] / "reference" / "replay_slow.py"
    spec = importlib.util.spec_from_file_location("replay_slow", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@entry_point
def pick(candidates: int, last: int, policy: int) -> int:
    return policies.pick(policy, candidates, 1 << last if last >= 0 else 0)


@entry_point
def bits(mask: int, distance: int) -> tuple:
    return lowest_bit(mask), count_bits(mask), shift_right(mask, distance), bucket(mask, 1024), highest_bit(mask)


def test_scheduler_picks_as_its_twin(slow: ModuleType) -> None:
    rng = np.random.default_rng(3)
    for ranks in [16] * 1000 + [64] * 1000:
        mask = int(rng.integers(1 - (1 << ranks - 1), 1 << ranks - 1)) or -1
        mask = mask if ranks == 64 else mask % (1 << ranks)
        ready = {rank for rank in range(ranks) if mask >> rank & 1}
        last = int(rng.integers(-1, ranks))
        for tag, policy in enumerate(policies.POLICIES):
            assert pick(mask, last, tag) == slow.pick(ready, None if last < 0 else last, policy)


def test_bit_functions() -> None:
    rng = np.random.default_rng(4)
    for mask in [0, -1, 1 << 62, *rng.integers(-(1 << 63), (1 << 63) - 1, 500).tolist()]:
        word = mask & ((1 << 64) - 1)
        low, count, shifted, hashed, high = bits(mask, 7)
        assert low == (64 if word == 0 else (word & -word).bit_length() - 1)
        assert (count, shifted, high) == (word.bit_count(), word >> 7, word.bit_length() - 1)
        assert 0 <= hashed < 1024


SIZES = np.array([1, 2, 4, 8, 16], np.int64)
ROWS, CTAS_HELD, CTA_WARPS = 300, 6, 3
GLOBAL, SHARED, GENERIC, LOCAL = range(4)


def static_rules(
    space: int, atomic: bool, wide: bool, block_bytes: int = 0, thread_bytes: int = 0, banks: int = 32,
    broadcast: bool = False, parts: int = 1,
) -> Static:  # fmt: skip
    """Instructions of every size in one space; generic addresses are shared memory."""
    every = np.ones(len(SIZES), np.int64)
    window = np.stack([every * 4096, every << 30], axis=1)
    sectors = every * CTAS_HELD * CTA_WARPS * 4
    return Static(
        SIZES, every == atomic, every == 0, every == 0, every * space, window, window, every * thread_bytes,
        sectors * (block_bytes == 0), every * CTA_WARPS, every * 0, every == 0, block_bytes, wide, banks, broadcast,
        parts,
    )  # fmt: skip


def coalesced(static: Static, seed: int) -> Iterator[tuple[dict[int, int], int, int, list[tuple[int, int]]]]:
    """Address by lane, size, conflict and accesses (sector, mask) of random aligned rows."""
    rng = np.random.default_rng(seed)
    masks = rng.integers(1, 1 << 32, ROWS).astype(np.uint32)
    first = np.append(0, np.cumsum(np.bitwise_count(masks))).astype(np.int64)
    instruction = rng.integers(0, len(SIZES), ROWS)
    size = np.repeat(SIZES[instruction], np.diff(first))
    spread = np.repeat(rng.choice([32, 512, 65536], ROWS), np.diff(first))
    address = 4096 + rng.integers(0, 1 << 62, first[-1]) % spread // size * size
    room = int(first[-1]) * 4
    found = Accesses(
        np.zeros(ROWS + 1, np.int64), np.zeros(ROWS, np.uint8), np.zeros(room, np.int64), np.zeros(room, np.uint32)
    )
    rows = Rows(instruction, masks, first, address)
    assert coalesce(rows, static, found, np.empty(SCRATCH_WORDS, np.int64)) == found.first[-1]
    for row in range(ROWS):
        lanes = [lane for lane in range(32) if masks[row] >> lane & 1]
        mine = slice(int(found.first[row]), int(found.first[row + 1]))
        accesses = list(zip(found.sector[mine].tolist(), found.byte_mask[mine].tolist(), strict=True))
        by_lane = dict(zip(lanes, address[first[row] : first[row + 1]].tolist(), strict=True))
        yield by_lane, int(SIZES[instruction[row]]), int(found.conflict[row]), accesses


def test_global_accesses_are_the_twins_the_highest_first(slow: ModuleType) -> None:
    for lanes, size, conflict, accesses in coalesced(static_rules(GLOBAL, False, False), 1):
        expected = slow.sectors(list(lanes.values()), size)
        assert (conflict, accesses) == (0, sorted(expected.items(), reverse=True))


def test_atomics_are_the_twins(slow: ModuleType) -> None:
    for lanes, size, conflict, accesses in coalesced(static_rules(GLOBAL, True, False), 2):
        assert (conflict, accesses) == (0, slow.atomic_accesses(list(lanes.values()), size))


@pytest.mark.parametrize("space", [SHARED, GENERIC])
@pytest.mark.parametrize("wide", [False, True])
def test_shared_conflicts_are_the_twins(slow: ModuleType, space: int, wide: bool) -> None:
    for lanes, size, conflict, accesses in coalesced(static_rules(space, False, wide), 3):
        assert (conflict, accesses) == (slow.bank_cycles(list(lanes.values()), size if wide else 1), [])


@pytest.mark.parametrize("banks", [1, 16, 24, 32, 64])
@pytest.mark.parametrize("broadcast", [False, True])
def test_conflicts_of_other_banks_and_of_one_broadcast_are_the_twins(
    slow: ModuleType, banks: int, broadcast: bool
) -> None:
    for lanes, _, conflict, _ in coalesced(static_rules(SHARED, False, False, banks=banks, broadcast=broadcast), 5):
        words = list(lanes.values())
        assert conflict == (slow.broadcast_cycles(words, banks) if broadcast else slow.bank_cycles(words, 1, banks))


@pytest.mark.parametrize("parts", [2, 3, 8, 12, 32])
def test_parts_of_a_warp_share_neither_sectors_nor_words(slow: ModuleType, parts: int) -> None:
    def of_parts(lanes: dict[int, int]) -> list[list[int]]:
        found = [[at for lane, at in lanes.items() if lane // (32 // parts) == part] for part in range(parts)]
        return [part for part in found if part]

    for lanes, size, conflict, accesses in coalesced(static_rules(GLOBAL, False, False, parts=parts), 6):
        expected = [sorted(slow.sectors(part, size).items(), reverse=True) for part in of_parts(lanes)]
        assert (conflict, accesses) == (0, list(chain.from_iterable(reversed(expected))))
    for lanes, _, conflict, _ in coalesced(static_rules(SHARED, False, False, parts=parts), 7):
        assert conflict == max(sum(slow.bank_cycles(part, 1) for part in of_parts(lanes)), 1)


def test_local_accesses_are_the_twins(slow: ModuleType) -> None:
    threads = CTAS_HELD * CTA_WARPS * 32
    for lanes, size, conflict, accesses in coalesced(static_rules(LOCAL, False, False), 4):
        assert conflict == IS_LOCAL + CTA_WARPS
        assert accesses == sorted(slow.local_sectors(lanes, size, threads).items(), reverse=True)


@pytest.mark.parametrize("thread_bytes", [48, 256, 600])
def test_local_blocks_of_a_thread_are_its_own_beside_those_of_its_warp(slow: ModuleType, thread_bytes: int) -> None:
    allocated = [  # (warp, which of a thread's blocks, thread of the warp), in the order of their addresses
        (warp, block, lane) for warp in range(400) for block in range(-(-thread_bytes // 256)) for lane in range(32)
    ]
    start = {key: (1 << 48) + 256 * place for place, key in enumerate(allocated)}
    for lanes, size, conflict, accesses in coalesced(static_rules(LOCAL, False, False, 256, thread_bytes), 5):
        moved = []
        for address in lanes.values():
            thread, offset = divmod(address - 4096, thread_bytes)
            moved.append(start[thread // 32, offset // 256, thread % 32] + offset % 256)
        assert (conflict, accesses) == (0, sorted(slow.sectors(moved, size).items(), reverse=True))
