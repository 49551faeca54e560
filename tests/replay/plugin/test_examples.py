"""The example policies, in a process where nothing is compiled."""

import os
import subprocess
import sys
from pathlib import Path

FILE = Path(__file__).with_name("plain_examples.py")


def test_examples_in_plain_python() -> None:
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(FILE)],
        env=environment, capture_output=True, text=True, cwd=FILE.parents[3], check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
