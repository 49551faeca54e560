"""Points as an array of Slurm jobs, through submitit: job i of N drives every N-th point on the shared store.

A job is a driver like any other: it claims, looks into the store first, and runs its points in processes of its node.
A job that its time limit or preemption ends is requeued by submitit and goes on. Needs ``pip install "rayplay[slurm]"``
and a store that every node reaches.
"""

import time
from pathlib import Path
from typing import Any

from rayplay.formats.guard.errors import UserError, reason_of
from rayplay.sweep.drive.driver import Report
from rayplay.sweep.drive.run import How, Ran, run
from rayplay.sweep.plan.plan import make_plan, statuses
from rayplay.sweep.space.file import read_sweep
from rayplay.sweep.space.points import Space, space
from rayplay.sweep.store.store import Store

LOOK_SECONDS = 1.0
DEFAULT_JOBS = 1


class Part:
    """One job of the array; pickled by submitit, with names alone."""

    def __init__(self, file: str, store: str, number: int, of: int, retry: bool) -> None:
        self.file, self.store, self.number, self.of, self.retry = file, store, number, of, retry

    def __call__(self) -> dict[str, str]:
        """Drive the points of this job; key -> reason of each failed one."""
        path = Path(self.file)
        how = How(part=(self.number, self.of), retry=self.retry)
        return run(path.stem, space(read_sweep(path)), Store(self.store), how).report.failed

    def checkpoint(self) -> Any:
        """The job that submitit queues again when the job's time is up: the same, which finds the missing points."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


def run_array(file: Path, name: str, found: Space, store: Store, how: How, options: list[str]) -> Ran:
    """Submit the array and wait for it; Ctrl-C cancels the jobs, and the next run goes on.

    options  of submitit, KEY=VALUE; ``cluster=local`` runs the jobs on this machine.

    Raises ``UserError`` without submitit, and for an option that it does not know.
    """
    try:
        import submitit
    except ImportError:
        raise UserError('--executor slurm: needs the package submitit: pip install "rayplay[slurm]"') from None
    if store.folder is None:
        raise UserError(f"--store {store.place}: slurm needs a folder that every node reaches, for its logs")
    store.check_writable()
    given = dict(option.partition("=")[::2] for option in options)
    cluster = given.pop("cluster", None)
    try:
        executor = submitit.AutoExecutor(folder=str(store.folder / "slurm" / "%j"), cluster=cluster)
        executor.update_parameters(name=f"sweep-{name}", **{key: plain(value) for key, value in given.items()})
    except (RuntimeError, NameError, TypeError, ValueError) as error:
        raise UserError(f"--slurm: {reason_of(error)}") from None
    place, jobs = str(store.folder.resolve()), how.workers or DEFAULT_JOBS
    before = set(store.done())
    with executor.batch():
        submitted = [
            executor.submit(Part(str(file.resolve()), place, number, jobs, how.retry)) for number in range(jobs)
        ]
    try:
        while not all(job.done() for job in submitted):
            time.sleep(LOOK_SECONDS)
    except KeyboardInterrupt:
        for job in submitted:
            job.cancel()
        raise
    plan = make_plan(name, found, store)
    failed = {
        key: store.failure(key).get("reason", "unknown")
        for key, status in statuses(list(plan.status), store).items()
        if status == "failed"
    }
    for job in submitted:
        lost = job.exception()
        if lost is not None:
            failed[f"job-{job.job_id}"] = reason_of(lost)
    return Ran(plan, Report(sorted(store.done() - before), [], failed, []))


def plain(value: str) -> Any:
    """A number as a number."""
    return int(value) if value.isdigit() else value
