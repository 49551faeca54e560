"""``sweep run``: run missing points, and say how it ended."""

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from rayplay.formats.guard.answer import answer
from rayplay.formats.guard.errors import UserError
from rayplay.sweep.drive.run import How, Ran, run, warn_about_workers
from rayplay.sweep.executors.executor import EXECUTORS
from rayplay.sweep.plan.plan import Plan, make_plan
from rayplay.sweep.plan.verdict import SKIPPED
from rayplay.sweep.space.file import read_sweep
from rayplay.sweep.store.store import Store
from rayplay.sweep.verbs.arguments import add_sweep_verb, described
from rayplay.sweep.verbs.planning import command, shown

EXIT_INCOMPLETE = 1
LOG_SHOWN, FAILURES_SHOWN = 5, 10


def add_parsers(verbs: Any) -> None:
    """The options of the verb."""
    made = add_sweep_verb(verbs, run_verb)
    made.add_argument("--executor", choices=EXECUTORS, default="processes",
                      help="processes of this machine, inline in this one, a dask cluster, or an array of Slurm jobs "
                      "(default: %(default)s)")  # fmt: skip
    made.add_argument("--workers", type=int, metavar="N",
                      help="points at a time, or jobs of slurm (default: one per core)")  # fmt: skip
    made.add_argument("--address", metavar="HOST:PORT", help="dask: scheduler to join (default: a local cluster)")
    made.add_argument("--slurm", action="append", default=[], metavar="KEY=VALUE",
                      help="slurm: option of submitit, such as slurm_partition=short; repeatable")  # fmt: skip
    made.add_argument("--memory-mb", type=float, metavar="MB",
                      help="that running points may need together (default: 80 %% of the free memory)")  # fmt: skip
    made.add_argument("--part", default="0/1", metavar="I/N",
                      help="run only every N-th point from the I-th on, which counts from 0")  # fmt: skip
    made.add_argument("--stop-after", type=float, metavar="SECONDS", help="end then, as by Ctrl-C")
    made.add_argument("--budget", action="store_true",
                      help="a cheap measure of large traces first, full replays only where the Pareto front is "
                      "undecided, and of the designs on it")  # fmt: skip
    made.add_argument("--trials", type=int, metavar="N",
                      help="search the ranges of design.random by successive halving with Optuna: N designs on the "
                      "first trace, half of them on two, ...; prints the best as a design.list")  # fmt: skip
    made.add_argument("--retry", action="store_true", help="run points again that failed")


def run_verb(arguments: argparse.Namespace) -> int:
    """A sweep file -> results of every point.

    Runs what has no result; the same command goes on where an earlier run ended, however that was. Several runs on
    several machines may share a store: each point runs once. A point that fails is reported with the last lines of its
    log, and the others run on. Exit code 0 when every point has a result, else 1.

    example:
      python -m sweep run study.toml --workers 2
    """
    how = read_how(arguments)
    if arguments.trials is not None:
        return search(arguments, how)
    name, found, store = described(arguments)
    warn_about_workers(how)
    try:
        if how.executor == "slurm":
            from rayplay.sweep.drive.array import run_array

            ran = run_array(arguments.file, name, found, store, how, arguments.slurm)
        elif arguments.budget:
            from rayplay.sweep.explore.budget import budgeted, spent_line

            ran, spent = budgeted(name, found, store, how)
            print(spent_line(spent), file=sys.stderr)
        else:
            ran = run(name, found, store, how)
    except KeyboardInterrupt:
        print("\n".join(standing(make_plan(name, found, store))), file=sys.stderr)
        raise
    whole = is_whole(ran, how)
    lines = [*outcome(ran), *([f"{command(arguments, 'report')} compares them"] if whole else [])]
    answer(arguments, lines, lambda: status_records(ran.plan))
    return 0 if whole else EXIT_INCOMPLETE


def search(arguments: argparse.Namespace, how: How) -> int:
    """Search a space, and print the best designs."""
    from rayplay.sweep.explore.halving import halve, lines_of

    sweep = read_sweep(arguments.file)
    arguments.store = arguments.store or str(arguments.file.with_suffix(".sweep"))
    found = halve(arguments.file.stem, sweep, Store(arguments.store), how, arguments.trials)
    answer(arguments, lines_of(found, sweep), lambda: [{**each.values, **each._asdict()} for each in found])
    return 0


def read_how(arguments: argparse.Namespace) -> How:
    """Options of a run; ``UserError`` for numbers that cannot be."""
    for name in ("workers", "memory_mb", "stop_after", "trials"):
        value = getattr(arguments, name)
        if value is not None and value <= 0:
            raise UserError(f"--{name.replace('_', '-')} must be more than 0, not {value:g}")
    number, slash, of = arguments.part.partition("/")
    if not (slash and number.isdigit() and of.isdigit() and int(number) < int(of)):
        raise UserError(f"--part must be I/N with I from 0 to N - 1, not {arguments.part}")
    return How(
        arguments.executor, arguments.workers, arguments.address, arguments.memory_mb, (int(number), int(of)),
        arguments.stop_after, arguments.retry,
    )  # fmt: skip


def is_whole(ran: Ran, how: How) -> bool:
    """Whether every point of this run has a result, and none has two."""
    if ran.report.failed or ran.report.different:
        return False
    return how.part[1] > 1 or ran.plan.counts().keys() <= {"done", SKIPPED}


def outcome(ran: Ran) -> Iterator[str]:
    """Outcome of a run, and the state of the sweep."""
    report = ran.report
    said = f"ran {len(report.done):,}"
    if report.elsewhere:
        said += f"; {len(report.elsewhere):,} came from other drivers"
    yield said
    for key in report.different:
        yield f"BUG: two runs of {key} differ; differences/{key}-* in the store has the second"
    for key, reason in report.failed.items():
        if key.startswith("trace-"):
            yield f"not rendered: {key}: {reason}"
    yield from standing(ran.plan)


def standing(plan: Plan) -> Iterator[str]:
    """``199 of 200``, and why not 200."""
    counts, total = plan.counts(), len(plan.planned)
    yield f"{counts['done']:,} of {total:,} points are done" + "".join(
        f", {counts[status]:,} {status}" for status in ("failed", "missing", "unrendered", SKIPPED) if counts[status]
    )
    failed = [each for each in plan.planned if each.key and plan.status[each.key] == "failed" and each.same_as is None]
    for each in failed[:FAILURES_SHOWN]:
        found = plan.store.failure(each.key or "")
        yield f"failed: {shown(plan, each)}: {found.get('reason', 'no reason is known')}"
        yield from (f"    | {line}" for line in found.get("log", [])[-LOG_SHOWN:])
    if len(failed) > FAILURES_SHOWN:
        yield f"and {len(failed) - FAILURES_SHOWN} more failed points"
    if failed:
        yield "sweep run --retry runs failed points again"


def status_records(plan: Plan) -> Iterator[dict[str, Any]]:
    """A record per point: key, status, reason."""
    for number, each in enumerate(plan.planned):
        status = "unrendered" if each.key is None else plan.status[each.key]
        reason = plan.store.failure(each.key).get("reason") if each.key and status == "failed" else None
        yield {"point": number, "key": each.key, "status": status, "reason": reason, **plan.about(each.point)}
