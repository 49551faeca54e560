"""Which function interprets a scalar instruction."""

from rayplay.ptx.ir import Instruction
from rayplay.ptx.isa.form import problem
from rayplay.ptx.isa.implied import spelled_out
from rayplay.tracer.emit.emitter import unknown
from rayplay.tracer.interp import bits as interpreter_bits
from rayplay.tracer.interp import carry as interpreter_extended
from rayplay.tracer.interp import compare as interpreter_compare
from rayplay.tracer.interp import convert as interpreter_convert
from rayplay.tracer.interp import floats as interpreter_float
from rayplay.tracer.interp import half as interpreter_half
from rayplay.tracer.interp import integer as interpreter_int
from rayplay.tracer.interp import video as interpreter_video
from rayplay.tracer.interp.approx import run_approx
from rayplay.tracer.interp.integer import Handler
from rayplay.tracer.interp.values import Lanes
from rayplay.tracer.lower.approx import approximates
from rayplay.tracer.lower.dispatch import is_packed_conversion, kind_of

ANY = {**interpreter_compare.HANDLERS, **interpreter_video.HANDLERS, "cvt": interpreter_convert.run_cvt}
TABLES: dict[str, dict[str, Handler]] = {
    "float": interpreter_float.HANDLERS, "half": interpreter_half.HANDLERS,
    "pair": dict.fromkeys(("add", "sub", "mul", "fma"), interpreter_float.run_pair),
    "packed": interpreter_extended.PACKED_HANDLERS,
    "integer": {**interpreter_int.HANDLERS, **interpreter_extended.HANDLERS, **interpreter_bits.HANDLERS},
}  # fmt: skip


def run_scalar(w: Lanes, i: Instruction) -> None:
    """Execute an instruction of ``ptx.isa.table.SCALAR``. Raises ``UserError`` naming an unknown form of modifiers."""
    i = spelled_out(i, w.activation.linked.module)
    if problem(i.opcode, i.modifiers):
        raise unknown(w.activation.linked.module, i)
    _handler(i)(w, i)


def _handler(i: Instruction) -> Handler:
    if approximates(i):
        return run_approx
    if i.opcode == "cvt" and is_packed_conversion(i):
        return interpreter_convert.run_pack if "pack" in i.modifiers else interpreter_convert.run_cvt_packed
    return ANY.get(i.opcode) or TABLES[kind_of(i)][i.opcode]
