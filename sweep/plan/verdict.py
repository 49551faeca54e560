"""The verdict of a budgeted run, which did not replay every point: kept beside the plan, read by table and page."""

import json
from typing import Any, NamedTuple

from rayplay.sweep.store.store import Store

SKIPPED = "skipped"  # status of a point that the front does not depend on


class Judged(NamedTuple):
    """A design.

    label     of the design: ``compare.label_of``.
    values    metric -> value relative to the base (a share: itself), low and high end of its 95 % interval.
    on_front  probability.
    """

    label: str
    values: dict[str, tuple[float, float, float]]
    on_front: float


def keep_verdict(name: str, store: Store, keys: list[str], designs: list[Judged]) -> None:
    """Keep the keys that were not replayed, and every design as it was judged."""
    content = {"keys": sorted(keys), "designs": [each._asdict() for each in designs]}
    store.medium.write(_place(name), json.dumps(content).encode())


def forget_verdict(name: str, store: Store) -> None:
    """Forget it: every point is wanted."""
    store.medium.remove(_place(name))


def skipped(name: str, store: Store) -> set[str]:
    """Keys that the last budgeted run decided not to replay."""
    return set(_read(name, store)["keys"])


def judged(name: str, store: Store) -> dict[str, Judged]:
    """Label -> design."""
    found = {}
    for each in _read(name, store)["designs"]:
        values = {metric: (ends[0], ends[1], ends[2]) for metric, ends in each["values"].items()}
        found[each["label"]] = Judged(each["label"], values, each["on_front"])
    return found


def _read(name: str, store: Store) -> dict[str, list[Any]]:
    try:
        found = json.loads(store.medium.read(_place(name)) or b"{}")
        return {part: found[part] for part in ("keys", "designs")}
    except (ValueError, KeyError, TypeError):
        return {"keys": [], "designs": []}


def _place(name: str) -> str:
    return f"plans/{name}.{SKIPPED}.json"
