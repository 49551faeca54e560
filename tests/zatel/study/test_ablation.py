"""The study of the estimator's rules: switches that work, verdicts by hand, and its files."""

import argparse
import csv
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import load
from rayplay.zatel.replays.metrics import RULES as METRICS
from rayplay.zatel.replays.result_cache import Store
from rayplay.zatel.sample.estimate import conclude, estimate, read_work, replay_samples
from rayplay.zatel.sample.machine import Modelled
from rayplay.zatel.sample.rules import EVERY, OF_REPLAY, Rules
from rayplay.zatel.study.ablation import Trial, of_scene, trials, verdicts
from rayplay.zatel.verbs.ablate import ablate_verb

GPU = ["sm.kernel_launch_cycles=100"]


@pytest.mark.parametrize("rule", Rules._fields)
def test_all_ctas_are_the_full_replay_without_any_rule(trace: Trace, rule: str) -> None:
    gpu, work = load("mobile", GPU), read_work(trace)
    (whole,) = replay_samples(trace, [gpu], 1.0, 1, work, rules=EVERY.without(rule))
    assert conclude(whole, EVERY.without(rule)).metrics == estimate(trace, gpu, 1.0, 1, work).metrics


def test_rules_of_the_use_change_an_estimate_and_not_its_replay(spheres: Trace) -> None:
    work = read_work(spheres)
    (outcome,) = replay_samples(spheres, [load("mobile", GPU)], 0.25, 1, work)
    asked = [of._replace(asked=of.asked * 500) for of in outcome.model]
    busy = outcome._replace(model=Modelled(*asked))  # slices decide the cycles
    for rule in set(Rules._fields) - set(OF_REPLAY):
        changed = [conclude(one, EVERY.without(rule)).metrics != conclude(one).metrics for one in (outcome, busy)]
        assert any(changed), rule


def test_rules_of_the_replay_change_it(trace: Trace) -> None:
    gpu, work = load("mobile", [*GPU, "l2.bytes=98304"]), read_work(trace)
    every = replay_samples(trace, [gpu], 0.1, 1, work)[0].replayed.totals
    for rule in OF_REPLAY:
        (without,) = replay_samples(trace, [gpu], 0.1, 1, work, rules=EVERY.without(rule))
        assert without.replayed.totals != every, rule


def trial(scene: str, without: str, cycles: float) -> Trial:
    errors = {name: cycles if name == "gpu_cycles" else None for name in METRICS}
    return Trial(scene, "mobile", 1, without, errors, {}, {}, 2.0 if without else 3.0)


def test_a_verdict_leaves_out_the_scene_for_which_the_rule_was_made() -> None:
    """Rule ``bounds`` helps wknd alone; ``later`` helps each scene by 4, 5 and 6 points."""
    found = []
    for scene, off in (("wknd", 0.04), ("bunny", 0.05), ("park", -0.06)):
        found += [trial(scene, "", 0.01), trial(scene, "later", off + np.copysign(0.01, off))]
        found.append(trial(scene, "bounds", 0.2 if scene == "wknd" else -0.01))
        found += [trial(scene, rule, 0.01) for rule in Rules._fields if rule not in ("later", "bounds")]
    judged = {one.rule: one for one in verdicts(found, ["gpu_cycles"])}
    assert judged["later"].gain == pytest.approx(0.05)
    assert judged["later"].gain_error == pytest.approx(0.01 / 3**0.5)
    assert judged["later"].earns_its_place
    assert (judged["bounds"].gain, judged["bounds"].earns_its_place) == (pytest.approx(0.0), False)
    assert judged["bounds"].without_it == pytest.approx((0.2 + 0.01 + 0.01) / 3)
    assert judged["later"].cpu_share == pytest.approx(1 / 3)


def test_the_study_writes_its_page(trace: Trace, tmp_path: Path) -> None:
    arguments = argparse.Namespace(
        traces=[trace.path], gpu=["mobile"], fraction=0.25, seeds=2, out=tmp_path / "study", store=tmp_path / "store",
        records=[],
    )  # fmt: skip
    assert ablate_verb(arguments) == 0
    page = (tmp_path / "study" / "README.md").read_text()
    assert "python -m zatel ablate small.trace --gpu mobile --fraction 0.25 --seeds 2" in page
    with (tmp_path / "study" / "trials.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * (1 + len(Rules._fields))
    assert len(arguments.records) == len(Rules._fields) * len(METRICS)
    assert (tmp_path / "study" / "ablation.png").stat().st_size > 5000
    again = list(of_scene(trace, "mobile", 0.25, 2, read_work(trace), Store(tmp_path / "store")))
    assert [f"{one.errors['gpu_cycles']:.5f}" for one in again] == [row["gpu_cycles"] for row in rows]


def test_a_wrong_request_is_refused_before_a_replay(trace: Trace, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    for paths, gpus, fraction, message in (
        ([trace.path], ["mobile"], 2.0, "--fraction must be"),
        ([trace.path], ["mobile", "none"], 0.25, "none"),
        ([trace.path], ["mobile", "mobile"], 0.25, "--gpu: must name each once"),
        ([trace.path, trace.path], ["mobile"], 0.25, "TRACE: must name each once, .* has small again"),
    ):
        with pytest.raises(UserError, match=message):
            trials(paths, gpus, fraction, 1, store)
    assert not [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
