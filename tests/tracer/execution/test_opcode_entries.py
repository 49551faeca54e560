"""An opcode is three entries: a row, a meaning, a lowering. None lacks one of them, and three make an opcode."""

import ast
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from rayplay import tracer
from rayplay.ptx.ir import Instruction
from rayplay.ptx.isa import form, table
from rayplay.ptx.isa.integer import ROWS
from rayplay.ptx.isa.row import Control
from rayplay.tracer.emit.emitter import Emitter
from rayplay.tracer.emit.text import INT
from rayplay.tracer.interp import dispatch as interp_dispatch
from rayplay.tracer.interp import optix as interp_optix
from rayplay.tracer.interp.values import Lanes
from rayplay.tracer.lower import dispatch as lower_dispatch
from rayplay.tracer.lower import optix as lower_optix
from rayplay.tracer.meaning.optix import ABSENT, FRAME_GETTERS, GETTERS, HIT_GETTERS
from tests.tracer.harness.execution import both

NOT_EXECUTED = frozenset((
    "istypep", "stacksave", "stackrestore", "alloca", "brkpt", "setmaxnreg", "multimem", "tensormap",
    "clusterlaunchcontrol", "wgmma", "tcgen05",
))  # fmt: skip
OF_ONE = {  # what only one backend needs: values and control of the interpreter, texts and code of the emitter
    "interp": {"arena", "blocks", "ctas", "flow", "values"},
    "lower": {"compile", "program"},
}


def stems(package: str) -> set[str]:
    folder = Path(tracer.__file__).parent / package
    return {path.stem for path in folder.glob("*.py")} - OF_ONE[package]


def test_families_are_modules_of_one_name() -> None:
    assert stems("interp") == stems("lower")


def executed(dispatch: ModuleType) -> set[str]:
    return {*dispatch.ANY, *(name for handlers in dispatch.TABLES.values() for name in handlers)}


def test_both_backends_have_the_same_handlers() -> None:
    assert interp_dispatch.ANY.keys() == lower_dispatch.ANY.keys()
    assert interp_dispatch.RECORDING.keys() == lower_dispatch.RECORDING.keys()
    assert {kind: set(t) for kind, t in interp_dispatch.TABLES.items()} == {
        kind: set(t) for kind, t in lower_dispatch.TABLES.items()
    }


def test_every_row_has_both_entries_or_is_listed() -> None:
    done = executed(lower_dispatch)
    ends = {op.opcode for op in table.TABLE.values() if op.control is not Control.NEXT}
    for opcode in {op.opcode for op in table.TABLE.values()} - (ends - done):
        assert (opcode in done) == (opcode not in NOT_EXECUTED), opcode


WHOLE_FORMS = {"lower/program.py": 1, "link/explicit.py": 3}
"""Reads of modifiers as strings: ``ptx.isa.form.problem`` says whether all of them, or one more, make a form."""


def test_instructions_are_read_by_their_typed_form() -> None:
    folder = Path(tracer.__file__).parent
    reads = {
        path.relative_to(folder).as_posix(): sum(
            isinstance(node, ast.Attribute) and node.attr == "modifiers"
            for node in ast.walk(ast.parse(path.read_text()))
        )
        for path in folder.rglob("*.py")
    }
    assert {name: count for name, count in reads.items() if count} == WHOLE_FORMS


def test_getters_are_the_same_calls() -> None:
    assert lower_optix.HANDLERS.keys() == GETTERS
    named = {f"_optix_{name}" for name in interp_optix.HANDLERS} | FRAME_GETTERS.keys() | HIT_GETTERS.keys() | ABSENT
    assert named <= GETTERS
    # the others write a word of the payload by its number, which the interpreter reads from the name itself
    assert {name.rstrip("01234567") for name in GETTERS - named} == {
        "_optix_set_payload_",
        "_optix_get_exception_detail_",
    }


def test_no_entry_lacks_a_row() -> None:
    assert executed(lower_dispatch) <= {op.opcode for op in table.TABLE.values()}


def _mean_thrice(w: Lanes, i: Instruction) -> None:
    w.write(i.operands[0], w.read(i.operands[1], "u32") * np.uint32(3))


def _lower_thrice(e: Emitter, i: Instruction) -> None:
    e.write(i.operands[0], e.op(f"mul {INT[32]} {e.read(i.operands[1], 'u32')}, splat (i32 3)"), 32)


def test_three_entries_make_an_opcode(monkeypatch: pytest.MonkeyPatch) -> None:
    count = next(op for op in ROWS if op.name == "popc")
    row = partial(type(count), **{name: getattr(count, name) for name in count.__dataclass_fields__})
    monkeypatch.setitem(table.TABLE, "thrice", row(name="thrice", forms=("u32",)))
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
