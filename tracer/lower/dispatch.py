"""Which function lowers a scalar instruction: by its opcode and the kind of its type."""

from collections.abc import Callable

from rayplay.ptx.ir import Instruction
from rayplay.ptx.isa.table import SCALAR
from rayplay.ptx.isa.types import HALVES, TYPES, type_names
from rayplay.tracer.emit.emitter import Emitter
from rayplay.tracer.lower import bits as lower_bits
from rayplay.tracer.lower import carry as lower_extended
from rayplay.tracer.lower import compare as lower_compare
from rayplay.tracer.lower import convert as lower_convert
from rayplay.tracer.lower import convert_packed as lower_convert_packed
from rayplay.tracer.lower import floats as lower_float
from rayplay.tracer.lower import half as lower_half
from rayplay.tracer.lower import integer as lower_int
from rayplay.tracer.lower import series as lower_math
from rayplay.tracer.lower import video as lower_video
from rayplay.tracer.lower.approx import approximates, lower_approx

Handler = Callable[[Emitter, Instruction], None]
ANY = {**lower_compare.HANDLERS, **lower_video.HANDLERS, "cvt": lower_convert.lower_cvt}
INTEGER = {**lower_int.HANDLERS, **lower_extended.HANDLERS, **lower_bits.HANDLERS}
FLOAT: dict[str, Handler] = {**lower_float.HANDLERS, "tanh": lower_math.lower_function}
PAIR: dict[str, Handler] = dict.fromkeys(("add", "sub", "mul", "fma"), lower_float.lower_pair)


def kind_of(i: Instruction) -> str:
    """``float``, ``half``, ``pair`` (f32x2), ``packed`` (two 16-bit integers) or ``integer``."""
    types = type_names(i)
    if types[0] in ("f32", "f64"):  # also with half precision factors
        return "float"
    if types[-1] in HALVES:
        return "half"
    return {"f32x2": "pair", "u16x2": "packed", "s16x2": "packed"}.get(types[-1], "integer")


TABLES: dict[str, dict[str, Handler]] = {
    "float": FLOAT, "half": lower_half.HANDLERS, "pair": PAIR, "packed": lower_extended.PACKED_HANDLERS,
    "integer": INTEGER,
}  # fmt: skip


def is_scalar(i: Instruction) -> bool:
    """Whether this module is who knows the opcode."""
    return i.opcode in SCALAR


def lower_scalar(e: Emitter, i: Instruction) -> None:
    """Lower an instruction of ``ptx.isa.table.SCALAR``."""
    _handler(i)(e, i)


def _handler(i: Instruction) -> Handler:
    if approximates(i):
        return lower_approx
    if i.opcode == "cvt" and is_packed_conversion(i):
        return lower_convert_packed.lower_pack if "pack" in i.modifiers else lower_convert_packed.lower_cvt_packed
    return ANY.get(i.opcode) or TABLES[kind_of(i)][i.opcode]


def is_packed_conversion(i: Instruction) -> bool:
    """Whether a cvt makes or takes several numbers at once."""
    return "pack" in i.modifiers or any(name.endswith("x2") for name in i.modifiers if name in TYPES)
