"""Slices through everything that values can travel by: functions in registers, recursion, the runtime, async copies."""

import pytest

from rayplay.hypa.profile import count_launch, launch_program
from rayplay.hypa.slices import SliceCache
from tests.hypa.slicing.test_slice import LOOP, both, entry, launch_of

END = LOOP.format(count="%r3")

INDIRECT = """
.func (.param .b32 o) twice(.param .b32 a) { .reg .b32 %r<4>; .reg .pred %p<2>;
    ld.param.u32 %r1, [a]; setp.gt.u32 %p1, %r1, 30; @%p1 bra BIG; add.u32 %r1, %r1, %r1;
BIG: st.param.b32 [o], %r1; ret; }
.func (.param .b32 o) half(.param .b32 a) { .reg .b32 %r<4>;
    ld.param.u32 %r1, [a]; mul.lo.u32 %r2, %r1, 5; shr.u32 %r1, %r1, 1; st.param.b32 [o], %r1; ret; }
"""
INDIRECT_CALL = """
    mul.lo.u32 %r9, %r0, 3;
    and.b32 %r1, %r0, 1;
    setp.eq.u32 %p1, %r1, 0;
    mov.u64 %rd7, twice;
    mov.u64 %rd8, half;
    selp.b64 %rd9, %rd7, %rd8, %p1;
    {
    .param .b32 x; .param .b32 y;
    st.param.b32 [x], %r0;
    shape: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (y), %rd9, (x), shape;
    ld.param.b32 %r3, [y];
    }
"""
REGISTERS = """
.func (.reg .b32 o) pick(.reg .b32 a, .reg .b32 b) { .reg .pred %p<2>;
    setp.gt.u32 %p1, a, 40; mov.u32 o, a; @%p1 bra DONE; add.u32 o, a, 17;
DONE: ret; }
"""
REGISTERS_CALL = """
    mul.lo.u32 %r9, %r0, 3;
    call (%r3), pick, (%r0, %r9);
"""
RECURSIVE = """
.func (.param .b32 o) depth(.param .b32 a) { .reg .b32 %r<6>; .reg .pred %p<2>;
    ld.param.u32 %r1, [a]; mov.u32 %r2, 0; setp.lt.u32 %p1, %r1, 9; @%p1 bra LEAF;
    sub.u32 %r3, %r1, 9;
    { .param .b32 x; .param .b32 y; st.param.b32 [x], %r3; call (y), depth, (x); ld.param.b32 %r2, [y]; }
    add.u32 %r2, %r2, 12;
LEAF: st.param.b32 [o], %r2; ret; }
"""
RECURSIVE_CALL = """
    mul.lo.u32 %r9, %r0, 3;
    { .param .b32 x; .param .b32 y; st.param.b32 [x], %r0; call (y), depth, (x); ld.param.b32 %r3, [y]; }
"""


ADDRESSED = """
.func (.param .b32 o) second(.param .align 8 .b8 pair[16]) { .reg .b32 %r<6>; .reg .b64 %rd<4>; .reg .pred %p<2>;
    mov.b64 %rd1, pair; add.u64 %rd1, %rd1, 8; ld.param.u32 %r1, [%rd1]; ld.param.u32 %r2, [pair];
    setp.gt.u32 %p1, %r1, 30; @%p1 bra BIG; add.u32 %r1, %r1, 3;
BIG: st.param.b32 [o], %r1; ret; }
"""
ADDRESSED_CALL = """
    mul.lo.u32 %r9, %r0, 3;
    { .param .align 8 .b8 x[16]; .param .b32 y; st.param.b32 [x+8], %r0; st.param.b32 [x], 5;
    call (y), second, (x); ld.param.b32 %r3, [y]; }
"""


@pytest.mark.parametrize(("functions", "call"), [
    (INDIRECT, INDIRECT_CALL), (REGISTERS, REGISTERS_CALL), (RECURSIVE, RECURSIVE_CALL), (ADDRESSED, ADDRESSED_CALL),
], ids=["indirect", "registers", "recursive", "by address"])  # fmt: skip
def test_values_that_functions_return(functions: str, call: str) -> None:
    counts, left = both(entry(call + END, functions))
    assert "mul.lo.u32 %r9, %r0, 3;" in left
    assert counts.divergent.sum() > 3


PRINTF = """
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 message[4] = {37, 100, 10, 0};
"""
PRINT = """
    mov.u64 %rd7, frame;
    cvta.local.u64 %rd8, %rd7;
    st.local.u32 [%rd7], %r0;
    mov.u64 %rd9, message;
    cvta.global.u64 %rd9, %rd9;
    { .param .b64 f; .param .b64 a; .param .b32 r;
    st.param.b64 [f], %rd9; st.param.b64 [a], %rd8;
    call (r), vprintf, (f, a); ld.param.b32 %r8, [r]; }
"""


@pytest.mark.parametrize("decides", [False, True])
def test_printing_is_left_out_where_nothing_depends_on_it(decides: bool) -> None:
    more = "    add.u32 %r3, %r8, %r0;\n" if decides else "    mov.u32 %r3, %r0;\n"
    text = entry(PRINT + more + END, PRINTF).replace(".reg .f32", ".local .align 8 .b8 frame[8]; .reg .f32")
    counts, left = both(text)
    assert ("st.local.u32 [%rd7], %r0;" in left) is not decides
    launch = launch_of(text)
    count_launch(SliceCache().find(launch, launch_program(launch), frozenset())[1], launch_program(launch), False)
    assert len(launch.memory.printed) == (counts.lanes[0] if decides else 0)


MALLOC = """
.extern .func (.param .b64 r) malloc (.param .b64 n);
"""
ALLOCATE = """
    { .param .b64 n; .param .b64 r; mov.u64 %rd7, 64; st.param.b64 [n], %rd7;
    call (r), malloc, (n); ld.param.b64 %rd8, [r]; }
    st.u32 [%rd8+4], %r0;
    st.u32 [%rd8+8], %r0;
    ld.u32 %r3, [%rd8+4];
"""
COPY = """
    and.b32 %r1, %r0, 31;
    shl.b32 %r1, %r1, 2;
    mov.u32 %r2, tile;
    add.u32 %r2, %r2, %r1;
    cp.async.ca.shared.global [%r2], [%rd3], 4;
    cp.async.commit_group;
    cp.async.wait_group 0;
    bar.sync 0;
    ld.shared.u32 %r3, [%r2];
    xor.b32 %r9, %r9, %r0;
"""


@pytest.mark.parametrize(("declarations", "body"), [(MALLOC, ALLOCATE), ("", COPY)], ids=["malloc", "cp.async"])
def test_memory_by_other_ways(declarations: str, body: str) -> None:
    text = entry(body + END, declarations)
    text = text.replace(".reg .f32", ".shared .align 16 .b8 tile[128]; .reg .f32")
    counts, left = both(text)
    assert counts.divergent.sum() > 0
    assert not any(word in line for line in left for word in ("st.u32 [%rd8+4]", "cp.async", "bar.sync"))
