"""Atomics and reductions in memory: every operation and type, lanes in order, vectors, scopes, and forms PTX lacks."""

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from tests.tracer.harness.execution import both, execute

HEAD = """
.shared .align 16 .b8 tile[64];
.visible .entry test(.param .u64 out, .param .u64 in, .param .u64 cell)
{{
    .reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .f32 %f<8>; .reg .b64 %l<16>; .reg .f64 %d<8>;
    ld.param.u64 %l1, [out]; ld.param.u64 %l2, [in]; ld.param.u64 %l3, [cell];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %l4, %r1, {size};
    add.u64 %l1, %l1, %l4;
    add.u64 %l2, %l2, %l4;
    {body}
    ret;
}}
"""


def run(operation: str, kind: str, values: np.ndarray, cell: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values that lanes got, and the cell in the end; the same in shared memory and through red."""
    size, register = values.itemsize, {2: "%h", 4: "%r", 8: "%l"}[values.itemsize]
    body = f"ld.global.b{8 * size} {register}5, [%l2]; "
    atom = body + (
        f"atom.acq_rel.gpu.global.{operation}.{kind} {register}6, [%l3], {register}5; "
        f"st.global.b{8 * size} [%l1], {register}6;"
    )
    zero = np.zeros_like(values)
    made = both(HEAD.format(size=size, body=atom), [zero, values, cell])
    if operation != "exch":  # which has no red
        red = body + f"red.relaxed.cta.{operation}.{kind} [%l3], {register}5;"
        again = both(HEAD.format(size=size, body=red), [zero, values, cell])
        assert np.array_equal(again.buffers[2], made.buffers[2])
    shared = body + (
        f"setp.eq.u32 %p1, %r1, 0; @%p1 ld.global.b{8 * size} {register}6, [%l3];"
        f"@%p1 st.shared.b{8 * size} [tile+8], {register}6;"
        f"atom.shared::cta.{operation}.{kind} {register}6, [tile+8], {register}5;"
        f"st.global.b{8 * size} [%l1], {register}6;"
    )
    inside = both(HEAD.format(size=size, body=shared), [zero, values, cell])
    assert np.array_equal(inside.buffers[0], made.buffers[0])
    return made.buffers[0], made.buffers[2]


def expected(values: np.ndarray, cell: np.ndarray, step: object) -> tuple[list[int], int]:
    """One lane after the other."""
    before, held = [], int(cell[0])
    bits = 8 * cell.itemsize
    for value in values.tolist():
        before.append(held % (1 << bits))
        held = step(held, value)  # type: ignore[operator]
    return before, held % (1 << bits)


INTEGERS = {
    "add": (lambda x, y: x + y, ("u32", "s32", "u64")),
    "min": (min, ("u32", "s32", "u64", "s64")),
    "max": (max, ("u32", "s32", "u64", "s64")),
    "and": (lambda x, y: x & y, ("b32", "b64")),
    "or": (lambda x, y: x | y, ("b32", "b64")),
    "xor": (lambda x, y: x ^ y, ("b32", "b64")),
    "exch": (lambda x, y: y, ("b32", "b64")),
    "inc": (lambda x, y: 0 if x >= y else x + 1, ("u32",)),
    "dec": (lambda x, y: y if x == 0 or x > y else x - 1, ("u32",)),
}


@pytest.mark.parametrize(
    ("operation", "kind"), [(name, kind) for name, (_, kinds) in INTEGERS.items() for kind in kinds]
)
def test_integers(operation: str, kind: str) -> None:
    dtype = np.dtype(f"{'i' if kind[0] == 's' else 'u'}{int(kind[1:]) // 8}")
    random = np.random.default_rng(7)
    small = operation in ("inc", "dec")
    limits = np.iinfo(dtype)
    values = random.integers(0 if small else limits.min, 9 if small else limits.max, 32, dtype, endpoint=True)
    cell = np.array([3 if small else limits.max // 3], dtype)
    before, after = expected(values, cell, INTEGERS[operation][0])
    out, held = run(operation, kind, values, cell)
    unsigned = f"u{dtype.itemsize}"
    assert out.view(unsigned).tolist() == before
    assert held.view(unsigned)[0] == after


def test_compare_and_swap_lets_one_lane_win() -> None:
    body = "atom.global.cas.b32 %r6, [%l3], 7, %r1; st.global.u32 [%l1], %r6;"
    out = both(HEAD.format(size=4, body=body), [np.zeros(32, np.uint32), np.zeros(1), np.array([7], np.uint32)])
    assert out.buffers[0].tolist() == [7] + [0] * 31
    assert out.buffers[2][0] == 0
    half = "cvt.u16.u32 %h1, %r1; mov.u16 %h2, 5; atom.cas.b16 %h3, [%l3], %h2, %h1; st.global.u16 [%l1], %h3;"
    out = both(HEAD.format(size=2, body=half), [np.zeros(32, np.uint16), np.zeros(1), np.array([5], np.uint16)])
    assert out.buffers[0].tolist() == [5] + [0] * 31


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_are_added_in_the_order_of_lanes(dtype: str) -> None:
    values = (np.random.default_rng(3).normal(size=32) * 10.0 ** np.arange(-8, 24, 1)).astype(dtype)
    cell = np.array([0.1], dtype)
    out, held = run("add", f"f{8 * cell.itemsize}", values.view(f"u{cell.itemsize}"), cell.view(f"u{cell.itemsize}"))
    total = cell[0]
    for lane, value in enumerate(values):
        assert out.view(dtype)[lane] == total
        total = total + value
    assert held.view(dtype)[0] == total


def test_halves_and_pairs_of_them() -> None:
    values = np.random.default_rng(4).normal(size=(32, 2)).astype(np.float16)
    values[5, 1], values[9, 0] = np.inf, np.nan
    packed = values.view(np.uint32).reshape(-1)
    out, held = run("add.noftz", "f16x2", packed, np.array([0x3C003C00], np.uint32))
    total = np.ones(2, np.float16)
    for value in values:
        total = total + value
    assert held.view(np.float16)[1] == total[1] == np.inf
    assert held.view(np.uint16)[0] == 0x7FFF
    assert out[0] == 0x3C003C00
    singles = values[:, 1].copy().view(np.uint16)
    assert run("add.noftz", "f16", singles, np.array([0x3C00], np.uint16))[1].view(np.float16)[0] == np.inf


def test_bfloats_round_to_nearest_even() -> None:
    values = np.random.default_rng(5).normal(size=32).astype(np.float32).view(np.uint32) >> 16
    _, held = run("add.noftz", "bf16", values.astype(np.uint16), np.array([0x3F80], np.uint16))
    total = np.float32(1)
    for value in values:
        exact = float(total) + float((value << 16).astype(np.uint32).view(np.float32))
        bits = int(np.float32(exact).view(np.uint32))
        total = np.uint32((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32)
    assert held[0] == total.view(np.uint32) >> 16


def test_vectors_are_done_element_by_element() -> None:
    body = """
    cvt.rn.f32.u32 %f1, %r1; mov.f32 %f2, 0f3F800000;
    atom.global.add.v4.f32 {%f3, %f4, %f5, %f6}, [%l3], {%f1, %f2, %f1, %f2};
    st.global.v4.f32 [%l1], {%f3, %f4, %f5, %f6};
    red.global.max.noftz.v2.f16x2 [%l3+16], {%r1, %r1};
    """
    cell = np.zeros(8, np.float32)
    out = both(HEAD.format(size=16, body=body), [np.zeros((32, 4), np.float32), np.zeros(1), cell])
    sums = np.cumsum(np.arange(32)) - np.arange(32)
    assert np.array_equal(out.buffers[0][:, 0], sums)
    assert np.array_equal(out.buffers[0][:, 3], np.arange(32))
    assert out.buffers[2][:4].tolist() == [496, 32, 496, 32]
    assert out.buffers[2].view(np.uint32)[4] == 31


@pytest.mark.parametrize(
    "text",
    ["atom.global.min.f32 %f1, [%l3], %f2", "atom.global.inc.s32 %r2, [%l3], 4", "red.global.and.u32 [%l3], %r1",
     "atom.global.add.foo.u32 %r2, [%l3], 4", "atom.global.add.v2.u32 {%r2, %r3}, [%l3], {%r1, %r1}",
     "ld.global.foo.u32 %r2, [%l3]", "st.global.v2.u32 [%l3], %r2", "shfl.sync.sideways.b32 %r2, %r1, 1, 31, -1"],
)  # fmt: skip
def test_forms_that_ptx_does_not_have_are_named(text: str) -> None:
    opcode = text.split()[0].replace(".", r"\.")
    with pytest.raises(UserError, match=rf"test\.ptx:\d+:\d+: the executor does not know {opcode}"):
        execute(HEAD.format(size=4, body=text + ";"), [np.zeros(32, np.uint32)] * 3)
