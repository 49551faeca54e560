"""The function that lowers an instruction which control goes through: a handler of its family."""

from collections.abc import Callable

from rayplay.ptx.ir import Instruction
from rayplay.ptx.isa.implied import spelled_out
from rayplay.ptx.isa.modifiers import problem
from rayplay.tracer.emit.emitter import Emitter
from rayplay.tracer.lower import (
    address,
    approx,
    atomic,
    bits,
    carry,
    compare,
    convert,
    floats,
    half,
    integer,
    mbarrier,
    memory,
    optix,
    shuffle,
    unit,
    video,
)
from rayplay.tracer.meaning.dispatch import OPCODES, family_of
from rayplay.tracer.meaning.optix import GETTERS

Handler = Callable[[Emitter, Instruction], None]


def _nothing(e: Emitter, i: Instruction) -> None:
    pass


FAMILIES: dict[str, dict[str, Handler]] = {
    "integer": integer.HANDLERS, "carry": carry.HANDLERS, "packed": carry.PACKED_HANDLERS, "floats": floats.HANDLERS,
    "pair": floats.PAIR_HANDLERS, "half": half.HANDLERS, "approx": approx.HANDLERS, "bits": bits.HANDLERS,
    "compare": compare.HANDLERS, "convert": convert.HANDLERS, "video": video.HANDLERS, "address": address.HANDLERS,
    "memory": memory.HANDLERS, "atomic": atomic.HANDLERS, "mbarrier": mbarrier.HANDLERS, "unit": unit.HANDLERS,
    "shuffle": shuffle.HANDLERS, "nothing": dict.fromkeys(OPCODES["nothing"], _nothing),
}  # fmt: skip


def lower_straight(e: Emitter, i: Instruction) -> None:
    """Lower an instruction that control goes through. Raises ``UserError`` naming one that is not executed."""
    if i.call is not None:
        name = getattr(i.call.target, "name", "")
        if name not in GETTERS:
            raise e.unknown(f"call {name}")
        optix.lower_getter(e, i)
        return
    if i.opcode in ("bar", "barrier") and i.modifiers[:1] == ("warp",):
        return
    i = spelled_out(i, e.module)
    family = family_of(i)
    if family is None or problem(i.opcode, i.modifiers):
        raise e.unknown()
    FAMILIES[family][i.opcode](e, i)
