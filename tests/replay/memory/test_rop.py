"""Rates of raster operations as formulas; the twin has the cycles of whole replays."""

from pathlib import Path

import pytest

from rayplay.formats.dataset.result import open_result
from rayplay.formats.guard.errors import UserError
from rayplay.formats.laws.check import validate
from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.results.metrics import Result
from rayplay.replay.run.driver import simulate
from tests.replay.engine.test_laws import digest
from tests.replay.launches import STALL, Kernel, stages, with_tables, write_kernels
from tests.replay.memory.test_texture import counted
from tests.replay.sharing.test_together import together
from tests.replay.sm.test_async_copies import trace_of


def gpu(*values: str, sms: int = 1) -> Gpu:
    return load("mobile", [f"sm.count={sms}", "sm.warps=4", "sm.kernel_launch_cycles=0", *values])


def replay(path: Path, gpu: Gpu) -> Result:
    return simulate(path, gpu, model="characterised")


@pytest.mark.parametrize("window", [1, 4])
@pytest.mark.parametrize(("rate", "sms"), [(1, 1), (7, 1), (8, 2), (5, 2), (1000, 2)])
def test_a_cta_starts_when_its_depths_have_been_tested(tmp_path: Path, window: int, rate: int, sms: int) -> None:
    """Six CTAs of 40 pixels and one more in all: a test of 41 x SMs / rate cycles before each CTA of an SM.

    The tests of the first begin as the kernel opens, in cycle 0, of each other as the one before starts. Each SM has
    four slots, and a CTA takes a slot for its visits.
    """
    tests, ctas, visits = 241, 6, 9
    path = write_kernels(tmp_path / "a.trace", [Kernel((visits,) * ctas)], stages([tests]))
    cycles = -(-tests * sms // (ctas * rate))
    each = [0] * sms
    free = [[0] * 4 for _ in range(sms)]  # first cycle in which a slot may be granted again
    end = 0
    for number in range(ctas):
        sm = number % sms
        slot = min(range(4), key=free[sm].__getitem__)
        each[sm] = max(each[sm] + cycles, free[sm][slot] + 1, 1 + number // sms)
        end = free[sm][slot] = each[sm] + visits * STALL
    values = [f"rop.depth_pixels_per_cycle={rate}", f"sm.concurrent_kernels={window}"]
    if window == 1 and sms == 2:
        values.append("sm.ctas=4")  # a kernel alone is spread evenly: three CTAs an SM
    found = replay(path, gpu(*values, sms=sms))
    assert found.value("gpu_cycles") == end + 1
    assert counted(found, "rop", "depth_tests") == tests
    assert counted(found, "rop", "depth_cycles") == ctas * cycles


def test_other_classes_start_while_depths_are_tested(tmp_path: Path) -> None:
    """A fragment shader that is tested for 1,000 cycles leaves the SM to another class of work, whichever is first."""
    write_kernels(tmp_path / "draw.trace", [Kernel((5,))], stages([1000]))
    write_kernels(tmp_path / "plain.trace", [Kernel((5,) * 3)])
    expected = {"draw": 1000 + 5 * STALL + 1, "plain": 3 + 5 * STALL + 1}
    for names in (("draw", "plain"), ("plain", "draw")):
        texts = [f"{name}={tmp_path / name}.trace" for name in names]
        table = together(texts, gpu("rop.depth_pixels_per_cycle=1"), "greedy", repeats=False).by_class["classes"][0]
        assert dict(zip(names, table["cycles"].tolist(), strict=True)) == expected


def store(first: int) -> str:
    return f"0 STG.E.128 2 R2 R3 16 1 {first:#x} 16 0"


def test_colours_take_their_rate_and_wait_for_each_other(tmp_path: Path) -> None:
    """A warp stores 12 times 512 bytes: one is written and one waits, so that the last enters as the 11th begins."""
    lines = [store(0x10000000 + 512 * number) for number in range(12)]
    path = drawn(trace_of(tmp_path / "plain", lines), tmp_path / "drawn.trace")
    took = {}
    for pixel_bytes in (4, 2, 1):
        found = replay_sass(path, "rop.colour_pixels_per_cycle=1", f"rop.pixel_bytes={pixel_bytes}")
        each = 512 // pixel_bytes
        assert counted(found, "rop", "colour_bytes") == 12 * 512
        assert counted(found, "rop", "colour_cycles") == 12 * each
        took[each] = found.value("gpu_cycles"), counted(found, "rop", "colour_wait_cycles")
    for index in (0, 1):
        assert took[512][index] - took[256][index] == 10 * 256
        assert took[256][index] - took[128][index] == 10 * 128


def drawn(path: Path, out: Path) -> Path:
    """A copy of a trace whose first launch is a fragment shader."""
    return with_tables(path, out, stages([64]))


def replay_sass(path: Path, *values: str) -> Result:
    return simulate(path, load("accelsim-rtx2060", ["sm.count=1", *values]), model="pipeline")


def test_a_high_rate_is_no_rate(tmp_path: Path) -> None:
    lines = [store(0x10000000 + 512 * number) for number in range(12)]
    path = drawn(trace_of(tmp_path / "plain", lines), tmp_path / "drawn.trace")
    free = replay_sass(path)
    high = replay_sass(path, "rop.colour_pixels_per_cycle=100000")
    assert free.value("gpu_cycles") == high.value("gpu_cycles")
    assert "rop" not in set(free.counters["unit"])
    assert counted(high, "rop", "colour_wait_cycles") == 0


def test_classes_sum_and_quanta_and_threads_change_nothing(tmp_path: Path) -> None:
    kernels = [Kernel((3, 8, 1) * 8, 0), Kernel((5,) * 9, 1), Kernel((4, 6) * 6, 2)]
    values = ["rop.depth_pixels_per_cycle=3", "rop.colour_pixels_per_cycle=3", "sm.concurrent_kernels=3"]
    for number in range(2):
        write_kernels(tmp_path / f"{number}.trace", kernels, stages([900, -1, 313 + number]))
    made = []
    for number, (quantum, threads) in enumerate([(None, 1), (1, 1), (7, 2), (None, 3)]):
        texts = [f"c{each}={tmp_path / f'{each}.trace'}" for each in range(2)]
        result = together(texts, gpu(*values, sms=2), "even", quantum=quantum, threads=threads)
        result.write(tmp_path / f"{number}.result", {"command": "test"})
        made.append(digest(tmp_path / f"{number}.result"))
    assert all(one == made[0] for one in made)
    written = open_result(tmp_path / "0.result")
    assert validate(written) == []
    sums = {}
    for table in ("counters", "class_counters"):
        found = written.read(table)
        rows = (found["unit"] == "rop") & (found["counter"] == "depth_tests")
        sums[table] = int(found["value"][rows].sum())
    assert sums["counters"] == sums["class_counters"] >= 900 + 313 + 900 + 314


@pytest.mark.parametrize(("name", "units"), [("rtx3070", 96), ("orin", 32)])
def test_a_raster_unit_writes_a_colour_or_tests_eight_depths_in_a_cycle(name: str, units: int) -> None:
    rates = load(name).rop
    assert (rates.colour_pixels_per_cycle, rates.depth_pixels_per_cycle) == (units, 8 * units)
    released = load(f"{name}-released").rop
    assert (released.colour_pixels_per_cycle, released.depth_pixels_per_cycle) == (0, 0), "no limit"


def test_a_scaled_gpu_has_its_share(tmp_path: Path) -> None:
    whole = load("rtx3070")
    assert whole.scaled(2).rop.colour_pixels_per_cycle == whole.rop.colour_pixels_per_cycle // 2 == 48
    with pytest.raises(UserError, match=r"scaling factor 2 must divide rop\.colour_pixels_per_cycle \(97\)"):
        load("rtx3070", ["rop.colour_pixels_per_cycle=97"]).scaled(2)
