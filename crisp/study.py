"""Traces and findings of a study, each made once: an interrupted study resumes with what its store has.

The store is a folder: ``traces/NAME-DIGEST.trace`` by what decides a trace, and a JSON value for each task, by its
inputs and the content of its traces (``zatel.replays.result_cache``).
"""

import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import as_completed
from functools import cache, partial
from pathlib import Path
from typing import Any

from rayplay.crisp.sources import Source
from rayplay.crisp.tasks import Task
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.digest import json_digest
from rayplay.formats.guard.errors import UserError
from rayplay.zatel.replays.pool import processes
from rayplay.zatel.replays.result_cache import Store, trace_identity


class Study:
    """A store, and the processes that fill it."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.store, self.folder, self.workers = Store(folder / "found"), folder / "traces", workers
        self.path_of = cache(self._path_of)
        self.identity_of = cache(lambda path: trace_identity(open_trace(path)))

    def _path_of(self, source: Source) -> Path:
        return self.folder / f"{source.name}-{json_digest(source.inputs())[:16]}.trace"

    def missing_traces(self, tasks: Iterable[Task]) -> list[Source]:
        """Traces that the tasks need and the store lacks, each once, in order."""
        needed = dict.fromkeys(source for task in tasks for source in task.sources)
        return [source for source in needed if not self.path_of(source).exists()]

    def missing(self, tasks: Iterable[Task]) -> list[Task]:
        """Tasks without a value, each once, in order; a task without its traces is one of them."""
        return [task for task in dict.fromkeys(tasks) if not self._has_traces(task) or self._value(task) is None]

    def prepare(self, tasks: Sequence[Task]) -> None:
        """Make all traces, then perform all tasks, in processes; say on standard error how far it is."""
        self.folder.mkdir(parents=True, exist_ok=True)
        sources = self.missing_traces(tasks)
        self._all("trace", [(source.name, partial(source.make, self.path_of(source)), None) for source in sources])
        todo = [
            (_label(task), partial(task.perform, self._traces(task)), self._key(task)) for task in self.missing(tasks)
        ]
        self._all("task", todo)

    def value(self, task: Task) -> dict[str, Any]:
        """The finding of a task, after ``prepare``."""
        found = self._value(task)
        if found is None:
            raise UserError(f"{self.store.folder}: the store must keep its entries while it is used, but one is gone")
        return found

    def _value(self, task: Task) -> dict[str, Any] | None:
        return self.store.get(self._key(task))

    def _has_traces(self, task: Task) -> bool:
        return all(path.exists() for path in self._traces(task))

    def _traces(self, task: Task) -> list[Path]:
        return [self.path_of(source) for source in task.sources]

    def _key(self, task: Task) -> dict[str, Any]:
        return task.inputs() | {"traces": [self.identity_of(path) for path in self._traces(task)]}

    def _all(self, what: str, work: Sequence[tuple[str, Any, dict[str, Any] | None]]) -> None:
        """Do works, each with a name and, where its value is kept, a key."""
        if not work:
            return
        with processes(min(self.workers, len(work)), "classes of work") as pool:
            futures = {pool.submit(call): (name, key) for name, call, key in work}
            for number, future in enumerate(as_completed(futures), start=1):
                name, key = futures[future]
                if key is not None:
                    self.store.put(key, future.result())
                future.result()
                print(f"{what} {number} of {len(work)}: {name}", file=sys.stderr, flush=True)


def _label(task: Task) -> str:
    names = " + ".join(source.name for source in task.sources)
    partition = getattr(task, "partition", None)
    what = f", {partition} on {task.gpu}" if partition else ""  # type: ignore[union-attr]
    return f"{names or task.workload.name}{what}"  # type: ignore[union-attr]
