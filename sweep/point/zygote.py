"""A process that has everything loaded and forks a process for each task: ``python -m rayplay.sweep.point.zygote FD``.

To start Python, import numba and load the engine's machine code takes 2 s; to fork a process that has done so takes
milliseconds. A death then costs one task. The zygote is single-threaded, so that a fork is safe. It ends, with all
that it forked, when its driver has ended, however that was.

Messages are JSON over a socket that keeps their bounds: ``start`` with a task and its limits comes in, ``ended`` goes
out.
"""

import ctypes
import gc
import json
import os
import resource
import selectors
import signal
import socket
import sys
import time
import traceback
from pathlib import Path
from typing import Any, NamedTuple

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import mapped_bytes
from rayplay.sweep.point.perform import perform
from rayplay.sweep.store.store import Outcome

MOST_BYTES = 1 << 20  # of a message
LOG_BYTES = 8192
_PR_SET_PDEATHSIG = 1


class Child(NamedTuple):
    """A process of a task. answer: end of the pipe on which its outcome comes; due: when its time is up."""

    key: str
    pid: int
    handle: int
    answer: int
    log: Path
    due: float
    begun: float


class Zygote:
    """The loop of the process."""

    def __init__(self, control: socket.socket, logs: Path) -> None:
        self.control, self.logs = control, logs
        self.children: dict[int, Child] = {}
        self.selector = selectors.DefaultSelector()
        self.selector.register(control, selectors.EVENT_READ)

    def run(self) -> None:
        """Serve until the driver closes its end."""
        while True:
            for ready, _ in self.selector.select(self._patience()):
                if ready.fileobj is not self.control:
                    self._reap(self.children[ready.fd])
                elif not self._obey():
                    return
            for child in [each for each in self.children.values() if each.due < time.monotonic()]:
                os.kill(child.pid, signal.SIGKILL)
                self._reap(child, f"took longer than its limit of {child.due - child.begun:g} s", "failed")

    def _patience(self) -> float | None:
        due = min((child.due for child in self.children.values()), default=float("inf"))
        return None if due == float("inf") else max(0.0, due - time.monotonic())

    def _obey(self) -> bool:
        """Follow one message; False when the driver has gone."""
        try:
            message = self.control.recv(MOST_BYTES)
        except ConnectionError:
            return False
        if not message:
            return False
        given = json.loads(message)
        self._start(given["task"], given["seconds"], given["memory_mb"])
        return True

    def _start(self, task: dict[str, Any], seconds: float | None, memory_mb: int | None) -> None:
        log = self.logs / f"{task['key'][:80]}.log"
        answer, told = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(answer)
            self.selector.close()
            self.control.close()
            _be_a_child(task, memory_mb, log, told)
        os.close(told)
        now = time.monotonic()
        due = now + seconds if seconds else float("inf")
        handle = os.pidfd_open(pid)
        self.children[handle] = Child(task["key"], pid, handle, answer, log, due, now)
        self.selector.register(handle, selectors.EVENT_READ)

    def _reap(self, child: Child, reason: str = "", status: str = "") -> None:
        """Tell the driver how a child ended."""
        _, code, _ = os.wait4(child.pid, 0)
        with os.fdopen(child.answer, "rb") as pipe:
            told = pipe.read()
        self.selector.unregister(child.handle)
        del self.children[child.handle]
        os.close(child.handle)
        found = json.loads(told) if told and not status else {}
        if not found:
            number = os.WTERMSIG(code) if os.WIFSIGNALED(code) else 0
            died = f"died of signal {signal.Signals(number).name}" if number else f"ended with code {code >> 8}"
            more = ", perhaps for lack of memory" if number == signal.SIGKILL else ""
            found = {"status": status or "killed", "reason": reason or f"its process {died}{more}"}
        try:
            log = child.log.read_bytes()[-LOG_BYTES:].decode(errors="replace")
            child.log.unlink()
        except OSError:
            log = ""
        self.control.send(json.dumps({"key": child.key, "log": log, **found}).encode())


def _be_a_child(task: dict[str, Any], memory_mb: int | None, log: Path, told: int) -> None:
    """Perform a task and leave the process."""
    code = 1
    try:
        _die_with_parent()
        handle = os.open(log, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        found = _attempted(task, memory_mb)
        with os.fdopen(told, "wb") as pipe:
            pipe.write(json.dumps({"status": found.status, "reason": found.reason}).encode())
        sys.stdout.flush()
        sys.stderr.flush()
        code = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _attempted(task: dict[str, Any], memory_mb: int | None) -> Outcome:
    if memory_mb:
        most = mapped_bytes() + (memory_mb << 20)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    return attempted(task)


def attempted(task: dict[str, Any]) -> Outcome:
    """``perform``, with every error as a failure of one line; the log has the traceback of an error of ours."""
    try:
        return perform(task)
    except MemoryError as error:
        return Outcome(task["key"], "failed", f"its memory limit was too little: {error}".rstrip(": "))
    except UserError as error:
        return Outcome(task["key"], "failed", str(error))
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return Outcome(task["key"], "failed", f"{place}{error.strerror or error}")
    except Exception as error:
        traceback.print_exc()
        return Outcome(task["key"], "failed", f"{type(error).__name__}: {error}")


def _die_with_parent() -> None:
    """Have the system kill this process when the one that forked it ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def warm(task: dict[str, Any]) -> None:
    """Load what a task of this kind needs, machine code too, by replaying the trace that comes with the package."""
    from rayplay.formats.place.names import SHIPPED
    from rayplay.replay import simulate
    from rayplay.replay.gpu.description import load
    from rayplay.sweep.plan.keys import engine
    from rayplay.sweep.point.metrics import METHODS  # noqa: F401

    engine(task["method"])
    simulate(SHIPPED / "sample.trace", load(task["gpu"], task["assignments"], task["plugin"] or None),
             model=task["model"] or None)  # fmt: skip


def main() -> None:
    """Warm up with the first message, say so, and serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes: the driver ends this one
    parent, logs = int(sys.argv[2]), Path(sys.argv[3])
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return
    control = socket.socket(fileno=int(sys.argv[1]))
    first = json.loads(control.recv(MOST_BYTES))
    if first.get("task", {}).get("kind") == "point":
        try:
            warm(first["task"])
        except Exception:  # each point will say what is wrong with it
            traceback.print_exc()
    gc.collect()
    gc.freeze()
    control.send(json.dumps({"ready": True}).encode())
    Zygote(control, logs).run()
    os._exit(0)  # its children end with it


if __name__ == "__main__":
    main()
