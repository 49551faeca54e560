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
from rayplay.tracer.meaning.dispatch import WITHOUT_EFFECT, kind_of


def _nothing(w: Lanes, i: Instruction) -> None:
    pass


RECORDING: dict[str, Handler] = {**memory.HANDLERS, **atomic.HANDLERS, **unit.HANDLERS}
"""Instructions that may record an access."""
ANY: dict[str, Handler] = {
    **compare.HANDLERS, **convert.HANDLERS, **video.HANDLERS, **address.HANDLERS, **mbarrier.HANDLERS,
    **shuffle.HANDLERS, **RECORDING, **dict.fromkeys(WITHOUT_EFFECT, _nothing), "filter_shader": memory.run_filter,
}  # fmt: skip
TABLES: dict[str, dict[str, Handler]] = {
    "approx": approx.HANDLERS, "float": floats.HANDLERS, "half": half.HANDLERS, "pair": floats.PAIR_HANDLERS,
    "packed": carry.PACKED_HANDLERS, "integer": {**integer.HANDLERS, **carry.HANDLERS, **bits.HANDLERS},
}  # fmt: skip


def run_straight(w: Lanes, i: Instruction) -> None:
    """Execute an instruction that control goes through; one that lowering has taken."""
    i = spelled_out(i, w.activation.linked.module)
    handler = ANY.get(i.opcode) or TABLES[kind_of(i)][i.opcode]
    handler(w, i)
