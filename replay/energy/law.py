"""AccelWattch's law: counters of an interval to joules by component, dynamic, static and constant apart.

Source: ``docs/sources/accelwattch.md#law``, which reproduces what AccelWattch's code gives.
"""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rayplay.replay.energy.table import RT_EVENTS, Table

PICO = 1e-12
KINDS = ("dynamic", "static", "constant")


class Activity(NamedTuple):
    """The events of an interval.

    events          count by event of ``table.EVENTS``, over the whole chip; an event that is missing is 0. Of RT units
                    also ``box``, ``triangle`` and ``record``.
    seconds         length of the interval.
    sms             SMs of the chip.
    idle_sms        of these, SMs without a warp, averaged over the interval.
    active_threads  active threads of an instruction of the lane units, averaged; 0 without such an instruction.
    """

    events: Mapping[str, float]
    seconds: float
    sms: int
    idle_sms: float
    active_threads: float


class Joules(NamedTuple):
    """Joules by component, of each kind."""

    dynamic: dict[str, float]
    static: dict[str, float]
    constant: dict[str, float]

    @property
    def total(self) -> float:
        """All of it."""
        return sum(sum(kind.values()) for kind in self)

    def of(self, component: str) -> float:
        """Joules of a component, whatever their kind."""
        return sum(kind.get(component, 0.0) for kind in self)


def energy(activity: Activity, table: Table) -> Joules:
    """Joules of an interval by component. Linear in the counters, in the coefficients and in the time."""
    ratio, scale = table.scale.volts / table.scale.reference_volts, table.scale
    seconds, busy = activity.seconds, (activity.sms - activity.idle_sms) / activity.sms
    leakage = static_watts(category(activity.events), activity.active_threads, table)
    controllers = table.power.memory_controller_w * seconds * ratio**2
    return Joules(
        dynamic_joules(activity.events, table),
        {
            "STATICP": leakage * busy * seconds * ratio * scale.static,
            "IDLE_COREP": table.power.idle_sm_w * activity.idle_sms * seconds * ratio * scale.idle,
        },
        {"CONSTP": table.power.chip_w * seconds * ratio**2 * scale.constant, "MCP": controllers},
    )


def dynamic_joules(events: Mapping[str, float], table: Table) -> dict[str, float]:
    """Joules of events by component; RT units at their default."""
    factor = dynamic_factor(table)
    found: dict[str, float] = {}
    for event, charged in table.pj.items():
        for component, picojoules in charged.items():
            found[component] = found.get(component, 0.0) + events.get(event, 0.0) * picojoules * factor
    found["RTP"] = found.get("RTP", 0.0) + sum(default for _, default, _ in rt_joules(events, table).values())
    return found


def dynamic_factor(table: Table) -> float:
    """Joules of an event / its pJ."""
    return PICO * table.scale.dynamic * (table.scale.volts / table.scale.reference_volts) ** 2


def rt_joules(events: Mapping[str, float], table: Table) -> dict[str, tuple[float, float, float]]:
    """Event of RT units -> joules: the least, by default, the most."""
    factor, found = dynamic_factor(table), dict[str, tuple[float, float, float]]()
    for event in RT_EVENTS:
        row, count = getattr(table.rt, event), events.get(event, 0.0) * factor
        found[event] = count * row.low_pj, count * row.pj, count * row.high_pj
    return found


def static_watts(of: str, active_threads: float, table: Table) -> float:
    """Leakage of the chip in W with all SMs active: of the first lane, and of each further one."""
    lanes = table.static[of]
    return lanes.first_w + max(math.ceil(active_threads) - 1, 0) * lanes.additional_w


def category(events: Mapping[str, float]) -> str:
    """Static category: which of the lane units an interval used; without any, which memory.

    Source: ``docs/sources/accelwattch.md#static-power``.
    """
    add, mul = _any(events, ("INT_ACC",)), _any(events, ("INT_MUL_ACC",))
    integer, single = add or mul, _any(events, ("FP_ACC", "FP_MUL_ACC"))
    others = {
        "dp": _any(events, ("DP_ACC", "DP_MUL_ACC")), "tensor": _any(events, ("TENSOR_ACC",)),
        "sfu": _any(events, ("FP_SQRT_ACC", "FP_LG_ACC", "FP_SIN_ACC", "FP_EXP_ACC")),
        "tex": _any(events, ("TEX_ACC",)),
    }  # fmt: skip
    used = [name for name, is_used in others.items() if is_used]
    if integer and single and len(used) < 2:
        return f"int_fp_{used[0]}" if used else "int_fp"
    if integer and not single and not used:
        return "int_mix" if add and mul else "int_add" if add else "int_mul"
    if integer or single or used:
        return "other"
    memories = {
        "l1": ("DC_RH", "DC_RM", "DC_WH", "DC_WM"), "shared": ("SHRD_ACC",), "l2": ("L2_RH", "L2_RM", "L2_WH", "L2_WM"),
    }  # fmt: skip
    return next((name for name, counters in memories.items() if _any(events, counters)), "light")


def _any(events: Mapping[str, float], names: Iterable[str]) -> bool:
    return any(events.get(name, 0.0) for name in names)
