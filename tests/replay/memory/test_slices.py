"""Slices that are drawn as their blocks are asked for, and slices that an idle GPU flushes; the twin has the cycles."""

import ctypes
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import load
from rayplay.replay.jit.bits import called_from_python
from rayplay.replay.memory import addresses
from rayplay.replay.results.metrics import Result
from rayplay.replay.run.driver import simulate
from tests.replay.sm.test_async_copies import trace_of

RANDOM = 'memory.partition_hash="random"'
BASE = 0x10000000


def numbers() -> Iterator[int]:
    state = addresses.seeded(1)
    while True:
        yield called_from_python(addresses.next_random)(state)


def test_numbers_are_those_of_the_c_library() -> None:
    ours = list(islice(numbers(), 2000))
    assert ours[:5] == [1804289383, 846930886, 1681692777, 1714636915, 1957747793]
    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        pytest.skip("no glibc")
    library.srand(1)
    assert ours == [library.rand() for _ in range(2000)]


def test_a_block_keeps_the_slice_that_its_first_use_drew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block is what a slice of a channel takes in turn: 128 B of 256 B with two slices."""
    gpu, drawn = load("accelsim-rtx2060", [RANDOM]), numbers()
    sectors = np.random.default_rng(1).integers(0, 1 << 12, 4000).tolist()
    known: dict[int, int] = {}
    for sector in sectors:
        if sector // 4 not in known:
            known[sector // 4] = next(drawn) % gpu.l2_slices
    for name in ("next_random", "bucket"):
        monkeypatch.setattr(addresses, name, called_from_python(getattr(addresses, name)))
    state = addresses.with_draws(gpu.addresses, 1 << 10)
    found = [called_from_python(addresses.drawn_slice)(state, sector) for sector in sectors]
    assert found == [known[sector // 4] for sector in sectors]


@pytest.mark.parametrize("card", ["card-rtx3060", "card-rtx2080ti", "card-gtx1650"])
@pytest.mark.parametrize("stride_bytes", [128, 256, 4096, 8192])
def test_a_hash_spreads_any_stride_over_any_number_of_slices(card: str, stride_bytes: int) -> None:
    gpu = load(card)
    sectors = BASE // 32 + np.arange(100 * gpu.l2_slices) * (stride_bytes // 32)
    slices = [called_from_python(addresses.slice_of)(gpu.addresses, sector) for sector in sectors.tolist()]
    assert np.bincount(slices, minlength=gpu.l2_slices).min() > 50
    assert np.bincount(slices).max() < 200


def test_blocks_below_a_line_and_rays_are_refused(generated: Path) -> None:
    name = "dramid@7;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RBBBCCCC.BCCSSSSS"
    with pytest.raises(UserError, match="random needs blocks of a slice of at least a line of 2\\^7 bytes: dramid@8"):
        load("accelsim-rtx2060", [RANDOM, f'memory.address_map="{name}"'])
    with pytest.raises(UserError, match="must have no rays where GPU accelsim-rtx2060 draws its slices"):
        simulate(generated, load("accelsim-rtx2060", [RANDOM]), model="pipeline")


def l2_misses(result: Result, kernel: int) -> int:
    table = result.counters
    mine = (table["kernel_id"] == kernel) & (table["unit"] == "l2")
    return int(table["value"][mine & np.isin(table["counter"].astype(str), ("read_line_misses",))].sum())


@pytest.mark.parametrize("flushes", [True, False])
def test_dirty_lines_of_half_of_the_slices_are_lost_between_kernels(tmp_path: Path, flushes: bool) -> None:
    """Eight lines, one in each slice of four controllers, written by one kernel and read by the next."""
    lines = [f"0 STG.E 2 R0 R3 4 1 {BASE + 128 * line:#x} 4 0" for line in range(8)]
    reads = [f"1 R{line} LDG.E 1 R9 4 1 {BASE + 128 * line:#x} 4 0" for line in range(8)]
    trace = trace_of(tmp_path / "case", lines, reads)
    gpu = load("accelsim-rtx2060", ["memory.count=4", "l2.bytes=1048576", f"l2.flush_idle={str(flushes).lower()}"])
    assert l2_misses(simulate(trace, gpu, model="pipeline"), 1) == (4 if flushes else 0)
