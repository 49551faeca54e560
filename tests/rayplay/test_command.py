"""The command ``rayplay``: its examples work, its records are data, every mistake is one line with a suggestion."""

import csv
import io
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from rayplay.door.output import as_csv, as_json
from rayplay.door.parser import parser_of, split
from rayplay.door.verbs import FAMILIES, GROUPS, VERBS, overview
from rayplay.formats.guard.answer import has_colour

REPLAYING = {
    "demo", "replay", "compare", "whatif", "estimate", "predict", "scale", "report", "energy", "correlate",
    "sweep run", "sweep status", "sweep collect", "sweep report", "sweep prune",
}  # fmt: skip
CHEAP = (
    "gpu list", "gpu show mobile", "show sample", "data check sample", "data stats sample", "data diff sample sample",
    "data verify sample", "heat sample", "ptx cfg reduction", "ptx parse reduction", "ptx characterise reduction",
    "data select sample --ctas 0,4-7 --out part.trace",
)  # fmt: skip


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in REPLAYING])
def test_examples_work_in_an_empty_folder(verb: str, call: Callable[..., tuple[int, str, str]]) -> None:
    for line in VERBS[verb].examples:
        code, out, error = call(*shlex.split(line)[1:])
        assert code == 0, error
        assert out


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb in REPLAYING])
def test_examples_that_replay_work(verb: str, call: Callable[..., tuple[int, str, str]]) -> None:
    for line in VERBS[verb].examples:
        code, out, error = call(*shlex.split(line)[1:])
        assert code == 0, error
        assert out or "--quiet" in line


@pytest.mark.parametrize("verb", VERBS)
def test_help_teaches(verb: str, call: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = call(*verb.split(), "--help")
    assert code == 0
    assert all(line in out for line in VERBS[verb].examples)
    assert all(option in out for option in ("--json", "--csv", "--quiet", "--version"))
    assert "python -m" not in out, "the help names the verbs as they are called here"


def test_the_overview_names_every_verb_once() -> None:
    assert sorted(verb for verbs in GROUPS.values() for verb in verbs) == sorted(VERBS)
    assert all(f"  {verb:<18}{VERBS[verb].summary}" in overview() for verb in VERBS)
    assert all(family in overview(family) or VERBS for family in FAMILIES)
    assert split(["data", "check", "x"]) == ("data check", ["x"])
    assert split(["gpu", "list", "--json"]) == ("gpu list", ["--json"])


@pytest.mark.parametrize("line", CHEAP)
def test_json_and_csv_hold_the_same_records(line: str, call: Callable[..., tuple[int, str, str]]) -> None:
    code, text, error = call(*shlex.split(line), "--json")
    assert code == 0, error
    found = json.loads(text)
    assert all(record.keys() == found[0].keys() for record in found)
    code, text, error = call(*shlex.split(line), "--csv")
    assert code == 0, error
    rows = list(csv.DictReader(io.StringIO(text)))
    shown = [{name: "" if value is None else str(value) for name, value in record.items()} for record in found]
    assert rows == shown


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("shwo x", "unknown name shwo; did you mean 'show'?"),
        ("data chek x", "data: unknown name chek; did you mean 'check'?"),
        ("gpu shwo mobile", "gpu: unknown name shwo; did you mean 'show'?"),
        ("show sampl", "sampl: no such file; did you mean 'sample'?"),
        ("replay sampl", "sampl: no such trace; did you mean 'sample'?"),
        ("replay sample --gpu mobil", "did you mean 'mobile'?"),
        ("replay sample --gpuu mobile", "unknown argument --gpuu; did you mean '--gpu'?"),
        ("replay sample --model pipelin", "argument --model: unknown name pipelin; did you mean 'pipeline'?"),
        ("replay sample --set rt.warp=1", "--set rt.warp: unknown key rt.warp; did you mean 'rt.warps'?"),
        ("replay sample --set partition.shares=[1,1]", "--set partition.shares=[1,1]: needs --partition, whose values"),
        ("replay sample sample.trace --out x.result", "--out: takes one replay, not 2 traces on 1 GPUs"),
        ("trace cornel", "no scene or kernel is called cornel; did you mean 'cornell'?"),
        ("trace reducton", "did you mean 'reduction'?"),
        ("trace cornell --workload shadow", "argument --workload: unknown name shadow; did you mean 'shadows'?"),
        ("whatif sample --gpu mobile --change rt.warp*2", "did you mean 'rt.warps'?"),
        ("heat sample --cost cycles", "--cost cycles: a trace knows work"),
        ("gpu new x.toml --set rt.warps=0", "--set rt.warps: rt.warps must be at least 1, not 0"),
        ("gpu new x.toml --set memory.count=7", "error: --set memory.count: "),
        ("gpu new x.txt", "x.txt: must end in .toml"),
        ("completion tcsh", "argument shell: unknown name tcsh; did you mean"),
    ],
)
def test_a_mistake_is_one_line(
    line: str, message: str, tmp_path: Path, call: Callable[..., tuple[int, str, str]]
) -> None:
    code, out, error = call(*shlex.split(line))
    assert code == 2
    assert message in error
    assert len(error.splitlines()) == 1
    assert error.startswith("rayplay: error: ")
    assert out == ""
    assert not list(tmp_path.iterdir()), "nothing is written"


def test_quiet_says_nothing_but_the_answer(call: Callable[..., tuple[int, str, str]]) -> None:
    words = ("trace", "cornell", "--size", "8x4", "--samples", "1")
    _, _, noted = call(*words)
    assert "wrote traces/cornell-path-tracing.trace" in noted
    code, out, error = call(*words, "--quiet")
    assert (code, error) == (0, "")
    assert "rays traced" in out


def test_a_failing_check_says_so_by_its_exit_code(call: Callable[..., tuple[int, str, str]]) -> None:
    assert call("data", "select", "sample", "--ctas", "0", "--out", "part.trace")[0] == 0
    code, out, _ = call("data", "diff", "sample", "part", "--json")
    assert code == 1
    assert json.loads(out)


def test_values_that_are_no_numbers_are_null() -> None:
    records = [{"a": float("nan"), "b": None, "c": 1.5}]
    assert json.loads(as_json(records)) == [{"a": None, "b": None, "c": 1.5}]
    assert as_csv(records) == "a,b,c\n,,1.5\n"
    assert as_json([]) == "[]\n"


@pytest.mark.parametrize(
    ("is_terminal", "environment", "expected"),
    [(True, {"TERM": "xterm"}, True), (False, {"TERM": "xterm"}, False), (True, {"NO_COLOR": "1"}, False),
     (True, {"TERM": "dumb"}, False), (True, {"NO_COLOR": "", "TERM": "xterm"}, True)],
)  # fmt: skip
def test_colours_follow_the_terminal_and_no_color(
    is_terminal: bool, environment: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: is_terminal)
    assert has_colour(stream) is expected


def test_the_options_of_a_launch_follow_the_subject() -> None:
    launch, render = (parser_of("trace", [name]).format_help() for name in ("vector_add", "cornell"))
    assert "[--samples N]" in render
    assert "[--samples N]" not in launch
    assert "LAUNCH.toml" in launch
