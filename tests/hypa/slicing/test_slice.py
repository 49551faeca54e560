"""The slice of a launch visits the blocks that the whole launch visits, with the same masks."""

import struct

import numpy as np
import pytest

from rayplay import ptx
from rayplay.hypa.profile import VisitCounts, count_launch, launch_program, profile_launch
from rayplay.hypa.slices import SliceCache
from rayplay.hypa.slicing.pointers import ANYWHERE
from rayplay.hypa.slicing.slice import Slice
from rayplay.ptx.graph import reached
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.memory.arena import DeviceMemory

HEADER = ".version 7.8\n.target sm_75\n.address_size 64\n"
WORDS, THREADS = 256, 96


def launch_of(text: str, buffers: int = 2, grid: int = 3) -> ComputeLaunch:
    """The first entry of ``text``, whose parameters are the addresses of buffers of 256 known words."""
    module = ptx.parse(HEADER + text, "test.ptx")
    memory = DeviceMemory()
    random = np.random.default_rng(5)
    data = [random.integers(0, 100, WORDS, np.uint32) for _ in range(buffers)]
    params = tuple(struct.pack("<Q", memory.allocate(each)) for each in data)
    entry = next(f for f in module.functions.values() if f.is_entry)
    return ComputeLaunch(module, entry.name, (grid, 1, 1), (THREADS, 1, 1), params, memory)


def both(text: str, buffers: int = 2) -> tuple[VisitCounts, list[str]]:
    """Counts, which must be the same in full and in the slice, and the texts of the instructions left out."""
    full = launch_of(text, buffers)
    program = launch_program(full)
    cut, reduced = SliceCache().find(launch_of(text, buffers), program, frozenset())
    counts = count_launch(full, program, progress=False)
    assert counts == count_launch(reduced, program, progress=False)
    body = [i for f in program.functions for i in f.body]
    return counts, [i.text for i, kept in zip(body, cut.kept, strict=True) if not kept]


def entry(body: str, declarations: str = "", buffers: int = 2) -> str:
    parameters = ", ".join(f".param .u64 p{k}" for k in range(buffers))
    return f"""{declarations}
.visible .entry k({parameters})
{{
    .reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<20>; .reg .f32 %f<9>;
    mov.u32 %r0, %tid.x;
    ld.param.u64 %rd0, [p0];
    ld.param.u64 %rd1, [p1];
    mul.wide.u32 %rd2, %r0, 4;
    add.u64 %rd3, %rd0, %rd2;
    add.u64 %rd4, %rd1, %rd2;
{body}
OUT:
    ret;
}}
"""


LOOP = """
    setp.lt.u32 %p7, {count}, 50;
    @%p7 bra LOW;
    add.f32 %f1, %f1, %f1;
    bra OUT;
LOW:
    mul.f32 %f1, %f1, %f1;
"""


def test_parallel_conditional_writes() -> None:
    """HyPA's first limit: a register written on both sides of a branch, or under a guard, before it decides one."""
    body = """
    and.b32 %r1, %r0, 1;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra EVEN;
    mov.u32 %r2, 7;
    mov.u32 %r3, 1;
    bra MEET;
EVEN:
    mov.u32 %r2, 77;
    mov.u32 %r3, 2;
MEET:
    @%p1 add.u32 %r2, %r2, %r0;
    @!%p1 mov.u32 %r4, 9;
"""
    counts, left = both(entry(body + LOOP.format(count="%r2")))
    assert "mov.u32 %r3, 1;" in left
    assert "@!%p1 mov.u32 %r4, 9;" in left
    assert not any("%r2, " in text for text in left)
    assert counts.divergent.sum() > 3


def test_branches_on_memory() -> None:
    """HyPA's second limit: a loaded value decides, which another thread has stored; other stores are left out."""
    body = """
    xor.b32 %r1, %r0, 5;
    st.global.u32 [%rd3], %r1;
    st.global.u32 [%rd4], %r0;
    bar.sync 0;
    xor.b32 %r2, %r0, 33;
    mul.wide.u32 %rd5, %r2, 4;
    add.u64 %rd6, %rd0, %rd5;
    ld.global.u32 %r3, [%rd6];
"""
    counts, left = both(entry(body + LOOP.format(count="%r3")))
    assert "st.global.u32 [%rd4], %r0;" in left
    assert "st.global.u32 [%rd3], %r1;" not in left
    assert "bar.sync 0;" not in left
    assert counts.divergent.sum() > 0


def test_the_same_buffer_twice() -> None:
    """Two parameters that point into one buffer are one object."""
    text = entry("""
    st.global.u32 [%rd3], %r0;
    ld.global.u32 %r3, [%rd4];
""" + LOOP.format(count="%r3"))  # fmt: skip
    launch = launch_of(text)
    same = ComputeLaunch(
        launch.module, "k", launch.grid, launch.block, (launch.params[0], launch.params[0]), launch.memory
    )
    program = launch_program(same)
    assert not SliceCache().find(launch, program, frozenset())[0].kept[6]
    assert SliceCache().find(same, program, frozenset())[0].kept[6]


def test_a_pointer_from_memory_can_lead_anywhere() -> None:
    body = """
    st.global.u64 [%rd1], %rd0;
    st.global.u32 [%rd0+8], %r0;
    ld.global.u64 %rd7, [%rd1];
    ld.global.u32 %r3, [%rd7+8];
"""
    text = entry(body + LOOP.format(count="%r3"))
    left = both(text)[1]
    assert not any("st.global" in line for line in left)
    cut = SliceCache().find(launch_of(text), launch_program(launch_of(text)), frozenset())[0]
    assert cut.read()[1]


def test_local_and_shared_memory_by_offset() -> None:
    """Stores to other bytes of the same variable, and to other variables, are left out."""
    body = """
    mov.u64 %rd7, frame;
    st.local.u32 [%rd7], %r0;
    st.local.u32 [%rd7+4], %r0;
    st.shared.u32 [cell], %r0;
    st.shared.u32 [other], %r0;
    ld.local.u32 %r3, [%rd7+4];
    ld.shared.u32 %r4, [cell];
    add.u32 %r3, %r3, %r4;
"""
    text = entry(body + LOOP.format(count="%r3"))
    text = text.replace(".reg .f32", ".local .align 8 .b8 frame[16]; .shared .u32 cell; .shared .u32 other; .reg .f32")
    left = both(text)[1]
    assert "st.local.u32 [%rd7], %r0;" in left
    assert "st.shared.u32 [other], %r0;" in left
    assert "st.local.u32 [%rd7+4], %r0;" not in left
    assert "st.shared.u32 [cell], %r0;" not in left


def test_atomics_decide_and_are_decided_by() -> None:
    body = """
    red.global.add.u32 [%rd0], 1;
    red.global.add.u32 [%rd1], 1;
    atom.global.add.u32 %r3, [%rd0], 3;
    and.b32 %r3, %r3, 127;
"""
    counts, left = both(entry(body + LOOP.format(count="%r3")))
    assert "red.global.add.u32 [%rd1], 1;" in left
    assert "red.global.add.u32 [%rd0], 1;" not in left
    assert counts.divergent.sum() > 0


def test_values_of_other_lanes_and_carries() -> None:
    body = """
    mul.lo.u32 %r1, %r0, 37;
    shfl.sync.bfly.b32 %r2|%p1, %r1, 16, 31, -1;
    mul.lo.u32 %r9, %r0, 41;
    shfl.sync.bfly.b32 %r8|%p2, %r9, 16, 31, -1;
    add.cc.u32 %r4, %r2, -1000;
    addc.u32 %r3, %r0, 20;
    setp.gt.u32 %p3, %r3, 60;
    vote.sync.ballot.b32 %r5, %p3, -1;
    popc.b32 %r5, %r5;
    add.u32 %r3, %r3, %r5;
"""
    counts, left = both(entry(body + LOOP.format(count="%r3")))
    assert [text for text in left if "%r9" in text or "%r8" in text]
    assert not any(word in text for word in ("%r1,", "add.cc", "addc", "vote") for text in left)
    assert counts.divergent.sum() > 0


FUNCTION = """
.func (.param .b32 out) pick(.param .b32 a, .param .b32 b)
{
    .reg .b32 %r<9>; .reg .pred %p<3>;
    ld.param.u32 %r1, [a];
    ld.param.u32 %r2, [b];
    setp.gt.u32 %p1, %r1, 20;
    @%p1 bra SMALL;
    add.u32 %r1, %r1, 40;
SMALL:
    mul.lo.u32 %r3, %r2, 3;
    st.param.b32 [out], %r1;
    ret;
}
"""
CALL = """
    {
    .param .b32 first;
    .param .b32 second;
    .param .b32 result;
    st.param.b32 [first], %r0;
    mul.lo.u32 %r6, %r0, 11;
    st.param.b32 [second], %r6;
    call (result), pick, (first, second);
    ld.param.b32 %r3, [result];
    }
"""


def test_through_calls() -> None:
    """A value passed to a function and returned decides there and here; the other argument is left out."""
    counts, left = both(entry(CALL + LOOP.format(count="%r3"), FUNCTION))
    assert "mul.lo.u32 %r6, %r0, 11;" in left
    assert "mul.lo.u32 %r3, %r2, 3;" in left
    assert "st.param.b32 [out], %r1;" not in left
    assert counts.divergent.sum() > 3


def test_what_later_launches_need_stays() -> None:
    text = entry("    st.global.u32 [%rd3], %r0;\n    st.global.u32 [%rd4], %r0;\n")
    launch = launch_of(text)
    program = launch_program(launch)
    first = 0  # p0 is the first allocation
    kept = [SliceCache().find(launch, program, frozenset(wanted))[0].kept[6:8].tolist() for wanted in (
        [], [("allocation", str(first))], [ANYWHERE],
    )]  # fmt: skip
    assert kept == [[False, False], [True, False], [True, True]]


def filtered_graph(cut: Slice, jump: int) -> list[int]:
    """The filtered dependency graph of an instruction: it and all it depends on, in order."""
    found = reached([jump], cut.graph.needs.__getitem__)
    return [node for node in sorted(found) if node < cut.graph.instructions]


def test_a_filtered_graph_holds_what_its_jump_needs() -> None:
    text = entry(LOOP.format(count="%r0"))
    program = launch_program(launch_of(text))
    cut = SliceCache().find(launch_of(text), program, frozenset())[0]
    (jump,) = cut.jumps
    texts = [program.functions[0].body[k].text for k in filtered_graph(cut, jump)]
    assert texts == ["mov.u32 %r0, %tid.x;", "setp.lt.u32 %p7, %r0, 50;", "@%p7 bra LOW;"]
    assert cut.graph_sizes == [3]


def test_sizes_of_filtered_graphs() -> None:
    text = entry(CALL + LOOP.format(count="%r3"), FUNCTION)
    program = launch_program(launch_of(text))
    cut = SliceCache().find(launch_of(text), program, frozenset())[0]
    assert len(cut.jumps) == 2
    assert cut.graph_sizes == [len(filtered_graph(cut, jump)) for jump in cut.jumps]


@pytest.mark.parametrize("method", ["slice", "full"])
def test_a_profile_says_what_it_executed(method: str) -> None:
    profile = profile_launch(launch_of(entry(LOOP.format(count="%r0"))), method, progress=False)
    assert profile.static_instructions == 12
    assert profile.slice_instructions == {"slice": 5, "full": 12}[method]
    low, high = 3 * 50, 3 * 46  # threads that take either side
    assert profile.dynamic_instructions == 8 * (low + high) + 2 * low + 3 * high
    assert profile.executed_instructions == {"slice": 4 * low + 5 * high, "full": profile.dynamic_instructions}[method]


def test_a_method_that_does_not_exist() -> None:
    with pytest.raises(Exception, match="did you mean 'slice'"):
        profile_launch(launch_of(entry("")), "slices")
