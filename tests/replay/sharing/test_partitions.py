"""Every partition against schedules computed by hand, on a GPU of two or four SMs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.replay.engine.machine import Machine
from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.input.program import read_characterisation
from rayplay.replay.launch.classes import join, parse
from rayplay.replay.launch.shared import Shared
from rayplay.replay.launch.together import Together
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.results.by_class import class_counters
from rayplay.replay.results.metrics import Result
from rayplay.replay.run.driver import Replay, simulate
from rayplay.replay.run.progress import Standing
from rayplay.replay.sharing.rules import read_partition
from rayplay.replay.sm import ctas as dispatch
from tests.replay.conftest import write_micro
from tests.replay.launches import STALL, Kernel, write_kernels
from tests.replay.sharing.test_together import together


def gpu(sms: int, *values: str) -> Gpu:
    """SMs of 4 warps, without launch latencies."""
    return load("mobile", [f"sm.count={sms}", "sm.warps=4", "sm.kernel_launch_cycles=0", *values])


def ends(tmp_path: Path, kernels: list[Kernel], gpu: Gpu, partition: str, *values: str) -> list[int]:
    """First cycle after each class, of one kernel each, that runs once."""
    texts = [
        f"c{number}={write_kernels(tmp_path / f'{partition}{number}.trace', [kernel])}"
        for number, kernel in enumerate(kernels)
    ]
    return together(texts, gpu, partition, *values, repeats=False).by_class["classes"][0]["cycles"].tolist()


def done(granted: int, visits: int) -> int:
    """First cycle after a CTA granted in a cycle: it starts in the next one."""
    return granted + 1 + visits * STALL + 1


def test_greedy_takes_the_first_class_that_fits(tmp_path: Path) -> None:
    """Two SMs, one CTA a cycle each: c0's in cycles 0, 0, 1, and c1's where c0 has none left."""
    assert ends(tmp_path, [Kernel((10,) * 3), Kernel((4,))], gpu(2), "greedy") == [done(1, 10), done(1, 4)]
    # c0 fills both SMs: 8 CTAs in cycles 0 to 3; c1 waits for the first of them
    full = [Kernel((10,) * 8), Kernel((4,))]
    assert ends(tmp_path, full, gpu(2), "greedy") == [done(3, 10), done(done(0, 10) - 1, 4)]
    # what does not fit lets the next class pass: c0's second CTA needs a whole SM
    wide = [Kernel((10, 10, 10), warps=4), Kernel((4,))]
    assert ends(tmp_path, wide, gpu(2), "greedy") == [done(done(0, 10) - 1, 10), done(done(0, 10) - 1, 4)]


@pytest.mark.parametrize(("shares", "sms"), [("[]", (2, 2)), ("[3,1]", (3, 1)), ("[1,3]", (1, 3)), ("[6,2]", (3, 1))])
def test_mps_gives_each_class_its_sms(tmp_path: Path, shares: str, sms: tuple[int, int]) -> None:
    """A class of 12 CTAs on n SMs gets n a cycle, and 4 n at most at a time."""
    kernels = [Kernel((10,) * 12), Kernel((5,) * 12)]
    expected = []
    for kernel, own in zip(kernels, sms, strict=True):
        free = [[0] * 4 for _ in range(own)]  # of each SM's warp slots: cycle in which a CTA may be granted
        cycle, last, waiting = 0, 0, list(kernel.visits)
        while waiting:
            for slots in free:
                slot = min(range(4), key=slots.__getitem__)
                if waiting and slots[slot] <= cycle:
                    last = done(cycle, waiting.pop())
                    slots[slot] = last - 1
            cycle += 1
        expected.append(last)
    assert ends(tmp_path, kernels, gpu(4), "mps", f"partition.shares={shares}") == expected


def test_even_shares_every_sm(tmp_path: Path) -> None:
    """Two of an SM's four warps for each class: a class's third CTA of an SM waits for its first."""
    kernels = [Kernel((10,) * 6), Kernel((5,) * 4)]
    # each cycle an SM gets one CTA: of c0 in cycles 0 and 1, of c1 in cycles 2 and 3
    assert ends(tmp_path, kernels, gpu(2), "even") == [done(done(0, 10) - 1, 10), done(3, 5)]


@pytest.mark.parametrize("partners", [2, 4])
def test_equal_partners_finish_alike_under_even_and_mps(tmp_path: Path, partners: int) -> None:
    """The same warp slots either way: 16 CTAs of each in waves of 16 / partners; EVEN grants the classes in turn.

    In a cycle an SM is granted one CTA, of the first class with room. So of p classes with s slots of each SM the k-th
    has its first wave granted in cycles k s to (k + 1) s - 1 under EVEN, in 0 to 3 of its own SMs under MPS.
    """
    kernels = [Kernel((10,) * 16)] * partners
    waves, slots = partners, 4 // partners
    assert ends(tmp_path, kernels, gpu(4), "mps") == [3 + waves * (done(0, 10) - 1) + 1] * partners
    first = [(number + 1) * slots - 1 for number in range(partners)]
    assert ends(tmp_path, kernels, gpu(4), "even") == [begun + waves * (done(0, 10) - 1) + 1 for begun in first]


@pytest.mark.parametrize(
    ("kernel", "most"),
    [(Kernel((9,) * 6), 3), (Kernel((9,) * 6, registers=80), 2), (Kernel((9,) * 6, shared_bytes=3000), 1)],
)
def test_shares_limit_warps_registers_and_shared_memory(tmp_path: Path, kernel: Kernel, most: int) -> None:
    """Three quarters of an SM of 4 warps, 8,192 registers and 6,000 bytes: 3 warps, 6,144 registers, 4,500 bytes."""
    small = gpu(1, "sm.registers=8192", "sm.shared_bytes=6000")
    other = Kernel((1,))
    waves = -(-6 // most)
    # a wave's CTAs are granted in cycles that follow each other; each is followed by the next wave's as it ends
    first = ends(tmp_path, [kernel, other], small, "fine", "partition.shares=[3,1]")[0]
    assert first in range(waves * (9 * STALL + 1), waves * (9 * STALL + 1) + most + 3)


def test_a_quota_is_never_exceeded(tmp_path: Path) -> None:
    """Held resources of every SM and class, every 10 cycles."""
    kernels = [Kernel((3, 8, 1, 9) * 10, warps=2, registers=40, shared_bytes=700), Kernel((5, 2) * 20, registers=90)]
    texts = [str(write_kernels(tmp_path / f"{number}.trace", [each])) for number, each in enumerate(kernels)]
    shared = Shared(join([parse(text) for text in texts]), read_partition("fine", ["partition.shares=[3,2]"]))
    machine = Machine(
        shared.joined.trace, gpu(3, "sm.warps=16"), read_characterisation(shared.joined.trace, None), sharing=shared
    )
    seen = []

    def look(standing: Standing) -> None:
        assert (machine.dispatch.used <= machine.dispatch.quota).all()
        assert (machine.dispatch.used >= 0).all()
        seen.append(machine.dispatch.used.max(axis=0))

    Replay(machine, interval=10).run(look)
    assert np.max(seen, axis=0)[dispatch.QUOTA_WARPS] > 2  # it did fill up
    assert len(seen) >= 20


def test_what_never_fits_is_one_line(tmp_path: Path) -> None:
    wide = Kernel((4,), warps=3, name="wide")
    with pytest.raises(UserError, match=r"^partition fine: kernel wide of class c1 needs 3 warps a CTA, but the class"
                                        r" has at most 2 of an SM$"):  # fmt: skip
        ends(tmp_path, [Kernel((4,)), wide], gpu(2), "even")
    small = gpu(4, "memory.count=2", "l2.bytes=65536", "l2.slices_per_controller=1")
    with pytest.raises(
        UserError, match=r"^partition mig: class c0 would get none of 2 L2 slices; give it more shares$"
    ):
        ends(tmp_path, [Kernel((4,)), wide], small, "mig", "partition.shares=[1,3]")


def test_mig_keeps_requests_and_lines_apart(tmp_path: Path, op: Any, load_op: Callable[..., Any]) -> None:
    """Each class reaches its own half of the slices and DRAM channels alone, all of them, evenly."""
    texts = []
    for name in "ab":
        lines = 4 * 1024  # 512 KiB in 32 warps
        path = write_micro(
            tmp_path / f"{name}.trace", [load_op(), op()], [lines // 32] * 32,
            lambda warp, visit, index, lane: 128 * (warp * 128 + visit) + 4 * lane,
        )  # fmt: skip
        texts.append(str(path))
    small = load("mobile", ["sm.count=4", "memory.count=4", "l2.bytes=262144", "sm.kernel_launch_cycles=0"])
    result = together(texts, small, "mig", repeats=False)
    slices = small.l2_slices
    for number, name in enumerate(("compute", "compute2")):
        for unit, counter, parts in (("l2", "fills", slices), ("dram", "reads", small.memory.count)):
            values = by_instance(result, name, unit, counter)
            assert len(values) == parts
            own = slice(number * parts // 2, (number + 1) * parts // 2)
            assert values[own].sum() == values.sum() > 0
            assert values[own].min() > 0.8 * values[own].max()


@pytest.mark.parametrize("shares", [(1, 1), (3, 1), (1, 3)])
def test_mig_keeps_to_its_slices_at_every_interval(
    tmp_path: Path, op: Any, load_op: Callable[..., Any], shares: tuple[int, int]
) -> None:
    """Every 50 cycles no class has used an L2 slice or DRAM channel that is not its own, nor holds a line there."""
    store = op("store", "lsu", 1, 1, -1, 0, "global")
    texts = [
        str(write_micro(
            tmp_path / f"{name}.trace", [load_op(), store, op()], [8] * 16,
            lambda warp, visit, index, lane: (index << 22) + 128 * (8 * warp + visit) + 4 * lane,
        ))
        for name in "ab"
    ]  # fmt: skip
    gpu = load("mobile", ["sm.count=4", "memory.count=4", "l2.bytes=65536", "sm.kernel_launch_cycles=0"])
    shared = Shared(join([parse(text) for text in texts]), read_partition("mig", [f"partition.shares={list(shares)}"]))
    machine = Machine(shared.joined.trace, gpu, read_characterisation(shared.joined.trace, None), sharing=shared)
    together, tags = machine.streams, machine.memory.l2.tags
    assert isinstance(together, Together)
    border = shares[0] * gpu.l2_slices // sum(shares)
    seen = [0, 0]

    def look(standing: Standing) -> None:
        counters = class_counters(machine, together, standing.cycle)
        rows = np.flatnonzero(tags.line[:, cache_state.STATUS] & cache_state.IN_USE)
        is_second = (rows >> tags.way_shift) // tags.sets >= border
        assert (tags.owners.class_of[tags.owners.owner[rows] >> 1] == is_second).all()
        for number, own in enumerate(counters[:2]):
            for unit, parts in (("l2", gpu.l2_slices), ("dram", gpu.memory.count)):
                foreign = (
                    slice(border * parts // gpu.l2_slices, None)
                    if number == 0
                    else slice(None, border * parts // gpu.l2_slices)
                )
                work = np.sum([np.asarray(values) for values in own[unit].values()], axis=0)
                assert len(work) == parts
                assert not work[foreign].any(), (standing.cycle, number, unit)
            seen[number] += bool(own["l2"]["fills"].any())

    Replay(machine, interval=50).run(look)
    assert min(seen) >= 5


def by_instance(result: Result, name: str, unit: str, counter: str) -> np.ndarray:
    """A counter of a class, by instance of its unit."""
    for part in result.by_class["class_counters"]:
        if (part["class"][0], part["unit"][0], part["counter"][0]) == (name, unit, counter):
            return part["value"]
    raise AssertionError(f"{name} has no counter {unit} {counter}")


def test_migs_bandwidth_is_its_share(tmp_path: Path, op: Any, load_op: Callable[..., Any]) -> None:
    """A class that streams gets, from n of 4 channels, n / 4 of the bandwidth that it has of all, within 10 %."""
    warps, visits = 256, 16
    stream = write_micro(
        tmp_path / "stream.trace", [load_op(wait=0), op()], [visits] * warps,
        lambda warp, visit, index, lane: 128 * (warp * visits + visit) + 4 * lane,
    )  # fmt: skip
    other = write_kernels(tmp_path / "other.trace", [Kernel((4,))])
    values = ["sm.count=16", "memory.count=4", "l2.bytes=262144", "sm.kernel_launch_cycles=0"]
    gpu = load("mobile", values)
    whole = simulate(stream, gpu).value("gpu_cycles")
    for sms in (4, 8, 12):
        texts = [f"stream={stream}", f"other={other}"]
        result = together(texts, gpu, "mig", f"partition.shares=[{sms},{16 - sms}]", repeats=False)
        cycles = int(result.by_class["classes"][0]["cycles"][0])
        assert whole / cycles == pytest.approx(sms / 16, rel=0.1)
