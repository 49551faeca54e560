"""Every value of the worked examples, key by key (``expected.json``: computed apart from this project)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayplay.tuner import hong_kim
from rayplay.tuner.counts import Instructions, Readings, Workload, count_instructions, occlusion_misses
from rayplay.tuner.device import read_device
from rayplay.tuner.model import CASES, Prediction, predict
from tests.tuner import expected

EXPECTED = json.loads((Path(__file__).parent / "expected.json").read_text())
NEAR = {"rel": 1e-6, "abs": 6e-7}  # six digits behind the point
BRANCHES = {  # device, i_c, i_mu, i_mc
    "branch_arith_gf580": ("geforce-580", 20000, 5, 95),
    "branch_balanced_gf580": ("geforce-580", 100, 1, 99),
    "branch_mem_gf8800_coal": ("geforce-8800", 400, 20, 80),
}
DEVICES = {"gd_gf8800": "geforce-8800", "gd_gf580": "geforce-580", "gd_hd5870": "radeon-5870"}
READINGS = {"counts_A": "literal", "counts_B": "outer"}


def computed(section: str) -> dict[str, Any]:
    """Our values of a section, by its keys."""
    if section == "hong_kim_example":
        return of_hong_and_kim()
    if section == "workload":
        return of_workload()
    if section in READINGS:
        return of_counts(Readings(READINGS[section]))
    if section in DEVICES:
        found = count_instructions(expected.KERNEL, expected.LOAD, expected.RAYS)
        return of_prediction(DEVICES[section], found)
    name, *counts = BRANCHES[section]
    return of_prediction(name, Instructions(*(np.array(count, np.float64) for count in counts)))


def of_hong_and_kim() -> dict[str, Any]:
    gpu = hong_kim.Gpu(16, 1.0, 80.0, 420, 10, 4, 4)
    made = hong_kim.evaluate(gpu, hong_kim.Kernel(128, 80, 5, 27, 6, 0, barriers=6))
    total = made.cycles + made.barrier_cycles
    return {
        "n": made.warps, "mem_l": made.latency_cycles, "dep": made.departure_cycles,
        "bw_per_warp": made.warp_gbytes_per_s, "mwp_peak_bw": made.by_bandwidth, "mwp_nobw": made.by_delay,
        "mwp": made.memory_parallelism, "mem_cycles": made.memory_cycles, "comp_cycles": made.compute_cycles,
        "cwp_full": made.compute_demand, "cwp": made.compute_parallelism, "rep": made.repetitions, "case": made.case,
        "exec_app": made.cycles, "sync": made.barrier_cycles, "total": total, "cpi": total / (33 * made.warps),
    }  # fmt: skip


def of_workload() -> dict[str, Any]:
    kernel, load = expected.KERNEL, expected.LOAD
    return {
        "ict": kernel.compute_per_traversal, "ici": kernel.compute_per_intersection, "icco": kernel.compute_constant,
        "imt": kernel.memory_per_traversal, "imi": kernel.memory_per_intersection, "imco": kernel.memory_constant,
        "pt": load.primary_traversals, "pi": load.primary_intersections, "at": load.occlusion_traversals,
        "ar": expected.RAYS, "tv": load.hit_share, "aw": load.occlusion_intersections, "m": load.coherence,
        "bt": expected.LAUNCH.blocks, "tb": expected.LAUNCH.threads_per_block,
    }  # fmt: skip


def of_counts(readings: Readings) -> dict[str, Any]:
    load: Workload = expected.LOAD
    found = count_instructions(expected.KERNEL, load, expected.RAYS, readings=readings)
    primary = count_instructions(expected.KERNEL, load, 0, readings=readings)
    return {
        "ic": found.compute, "it": primary.memory, "aca": occlusion_misses(load, readings),
        "am": found.memory - primary.memory, "imu": found.uncoalesced, "imc": found.coalesced, "im": found.memory,
    }  # fmt: skip


def of_prediction(name: str, found: Instructions) -> dict[str, Any]:
    device = read_device(name)
    made: Prediction = predict(device, expected.LAUNCH, found)
    return {
        "Wd": made.warps, "cml": made.latency_cycles, "cdd": made.departure_cycles, "cc": made.compute_cycles,
        "cm": made.memory_cycles, "wc": made.compute_demand, "cwp": made.compute_parallelism, "wmd": made.by_delay,
        "Mw": made.warp_gbytes_per_s, "wmb": made.by_bandwidth, "mwp": made.memory_parallelism,
        "case": CASES[int(made.case)], "wt": made.periods, "cb": made.exposed_cycles, "rep": made.repetitions,
        "ct": made.cycles, "ms": device.milliseconds(made.cycles),
    }  # fmt: skip


def every_key() -> Iterator[tuple[str, str]]:
    for section, values in EXPECTED.items():
        for key in values:
            yield section, key


@pytest.mark.parametrize(("section", "key"), [*every_key()])
def test_a_value_of_the_worked_examples(section: str, key: str) -> None:
    """A key that nothing computes fails."""
    wanted, found = EXPECTED[section][key], computed(section)[key]
    assert found == (wanted if isinstance(wanted, str) else pytest.approx(wanted, **NEAR))


def test_nothing_is_computed_that_has_no_value() -> None:
    assert {section: set(computed(section)) for section in EXPECTED} == {
        section: set(values) for section, values in EXPECTED.items()
    }
