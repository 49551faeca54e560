"""CTAs go to the SMs, cycle by cycle, as a slow twin of Accel-Sim's dispatcher hands them out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from replay.driver import simulate
from replay.gpu_description import Gpu, load
from replay.metrics import Result

STALL = 7
PLACES = 4  # as many as schedulers, so that no warp ever waits for another's issue


@dataclass
class SlowGpu:
    """SMs as lists of the cycles in which their CTAs end; ``ran`` counts visits per SM."""

    sms: int
    last: int = -1
    cycle: int = 0
    ends: list[list[int]] = field(default_factory=list)
    ran: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ends, self.ran = [[] for _ in range(self.sms)], [0] * self.sms

    def run(self, work: list[int], latency: int) -> int:
        """Run a kernel whose CTAs make ``work`` visits; returns its cycles."""
        begun, waiting = self.cycle, list(work)
        places = min(PLACES, -(-len(work) // self.sms))
        while True:
            self.ends = [[end for end in ends if end != self.cycle] for ends in self.ends]
            first = self.last + 1
            for turn in range(self.sms if self.cycle >= begun + latency else 0):
                sm = (first + turn) % self.sms
                if waiting and len(self.ends[sm]) < places:
                    visits = waiting.pop(0)
                    self.ends[sm].append(self.cycle + 1 + visits * STALL)
                    self.ran[sm] += visits
                    self.last = sm
            self.cycle += 1
            if not waiting and not any(self.ends):
                return self.cycle - begun


def small(sms: int, latency: int) -> Gpu:
    """A GPU whose warps never share a scheduler."""
    return load("mobile", [f"sm.count={sms}", f"sm.ctas={PLACES}", f"sm.kernel_launch_cycles={latency}"])


def issued_per_sm(result: Result) -> list[int]:
    """Warp-instructions of every SM, over all kernels."""
    mine = (result.counters["unit"] == "sm") & (result.counters["counter"] == "warp_instructions")
    return np.bincount(result.counters["instance"][mine], result.counters["value"][mine]).astype(int).tolist()


@pytest.mark.parametrize("seed", range(12))
def test_ctas_are_handed_out_as_by_the_twin(micro: Callable[..., Path], op: type, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sms, latency = int(rng.integers(1, 9)), int(rng.choice([0, 1, 250]))
    work = rng.integers(1, 40, int(rng.integers(1, 90))).tolist()
    twin = SlowGpu(sms)
    expected = twin.run(work, latency)
    trace = micro([op(stall=STALL)], work)
    for quantum, threads in ((None, 1), (10, 1), (1, 1), (45, 2)):
        result = simulate(trace, small(sms, latency), quantum=quantum, threads=threads)
        assert result.value("gpu_cycles") == expected
        assert issued_per_sm(result) == twin.ran


def test_an_sm_gets_one_cta_a_cycle(micro: Callable[..., Path], op: type) -> None:
    """The n-th CTA of an SM begins n cycles after the launch."""
    for ctas in range(1, PLACES + 1):
        result = simulate(micro([op(stall=100)], [1] * ctas), small(1, 0))
        assert result.value("gpu_cycles") == 1 + (ctas - 1) + 100 + 1
