"""A process for each point, forked from one that has everything loaded."""

import os
import select
from typing import Any

from rayplay.sweep.point.nursery import Ended, Nursery
from rayplay.sweep.space.file import Limits

MOST_NURSERIES = 3  # kinds of points whose machine code is held loaded; about 300 MB each, shared with its points


def kind_of(task: dict[str, Any]) -> tuple[str, ...]:
    """Tasks of a kind use the same machine code."""
    if task["kind"] == "render":
        return ("render",)
    return (task["method"], task["model"], task["plugin"])


class Processes:
    """Processes of this machine."""

    def __init__(self, workers: int | None, limits: Limits) -> None:
        self.slots = workers or len(os.sched_getaffinity(0))
        self._limits = limits
        self._nurseries: dict[tuple[str, ...], Nursery] = {}

    def start(self, task: dict[str, Any]) -> None:
        """As ``Executor``."""
        limits = self._limits
        seconds, memory = (None, None) if task["kind"] == "render" else (limits.seconds, limits.memory_mb)
        self._nursery(task).start(task, seconds, memory)

    def wait(self, seconds: float) -> list[Ended]:
        """As ``Executor``."""
        busy = [each for each in self._nurseries.values() if each.running]
        if busy:
            select.select([each.control for each in busy], [], [], seconds)
        return [ended for each in busy for ended in each.take()]

    def close(self) -> None:
        """As ``Executor``."""
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
