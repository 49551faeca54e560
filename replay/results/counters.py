"""Every counter of every unit, at a cycle: of the whole GPU, or of the kernels of one stream."""

from typing import Any

import numpy as np

from rayplay.replay.engine.machine import Machine
from rayplay.replay.lsu import state as lsu_state
from rayplay.replay.memory import instruction_cache, port, rop
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.memory.dram import state as dram_state
from rayplay.replay.memory.l2 import state as l2_state
from rayplay.replay.results.ledger import Counters
from rayplay.replay.rt import state as rt_state
from rayplay.replay.rt.outside import uncounted_busy_cycles
from rayplay.replay.sm import warps
from rayplay.replay.sm.models import Core
from rayplay.replay.unit import cycle_stack as stack
from rayplay.replay.unit import cycle_stack_streams as stack_shares
from rayplay.replay.unit.streams import NOT_SHARED, share_of


def unit_counters(machine: Machine, cycle: int) -> Counters:
    """A copy of every counter of every unit instance, and what the slots before ``cycle`` went to."""
    core, sm, schedulers = machine.core, machine.gpu.sm, machine.gpu.scheduler.count
    parts = stack.parts_until(core, sm.warps, schedulers, cycle)
    resident = stack.warp_cycles_until(core, schedulers, cycle)
    memory = machine.memory
    found: dict[str, Any] = {
        "lsu": machine.lsu, "l1d": machine.l1, "rt_unit": machine.rt, "port": machine.port, "l2": memory.l2,
    }  # fmt: skip
    if machine.has_raster_rates:
        found["rop"] = (machine.lsu.rop, machine.dispatch.depth)
    if (instructions := instruction_caches(core)) is not None:
        found["l1i"] = instructions
    counters = named(core, found, dram_state.stats(memory.dram, cycle), parts, resident, machine.has_textures)
    counters["rt_unit"]["busy_cycles"] += uncounted_busy_cycles(machine.rt, cycle)
    return counters | policy_counters(machine)


def policy_counters(machine: Machine) -> Counters:
    """The counters of a plug-in, as a unit ``policy`` of its own; nothing without one."""
    found = machine.plugin_counters()
    return {"policy": found} if found else {}


def stream_counters(machine: Machine, cycle: int, place: int) -> Counters:
    """The counters of the stream at ``place`` of the streams told apart; 0 for a counter without a stream."""
    core, sm, schedulers = machine.core, machine.gpu.sm, machine.gpu.scheduler.count
    parts = stack_shares.parts_until(core, sm.warps, schedulers, cycle, place, warps.STREAM)
    resident = stack_shares.warp_cycles_until(core, schedulers, cycle, place)
    memory, lsu = machine.memory, share_of(machine.lsu, place)
    found: dict[str, Any] = {
        "lsu": lsu._replace(texture=share_of(lsu.texture, place)),
        "l1d": machine.l1._replace(cache=share_of(machine.l1.cache, place)),
        "rt_unit": share_of(machine.rt, place), "port": share_of(machine.port, place),
        "l2": memory.l2._replace(tags=share_of(memory.l2.tags, place)),
    }  # fmt: skip
    dram = dram_state.stats(share_of(memory.dram, place), cycle, place)
    if (instructions := instruction_caches(core)) is not None:
        found["l1i"] = instructions._replace(tags=share_of(instructions.tags, place))
    if machine.has_raster_rates:
        found["rop"] = (share_of(machine.lsu.rop, place), share_of(machine.dispatch.depth, place))
    counters = named(share_of(core, place), found, dram, parts, resident, machine.has_textures)
    for unit, names in NOT_SHARED.items():
        for name in names:
            counters[unit][name][:] = 0
    issued = [values for name, values in counters["sm"].items() if name.startswith("issued_")]
    counters["sm"]["warp_instructions"] = np.sum(issued, axis=0)  # those are counted warp by warp
    of_no_stream = {unit: {name: 0 * values for name, values in found.items()}
                    for unit, found in policy_counters(machine).items()}  # fmt: skip
    return counters | of_no_stream


def instruction_caches(core: Core) -> instruction_cache.InstructionCache | None:
    """The instruction caches of a model's SMs; None where they have none, or perfect ones."""
    return None if isinstance(core, warps.Warps) or core.instructions.perfect else core.instructions


def named(
    core: Any, units: dict[str, Any], dram: dict[str, np.ndarray], parts: np.ndarray, resident: np.ndarray,
    textures: bool,
) -> Counters:  # fmt: skip
    """The counters of the units' states by name, copied.

    parts, resident  of the slots, and live warps x cycles.
    textures         whether there are texture reads, which caches tell apart.
    """
    found = {
        "sm": warps.stats(core) | {"resident_warp_cycles": resident}, "lsu": lsu_state.stats(units["lsu"]),
        "l1d": cache_state.stats(units["l1d"].cache), "rt_unit": rt_state.stats(units["rt_unit"]),
        "port": port.stats(units["port"]), "l2": l2_state.stats(units["l2"]), "dram": dram,
        "stack": dict(zip(stack.REASONS, parts.T, strict=True)),
    }  # fmt: skip
    if "rop" in units:
        found["rop"] = rop.stats(*units["rop"])
    if "l1i" in units:
        found["l1i"] = instruction_cache.stats(units["l1i"])
    for name in () if textures else cache_state.TEXTURE_COUNTERS:
        del found["l1d"][name], found["l2"][name]
    return {unit: {name: values.copy() for name, values in counters.items()} for unit, counters in found.items()}
