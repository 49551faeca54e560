"""A full disk: every verb that writes says so in one line, and what stood under the name stays as it was."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = str(ROOT / "traces" / "sample.trace")
LAUNCH = str(ROOT / "tracer" / "kernels" / "vector_add.toml")
FULL = """
import errno, os, runpy, sys

def full(handle):
    raise OSError(errno.ENOSPC, "No space left on device")

sys.argv[:] = sys.argv[1:]
package = sys.argv[0]
os.fsync = full
runpy.run_module(package, run_name="__main__", alter_sys=True)
"""
WRITING = {
    "render": ["tracer", "render", "cornell", "--size", "8x4", "--samples", "1", "--out"],
    "launch": ["tracer", "launch", LAUNCH, "--out"],
    "filter": ["zatel", "filter", SAMPLE, "--pixels", "PIXELS", "--out"],
    "predict": ["zatel", "predict", SAMPLE, "--gpu", "mobile", "--fraction", "0.5", "--out"],
    "replay": ["replay", SAMPLE, "--gpu", "mobile", "--out"],
    "convert": ["formats", "convert", SAMPLE],
}


def run(command: list[str], out: Path, disk_is_full: bool) -> subprocess.CompletedProcess[str]:
    """Run a verb of WRITING that writes to ``out``."""
    pixels = out.parent / "pixels.txt"
    pixels.write_text("0 0\n1 0\n")
    arguments = [str(pixels) if word == "PIXELS" else word for word in command]
    start = ["-c", FULL, *arguments] if disk_is_full else ["-m", *arguments]
    return subprocess.run([sys.executable, *start, str(out)], cwd=ROOT, capture_output=True, text=True, check=False)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below ``folder`` but the pixels."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "pixels.txt"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize("verb", WRITING)
def test_nothing_is_lost_on_a_full_disk(verb: str, tmp_path: Path) -> None:
    suffix = {"predict": "prediction", "replay": "result"}.get(verb, "trace")
    out = tmp_path / f"a.{suffix}"
    done = run(WRITING[verb], out, disk_is_full=False)
    assert done.returncode == 0, done.stderr
    before = contents(tmp_path)
    assert before
    failed = run(WRITING[verb], out, disk_is_full=True)
    assert failed.returncode == 2
    lines = [line for line in failed.stderr.splitlines() if "error: " in line]
    assert len(lines) == 1
    assert "No space left on device" in lines[0]
    assert "Traceback" not in failed.stderr
    assert contents(tmp_path) == before
