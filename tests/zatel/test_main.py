"""The command line: what it teaches, what it refuses, and that nothing is half-written."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.edit.filter import filter_trace
from rayplay.formats.edit.pixels import write_pixels
from rayplay.formats.testing.generate import make_trace

ROOT = Path(__file__).resolve().parents[2]


def zatel(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "zatel", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_trace(tmp_path_factory.mktemp("main") / "small.trace", 1, (64, 8))


def test_every_verb_that_is_offered_is_done(trace: Path) -> None:
    verbs = re.findall(r"^    (\w+) ", zatel("--help").stdout, re.MULTILINE)
    assert {"predict", "whatif", "scale"} <= set(verbs)
    gone = trace.with_name("gone.trace")
    rest = {"filter": ("--pixels", "none", "--out", "none"), "paper": ("--out", "none", "--store", str(gone / "none"))}
    rest["ablate"] = rest["paper"]
    for verb in verbs:
        done = zatel(verb, gone, *rest.get(verb, () if verb == "report" else ("--gpu", "mobile")))
        assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr


@pytest.mark.parametrize("verb", [[], ["predict"], ["filter"], ["report"], ["whatif"], ["scale"], ["ablate"]])
def test_help_teaches_without_loading_the_compilers(verb: list[str]) -> None:
    script = (
        "import runpy, sys\n"
        f"sys.argv = ['zatel', *{verb!r}, '--help']\n"
        "try:\n    runpy.run_module('zatel', run_name='__main__')\n"
        "except SystemExit as end:\n    assert end.code == 0\n"
        "assert not {'numba', 'pyarrow', 'llvmlite', 'scipy', 'matplotlib'} & sys.modules.keys()\n"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert shown.returncode == 0, shown.stderr
    assert "example" in shown.stdout or not verb


def test_filter_writes_the_trace_of_the_pixels_in_the_file(trace: Path, tmp_path: Path) -> None:
    selected = np.zeros((8, 64), bool)
    selected[2, 5:40] = True
    write_pixels(tmp_path / "some.pixels", selected)
    done = zatel("filter", trace, "--pixels", tmp_path / "some.pixels", "--out", tmp_path / "some.trace")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path}/some.trace: 35 of 512 pixels\n"
    filter_trace(trace, selected, tmp_path / "direct.trace")
    tables = [open_trace(tmp_path / name).manifest.tables for name in ("some.trace", "direct.trace")]
    assert tables[0] == tables[1]


def test_pixels_outside_the_image_are_named_with_file_and_line(trace: Path, tmp_path: Path) -> None:
    (tmp_path / "far.pixels").write_text("# a comment\n1 1\n64 3\n")
    done = zatel("filter", trace, "--pixels", tmp_path / "far.pixels", "--out", tmp_path / "far.trace")
    assert done.returncode == 2
    message = f"{tmp_path}/far.pixels:3: pixel must be inside the image of 64x8, not at 64 3"
    assert done.stderr == f"zatel: error: {message}\n"
    assert not (tmp_path / "far.trace").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "nowhere.trace", "--gpu", "mobile"], "nowhere.trace: must be a rayplay trace, but"),
        (["predict", "TRACE", "--gpu", "mobile", "--fraction", "1.5"], "--fraction must be greater than 0"),
        (["predict", "TRACE", "--gpu", "mobile", "--fraction", "0"], "--fraction must be greater than 0"),
        (["predict", "TRACE", "--gpu", "mobile", "--workers", "0"], "--workers must be at least 1, not 0"),
        (["predict", "TRACE", "--gpu", "mobile", "--seed", "-1"], "--seed must not be negative, but is -1"),
        (["predict", "TRACE", "--gpu", "nothing.toml"], "nothing.toml"),
        (["predict", "TRACE", "--gpu", "mobile", "--block", "32"], "--block must be WIDTHxHEIGHT, not '32'"),
        (["predict", "TRACE", "--gpu", "mobile", "--factor", "5"], "--factor 5 must leave some of the 4 memory"),
        (
            ["predict", "TRACE", "--gpu", "mobile", "--variant", "x"],
            "--variant: unknown name 'x'; known are paper, released, headr",
        ),
        (
            ["predict", "TRACE", "--gpu", "mobile", "--heatmap", "none.png"],
            "--heatmap none.png: must be a picture or a",
        ),
        (
            ["predict", "TRACE", "--gpu", "mobile", "--combine", "gpu_ipc=least"],
            "--combine gpu_ipc=: unknown name 'least'; known are sum",
        ),
        (["predict", "TRACE", "--gpu", "mobile", "--against", "no.result"], "no.result: must be a rayplay result, but"),
        (["filter", "nowhere.trace", "--pixels", "p", "--out", "o.trace"], "nowhere.trace: must be a rayplay trace"),
        (["report", "no.prediction"], "no.prediction/prediction.json: no such prediction"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(trace: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    words = [str(trace) if word == "TRACE" else word for word in arguments]
    if words[0] == "predict":
        words += ["--out", str(tmp_path / "out.prediction")]
    done = zatel(*words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.startswith("zatel: error: ")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_is_one_line_and_leaves_nothing(trace: Path, tmp_path: Path, number: int, code: int) -> None:
    command = [sys.executable, "-m", "zatel", "predict", str(trace), "--gpu", "mobile", "--out", str(tmp_path / "p")]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    deadline = time.monotonic() + 300
    while not list(tmp_path.glob(".p.*/rayplay-runs-*/3.trace")):  # the last file before the groups are replayed
        assert time.monotonic() < deadline
        assert running.poll() is None, running.communicate()
        time.sleep(0.01)
    running.send_signal(number)
    _, errors = running.communicate(timeout=300)
    assert (running.returncode, errors.splitlines()[-1]) == (
        code,
        "zatel: error: interrupted; nothing incomplete stands under a final name",
    )
    assert "Traceback" not in errors
    assert not list(tmp_path.iterdir())


def test_a_forecast_takes_no_option_of_an_estimate_and_says_that_a_small_trace_is_replayed_whole(
    tmp_path: Path,
) -> None:
    trace = make_trace(tmp_path / "one.trace", 2, (64, 8), 0)
    asked = zatel("estimate", trace, "--gpu", "mobile", "--forecast")
    assert asked.returncode == 0, asked.stderr
    assert re.search(r"^1 +1\.00", asked.stdout, re.MULTILINE)
    assert "the trace is replayed whole" in asked.stdout
    refused = zatel("estimate", trace, "--gpu", "mobile", "--forecast", "--target-error", "5%")
    assert (refused.returncode, "--forecast must not be given with --target-error" in refused.stderr) == (2, True)
