"""A plug-in's file: its declarations join the description, and each of its mistakes is one line."""

import dataclasses
import pickle
import subprocess
import sys
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

import pytest

from rayplay import policy
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import explain, load
from rayplay.replay.plugin.load import load as load_plugin
from rayplay.replay.plugin.targets import hook_lines, hooks_of_units
from rayplay.replay.testing import MOST_CALLS, Calls
from rayplay.zatel.changes.whatif import changed

ROOT = Path(__file__).parents[3]
NEXT_LINE = ROOT / "examples" / "policies" / "next_line.py"
GOOD = """
from rayplay.policy import hook

@hook("rt.choose_warp")
def choose(state, own, core):
    return -1
"""
IMPORT = "from rayplay.policy import parameter\n"


def written(folder: Path, text: str, name: str = "idea.py") -> Path:
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def choose(:\n", r"idea\.py:1: invalid syntax"),
        ("X = 1\n", r'idea\.py: replaces no hook; decorate a function with @hook\("rt\.choose_warp"\)'),
        (GOOD.replace("choose_", "chose_"), r"idea\.py:4: unknown hook 'rt\.chose_warp'; did you mean 'rt\."),
        (GOOD.replace("own, ", ""), r"idea\.py:4: choose\(state, core\): hook rt\.choose_warp gives 3 arg"),
        ("import nothing_like_it\n", r"idea\.py:1: ModuleNotFoundError: No module named 'nothing_like_it'"),
        (GOOD + GOOD.replace("choose(", "other("), r"idea\.py:10: hook rt\.choose_warp is replaced twice"),
        (GOOD + "COUNTERS = 'sent'\n", r"idea\.py: COUNTERS must be a tuple of names"),
        (GOOD + "PARAMETERS = {'a': 1}\n", r"idea\.py: PARAMETERS must be a table of name: parameter"),
        *(
            (GOOD + IMPORT + f"PARAMETERS = {{{key!r}: parameter(1, '', '')}}\n", "must be a name")
            for key in ("digest", "counters", "instances", "class", "a-b", "_x")
        ),
        ("from rayplay.policy import parameter\nparameter('x', '', '', choices=('a',))\n", r"\.py:2: parameter 'x'"),
    ],
)  # fmt: skip
def test_a_file_that_is_none_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_plugin(written(tmp_path, text))


def test_a_name_that_is_no_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"missing\.py: no such plug-in"):
        load_plugin(tmp_path / "missing.py")
    with pytest.raises(UserError, match=r"must have a name of letters"):
        load_plugin(written(tmp_path, GOOD, "my-idea.py"))
    with pytest.raises(UserError, match=r"--plugin idea: must be a \.py file, or a policy of an installed package"):
        load_plugin("idea")


def test_the_command_says_it_and_ends_with_two(tmp_path: Path) -> None:
    file = written(tmp_path, GOOD.replace("rt.choose_warp", "rt.chose_warp"))
    trace = ROOT / "traces" / "sample.trace"
    done = subprocess.run(
        [sys.executable, "-m", "rayplay", "replay", trace, "--plugin", file, "--out", tmp_path / "a.result"],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "idea.py:4: unknown hook" in done.stderr
    assert sorted(tmp_path.iterdir()) == [file]


def test_parameters_are_values_of_the_description() -> None:
    gpu = load("mobile", ["policy.next_line.degree=3"], NEXT_LINE)
    assert asdict(gpu)["policy"] == {
        "next_line": {"digest": sha256(NEXT_LINE.read_bytes()).hexdigest(), "degree": 3, "readers": "all"}
    }
    assert load("mobile", ["policy.next_line.degree=3"], NEXT_LINE) == gpu
    assert gpu.scaled(2).plugin is gpu.plugin
    assert asdict(changed(gpu, "policy.next_line.readers=rays"))["policy"]["next_line"]["readers"] == "rays"
    lines = [" ".join(line.split()) for line in explain("mobile", ["policy.next_line.degree=3"], NEXT_LINE)]
    assert "policy.next_line.degree = 3 lines How far ahead of the missing line the prefetched one is" in " ".join(
        lines
    )
    for assignment, message in (
        ("policy.next_line.degree=0", "must be at least 1, not 0"),
        ("policy.next_line.readers=loads", "unknown name 'loads'; known are all, rays"),
        ("policy.next_line.degre=2", "unknown key policy.next_line.degre; did you mean 'policy.next_line.degree'"),
        ("policy.next_line.digest=00", "digest must be that of"),
    ):
        with pytest.raises(UserError, match=message):
            load("mobile", [assignment], NEXT_LINE)


def test_a_description_without_a_plug_in_has_no_trace_of_it() -> None:
    assert "policy" not in asdict(load("mobile"))
    with pytest.raises(UserError, match="unknown key policy"):
        load("mobile", ["policy.next_line.degree=3"])


def test_a_description_in_another_process_has_its_plug_in(tmp_path: Path) -> None:
    """Also when the file has changed meanwhile: its text travels."""
    file = written(tmp_path, NEXT_LINE.read_text())
    gpu = load("mobile", ["policy.idea.degree=5"], file)
    (tmp_path / "gpu.pickle").write_bytes(pickle.dumps(gpu))
    file.write_text("raise ValueError")
    code = (
        "import pickle, sys; gpu = pickle.load(open(sys.argv[1], 'rb'));"
        "print(gpu.policy.idea.degree, gpu.plugin.digest, *gpu.plugin.functions)"
    )
    said = subprocess.check_output([sys.executable, "-c", code, str(tmp_path / "gpu.pickle")], text=True, cwd=ROOT)
    assert said.split() == ["5", gpu.plugin.digest, "l1.prefetch", "l1.prefetched"]


def test_packages_bring_policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, NEXT_LINE.read_text(), "ahead.py")
    facts = tmp_path / "ideas-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: ideas\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[rayplay.policies]\nahead_of_time = ahead\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert load_plugin("ahead_of_time").name == "ahead"
    with pytest.raises(UserError, match="did you mean 'ahead_of_time'"):
        load_plugin("ahead_of_tim")


def test_the_page_lists_every_hook() -> None:
    page = (ROOT / "docs" / "policies.md").read_text()
    for name in hooks_of_units():
        assert f"`{name}`" in page, name
    assert sum(line.startswith("**") for line in hook_lines()) == page.partition("## Hooks")[2].count("\n| `")


def test_the_page_lists_what_a_policy_may_call() -> None:
    page = (ROOT / "docs" / "policies.md").read_text()
    assert all(line in page for line in policy.helper_lines())
    assert {call.partition("(")[0] for call in policy.HELPERS} <= set(policy.__all__)


def test_calls_are_counted_and_endless_ones_end(tmp_path: Path) -> None:
    made = load_plugin(written(tmp_path, GOOD, "asked.py"))
    functions = {"rt.choose_warp": lambda *given: -1, "rt.began": lambda *given: None}
    plugin = dataclasses.replace(made, functions=dict(functions), classes={})
    with Calls(plugin) as calls:
        for _ in range(MOST_CALLS):
            assert plugin.functions["rt.choose_warp"](None, None, 0) == -1
        with pytest.raises(AssertionError, match=r"no progress: .* the last of rt\.choose_warp"):
            plugin.functions["rt.choose_warp"](None, None, 0)
    assert plugin.functions == functions
    first, second = calls.lines()
    assert first == f"calls: rt.choose_warp {MOST_CALLS + 1:,}, rt.began 0"
    assert second.startswith("note: rt.began was never asked")


def test_the_page_begins_with_a_policy_that_works(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "policies.md").read_text().partition("```python\n")[2].partition("```")[0]
    assert list(load_plugin(written(tmp_path, text, "youngest_first.py")).functions) == ["rt.choose_warp"]


def test_a_second_one_is_one_clear_line(run_replay, capsys: pytest.CaptureFixture[str]) -> None:
    trace = ROOT / "traces" / "sample.trace"
    assert run_replay(trace, "--gpu", "mobile", "--plugin", NEXT_LINE, "--plugin", "b.py") == 2
    assert "--plugin: must be given once, not with" in capsys.readouterr().err
    with pytest.raises(UserError, match=r"has the plug-in .*, and takes no second one"):
        load("mobile", plugin=NEXT_LINE).with_plugin(NEXT_LINE)


def test_the_twin_models_refuse_it(run_replay, capsys: pytest.CaptureFixture[str]) -> None:
    trace = ROOT / "traces" / "sample.trace"
    assert run_replay(trace, "--gpu", "mobile", "--model", "gatsim", "--plugin", NEXT_LINE) == 2
    assert "model gatsim: has no hooks for the plug-in" in capsys.readouterr().err
    assert run_replay(trace, "--gpu", "mobile", "--partition", "even", "--plugin", NEXT_LINE) == 2
    assert "--plugin: cannot be used with --partition" in capsys.readouterr().err
