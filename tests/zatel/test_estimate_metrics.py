"""From what a sample's replay counted to the whole GPU's cycles, by hand."""

import numpy as np
import pytest

from replay.gpu_description import load
from zatel.control import Traffic
from zatel.control_schedule import Machine, Phases, schedule
from zatel.estimate_metrics import all_cycles, later
from zatel.estimate_replay import Replayed


def test_a_step_takes_longer_where_caches_miss_more() -> None:
    gpu = load("mobile")  # an L2 hit 160 cycles; DRAM 100, and 20 + 20 ticks of 3500 MHz at 1365 MHz
    few = Traffic(100.0, 10.0, 0.0, 0.0, 0.0, 0.0, 200.0, 50.0)
    many = Traffic(100.0, 20.0, 0.0, 0.0, 0.0, 0.0, 200.0, 60.0)
    dram = 100 + 40 * 1365 / 3500
    assert later(gpu, many, few) == pytest.approx(160 * 0.05 + dram * (0.3 * 0.2 - 0.25 * 0.1))
    assert later(gpu, few, few) == 0.0


def replayed_as(
    phases: Phases, machine: Machine, warps: np.ndarray, step: float, crowded: float, alone: float
) -> Replayed:
    """A replay in which a record takes ``step`` cycles and the schedule's accesses ``alone``, seen as ``crowded``."""
    owner = np.repeat(warps, np.diff(phases.first))
    accesses, records = ((phases.length * owner)[kind::2].sum() for kind in (0, 1))
    cycles = 5000 + step * schedule(phases, warps, machine, alone / step).steps
    totals = {"rt_warp_cycles": step * records, "waits_for_rt": 3.0, "waits_or_issues": 4.0}
    totals["resident_warp_cycles"] = 4 * crowded * accesses
    return Replayed({"gpu_cycles": cycles}, {}, totals, 0.0)


@pytest.mark.parametrize(("crowded", "alone"), [(50.0, 50.0), (200.0, 50.0)])
def test_cycles_follow_from_what_a_step_and_an_access_take(crowded: float, alone: float) -> None:
    random = np.random.default_rng(5)
    warps = 400
    phases = Phases(np.arange(0, 20 * warps + 1, 20), random.integers(1, 30, 20 * warps))
    gpu, whole, part = load("mobile"), Machine(4, 2, 8, 2), Machine(1, 2, 8, 2)
    chosen = np.arange(warps) % 8 == 0
    replayed = replayed_as(phases, part, chosen, 100.0, crowded, alone)
    expected = 5000 + 100.0 * schedule(phases, np.ones(warps, bool), whole, alone / 100.0).steps
    found = all_cycles(gpu, whole, part, phases, chosen, replayed, 0.0)
    assert found == pytest.approx(expected, rel=0.01)
    slower = all_cycles(gpu, whole, part, phases, chosen, replayed, 10.0)
    assert slower - 5000 == pytest.approx(1.1 * (found - 5000))
