"""``sweep plan`` and ``sweep new``: the points, their keys, why each would run, and the cost."""

import argparse
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from rayplay.formats.guard.answer import Record, answer
from rayplay.formats.guard.command import add_verb
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.publish import atomic_file
from rayplay.sweep.plan.plan import Plan, Planned
from rayplay.sweep.plan.verdict import SKIPPED
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
    lines = [*points(plan, listed), *summary(plan)]
    if would_run(plan):
        lines += [cost_line(plan), f"{command(arguments, 'run')} runs them"]
    answer(arguments, lines, lambda: records(plan))
    return 0


def points(plan: Plan, listed: Sequence[Planned]) -> Iterator[str]:
    """Points: the first digits of the key, the parameters, and why it would run; first what all have in common."""
    abouts = [plan.about(each.point) for each in plan.planned]
    names = dict.fromkeys(name for about in abouts for name in about)
    alike = {name for name in names if all(about.get(name) == abouts[0].get(name) for about in abouts)}
    if len(abouts) > 1 and alike:
        yield f"all points: {shown(plan, plan.planned[0], names.keys() - alike)}"
    for each in listed:
        own = shown(plan, each, alike if len(abouts) > 1 else ())
        yield f"{(each.key or '')[:12]:<13}{own}: {plan.why(each)}".lstrip()
    if len(listed) < len(abouts):
        yield f"... and {len(abouts) - len(listed):,} more; --all lists them"


def shown(plan: Plan, each: Planned, without: Collection[str] = ()) -> str:
    """The parameters of a point on one line."""
    about = plan.about(each.point).items()
    return " ".join(f"{name}={value}" for name, value in about if value != "" and name not in without)


def command(arguments: argparse.Namespace, verb: str) -> str:
    """The command that does another verb on the same file and store."""
    own = str(arguments.file.with_suffix(".sweep"))
    words = ["rayplay", "sweep", verb, str(arguments.file)]
    return shlex.join(words + (["--store", str(arguments.store)] if arguments.store != own else []))


def summary(plan: Plan) -> Iterator[str]:
    """Counts, and reasons to run."""
    counts, total = Counter(plan.status.values()), len(plan.planned)
    found = {
        "done": counts["done"], "failed": counts["failed"], SKIPPED: counts[SKIPPED], "to run": counts["missing"],
        "of scenes to render first": plan.counts()["unrendered"],
        "equal to others": sum(each.same_as is not None for each in plan.planned),
    }  # fmt: skip
    yield f"{total:,} points: " + ", ".join(f"{count:,} {what}" for what, count in found.items() if count)
    reasons = Counter(plan.why(each) for each in would_run(plan))
    for reason, count in sorted(reasons.items(), key=lambda item: -item[1]):
        yield f"  {count:,}: {reason}"


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
