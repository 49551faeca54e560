"""A process for each point, forked from one that has everything loaded."""

import os
import select
import time
from collections import deque
from typing import Any

from rayplay.sweep.point.nursery import Ended, Nursery
from rayplay.sweep.space.file import Limits

AHEAD_SECONDS = 2.0  # a point that is shorter has the next one wait behind it
MOST_NURSERIES = 3  # kinds of points whose machine code is held loaded; about 300 MB each, shared with its points


def kind_of(task: dict[str, Any]) -> tuple[str, ...]:
    """Tasks of a kind use the same machine code."""
    if task["kind"] == "render":
        return ("render",)
    return (task["method"], task["model"], task["plugin"])


class Processes:
    """Processes of this machine.

    While points are short, as many more are taken as there are workers: the next starts as soon as one ends, before the
    driver has noted the end. A long point is not taken ahead, for another driver may have a worker free.
    """

    def __init__(self, workers: int | None, limits: Limits) -> None:
        self._workers = workers or len(os.sched_getaffinity(0))
        self._limits = limits
        self._nurseries: dict[tuple[str, ...], Nursery] = {}
        self._waiting: deque[dict[str, Any]] = deque()
        self._begun: dict[str, float] = {}  # of tasks that run, by key
        self._is_short = False

    @property
    def slots(self) -> int:
        """As ``Executor``."""
        return 2 * self._workers if self._is_short else self._workers

    def start(self, task: dict[str, Any]) -> None:
        """As ``Executor``."""
        self._waiting.append(task)
        self._start_waiting()

    def wait(self, seconds: float) -> list[Ended]:
        """As ``Executor``."""
        busy = [each for each in self._nurseries.values() if each.running]
        if busy:
            select.select([each.control for each in busy], [], [], seconds)
        found = [ended for each in busy for ended in each.take()]
        for ended in found:
            self._is_short = time.monotonic() - self._begun.pop(ended.key) < AHEAD_SECONDS
        self._start_waiting()
        return found

    def _start_waiting(self) -> None:
        while self._waiting and len(self._begun) < self._workers:
            task, limits = self._waiting.popleft(), self._limits
            seconds, memory = (None, None) if task["kind"] == "render" else (limits.seconds, limits.memory_mb)
            self._nursery(task).start(task, seconds, memory)
            self._begun[task["key"]] = time.monotonic()

    def close(self) -> None:
        """As ``Executor``."""
        self._waiting.clear()
        while self._nurseries:
            self._nurseries.popitem()[1].close()

    def _nursery(self, task: dict[str, Any]) -> Nursery:
        """The nursery of the task's kind; one that is idle makes room where there are many."""
        kind = kind_of(task)
        found = self._nurseries.pop(kind, None)
        if found is not None and not found.is_alive and not found.running:
            found.close()
            found = None
        if found is None:
            idle = [each for each, nursery in self._nurseries.items() if not nursery.running]
            if len(self._nurseries) >= MOST_NURSERIES and idle:
                self._nurseries.pop(idle[0]).close()
            found = Nursery(task)
        self._nurseries[kind] = found  # last: the least recently used stands first
        return found
