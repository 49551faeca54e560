"""One replay as the page shows it: its result, the trace and what follows from their tables."""

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.dataset.result import Result
from rayplay.formats.guard.digest import file_digest
from rayplay.formats.guard.errors import UserError
from rayplay.replay.results.bottlenecks import amounts
from rayplay.replay.unit.cycle_stack import REASONS
from rayplay.replay.verdict import capacities, percent, queued_share, shares, unit_shares, verdict, warnings
from rayplay.report.pictures import grid

MOST_BINS = 300  # of a timeline; more intervals are joined
LEAST_QUEUED = 0.05  # of the wait for the RT unit; less is not worth a sentence, nor sure from looks
NO_STACK = "This model keeps no cycle stack, so that nothing says where the cycles went."


@dataclass(frozen=True)
class Timeline:
    """Intervals of a replay.

    edges    cycles, int64[bins + 1].
    reasons  share of the issue slots, float64[bins, len(REASONS)].
    units    unit -> share of its capacity, float64[bins].
    """

    edges: np.ndarray
    reasons: np.ndarray
    units: dict[str, np.ndarray]


@dataclass(frozen=True)
class Run:
    """A result, and the trace that it replays where one is given."""

    result: Result
    trace: Trace | None = None

    def __post_init__(self) -> None:
        if self.trace is None:
            return
        kernels = self.trace.read("kernels", ["kernel_id", "name"])
        name = dict(zip(kernels["kernel_id"].tolist(), kernels["name"].tolist(), strict=True))
        for row, kernel in enumerate(self.kernels["kernel_id"].tolist()):
            ours, theirs = self.kernels["name"][row], name.get(kernel)
            if ours != theirs and "launches" not in self.result.tables:
                raise UserError(
                    f"--trace {self.trace.path}: must be the trace that {self.result.path.name} replays;"
                    f" launch {kernel} is {theirs or 'missing'}, not {ours}"
                )

    @property
    def name(self) -> str:
        """The result's name without its suffix."""
        return self.result.path.name.partition(".")[0]

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The metrics."""
        return self.result.summary

    @cached_property
    def gpu(self) -> dict[str, Any]:
        """The GPU as the result's provenance has it, nested values; empty where it has none."""
        found = self.result.manifest.provenance.get("gpu")
        return found if isinstance(found, dict) else {}

    @cached_property
    def changes(self) -> list[tuple[str, object, object]]:
        """Key, value, value of the base, of each difference from the GPU of this name that comes with the package."""
        from rayplay.replay.gpu.description import load, shipped

        if str(self.gpu.get("name")) not in shipped():
            return []
        ours, base = flat(self.gpu), flat(asdict(load(str(self.gpu["name"]), [])))
        keys = [key for key in ours if ours[key] != base.get(key)]
        return [(key, ours[key], base.get(key, "none")) for key in keys]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the result's manifest, which holds the digest of every file."""
        return file_digest(self.result.path / "manifest.json") if (self.result.path / "manifest.json").is_file() else ""

    @cached_property
    def kernels(self) -> dict[str, np.ndarray]:
        """The table ``kernels``; without rows where the result has none."""
        empty: dict[str, np.ndarray] = {"kernel_id": np.zeros(0, np.int32), "name": np.zeros(0, object)}
        return self.result.read("kernels") if "kernels" in self.result.tables else empty

    @property
    def cycles(self) -> int:
        """Cycles of the whole replay."""
        found: int = self.summary["gpu_cycles"]["value"] if "gpu_cycles" in self.summary else 0
        return found

    def value(self, metric: str) -> float:
        """Value of a metric, 0 where it is not defined."""
        found: float | None = self.summary[metric]["value"] if metric in self.summary else None
        return found or 0

    @property
    def explained(self) -> bool:
        """Whether the result has cycle stack and utilisation, of cycles that are not 0."""
        return {"stack", "utilisation", "kernels"} <= set(self.result.tables) and self.cycles > 0

    @cached_property
    def slots(self) -> tuple[np.ndarray, np.ndarray]:
        """SMs, and their slots by reason."""
        return shares(self.result.read("stack"), "sm")

    @cached_property
    def units(self) -> dict[str, float]:
        """Unit -> share of its capacity that the replay used."""
        return unit_shares(self.result.read("utilisation"), self.kernels, self.cycles) if self.explained else {}

    @cached_property
    def verdict(self) -> str:
        """The sentence on the limit of the replay, and its place."""
        return verdict(self.result.read("stack"), self.units, self.summary) if self.explained else NO_STACK

    @cached_property
    def queued(self) -> float | None:
        """Share of the wait for the RT unit that is for a place in it; None without looks or without a wait."""
        if "stalls" not in self.result.tables or "rt_unit" not in self.counters:
            return None
        return queued_share(self.result.read("stalls"), self.counters["rt_unit"].get("warp_cycles", 0))

    @property
    def queue(self) -> str:
        """The same in words; empty where next to nothing queues."""
        if self.queued is None or self.queued < LEAST_QUEUED:
            return ""
        places = flat(self.gpu).get("rt.warps")
        key = f" (rt.warps = {places})" if places else ""
        return f"Of the warps' wait for the RT unit, {percent(self.queued)} is for a free place in it{key}."

    @cached_property
    def warnings(self) -> list[str]:
        """Notes to read before the numbers."""
        return warnings(self.summary, self.kernels, self.gpu)

    @cached_property
    def counters(self) -> dict[str, dict[str, int]]:
        """Unit -> counter -> sum over instances and launches; empty without the table."""
        if "counters" not in self.result.tables:
            return {}
        table, found = self.result.read("counters"), dict[str, dict[str, int]]()
        for unit, name, value in zip(table["unit"], table["counter"], table["value"].tolist(), strict=True):
            of = found.setdefault(unit, {})
            of[name] = of.get(name, 0) + value
        return found

    def pixels(self, column: str = "cycles") -> np.ndarray | None:
        """A column of the table ``pixels`` by pixel, int[height, width]; None without an image."""
        if "pixels" not in self.result.tables or not self.result.rows("pixels"):
            return None
        return grid(self.result.read("pixels", ["pixel_x", "pixel_y", column]), column)

    @cached_property
    def timeline(self) -> Timeline | None:
        """At most ``MOST_BINS`` intervals; None where the result has none or does not tell what the units could do."""
        if not self.explained or "timeline" not in self.result.tables or not self.result.rows("timeline"):
            return None
        table = self.result.read("timeline")
        starts, place = np.unique(table["start_cycle"], return_inverse=True)
        bins = min(len(starts), MOST_BINS)
        of_bin = np.arange(len(starts)) * bins // len(starts)
        first = starts[np.searchsorted(of_bin, np.arange(bins))]
        edges = np.append(first, max(int(self.kernels["end_cycle"].max()), int(first[-1]) + 1))
        events: dict[str, dict[str, np.ndarray]] = {}
        for row, (unit, name) in enumerate(zip(table["unit"], table["counter"], strict=True)):
            sums = events.setdefault(unit, {}).setdefault(name, np.zeros(bins, np.int64))
            sums[of_bin[place[row]]] += table["value"][row]
        return Timeline(edges, reason_shares(events, bins), self.unit_timeline(events, edges))

    def unit_timeline(self, events: dict[str, dict[str, np.ndarray]], edges: np.ndarray) -> dict[str, np.ndarray]:
        """Unit -> share of its capacity in each interval."""
        capacity = capacities(self.result.read("utilisation"), self.kernels)
        cycles, bins = np.diff(edges), range(len(edges) - 1)
        of_bin = [{unit: {n: v[at : at + 1] for n, v in of.items()} for unit, of in events.items()} for at in bins]
        found = [amounts(each) for each in of_bin]
        return {
            unit: np.array([each[unit] for each in found]) / (capacity[unit] * cycles)
            for unit in found[0] if capacity.get(unit)
        }  # fmt: skip


def reason_shares(events: dict[str, dict[str, np.ndarray]], bins: int) -> np.ndarray:
    """float64[bins, len(REASONS)]: shares of the issue slots of each interval."""
    none = np.zeros(bins, np.int64)
    slots = np.stack([events.get("stack", {}).get(reason, none) for reason in REASONS], axis=1)
    found: np.ndarray = slots / np.maximum(slots.sum(axis=1, keepdims=True), 1)
    return found


def flat(nested: dict[str, Any], prefix: str = "") -> dict[str, object]:
    """``{"l1.ways": 4}`` of ``{"l1": {"ways": 4}}``."""
    found: dict[str, object] = {}
    for key, value in nested.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in found.items()}


def moved_key(key: str, before: object, after: object) -> str:
    """A changed value of a description: key, old and new value, bytes in their binary units."""
    old, new = (
        binary(value) if key.endswith("bytes") and isinstance(value, int) else value for value in (before, after)
    )
    return f"{key} {old} \u2192 {new}"


def binary(count: int) -> str:
    """Bytes as the field writes sizes of caches: ``64 KiB`` where it is whole."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count and count % size == 0:
            return f"{count // size} {unit}"
    return f"{count:,} B"
