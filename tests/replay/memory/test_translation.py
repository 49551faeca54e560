"""Translation of addresses and the far half of the L2: cycles by hand, and equality with tables of Python."""

from collections import OrderedDict

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.jit.bits import entry_point
from rayplay.replay.memory import translation
from rayplay.replay.memory.addresses import Addresses, slice_of
from rayplay.replay.memory.translation import Spec, Translation
from tests.replay.memory.memory_driver import Machine, reads

GPU, SECTORS = "card-rtx2070", 65536  # of a page of 2 MiB
ON = ["translation.page_bytes=2097152", "translation.second_cycles=100", "translation.walk_cycles=600"]


@entry_point
def run(state: Translation, sm: np.ndarray, sector: np.ndarray, cycle: np.ndarray, found: np.ndarray) -> None:
    for row in range(sm.shape[0]):
        found[row] = translation.translated(state, sm[row], sector[row], cycle[row])


@entry_point
def slices_of(addresses: Addresses, sector: np.ndarray, found: np.ndarray) -> None:
    for row in range(sector.shape[0]):
        found[row] = slice_of(addresses, sector[row])


def slow(spec: Spec, sm: list[int], sector: list[int], cycle: list[int]) -> list[int]:
    """The same with ordered tables, the page used last at their end."""
    sets = spec.second_entries // spec.second_ways
    first: dict[int, OrderedDict[int, int]] = {}
    second: dict[tuple[int, int], OrderedDict[int, int]] = {}
    found = []
    for number, place, now in zip(sm, sector, cycle, strict=True):
        page = place * 32 // spec.page_bytes
        near = first.setdefault(number, OrderedDict())
        behind = second.setdefault((number, page % sets), OrderedDict())
        if page not in near:
            if page in behind:
                ready = max(now, behind[page]) + spec.second_cycles
            else:
                ready = now + spec.walk_cycles
                if len(behind) == spec.second_ways:
                    behind.popitem(last=False)
                behind[page] = ready
            behind.move_to_end(page)
            if len(near) == spec.entries:
                near.popitem(last=False)
            near[page] = ready
        near.move_to_end(page)
        found.append(max(now, near[page]))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_every_cycle_is_that_of_the_slow_tables(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ways = int(rng.choice([1, 2, 4]))
    spec = Spec(
        page_bytes=int(rng.choice([32, 4096, 2 << 20])), entries=int(rng.integers(1, 9)),
        second_entries=ways * int(rng.integers(1, 9)), second_ways=ways, second_cycles=int(rng.integers(0, 90)),
        walk_cycles=int(rng.integers(0, 900)),
    )  # fmt: skip
    count = 3000
    sm = rng.integers(0, 2, count)
    sector = rng.integers(0, int(rng.choice([4, 40])), count) * (spec.page_bytes // 32)
    cycle = np.sort(rng.integers(0, 40 * count, count))
    found = np.zeros(count, np.int64)
    run(translation.make_state(spec, 2), sm, sector, cycle, found)
    assert found.tolist() == slow(spec, sm.tolist(), sector.tolist(), cycle.tolist())


def cycles_of(gpu: Gpu, sectors: list[int], cycles: list[int], sm: int = 3) -> list[int]:
    """Cycles that reads of one SM take, in their order."""
    requests = reads(np.full(len(sectors), sm), np.array(cycles), np.array(sectors))
    log = Machine(gpu).run(requests, max(cycles) + 5000)
    return [int(log[log[:, 1] == row][0, 2]) - cycle for row, cycle in enumerate(cycles)]


def test_a_miss_waits_for_its_page_and_others_pass() -> None:
    """Sectors 0 and 8 are of one page; a 17th page drives page 1, used before page 0, out of the first table."""
    sectors = [0, 8, SECTORS, 8, *(SECTORS * page for page in range(2, 17)), SECTORS]
    cycles = [0, 10000, 20000, 20001, *(30000 + 2000 * page for page in range(15)), 70000]
    plain, found = cycles_of(load(GPU), sectors, cycles), cycles_of(load(GPU, ON), sectors, cycles)
    waits = np.subtract(found, plain).tolist()
    assert waits == [600, 0, 600, 0, *[600] * 15, 100]


def test_requests_of_a_page_on_its_way_wait_for_it() -> None:
    sectors, cycles = [0, 64, 0, 64, SECTORS, SECTORS + 64], [0, 0, 9000, 9000, 20000, 20250]
    plain, found = cycles_of(load(GPU), sectors, cycles), cycles_of(load(GPU, ON), sectors, cycles)
    assert np.subtract(found, plain).tolist()[2:] == [0, 0, 600, 350]


def test_the_other_half_is_farther() -> None:
    """SM 3 of 36 is in the first half, SM 30 in the second: each reads its own slices sooner by 70 cycles."""
    gpu, far = load(GPU), load(GPU, ["interconnect.far_cycles=70"])
    sectors = (np.arange(40) * 64).tolist()
    home = np.zeros(40, np.int64)
    slices_of(gpu.addresses, np.array(sectors), home)
    is_second = 2 * home >= gpu.l2_slices
    assert 0 < is_second.sum() < 40
    cycles = (np.arange(40) * 3000).tolist()
    for sm, others in ((3, is_second), (30, ~is_second)):
        waits = np.subtract(cycles_of(far, sectors, cycles, sm), cycles_of(gpu, sectors, cycles, sm))
        assert waits.tolist() == (70 * others).tolist()


@pytest.mark.parametrize("change", [[*ON], ["interconnect.far_cycles=1"]])
def test_a_gpu_in_lockstep_refuses_both(change: list[str]) -> None:
    with pytest.raises(UserError, match=r"translation\.page_bytes and interconnect\.far_cycles must be 0"):
        load(GPU, [*change, "instruction_cache.perfect=false"])
