"""Lanes of a warp that wait for each other: locks, flags and barriers behind them, the same in both backends."""

import numpy as np
import pytest

from rayplay import ptx
from rayplay.formats.guard.errors import UserError
from rayplay.ptx.flow.spin import with_turns
from tests.tracer.harness.execution import HEADER, both, execute

HEAD = """
.visible .entry k(.param .u64 lock, .param .u64 count, .param .u64 out) {
    .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %d<9>;
    ld.param.u64 %d1, [lock]; ld.param.u64 %d2, [count]; ld.param.u64 %d3, [out];
    mov.u32 %r1, %tid.x;
"""
TAIL = """
    mul.wide.u32 %d4, %r1, 4; add.u64 %d5, %d3, %d4;
    st.global.u32 [%d5], %r3;
    ret;
}
"""
LOCK = """
SPIN:
    atom.global.cas.b32 %r2, [%d1], 0, 1;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra SPIN;
    ld.volatile.global.u32 %r3, [%d2];
    add.u32 %r4, %r3, 1;
    st.volatile.global.u32 [%d2], %r4;
    atom.global.exch.b32 %r5, [%d1], 0;
"""
TEST_FIRST = LOCK.replace("SPIN:", "SPIN: ld.volatile.global.u32 %r6, [%d1]; setp.ne.u32 %p2, %r6, 0; @%p2 bra SPIN;")
TWICE = "mov.u32 %r7, 0; AGAIN:" + LOCK + "add.u32 %r7, %r7, 1; setp.lt.u32 %p3, %r7, 2; @%p3 bra AGAIN;"
RELOAD = "ld.volatile.global.u32 %r3, [%d2];"
FLAG = """
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra JOIN;
WAIT:
    ld.volatile.global.u32 %r2, [%d1];
    setp.eq.u32 %p2, %r2, 0;
    @%p2 bra WAIT;
    st.global.u32 [%d2], 7;
JOIN:
    setp.lt.u32 %p3, %r1, 32;
    @%p3 bra SYNC;
    st.volatile.global.u32 [%d1], 1;
SYNC:
    bar.sync 0;
    ld.global.u32 %r3, [%d2];
"""


def word() -> np.ndarray:
    return np.zeros(1, np.uint32)


@pytest.mark.parametrize("text", [LOCK, TEST_FIRST], ids=["cas", "test-and-cas"])
@pytest.mark.parametrize("threads", [32, 70])
def test_every_lane_gets_the_lock(text: str, threads: int) -> None:
    run = both(HEAD + text + TAIL, [word(), word(), np.zeros(threads, np.uint32)], block=(threads, 1, 1))
    assert (run.buffers[0][0], run.buffers[1][0]) == (0, threads)
    assert np.array_equal(np.sort(run.buffers[2]), np.arange(threads))


def test_lanes_that_take_the_lock_again_are_all_served() -> None:
    run = both(HEAD + TWICE + TAIL, [word(), word(), np.zeros(32, np.uint32)])
    assert run.buffers[1][0] == 64


@pytest.mark.parametrize("joined", ["bar.sync 0;" + RELOAD, RELOAD + "shfl.sync.idx.b32 %r3, %r3, 31, 31, -1;"])
def test_lanes_wait_for_each_other_where_they_act_together(joined: str) -> None:
    """Lanes that had the lock first come to a barrier or shuffle first, and act together with all others."""
    if joined.startswith("bar"):
        run = both(HEAD + LOCK + joined + TAIL, [word(), word(), np.zeros(96, np.uint32)], block=(96, 1, 1))
        assert np.array_equal(run.buffers[2], np.full(96, 96))
    else:
        run = both(HEAD + LOCK + "bar.warp.sync -1;" + joined + TAIL, [word(), word(), np.zeros(32, np.uint32)])
        assert np.array_equal(run.buffers[2], np.full(32, 32))


def test_a_lane_that_waits_for_another_warp_keeps_its_warp_from_the_barrier() -> None:
    run = both(HEAD + FLAG + TAIL, [word(), word(), np.zeros(64, np.uint32)], block=(64, 1, 1))
    assert np.array_equal(run.buffers[2], np.full(64, 7))


ACQUIRE = """
.func acquire(.reg .b64 at) {
    .reg .pred %p; .reg .b32 %r;
SPIN: atom.global.cas.b32 %r, [at], 0, 1; setp.ne.u32 %p, %r, 0; @%p bra SPIN;
    ret;
}
"""
COUNT = """
.func count(.reg .b64 at) {
    .reg .b32 %r<3>;
    ld.volatile.global.u32 %r1, [at]; add.u32 %r2, %r1, 1; st.volatile.global.u32 [at], %r2;
    ret;
}
"""
GIVE_BACK = "atom.global.exch.b32 %r5, [%d1], 0; mov.u32 %r3, 0;"
IN_CALLEE = ACQUIRE.replace("    ret;", "call count, (at); atom.global.exch.b32 %r, [at], 0; ret;").replace(
    "call count, (at)", "add.u64 at, at, 4; call count, (at); sub.u64 at, at, 4"
)


def test_lanes_that_hold_a_lock_call_functions() -> None:
    taken = LOCK.split("ld.volatile")[0]
    run = both(
        COUNT + HEAD + taken + "call count, (%d2);" + GIVE_BACK + TAIL, [word(), word(), np.zeros(32, np.uint32)]
    )
    assert (run.buffers[0][0], run.buffers[1][0]) == (0, 32)


def test_a_called_function_takes_and_gives_back_a_lock() -> None:
    lock = np.zeros(2, np.uint32)
    text = COUNT + IN_CALLEE + HEAD + "call acquire, (%d1); mov.u32 %r3, 0;" + TAIL
    assert np.array_equal(both(text, [lock, word(), np.zeros(32, np.uint32)]).buffers[0], [0, 32])


RELEASE = ".func release(.reg .b64 at) { .reg .b32 %r; atom.global.exch.b32 %r, [at], 0; ret; }\n"
BUMP = "ld.volatile.global.u32 %r3, [%d2]; add.u32 %r4, %r3, 1; st.volatile.global.u32 [%d2], %r4;"
NESTED = ".func lock(.reg .b64 at) { .reg .b64 %d; add.u64 %d, at, 0; call acquire, (%d); ret; }\n"
TRIES = """
.func (.reg .b32 tries) acquire(.reg .b64 at) {
    .reg .pred %p; .reg .b32 %r;
    mov.u32 tries, 1000; bra SPIN;
AGAIN: add.u32 tries, tries, 1;
SPIN: atom.global.cas.b32 %r, [at], 0, 1; setp.ne.u32 %p, %r, 0; @%p bra AGAIN;
    ret;
}
"""
INDIRECT = """
    mov.u64 %d6, acquire; and.b32 %r7, %r1, 1; setp.eq.u32 %p3, %r7, 0; @%p3 mov.u64 %d6, other;
P: .callprototype _ (.reg .b64 at);
    call %d6, (%d1), P;
"""


@pytest.mark.parametrize(
    ("functions", "taken"),
    [
        (ACQUIRE, "call acquire, (%d1);"),
        (ACQUIRE + NESTED, "call lock, (%d1);"),
        (TRIES, "call (%r7), acquire, (%d1);"),
        (ACQUIRE + ACQUIRE.replace("acquire", "other"), INDIRECT),
        (ACQUIRE, "setp.lt.u32 %p3, %r1, 5; @%p3 bra LOW; call acquire, (%d1); bra.uni HELD;"
         "LOW: call acquire, (%d1); HELD:"),
        (ACQUIRE, "mov.u32 %r8, 0; BACK: call acquire, (%d1); add.u32 %r8, %r8, 1; setp.ge.u32 %p3, %r8, 2;"
         "@%p3 bra HELD;"
         "call release, (%d1); bra BACK; HELD:"),
    ],
    ids=["kept", "through two functions", "with a result", "through a register", "two sides", "twice"],
)  # fmt: skip
def test_a_lock_that_a_called_function_keeps(functions: str, taken: str) -> None:
    """Lanes leave the function apart, so that the one with the lock gives it back while others wait in the function."""
    threads, text = 70, functions + RELEASE + HEAD + taken + BUMP + "call release, (%d1);" + TAIL
    run = both(text, [word(), word(), np.zeros(threads, np.uint32)], block=(threads, 1, 1))
    assert (run.buffers[0][0], run.buffers[1][0]) == (0, threads)
    assert np.array_equal(np.sort(run.buffers[2]), np.arange(threads))


def test_lanes_that_left_a_call_apart_have_its_results() -> None:
    """The first lane tries once, and each that waited more than once."""
    text = TRIES + RELEASE + HEAD + "call (%r7), acquire, (%d1); call release, (%d1); mov.u32 %r3, %r7;" + TAIL
    tries = both(text, [word(), word(), np.zeros(32, np.uint32)]).buffers[2]
    assert tries.min() == 1000
    assert np.count_nonzero(tries > 1000) == 31


@pytest.mark.parametrize("joined", ["bar.sync 0;" + RELOAD, RELOAD + "shfl.sync.idx.b32 %r3, %r3, 31, 31, -1;",
                                    "call meet, ();" + RELOAD])  # fmt: skip
def test_lanes_that_left_a_call_wait_where_they_act_together(joined: str) -> None:
    """A barrier or shuffle behind the call, or in the next function, waits for the lanes that are still in the call."""
    threads = 32 if "shfl" in joined else 96
    meet = ".func meet() { bar.sync 0; ret; }\n"
    text = ACQUIRE + RELEASE + meet + HEAD + "call acquire, (%d1);" + BUMP + "call release, (%d1);" + joined + TAIL
    if "shfl" in joined:
        text = text.replace("shfl", "bar.warp.sync -1; ld.volatile.global.u32 %r3, [%d2]; shfl")
    run = both(text, [word(), word(), np.zeros(threads, np.uint32)], block=(threads, 1, 1))
    assert np.array_equal(run.buffers[2], np.full(threads, threads))


def test_threads_that_end_in_a_function_leave_the_others_the_lock() -> None:
    """A lane that ends with the lock given back is gone for good; the others take it one after the other."""
    ends = "mov.u32 %r, %tid.x; setp.lt.u32 %p, %r, 8; @!%p bra ON; atom.global.exch.b32 %r, [at], 0; exit; ON: ret;"
    ends = ACQUIRE.replace("    ret;", ends)
    text = ends + RELEASE + HEAD + "call acquire, (%d1);" + BUMP + "call release, (%d1); mov.u32 %r3, 7;" + TAIL
    run = both(text, [word(), word(), np.zeros(32, np.uint32)])
    assert (run.buffers[0][0], run.buffers[1][0]) == (0, 24)
    assert np.array_equal(run.buffers[2], np.repeat([0, 7], [8, 24]))


def test_other_sides_of_the_caller_run_while_lanes_wait_in_a_function() -> None:
    """Lanes wait in a function for a flag that the other side of the caller's branch sets, which runs second."""
    wait = ".func wait(.reg .b64 at) { .reg .pred %p; .reg .b32 %r;"
    wait += "W: ld.volatile.global.u32 %r, [at]; setp.eq.u32 %p, %r, 0; @%p bra W; ret; }\n"
    body = "setp.ge.u32 %p1, %r1, 16; @%p1 bra SET; call wait, (%d1); mov.u32 %r3, 1; bra.uni OUT;"
    body += "SET: mov.u32 %r3, 2; st.volatile.global.u32 [%d1], 1; OUT:"
    run = both(wait + HEAD + body + TAIL, [word(), word(), np.zeros(32, np.uint32)])
    assert np.array_equal(run.buffers[2], np.repeat([1, 2], 16))


def test_a_lock_kept_in_a_called_function_that_nobody_gives_back(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="waits for another one without an end"):
        execute(
            ACQUIRE + HEAD + "call acquire, (%d1); mov.u32 %r3, 0;" + TAIL, [word(), word(), np.zeros(32, np.uint32)]
        )


def test_a_lock_that_nobody_gives_back_ends_with_an_error() -> None:
    with pytest.raises(UserError, match="waits for another one without an end"):
        execute(HEAD + LOCK + TAIL, [np.ones(1, np.uint32), word(), np.zeros(32, np.uint32)])


@pytest.mark.parametrize(
    ("body", "loops"),
    [
        (LOCK, 1),
        ("L: ld.volatile.u32 %r2, [%d1]; setp.eq.u32 %p1, %r2, 0; @%p1 bra L;", 1),
        ("L: ld.global.u32 %r2, [%d1]; setp.eq.u32 %p1, %r2, 0; @%p1 bra L;", 1),
        ("mov.b32 %r2, 0; L: red.add.u32 [%d1], 1; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 9; @%p1 bra L;", 0),
        ("mov.u32 %r2, 0; L: ld.u32 %r4, [%d1]; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r4; @%p1 bra L;", 0),
        ("L: ld.global.u64 %d1, [%d1]; setp.ne.u64 %p1, %d1, 0; @%p1 bra L;", 0),
    ],
    ids=["lock", "flag", "plain flag", "count", "count in memory", "list"],
)  # fmt: skip
def test_loops_in_which_lanes_may_wait(body: str, loops: int) -> None:
    """Loops that make progress by themselves keep their lanes together, and nothing before sm_70 takes turns."""
    for target, found in (("sm_75", loops), ("sm_60", 0)):
        module = ptx.parse(HEADER.replace("sm_75", target) + HEAD + body + TAIL, "test.ptx")
        assert len(with_turns(module, module.functions["k"])[1].heads) == found
