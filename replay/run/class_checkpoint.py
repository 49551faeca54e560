"""Classes of work in a checkpoint: their passes and timeline, and the choices and plans of their partition."""

from typing import Any

import numpy as np

from rayplay.formats.place.checkpoint import take_back
from rayplay.replay.results.by_class import ClassTimeline
from rayplay.replay.results.ledger import flat
from rayplay.replay.run.adapting import Adapting

PARTS = ("start_cycle", "class", "unit", "counter", "value")  # columns of a part of the timeline
GRANTS = ("start_cycle", "class", "resource", "value")


def take(timeline: ClassTimeline, adapting: Adapting, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Add to the facts and arrays of a checkpoint."""
    facts["classes"] = {"passes": timeline.together.passes, "start": timeline.start, "parts": len(timeline.parts)}
    for number, counters in enumerate(timeline.before):
        arrays[f"classes.before.{number}"] = flat(counters)
    for name in PARTS if timeline.parts else ():
        arrays[f"classes.parts.{name}"] = np.concatenate([part[name] for part in timeline.parts])
    if adapting.grants is not None:
        for name in GRANTS:
            arrays[f"classes.grants.{name}"] = np.concatenate([part[name] for part in adapting.grants.parts])
    if (chooser := adapting.chooser) is not None:
        facts["classes"]["due"] = chooser.due
        arrays["classes.chooser.before"] = chooser.before


def give(timeline: ClassTimeline, adapting: Adapting, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Put classes that have not begun where ``take`` was called."""
    held = facts["classes"]
    timeline.together.passes[:] = held["passes"]
    timeline.start = held["start"]
    for number, counters in enumerate(timeline.before):
        reading, end = arrays[f"classes.before.{number}"], 0
        for name, values in ((f"{unit}.{name}", v) for unit, group in counters.items() for name, v in group.items()):
            take_back(values, reading[end : end + len(values)], f"classes.before.{number}.{name}")
            end += len(values)
    if held["parts"]:
        timeline.parts = [{name: arrays[f"classes.parts.{name}"] for name in PARTS}]
    if adapting.grants is not None:
        adapting.grants.parts = [{name: arrays[f"classes.grants.{name}"] for name in GRANTS}]
    if (chooser := adapting.chooser) is not None:
        chooser.due = held["due"]
        take_back(chooser.before, arrays["classes.chooser.before"], "classes.chooser.before")
