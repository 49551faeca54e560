"""``sweep plan`` and ``sweep new``: the points, their keys, why each would run, and the cost."""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rayplay.formats.guard.answer import Record, answer
from rayplay.formats.guard.command import add_verb
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.publish import atomic_file
from rayplay.sweep.plan.plan import Plan, Planned
from rayplay.sweep.verbs.arguments import add_sweep_verb, planned

SHOWN = 20
EXAMPLE = Path(__file__).with_name("example.toml")


def add_parsers(verbs: Any) -> None:
    """The options of the verbs."""
    made = add_sweep_verb(verbs, plan_verb)
    made.add_argument("--all", action="store_true", help=f"list every point, not the first {SHOWN}")
    add_verb(verbs, new_verb).add_argument("out", type=Path, metavar="NAME.toml", help="file to write; must not exist")


def new_verb(arguments: argparse.Namespace) -> int:
    """An example -> NAME.toml, to change.

    example:
      python -m sweep new study.toml
    """
    out: Path = arguments.out
    if out.suffix != ".toml" or out.exists():
        raise UserError(f"{out}: must end in .toml and must not exist")
    with atomic_file(out) as partial:
        partial.write_bytes(EXAMPLE.read_bytes())
    answer(arguments, [f"wrote {out}; rayplay sweep plan {out} lists its points"], lambda: [{"out": str(out)}])
    return 0


def plan_verb(arguments: argparse.Namespace) -> int:
    """A sweep file -> its points, with keys, and why each would run.

    Nothing is run. A point that has a complete result, of this sweep or of any other in the store, does not run again.

    example:
      python -m sweep plan study.toml
    """
    plan = planned(arguments)
    listed = plan.planned if arguments.all else plan.planned[:SHOWN]
    answer(arguments, [*(line(plan, each) for each in listed), *summary(plan)], lambda: records(plan))
    return 0


def line(plan: Plan, each: Planned) -> str:
    """A point: the first digits of its key, its parameters, and why it would run."""
    return f"{(each.key or '-')[:12]:<13}{shown(plan, each)}: {plan.why(each)}"


def shown(plan: Plan, each: Planned) -> str:
    """The parameters of a point on one line."""
    return " ".join(f"{name}={value}" for name, value in plan.about(each.point).items() if value != "")


def summary(plan: Plan) -> Iterator[str]:
    """Counts, reasons and cost."""
    statuses, total = Counter(plan.status.values()), len(plan.planned)
    if total > SHOWN:
        yield f"{total:,} points (--all lists them)"
    unrendered = plan.counts()["unrendered"]
    yield (
        f"{total:,} points, {len(plan.status):,} different; {statuses['done']:,} done, {statuses['failed']:,} failed,"
        f" {statuses['missing']:,} to run" + (f", {unrendered:,} of scenes to render first" if unrendered else "")
    )
    reasons = Counter(plan.why(each) for each in would_run(plan))
    for reason, count in sorted(reasons.items(), key=lambda item: -item[1]):
        yield f"  {count:,}: {reason}"
    yield cost_line(plan)


def would_run(plan: Plan) -> list[Planned]:
    """Points that a run would start, and those whose scene it would render."""
    return [
        each
        for each in plan.planned
        if each.key is None or (each.same_as is None and plan.status[each.key] == "missing")
    ]


def cost_line(plan: Plan) -> str:
    """Expected time, memory and disk of a run."""
    known = plan.measured_seconds()
    costs = [plan.cost(each, known) for each in would_run(plan)]
    seconds, disk = sum(each.seconds for each in costs), sum(each.disk_kb for each in costs)
    memory = max((each.memory_mb for each in costs), default=0.0)
    longest = max((each.seconds for each in costs), default=0.0)
    return (
        f"estimate: {duration(seconds)} of processor time, {duration(longest)} the longest point,"
        f" {memory:,.0f} MB a point, {disk / 1000:,.1f} MB on disk"
    )


def duration(seconds: float) -> str:
    """Seconds for a reader."""
    for unit, size in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:,.1f} s"


def records(plan: Plan) -> Iterator[Record]:
    """A record per point."""
    known = plan.measured_seconds()
    for number, each in enumerate(plan.planned):
        cost = plan.cost(each, known)
        status = "unrendered" if each.key is None else plan.status[each.key]
        yield {
            "point": number, "key": each.key, "status": status, "why": plan.why(each), **plan.about(each.point),
            "seconds": round(cost.seconds, 3), "memory_mb": round(cost.memory_mb), "disk_kb": round(cost.disk_kb),
        }  # fmt: skip
