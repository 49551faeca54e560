"""Which function interprets a scalar instruction, and what cvta and isspacep mean."""

import numpy as np

from ptx.forms import is_form
from ptx.ir import Instruction
from tracer import (
    interpreter_bits,
    interpreter_compare,
    interpreter_convert,
    interpreter_extended,
    interpreter_float,
    interpreter_half,
    interpreter_int,
    interpreter_video,
)
from tracer.interpreter_approx import run_approx
from tracer.interpreter_int import Handler, numbers, put
from tracer.interpreter_values import Lanes
from tracer.lower_approx import approximates
from tracer.lower_emit import TYPES, type_names, unknown
from tracer.lower_scalar import is_packed_conversion, kind_of

ANY = {**interpreter_compare.HANDLERS, **interpreter_video.HANDLERS, "cvt": interpreter_convert.run_cvt}
TABLES: dict[str, dict[str, Handler]] = {
    "float": interpreter_float.HANDLERS, "half": interpreter_half.HANDLERS,
    "pair": dict.fromkeys(("add", "sub", "mul", "fma"), interpreter_float.run_pair),
    "packed": interpreter_extended.PACKED_HANDLERS,
    "integer": {**interpreter_int.HANDLERS, **interpreter_extended.HANDLERS, **interpreter_bits.HANDLERS},
}  # fmt: skip


def run_scalar(w: Lanes, i: Instruction) -> None:
    """Execute an instruction of ``ptx.forms``. Raises ``UserError`` naming one whose modifiers are not a known form."""
    if not is_form(i.opcode, i.modifiers):
        raise unknown(w.activation.linked.module, i)
    _handler(i)(w, i)


def _handler(i: Instruction) -> Handler:
    if approximates(i):
        return run_approx
    if i.opcode == "cvt" and is_packed_conversion(i):
        return interpreter_convert.run_pack if "pack" in i.modifiers else interpreter_convert.run_cvt_packed
    return ANY.get(i.opcode) or TABLES[kind_of(i)][i.opcode]


def run_cvta(w: Lanes, i: Instruction) -> None:
    """cvta: shared addresses are offsets, all other spaces are generic already."""
    name = type_names(i)[-1]
    base = w.machine("shared_base") if "shared" in i.modifiers else 0
    put(w, i, [v - base if "to" in i.modifiers else v + base for v in numbers(w, i, 1, name)], TYPES[name])


def run_isspacep(w: Lanes, i: Instruction) -> None:
    """isspacep: shared and local are ranges, global is the rest."""
    address = numbers(w, i, 1, "u64")
    shared = [0 <= a - w.machine("shared_base") < w.machine("shared_bytes") for a in address]
    local = [0 <= a - w.machine("local_base") < w.machine("local_total_bytes") for a in address]
    neither = [not (s or t) for s, t in zip(shared, local, strict=True)]
    w.write(
        i.operands[0], np.array(shared if "shared" in i.modifiers else local if "local" in i.modifiers else neither)
    )


ADDRESSES: dict[str, Handler] = {"cvta": run_cvta, "isspacep": run_isspacep}
