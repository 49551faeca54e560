"""Rayplay from Python: the page's examples, the names, what they print, and scripts without a main guard."""

import contextlib
import filecmp
import io
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import rayplay
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import load

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "api.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```\n\nprints\n\n```\n(.*?)```", PAGE, re.DOTALL)
SCRIPT = """
import rayplay
print("begun")
found = rayplay.estimate("sample", "mobile", fraction=0.5)
print(found.metrics["gpu_cycles"] > 0)
"""
TYPED = """
import rayplay
from rayplay.replay.gpu.description import load

gpu: rayplay.Gpu = rayplay.Gpu.load("rtx2060").with_values(**{"l1.latency_cycles": 40})
value: float = rayplay.replay("sample", gpu, threads=2).value("gpu_cycles")
same: rayplay.Gpu = load("mobile")
trace: rayplay.Trace = rayplay.trace("cornell", size=(8, 4))
rayplay.replay("sample", thread=2)
"""


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples_of_the_page_print_what_it_says(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, printed = EXAMPLES[number]
    monkeypatch.chdir(tmp_path)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(program, "docs/api.md", "exec"), {"__name__": "__main__"})
    assert output.getvalue() == printed


def test_every_example_of_the_page_is_run() -> None:
    assert len(EXAMPLES) == PAGE.count("```python") > 3


def test_public_names_are_listed_and_there() -> None:
    assert dir(rayplay) == sorted(rayplay.__all__)
    assert all(getattr(rayplay, name) is not None for name in rayplay.__all__)
    with pytest.raises(AttributeError, match="'rayplay' has no attribute 'repaly'"):
        rayplay.repaly  # noqa: B018


def test_importing_rayplay_imports_nothing_heavy() -> None:
    program = "import sys, rayplay; print([name for name in ('numpy', 'numba', 'pyarrow') if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert shown == "[]\n"


def test_values_of_a_gpu_are_set_by_keyword() -> None:
    gpu = rayplay.Gpu.load("mobile")
    given = {"rt.warps": 8, "scheduler.policy": "lrr", "lsu.wide_conflicts": True, "dram.clock_khz": 1000000}
    assert gpu.with_values(**given) == load("mobile", [
        "rt.warps=8", "scheduler.policy=lrr", "lsu.wide_conflicts=true", "dram.clock_khz=1000000",
    ])  # fmt: skip
    with pytest.raises(UserError, match=r"unknown key rt\.warp; did you mean 'rt\.warps'\?"):
        gpu.with_values(**{"rt.warp": 8})


def test_what_is_shown_is_short() -> None:
    trace, gpu = rayplay.open("sample"), rayplay.Gpu.load("mobile")
    assert repr(gpu) == "<Gpu mobile: 8 SMs, 4 memory controllers>"
    assert repr(trace).startswith("<Trace ")
    assert len(repr(trace)) - len(str(trace.path)) < 120


def test_a_result_has_the_bytes_of_the_command(tmp_path: Path, call: Callable[..., tuple[int, str, str]]) -> None:
    result = rayplay.replay("sample", "mobile", out=tmp_path / "api.result")
    assert call("replay", "sample", "--gpu", "mobile", "--out", "door.result")[0] == 0
    names = sorted(path.name for path in (tmp_path / "api.result").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "door.result").iterdir())
    same, *_ = filecmp.cmpfiles(tmp_path / "api.result", tmp_path / "door.result", names, shallow=False)
    assert set(names) - set(same) <= {"host.json"}
    stored = rayplay.open("door")
    assert isinstance(stored, rayplay.Result)
    assert stored.value("gpu_cycles") == result.value("gpu_cycles")
    assert (
        repr(result) == f"<Result on mobile: {result.value('gpu_cycles'):,.0f} cycles, {len(result.summary)} metrics>"
    )
    for table in (None, "counters", "kernels", "pixels", "stack"):
        assert result.to_pandas(table).equals(stored.to_pandas(table)), table


def test_ragged_columns_are_arrays_in_a_frame() -> None:
    rays = rayplay.open("sample").to_pandas("rays", ["warp_id", "node"])
    assert list(rays.columns) == ["warp_id", "node"]
    assert rays.node.map(len).sum() == len(rayplay.open("sample").read("rays", ["node"])["node"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("sampl", "mobile"), "did you mean 'sample'"), (("sample", "mobil"), "did you mean 'mobile'")],
)
def test_mistakes_are_user_errors(arguments: tuple[str, str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        rayplay.replay(*arguments)


def test_a_script_needs_no_main_guard(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    ended = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.stdout == "begun\nTrue\n", ended.stderr[-2000:]


def test_type_checkers_know_the_names(tmp_path: Path) -> None:
    script = tmp_path / "typed.py"
    script.write_text(TYPED)
    command = [sys.executable, "-m", "mypy", "--config-file=", f"--cache-dir={tmp_path}", "--follow-imports=silent"]
    ended = subprocess.run(
        [*command, "--ignore-missing-imports", str(script)], capture_output=True, text=True, check=False
    )
    assert 'Unexpected keyword argument "thread"' in ended.stdout
    assert ended.stdout.count("error") == 2, ended.stdout  # the one above, and the count of errors
