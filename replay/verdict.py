"""Limits of a replay, and their places: shares of the issue slots and of each unit, six numbers, a sentence.

It reads the tables of a result, so that the terminal, the picture and the report say the same.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rayplay.replay.unit import cycle_stack as stack

Columns = Mapping[str, Any]

PHRASES = {
    "issue": "issue of instructions", "data": "data dependences", "unit": "busy execution units",
    "lsu": "the load/store unit", "rt_unit": "rays in the RT unit", "memory": "memory loads and stores",
    "barrier": "barriers", "fetch": "instruction fetch", "idle": "idle schedulers (no live warp)",
}  # fmt: skip
OCCUPANCIES = ("warps", "rt_warps")  # rows of the utilisation that are no throughput
HELD = {"rt_unit": "a warp inside"}  # unit whose share is no throughput either, but of the cycles with
PREFIXES = ((1e9, "G"), (1e6, "M"), (1e4, "k"))  # of a value with a fraction
LAUNCH_SHARE = 0.1  # of the cycles, from which launch latency is worth a warning


class Figure(NamedTuple):
    """One number of a replay; no ``value`` where undefined."""

    name: str
    label: str
    value: float | None
    unit: str
    definition: str


SIX = {
    "gpu_cycles": "cycles", "gpu_ipc": "IPC", "rays_per_second": "rays per second",
    "l1d_miss_rate": "L1 misses", "l2_miss_rate": "L2 misses", "bandwidth_utilisation": "DRAM utilisation",
}  # fmt: skip
RAYS_PER_SECOND = "rt_closest_hit_rays and rt_any_hit_rays / seconds of the simulated GPU"


def six(summary: Columns) -> list[Figure]:
    """The six numbers of ``summary.json`` that say how a replay went."""

    def value(metric: str) -> float | None:
        found: float | None = summary[metric]["value"] if metric in summary else None
        return found

    rays, seconds = (value("rt_closest_hit_rays") or 0) + (value("rt_any_hit_rays") or 0), value("seconds")
    rate = rays / seconds if rays and seconds else None
    made: dict[str, Any] = {"rays_per_second": {"value": rate, "unit": "rays/s", "definition": RAYS_PER_SECOND}}
    unknown: dict[str, Any] = {"value": None, "unit": "1", "definition": "not in this result"}
    found = {name: made.get(name) or summary.get(name, unknown) for name in SIX}
    return [Figure(name, SIX[name], e["value"], e["unit"], e["definition"]) for name, e in found.items()]


def shares(table: Columns, key: str) -> tuple[np.ndarray, np.ndarray]:
    """Values of a key column, and the slots of each by reason: int64[values, len(REASONS)]."""
    keys, row = np.unique(table[key], return_inverse=True)
    slots = np.zeros((len(keys), len(stack.REASONS)), np.int64)
    column = np.array([stack.REASONS.index(reason) for reason in table["reason"]], np.int64)
    np.add.at(slots, (row, column), table["slots"])
    return keys, slots


def unit_shares(utilisation: Columns, kernels: Columns, cycles: int) -> dict[str, float]:
    """Unit -> share of its capacity in all ``cycles`` that it used."""
    units = dict.fromkeys(utilisation["unit"].tolist())
    rows = {unit: utilisation["unit"] == unit for unit in units}
    capacity = capacities(utilisation, kernels)
    return {unit: float(utilisation["used"][mine].sum() / (capacity[unit] * cycles)) for unit, mine in rows.items()}


def capacities(utilisation: Columns, kernels: Columns) -> dict[str, float]:
    """Unit -> its capacity in a cycle, as in the longest launch: others may have had the same cycles."""
    cycles = kernels["end_cycle"] - kernels["start_cycle"]
    longest = int(np.argmax(cycles))
    mine = utilisation["kernel_id"] == kernels["kernel_id"][longest]
    found = zip(utilisation["unit"][mine].tolist(), utilisation["capacity"][mine].tolist(), strict=True)
    return {unit: capacity / max(int(cycles[longest]), 1) for unit, capacity in found}


def verdict(table: Columns, units: Mapping[str, float], summary: Columns | None = None) -> str:
    """The largest share of the issue slots, the next, the busiest unit, and the SMs that have most and least of it.

    table    columns of ``stack``.
    units    as ``unit_shares`` gives them.
    summary  the metrics, of which the RT efficiency stands beside a busy RT unit.
    """
    sm, slots = shares(table, "sm")
    total = slots.sum(axis=0)
    order = np.argsort(-total, kind="stable")
    part = total / max(int(total.sum()), 1)
    first, second = (stack.REASONS[place] for place in order[:2])
    said = f"Limited by {PHRASES[first]}: {percent(part[order[0]])} of the issue slots"
    said += f"; next {PHRASES[second]}, {percent(part[order[1]])}."
    throughput = {unit: share for unit, share in units.items() if unit not in OCCUPANCIES}
    if throughput:
        busiest = max(throughput, key=lambda unit: throughput[unit])
        said += f" Busiest unit: {busiest}, {used_share(busiest, throughput[busiest])}"
        efficiency = (summary or {}).get("rt_efficiency", {}).get("value")
        said += f", RT efficiency {percent(efficiency)}." if busiest in HELD and efficiency is not None else "."
    by_sm = slots[:, order[0]] / np.maximum(slots.sum(axis=1), 1)
    most, least = int(np.argmax(by_sm)), int(np.argmin(by_sm))
    if most != least:
        said += f" By SM: {percent(by_sm[least])} of its own slots (SM {sm[least]})"
        said += f" to {percent(by_sm[most])} (SM {sm[most]})."
    return said


def used_share(unit: str, share: float) -> str:
    """A unit's share in the utilisation, with its base in words."""
    return f"{HELD[unit]} in {percent(share)} of the cycles" if unit in HELD else f"{percent(share)} of its capacity"


def queued_share(stalls: Columns, inside_warp_cycles: int) -> float | None:
    """Share of the warps' wait for the RT unit that passes before they are inside; None without a wait.

    stalls              columns of ``stalls``, whose looks see waits for a place and inside alike.
    inside_warp_cycles  cycles of warps in the unit, its counter ``warp_cycles``.
    """
    waited = int(stalls["warp_cycles"][stalls["state"] == "rt_unit"].sum())
    return max(0.0, 1 - inside_warp_cycles / waited) if waited else None


def warnings(summary: Columns, kernels: Columns, gpu: Columns) -> list[str]:
    """Sentences on work that cannot fill the GPU, and on launch latency; ``gpu``: the description as nested values."""
    sm, found = gpu.get("sm", {}), []
    warps, sms, slots = summary.get("warps", {}).get("value"), sm.get("count"), sm.get("warps")
    if warps and sms and slots and warps < sms * slots:
        found.append(f"{warps:,} warps on {sms} SMs with {slots} warp slots each: the work cannot fill the GPU.")
    latency, cycles = sm.get("kernel_launch_cycles", 0), summary.get("gpu_cycles", {}).get("value") or 0
    waited = latency * len(kernels["kernel_id"])
    if cycles and waited > LAUNCH_SHARE * cycles:
        found.append(f"Launch latency is up to {percent(min(1.0, waited / cycles))} of the cycles.")
    return found


def judged(moved: float, floor: float | None) -> str:
    """A relative change of the cycles in words, beside the noise floor where one is known."""
    size = f"{100 * abs(moved):.2f} % {'fewer' if moved < 0 else 'more'} cycles" if moved else "the same cycles"
    if floor is None:
        return f"{size}; whether chance moves them as far is not known (give --noise)"
    return f"{size}; this {'exceeds' if abs(moved) > floor else 'is within'} the noise floor of {100 * floor:.2f} %"


def percent(share: float) -> str:
    """A share, in percent."""
    return "< 0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"


def shown(figure: Figure) -> str:
    """Value and unit of a figure for a reader; ``-`` without a value."""
    if figure.value is None:
        return "-"
    if figure.unit == "1":
        return percent(figure.value)
    value = figure.value
    if isinstance(value, int):
        return f"{value:,} {figure.unit}"
    size, letter = next((each for each in PREFIXES if value >= each[0]), (1.0, ""))
    return f"{value / size:,.4g} {letter}{figure.unit}"
