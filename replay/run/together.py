"""Replay classes of work together under a partition, and each alone on the whole GPU, which it is compared with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rayplay.formats.place.checkpoint import Checkpoints
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.input.program import read_characterisation
from rayplay.replay.launch.classes import Joined
from rayplay.replay.launch.selection import Selection
from rayplay.replay.launch.shared import Shared
from rayplay.replay.results.metrics import Result
from rayplay.replay.run.driver import INTERVAL_CYCLES, simulate
from rayplay.replay.run.progress import Standing
from rayplay.replay.sm import models

DEFINITIONS = {
    "weighted_speedup": "Sum over the classes of work of alone_cycles / cycles.",
    "fairness": "Smallest alone_cycles / cycles of a class of work over the largest.",
}


@dataclass(frozen=True)
class How:
    """How a GPU is shared and simulated.

    partition  ``Spec`` of a rule.
    repeats    whether a class begins again until every other has ended once.
    alone      whether each class is replayed alone as well.
    The others are as in ``driver.simulate``.
    """

    partition: Any
    repeats: bool = True
    alone: bool = True
    model: str | None = None
    quantum: int | None = None
    threads: int = 1
    interval: int = INTERVAL_CYCLES


def replay_together(
    joined: Joined, gpu: Gpu, how: How, progress: Callable[[Standing], None] | None = None,
    notes: Checkpoints | None = None,
) -> Result:  # fmt: skip
    """The result of all classes together, with its tables by class; errors and ``notes`` as in ``driver.simulate``.

    Checkpoints are of the replay of all together, after which each is replayed alone.
    """
    model = models.choose(how.model, read_characterisation(joined.trace, None))
    shared = Shared(joined, how.partition, how.repeats)
    result = simulate(
        joined.trace, gpu, how.quantum, how.threads, None, progress, None, model, how.interval, notes, shared
    )  # fmt: skip
    if how.alone:
        compare(result, [alone(joined, number, gpu, model, how, progress) for number in range(len(joined.classes))])
    return result


def alone(
    joined: Joined, number: int, gpu: Gpu, model: str, how: How, progress: Callable[[Standing], None] | None
) -> int:  # fmt: skip
    """Cycles of a class replayed alone on the whole GPU."""
    own = joined.classes[number]
    selection = Selection(own.own_kernels)
    found = simulate(own.trace, gpu, how.quantum, how.threads, None, progress, selection, model, how.interval)
    return int(found.value("gpu_cycles"))


def compare(result: Result, alone_cycles: Sequence[int]) -> None:
    """Add slowdowns, weighted speed-up and fairness to a result."""
    table = result.by_class["classes"][0]
    table["alone_cycles"] = np.array(alone_cycles, np.int64)
    table["slowdown"] = table["cycles"] / np.maximum(table["alone_cycles"], 1)
    speed = table["alone_cycles"] / np.maximum(table["cycles"], 1)
    values = {"weighted_speedup": float(speed.sum()), "fairness": float(speed.min() / speed.max())}
    for name, value in values.items():
        result.summary[name] = {"value": value, "unit": "1", "kind": "ratio", "definition": DEFINITIONS[name]}


def class_lines(result: Result) -> list[str]:
    """A line per class of work, for the terminal."""
    table = result.by_class["classes"][0]
    lines = []
    for row, name in enumerate(table["class"]):
        cycles, passes, slowdown = int(table["cycles"][row]), int(table["passes"][row]), float(table["slowdown"][row])
        slower = f", {slowdown:.4g} x its {int(table['alone_cycles'][row]):,} alone" if slowdown else ""
        lines.append(f"{name}: done once at cycle {cycles:,}{slower}; {passes} x in all ({table['trace'][row]})")
    if "weighted_speedup" in result.summary:
        speedup, fairness = (result.value(name) for name in DEFINITIONS)
        lines.append(f"weighted speed-up {speedup:.4g}, fairness {fairness:.4g}")
    return lines + grant_lines(result)


def grant_lines(result: Result) -> list[str]:
    """For a partition that has changed, what its last plan grants each class, for the terminal."""
    parts = result.by_class["class_grants"]
    grants = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    starts = np.unique(grants["start_cycle"])
    if len(starts) == 1:
        return []
    last = {name: column[grants["start_cycle"] == starts[-1]] for name, column in grants.items()}
    held = dict(zip(zip(last["class"], last["resource"], strict=True), last["value"].tolist(), strict=True))
    classes = [
        f"{name} {_counted(held[name, 'warps'], 'warp')} on {_counted(held[name, 'sms'], 'SM')} and"
        f" {_counted(held[name, 'l2_ways'], 'way')} of the L2"
        for name in dict.fromkeys(last["class"].tolist())
    ]
    return [f"{len(starts)} plans, the last from cycle {int(starts[-1]):,} on: {'; '.join(classes)}"]


def _counted(number: int, thing: str) -> str:
    """``1 way``, ``2 ways``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
