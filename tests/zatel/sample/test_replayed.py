"""Replay of a sample alone: of everything it is the replay; the same CTAs for every design."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.replay import simulate
from rayplay.replay.gpu.description import load
from rayplay.zatel.sample import estimate
from rayplay.zatel.sample.replayed import part_of, replay_sample, sampled

SAMPLE = Path(__file__).resolve().parents[3] / "traces" / "sample.trace"


def summary(result: object) -> dict[str, object]:
    """Every metric."""
    return {name: entry["value"] for name, entry in result.summary.items()}  # type: ignore[attr-defined]


def test_a_sample_of_all_ctas_is_the_replay() -> None:
    trace, gpu = open_trace(SAMPLE), load("mobile")
    assert summary(replay_sample(trace, sampled(trace, 1.0, 1), gpu, 1.0)) == summary(simulate(trace, gpu))


def test_a_replay_without_looks_has_the_same_metrics_and_no_table_of_stalls() -> None:
    trace, gpu = open_trace(SAMPLE), load("mobile")
    looked, alone = simulate(trace, gpu), simulate(trace, gpu, stalls=False)
    assert summary(alone) == summary(looked)
    assert set(looked.by_class) - set(alone.by_class) == {"stalls"}


def test_rows_from_the_cache_are_those_of_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    trace, gpu = open_trace(SAMPLE), load("mobile", ["rt.warps=2"])
    first = sampled(trace, 0.3, 7)
    monkeypatch.setattr(estimate, "read_work", None)  # nothing is read again
    again = sampled(trace, 0.3, 7)
    chosen = np.unique(again.read("visits", ["warp_id"])["warp_id"])
    assert 0 < len(chosen) < trace.rows("warps") / 2
    assert np.array_equal(chosen, np.unique(first.read("visits", ["warp_id"])["warp_id"]))
    assert summary(replay_sample(trace, again, gpu, 0.3)) == summary(replay_sample(trace, first, gpu, 0.3))


def test_a_part_fills_one_sm_as_often_as_the_launch_fills_the_gpu() -> None:
    trace = open_trace(SAMPLE)
    ctas = len(np.unique(trace.read("warps", ["cta_id"])["cta_id"]))
    for sms in (2, 4, 8):
        part = part_of(trace, load("mobile", [f"sm.count={sms}"]))
        assert part is not None
        assert part == pytest.approx(max(1 / sms, 8 / ctas))  # the sample does not fill two SMs more than 2.5 times
