"""CTA barriers: predicates, registers, arrivals, reductions, warps that have ended, and what never opens."""

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from tests.tracer.harness.execution import both, execute

FRAME = """
.shared .align 4 .b8 tile[1024];
.visible .entry test(.param .u64 out)
{{
    .reg .pred %p<8>;
    .reg .b32 %r<16>;
    .reg .b64 %l<8>;
    ld.param.u64 %l1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %l2, %r1, 4;
    add.u64 %l1, %l1, %l2;
    shr.u32 %r2, %r1, 5;
    shl.b32 %r3, %r1, 2;
    mov.u32 %r4, tile;
    add.u32 %r3, %r3, %r4;
    {body}
    st.global.u32 [%l1], %r9;
    ret;
}}
"""
THREADS = np.arange(128, dtype=np.uint32)


def run(body: str, threads: int = 128) -> np.ndarray:
    return both(FRAME.format(body=body), [np.zeros(128, np.uint32)], block=(threads, 1, 1)).buffers[0]


def test_barrier_number_and_count_come_from_registers() -> None:
    # warps 0 and 1 exchange at barrier 3, warps 2 and 3 at barrier 4, 64 threads each
    out = run("""
    shr.u32 %r5, %r2, 1; add.u32 %r5, %r5, 3; mov.u32 %r6, 64;
    st.shared.u32 [%r3], %r1;
    bar.sync %r5, %r6;
    xor.b32 %r7, %r3, 128;
    ld.shared.u32 %r9, [%r7];
    """)
    assert np.array_equal(out, THREADS ^ 32)


def test_only_the_warps_whose_predicate_holds_wait() -> None:
    out = run("""
    setp.lt.u32 %p1, %r2, 2;
    @%p1 st.shared.u32 [%r3], %r1;
    @%p1 barrier.cta.sync 1, 64;
    xor.b32 %r7, %r3, 128;
    mov.u32 %r9, 7;
    @%p1 ld.shared.u32 %r9, [%r7];
    """)
    assert np.array_equal(out, np.where(THREADS < 64, THREADS ^ 32, 7))


def test_a_producer_arrives_without_waiting() -> None:
    # warp 3 waits for data of warps 0 to 2, which do not wait
    out = run("""
    setp.eq.u32 %p1, %r2, 3;
    @%p1 bra consumer;
    st.shared.u32 [%r3], %r1;
    bar.arrive 2, 128;
    mov.u32 %r9, 1;
    bra done;
consumer:
    bar.sync 2, 128;
    ld.shared.u32 %r9, [%r3+-384];
done:
    """)
    assert np.array_equal(out, np.where(THREADS < 96, 1, THREADS - 96))


@pytest.mark.parametrize(("word", "value"), [("popc.u32 %r9", 100), ("and.pred %p2", 0), ("or.pred %p2", 1)])
def test_reductions_count_all_threads(word: str, value: int) -> None:
    out = run(f"""
    setp.lt.u32 %p1, %r1, 28;
    setp.eq.u32 %p2, %r1, 500;
    barrier.cta.red.{word}, 0, !%p1;
    @%p2 mov.u32 %r9, 1;
    """)
    assert np.all(out == value)


def test_and_holds_when_every_thread_agrees_and_the_barrier_is_used_again() -> None:
    out = run("""
    setp.lt.u32 %p1, %r1, 200;
    bar.red.and.pred %p2, 1, 128, %p1;
    setp.lt.u32 %p1, %r1, 5;
    bar.red.popc.u32 %r8, 1, %p1;
    selp.u32 %r9, %r8, 0, %p2;
    """)
    assert np.all(out == 5)


def test_warps_that_have_ended_are_not_waited_for() -> None:
    out = run("""
    mov.u32 %r9, 3;
    setp.ge.u32 %p1, %r1, 40;
    @%p1 exit;
    bar.red.popc.u32 %r9, 0, %p2;
    add.u32 %r9, %r9, 5;
    """)
    assert np.array_equal(out, np.where(THREADS < 40, 5, 0))


def test_the_cluster_is_the_cta() -> None:
    out = run("""
    st.shared.u32 [%r3], %r1;
    barrier.cluster.arrive.release;
    barrier.cluster.wait.acquire;
    xor.b32 %r7, %r3, 256;
    ld.shared.u32 %r9, [%r7];
    """)
    assert np.array_equal(out, THREADS ^ 64)


def test_a_warp_that_pauses_lets_others_set_its_flag() -> None:
    out = run("""
    setp.eq.u32 %p1, %r2, 3;
    @%p1 bra set;
again:
    nanosleep.u32 100;
    ld.volatile.shared.u32 %r9, [tile];
    setp.eq.u32 %p2, %r9, 0;
    @%p2 bra again;
    bra done;
set:
    mov.u32 %r9, 9;
    st.volatile.shared.u32 [tile], %r9;
done:
    """)
    assert np.all(out == 9)


@pytest.mark.parametrize("backend", ["machine", "interpreter"])
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("bar.sync 1, 160;", r"bar\.sync: no warp of the CTA can go on: warp 0 waits at barrier 1, where 128 of 160"),
        ("mov.u32 %r5, 16; bar.sync %r5;", "names barrier 16"),
        ("again: nanosleep.u32 1; bra again;", r"nanosleep\.u32: every warp of the CTA waits"),
    ],
)  # fmt: skip
def test_waiting_without_an_end_is_an_error(body: str, message: str, backend: str) -> None:
    with pytest.raises(UserError, match=message):
        execute(FRAME.format(body=body), [np.zeros(128, np.uint32)], backend, block=(128, 1, 1))


PIPELINE = """
    setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared::cta.b64 [tile+512], 32;
    @%p1 mbarrier.init.shared.b64 [tile+520], 33;
    bar.sync 0;
    setp.eq.u32 %p2, %r2, 1;
    mov.u32 %r8, 0;
    @%p2 bra consumer;
produce:
    and.b32 %r7, %r8, 1;
    xor.b32 %r7, %r7, 1;
full:
    mbarrier.try_wait.parity.shared::cta.b64 %p3, [tile+520], %r7, 1000;
    @!%p3 bra full;
    add.u32 %r6, %r1, %r8;
    st.shared.u32 [%r3], %r6;
    @%p1 mbarrier.expect_tx.relaxed.cta.shared.b64 [tile+512], 64;
    @%p1 mbarrier.complete_tx.relaxed.cta.shared.b64 [tile+512], 64;
    mbarrier.arrive.shared.b64 %l5, [tile+512];
    add.u32 %r8, %r8, 1;
    setp.lt.u32 %p4, %r8, 5;
    @%p4 bra produce;
    cvt.u32.u64 %r9, %l5; and.b32 %r9, %r9, 1048575;
    mbarrier.pending_count.b64 %r9, %l5;
    bra done;
consumer:
    setp.eq.u32 %p5, %r1, 32;
wait:
    and.b32 %r7, %r8, 1;
    mbarrier.test_wait.parity.acquire.cta.shared.b64 %p3, [tile+512], %r7;
    @!%p3 bra wait;
    ld.shared.u32 %r6, [%r3+-128];
    mad.lo.u32 %r9, %r9, 10, %r6;
    mbarrier.arrive.shared.b64 _, [tile+520];
    @%p5 mbarrier.arrive.release.cta.shared::cta.b64 _, [tile+520], 1;
    add.u32 %r8, %r8, 1;
    setp.lt.u32 %p4, %r8, 5;
    @%p4 bra wait;
done:
"""


def test_a_producer_and_a_consumer_take_turns_at_mbarriers() -> None:
    out = run(PIPELINE, 64)
    lane = np.arange(32)
    assert np.array_equal(out[:32], 32 - lane)  # arrivals pending before each one
    total = np.zeros(32, np.int64)
    for step in range(5):
        total = total * 10 + lane + step
    assert np.array_equal(out[32:64], total)


def test_a_phase_waits_for_bytes_and_a_dropped_arrival_is_not_waited_for_again() -> None:
    body = """
    setp.eq.u32 %p1, %r1, 0;
    mbarrier.init.shared.b64 [%r3], 2;
    mbarrier.arrive_drop.shared.b64 %l5, [%r3];
    mbarrier.arrive.expect_tx.shared.b64 %l6, [%r3], 16;
    mbarrier.test_wait.shared.b64 %p2, [%r3], %l6;
    selp.u32 %r9, 1, 0, %p2;
    mbarrier.complete_tx.shared.b64 [%r3], 16;
    mbarrier.test_wait.shared.b64 %p2, [%r3], %l6;
    selp.u32 %r5, 2, 0, %p2; or.b32 %r9, %r9, %r5;
    mbarrier.arrive.shared.b64 %l6, [%r3];
    mbarrier.test_wait.shared.b64 %p2, [%r3], %l6;
    selp.u32 %r5, 4, 0, %p2; or.b32 %r9, %r9, %r5;
    mbarrier.inval.shared.b64 [%r3];
    """
    text = FRAME.format(body=body).replace("shl.b32 %r3, %r1, 2;", "shl.b32 %r3, %r1, 3;")
    out = both(text, [np.zeros(128, np.uint32)], block=(32, 1, 1)).buffers[0]
    assert np.all(out[:32] == 6)


def test_a_warp_that_spins_lets_others_run() -> None:
    body = """
    setp.eq.u32 %p1, %r2, 3;
    @%p1 st.volatile.shared.u32 [tile], 9;
again:
    ld.volatile.shared.u32 %r9, [tile];
    setp.eq.u32 %p2, %r9, 0;
    @%p2 bra again;
    """
    out = execute(FRAME.format(body=body), [np.zeros(128, np.uint32)], block=(128, 1, 1))
    assert np.all(out.buffers[0] == 9)
