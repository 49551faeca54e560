"""Counts of visits against their definitions, and whatever the size of the buffers."""

import struct

import numpy as np
import pytest

from rayplay import ptx
from rayplay.hypa import count as profile_count
from rayplay.hypa.profile import count_launch, launch_program, profile_launch
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.record.recorder import MemorySink
from rayplay.tracer.run import run_compute_launch
from tests.reference.profile_slow import count

HEADER = ".version 7.8\n.target sm_75\n.address_size 64\n"
# An outer loop of tid % 5 + 1 rounds with an inner one of (tid * 7 + round) % 6 rounds: lanes come back to the inner
# jump after different numbers of executions; threads above 40 leave at once; one in three takes the other side.
RAGGED = """
.visible .entry ragged(.param .u64 out)
{
    .reg .pred %p<8>; .reg .b32 %r<20>; .reg .b64 %rd<5>;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    add.u32 %r1, %r1, %r2;
    setp.gt.u32 %p1, %r1, 40;
    @%p1 ret;
    rem.u32 %r3, %r1, 5;
    mov.u32 %r4, 0;
OUTER:
    mad.lo.u32 %r5, %r1, 7, %r4;
    rem.u32 %r5, %r5, 6;
    mov.u32 %r6, 0;
INNER:
    setp.ge.u32 %p2, %r6, %r5;
    @%p2 bra NEXT;
    add.u32 %r6, %r6, 1;
    rem.u32 %r7, %r6, 3;
    setp.eq.u32 %p3, %r7, 1;
    @%p3 bra INNER;
    bar.warp.sync -1;
    bra.uni INNER;
NEXT:
    add.u32 %r4, %r4, 1;
    setp.le.u32 %p4, %r4, %r3;
    @%p4 bra OUTER;
    ret;
}
"""
BARRIERS = """
.visible .entry barriers(.param .u64 out)
{
    .reg .pred %p<8>; .reg .b32 %r<20>;
    .shared .b32 cell[128];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, 0;
LOOP:
    xor.b32 %r4, %r1, %r3;
    and.b32 %r4, %r4, %r2;
    setp.eq.u32 %p1, %r4, 0;
    @%p1 bra SKIP;
    add.u32 %r5, %r5, 1;
SKIP:
    bar.sync 0;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, 90;
    @%p2 bra LOOP;
    ret;
}
"""
LEAVING = """
.visible .entry leaving(.param .u64 out)
{
    .reg .pred %p<8>; .reg .b32 %r<20>;
    .branchtargets: TABLE A, B, C;
    mov.u32 %r1, %laneid;
    and.b32 %r2, %r1, 3;
    setp.eq.u32 %p1, %r1, 31;
    @%p1 exit;
    TABLE: .branchtargets A, B, C;
    @!%p1 brx.idx %r2, TABLE;
    exit;
A:  bra.uni C;
B:  setp.lt.u32 %p2, %r1, 20;
C:  setp.lt.u32 %p3, %r1, 9;
    @%p3 bra A2;
    ret;
A2: ret;
}
""".replace("    .branchtargets: TABLE A, B, C;\n", "")
PROGRAMS = {"ragged": RAGGED, "barriers": BARRIERS, "leaving": LEAVING}


def launch_of(name: str, block: int = 100, grid: int = 7) -> ComputeLaunch:
    memory = DeviceMemory()
    module = ptx.parse(HEADER + PROGRAMS[name], f"{name}.ptx")
    params = (struct.pack("<Q", memory.allocate(4096)),)
    return ComputeLaunch(module, name, (grid, 1, 1), (block, 1, 1), params, memory)


@pytest.mark.parametrize("name", PROGRAMS)
def test_counts_are_those_of_the_definitions(name: str) -> None:
    launch = launch_of(name)
    sink = MemorySink()
    run_compute_launch(launch, sink, progress=False)
    visits = sink.table("visits")
    rows = zip(*(visits[column].tolist() for column in ("warp_id", "block_id", "active_mask")), strict=True)
    program = launch_program(launch)
    expected = count(program, list(rows), 4)
    found = count_launch(launch, program, progress=False)
    for measure, counts in expected.items():
        assert {k: v for k, v in enumerate(getattr(found, measure).tolist()) if v} == +counts, measure
    assert expected["divergent"].total() > 0
    assert expected["cta_divergent"].total() > 0


@pytest.mark.parametrize("name", PROGRAMS)
def test_counts_do_not_depend_on_the_buffers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from rayplay.tracer.record import buffers

    launch = launch_of(name)
    program = launch_program(launch)
    whole = count_launch(launch, program, progress=False)
    monkeypatch.setattr(profile_count, "FIRST_ROOM", 1)
    for constant, size in (("VISITS", 64), ("RUNS", 16)):
        monkeypatch.setattr(buffers, constant, size)
    part = count_launch(launch, program, progress=False)
    slow = count_launch(launch, program, progress=False, backend="interpreter")
    assert whole == part == slow


def test_a_profile_adds_up() -> None:
    profile = profile_launch(launch_of("barriers"), "full", progress=False)
    rounds = 90
    assert (profile.ctas, profile.threads, profile.warps) == (7, 700, 28)
    assert profile.static_instructions == 13
    assert profile.cta_branches == 7 * 2 * rounds
    assert profile.branches == profile.conditional_branches == 28 * 2 * rounds
    skipped = int(profile.visits.lanes[1] - profile.visits.lanes[2])
    assert profile.dynamic_instructions == 700 * (4 + rounds * 9) - skipped
    assert profile.instructions_by_class.sum() == profile.dynamic_instructions
    assert profile.executed_instructions == profile.dynamic_instructions
    assert profile.warp_instructions >= profile.dynamic_instructions / 32
    assert np.array_equal(profile.operations, [0, 0, 0, 0])
