"""``sweep status`` and ``sweep prune``: look at a store, and remove what no sweep needs."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rayplay.formats.guard.answer import answer
from rayplay.formats.guard.errors import UserError
from rayplay.sweep.plan.plan import make_plan
from rayplay.sweep.plan.verdict import SKIPPED
from rayplay.sweep.space.file import read_sweep
from rayplay.sweep.space.points import space
from rayplay.sweep.store.claims import living
from rayplay.sweep.store.store import Store
from rayplay.sweep.verbs.arguments import add_sweep_verb, described, planned
from rayplay.sweep.verbs.running import EXIT_INCOMPLETE, standing, status_records


def add_parsers(verbs: Any) -> None:
    """The options of the verbs."""
    add_sweep_verb(verbs, status_verb)
    prune = add_sweep_verb(verbs, prune_verb)
    prune.add_argument("--also", action="append", default=[], type=Path, metavar="FILE",
                       help="further sweep file whose results stay; repeatable")  # fmt: skip
    prune.add_argument("--remove", action="store_true", help="remove; without it only say what would go")


def status_verb(arguments: argparse.Namespace) -> int:
    """A sweep file -> counts of done, failed, running and missing points.

    Read from the store alone: every result counted as done was read, and its digest verified. Exit code 0 when all are
    done, else 1.

    example:
      python -m sweep status study.toml
    """
    plan = planned(arguments)
    lines = list(standing(plan))
    for driver in living(plan.store.medium):
        mine = [key for key in driver["keys"] if key in plan.status]
        lines.append(f"running: {len(mine)} points by process {driver['pid']} on {driver['host']}")
    different = plan.store.medium.names("differences")
    lines += [f"BUG: a second run differs: differences/{name}" for name in sorted(different)]
    answer(arguments, lines, lambda: status_records(plan))
    return 0 if plan.counts().keys() <= {"done", SKIPPED} and not different else EXIT_INCOMPLETE


def prune_verb(arguments: argparse.Namespace) -> int:
    """A sweep file -> its store without results that it does not need, and without what killed runs left.

    Results of other sweeps in the store go as well, unless --also names their files. Without --remove nothing goes.

    example:
      python -m sweep prune study.toml --remove
    """
    name, found, store = described(arguments)
    wanted: set[str] = set()
    for file, each in [(name, found), *((path.stem, space(read_sweep(path))) for path in arguments.also)]:
        plan = make_plan(file, each, store)
        if plan.renders():
            raise UserError(f"{file}: its scenes must be rendered before prune can tell which results it needs")
        wanted |= plan.status.keys()
    lines, records = [], []
    for what, folder, names in useless(store, wanted):
        verb = "removed" if arguments.remove else "would remove"
        lines += [f"{verb} {len(names):,} {what}"] if names else []
        records.append({"what": what, "count": len(names), "removed": arguments.remove})
        if arguments.remove:
            for each_name in names:
                store.medium.remove(f"{folder}/{each_name}")
    if lines and not arguments.remove:
        lines.append("--remove removes them")
    answer(arguments, lines or ["nothing to remove"], lambda: records)
    return 0


def useless(store: Store, wanted: set[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Kind, folder and names of useless entries; while a driver runs nothing of its own does."""
    drivers = living(store.medium)
    held = {key for driver in drivers for key in driver["keys"]}
    results = [key for key in store.done() if key not in wanted | held]
    yield "results that no sweep file asks for", "results", sorted(results)
    failed = [f"{key}.json" for key in store.failed() if key not in wanted | held]
    yield "failures of such points", "failed", sorted(failed)
    stale = [key for key in store.medium.names("claims") if key not in held]
    yield "claims of drivers that ended", "claims", sorted(stale)
    if not drivers:
        yield "partial results of runs that were killed", "tmp", sorted(store.medium.names("tmp"))
        yield "heartbeats of drivers that ended", "drivers", sorted(store.medium.names("drivers"))
