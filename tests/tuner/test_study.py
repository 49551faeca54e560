"""The tuner's study: its page, its verdicts by hand, and a second run from the store alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from rayplay.tuner.plant import Measured, Plant
from rayplay.tuner.study.page import page
from rayplay.tuner.study.plan import Animation, Plan, distances
from rayplay.tuner.study.run import part_of, run_study

PLAN = Plan(["cornell"], ["mobile"], 12, 3, (24, 16), 16, "rt-unit")


def test_a_second_run_renders_nothing_and_writes_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_study(PLAN, tmp_path / "one", tmp_path / "store")

    def refuse(*arguments: object) -> Measured:
        raise AssertionError("rendered again")

    monkeypatch.setattr(Plant, "_render", refuse)
    run_study(PLAN, tmp_path / "two", tmp_path / "store")
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == [
        "README.md", *(f"cornell-{path}-mobile.{kind}" for path in ("orbit", "turn") for kind in ("csv", "png"))
    ]  # fmt: skip
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize(("name", "factor", "left"), [
    ("mobile", 1, (8, 4)), ("mobile", 4, (2, 1)), ("mobile", 64, (2, 1)), ("rtx2060", 6, (5, 2)),
    ("rtx2060", 64, (2, 1)), ("rtx3070", 64, (2, 1)), ("orin", 64, (2, 2)),
])  # fmt: skip
def test_a_part_of_a_gpu_has_two_sms_at_least(name: str, factor: int, left: tuple[int, int]) -> None:
    gpu = part_of(name, factor)
    assert (gpu.sm.count, gpu.memory.count) == left


def test_distances_by_hand() -> None:
    measured, predicted = [2.0, 1.0, 0.5, 1.0, 1.0, 1.1, 0.8], [1.0, 1.0, 1.0, 1.0, 1.0, 1.1, 0.4]
    rows = [
        {"controller": name, "measured_ms": factor * one, "predicted_ms": factor * two}
        for name, factor in (("feedback", 1.0), ("none", 9.0))
        for one, two in zip(measured, predicted, strict=True)
    ]
    found = distances(rows, "feedback", 1.0)
    assert found.frames == 7
    assert distances(rows, "feedback", 1.0, 3).mean == pytest.approx(0.5)
    assert found.mean == pytest.approx((1 + 0.5 + 0.1 + 0.2) / 7)
    assert found.settled == pytest.approx(0.2)
    assert found.above == pytest.approx(1.0)
    assert found.prediction == pytest.approx((0.5 + 1 + 0.5) / 7)


def test_findings_compare_the_frames_that_both_controllers_had() -> None:
    """Feedback misses its later frames; of the first two it is the nearer one."""
    times = {"feedback": [1.0, 1.0, 9.0, 9.0], "feed-forward": [1.0, 1.1], "none": [1.2, 1.2]}
    rows = [
        {"controller": name, "measured_ms": time, "predicted_ms": 1.0} for name, own in times.items() for time in own
    ]
    lines = list(
        page(replace(PLAN, frames=4, first=4, others=2), [Animation("a", "orbit", 1.0, rows, {"rt-unit": 0.0})])
    )
    assert "| Feedback brings the prediction nearer to the time | holds | 0.0 < 4.5 % |" in lines
    assert "| Without tuning frames leave the target | holds | 0.0 < 20.0 % |" in lines
    assert any(line.startswith("| a | feedback | 4 | 400.0 |") for line in lines)
    assert any(line.startswith("| a | none | 2 | 20.0 |") for line in lines)
