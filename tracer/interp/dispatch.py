"""The function that executes an instruction which control goes through: a handler of its family."""

from rayplay.ptx.ir import Instruction
from rayplay.ptx.isa.implied import spelled_out
from rayplay.tracer.interp import (
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
    shuffle,
    unit,
    video,
)
from rayplay.tracer.interp.values import Handler, Lanes
from rayplay.tracer.meaning.dispatch import OPCODES, family_of


def _nothing(w: Lanes, i: Instruction) -> None:
    pass


FAMILIES: dict[str, dict[str, Handler]] = {
    "integer": integer.HANDLERS, "carry": carry.HANDLERS, "packed": carry.PACKED_HANDLERS, "floats": floats.HANDLERS,
    "pair": floats.PAIR_HANDLERS, "half": half.HANDLERS, "approx": approx.HANDLERS, "bits": bits.HANDLERS,
    "compare": compare.HANDLERS, "convert": convert.HANDLERS, "video": video.HANDLERS, "address": address.HANDLERS,
    "memory": memory.HANDLERS, "atomic": atomic.HANDLERS, "mbarrier": mbarrier.HANDLERS, "unit": unit.HANDLERS,
    "shuffle": shuffle.HANDLERS, "nothing": dict.fromkeys(OPCODES["nothing"], _nothing),
}  # fmt: skip


def run_straight(w: Lanes, i: Instruction) -> None:
    """Execute an instruction that control goes through; one that lowering has taken."""
    i = spelled_out(i, w.activation.linked.module)
    family = family_of(i)
    assert family is not None
    FAMILIES[family][i.opcode](w, i)
