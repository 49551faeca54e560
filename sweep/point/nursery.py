"""A driver's hold on a zygote: tasks go in, their ends come out."""

import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from rayplay.formats.guard.errors import UserError

READY_SECONDS = 300.0  # until machine code is loaded, or compiled for the first time
GOODBYE_SECONDS = 2.0  # for idle processes to end by themselves
MOST_BYTES = 1 << 20


class Ended(NamedTuple):
    """End of a task's process. status and reason as in ``Outcome``; log: the last that it printed."""

    key: str
    status: str
    reason: str
    log: str


class Nursery:
    """A zygote for tasks of one kind.

    It warms up with the first task. Where this kills it or takes too long, as a bad policy can, another is started
    that does not: then each point shows its own error.
    """

    def __init__(self, task: dict[str, Any], ready_seconds: float = READY_SECONDS) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="rayplay-sweep-"))
        self.running: set[str] = set()
        self._begin(task)
        if not self._is_ready(ready_seconds):
            self._end()
            self._begin({"kind": "cold"})
            if not self._is_ready(ready_seconds):
                self.close()
                raise UserError("the process that runs points could not be started; its own message stands above")

    def start(self, task: dict[str, Any], seconds: float | None, memory_mb: int | None) -> None:
        """Start a task in a process of its own."""
        message = json.dumps({"task": task, "seconds": seconds, "memory_mb": memory_mb}).encode()
        if len(message) > MOST_BYTES:
            raise UserError(f"point {task['key']}: has too many values")
        self.control.send(message)
        self.running.add(task["key"])

    def take(self) -> list[Ended]:
        """Tasks that have ended by now; all as killed where the zygote itself has died."""
        found = []
        while select.select([self.control], [], [], 0)[0]:
            try:
                message = self.control.recv(MOST_BYTES)
            except ConnectionError:
                message = b""
            if not message:
                found += [Ended(key, "killed", "the process that started it died", "") for key in self.running]
                self.running.clear()
                break
            told = json.loads(message)
            self.running.discard(told["key"])
            found.append(Ended(told["key"], told["status"], told["reason"], told["log"]))
        return found

    @property
    def is_alive(self) -> bool:
        """Whether the zygote still runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the zygote and all that it started."""
        self._end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _begin(self, task: dict[str, Any]) -> None:
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (self.control, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * MOST_BYTES)
        words = [sys.executable, "-m", "rayplay.sweep.point.zygote", str(theirs.fileno()), str(os.getpid())]
        environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", **os.environ}
        self._process = subprocess.Popen(
            [*words, str(self._folder)], pass_fds=[theirs.fileno()], env=environment, stdin=subprocess.DEVNULL
        )
        theirs.close()
        self.control.send(json.dumps({"task": task}).encode())

    def _is_ready(self, seconds: float) -> bool:
        if not select.select([self.control], [], [], seconds)[0]:
            return False
        try:
            return bool(self.control.recv(MOST_BYTES))
        except ConnectionError:
            return False

    def _end(self) -> None:
        self.control.close()
        if not self.running:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(GOODBYE_SECONDS)
        self._process.kill()
        self._process.wait()
