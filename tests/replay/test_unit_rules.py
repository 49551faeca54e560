"""Small rules of the units against slow twins."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from replay import scheduler
from replay.bits import bucket, count_bits, entry_point, lowest_bit, shift_right
from replay.coalescer import SCRATCH_WORDS, coalesce


@pytest.fixture(scope="module")
def slow() -> ModuleType:
    """The twins of tests/reference/replay_slow.py."""
    path = Path(__file__).parents[1] / "reference" / "replay_slow.py"
    spec = importlib.util.spec_from_file_location("replay_slow", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@entry_point
def pick(candidates: int, last: int, policy: int) -> int:
    return scheduler.pick(candidates, last, policy)


@entry_point
def bits(mask: int, distance: int) -> tuple:
    return lowest_bit(mask), count_bits(mask), shift_right(mask, distance), bucket(mask, 1024)


def test_scheduler_picks_as_its_twin(slow: ModuleType) -> None:
    rng = np.random.default_rng(3)
    for _ in range(2000):
        mask = int(rng.integers(1, 1 << 16))
        ready = {rank for rank in range(16) if mask >> rank & 1}
        last = int(rng.integers(-1, 16))
        for tag, policy in enumerate(scheduler.POLICIES):
            assert pick(mask, last, tag) == slow.pick(ready, None if last < 0 else last, policy)


def test_bit_functions() -> None:
    rng = np.random.default_rng(4)
    for mask in [0, -1, 1 << 62, *rng.integers(-(1 << 63), (1 << 63) - 1, 500).tolist()]:
        word = mask & ((1 << 64) - 1)
        low, count, shifted, hashed = bits(mask, 7)
        assert low == (64 if word == 0 else (word & -word).bit_length() - 1)
        assert (count, shifted) == (word.bit_count(), word >> 7)
        assert 0 <= hashed < 1024


@pytest.mark.parametrize("space", [0, 1, 2])
def test_coalescer_equals_its_twin(slow: ModuleType, space: int) -> None:
    rng = np.random.default_rng(space)
    rows = 300
    lanes = rng.integers(1, 33, rows)
    first_lane = np.append(0, np.cumsum(lanes)).astype(np.int64)
    sizes = np.array([1, 2, 4, 8, 16, 12], np.int64)
    instruction = rng.integers(0, len(sizes), rows)
    spread = np.repeat(rng.choice([32, 512, 65536], rows), lanes)
    address = (4096 + rng.integers(0, 1 << 62, first_lane[-1]) % spread).astype(np.int64)
    room = int(first_lane[-1]) * 2
    first, conflict = np.zeros(rows + 1, np.int64), np.zeros(rows, np.uint8)
    sector, mask = np.zeros(room, np.int64), np.zeros(room, np.uint32)
    stores = np.ones(len(sizes), bool)
    spaces, window = np.full(len(sizes), space, np.int64), (4096, 1 << 30)
    total = coalesce(
        instruction, first_lane, address, sizes, stores, spaces, *window, first, conflict, sector, mask,
        np.empty(SCRATCH_WORDS, np.int64),
    )  # fmt: skip
    assert total == first[-1]
    for row in range(rows):
        mine = address[first_lane[row] : first_lane[row + 1]].tolist()
        size = int(sizes[instruction[row]])
        found = dict(
            zip(sector[first[row] : first[row + 1]].tolist(), mask[first[row] : first[row + 1]].tolist(), strict=True)
        )
        assert found == (slow.sectors(mine, size) if space == 0 else {})
        assert conflict[row] == (0 if space == 0 else slow.bank_cycles(mine, size))
