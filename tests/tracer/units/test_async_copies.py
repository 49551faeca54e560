"""cp.async: sizes, zero filling, skipped sources, groups and waits, and what the trace keeps of it."""

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from tests.tracer.harness.execution import both, execute

GIVEN = np.arange(1, 32 * 16 + 1, dtype=np.uint32).astype(np.uint8)


def kernel(body: str) -> str:
    """A thread's 16 bytes of shared memory begin as ones at [%at] and end at [%rd2]; [%rd1] are its 16 of input."""
    return f""".visible .entry k(.param .u64 input, .param .u64 result) {{
    .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .u32 %t, %at, %s, %n; .reg .pred %p; .shared .align 16 .b8 m[512];
    mov.u32 %t, %tid.x; ld.param.u64 %rd1, [input]; ld.param.u64 %rd2, [result]; mul.wide.u32 %rd3, %t, 16;
    add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3; mov.u32 %s, m; shl.b32 %at, %t, 4; add.u32 %at, %at, %s;
    mov.b32 %r1, 0x01010101; st.shared.v4.b32 [%at], {{%r1, %r1, %r1, %r1}}; mov.b64 %rd4, 0;
    {body} cp.async.commit_group; cp.async.wait_group 0; cp.async.wait_all; bar.sync 0;
    ld.shared.v4.b32 {{%r1, %r2, %r3, %r4}}, [%at]; st.global.v4.b32 [%rd2], {{%r1, %r2, %r3, %r4}}; ret; }}"""


def copied(body: str) -> np.ndarray:
    """Shared memory afterwards, uint8[32, 16]."""
    return both(kernel(body), [GIVEN, np.zeros((32, 16), np.uint8)]).buffers[1]


def expected(count: np.ndarray | int, size: int) -> np.ndarray:
    """``size`` bytes per thread, the first ``count`` from the input and the others 0."""
    made = np.ones((32, 16), np.uint8)
    given = GIVEN.reshape(32, 16)
    keep = np.arange(16) < np.broadcast_to(count, 32)[:, None]
    made[:, :size] = np.where(keep, given, 0)[:, :size]
    return made


@pytest.mark.parametrize(
    ("opcode", "size"), [("ca.shared.global", 4), ("ca.shared.global", 8), ("ca.shared.global", 16),
                         ("cg.shared.global", 16), ("cg.shared::cta.global.L2::128B", 16)],
)  # fmt: skip
def test_whole_copies(opcode: str, size: int) -> None:
    assert np.array_equal(copied(f"cp.async.{opcode} [%at], [%rd1], {size};"), expected(size, size))


def test_a_cache_policy_changes_nothing() -> None:
    body = "cp.async.cg.shared.global.L2::cache_hint [%at], [%rd1], 16, %rd4;"
    assert np.array_equal(copied(body), expected(16, 16))


def test_what_the_source_lacks_is_zero() -> None:
    body = "and.b32 %n, %t, 15; cp.async.ca.shared.global [%at], [%rd1], 16, %n;"
    assert np.array_equal(copied(body), expected(np.arange(32) & 15, 16))


def test_a_skipped_source_need_not_exist() -> None:
    body = """and.b32 %n, %t, 1; setp.eq.u32 %p, %n, 1; selp.b64 %rd1, 0, %rd1, %p;
    cp.async.ca.shared.global [%at], [%rd1], 8, %p;"""
    assert np.array_equal(copied(body), expected(np.where(np.arange(32) & 1, 0, 8), 8))


def test_guarded_copies_and_their_record() -> None:
    body = "and.b32 %n, %t, 3; setp.eq.u32 %p, %n, 0; @%p cp.async.ca.shared.global [%at], [%rd1], 4;"
    out = execute(kernel(body), [GIVEN, np.zeros((32, 16), np.uint8)])
    wanted = np.where((np.arange(32) & 3 == 0)[:, None], expected(4, 4), np.uint8(1))
    assert np.array_equal(out.buffers[1], wanted)
    instructions, accesses = out.sink.table("instructions"), out.sink.table("accesses")
    copies = np.char.startswith(instructions["opcode"].astype(str), "cp.async.ca")
    number = int(np.flatnonzero(copies)[0])
    columns = ("operation_class", "memory_space", "access_bytes")
    assert [instructions[c][number] for c in columns] == ["load", "global", 4]
    row = int(np.flatnonzero(accesses["instruction_id"] == number)[0])
    assert accesses["lane_mask"][row] == 0x11111111
    start = int(accesses["address_offset"][row])
    addresses = accesses["address"][start : start + 8]
    assert np.array_equal(addresses - addresses[0], 64 * np.arange(8))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("cp.async.cg.shared.global [%at], [%rd1], 8;", "cp.async.cg.shared.global of 8 bytes"),
        ("cp.async.ca.shared.global [%at], [%rd4], 8;", "not allocated or not aligned"),
        ("add.u32 %at, %at, 4; cp.async.ca.shared.global [%at], [%rd1], 8;", "not allocated or not aligned"),
    ],
)
def test_what_copies_do_not_do(body: str, message: str) -> None:
    for backend in ("machine", "interpreter"):
        with pytest.raises(UserError, match=message):
            execute(kernel(body), [GIVEN, np.zeros((32, 16), np.uint8)], backend)


BULK = """.visible .entry k(.param .u64 input, .param .u64 result) {
    .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .u32 %t, %at, %s, %b; .reg .pred %p, %q;
    .shared .align 16 .b8 m[512]; .shared .align 8 .b64 bar;
    mov.u32 %t, %tid.x; ld.param.u64 %rd1, [input]; ld.param.u64 %rd2, [result];
    mov.u32 %s, m; mov.u32 %b, bar; setp.eq.u32 %p, %t, 0;
    @%p mbarrier.init.shared.b64 [%b], 1; bar.sync 0;
    @%p mbarrier.arrive.expect_tx.shared.b64 %rd5, [%b], 512;
    @%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%rd1], 256, [%b];
    add.s64 %rd1, %rd1, 256; add.u32 %at, %s, 256;
    @%p cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%at], [%rd1], 256, [%b];
wait:
    mbarrier.try_wait.parity.shared.b64 %q, [%b], 0;
    @!%q bra wait;
    shl.b32 %at, %t, 4; add.u32 %at, %at, %s; ld.shared.u32 %r1, [%at]; add.u32 %r1, %r1, 1; st.shared.u32 [%at], %r1;
    bar.sync 0;
    @%p cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%s], 512;
    @%p cp.async.bulk.commit_group; @%p cp.async.bulk.wait_group.read 0;
    ret; }"""


def test_bulk_copies_count_down_an_mbarrier() -> None:
    """A warp waits for 512 bytes, changes them, and one thread writes them back."""
    given = np.arange(128, dtype=np.uint32)
    out = both(BULK, [given, np.zeros(128, np.uint32)], block=(32, 1, 1))
    wanted = given.copy()
    wanted[::4] += 1
    assert np.array_equal(out.buffers[1], wanted)


def test_a_copy_arrives_at_an_mbarrier() -> None:
    """The phase ends with the arrival of every thread's copies."""
    body = """mov.u32 %n, bar; setp.eq.u32 %p, %t, 0; @%p mbarrier.init.shared.b64 [%n], 32; bar.sync 0;
    cp.async.ca.shared.global [%at], [%rd1], 16; cp.async.mbarrier.arrive.shared.b64 [%n];
    cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%n];
wait: mbarrier.test_wait.parity.shared.b64 %p, [%n], 0; @!%p bra wait;"""
    text = kernel(body).replace(".shared .align 16", ".shared .align 8 .b64 bar; .shared .align 16", 1)
    out = both(text, [GIVEN, np.zeros((32, 16), np.uint8)])
    assert np.array_equal(out.buffers[1], expected(16, 16))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[%s], [%rd1], 256, [%b]", "[%s], [%rd1], 250, [%b]", "not allocated or not aligned"),
        (".global.mbarrier::complete", ".global.multicast::cluster.mbarrier::complete", "does not know cp"),
        ("cp.async.bulk.global.shared::cta.bulk_group", "cp.async.bulk.global.global.bulk_group", "does not know cp"),
    ],
)
def test_what_bulk_copies_do_not_do(old: str, new: str, message: str) -> None:
    for backend in ("machine", "interpreter"):
        with pytest.raises(UserError, match=message):
            execute(BULK.replace(old, new, 1), [np.zeros(128, np.uint32), np.zeros(128, np.uint32)], backend)
