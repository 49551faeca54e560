"""Follow a sweep to its end: claim missing points, start what fits, note how each point ends.

The state is the store's. What this process knows may be lost at any moment: the next run finds the missing points.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from rayplay.formats.guard.errors import UserError
from rayplay.sweep.executors.executor import Executor
from rayplay.sweep.point.nursery import Ended
from rayplay.sweep.store.claims import Claims
from rayplay.sweep.store.steps import reached
from rayplay.sweep.store.store import Store

MOST_TRIES = 3  # of a point whose process was killed, as an operator or the kernel short of memory does
LIST_SECONDS = 10.0
LOOK_SECONDS, FIRST_POLL_SECONDS, LONGEST_POLL_SECONDS = 1.0, 0.1, 2.0


class Job(NamedTuple):
    """A task with its need of memory."""

    task: dict[str, Any]
    memory_mb: float

    @property
    def key(self) -> str:
        """The task's key."""
        found: str = self.task["key"]
        return found


class Report(NamedTuple):
    """How the jobs of a drive ended, by key.

    done, elsewhere  by this driver, and by others on the same store.
    failed           key -> reason.
    different        keys of which two runs differ: a bug.
    """

    done: list[str]
    elsewhere: list[str]
    failed: dict[str, str]
    different: list[str]


class Drive:
    """One driver on one store; ``run`` follows some jobs to their end.

    memory_mb  that running points may state together.
    is_done    whether a job needs not run any more, asked once it is claimed.
    advanced   called with the number of points that ended.
    ends_at    time (monotonic) after which nothing more is started and the drive is interrupted.
    """

    def __init__(
        self, store: Store, executor: Executor, claims: Claims, memory_mb: float,
        is_done: Callable[[dict[str, Any]], bool], advanced: Callable[[int], object] = lambda count: None,
        ends_at: float = float("inf"),
    ) -> None:  # fmt: skip
        self.store, self.executor, self.claims = store, executor, claims
        self.memory_mb, self.is_done, self.advanced, self.ends_at = memory_mb, is_done, advanced, ends_at
        self.report = Report([], [], {}, [])
        self._running: dict[str, Job] = {}
        self._tries: dict[str, int] = {}
        self._pending: deque[Job] = deque()
        self._others: dict[str, Job] = {}  # claimed by other drivers
        self._looks_at = time.monotonic() + LIST_SECONDS

    def run(self, jobs: Iterable[Job]) -> Report:
        """Do all jobs that other drivers do not, and wait for theirs."""
        self._pending.extend(jobs)
        poll = FIRST_POLL_SECONDS
        while self._pending or self._running or self._others:
            if time.monotonic() > self.ends_at:
                raise KeyboardInterrupt
            self._fill()
            if self._running:
                for ended in self.executor.wait(LOOK_SECONDS):
                    self._note(ended)
            elif self._others:
                time.sleep(poll)
                poll = FIRST_POLL_SECONDS if self._look_at_others() else min(2 * poll, LONGEST_POLL_SECONDS)
        return self.report

    def _look_ahead(self) -> None:
        """Let go of jobs that others have done: one look at the store now and then, not a claim for each."""
        now = time.monotonic()
        if now < self._looks_at or len(self._pending) <= self.executor.slots:
            return
        self._looks_at = now + LIST_SECONDS
        done = self.store.done()
        for job in [each for each in self._pending if each.key in done]:
            if self.is_done(job.task):
                self._pending.remove(job)
                self.report.elsewhere.append(job.key)
                self.advanced(1)

    def _fill(self) -> None:
        """Start jobs while there are slots and memory; the first that fits goes first."""
        self._look_ahead()
        used = sum(job.memory_mb for job in self._running.values())
        passed_over: list[Job] = []
        while self._pending and len(self._running) < self.executor.slots:
            job = self._pending.popleft()
            if self._running and used + job.memory_mb > self.memory_mb:
                passed_over.append(job)
                if len(passed_over) > self.executor.slots:
                    break
                continue
            if self._begin(job):
                used += job.memory_mb
        self._pending.extendleft(reversed(passed_over))

    def _begin(self, job: Job) -> bool:
        """Start a job unless another driver has it, or its result has come by now."""
        if not self.claims.take(job.key):
            self._others[job.key] = job
            return False
        if self.is_done(job.task):
            self.claims.release(job.key)
            self.report.elsewhere.append(job.key)
            self.advanced(1)
            return False
        self.executor.start(job.task)
        self._running[job.key] = job
        return True

    def _note(self, ended: Ended) -> None:
        """Note the end of a job of ours; one that was killed is tried again."""
        job = self._running.pop(ended.key)
        tries = self._tries[ended.key] = self._tries.get(ended.key, 0) + 1
        if ended.status == "killed" and self.is_done(job.task):
            ended = ended._replace(status="done")  # it died behind its rename
        if ended.status == "killed" and tries < MOST_TRIES:
            self._pending.append(job)
            self.claims.release(ended.key)
            return
        if ended.status in ("killed", "failed"):
            reason = ended.reason + (f", {tries} times" if ended.status == "killed" else "")
            self.store.fail(ended.key, job.task["about"], reason, ended.log, tries)
            self.report.failed[ended.key] = reason
        else:
            self.report.done.append(ended.key)
            if ended.status == "different":
                self.report.different.append(ended.key)
        self.claims.release(ended.key)
        reached("released", ended.key)
        self.advanced(1)

    def _look_at_others(self) -> bool:
        """Whether a job of another driver has ended, or is ours now."""
        done, failed, moved = self.store.done(), self.store.failed(), False
        for key, job in list(self._others.items()):
            if key in done and self.is_done(job.task):
                self.report.elsewhere.append(key)
            elif key in failed:
                self.report.failed[key] = self.store.failure(key).get("reason", "failed at another driver")
            elif self.claims.take(key):
                self.claims.release(key)
                self._pending.append(job)
                del self._others[key]
                return True
            else:
                continue
            del self._others[key]
            self.advanced(1)
            moved = True
        return moved


def check_fits(jobs: Sequence[Job], memory_mb: float) -> None:
    """``UserError`` for a point that states more memory than may be used."""
    for job in jobs:
        if job.memory_mb > memory_mb:
            raise UserError(
                f"point {job.task['about']}: needs about {job.memory_mb:,.0f} MB, but --memory-mb lets all points"
                f" have {memory_mb:,.0f}"
            )
