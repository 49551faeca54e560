"""Changes of a design, the noise floor, and their comparison with full replays."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.formats.testing.generate import make_trace
from rayplay.replay.gpu.description import load
from rayplay.zatel.__main__ import parser
from rayplay.zatel.changes.noise import MORE_OFFSETS, OFFSETS, mean_of, noise_floor, perturbed
from rayplay.zatel.changes.whatif import CHANGES, changed, relative_change, what_if
from rayplay.zatel.replays import runs
from rayplay.zatel.replays.result_cache import Store
from rayplay.zatel.verbs.whatif import KEYS, as_json, table_text, whatif_verb

SEVEN = ("gpu_cycles", "gpu_ipc", "l1d_miss_rate", "l2_miss_rate", "rt_efficiency", "dram_efficiency")
SEVEN = (*SEVEN, "bandwidth_utilisation")


@pytest.mark.parametrize("name", ["mobile", "rtx2060"])
def test_every_listed_change_leaves_a_machine_that_differs(name: str) -> None:
    gpu = load(name)
    for change in CHANGES.values():
        assert changed(gpu, change) != gpu


def test_what_belongs_together_changes_together() -> None:
    gpu = load("mobile")
    assert changed(gpu, "memory.count/2").l2_sets_per_slice == gpu.l2_sets_per_slice
    assert (changed(gpu, "l1.ways*2").l1.ways, changed(gpu, "l1.ways*2").l1.bytes) == (1024, 131072)
    assert changed(gpu, "rt.warps=3").rt.warps == 3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("rt.warps", "--change must be KEY=VALUE, KEY"),
        ("rt.warps/3", "rt.warps is 4, which 3 must divide"),
        ("rt.none*2", "rt.none must be a whole number of the description of GPU mobile"),
        ("scheduler.policy*2", "scheduler.policy must be a whole number"),
        ("rt.warps*0", "--change must be KEY=VALUE, KEY"),
        ("rt.warps=0", "--change rt.warps=0: rt.warps must be at least 1"),
        ("rt.none=1", "--change rt.none=1: unknown key rt.none"),
        ("sm.warps*1000000", "--change sm.warps*1000000: sm.warps must be at most"),
        ("dram.banks=3", "--change dram.banks=3: dram: banks must be a power of two, not 3"),
    ],
)
def test_what_is_no_change_is_refused(change: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        changed(load("mobile"), change)
    assert said in str(error.value)


def test_the_noise_floor_by_hand() -> None:
    runs = [
        {"a": 99.0, "b": None},
        {"a": 101.0, "b": None},
    ]  # standard deviation sqrt 2, Student's t of 1 degree 12.706
    floors = noise_floor(runs)
    assert floors["a"] == pytest.approx(12.7062 * 2 / 100, rel=1e-4)
    assert floors["b"] == 0.0
    assert noise_floor(runs, 1)["a"] == pytest.approx(12.7062 * 2**0.5 * 1.5**0.5 / 100, rel=1e-4)
    # two changes: 97.468 % for each; of 1 degree tan(0.97468 * 90 degrees) = 25.13
    assert noise_floor(runs, 2)["a"] == pytest.approx(25.13 * 2**0.5 * 1.5**0.5 / 100, rel=1e-3)


def test_noise_alone_moves_none_of_the_changes_above_the_floor_in_95_of_100_lists() -> None:
    random, silent = np.random.default_rng(5), 0
    for _ in range(2000):
        runs = random.normal(100.0, 1.0, 12 + 13)
        known = [{"a": value} for value in runs[:12]]
        base, floor = mean_of(known)["a"], noise_floor(known, 13)["a"]
        assert base is not None
        silent += bool(np.all(np.abs(runs[12:] / base - 1.0) <= floor))
    assert 0.94 <= silent / 2000 <= 0.98


def test_changes_are_from_the_mean_of_the_unchanged_runs() -> None:
    assert mean_of([{"a": 1.0, "b": None}, {"a": 2.0, "b": 3.0}]) == {"a": 1.5, "b": None}


@pytest.mark.parametrize("offsets", [OFFSETS, MORE_OFFSETS])
def test_perturbed_machines_differ_by_latencies_and_starts_alone(offsets: tuple[tuple[int, int, int], ...]) -> None:
    gpu = load("rtx2060")
    twins = perturbed(gpu, offsets)
    moved = {(one.l2.latency_cycles, one.dram.latency_cycles, one.sm.kernel_launch_cycles) for one in [gpu, *twins]}
    assert len(moved) == len(offsets) + 1
    assert len({start for _, _, start in moved}) > 1
    for twin in twins:
        back = replace(twin, name=gpu.name, l2=gpu.l2, dram=gpu.dram, sm=gpu.sm)
        assert back == gpu


def test_relative_change_of_what_is_missing() -> None:
    old = dict.fromkeys(SEVEN, 2.0) | {"rt_efficiency": None, "dram_efficiency": 0.0}
    found = relative_change(dict.fromkeys(SEVEN, 3.0), old)
    assert found["gpu_cycles"] == pytest.approx(0.5)
    assert found["rt_efficiency"] is None
    assert found["dram_efficiency"] is None


def test_of_all_ctas_the_predicted_changes_are_the_full_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_trace(tmp_path / "small.trace", 2, (64, 12), 0)
    gpu = load("mobile", ["sm.kernel_launch_cycles=100", "sm.count=2", "memory.count=1", "l2.bytes=786432"])
    trace, changes, store = open_trace(path), ["rt.warps/2", "sm.count/2"], Store(tmp_path / "store")
    found = what_if(trace, gpu, changes, 1.0, workers=2, full=True, store=store)
    for design in found.designs:
        assert design.full is not None
        for name in SEVEN:
            assert design.predicted[name] == pytest.approx(design.full[name], abs=1e-9)
    assert found.floor == pytest.approx(found.full_floor)
    assert (found.designs[1].predicted["gpu_cycles"] or 0) > 0.1  # half the SMs take longer
    text = table_text(found)
    assert text.count("full replay") == 2
    assert "noise floor" in text
    assert [line for line in text.splitlines() if " SMs and " in line] == [
        f"{start}{found.sample['warps']} warps, 100.0 % of the instructions, on {sms} SMs and 1 memory controllers with"
        " 768 KB of L2, DRAM at 3,500 MHz"
        for start, sms in (("each design replays ", 2), ("  ", 1))
    ]
    assert as_json(found, "sample.trace", "mobile").keys() == KEYS - {"energy"}
    json.dumps(as_json(found, "sample.trace", "mobile"))
    monkeypatch.setattr(runs, "simulate_all", None)  # no full replay is done again
    assert what_if(trace, gpu, changes, 1.0, workers=2, full=True, store=store) == found


def test_a_store_without_full_replays_is_refused() -> None:
    options = parser().parse_args(["whatif", "none.trace", "--gpu", "mobile", "--store", "kept"])
    with pytest.raises(UserError, match="--store must be given with --full, whose replays it keeps"):
        whatif_verb(options)
