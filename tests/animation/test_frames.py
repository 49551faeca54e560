"""Animations: a frame is what it is alone, an interrupted run goes on to the same bytes, another one is refused."""

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rayplay.animation import frames
from rayplay.animation.measure import summary
from rayplay.animation.strip import chosen_frames
from rayplay.door.main import main
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.command import run

SMALL = ("--frames", "3", "--size", "24x16", "--path", "turn")
Call = Callable[..., tuple[int, str]]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a command line in an empty folder: exit code and standard error."""
    monkeypatch.chdir(tmp_path)

    def called(*words: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            run("rayplay", lambda: main(words))
        return int(ended.value.code or 0), capsys.readouterr().err

    return called


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def tables(path: Path) -> dict[str, dict[str, Any]]:
    trace = open_trace(path)
    return {name: {key: column.tolist() for key, column in trace.read(name).items()} for name in trace.manifest.tables}


def test_a_frame_is_the_scene_rendered_alone(call: Call, tmp_path: Path) -> None:
    code, error = call("animate", "cornell", *SMALL, "--out", "walk")
    assert code == 0, error
    camera = json.loads((tmp_path / "walk/0002.trace/manifest.json").read_text())["provenance"]["frame"]
    place = ",".join(f"{name}={','.join(map(str, camera[key]))}" for name, key in (("eye", "eye"), ("at", "look_at")))
    code, error = call(
        "trace", "cornell", "--size", "24x16", "--samples", "1", "--camera", place, "--out", "alone.trace"
    )
    assert code == 0, error
    assert tables(tmp_path / "walk/0002.trace") == tables(tmp_path / "alone.trace")
    assert (tmp_path / "walk/0002.png").read_bytes() == (tmp_path / "alone.png").read_bytes()


def test_an_interrupted_run_goes_on_to_the_same_bytes(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("forest", *SMALL, "--gpu", "mobile", "--structure", "refit", "--method", "replay")
    assert call("animate", *options, "--out", "whole")[0] == 0
    before = frames._render

    def interrupted(plan: frames.Plan, number: int, *rest: Any) -> None:
        if number == 1:
            raise KeyboardInterrupt
        before(plan, number, *rest)

    monkeypatch.setattr(frames, "_render", interrupted)
    assert call("animate", *options, "--out", "part")[0] == 130
    monkeypatch.setattr(frames, "_render", before)
    assert not (tmp_path / "part/frames.csv").exists()
    assert call("animate", *options, "--out", "part")[0] == 0
    assert contents(tmp_path / "part") == contents(tmp_path / "whole")
    times = [float(row["ms"]) for row in csv.DictReader((tmp_path / "part/frames.csv").read_text().splitlines())]
    assert len(times) == 3
    assert min(times) > 0


def test_moving_instances_are_rebuilt_or_refitted_to_the_same_pictures(call: Call, tmp_path: Path) -> None:
    poses = [{"frame": 0}, {"frame": 2, "move": [-36, 0, 4], "turn_degrees": 30}]
    (tmp_path / "keys.json").write_text(json.dumps({"instances": [{"instance": 1, "keys": poses}]}))
    options = ("forest", "--frames", "3", "--size", "24x16", "--path", "keys.json")
    assert call("animate", *options, "--out", "built")[0] == 0
    assert call("animate", *options, "--structure", "refit", "--out", "fitted")[0] == 0
    for number in range(3):
        one, other = (tmp_path / name / f"{number:04}.png" for name in ("built", "fitted"))
        assert one.read_bytes() == other.read_bytes()
    assert (tmp_path / "built/0000.png").read_bytes() != (tmp_path / "built/0002.png").read_bytes()


def test_what_frames_share_lies_once_and_each_stands_alone(call: Call, tmp_path: Path) -> None:
    assert call("animate", "cornell", *SMALL, "--out", "walk")[0] == 0
    first, last = (tmp_path / "walk" / f"{number:04}.trace" for number in (0, 2))
    same = {path.name for path in first.iterdir() if path.read_bytes() == (last / path.name).read_bytes()}
    assert {path.name for path in last.iterdir() if path.stat().st_nlink > 1} == same
    assert {"nodes-00000.parquet", "instructions-00000.parquet"} <= same
    shutil.rmtree(first)
    assert call("data", "verify", str(last))[0] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--size", "24x17"), "must be a new folder, or the same animation's; its request differ"),
        (("--frames", "4"), "its frames differ"),
        (("--structure", "refit", "--traversal", "vulkan-sim"), "--structure refit must not be given"),
        (("--fraction", "0"), "--fraction must be greater than 0"),
        (("--path", "spiral"), "--path spiral: must be a .json file or one of orbit, turn"),
        (("--gpu", "rtx9"), "--gpu rtx9: must be"),
        (("--path", "gone.json"), "gone.json"),
        (("--method", "look"), "--method look must be given with --gpu"),
        (("--method", "look", "--gpu", "mobile", "--size", "24x17"), "its request differ"),
    ],
)
def test_a_mistake_is_one_line_and_changes_nothing(
    options: tuple[str, ...], message: str, call: Call, tmp_path: Path
) -> None:
    assert call("animate", "cornell", "--frames", "1", "--size", "24x16", "--out", "walk")[0] == 0
    before = contents(tmp_path / "walk")
    code, error = call("animate", "cornell", "--frames", "1", "--size", "24x16", "--out", "walk", *options)
    assert code == 2
    assert message in error
    assert error.count("\n") == 1
    assert contents(tmp_path / "walk") == before


def test_a_first_look_traces_nothing_and_ranks_frames_as_their_replays(call: Call, tmp_path: Path) -> None:
    """From the scene to a wall and back: what the model calls heavy takes longer."""
    keys = [{"frame": frame, "eye": [278, 273, -800], "at": [278, 273, at]} for frame, at in ((0, 0), (1, -2000))]
    (tmp_path / "keys.json").write_text(json.dumps({"keys": [*keys, {**keys[0], "frame": 2}]}))
    options = ("cornell", "--frames", "3", "--size", "64x48", "--path", "keys.json", "--gpu", "mobile", "--out", "walk")
    code, error = call("animate", *options, "--method", "look")
    assert code == 0, error
    assert {path.name for path in (tmp_path / "walk").iterdir()} == {"animation.json", "looks.csv", "looks.png"}
    assert call("animate", *options, "--method", "replay")[0] == 0
    looks, times = (
        [float(row[name]) for row in csv.DictReader((tmp_path / "walk" / file).read_text().splitlines())]
        for file, name in (("looks.csv", "look_ms"), ("frames.csv", "ms"))
    )
    assert looks[0] == looks[2] > 2 * looks[1] > 0
    assert times[0] == times[2] > 1.3 * times[1]


def test_a_folder_of_something_else_is_left_alone(call: Call, tmp_path: Path) -> None:
    (tmp_path / "walk").mkdir()
    (tmp_path / "walk/precious").write_text("x")
    code, error = call("animate", "cornell", *SMALL, "--out", "walk")
    assert code == 2
    assert "walk: must be a new folder" in error
    assert contents(tmp_path / "walk") == {"precious": b"x"}


def test_pictures_of_the_strip_are_spread_over_the_frames() -> None:
    assert chosen_frames(1) == [0]
    assert chosen_frames(3) == [0, 1, 2]
    assert chosen_frames(100) == [0, 14, 28, 42, 57, 71, 85, 99]


def test_the_summary_leaves_out_what_is_not_known() -> None:
    rows: list[dict[str, float | int | str | None]] = [
        {"frame": 0, "trace": "a", "rays": 2, "ms": None, "ms_low": 1.0},
        {"frame": 1, "trace": "b", "rays": 4, "ms": 3.0, "ms_low": 1.0},
    ]
    lines = summary(rows)
    assert lines[0].split() == ["over", "2", "frames", "mean", "least", "most"]
    assert [line.split() for line in lines[1:]] == [["rays", "3", "2", "4"], ["ms", "3", "3", "3"]]
