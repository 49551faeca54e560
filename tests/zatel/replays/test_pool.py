"""Processes that replay end with the one that started them, and one that dies is one clear error."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.zatel.sample.replay import replay_all

ROOT = Path(__file__).resolve().parents[3]
PARENT = """
import os, sys, time
from rayplay.zatel.replays.pool import processes

if __name__ == "__main__":
    with processes(1, "a group") as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 600).result()
"""
TASK = """
import os, signal
from tqdm import tqdm

def work():
    with tqdm(total=1, disable=False):
        os.kill(os.getpid(), signal.SIGINT)
        return 7

def fail(payload):
    raise ValueError(f"{len(payload)} bytes refused")
"""
INTERRUPTED = """
import time
from interrupted_task import work
from rayplay.zatel.replays.pool import processes

if __name__ == "__main__":
    with processes(1, "a group") as pool:
        print(pool.submit(work).result())
        pool.submit(time.sleep, 600)
        raise SystemExit(2)
"""
FAILING = """
from interrupted_task import fail
from rayplay.zatel.replays.pool import processes

if __name__ == "__main__":
    for _ in range(4):
        try:
            with processes(2, "a group") as pool:
                for future in [pool.submit(fail, bytes(1 << 20)) for _ in range(40)]:
                    future.result()
        except ValueError as error:
            print(error)
"""
AT_ONCE = """
import signal, sys, time
from concurrent.futures import Future, _base, as_completed
from multiprocessing.context import SpawnProcess
from rayplay.zatel.replays.pool import processes

PLACES = {
    "first start": (SpawnProcess, "start", 1), "second start": (SpawnProcess, "start", 2),
    "locks of all": (_base._AcquireFutures, "__enter__", 1), "lock of one": (_base._AcquireFutures, "__exit__", 1),
    "result": (Future, "result", 1),
}
owner, name, left = PLACES[sys.argv[1]]
inner = getattr(owner, name)

def interrupted(*arguments, **named):
    global left
    left -= 1
    if left:
        return inner(*arguments, **named)
    sys.setprofile(in_the_middle)
    try:
        return inner(*arguments, **named)
    finally:
        sys.setprofile(None)

def in_the_middle(frame, event, called):
    if event == "c_return":  # as if the signal came after the first step, such as a lock
        sys.setprofile(None)
        signal.raise_signal(signal.SIGINT)

setattr(owner, name, interrupted)
if __name__ == "__main__":
    with processes(2, "a group") as pool:
        work = [pool.submit(time.sleep, seconds) for seconds in (0, 600)]
        for future in as_completed(work):
            future.result()
"""
DEADLINE_SECONDS = 300.0


def is_there(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc for processes")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_ends_with_the_one_that_started_it(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "parent.py").write_text(PARENT)
    command = [sys.executable, str(tmp_path / "parent.py")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        assert is_there(worker)
        parent.send_signal(number)
        parent.wait()
        deadline = time.monotonic() + DEADLINE_SECONDS
        while is_there(worker) and time.monotonic() < deadline:
            time.sleep(0.05)
        outlived = is_there(worker)
        if outlived:
            os.kill(worker, signal.SIGKILL)
    assert not outlived


def test_processes_that_are_ended_early_leave_no_word_behind(tmp_path: Path) -> None:
    (tmp_path / "interrupted_task.py").write_text(TASK)
    (tmp_path / "parent.py").write_text(INTERRUPTED)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    command = [sys.executable, str(tmp_path / "parent.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (2, "7\n"), done.stderr
    assert "leaked" not in done.stderr
    assert "Traceback" not in done.stderr


def test_work_that_fails_while_more_is_queued_ends_the_pool(tmp_path: Path) -> None:
    (tmp_path / "interrupted_task.py").write_text(TASK)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}
    command = [sys.executable, "-c", FAILING]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1048576 bytes refused\n" * 4, "")


@pytest.mark.parametrize("place", ["first start", "second start", "locks of all", "lock of one", "result"])
def test_an_interrupt_at_any_step_of_the_pool_ends_it(tmp_path: Path, place: str) -> None:
    (tmp_path / "parent.py").write_text(AT_ONCE)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(tmp_path / "parent.py"), place]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (-signal.SIGINT, "KeyboardInterrupt"), done.stderr
    assert done.stderr.count("Traceback") == 1, done.stderr


class Fatal:
    """End the process that unpickles it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (3,)


def test_a_sample_whose_process_dies_is_one_clear_error(tmp_path: Path) -> None:
    message = r"a process that replayed a sample died, perhaps for lack of memory; try --workers 1$"
    with pytest.raises(UserError, match=message):
        replay_all([(tmp_path / "a.trace", Fatal(), 100)] * 2, workers=2)
