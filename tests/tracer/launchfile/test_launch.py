"""Running a launch file: what it binds, repeats and expects, and how it fails."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.tracer.launch import run_launch_file

DATA = Path(__file__).parents[1] / "data"
ROOT = Path(__file__).resolve().parents[3]
LAUNCH = """
program = "scale.ptx"
[constants.factor]
type = "u32"
value = 3
[buffers.values]
dtype = "uint32"
file = "values.npy"
[buffers.flag]
dtype = "uint32"
file = "flag.npy"
[repeat.rounds]
while_nonzero = "flag"
limit = 5
[[launch]]
entry = "scale"
grid = [2]
block = [64]
dynamic_shared_bytes = 256
stream = 2
repeat = "rounds"
parameters = [
    { buffer = "values" },
    { type = "u32", value = 100 },
    { type = "u32", value = [7, 1000], step = 1 },
    { buffer = "flag" },
]
[[expect]]
buffer = "values"
file = "expected.npy"
"""
ROUNDS = 3


@pytest.fixture
def launch(tmp_path: Path) -> Path:
    """A launch file beside its program, buffers and expected values."""
    shutil.copy(DATA / "scale.ptx", tmp_path)
    values = np.random.default_rng(5).integers(0, 1000, 100, dtype=np.uint32)
    np.save(tmp_path / "values.npy", values)
    np.save(tmp_path / "flag.npy", np.array([ROUNDS], np.uint32))
    np.save(tmp_path / "expected.npy", reference(values))
    (tmp_path / "scale.toml").write_text(LAUNCH)
    return tmp_path / "scale.toml"


def reference(values: np.ndarray) -> np.ndarray:
    for step in range(ROUNDS):
        padded = np.pad(values, (0, 28)).reshape(2, 64)[:, ::-1].reshape(-1)[:100]
        values = (padded * 3 + 7 + step + 1000 + step).astype(np.uint32)
    return values


def change(launch: Path, old: str, new: str) -> None:
    assert old in LAUNCH
    launch.write_text(LAUNCH.replace(old, new, 1))


@pytest.mark.parametrize("backend", ["machine", "interpreter"])
def test_constants_structures_shared_memory_and_repeats(launch: Path, backend: str) -> None:
    out = launch.parent / "new" / "scale.trace"
    summary = run_launch_file(launch, out, backend=backend, progress=False)
    assert (summary.buffers["values"] == np.load(launch.parent / "expected.npy")).all()
    assert summary.buffers["flag"].tolist() == [0]
    assert (summary.kernels, summary.warps, summary.expectations) == (ROUNDS, ROUNDS * 4, 1)
    trace = open_trace(out)
    kernels = trace.read("kernels")
    assert kernels["stream"].tolist() == [2] * ROUNDS
    assert kernels["shared_bytes"].tolist() == [256] * ROUNDS
    assert kernels["block_x"].tolist() == [64] * ROUNDS
    assert set(trace.manifest.provenance["inputs"]) == {"scale.toml", "scale.ptx", "values.npy", "flag.npy"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"scale"', '"scael"', r"scale.toml: launch\[0\].entry: unknown name 'scael'; did you mean 'scale'"),
        ("    { buffer = \"flag\" },\n", "",
         r"launch\[0\].parameters: scale takes 4 \(.u64, .u32, .b8, .u64\), found 3"),
        ('{ type = "u32", value = 100 }', '{ buffer = "values" }',
         r"parameters\[1\]: must be 4 bytes \(.u32\), found 8: the address of values"),
        ("[7, 1000]", "[7]", r"parameters\[2\]: must be 8 bytes \(.b8\), found 4: values of type u32"),
        ("block = [64]", "block = [32, 4]",
         r"launch\[0\].block: scale allows 64 threads \(.maxntid\), found \[32, 4\]"),
        ("constants.factor", "constants.fcator", "constants.fcator: unknown name 'fcator'; did you mean 'factor'"),
        ('"u32"\nvalue = 3', '"u64"\nvalue = 3', "constants.factor: must be 4 bytes, found 8"),
        ('"scale.ptx"', '"../scale.ptx"', "program: must be a file in the folder of the launch file"),
        ('"scale.ptx"', '"none.ptx"', "program: there is no file"),
        ("limit = 5", "limit = 2", "repeat.rounds: flag must be 0 after 2 rounds and is not"),
        ("value = [7, 1000]", "value = [7, 1001]",
         r"expect\[0\]: buffer values\[0\] must be \d+ \(absolute 0, relative 0\), found \d+; 100 of 100 values"),
    ],
)  # fmt: skip
def test_failure_is_one_line_and_leaves_the_old_trace(launch: Path, old: str, new: str, message: str) -> None:
    out = launch.parent / "scale.trace"
    run_launch_file(launch, out, progress=False)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    files = {path.name for path in launch.parent.iterdir()}
    change(launch, old, new)
    with pytest.raises(UserError, match=message) as caught:
        run_launch_file(launch, out, progress=False)
    assert "\n" not in str(caught.value)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert {path.name for path in launch.parent.iterdir()} == files


def test_address_outside_memory_names_kernel_and_line(launch: Path) -> None:
    change(launch, '{ type = "u32", value = 100 }', '{ type = "u32", value = 4000000000 }')
    launch.write_text(launch.read_text().replace("grid = [2]", "grid = [1000]"))
    with pytest.raises(UserError, match=r"scale.ptx:\d+.*ld.global.u32"):
        run_launch_file(launch, launch.parent / "scale.trace", progress=False)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("bar.sync \t0;", "bar.sync \t0", "scale.ptx:55:2: "),
        ("not.b32 \t%r14, %r2;", "not.b32 \t%q14, %r2;", "scale.ptx:55:.*%q14"),
        ("not.b32 \t%r14, %r2;", "noot.b32 	%r14, %r2;", "scale.ptx:55:.*noot.b32"),
        ("not.b32 \t%r14, %r2;", "stacksave.u32 %r14;", "scale.ptx:55:.*stacksave"),
    ],
)
def test_program_that_cannot_run_names_the_line(launch: Path, old: str, new: str, message: str) -> None:
    program = launch.parent / "scale.ptx"
    text = program.read_text()
    assert old in text
    program.write_text(text.replace(old, new))
    with pytest.raises(UserError, match=message) as caught:
        run_launch_file(launch, launch.parent / "scale.trace", progress=False)
    assert "\n" not in str(caught.value)
    assert not (launch.parent / "scale.trace").exists()


def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "tracer", "launch", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_command_line(launch: Path) -> None:
    out = launch.parent / "scale.trace"
    done = command(str(launch), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "thread instructions" in done.stdout
    assert "expectations met" in done.stdout
    assert open_trace(out).rows("kernels") == ROUNDS


def test_command_line_failure_is_one_line_and_exit_code_two(launch: Path) -> None:
    change(launch, "[7, 1000]", "[7, 1001]")
    done = command(str(launch), "--out", str(launch.parent / "scale.trace"))
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(f"tracer: error: {launch}: expect[0]: buffer values[0] must be")
    assert "Traceback" not in done.stderr
    assert not (launch.parent / "scale.trace").exists()


def test_last_warp_of_a_cta_may_be_partly_empty(launch: Path) -> None:
    change(launch, "block = [64]", "block = [40]")
    text = launch.read_text().replace("grid = [2]", "grid = [3]").replace("limit = 5", "limit = 3")
    launch.write_text(text.partition("[[expect]]")[0])
    values = np.load(launch.parent / "values.npy")
    for step in range(ROUNDS):
        mirrored = np.pad(values, (0, 20)).reshape(3, 40)[:, ::-1].reshape(-1)[:100]
        values = (mirrored * 3 + 1007 + 2 * step).astype(np.uint32)
    summary = run_launch_file(launch, launch.parent / "scale.trace", progress=False)
    assert (summary.buffers["values"] == values).all()
    warps = open_trace(summary.out).read("warps")
    assert warps["launched_mask"].tolist() == [0xFFFFFFFF, 0xFF] * 3 * ROUNDS
    assert warps["warp_in_cta"].tolist() == [0, 1] * 3 * ROUNDS
