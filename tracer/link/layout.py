"""Layout of a function's activation, which outlives its basic blocks, and offsets in each state space."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

from rayplay.ptx.flow.liveness import Liveness
from rayplay.ptx.flow.spin import NONE, Spins
from rayplay.ptx.graph import Cfg
from rayplay.ptx.ir import Call, Function, Symbol, Variable
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.words import ACTIVATION_HEADER_BYTES, STACK_ENTRY_BYTES

Name = TypeVar("Name", bound=Hashable)
LOCAL_ALIGN = 16
PASSES_BYTES = 4
MOST_PARTED_ENTRIES = 64  # of the reconvergence stack, for each lane that takes a turn
WIDEST_REGISTER_BYTES = 16
SLOT_BYTES = {"pred": 4, "b128": 512, "f16": 64, "bf16": 64, "f32x2": 256,
              **{f"{kind}{bits}": 4 * bits for kind in "bus" for bits in (8, 16)}}  # fmt: skip


@dataclass(frozen=True)
class Signature:
    """Places of parameters and results: (offset in the callee's activation, bytes of a lane) each.

    It follows from the sizes alone, so that a caller need not know which function it calls. Lane after lane; a
    predicate is one word with a bit per lane, its ``bytes`` are 0.
    """

    parameters: tuple[tuple[int, int], ...]
    returns: tuple[tuple[int, int], ...]

    @property
    def identity(self) -> int:
        """A number that signatures of other sizes do not have."""
        sizes = [[size for _, size in places] for places in (self.parameters, self.returns)]
        return int.from_bytes(sha256(repr(sizes).encode()).digest()[:7], "little")

    @property
    def returns_start(self) -> int:
        """End of the parameters."""
        return max([ACTIVATION_HEADER_BYTES, *(_end(place) for place in self.parameters)])

    @property
    def end(self) -> int:
        """End of parameters and results."""
        return max([self.returns_start, *(_end(place) for place in self.returns)])


def _end(place: tuple[int, int]) -> int:
    return align_up(place[0] + max(place[1] * LANES, 4), 64)


def signature_of(function: Function) -> Signature:
    """The signature of a function that is called; an entry has none of its own."""
    end, places = ACTIVATION_HEADER_BYTES, []
    for variable in () if function.is_entry else (*function.parameters, *function.returns):
        places.append((end, 0 if variable.type == "pred" else variable.bytes))
        end = _end(places[-1])
    count = 0 if function.is_entry else len(function.parameters)
    return Signature(tuple(places[:count]), tuple(places[count:]))


@dataclass(frozen=True)
class FunctionLayout:
    """Byte offsets of one function.

    stack_offset   in the activation: the reconvergence stack, after all else.
    slots          in the activation: registers live at the start of some block, 32 lanes each.
    lane_variables in the activation: ``.param`` variables (offset, bytes of a lane), lane after lane.
    outgoing       in the activation: what an indirect call keeps while it runs one function after the other.
    zero           the part of the activation that must be 0 at the start.
    passes         in the activation: passes of each loop in which lanes may wait (``ptx.flow.spin``), uint32.
    parted         depth of the reconvergence stack up to which lanes can take turns; 0 where they do not.
    bytes          length of the activation, a multiple of 64.
    locals         in the function's part of a thread's local memory, which is ``local_bytes`` long.
    homes          parameters of a function whose address is taken, for which local memory has room.
    shared         in the CTA's shared memory; entry_params: in the launch's parameter buffer.
    returned       registers, as bits of ``liveness``, that hold results of the function.
    """

    stack_offset: int
    slots: dict[str, int]
    lane_variables: dict[str, tuple[int, int]]
    outgoing: int
    zero: tuple[int, int]
    bytes: int
    passes: int
    parted: int
    locals: dict[str, int]
    homes: frozenset[str]
    local_bytes: int
    shared: dict[str, int]
    entry_params: dict[str, int]
    liveness: Liveness
    returned: int


def align_up(value: int, align: int) -> int:
    """The next multiple of ``align``."""
    return -(-value // max(align, 1)) * max(align, 1)


def place(variables: Mapping[Name, Variable]) -> tuple[dict[Name, int], int]:
    """Offsets of variables one after another, aligned, and where they end."""
    offsets, end = {}, 0
    for name, variable in variables.items():
        end = align_up(end, variable.align)
        offsets[name] = end
        end += variable.bytes
    return offsets, end


def layout(function: Function, cfg: Cfg, shared: dict[str, int], spins: Spins = NONE) -> FunctionLayout:
    """Lay out one function: header, parameters, results, other variables, registers, reconvergence stack."""
    liveness = Liveness(function, cfg)
    lane_variables: dict[str, tuple[int, int]] = {}
    slots: dict[str, int] = {}
    signature = signature_of(function)
    if not function.is_entry:
        places = (*signature.parameters, *signature.returns)
        for variable, place_ in zip((*function.parameters, *function.returns), places, strict=True):
            if variable.space == "reg":
                slots[variable.name] = place_[0]
            else:
                lane_variables[variable.name] = place_
    inside = tuple(each for each in function.variables.values() if each.space == "param")
    end = _place_lanes(lane_variables, inside, signature.end)
    first = sorted(_registers(function, liveness, liveness.live_in[:1]) - slots.keys())
    passes = _place_slots(slots, first, function, end)
    end = zero_end = align_up(passes + PASSES_BYTES * len(spins.heads), 64)
    rest = sorted(_registers(function, liveness, liveness.live_in) - slots.keys())
    end = outgoing = _place_slots(slots, rest, function, end)
    end += _outgoing_bytes(function)
    entries, parted = _entries(cfg, spins.takes_turns)
    homes = _taken_parameters(function)
    inside_local = {name: v for name, v in function.variables.items() if v.space == "local"} | homes
    local, local_bytes = _place_locals(inside_local)
    return FunctionLayout(
        stack_offset=end,
        slots=slots,
        lane_variables=lane_variables,
        outgoing=outgoing,
        zero=(signature.returns_start, zero_end),
        bytes=align_up(end + (entries + parted) * STACK_ENTRY_BYTES, 64),
        passes=passes,
        parted=parted,
        locals=local,
        homes=frozenset(homes),
        local_bytes=local_bytes,
        shared=shared,
        entry_params=place({v.name: v for v in function.parameters})[0] if function.is_entry else {},
        liveness=liveness,
        returned=sum(1 << liveness.index[v.name] for v in function.returns if v.space == "reg"),
    )


def _entries(cfg: Cfg, takes_turns: bool) -> tuple[int, int]:
    """Entries that the reconvergence stack needs, and its entries beside them for lanes that take turns."""
    entries = 2 * len(cfg.blocks) + sum(len(block.successors) for block in cfg.blocks) + 4
    return entries, (LANES if takes_turns else 0) * min(entries, MOST_PARTED_ENTRIES)


def _place_locals(variables: Mapping[str, Variable]) -> tuple[dict[str, int], int]:
    """Offsets of local variables, and the bytes that they take of a thread's local memory."""
    offsets, end = place(variables)
    return offsets, align_up(end, max([LOCAL_ALIGN, *(v.align for v in variables.values())]))


def _taken_parameters(function: Function) -> dict[str, Variable]:
    """The ``.param`` parameters of a function that is called whose address an instruction takes."""
    own = {v.name: v for v in function.parameters if v.space == "param" and not function.is_entry}
    if not own:
        return {}
    named = {o.name for i in function.body for o in i.operands if isinstance(o, Symbol)}
    return {name: v for name, v in own.items() if name in named}


def _registers(function: Function, liveness: Liveness, live: list[int]) -> frozenset[str]:
    """Names of the registers in any of the sets of bits."""
    bits = 0
    for each in live:
        bits |= each
    return liveness.names(bits) & function.registers.keys()


def _outgoing_bytes(function: Function) -> int:
    """Room for the addresses of an indirect call's functions and for its arguments."""
    calls = indirect_calls(function)
    variables = (*function.variables.values(), *function.parameters, *function.returns)
    sizes = {v.name: align_up(LANES * v.bytes, 64) for v in variables}
    widest = align_up(LANES * WIDEST_REGISTER_BYTES, 64)
    room = [sum(sizes.get(getattr(operand, "name", ""), widest) for operand in call.arguments) for call in calls]
    return 8 * LANES + max(room) if calls else 0


def indirect_calls(function: Function) -> list[Call]:
    """The calls of a function through registers."""
    return [i.call for i in function.body if i.call is not None and not i.callee]


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
