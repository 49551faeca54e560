"""Where a function keeps what outlives a basic block: the activation's layout, and each space's offsets."""

from dataclasses import dataclass

from ptx.cfg import Cfg
from ptx.ir import Function, Module, Variable
from ptx.liveness import live_in
from tracer.driver_state import ACTIVATION_HEADER_BYTES, LANES, STACK_ENTRY_BYTES

LOCAL_ALIGN = 16
SLOT_BYTES = {"pred": 4, "b128": 512, "f16": 64, "bf16": 64, "f32x2": 256,
              **{f"{kind}{bits}": 4 * bits for kind in "bus" for bits in (8, 16)}}  # fmt: skip


@dataclass(frozen=True)
class FunctionLayout:
    """Byte offsets of one function.

    slots          in the activation: registers live at the start of some block, 32 lanes each.
    lane_variables in the activation: ``.param`` variables (offset, bytes of a lane), lane after lane.
    zero           the part of the activation that must be 0 at the start.
    bytes          length of the activation, a multiple of 64.
    locals         in the function's part of a thread's local memory, which is ``local_bytes`` long.
    shared         in the CTA's shared memory; entry_params: in the launch's parameter buffer.
    """

    stack_offset: int
    slots: dict[str, int]
    lane_variables: dict[str, tuple[int, int]]
    zero: tuple[int, int]
    bytes: int
    locals: dict[str, int]
    local_bytes: int
    shared: dict[str, int]
    entry_params: dict[str, int]
    live_out: tuple[tuple[str, ...], ...]


def align_up(value: int, align: int) -> int:
    """The next multiple of ``align``."""
    return -(-value // max(align, 1)) * max(align, 1)


def place(variables: "list[Variable] | tuple[Variable, ...]", start: int = 0) -> tuple[dict[str, int], int]:
    """Offsets of variables one after another, aligned, and where they end."""
    offsets, end = {}, start
    for variable in variables:
        end = align_up(end, variable.align)
        offsets[variable.name] = end
        end += variable.bytes
    return offsets, end


def shared_variables(modules: list[Module]) -> tuple[dict[str, int], int]:
    """Offsets of all ``.shared`` variables of a launch and their bytes; ``.extern`` ones follow the others."""
    found: dict[str, Variable] = {}
    for module in modules:
        own = [*module.variables.values(), *(v for f in module.functions.values() for v in f.variables.values())]
        found.update((variable.name, variable) for variable in own if variable.space == "shared")
    static = [variable for variable in found.values() if variable.linkage != "extern" and variable.bytes]
    offsets, end = place(static)
    for variable in found.values():
        if variable.name not in offsets:
            offsets[variable.name] = align_up(end, 16)
    return offsets, end


def layout(function: Function, cfg: Cfg, shared: dict[str, int]) -> FunctionLayout:
    """Lay out one function."""
    live = [names & function.registers.keys() for names in live_in(function, cfg)]
    live_out = tuple(
        tuple(sorted(set().union(*(live[successor] for successor in block.successors)))) for block in cfg.blocks
    )
    entries = 2 * len(cfg.blocks) + sum(len(block.successors) for block in cfg.blocks) + 4
    end = align_up(ACTIVATION_HEADER_BYTES + entries * STACK_ENTRY_BYTES, 64)
    lane_variables: dict[str, tuple[int, int]] = {}
    inside = [variable for variable in function.variables.values() if variable.space == "param"]
    end = _place_lanes(lane_variables, () if function.is_entry else function.parameters, end)
    zero_start = end
    end = _place_lanes(lane_variables, (*function.returns, *inside), end)
    slots: dict[str, int] = {}
    first = sorted(live[0]) if live else []
    end = zero_end = _place_slots(slots, first, function, end)
    end = _place_slots(slots, sorted(set().union(*live) - set(first)), function, end)
    local, local_end = place([v for v in function.variables.values() if v.space == "local"])
    params = place(function.parameters)[0] if function.is_entry else {}
    return FunctionLayout(
        stack_offset=ACTIVATION_HEADER_BYTES,
        slots=slots,
        lane_variables=lane_variables,
        zero=(zero_start, zero_end),
        bytes=end,
        locals=local,
        local_bytes=align_up(local_end, LOCAL_ALIGN),
        shared=shared,
        entry_params=params,
        live_out=live_out,
    )


def _place_lanes(offsets: dict[str, tuple[int, int]], variables: "tuple[Variable, ...]", start: int) -> int:
    """Place ``.param`` variables, 32 lanes of each; returns the end, a multiple of 64."""
    for variable in variables:
        offsets[variable.name] = (start, variable.bytes)
        start = align_up(start + variable.bytes * LANES, 64)
    return start


def _place_slots(offsets: dict[str, int], names: list[str], function: Function, start: int) -> int:
    for name in names:
        offsets[name] = start
        start += align_up(slot_bytes(function.registers[name]), 64)
    return start


def slot_bytes(register_type: str) -> int:
    """Bytes of 32 lanes of a register."""
    kind = register_type.split(".")[-1]
    return SLOT_BYTES.get(kind, 256 if kind.endswith("64") else 128)
