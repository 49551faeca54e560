"""CTAs go to the SMs, cycle by cycle, as a slow twin of Accel-Sim's dispatcher hands them out."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.results.metrics import Result
from rayplay.replay.run.driver import simulate
from tests.replay.launches import SLOTS, Kernel, SlowGpu, write_kernels


def small(sms: int, latency: int, concurrent: int = 1) -> Gpu:
    """A GPU whose warps never share a scheduler."""
    return load(
        "mobile",
        [
            f"sm.count={sms}", f"sm.warps={SLOTS}", f"sm.kernel_launch_cycles={latency}", "sm.registers=8192",
            "sm.shared_bytes=10000", f"sm.concurrent_kernels={concurrent}",
        ],
    )  # fmt: skip


def random_kernel(rng: np.random.Generator, streams: int) -> Kernel:
    return Kernel(
        tuple(rng.integers(1, 30, int(rng.integers(1, 30))).tolist()), int(rng.integers(streams)),
        int(rng.choice([1, 2, 4])), int(rng.choice([16, 32, 64])), int(rng.choice([0, 3000, 6000])),
    )  # fmt: skip


def issued_per_sm(result: Result) -> list[int]:
    """Warp-instructions of every SM, over all kernels."""
    mine = (result.counters["unit"] == "sm") & (result.counters["counter"] == "warp_instructions")
    return np.bincount(result.counters["instance"][mine], result.counters["value"][mine]).astype(int).tolist()


def spans(result: Result) -> dict[int, tuple[int, int]]:
    """First cycle of every kernel, and the first after it."""
    table = result.kernels
    ends = zip(table["start_cycle"].tolist(), table["end_cycle"].tolist(), strict=True)
    return dict(zip(table["kernel_id"].tolist(), ends, strict=True))


@pytest.mark.parametrize(("seed", "window"), [(seed, window) for seed in range(10) for window in (1, 2, 4)])
def test_ctas_are_handed_out_as_by_the_twin(tmp_path: Path, seed: int, window: int) -> None:
    rng = np.random.default_rng(seed)
    sms, latency = int(rng.integers(1, 7)), int(rng.choice([0, 1, 250]))
    kernels = [random_kernel(rng, 3) for _ in range(int(rng.integers(1, 7)))]
    twin = SlowGpu(sms, latency, window, 8192, 10000)
    twin.run(kernels)
    trace = write_kernels(tmp_path / "kernels.trace", kernels)
    for quantum, threads in ((None, 1), (10, 1), (1, 1), (45, 2)):
        result = simulate(trace, small(sms, latency, window), quantum=quantum, threads=threads)
        assert spans(result) == twin.spans
        assert issued_per_sm(result) == [sm.ran for sm in twin.sm]


def test_an_sm_gets_one_cta_a_cycle(tmp_path: Path) -> None:
    """The n-th CTA of an SM begins n cycles after the launch."""
    for ctas in range(1, SLOTS + 1):
        trace = write_kernels(tmp_path / f"{ctas}.trace", [Kernel((10,) * ctas)])
        assert simulate(trace, small(1, 0)).value("gpu_cycles") == 1 + (ctas - 1) + 70 + 1
