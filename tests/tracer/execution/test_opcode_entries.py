"""An opcode is three entries: a row, a meaning, a lowering. None lacks one of them, and three make an opcode."""

from functools import partial

import numpy as np
import pytest

from rayplay.ptx.ir import Instruction
from rayplay.ptx.isa import form, table
from rayplay.ptx.isa.integer import ROWS
from rayplay.ptx.isa.row import Control
from rayplay.tracer.emit.emitter import INT, Emitter
from rayplay.tracer.interp import blocks
from rayplay.tracer.interp import dispatch as interp_dispatch
from rayplay.tracer.interp.values import Lanes
from rayplay.tracer.lower import dispatch as lower_dispatch
from rayplay.tracer.lower import program
from rayplay.tracer.lower.approx import HANDLERS as APPROXIMATIONS  # which decides for both backends
from rayplay.tracer.lower.shuffle import lower_nothing
from tests.tracer.harness.execution import both

NOT_EXECUTED = frozenset((
    "istypep", "stacksave", "stackrestore", "alloca", "brkpt", "setmaxnreg", "multimem", "tensormap",
    "clusterlaunchcontrol", "wgmma", "tcgen05",
))  # fmt: skip
BY_THE_MACHINE = frozenset(("filter_shader",))  # and all that ends a block


def interpreted() -> set[str]:
    scalar = {
        *interp_dispatch.ANY,
        *APPROXIMATIONS,
        *(name for t in interp_dispatch.TABLES.values() for name in t),
    }
    return scalar | blocks.MEMORY.keys() | blocks.WARP.keys() | blocks.ADDRESSES.keys()


def lowered() -> set[str]:
    scalar = {
        *lower_dispatch.ANY,
        *APPROXIMATIONS,
        *(name for t in lower_dispatch.TABLES.values() for name in t),
    }
    return scalar | program.HANDLERS.keys()


def test_every_row_has_both_entries_or_is_listed() -> None:
    without_effect = {name for name, handler in program.HANDLERS.items() if handler is lower_nothing}
    ends = {op.opcode for op in table.TABLE.values() if op.control is not Control.NEXT}
    for opcode in {op.opcode for op in table.TABLE.values()} - BY_THE_MACHINE - (ends - lowered()):
        entries = opcode in lowered(), opcode in interpreted() or opcode in without_effect
        assert entries == ((False, False) if opcode in NOT_EXECUTED else (True, True)), opcode


def test_no_entry_lacks_a_row() -> None:
    assert lowered() | interpreted() <= {op.opcode for op in table.TABLE.values()}


def _mean_thrice(w: Lanes, i: Instruction) -> None:
    w.write(i.operands[0], w.read(i.operands[1], "u32") * np.uint32(3))


def _lower_thrice(e: Emitter, i: Instruction) -> None:
    e.write(i.operands[0], e.op(f"mul {INT[32]} {e.read(i.operands[1], 'u32')}, splat (i32 3)"), 32)


def test_three_entries_make_an_opcode(monkeypatch: pytest.MonkeyPatch) -> None:
    count = next(op for op in ROWS if op.name == "popc")
    row = partial(type(count), **{name: getattr(count, name) for name in count.__dataclass_fields__})
    monkeypatch.setitem(table.TABLE, "thrice", row(name="thrice", forms=("u32",)))
    monkeypatch.setattr(lower_dispatch, "SCALAR", lower_dispatch.SCALAR | {"thrice"})
    monkeypatch.setitem(interp_dispatch.TABLES["integer"], "thrice", _mean_thrice)
    monkeypatch.setitem(lower_dispatch.TABLES["integer"], "thrice", _lower_thrice)
    text = """
    .visible .entry test(.param .u64 out)
    {
        .reg .b32 %r<4>; .reg .b64 %l<3>;
        ld.param.u64 %l1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %l2, %r1, 4; add.u64 %l1, %l1, %l2;
        thrice.u32 %r2, %r1; st.global.u32 [%l1], %r2; ret;
    }
    """
    for cache in (table.row_of, form.form_of, form.problem):
        cache.cache_clear()
    try:
        assert form.problem("thrice", ("f32",)) == "'.f32' is no modifier of thrice"
        assert both(text, [np.zeros(32, np.uint32)]).buffers[0].tolist() == list(range(0, 96, 3))
    finally:
        for cache in (table.row_of, form.form_of, form.problem):
            cache.cache_clear()
