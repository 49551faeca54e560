"""The function that lowers an instruction which control goes through: a handler of its family."""

from rayplay.ptx.ir import Instruction
from rayplay.tracer.emit.emitter import Emitter, Handler
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
from rayplay.tracer.meaning.dispatch import WITHOUT_EFFECT, is_asynchronous, kind_of
from rayplay.tracer.meaning.optix import GETTERS


def _nothing(e: Emitter, i: Instruction) -> None:
    pass


RECORDING: dict[str, Handler] = {**memory.HANDLERS, **atomic.HANDLERS, **unit.HANDLERS}
"""Instructions that may record an access."""
ANY: dict[str, Handler] = {
    **compare.HANDLERS, **convert.HANDLERS, **video.HANDLERS, **address.HANDLERS, **mbarrier.HANDLERS,
    **shuffle.HANDLERS, **RECORDING, **dict.fromkeys(WITHOUT_EFFECT, _nothing), "filter_shader": memory.lower_filter,
}  # fmt: skip
TABLES: dict[str, dict[str, Handler]] = {
    "approx": approx.HANDLERS, "float": floats.HANDLERS, "half": half.HANDLERS, "pair": floats.PAIR_HANDLERS,
    "packed": carry.PACKED_HANDLERS, "integer": {**integer.HANDLERS, **carry.HANDLERS, **bits.HANDLERS},
}  # fmt: skip


def lower_straight(e: Emitter, i: Instruction) -> None:
    """Lower an instruction that control goes through. Raises ``UserError`` naming one that is not executed."""
    if i.call is not None:
        if i.callee not in GETTERS:
            raise e.unknown(f"call {i.callee}")
        optix.lower_getter(e, i)
        return
    if i.form.key == "bar.warp":
        return
    handler = ANY.get(i.opcode) or TABLES[kind_of(i)].get(i.opcode)
    if handler is None or is_asynchronous(i):
        raise e.unknown()
    handler(e, i)
