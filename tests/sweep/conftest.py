"""Small sweeps of the sample trace, and the command in a process of its own."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rayplay.sweep.plan.plan import Plan, make_plan
from rayplay.sweep.space.file import given
from rayplay.sweep.space.points import space
from rayplay.sweep.store.store import Store

Run = Callable[..., subprocess.CompletedProcess[str]]
SAMPLE = Path(__file__).resolve().parents[2] / "traces" / "sample.trace"


def tables(points: int = 4, **more: Any) -> dict[str, Any]:
    """A sweep of ``points`` designs, different in a latency."""
    axis = {"l1.latency_cycles": list(range(20, 20 + points))}
    return {"traces": [str(SAMPLE)], "gpus": ["mobile"], "design": {"grid": axis}} | more


def planned(place: str, **more: Any) -> Plan:
    """The plan of ``tables`` on a store."""
    return make_plan("study", space(given(tables(**more))), Store(place))


def toml(points: int = 4, more: str = "") -> str:
    """The sweep of ``tables`` as a file."""
    values = list(range(20, 20 + points))
    return f'traces = ["{SAMPLE}"]\ngpus = ["mobile"]\n{more}\n[design.grid]\n"l1.latency_cycles" = {values}\n'


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A folder with ``study.toml`` of four points."""
    (tmp_path / "study.toml").write_text(toml())
    return tmp_path


def environment(steps: Path | None = None) -> dict[str, str]:
    """The environment of a command; steps: the folder in which it notes them and looks for orders."""
    return os.environ | ({"RAYPLAY_SWEEP_STEPS": str(steps)} if steps else {})


def command(folder: Path, *words: str, steps: Path | None = None) -> subprocess.CompletedProcess[str]:
    """``rayplay sweep`` in a folder."""
    given_words = [sys.executable, "-m", "rayplay", "sweep", *words]
    return subprocess.run(
        given_words, cwd=folder, env=environment(steps), capture_output=True, text=True, timeout=300, check=False
    )


def counted(steps: Path, step: str = "started") -> list[str]:
    """The keys that came to a step, one for each time."""
    file = steps / "steps"
    lines = file.read_text().splitlines() if file.exists() else []
    return [line.split()[1] for line in lines if line.split()[0] == step]


def wait_until(condition: Callable[[], bool]) -> None:
    """Look again until a condition holds, for as long as the limit of a test allows."""
    while not condition():
        time.sleep(0.05)


def is_over(steps: Path) -> bool:
    """Whether no process of a study that notes its steps there runs any more."""
    wanted = f"RAYPLAY_SWEEP_STEPS={steps}".encode()
    for process in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has gone, or is another user's
            if wanted in process.read_bytes().split(b"\0"):
                return False
    return True


@pytest.fixture
def steps(tmp_path: Path) -> Path:
    """A folder of steps and orders."""
    found = tmp_path / "steps-and-orders"
    found.mkdir()
    return found
