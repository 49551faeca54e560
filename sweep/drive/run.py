"""A run of a sweep: render missing scenes, plan, and drive the points that have no result."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.location import location
from rayplay.sweep.drive.driver import Drive, Job, Report, check_fits
from rayplay.sweep.executors.executor import EXECUTORS, Executor, Inline
from rayplay.sweep.executors.processes import Processes
from rayplay.sweep.plan.plan import Plan, Planned, make_plan, remember
from rayplay.sweep.plan.verdict import SKIPPED, forget_verdict
from rayplay.sweep.space.points import Space
from rayplay.sweep.store.claims import Claims
from rayplay.sweep.store.store import Store

SHARE_OF_MEMORY = 0.8  # of what the machine has free, that points may state together by default


class How(NamedTuple):
    """Options of a run that change no result.

    address        of a dask scheduler; a local cluster without one.
    memory_mb      that running points may state together; None for most of the free memory.
    part           (number, of): this driver's share of the points; a job of an array.
    stop_after     seconds after which the run ends as by Ctrl-C.
    """

    executor: str = "processes"
    workers: int | None = None
    address: str | None = None
    memory_mb: float | None = None
    part: tuple[int, int] = (0, 1)
    stop_after: float | None = None
    retry: bool = False


class Ran(NamedTuple):
    """A plan after its run, and how the points of the run ended."""

    plan: Plan
    report: Report


def free_mb() -> float:
    """Memory that the machine has free, in MB."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) / 1024
    return 4096.0


@contextmanager
def executor(how: How, space: Space) -> Iterator[Executor]:
    """The executor of a name, closed at the end, however that comes."""
    limits = space.sweep.limits
    if how.executor == "inline":
        made: Executor = Inline()
    elif how.executor == "processes":
        made = Processes(how.workers, limits)
    elif how.executor == "dask":
        from rayplay.sweep.executors.dask import Dask

        made = Dask(how.address, how.workers, limits)
    else:
        raise UserError(f"--executor must be one of {', '.join(EXECUTORS)}, not {how.executor}")
    try:
        yield made
    finally:
        made.close()


@contextmanager
def driving(how: How, space: Space, store: Store) -> Iterator[Callable[[Sequence[Job], str], Report]]:
    """A function that follows jobs to their end, as often as one likes, with one executor and one driver's claims."""
    ends_at = time.monotonic() + how.stop_after if how.stop_after else float("inf")
    memory = how.memory_mb or (float("inf") if how.executor == "dask" else SHARE_OF_MEMORY * free_mb())

    def is_done(task: dict[str, Any]) -> bool:
        if task["kind"] == "render":
            return (location(task["out"]) / "manifest.json").is_file()
        return store.get(task["key"]) is not None

    with executor(how, space) as made, Claims(store.medium) as claims:

        def drive(jobs: Sequence[Job], what: str) -> Report:
            if how.memory_mb:
                check_fits(jobs, memory)
            with tqdm(total=len(jobs), desc=what, unit="point", disable=None, leave=False) as progress:
                return Drive(store, made, claims, memory, is_done, progress.update, ends_at).run(jobs)

        yield drive


def jobs_of(plan: Plan, chosen: Sequence[Planned]) -> list[Job]:
    """Points as jobs, the longest first, so that none is left over at the end."""
    known = plan.measured_seconds()
    costs = [plan.cost(each, known) for each in chosen]
    order = sorted(range(len(chosen)), key=lambda place: -costs[place].seconds)
    return [Job(plan.task(chosen[place]), costs[place].memory_mb) for place in order]


def to_run(plan: Plan, part: tuple[int, int] = (0, 1)) -> list[Planned]:
    """Points without a result, each key once; of a part every ``of``-th."""
    missing, number, of = set(plan.missing()), *part
    found = [each for each in plan.planned if each.key in missing and each.same_as is None]
    return found[number::of]


def rendered(name: str, space: Space, store: Store, drive: Callable[[Sequence[Job], str], Report]) -> tuple[Plan, Report]:  # fmt: skip # noqa: E501
    """The plan once every scene has its trace; what could not be rendered stays without keys."""
    plan = make_plan(name, space, store)
    tasks = plan.renders()
    if not tasks:
        return plan, Report([], [], {}, [])
    store.forgive(task["key"] for task in tasks)
    report = drive([Job(task, 600.0) for task in tasks], "render")
    return make_plan(name, space, store, plan.gpus), report


def run(name: str, space: Space, store: Store, how: How) -> Ran:
    """Run every point without a result. The same call again goes on where this one ended."""
    store.check_writable()
    with driving(how, space, store) as drive:
        plan, rendering = rendered(name, space, store, drive)
        if how.retry:
            store.forgive(key for key, status in plan.status.items() if status == "failed")
            plan = make_plan(name, space, store, plan.gpus)
        remember(plan)
        forget_verdict(name, store)
        plan = make_plan(name, space, store, plan.gpus) if SKIPPED in plan.status.values() else plan
        report = drive(jobs_of(plan, to_run(plan, how.part)), "sweep")
    after = make_plan(name, space, store, plan.gpus)
    return Ran(after, report._replace(failed={**rendering.failed, **report.failed}))


def warn_about_workers(how: How) -> None:
    """A line where more processes than cores were asked for, which makes every point slower."""
    cores = len(os.sched_getaffinity(0))
    if how.executor == "processes" and how.workers is not None and how.workers > cores:
        print(f"note: {how.workers} workers on {cores} cores", file=sys.stderr)
