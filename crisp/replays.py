"""A replay of traces together, and what a study keeps of it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.crisp.sources import Source
from rayplay.crisp.suite import gpu_of
from rayplay.formats.guard.digest import source_digest
from rayplay.zatel.replays.result_cache import engine_identity

UNITS = ("sm", "lsu", "l1d", "l2", "dram")  # whose counters are kept, class by class
OWN = ("cycles", "passes", "warp_instructions", "resident_warp_cycles")
LINES, OCCUPANCY = "l2_lines", "resident_warp_cycles"


@dataclass(frozen=True)
class Replayed:
    """Traces together on a GPU of the suite, each a class of work that begins again until all have ended once.

    classes   name and trace of each.
    interval  cycles of a row of the series.
    """

    classes: tuple[tuple[str, Source], ...]
    gpu: str
    partition: str
    interval: int

    @property
    def sources(self) -> tuple[Source, ...]:
        """The traces."""
        return tuple(source for _, source in self.classes)

    def inputs(self) -> dict[str, Any]:
        """Everything that decides the replay, beside the traces."""
        from rayplay.replay.sharing.rules import read_partition

        how = {"partition": asdict(read_partition(self.partition)), "interval": self.interval}
        gpu = asdict(gpu_of(self.gpu)) | {"name": ""}
        names = [name for name, _ in self.classes]
        code = [engine_identity(), source_digest(["crisp/replays.py"])]
        return {"replayed": names, "gpu": gpu, "how": how, "code": code}

    def perform(self, traces: Sequence[Path]) -> dict[str, Any]:
        """Cycles, each class's own numbers and counters, lines of the L2, occupancy, and the grants over time."""
        from rayplay.replay.launch.classes import Given, join
        from rayplay.replay.run.together import How, replay_together
        from rayplay.replay.sharing.rules import read_partition

        given = [Given(name, path, ()) for (name, _), path in zip(self.classes, traces, strict=True)]
        how = How(read_partition(self.partition), alone=False, interval=self.interval)
        gpu = gpu_of(self.gpu)
        result = replay_together(join(given), gpu, how)
        classes = {}
        for row, (name, _) in enumerate(self.classes):
            own = {key: result.by_class["classes"][0][key][row].item() for key in OWN}
            classes[name] = own | {"counters": _counters(result.by_class["class_counters"], name)}
        series = _series(result.by_class["class_timeline"], gpu.sm.count * gpu.sm.warps * self.interval)
        grants = _ways(result.by_class["class_grants"])
        return {"cycles": int(result.value("gpu_cycles")), "classes": classes, "series": series, "ways": grants}


def _counters(parts: Sequence[dict[str, np.ndarray]], name: str) -> dict[str, int]:
    """Sums over the instances of a class's counters, as ``unit.counter``."""
    found: dict[str, int] = {}
    for part in parts:
        if part["class"][0] == name and part["unit"][0] in UNITS:
            key = f"{part['unit'][0]}.{part['counter'][0]}"
            found[key] = found.get(key, 0) + int(part["value"].sum())
    return found


def _ways(parts: Sequence[dict[str, np.ndarray]]) -> dict[str, list[int]]:
    """Ways of the L2's sets that each class may hold, by the ``cycle`` from which it may."""
    found: dict[str, list[int]] = {"cycle": [int(part["start_cycle"][0]) for part in parts]}
    for part in parts:
        is_ways = part["resource"] == "l2_ways"
        for name, value in zip(part["class"][is_ways].tolist(), part["value"][is_ways].tolist(), strict=True):
            found.setdefault(name, []).append(value)
    return found


def _series(parts: Sequence[dict[str, np.ndarray]], warp_cycles: int) -> dict[str, list[float]]:
    """Shares over time: ``lines CLASS texture|other`` of the L2's lines, ``warps CLASS`` of the warp-cycles."""
    found: dict[str, list[float]] = {"cycle": [int(part["start_cycle"][0]) for part in parts]}
    for row, part in enumerate(parts):
        is_lines = part["unit"] == LINES
        total = int(part["value"][is_lines].sum())
        is_resident = (part["counter"] == OCCUPANCY) & (part["class"] != "")
        shown = {name: part[name][is_lines | is_resident].tolist() for name in ("unit", "class", "counter", "value")}
        for unit, name, counter, value in zip(*shown.values(), strict=True):
            words, whole = (("lines", name, counter), total) if unit == LINES else (("warps", name), warp_cycles)
            found.setdefault(" ".join(word for word in words if word), [0.0] * row).append(value / whole)
    return found
