"""A process that has everything loaded and forks a process for each task: ``python -m rayplay.sweep.point.zygote FD``.

To start Python, import numba and load the engine's machine code takes 2 s; to fork a process that has done so, and to
let it copy what it changes, takes 30 to 50 ms. A process therefore serves up to ``MOST_TASKS`` tasks of less than
``SHORT_SECONDS`` of processor time, one after the other; after a longer one it ends. A death costs the one task that
runs.
The zygote has one thread, so that a fork is safe. It ends, with all that it forked, when its driver has ended, however
that was.

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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.heap import trim_heap
from rayplay.formats.guard.limits import mapped_bytes
from rayplay.sweep.point.perform import perform
from rayplay.sweep.store.store import Outcome

MOST_BYTES = 1 << 20  # of a message
LOG_BYTES = 8192
SHORT_SECONDS, MOST_TASKS = 2.0, 256
_PR_SET_PDEATHSIG = 1


@dataclass
class Child:
    """A process, and the task that it runs; without a key it is idle.

    channel  its socket; due: when the task's time is up; seconds: how much it has.
    """

    pid: int
    channel: socket.socket
    key: str = ""
    log: Path = Path()
    due: float = float("inf")
    seconds: float = 0.0


class Zygote:
    """The loop of the process."""

    def __init__(self, control: socket.socket, logs: Path) -> None:
        self.control, self.logs = control, logs
        self.children: dict[int, Child] = {}  # by the file number of the channel
        self.idle: list[Child] = []
        self.selector = selectors.DefaultSelector()
        self.selector.register(control, selectors.EVENT_READ)

    def run(self) -> None:
        """Serve until the driver closes its end."""
        while True:
            for ready, _ in self.selector.select(self._patience()):
                if ready.fileobj is not self.control:
                    self._hear(self.children[ready.fd])
                elif not self._obey():
                    return
            for child in [each for each in self.children.values() if each.due < time.monotonic()]:
                os.kill(child.pid, signal.SIGKILL)
                self._bury(child, "failed", f"took longer than its limit of {child.seconds:g} s")

    def dismiss(self) -> None:
        """Let idle children end, and reap them, so that their processor time counts as this process's."""
        for child in self.idle:
            child.channel.close()
        for child in self.idle:
            os.wait4(child.pid, 0)

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
        child = self.idle.pop() if self.idle else self._forked()
        child.key, child.seconds = given["task"]["key"], given["seconds"] or 0.0
        child.log = self.logs / f"{child.key[:80]}.log"
        child.due = time.monotonic() + child.seconds if child.seconds else float("inf")
        with suppress(ConnectionError):  # it was killed while it was idle: its end will be heard of
            child.channel.send(json.dumps({**given, "log": str(child.log)}).encode())
        return True

    def _forked(self) -> Child:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * MOST_BYTES)
        pid = os.fork()
        if pid == 0:
            self.control.close()
            ours.close()
            _be_a_child(theirs)
        theirs.close()
        child = Child(pid, ours)
        self.children[ours.fileno()] = child
        self.selector.register(ours, selectors.EVENT_READ)
        return child

    def _hear(self, child: Child) -> None:
        """The outcome of a child's task, or its death."""
        try:
            message = child.channel.recv(MOST_BYTES)
        except ConnectionError:
            message = b""
        if not message:
            self._bury(child)
            return
        told = json.loads(message)
        self._tell(child, told["status"], told["reason"])
        if told["serves"]:
            self.idle.append(child)
        else:
            self._bury(child)

    def _bury(self, child: Child, status: str = "killed", reason: str = "") -> None:
        """Reap a child that ends, and tell what became of its task, if it had one."""
        _, code, _ = os.wait4(child.pid, 0)
        self.selector.unregister(child.channel)
        del self.children[child.channel.fileno()]
        child.channel.close()
        if child in self.idle:
            self.idle.remove(child)
        if child.key:
            self._tell(child, status, reason or how_it_ended(code))

    def _tell(self, child: Child, status: str, reason: str) -> None:
        try:
            log = child.log.read_bytes()[-LOG_BYTES:].decode(errors="replace")
            child.log.unlink()
        except OSError:
            log = ""
        self.control.send(json.dumps({"key": child.key, "log": log, "status": status, "reason": reason}).encode())
        child.key, child.due = "", float("inf")


def how_it_ended(code: int) -> str:
    """A process's end in words, of its wait status."""
    if not os.WIFSIGNALED(code):
        return f"its process ended with code {os.waitstatus_to_exitcode(code)}"
    name = signal.Signals(os.WTERMSIG(code)).name
    return f"its process died of signal {name}" + (", perhaps for lack of memory" if name == "SIGKILL" else "")


def _be_a_child(channel: socket.socket) -> NoReturn:
    """Perform tasks and leave the process: after the first that is long, the ``MOST_TASKS``-th, and any failure."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for number in range(1, MOST_TASKS + 1):
            message = channel.recv(MOST_BYTES)
            if not message:
                break
            given, begun = json.loads(message), time.process_time()
            handle = os.open(given["log"], os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
            for number_of_stream in (1, 2):
                os.dup2(handle, number_of_stream)
            os.close(handle)
            found = _attempted(given["task"], given["memory_mb"])
            is_short = time.process_time() - begun < SHORT_SECONDS and found.status in ("done", "again")
            serves = is_short and number < MOST_TASKS
            sys.stdout.flush()
            sys.stderr.flush()
            channel.send(json.dumps({"status": found.status, "reason": found.reason, "serves": serves}).encode())
            if not serves:
                break
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def _attempted(task: dict[str, Any], memory_mb: int | None) -> Outcome:
    most = mapped_bytes() + (memory_mb << 20) if memory_mb else resource.RLIM_INFINITY
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
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


def warm(task: dict[str, Any]) -> None:
    """Load what a task of this kind needs, machine code too, by replaying the trace that comes with the package."""
    from rayplay.formats.place.names import SHIPPED
    from rayplay.replay import simulate
    from rayplay.replay.gpu.description import load
    from rayplay.sweep.plan.keys import engine
    from rayplay.sweep.point.metrics import METHODS  # noqa: F401

    engine(task["method"])
    for assignments in (task["assignments"], ()):
        try:
            gpu = load(task["gpu"], assignments, task["plugin"] or None)
            simulate(SHIPPED / "sample.trace", gpu, model=task["model"] or None)
            break
        except UserError:  # values that this trace does not go with: the code is the same without them
            continue


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
        except Exception:  # each point will say its own error
            traceback.print_exc()
    gc.collect()
    trim_heap()  # a child would copy free pages to use them
    gc.freeze()
    control.send(json.dumps({"ready": True}).encode())
    zygote = Zygote(control, logs)
    zygote.run()
    zygote.dismiss()
    os._exit(0)  # children that still run end with it


if __name__ == "__main__":
    main()
