"""Ctrl-C while HDF5 is written or read: exit code 130, one line, the old file or none, no crash."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.edit.convert import convert
from rayplay.formats.guard.digest import PACKAGES
from rayplay.formats.testing.generate import make_trace

INTERRUPT = """
import runpy, signal, sys
from rayplay.formats.hdf5 import sink, source

place, number = sys.argv[1], int(sys.argv[2])
left = [number]

def interrupting(step):
    def call(*given):
        left[0] -= 1
        if left[0] == 0:
            signal.raise_signal(signal.SIGINT)
        return step(*given)
    return call

if place == "write":
    sink.Hdf5Sink.write = interrupting(sink.Hdf5Sink.write)
else:
    source.receive = interrupting(source.receive)
sys.argv = ["formats", *sys.argv[3:]]
try:
    runpy.run_module("rayplay.formats", run_name="__main__", alter_sys=True)
finally:
    print(left[0])
"""


def interrupted(place: str, number: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a verb of ``formats`` that gets SIGINT before the nth write of the library or answer of its child."""
    command = [sys.executable, "-c", INTERRUPT, place, str(number), *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(PACKAGES.parent)}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize(("place", "number"), [("write", 1), ("write", 30), ("write", 90), ("read", 1), ("read", 9)])
def test_ctrl_c_leaves_nothing_incomplete(tmp_path: Path, place: str, number: int, is_new: bool) -> None:
    trace = make_trace(tmp_path / "a.trace", 1, (40, 6), 0)
    convert(open_trace(trace), tmp_path / "a.trace.h5")
    read, out = ("a.trace", "b.trace.h5") if place == "write" else ("a.trace.h5", "b.trace")
    if not is_new:
        convert(open_trace(make_trace(tmp_path / "c.trace", 2, (40, 6), 0)), tmp_path / out)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    done = interrupted(place, number, "convert", tmp_path / read, tmp_path / out)
    assert int(done.stdout) <= 0, "must have come so far"
    assert (done.returncode, done.stderr.count("\n")) == (130, 1), done.stderr
    assert done.stderr.endswith("formats: error: interrupted; nothing incomplete stands under a final name\n")
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
