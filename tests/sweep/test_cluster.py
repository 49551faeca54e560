"""Clusters: dask workers that die, a bad point on a worker, an array of jobs."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.sweep.conftest import command, counted, environment, planned, toml, wait_until

pytest.importorskip("distributed", reason="the extra dask is not installed")
POINTS = 16


def parent(pid: int) -> int:
    """Number of the process that started another."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def worker_of_last_point(steps: Path, step: str = "") -> int | None:
    """The worker or job whose zygote forked the process that came to a step last; None when it has gone."""
    try:
        lines = [line for line in (steps / "steps").read_text().splitlines() if line.startswith(step)]
        child = int(lines[-1].split()[2])
        return parent(parent(child))
    except (OSError, IndexError):
        return None


def test_workers_that_die_cost_the_point_that_they_ran(tmp_path: Path, steps: Path) -> None:
    """Sections 3's second and third experiment: finished results are not made again, and a death is transparent."""
    (tmp_path / "study.toml").write_text(toml(POINTS))
    keys = planned(str(tmp_path / "study.sweep"), points=POINTS).missing()
    slow = [keys[5], keys[10]]
    for key in slow:
        (steps / f"computed-{key}").write_text("sleep 600")  # the first process that runs it; the next one does not
    words = [sys.executable, "-m", "rayplay", "sweep", "run", "study.toml", "--executor", "dask", "--workers", "2"]
    driver = subprocess.Popen(words, cwd=tmp_path, env=environment(steps), stdout=subprocess.PIPE, text=True)
    for key in slow:
        wait_until(lambda key=key: key in counted(steps, "computed") or driver.poll() is not None)
        victim = worker_of_last_point(steps, f"computed {key}")
        assert victim is not None
        assert parent(victim) == driver.pid
        os.kill(victim, signal.SIGKILL)
    said = driver.communicate()[0]
    assert driver.returncode == 0
    assert f"{POINTS} of {POINTS} points are done" in said
    assert len(counted(steps)) <= POINTS + 2 * len(slow)  # at most the points that were on the workers
    finished = set(counted(steps, "renamed"))
    assert len(counted(steps, "renamed")) == len(finished) == POINTS


def test_a_bad_point_does_not_take_workers_with_it(tmp_path: Path, steps: Path) -> None:
    """The first experiment: without dask's help one point would end four workers, and 22 others with them."""
    (tmp_path / "study.toml").write_text(toml(8))
    bad = planned(str(tmp_path / "study.sweep"), points=8).missing()[2]
    (steps / f"computed-{bad}").write_text("always crash")
    ended = command(tmp_path, "run", "study.toml", "--executor", "dask", "--workers", "2", steps=steps)
    assert ended.returncode == 1, ended.stderr
    assert "7 of 8 points are done, 1 failed" in ended.stdout
    assert "died of signal SIGSEGV" in ended.stdout
    assert len(counted(steps)) == 7 + 3  # three tries


def test_an_address_without_a_scheduler_is_one_line(study: Path) -> None:
    ended = command(study, "run", "study.toml", "--executor", "dask", "--address", "not-an-address")
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)
    assert "--address not-an-address: no dask scheduler" in ended.stderr


def test_an_array_of_jobs_shares_the_store(study: Path, steps: Path) -> None:
    pytest.importorskip("submitit", reason="the extra slurm is not installed")
    words = ["run", "study.toml", "--executor", "slurm", "--workers", "2", "--slurm", "cluster=local"]
    ended = command(study, *words, steps=steps)
    assert ended.returncode == 0, ended.stderr
    assert "4 of 4 points are done" in ended.stdout
    assert len(counted(steps)) == 4
    ended = command(study, "run", "study.toml", "--executor", "slurm", "--slurm", "no_such=1")
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)


def array(folder: Path, steps: Path) -> subprocess.Popen[str]:
    """A driver of an array of one job on this machine, once its second point sleeps and no other runs."""
    slow = planned(str(folder / "study.sweep")).missing()[1]
    (steps / f"computed-{slow}").write_text("sleep 600")
    words = [sys.executable, "-m", "rayplay", "sweep", "run", "study.toml", "--executor", "slurm", "--workers", "1"]
    driver = subprocess.Popen(
        [*words, "--slurm", "cluster=local"], cwd=folder, env=environment(steps),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    others = 3 if len(os.sched_getaffinity(0)) > 1 else 1  # a second process runs the other points meanwhile
    while slow not in counted(steps, "computed") or len(counted(steps, "renamed")) < others:
        assert driver.poll() is None, driver.communicate()
        time.sleep(0.05)
    return driver


def emptied(folder: Path) -> bool:
    """Whether all claims are given back, after a while."""
    deadline = time.monotonic() + 300
    while list((folder / "study.sweep" / "claims").iterdir()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not list((folder / "study.sweep" / "claims").iterdir())


def test_a_job_whose_time_is_up_is_queued_again_and_goes_on(study: Path, steps: Path) -> None:
    """Slurm's warning before the time limit, as submitit asks for it; the next job finds the missing points."""
    pytest.importorskip("submitit", reason="the extra slurm is not installed")
    driver = array(study, steps)
    (slow,) = set(counted(steps)) - set(counted(steps, "renamed"))
    job = worker_of_last_point(steps, f"computed {slow}")
    assert job is not None
    os.kill(job, signal.SIGUSR2)
    said, errors = driver.communicate(timeout=300)
    assert driver.returncode == 0, errors
    assert "4 of 4 points are done" in said
    begun = counted(steps)
    assert len(set(begun)) == 4
    assert len(begun) == 5  # the point that slept began twice; no other ran when the job's time was up
    assert emptied(study)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_array_cancels_its_jobs_and_says_how_to_go_on(
    study: Path, steps: Path, number: signal.Signals
) -> None:
    pytest.importorskip("submitit", reason="the extra slurm is not installed")
    driver = array(study, steps)
    driver.send_signal(number)
    _, said = driver.communicate(timeout=300)
    assert driver.returncode == (130 if number == signal.SIGINT else 143)
    assert "continue with: rayplay sweep run study.toml" in said
    assert emptied(study)
    ended = command(study, "run", "study.toml", steps=steps)
    assert ended.returncode == 0, ended.stderr
    assert "4 of 4 points are done" in ended.stdout
