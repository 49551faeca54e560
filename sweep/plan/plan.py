"""The plan of a sweep: the key of each point, what the store has of it, and why it would run."""

import json
from collections import Counter
from collections.abc import Set
from typing import Any, NamedTuple

from rayplay.formats.guard.digest import canonical
from rayplay.replay.unit.schema import literal
from rayplay.sweep.plan.costs import Cost, cost, measured
from rayplay.sweep.plan.gpus import Gpus
from rayplay.sweep.plan.keys import document, key_of
from rayplay.sweep.plan.traces import Known, known, render_task
from rayplay.sweep.plan.verdict import SKIPPED, skipped
from rayplay.sweep.space.points import Point, Space
from rayplay.sweep.store.store import Store

PARTS = ("trace", "gpu", "plugin", "model", "options", "keep", "engine")  # of an identity, in the order of telling
WORDS = {
    "trace": "the trace has other content", "gpu": "the GPU has other values", "plugin": "the plug-in's text changed",
    "model": "another model", "options": "other options of the method", "keep": "another kind of result is kept",
    "engine": "the sources that decide results changed",
}  # fmt: skip
NEW, UNRENDERED = "new", "its scene must be rendered first"


class Planned(NamedTuple):
    """A point with its key.

    key       None until its scene is rendered.
    identity  what the key is the digest of.
    same_as   number of an earlier point with the same key, which runs for both.
    """

    point: Point
    key: str | None
    identity: dict[str, Any]
    same_as: int | None


class Plan(NamedTuple):
    """All points of a sweep against a store.

    inputs    of the points, as far as known.
    status    key -> done, failed or missing; of unrendered inputs there is no key.
    was       label of a point -> identity at the last run of a sweep of this name.
    """

    name: str
    space: Space
    store: Store
    gpus: Gpus
    inputs: list[Known]
    planned: list[Planned]
    status: dict[str, str]
    was: dict[str, dict[str, Any]]

    def label(self, point: Point) -> str:
        """A point in the words of its file: equal before and after a change of sources or of a trace's content."""
        return canonical([self.inputs[point.input].input.name, *point[1:6], self.space.designs[point.design]])

    def missing(self) -> list[str]:
        """Keys without a result and without a failure, in the order of the file, each once."""
        return [key for key, status in self.status.items() if status == "missing"]

    def first_of(self) -> dict[str, Planned]:
        """Key -> the first point that has it."""
        return {each.key: each for each in self.planned if each.key is not None and each.same_as is None}

    def why(self, each: Planned) -> str:
        """Why a point would run, or why not."""
        if each.key is None:
            return UNRENDERED
        if each.same_as is not None:
            return f"equal to point {each.same_as}"
        if self.status[each.key] != "missing":
            return self.status[each.key]
        before = self.was.get(self.label(each.point))
        if before is None:
            return NEW
        changed = [WORDS[part] for part in PARTS if before.get(part) != each.identity[part]]
        return "; ".join(changed) or "was interrupted, or its result is gone or damaged"

    def cost(self, each: Planned, seconds: dict[tuple[int, str], float | None]) -> Cost:
        """Expected cost of a point. seconds: measured, from ``measured_seconds``."""
        point, sweep = each.point, self.space.sweep
        found = cost(self.inputs[point.input].size, point.method, sweep.keep, seconds.get((point.input, point.method)))
        need = sweep.limits.memory_mb
        return found if need is None else found._replace(memory_mb=float(need))

    def measured_seconds(self) -> dict[tuple[int, str], float | None]:
        """(input, method) -> mean processor time of its finished points."""
        keys: dict[tuple[int, str], list[str]] = {}
        for each in self.planned:
            if each.key is not None and self.status[each.key] == "done":
                keys.setdefault((each.point.input, each.point.method), []).append(each.key)
        return {group: measured(self.store, found) for group, found in keys.items()}

    def task(self, each: Planned) -> dict[str, Any]:
        """A point for a worker process, as JSON."""
        point, sweep = each.point, self.space.sweep
        values = self.space.designs[point.design]
        return {
            "kind": "point", "key": each.key, "store": self.store.place, "identity": each.identity,
            "trace": self.inputs[point.input].path, "gpu": point.gpu, "plugin": point.plugin, "model": point.model,
            "assignments": [f"{key}={literal(value)}" for key, value in values.items()], "method": point.method,
            "options": each.identity["options"], "keep": sweep.keep, "about": self.about(point),
        }  # fmt: skip

    def about(self, point: Point) -> dict[str, Any]:
        """The parameters of a point: a column each in tables."""
        given = self.inputs[point.input].input
        row: dict[str, Any] = {"trace": given.name, "gpu": point.gpu}
        row |= {"plugin": point.plugin, "model": point.model or "default", "method": point.method, "seed": point.seed}
        return row | dict(self.space.designs[point.design])

    def renders(self) -> list[dict[str, Any]]:
        """Tasks that render missing scenes."""
        return [render_task(each.input, self.store) for each in self.inputs if each.digest is None]

    def counts(self) -> Counter[str]:
        """Points by status: done, failed, missing, unrendered."""
        return Counter("unrendered" if each.key is None else self.status[each.key] for each in self.planned)


def make_plan(name: str, space: Space, store: Store, gpus: Gpus | None = None) -> Plan:
    """The plan of a space. Every result that it calls done was read, and its digest verified.

    gpus  of an earlier plan of the space, which has built them.

    Raises ``UserError`` for a trace that is missing, and for a GPU, value or plug-in that breaks a rule.
    """
    inputs, gpus = [known(each, store) for each in space.inputs], gpus or Gpus()
    digests = _Digests(space, gpus)
    planned, first = [], dict[str, int]()
    for number, point in enumerate(space.points):
        gpu, plugin = digests.of(point)
        digest = inputs[point.input].digest
        if digest is None:
            planned.append(Planned(point, None, {}, None))
            continue
        identity = document(digest, gpu, plugin, point, space.sweep)
        key = key_of(identity)
        planned.append(Planned(point, key, identity, first.get(key)))
        first.setdefault(key, number)
    status = statuses(list(first), store, skipped(name, store))
    return Plan(name, space, store, gpus, inputs, planned, status, remembered(name, store))


class _Digests:
    """Digests of GPU and plug-in by point, each computed once."""

    def __init__(self, space: Space, gpus: Gpus) -> None:
        self.space, self.gpus = space, gpus
        self._known: dict[tuple[str, str, int], tuple[str, str | None]] = {}

    def of(self, point: Point) -> tuple[str, str | None]:
        key = (point.gpu, point.plugin, point.design)
        if key not in self._known:
            plugin = self.gpus.plugin(point.plugin)
            gpu = self.gpus.built(point.gpu, point.plugin, self.space.designs[point.design])
            self._known[key] = self.gpus.digest(gpu), plugin.digest if plugin else None
        return self._known[key]


def statuses(keys: list[str], store: Store, skipped: Set[str] = frozenset()) -> dict[str, str]:
    """Key -> done, failed, skipped or missing."""
    there, failed = store.done(), store.failed()
    found = {}
    for key in keys:
        if key in there and store.get(key) is not None:
            found[key] = "done"
        else:
            found[key] = "failed" if key in failed else SKIPPED if key in skipped else "missing"
    return found


def remember(plan: Plan) -> None:
    """Keep what the points were, so that a later plan can say what changed; each different text once."""
    rows = [each for each in plan.planned if each.key is not None]
    texts: dict[str, int] = {}
    found = {
        plan.label(each.point): [texts.setdefault(canonical(each.identity[part]), len(texts)) for part in PARTS]
        for each in rows
    }
    written = json.dumps({"was": found, "texts": list(texts)}, separators=(",", ":"))
    plan.store.medium.write(f"plans/{plan.name}.json", written.encode())


def remembered(name: str, store: Store) -> dict[str, dict[str, Any]]:
    """Label -> identity at the last run; empty before the first, and where it cannot be read."""
    content = store.medium.read(f"plans/{name}.json")
    if content is None:
        return {}
    try:
        found = json.loads(content)
        texts = [json.loads(text) for text in found["texts"]]
        return {
            label: {part: texts[place] for part, place in zip(PARTS, places, strict=True)}
            for label, places in found["was"].items()
        }
    except (ValueError, KeyError, IndexError, TypeError):
        return {}
