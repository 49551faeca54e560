"""Studies on the page: changes and noise floors are the file's; other files, traces and GPUs are refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.report.page import page
from rayplay.report.run import Run
from rayplay.report.study import read_study, studies
from tests.report.pages import Parsed

SUBJECT = {"trace": "sample.trace", "gpu": "mobile"}
WHATIF: dict[str, Any] = SUBJECT | {
    "sample": {}, "noise_floor": {"gpu_cycles": 0.01, "gpu_ipc": 0.02}, "full_noise_floor": {"gpu_cycles": 0.1},
    "designs": [
        {"change": "rt.warps*2", "predicted": {"gpu_cycles": -0.25, "gpu_ipc": 0.02}, "full": {"gpu_cycles": -0.2}},
        {"change": "l1.bytes/2", "predicted": {"gpu_cycles": 0.005, "gpu_ipc": None}, "full": None},
    ],
}  # fmt: skip
SCALE: dict[str, Any] = SUBJECT | {
    "full": {"gpu_cycles": 1000}, "full_noise_floor": None,
    "models": [
        {"name": "/1", "metrics": {"gpu_cycles": 1000}, "noise_floor": {"gpu_cycles": 0.01}},
        {"name": "/2", "metrics": {"gpu_cycles": 1100}, "noise_floor": {"gpu_cycles": 0.02}},
    ],
}  # fmt: skip


def written(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path


def cells(runs: list[Run], path: Path) -> list[tuple[str | None, str | None]]:
    """Value and class of each cell of the study's table."""
    made = str(studies([read_study(path)], runs[0]))
    return [(a.get("data-value"), a.get("class")) for element, a in Parsed(made).elements if element == "td"]


def test_a_what_if_study_marks_what_exceeds_the_noise(runs: list[Run], tmp_path: Path) -> None:
    found = cells(runs, written(tmp_path / "w.json", WHATIF))
    assert found == [
        (repr(-25.0), "number less"), (repr(2.0), "number"), (repr(-20.0), "number less"), (None, "number"),
        (repr(0.5), "number"), (None, "number"),
    ]  # fmt: skip


def test_a_scale_study_is_relative_to_the_full_replay_or_the_first_machine(runs: list[Run], tmp_path: Path) -> None:
    second = read_study(written(tmp_path / "s.json", SCALE)).lines[1]
    assert second.change["gpu_cycles"] == pytest.approx(0.1)
    assert second.floor == {"gpu_cycles": 0.02}
    small = SCALE | {"full": None, "models": SCALE["models"][::-1]}
    assert read_study(written(tmp_path / "t.json", small)).lines[1].change["gpu_cycles"] == pytest.approx(-1 / 11)


def test_the_page_has_words_for_the_chart(runs: list[Run], tmp_path: Path) -> None:
    study = read_study(written(tmp_path / "w.json", WHATIF))
    parsed = Parsed(page(runs[:1], (), (), [study]))
    assert not parsed.open
    said = [a.get("aria-label") for element, a in parsed.elements if element == "svg"]
    assert any("rt.warps*2 -25.00 %; rt.warps*2, full replay -20.00 %" in str(words) for words in said)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([], "must be what rayplay whatif or rayplay scale wrote"),
        (WHATIF | {"designs": {}}, "designs: must be a list of objects"),
        (WHATIF | {"designs": [{"predicted": 3}]}, r"designs\[0\].predicted: must hold a number for each metric"),
        (SCALE | {"models": [{"metrics": {"gpu_cycles": "3"}}]}, r"models\[0\].metrics.gpu_cycles: must be a number"),
    ],
)
def test_another_file_is_refused(content: object, words: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=words):
        read_study(written(tmp_path / "x.json", content))


@pytest.mark.parametrize(("name", "other"), [("trace", "other.trace"), ("gpu", "rtx2060")])
def test_a_study_of_another_trace_or_gpu_is_refused(runs: list[Run], tmp_path: Path, name: str, other: str) -> None:
    path = written(tmp_path / "w.json", WHATIF | {name: other})
    with pytest.raises(UserError, match=f"--study w.json: {name} must be .*, found {other}"):
        studies([read_study(path)], runs[0])
