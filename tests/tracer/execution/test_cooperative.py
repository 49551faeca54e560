"""CTAs that wait for each other: the barrier of a cooperative launch's grid, and barriers that programs spin at."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.tracer.launch import run_launch_file
from tests.tracer.harness.execution import HEADER, both, execute

GRID, BLOCK = 5, 64
GRID_BARRIER = """
    mov.u32 %r20, %envreg2; mov.u32 %r21, %envreg1; mov.b64 %rd10, {%r20, %r21};
    setp.eq.s64 %p1, %rd10, 0; @%p1 trap;
    bar.sync 0;
    mov.u32 %r22, %tid.x; setp.ne.u32 %p2, %r22, 0; @%p2 bra met;
    mov.u32 %r23, %nctaid.x; sub.s32 %r24, -2147483647, %r23;
    mov.u32 %r25, %ctaid.x; setp.eq.u32 %p3, %r25, 0; selp.b32 %r26, %r24, 1, %p3;
    fence.acq_rel.gpu;
    atom.add.release.gpu.u32 %r27, [%rd10+4], %r26;
again:
    ld.acquire.gpu.u32 %r28, [%rd10+4];
    xor.b32 %r29, %r28, %r27; setp.gt.s32 %p4, %r29, -1; @%p4 bra again;
    fence.acq_rel.gpu;
met:
    bar.sync 0;
"""
SPIN_BARRIER = """
    bar.sync 0;
    mov.u32 %r22, %tid.x; setp.ne.u32 %p2, %r22, 0; @%p2 bra met;
    membar.gl;
    atom.global.add.u32 %r27, [%rd5], 1;
    mov.u32 %r23, %nctaid.x;
again:
    ld.volatile.global.u32 %r28, [%rd5];
    setp.lt.u32 %p4, %r28, %r23; @%p4 bra again;
met:
    bar.sync 0;
"""
BOTH = GRID_BARRIER.replace("again", "first").replace("met", "past") + SPIN_BARRIER


def kernel(barrier: str) -> str:
    """Sums of CTAs, a barrier, then the sum of all in each CTA."""
    return (
        """
    .visible .entry k(.param .u64 values, .param .u64 sums, .param .u64 totals, .param .u64 word) {
    .reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .shared .align 4 .u32 sum;
    ld.param.u64 %rd1, [values]; ld.param.u64 %rd2, [sums]; ld.param.u64 %rd3, [totals]; ld.param.u64 %rd5, [word];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r1, %r3, %r2;
    mul.wide.u32 %rd6, %r4, 4; add.s64 %rd7, %rd1, %rd6; ld.global.u32 %r5, [%rd7];
    atom.shared.add.u32 %r6, [sum], %r5;
    bar.sync 0;
    ld.shared.u32 %r7, [sum]; mul.wide.u32 %rd8, %r1, 4; add.s64 %rd9, %rd2, %rd8; st.global.u32 [%rd9], %r7;
    """
        + barrier
        + """
    mov.u32 %r10, 0; mov.u32 %r11, 0; mov.u32 %r12, %nctaid.x;
more:
    mul.wide.u32 %rd8, %r10, 4; add.s64 %rd9, %rd2, %rd8; ld.global.u32 %r13, [%rd9]; add.u32 %r11, %r11, %r13;
    add.u32 %r10, %r10, 1; setp.lt.u32 %p5, %r10, %r12; @%p5 bra more;
    add.s64 %rd7, %rd3, %rd6; add.u32 %r11, %r11, %r4; st.global.u32 [%rd7], %r11;
    ret; }"""
    )


def arguments() -> list[np.ndarray]:
    """Values, sums of CTAs, totals of threads, and the word of a barrier."""
    values = np.random.default_rng(3).integers(0, 1 << 20, GRID * BLOCK).astype(np.uint32)
    return [values, np.zeros(GRID, np.uint32), np.zeros(GRID * BLOCK, np.uint32), np.zeros(1, np.uint32)]


@pytest.mark.parametrize("barrier", [GRID_BARRIER, SPIN_BARRIER, BOTH])
def test_ctas_meet(barrier: str) -> None:
    given = arguments()
    out = both(kernel(barrier), list(given), grid=(GRID, 1, 1), block=(BLOCK, 1, 1), cooperative=True)
    sums = given[0].reshape(GRID, BLOCK).sum(1, dtype=np.uint32)
    assert np.array_equal(out.buffers[1], sums)
    assert np.array_equal(out.buffers[2], sums.sum(dtype=np.uint32) + np.arange(GRID * BLOCK, dtype=np.uint32))
    warps = out.sink.table("visits")["warp_id"]
    assert len(np.unique(warps)) == GRID * BLOCK // 32


@pytest.mark.parametrize("barrier", [GRID_BARRIER, SPIN_BARRIER])
def test_a_lane_that_waited_for_other_ctas_has_its_warp_back(barrier: str) -> None:
    """Lanes that wait at the barrier for the one that spins do not go on without it."""
    ballot = (
        "setp.eq.u32 %p6, %r1, %r1; vote.sync.ballot.b32 %r30, %p6, -1; not.b32 %r30, %r30; add.u32 %r4, %r4, %r30;"
    )
    given = arguments()
    out = both(kernel(barrier + ballot), list(given), grid=(GRID, 1, 1), block=(BLOCK, 1, 1), cooperative=True)
    assert np.array_equal(out.buffers[2], given[0].sum(dtype=np.uint32) + np.arange(GRID * BLOCK, dtype=np.uint32))


def test_a_launch_file_says_that_its_launch_is_cooperative(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(HEADER + kernel(GRID_BARRIER))
    threads, buffers = GRID * BLOCK, {"values": GRID * BLOCK, "sums": GRID, "totals": GRID * BLOCK, "word": 1}
    tables = "".join(f'[buffers.{name}]\ndtype = "uint32"\nshape = [{size}]\n' for name, size in buffers.items())
    tables = tables.replace(f"shape = [{threads}]\n", f'shape = [{threads}]\ngenerator = "ones"\n', 1)
    parameters = ", ".join(f'{{ buffer = "{name}" }}' for name in buffers)
    launch = f'[[launch]]\nentry = "k"\ngrid = [{GRID}]\nblock = [{BLOCK}]\nparameters = [{parameters}]\n'
    (tmp_path / "k.toml").write_text(f'program = "k.ptx"\n{tables}{launch}cooperative = true\n')
    summary = run_launch_file(tmp_path / "k.toml", tmp_path / "k.trace", progress=False)
    assert (summary.buffers["totals"] == threads + np.arange(threads)).all()
    assert open_trace(tmp_path / "k.trace").read("cooperative")["kernel_id"].tolist() == [0]
    (tmp_path / "k.toml").write_text(f'program = "k.ptx"\n{tables}{launch}')
    with pytest.raises(UserError, match="stops the program"):
        run_launch_file(tmp_path / "k.toml", tmp_path / "k.trace", progress=False)


def test_a_grid_barrier_wants_a_cooperative_launch() -> None:
    """As cooperative groups do, the program stops itself where its launch has no workspace."""
    with pytest.raises(UserError, match="stops the program"):
        execute(kernel(GRID_BARRIER), list(arguments()), grid=(GRID, 1, 1), block=(BLOCK, 1, 1))


def test_a_cooperative_grid_fits_a_gpu() -> None:
    with pytest.raises(UserError, match="9,216 warps at most, found 20,000"):
        execute(kernel(GRID_BARRIER), list(arguments()), grid=(10000, 1, 1), block=(BLOCK, 1, 1), cooperative=True)


def test_a_cta_that_leaves_before_the_barrier_is_an_error() -> None:
    leaves = "setp.eq.u32 %p6, %r1, 2; @%p6 ret;"
    with pytest.raises(UserError, match=r"no warp of the CTA can go on|waits for another one"):
        execute(kernel(leaves + GRID_BARRIER), list(arguments()), grid=(3, 1, 1), block=(32, 1, 1), cooperative=True)
