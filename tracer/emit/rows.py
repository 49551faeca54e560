"""Rows of 32 words as LLVM IR: the frame of a trace call, the hit that a program looks at, a report."""

from rayplay.tracer.abi.trace_frame import FRAME, HIT, ROW_BYTES
from rayplay.tracer.abi.words import VIEW
from rayplay.tracer.emit.emitter import Emitter


def view_word(e: Emitter, name: str) -> str:
    """A word of the running program's view."""
    view = e.op(f"inttoptr i64 {e.machine('current_view')} to ptr")
    return e.op(f"load i64, ptr {e.op(f'getelementptr i64, ptr {view}, i64 {VIEW[name]}')}")


def row(e: Emitter, base: str, offset_bytes: int) -> str:
    """Pointer to a row of 32 words, from a pointer kept as i64."""
    pointer = e.op(f"inttoptr i64 {base} to ptr")
    return e.op(f"getelementptr i8, ptr {pointer}, i64 {offset_bytes}")


def load_row(e: Emitter, base: str, offset_bytes: int) -> str:
    """A row of 32 words."""
    return e.op(f"load <32 x i32>, ptr {row(e, base, offset_bytes)}, align 64")


def store_row(e: Emitter, base: str, offset_bytes: int, value: str, lanes: str) -> None:
    """Replace the set lanes of a row."""
    pointer = row(e, base, offset_bytes)
    old = e.op(f"load <32 x i32>, ptr {pointer}, align 64")
    new = e.op(f"select <32 x i1> {lanes}, <32 x i32> {value}, <32 x i32> {old}")
    e.put(f"store <32 x i32> {new}, ptr {pointer}, align 64")


def frame_row(e: Emitter, field: str) -> str:
    """A field of the running program's trace call."""
    return load_row(e, view_word(e, "frame"), FRAME[field] * ROW_BYTES)


def hit_row(e: Emitter, field: str) -> str:
    """A field of the hit that the program looks at: the committed one, or the candidate."""
    return load_row(e, view_word(e, "hit_rows"), HIT[field] * ROW_BYTES)
