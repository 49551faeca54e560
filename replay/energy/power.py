"""Power over time: the energy of a result, divided among the intervals of its timeline.

An event that the timeline counts is where it counts it; one that the trace alone knows goes with a counter of its unit
(``events.DRIVERS``). Leakage goes with issue slots that have a live warp, idle SMs with the others, constant power with
time. So the intervals' energies sum to the replay's.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from rayplay.replay.energy.account import IDLE, Account
from rayplay.replay.energy.events import DRIVERS, chip_of, counted
from rayplay.replay.energy.law import dynamic_joules
from rayplay.replay.energy.table import UNIT_OF

ISSUED = (("sm", "warp_instructions"),)  # driver of events without one of their own
Series = Mapping[str, Mapping[str, np.ndarray]]  # unit -> counter -> int64[intervals]


class Power(NamedTuple):
    """Joules of each interval: start and length in cycles, int64[n]; (unit, kind) -> float64[n]."""

    start: np.ndarray
    cycles: np.ndarray
    joules: dict[tuple[str, str], np.ndarray]


def power(account: Account) -> Power | None:
    """The energy of each interval; None where the result has no timeline."""
    result = account.result
    if "timeline" not in result.tables or not result.rows("timeline"):
        return None
    table = result.read("timeline")
    start, place = np.unique(table["start_cycle"], return_inverse=True)
    series: dict[str, dict[str, np.ndarray]] = {}
    for row, (unit, name) in enumerate(zip(table["unit"], table["counter"], strict=True)):
        of = series.setdefault(unit, {}).setdefault(name, np.zeros(len(start), np.int64))
        of[place[row]] += table["value"][row]
    end = max(int(result.read("kernels", ["end_cycle"])["end_cycle"].max()), int(start[-1]) + 1)
    cycles = np.diff(np.append(start, end))
    joules = dict(dynamic(account, series, cycles))
    idle = series.get("stack", {}).get(IDLE, cycles)
    live = sum((slots for name, slots in series.get("stack", {}).items() if name != IDLE), np.zeros_like(cycles))
    for kind, component, weights in (
        ("static", "STATICP", live), ("static", "IDLE_COREP", idle),
        ("constant", "CONSTP", cycles), ("constant", "MCP", cycles),
    ):  # fmt: skip
        total = sum(getattr(launch.joules, kind)[component] for launch in account.launches)
        joules[UNIT_OF[component], kind] = total * shares(weights, cycles)
    return Power(start, cycles, joules)


def dynamic(account: Account, series: Series, cycles: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
    """(Unit, ``dynamic``) -> joules of each interval."""
    chip = chip_of(account.result.manifest.provenance.get("gpu"), str(account.result.path))
    direct = counted(series, chip)  # type: ignore[arg-type] # linear, so that it takes series as it takes sums
    events: dict[str, float] = {}
    for launch in account.launches:
        for name, count in launch.activity.events.items():
            events[name] = events.get(name, 0.0) + count
    found: dict[tuple[str, str], np.ndarray] = {}
    for event, count in events.items():
        weights = np.asarray(direct[event]) if event in direct else driver(event, series, cycles)
        share = shares(weights, cycles)
        for component, joules in dynamic_joules({event: count}, account.table).items():
            if joules:
                key = UNIT_OF[component], "dynamic"
                found[key] = found.get(key, 0.0) + joules * share
    return found


def driver(event: str, series: Series, cycles: np.ndarray) -> np.ndarray:
    """The first counter of the event's drivers that counted anything."""
    for unit, name in (*DRIVERS.get(event, ()), *ISSUED):
        values = series.get(unit, {}).get(name)
        if values is not None and values.any():
            return values
    return cycles


def shares(weights: np.ndarray, cycles: np.ndarray) -> np.ndarray:
    """Weights that sum to 1; in proportion to the cycles where all are 0."""
    used = weights if np.sum(weights) else cycles
    share: np.ndarray = used / np.sum(used)
    return share
