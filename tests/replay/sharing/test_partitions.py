"""Every partition against schedules computed by hand, on a GPU of two or four SMs."""

from pathlib import Path

import pytest

from rayplay.replay.gpu.description import Gpu, load
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
