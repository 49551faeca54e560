"""Accesses outside memory: an error that names instruction, lane and allocation, or without memcheck a count."""

import re
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.__main__ import main
from rayplay.tracer.api import Device
from rayplay.tracer.memory.arena import FIRST_ADDRESS, GUARD_BYTES, DeviceMemory
from tests.tracer.harness.execution import HEADER

BACKENDS = pytest.mark.parametrize("backend", ["machine", "interpreter"])
KERNEL = """
.visible .entry k(.param .u64 a, .param .u64 b, .param .s32 offset)
{
    .reg .b64 %rd<9>; .reg .b32 %r<9>;
    .shared .align 4 .b8 sm[64];
    .local .align 16 .b8 lm[64];
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.s32 %r2, [offset];
    mov.u32 %r1, %tid.x; add.s32 %r3, %r1, %r2; mul.wide.s32 %rd3, %r3, 4;
    add.s64 %rd4, %rd1, %rd3; cvt.u32.u64 %r5, %rd3;
    BODY
    mul.wide.s32 %rd5, %r1, 4; add.s64 %rd6, %rd2, %rd5;
    st.global.u32 [%rd6], %r4;
    ret;
}
"""
LOAD = "ld.global.u32 %r4, [%rd4];"
STORE = "mov.u32 %r4, 1; st.global.u32 [%rd4], %r4;"
ATOMIC = "mov.u32 %r4, 1; red.global.add.u32 [%rd4], %r4;"
GENERIC = "ld.u32 %r4, [%rd4];"
SHARED = "mov.u32 %r6, sm; add.u32 %r5, %r5, %r6; st.shared.u32 [%r5], %r1; ld.shared.u32 %r4, [%r5];"
LOCAL = "mov.u64 %rd7, lm; add.u64 %rd7, %rd7, %rd3; st.local.u32 [%rd7], %r1; ld.local.u32 %r4, [%rd7];"
COPY = "mov.u32 %r6, sm; cp.async.ca.shared.global [%r6], [%rd4], 4;"
BETWEEN = GUARD_BYTES // 4


def run(body: str, offset: int, backend: str, words: int = 64, memcheck: bool = True) -> tuple[np.ndarray, Device]:
    """Second buffer after 64 threads have run ``body`` with ``offset``; the first has the words 1, 2, ..."""
    header = HEADER.replace("sm_75", "sm_80")
    device = Device(header + KERNEL.replace("BODY", body), memcheck)
    first = device.buffer(np.arange(1, words + 1, dtype=np.uint32))
    second = device.buffer(np.zeros(64, np.uint32))
    device.launch("k", [first, second, offset], block=64, backend=backend)
    return second.array, device


@BACKENDS
@pytest.mark.parametrize("body", [LOAD, STORE, ATOMIC, GENERIC])
@pytest.mark.parametrize(
    ("offset", "words", "lane", "warp", "standing"),
    [
        (1, 64, 31, 1, r"4 bytes there end 4 bytes past the end of buffer 0 \(256 bytes at 0x10000000\)"),
        (64, 64, 0, 0, r"end 4 bytes past the end of buffer 0 \("),
        (-1, 64, 0, 0, r"begin 4 bytes before buffer 0 \("),
        (-64, 64, 0, 0, r"begin 256 bytes before buffer 0 \("),
        (0, 63, 31, 1, r"end 4 bytes past the end of buffer 0 \(252 bytes"),
        (BETWEEN // 2, 64, 0, 0, r"end 524,036 bytes past the end of buffer 0 \("),
        (BETWEEN - 5, 64, 0, 0, r"begin 276 bytes before buffer 1 \(256 bytes at 0x10100100\)"),
        (1 << 28, 64, 0, 0, "past the end of "),
    ],
)
def test_an_access_past_a_buffer_names_it(
    body: str, offset: int, words: int, lane: int, warp: int, standing: str, backend: str
) -> None:
    where = rf"k: program\.ptx:\d+: \w[\w.]+: lane {lane} accesses 0x\w+, which is not allocated or not aligned: "
    with pytest.raises(UserError, match=rf"{where}.*{standing}.*\(CTA 0, warp {warp}\)"):
        run(body, offset, backend, words)


@BACKENDS
@pytest.mark.parametrize(
    ("body", "offset", "lane", "standing"),
    [
        (SHARED, 0, 16, "the CTA has 64 bytes of shared memory, 4 bytes there end 4 bytes past them"),
        (SHARED, -1, 0, "the CTA has 64 bytes of shared memory"),
        (LOCAL, 0, 16, "local memory of the thread is 64 bytes at"),
        (LOCAL, -1, 0, "local memory of the thread is 64 bytes at"),
        (f"add.s64 %rd4, %rd4, 2; {LOAD}", 0, 0, "must be a multiple of 4"),
        (COPY, 1, 31, "end 4 bytes past the end of buffer 0"),
    ],
)
def test_shared_and_local_memory_are_checked_alike(
    body: str, offset: int, lane: int, standing: str, backend: str
) -> None:
    with pytest.raises(UserError, match=f"lane {lane} accesses .*not allocated or not aligned: .*{standing}"):
        run(body, offset, backend)


@BACKENDS
def test_both_buffers_are_reached_by_one_instruction(backend: str) -> None:
    """Lanes of one access may lie in several allocations, and the next access in others."""
    other = "mul.wide.s32 %rd5, %r1, 4; add.s64 %rd6, %rd2, %rd5; and.b32 %r6, %r1, 1; setp.eq.u32 %p1, %r6, 1;"
    body = f".reg .pred %p<2>; {other} selp.b64 %rd4, %rd6, %rd4, %p1; {LOAD}"
    found, _ = run(body, 0, backend)
    assert found.tolist() == [0 if thread % 2 else thread + 1 for thread in range(64)]


@BACKENDS
@pytest.mark.parametrize(("offset", "wanted"), [(-64, [0] * 64), (1, [*range(2, 65), 0])])
def test_without_memcheck_guard_pages_read_zero_and_are_counted(offset: int, wanted: list[int], backend: str) -> None:
    found, device = run(LOAD, offset, backend, memcheck=False)
    assert found.tolist() == wanted
    (place,) = device.memory.outside
    assert place.startswith("k: program.ptx:")
    assert device.memory.outside[place] == wanted.count(0)


@BACKENDS
@pytest.mark.parametrize("offset", [1 << 28, -BETWEEN - 1])
def test_without_memcheck_far_addresses_are_still_errors(offset: int, backend: str) -> None:
    with pytest.raises(UserError, match="not allocated"):
        run(LOAD, offset, backend, memcheck=False)
    run(LOAD, -BETWEEN, backend, memcheck=False)


def test_the_first_buffer_stays_where_it_was_and_low_bits_do_not_change() -> None:
    """Bits that choose sector, set, bank and channel of an access do not depend on the gaps."""
    tight, apart = DeviceMemory(guard_bytes=0), DeviceMemory()
    for size in (4, 256, 257, 1 << 20, 0, 5):
        one, other = tight.allocate(size), apart.allocate(size)
        assert one % GUARD_BYTES == other % GUARD_BYTES
        if size == 4:
            assert one == other == FIRST_ADDRESS


def test_a_killed_launch_finds_its_allocations_again() -> None:
    memory = DeviceMemory()
    memory.allocate(100, name="buffer 'x'")
    mark, (facts, arrays) = memory.mark(), memory.snapshot()
    memory.allocate(200)
    memory.go_back(mark)
    assert memory.table().tolist() == [[FIRST_ADDRESS, FIRST_ADDRESS + 100]]
    memory.allocate(200)
    memory.restore(facts, arrays)
    assert memory.standing(FIRST_ADDRESS + 100, 4).startswith("end 4 bytes past the end of buffer 'x' (100 bytes")
    assert memory.allocate(4) == FIRST_ADDRESS + 256 + GUARD_BYTES


LAUNCH = """
program = "k.ptx"
[buffers.from]
dtype = "uint32"
shape = [64]
generator = "ones"
[buffers.to]
dtype = "uint32"
shape = [64]
[[launch]]
entry = "k"
grid = [1]
block = [64]
parameters = [{ buffer = "from" }, { buffer = "to" }, { type = "s32", value = -64 }]
"""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "begin 256 bytes before buffer 'from'"),
        (["--memcheck"], "begin 256 bytes before buffer 'from'"),
        (["--memcheck=off"], r"memcheck is off: 64 accesses lay outside .* \(k: .*\.ptx:13: ld\.global\.u32: 64\)"),
    ],
)  # fmt: skip
def test_the_verb_names_the_buffer_or_notes_what_it_let_pass(
    tmp_path: Path, capsys, given: list[str], said: str
) -> None:
    (tmp_path / "k.ptx").write_text(HEADER + KERNEL.replace("BODY", LOAD))
    (tmp_path / "k.toml").write_text(LAUNCH)
    command = ["launch", str(tmp_path / "k.toml"), "--out", str(tmp_path / "k.trace"), *given]
    if given[-1:] == ["--memcheck=off"]:
        assert main(command) == 0
        assert (tmp_path / "k.trace").exists()
        (text,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("note: ")]
        assert re.search(said, text)
    else:
        with pytest.raises(UserError, match=said):
            main(command)
        assert not (tmp_path / "k.trace").exists()
