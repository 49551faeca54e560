"""The common face of executors: a task goes in, its end comes out; results are files, so nothing else is kept."""

from typing import Any, Protocol

from rayplay.sweep.point.nursery import Ended

EXECUTORS = ("processes", "inline", "dask", "slurm")


class Executor(Protocol):
    """Runs tasks."""

    @property
    def slots(self) -> int:
        """Tasks at a time that are worth starting, some of which may wait for others to end."""

    def start(self, task: dict[str, Any]) -> None:
        """Start a task, or queue it."""

    def wait(self, seconds: float) -> list[Ended]:
        """Tasks that have ended, as soon as there is one or ``seconds`` have passed."""

    def close(self) -> None:
        """End whatever still runs."""


class Inline:
    """Points in this process, one after the other: for a debugger, and for machines without ``fork``.

    A point that dies takes the driver with it, and limits do not hold.
    """

    slots = 1

    def __init__(self) -> None:
        self._next: list[dict[str, Any]] = []

    def start(self, task: dict[str, Any]) -> None:
        """As ``Executor``."""
        self._next.append(task)

    def wait(self, seconds: float) -> list[Ended]:
        """As ``Executor``: the task runs here."""
        from rayplay.sweep.point.zygote import attempted

        found = [attempted(task) for task in self._next]
        self._next.clear()
        return [Ended(each.key, each.status, each.reason, "") for each in found]

    def close(self) -> None:
        """As ``Executor``."""
        self._next.clear()
