"""A whole RT unit in compiled code, held to the laws of every policy, and through the verbs that carry it along."""

import json
from pathlib import Path

import pytest

import rayplay
from rayplay.formats.dataset.reader import open_trace
from rayplay.replay.gpu.description import load
from rayplay.replay.testing import check_policy
from tests.zatel.test_main import zatel

ROOT = Path(__file__).parents[3]
UNIT = ROOT / "examples" / "policies" / "fixed_rate.py"
SAMPLE = ROOT / "traces" / "sample.trace"


def test_the_laws_of_every_policy_hold() -> None:
    assert check_policy(UNIT, cases=2, progress=lambda line: None) >= 8


def test_a_what_if_is_of_the_unit() -> None:
    """With a latency of 400 cycles a record, half as many warps in the unit cost much; the engine's own is cheaper."""
    trace, changes = open_trace(SAMPLE), ["policy.fixed_rate.latency=400", "policy.fixed_rate.latency=1"]
    found = rayplay.whatif(trace, load("mobile", plugin=UNIT), changes, 0.5)
    slower, faster = (design.predicted["gpu_cycles"] for design in found.designs)
    assert slower is not None
    assert faster is not None
    assert slower > 0.5
    assert faster < -0.05


@pytest.mark.parametrize("workers", [1, 2])
def test_a_prediction_is_of_the_unit_in_every_worker(tmp_path: Path, workers: int) -> None:
    out = tmp_path / "p.prediction"
    done = zatel("predict", SAMPLE, "--gpu", "mobile", "--plugin", UNIT, "--workers", workers, "--out", out)
    assert done.returncode == 0, done.stderr
    told = json.loads((out / "prediction.json").read_text())
    assert load("mobile", plugin=UNIT).plugin.digest in json.dumps(told) + (out / "manifest.json").read_text()


@pytest.mark.later
@pytest.mark.parametrize("name", ["coherence_engine", "coop", "traversal_trend", "srrip"])
def test_the_laws_hold_of_an_example_in_machine_code(name: str) -> None:
    """Four examples with the most hooks; each costs a compilation. All run in plain Python elsewhere."""
    assert check_policy(UNIT.with_name(f"{name}.py"), cases=2, seed=5, progress=lambda line: None) >= 8
