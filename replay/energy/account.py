"""The energy of a result: launch by launch, and over time.

A launch has one static category, of all its operations: an interval in which rays alone are under way has no lane unit
at work, and would understate leakage (``docs/sources/accelwattch.md#rt-units``).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.dataset.result import Result
from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.formats.place.names import FOLDERS, SHIPPED
from rayplay.replay.energy.events import Chip, check_counters, chip_of, counted, duty, estimated, tests
from rayplay.replay.energy.instructions import Instructions, instructions
from rayplay.replay.energy.law import Activity, Joules, category, energy, rt_joules
from rayplay.replay.energy.table import RT_EVENTS, Table

ALL = -1  # kernel_id of launches that ran side by side
IDLE = "idle"


@dataclass(frozen=True)
class LaunchEnergy:
    """The energy of one launch, or of launches that ran side by side.

    rt      event of the RT units -> joules: the least, by default, the most.
    origin  event -> where its count is from: ``result``, ``trace`` or ``estimate``.
    """

    kernel_id: int
    activity: Activity
    joules: Joules
    rt: dict[str, tuple[float, float, float]]
    origin: dict[str, str]

    @property
    def category(self) -> str:
        """Static category."""
        return category(self.activity.events)


@dataclass(frozen=True)
class Account:
    """The energy of a result.

    trace  name of the trace that the instructions are from; None: they are estimates.
    """

    result: Result
    table: Table
    trace: str | None
    launches: tuple[LaunchEnergy, ...]
    rays: int
    pixels: int

    @cached_property
    def seconds(self) -> float:
        """Length of the replay."""
        return sum(launch.activity.seconds for launch in self.launches)

    def kind(self, name: str) -> float:
        """Joules of a kind, of all launches."""
        return sum(sum(getattr(launch.joules, name).values()) for launch in self.launches)

    @cached_property
    def rt(self) -> dict[str, tuple[float, float, float]]:
        """Event of the RT units -> joules of all launches: the least, by default, the most."""
        of = {event: np.array([launch.rt[event] for launch in self.launches]) for event in RT_EVENTS}
        return {event: tuple(found.sum(axis=0).tolist()) for event, found in of.items()}

    @cached_property
    def joules(self) -> tuple[float, float, float]:
        """Joules of the replay with the RT units at their least, by default, at their most."""
        default = sum(launch.joules.total for launch in self.launches)
        low, high = (sum(row[at] - row[1] for row in self.rt.values()) for at in (0, 2))
        return default + low, default, default + high

    def totals(self) -> Iterator[tuple[str, tuple[float, float, float], str]]:
        """Name, value at the least, by default, at the most, and unit, of each quantity of the whole replay."""
        spread = np.array(self.joules)
        apart = spread - self.joules[1]
        yield "energy", self.joules, "J"
        yield "dynamic_energy", tuple((self.kind("dynamic") + apart).tolist()), "J"
        for name in ("static", "constant"):
            yield f"{name}_energy", (self.kind(name),) * 3, "J"
        seconds = self.seconds or float("nan")
        yield "power", tuple((spread / seconds).tolist()), "W"
        yield "energy_per_ray", tuple((spread / (self.rays or float("nan"))).tolist()), "J"
        yield "energy_per_pixel", tuple((spread / (self.pixels or float("nan"))).tolist()), "J"
        yield "edp", tuple((spread * self.seconds).tolist()), "J*s"
        yield "seconds", (self.seconds,) * 3, "s"


class OtherTraceError(UserError):
    """A result does not replay the trace."""


def find_trace(result: Result) -> Path | None:
    """The trace that a result's provenance names: beside the result, or where traces lie; None where it is not."""
    name = result.manifest.provenance.get("trace")
    if not isinstance(name, str) or Path(name).name != name:
        return None
    folders = (result.path.parent, *(Path(folder) for folder in FOLDERS), SHIPPED)
    return next((folder / name for folder in folders if (folder / name).exists()), None)


def account_with_trace(result: Result, table: Table) -> Account:
    """The energy of a result with the trace that ``find_trace`` finds; with estimates where it finds none, or another
    trace of that name.
    """
    path = find_trace(result)
    try:
        return account(result, table, open_trace(path) if path is not None else None)
    except OtherTraceError:
        return account(result, table)


def account(result: Result, table: Table, trace: Trace | None = None) -> Account:
    """The energy of a result, with the instructions of the trace that it replays, or estimates in their place.

    Raises ``UserError`` for a result without the needed counters, ``OtherTraceError`` for a trace that it does not
    replay.
    """
    place = str(result.path)
    check_counters(totals_of(result.read("counters")), place)
    if "stack" not in result.tables or "kernels" not in result.tables:
        raise UserError(f"{place}: energy needs the tables stack and kernels, which it lacks: replay anew")
    chip = chip_of(result.manifest.provenance.get("gpu"), place)
    executed = instructions(trace) if trace is not None else None
    launches = tuple(launch_energies(result, chip, table, executed))
    totals = totals_of(result.read("counters"))
    pixels = result.rows("pixels") if "pixels" in result.tables else 0
    name = trace.path.name if trace is not None else None
    return Account(result, table, name, launches, totals["rt_unit"]["rays"], pixels)


def totals_of(counters: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Unit -> counter -> sum, of rows of ``counters`` or ``timeline``."""
    found: dict[str, dict[str, int]] = {}
    for unit, name, value in zip(counters["unit"], counters["counter"], counters["value"].tolist(), strict=True):
        of = found.setdefault(unit, {})
        of[name] = of.get(name, 0) + value
    return found


def launch_energies(
    result: Result, chip: Chip, table: Table, executed: dict[int, Instructions] | None
) -> Iterator[LaunchEnergy]:
    """The energy of each launch; of all together where launches ran side by side."""
    counters, stack, kernels = (result.read(name) for name in ("counters", "stack", "kernels"))
    start, end = kernels["start_cycle"], kernels["end_cycle"]
    if ALL in counters["kernel_id"] or (start[1:] < end[:-1]).any():
        groups = [(ALL, kernels["kernel_id"].tolist(), int(end.max()) - int(start.min()))]
    else:
        groups = [(int(k), [int(k)], int(e - s)) for k, s, e in zip(kernels["kernel_id"], start, end, strict=True)]
    counted_by, slots_by = by_launch(counters), by_launch(stack)
    for kernel_id, members, cycles in groups:
        if kernel_id != ALL and not (kernel_id in counted_by and kernel_id in slots_by):
            raise FormatError(f"{result.path}: launch {kernel_id} must have rows in the tables counters and stack")
        rows, slots = (counters, stack) if kernel_id == ALL else (counted_by[kernel_id], slots_by[kernel_id])
        for name, column in (("counters", rows["instance"][rows["unit"] == "sm"]), ("stack", slots["sm"])):
            if len(column) and int(column.max()) >= chip.sms:
                raise FormatError(
                    f"{result.path}: table {name} must name SMs below {chip.sms}, not {int(column.max())}"
                )
        idle = idle_sms(rows, slots, chip, cycles)
        totals = totals_of(rows)
        check_counters(totals, str(result.path))
        events, threads, origin = all_events(totals, chip, table, cycles, executed, members, str(result.path))
        activity = Activity(events, cycles / chip.hertz, chip.sms, idle, threads)
        yield LaunchEnergy(kernel_id, activity, energy(activity, table), rt_joules(events, table), origin)


def by_launch(table: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    """Launch -> its rows, in their order."""
    order = np.argsort(table["kernel_id"], kind="stable")
    launches, first = np.unique(table["kernel_id"][order], return_index=True)
    places = np.split(order, first[1:])
    return {
        int(launch): {name: values[place] for name, values in table.items()}
        for launch, place in zip(launches, places, strict=True)
    }


def all_events(
    totals: Mapping[str, Mapping[str, int]], chip: Chip, table: Table, cycles: int,
    executed: dict[int, Instructions] | None, members: list[int], place: str,
) -> tuple[dict[str, float], float, dict[str, str]]:  # fmt: skip
    """Events, active threads of an instruction of the lane units, and where each count is from."""
    direct = counted(totals, chip) | {"PIPE_A": duty(totals, chip, cycles)}
    origin = dict.fromkeys(direct, "result") | ({} if "l1i" in totals else {"IC_H": "estimate", "IC_M": "estimate"})
    if executed is None:
        guessed, threads = estimated(totals, table.rt.boxes_per_node)
        return direct | guessed, threads, origin | dict.fromkeys(guessed, "estimate")
    own = [executed[each] for each in members if each in executed]
    issued, traced = totals["sm"]["warp_instructions"], sum(each.warp for each in own)
    if issued != traced:
        which = "its launches have" if len(members) > 1 else f"launch {members[0]} has" if members else "it has"
        raise OtherTraceError(
            f"{place}: is no replay of this trace: {which} {issued:,} warp instructions, not {traced:,}"
        )
    found: dict[str, float] = {}
    records: dict[str, float] = {}
    for each in own:
        for events, of in ((each.events, found), (each.records, records)):
            for name, count in events.items():
                of[name] = of.get(name, 0) + count
    if table.operands == "sass":
        found["NON_REG_OPs"] = 0.0
    found |= tests(records, table.rt.boxes_per_node)
    warps, lanes = sum(each.operating_warp for each in own), sum(each.operating_thread for each in own)
    return direct | found, lanes / warps if warps else 0.0, origin | dict.fromkeys(found, "trace")


def idle_sms(rows: Mapping[str, Any], stack: Mapping[str, Any], chip: Chip, cycles: int) -> float:
    """SMs without a warp, averaged over the cycles of a launch.

    A slot is one scheduler in one cycle. An SM is taken to be at work for as long as its slots
    with one last, divided among the schedulers that its warps can reach.
    """
    warps = np.zeros(chip.sms)
    of_sm = (rows["unit"] == "sm") & (rows["counter"] == "retired_warps")
    np.add.at(warps, rows["instance"][of_sm], rows["value"][of_sm])
    slots = np.zeros(chip.sms)
    live = stack["reason"] != IDLE
    np.add.at(slots, stack["sm"][live], stack["slots"][live])
    reached = np.clip(warps, 1, chip.schedulers)
    active = np.minimum(slots / reached, cycles)
    return float(chip.sms - active.sum() / cycles) if cycles else float(chip.sms)
