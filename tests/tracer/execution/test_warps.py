"""Barriers, calls and exchanges between lanes: machine code equals the interpreter, and the answers are known."""

import numpy as np
import pytest

from tests.tracer.harness.execution import both, execute

BARRIERS = """
.visible .entry test(.param .u64 out)
{
    .reg .pred %p<4>;
    .reg .b32 %r<12>;
    .reg .b64 %l<4>;
    .shared .align 4 .b8 cells[512];
    ld.param.u64 %l1, [out];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, cells;
    add.u32 %r4, %r3, %r2;
    st.shared.u32 [%r4], %r1;
    mov.u32 %r5, 64;
again:
    bar.sync 0;
    setp.ge.u32 %p1, %r1, %r5;
    @%p1 bra skip;
    shl.b32 %r6, %r5, 2;
    add.u32 %r7, %r4, %r6;
    ld.shared.u32 %r8, [%r7];
    ld.shared.u32 %r9, [%r4];
    add.u32 %r9, %r9, %r8;
    st.shared.u32 [%r4], %r9;
skip:
    shr.u32 %r5, %r5, 1;
    setp.ne.u32 %p2, %r5, 0;
    @%p2 bra again;
    setp.ne.u32 %p3, %r1, 0;
    @%p3 bra done;
    mov.u32 %r10, %ctaid.x;
    mul.wide.u32 %l2, %r10, 4;
    add.u64 %l2, %l1, %l2;
    st.global.u32 [%l2], %r9;
done:
    ret;
}
"""


def test_warps_meet_at_barriers_and_their_rows_stand_together() -> None:
    out = both(BARRIERS, [np.zeros(3, np.uint32)], grid=(3, 1, 1), block=(128, 1, 1))
    assert out.buffers[0].tolist() == [128 * 127 // 2] * 3
    visits, accesses = out.sink.table("visits"), out.sink.table("accesses")
    assert np.all(np.diff(visits["warp_id"].astype(np.int64)) >= 0)
    assert np.all(np.diff(accesses["warp_id"].astype(np.int64)) >= 0)
    shared = accesses["address"][:32]
    assert shared.tolist() == list(range(0, 128, 4)), "shared addresses are offsets in the CTA"


def test_full_buffers_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from rayplay.tracer.record import buffers

    whole = execute(BARRIERS, [np.zeros(40, np.uint32)], grid=(40, 1, 1), block=(128, 1, 1))
    for name, size in (("VISITS", 64), ("ACCESSES", 32), ("ADDRESSES", 512), ("RUNS", 16)):
        monkeypatch.setattr(buffers, name, size)
    for backend in ("machine", "interpreter"):
        part = execute(BARRIERS, [np.zeros(40, np.uint32)], backend, grid=(40, 1, 1), block=(128, 1, 1))
        assert np.array_equal(part.buffers[0], whole.buffers[0])
        for table in ("visits", "accesses"):
            ours, theirs = part.sink.table(table), whole.sink.table(table)
            assert all(np.array_equal(ours[column], theirs[column]) for column in theirs), table
        assert part.counts == whole.counts


CALLS = """
.func (.param .b32 answer) collatz(.param .b32 start, .param .b64 counter)
{
    .reg .pred %p<3>;
    .reg .b32 %r<6>;
    .reg .b64 %l<3>;
    .local .align 8 .b8 depot[16];
    ld.param.u32 %r1, [start];
    ld.param.u64 %l1, [counter];
    mov.u64 %l2, depot;
    st.local.u32 [%l2+4], %r1;
    mov.u32 %r2, 0;
top:
    setp.le.u32 %p1, %r1, 1;
    @%p1 bra out;
    and.b32 %r3, %r1, 1;
    setp.eq.u32 %p2, %r3, 0;
    @%p2 bra even;
    mad.lo.u32 %r1, %r1, 3, 1;
    bra next;
even:
    shr.u32 %r1, %r1, 1;
next:
    add.u32 %r2, %r2, 1;
    bra top;
out:
    atom.global.add.u32 %r4, [%l1], %r2;
    ld.local.u32 %r5, [depot+4];
    add.u32 %r2, %r2, %r5;
    st.param.b32 [answer], %r2;
    ret;
}
.visible .entry test(.param .u64 out, .param .u64 total)
{
    .reg .pred %p<3>;
    .reg .b32 %r<6>;
    .reg .b64 %l<6>;
    ld.param.u64 %l1, [out];
    ld.param.u64 %l2, [total];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %l3, %r1, 4;
    add.u64 %l1, %l1, %l3;
    and.b32 %r2, %r1, 3;
    setp.eq.u32 %p1, %r2, 3;
    @%p1 bra skip;
    {
        .param .b32 first;
        .param .b64 second;
        .param .b32 result;
        st.param.b32 [first], %r1;
        st.param.b64 [second], %l2;
        call.uni (result), collatz, (first, second);
        ld.param.b32 %r3, [result];
    }
    st.global.u32 [%l1], %r3;
skip:
    ret;
}
"""


def test_calls_pass_values_and_have_their_own_local_memory() -> None:
    out = both(CALLS, [np.zeros(64, np.uint32), np.zeros(1, np.uint32)], block=(64, 1, 1))
    steps = []
    for n in range(64):
        count, value = 0, n
        while value > 1:
            value, count = (value // 2 if value % 2 == 0 else 3 * value + 1), count + 1
        steps.append(0 if n % 4 == 3 else count)
    assert out.buffers[0].tolist() == [0 if n % 4 == 3 else steps[n] + n for n in range(64)]
    assert out.buffers[1][0] == sum(steps)
    local = out.sink.table("kernels")
    assert local["local_bytes"][0] == 16


WARP = """
.visible .entry test(.param .u64 out)
{
    .reg .pred %p<6>;
    .reg .b32 %r<24>;
    .reg .f32 %f<4>;
    .reg .b64 %l<4>;
    ld.param.u64 %l1, [out];
    mov.u32 %r1, %laneid;
    mul.wide.u32 %l2, %r1, 4;
    add.u64 %l1, %l1, %l2;
    mul.lo.u32 %r2, %r1, %r1;
    and.b32 %r3, %r1, 3;
    setp.ne.u32 %p1, %r3, 1;
    shfl.sync.down.b32 %r4|%p2, %r2, 3, 0x1f, -1;
    shfl.sync.up.b32 %r5, %r2, 2, 0, -1;
    shfl.sync.bfly.b32 %r6, %r2, 5, 0x181f, -1;
    @%p1 shfl.sync.idx.b32 %r7, %r2, %r3, 0x1f, -1;
    vote.sync.ballot.b32 %r8, %p1, -1;
    @%p1 vote.sync.any.pred %p3, %p2, -1;
    @%p1 activemask.b32 %r9;
    match.any.sync.b32 %r10, %r3, -1;
    match.all.sync.b32 %r11|%p4, %r3, -1;
    add.u32 %r12, %r4, %r5;
    xor.b32 %r12, %r12, %r6;
    add.u32 %r12, %r12, %r7;
    xor.b32 %r12, %r12, %r8;
    selp.u32 %r13, 77, 11, %p3;
    add.u32 %r12, %r12, %r13;
    xor.b32 %r12, %r12, %r9;
    xor.b32 %r12, %r12, %r10;
    add.u32 %r12, %r12, %r11;
    mov.u32 %r14, %lanemask_lt;
    popc.b32 %r15, %r14;
    add.u32 %r12, %r12, %r15;
    st.global.u32 [%l1], %r12;
    cvt.rn.f32.u32 %f1, %r1;
    ld.param.u64 %l3, [out];
    red.global.add.f32 [%l3+128], %f1;
    atom.global.max.u32 %r16, [%l3+132], %r2;
    atom.global.cas.b32 %r17, [%l3+136], %r1, 9;
    @%p1 atom.global.exch.b32 %r18, [%l3+140], %r1;
    atom.global.inc.u32 %r19, [%l3+144], 20;
    st.global.u32 [%l1+160], %r19;
    ret;
}
"""


def test_lanes_exchange_values_and_atomics_run_in_lane_order() -> None:
    out = both(WARP, [np.zeros(72, np.uint32)]).buffers[0]
    assert out[32:33].view(np.float32)[0] == 496
    assert out[33:36].tolist() == [31 * 31, 9, 31]
    assert out[40:72].tolist() == [k % 21 for k in range(32)]
