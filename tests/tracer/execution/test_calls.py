"""Calls: recursive, with several results, through tables of addresses, of printf, assert and malloc; exits inside."""

from math import factorial

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.api import Device
from tests.tracer.harness.execution import HEADER, both, execute

MANY = """
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.global .align 1 .b8 fmt[16] = {118, 61, 37, 100, 32, 37, 53, 46, 50, 102, 10, 0};
.visible .func (.param .b32 r) fact(.param .b32 n)
{
  .reg .b32 %a<5>; .reg .pred %p;
  ld.param.b32 %a0, [n];
  setp.lt.u32 %p, %a0, 2;
  @%p bra one;
  sub.u32 %a1, %a0, 1;
  { .param .b32 x; .param .b32 y;
  st.param.b32 [x], %a1;
  call (y), fact, (x);
  ld.param.b32 %a2, [y]; }
  mul.lo.u32 %a2, %a2, %a0;
  st.param.b32 [r], %a2;
  ret;
one:
  st.param.b32 [r], 1;
  ret;
}
.func (.reg .u32 s, .reg .u32 d) addsub(.reg .u32 a, .reg .u32 b)
{
  .reg .pred q;
  add.u32 s, a, b;
  setp.gt.u32 q, b, 20;
  sub.u32 d, a, b;
  @q ret;
  add.u32 d, d, 1000;
  ret;
}
.func (.reg .u32 s, .reg .u32 d) swap(.reg .u32 a, .reg .u32 b)
{
  .reg .pred q;
  mov.u32 s, b; mov.u32 d, a;
  setp.eq.u32 q, a, 9;
  @q exit;
  ret;
}
.global .u64 table[] = {addsub, swap};
.visible .entry test(.param .u64 out)
{
    .reg .pred %p<4>;
    .reg .b32 %r<20>;
    .reg .b64 %l<12>;
    .reg .f64 %d<3>;
    .local .align 8 .b8 buf[16];
    ld.param.u64 %l1, [out];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %l2, %r2, 16;
    add.u64 %l1, %l1, %l2;
    and.b32 %r3, %r2, 7;
    { .param .b32 x; .param .b32 y;
    st.param.b32 [x], %r3;
    call (y), fact, (x);
    ld.param.b32 %r4, [y]; }
    st.global.u32 [%l1], %r4;
    call (%r5, %r6), addsub, (%r2, 7);
    and.b32 %r7, %r2, 1;
    mul.wide.u32 %l3, %r7, 8;
    mov.u64 %l4, table;
    add.u64 %l4, %l4, %l3;
    ld.global.u64 %l5, [%l4];
    p: .callprototype (.reg .u32 a, .reg .u32 b) _ (.reg .u32 c, .reg .u32 d);
    call (%r7, %r8), %l5, (%r2, 30), p;
    st.global.u32 [%l1+4], %r6;
    st.global.u32 [%l1+8], %r7;
    st.global.u32 [%l1+12], %r8;
    setp.lt.u32 %p1, %r2, 2;
    cvta.local.u64 %l6, buf;
    mov.u64 %l6, buf; cvta.local.u64 %l6, %l6;
    st.local.u32 [buf], %r2;
    cvt.rn.f64.u32 %d1, %r2;
    st.local.f64 [buf+8], %d1;
    mov.u64 %l7, fmt; cvta.global.u64 %l7, %l7;
    { .param .b64 p0; .param .b64 p1; .param .b32 rr;
     st.param.b64 [p0], %l7; st.param.b64 [p1], %l6;
     @%p1 call (rr), vprintf, (p0, p1);
     @%p1 ld.param.b32 %r9, [rr]; }
    @%p1 st.global.u32 [%l1], %r9;
    ret;
}
"""
VECTORS = """
.const .u32 cc = 5;
.func (.reg .v2 .u32 output) impl(.reg .v2 .u32 input)
{
 .reg .u32 t<4>;
 mov.u32 t1, input.x; mov.u32 t2, input.y;
 add.u32 t2, t1, t2;
 mov.v2.u32 output, {t2,t1};
 ret;
}
.func (.param .b32 r) sum(.param .align 4 .b8 s[12], .param .b32 k)
{
 .reg .b64 %l<4>; .reg .b32 %r<8>;
 mov.b64 %l1, s;
 ld.param.u32 %r1, [%l1];
 ld.u32 %r2, [%l1+4];
 ld.param.u32 %r3, [s+8];
 ld.param.u8 %r4, [s+1];
 add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;
 st.param.b32 [r], %r1;
 ret;
}
.visible .entry e(.param .u64 o)
{
 .reg .v4 .f32 %v; .reg .v2 .u32 %w; .reg .f32 %f<4>; .reg .b64 %l<8>; .reg .u32 %r<8>; .reg .pred %p<8>;
 .reg .v4 .u32 tt;
 .shared .u32 sh[4]; .local .u32 lo[4];
 ld.param.u64 %l1,[o];
 mov.v4.u32 tt, %tid;
 mov.v4.u32 {%r0,%r1,%r2,%r3}, %tid;
 mul.wide.u32 %l2, %r0, 32; add.u64 %l1, %l1, %l2;
 add.u32 %r1, %r0, 100;
 mov.v2.u32 %w, {%r0,%r1};
 setp.eq.u32 %p1, %r0, 3; @%p1 mov.u32 %w.x, 1000;
 call (%w), impl, (%w);
 st.global.v2.u32 [%l1], %w;
 ld.global.v2.f32 {%f1,%f2}, [%l1];
 mov.v4.f32 %v, {%f1,%f2,%f1,%f1};
 { .param .align 4 .b8 a[12]; .param .b32 k; .param .b32 q;
 st.param.b32 [a], %r0; st.param.b32 [a+4], 7; st.param.v2.b16 [a+8], {1, 0}; st.param.b32 [k], 3;
 call (q), sum, (a, k);
 ld.param.b32 %r4, [q]; }
 st.global.u32 [%l1+8], %r4;
 mov.u64 %l3, sh; cvta.shared.u64 %l3, %l3; isspacep.shared %p1, %l3; isspacep.global %p2, %l3;
 selp.u32 %r5, 1, 0, %p1; selp.u32 %r6, 2, 0, %p2; or.b32 %r5, %r5, %r6;
 mov.u64 %l3, lo; cvta.local.u64 %l3, %l3; isspacep.local %p1, %l3; selp.u32 %r6, 4, 0, %p1; or.b32 %r5, %r5, %r6;
 mov.u64 %l3, cc; cvta.const.u64 %l3, %l3; isspacep.const %p1, %l3; selp.u32 %r6, 8, 0, %p1; or.b32 %r5, %r5, %r6;
 isspacep.global %p1, %l1; selp.u32 %r6, 16, 0, %p1; or.b32 %r5, %r5, %r6;
 isspacep.local %p1, %l1; selp.u32 %r6, 32, 0, %p1; or.b32 %r5, %r5, %r6;
 mov.b64 %l4, o; cvta.param.u64 %l4, %l4; isspacep.param %p1, %l4; selp.u32 %r6, 64, 0, %p1; or.b32 %r5, %r5, %r6;
 st.global.u32 [%l1+12], %r5;
 mov.u32 %r5, %clock; mov.u32 %r6, %clock; sub.u32 %r5, %r6, %r5; st.global.u32 [%l1+16], %r5;
 mov.u32 %r5, %pm0; mov.u32 %r6, %cluster_nctaid.x; add.u32 %r5, %r5, %r6; mov.u32 %r6, %clusterid.x;
 add.u32 %r5,%r5,%r6; st.global.u32 [%l1+20], %r5;
 mov.u32 %r5, tt.y; st.global.u32 [%l1+24], %r5;
 ret;
}
"""


def test_recursion_results_tables_exits_and_printing() -> None:
    out = both(MANY, [np.zeros((32, 4), np.uint32)]).buffers[0]
    lane = np.arange(32)
    swapped = lane & 1 == 1
    ended = lane == 9
    first = np.array([factorial(n & 7) for n in range(32)])
    first[:2] = 2  # printf converts two arguments
    assert np.array_equal(out[:, 0], first)
    assert np.array_equal(out[:, 1], np.where(ended, 0, lane - 7 + 1000))
    assert np.array_equal(out[:, 2], np.where(ended, 0, np.where(swapped, 30, lane + 30)))
    assert np.array_equal(out[:, 3], np.where(ended, 0, np.where(swapped, lane, lane - 30)).astype(np.uint32))


@pytest.mark.parametrize("backend", ["machine", "interpreter"])
def test_what_is_printed_is_kept_in_order(backend: str) -> None:
    device = Device(HEADER + MANY)
    device.launch("test", [np.zeros((32, 4), np.uint32)], backend=backend)
    assert device.printed == "v=0  0.00\nv=1  1.00\n"


def test_vector_registers_parameters_by_address_and_special_registers() -> None:
    out = both(VECTORS, [np.zeros((64, 8), np.uint32)], block=(32, 2, 1)).buffers[0]
    lane = np.arange(32)
    assert np.array_equal(out[:32, 0], np.where(lane == 3, 1000, lane) + lane + 100)
    assert np.array_equal(out[:32, 1], np.where(lane == 3, 1000, lane))
    assert np.array_equal(out[:32, 2], lane + 7 + 1)
    assert np.all(out[:32, 3] == 1 + 4 + 8 + 16 + 64)  # isspacep: shared, local, const, global, param
    assert np.all(out[:32, 4] == 1)  # one tick per instruction
    assert np.all(out[:32, 5] == 1)  # a cluster of one CTA


SERVICES = """
.extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 g, .param .b64 c);
.extern .func (.param .b64 r) malloc (.param .b64 n);
.extern .func free (.param .b64 p);
.extern .func mystery (.param .b64 p);
.global .align 1 .b8 message[] = {97, 32, 60, 32, 98, 0};
.global .align 1 .b8 file[] = {120, 46, 99, 117, 0};
.visible .entry test(.param .u64 out, .param .u32 kind)
{
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %l<8>;
    ld.param.u64 %l1, [out]; ld.param.u32 %r1, [kind];
    mov.u32 %r2, %tid.x; mul.wide.u32 %l2, %r2, 8; add.u64 %l1, %l1, %l2;
    setp.eq.u32 %p1, %r1, 1; setp.eq.and.u32 %p1, %r2, 5, %p1;
    mov.u64 %l3, message; mov.u64 %l4, file;
    { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
    st.param.b64 [a], %l3; st.param.b64 [b], %l4; st.param.b32 [c], 12; st.param.b64 [d], %l4; st.param.b64 [e], 1;
    @%p1 call __assertfail, (a, b, c, d, e); }
    setp.eq.u32 %p2, %r1, 2;
    { .param .b64 a; st.param.b64 [a], %l3; @%p2 call mystery, (a); }
    { .param .b64 a; .param .b64 r; st.param.b64 [a], 24; call (r), malloc, (a); ld.param.b64 %l5, [r]; }
    st.u32 [%l5+20], %r2;
    ld.u32 %r3, [%l5+20];
    cvt.u64.u32 %l6, %r3;
    st.global.u64 [%l1], %l6;
    { .param .b64 a; st.param.b64 [a], %l5; call free, (a); }
    ret;
}
"""


def test_memory_of_the_heap_belongs_to_its_lane() -> None:
    assert both(SERVICES, [np.zeros(32, np.uint64), 0]).buffers[0].tolist() == list(range(32))


@pytest.mark.parametrize("backend", ["machine", "interpreter"])
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (1, r"test: test\.ptx:\d+: call: lane 5: x\.cu:12: x\.cu: assertion `a < b` failed"),
        (2, "function mystery has no body, and the executor has only vprintf, __assertfail, malloc, free"),
    ],
)
def test_failed_assertions_and_missing_functions_end_the_launch(kind: int, message: str, backend: str) -> None:
    with pytest.raises(UserError, match=message):
        execute(SERVICES, [np.zeros(32, np.uint64), kind], backend)


INDIRECT = """
.func (.reg .u32 r) one(.reg .u32 a) { add.u32 r, a, 1; ret; }
.func (.reg .u32 r) two(.reg .u64 a) { cvt.u32.u64 r, a; ret; }
.global .u64 table[2] = {one, two};
.visible .entry test(.param .u64 out, .param .u32 add)
{
    .reg .b32 %r<8>; .reg .b64 %l<8>;
    ld.param.u64 %l1, [out]; ld.param.u32 %r1, [add];
    mov.u32 %r2, %tid.x; shr.u32 %r4, %r2, 4; mul.wide.u32 %l4, %r4, 8;
    mov.u64 %l2, table; add.u64 %l2, %l2, %l4;
    ld.global.u64 %l3, [%l2]; cvt.u64.u32 %l5, %r1; add.u64 %l3, %l3, %l5;
    shape: .callprototype (.reg .u32 _) _ (.reg .u32 _);
    call (%r3), %l3, (%r2), shape;
    st.global.u32 [%l1], %r3;
    ret;
}
"""


@pytest.mark.parametrize("backend", ["machine", "interpreter"])
@pytest.mark.parametrize(
    ("add", "message"),
    [
        (0, "calls a function that has parameters or results of other sizes"),
        (4, r"lane 0 calls 0x8000004, which is not"),
    ],
)
def test_calls_of_what_is_no_such_function_are_errors(add: int, message: str, backend: str) -> None:
    with pytest.raises(UserError, match=message):
        execute(INDIRECT, [np.zeros(32, np.uint32), add], backend)
