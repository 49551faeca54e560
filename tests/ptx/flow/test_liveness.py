"""Liveness against its definition: a register is live where some path reads it before surely writing it."""

from pathlib import Path

import pytest
from hypothesis import given, settings

from rayplay.ptx.flow.cfg import build
from rayplay.ptx.flow.liveness import ALLOCATOR_REGISTERS, WORDS, Liveness, register_count
from rayplay.ptx.ir import Register
from rayplay.ptx.isa.describe import describe
from rayplay.ptx.text.parser import parse_file
from tests.ptx.bodies import bodies
from tests.ptx.conftest import kernel

ROOT = Path(__file__).resolve().parents[3]


def live_in(function, cfg) -> list[frozenset[str]]:
    solved = Liveness(function, cfg)
    return [solved.names(bits) for bits in solved.live_in]


def slow_live(function, cfg, start: int) -> set[str]:
    """Walk every path from an instruction, one register at a time."""
    following = {}
    for block in cfg.blocks:
        last = block.first + block.count - 1
        for index in range(block.first, last):
            following[index] = [index + 1]
        following[last] = [cfg.blocks[s].first for s in block.successors]
    described = [describe(i, function) for i in function.body]
    live = set()
    for register in {name for d in described for name in (*d.sources, *d.destinations)}:
        seen, waiting = set(), [start]
        while waiting:
            index = waiting.pop()
            if index in seen:
                continue
            seen.add(index)
            if register in described[index].sources:
                live.add(register)
                break
            if register in described[index].destinations and function.body[index].guard is None:
                continue
            waiting += following[index]
    return live


def slow_count(function, cfg) -> int:
    written = {name for i in function.body for name in describe(i, function).destinations}
    most = 0
    for index in range(len(function.body)):
        live = slow_live(function, cfg, index) & written
        types = [function.registers[name.partition(".")[0]] for name in live]
        most = max(most, sum(0 if t == "pred" else WORDS.get(t, 1) for t in types))
    return most + ALLOCATOR_REGISTERS


STATEMENTS = (
    *(guard + statement for guard in ("", "@%p{a} ", "@!%p{b} ") for statement in (
        "add.s32 %r{a}, %r{b}, %r{c};", "setp.lt.s32 %p{a}|%p{b}, %r{b}, %r{c};",
        "ld.global.v2.f32 {{%f{a}, _}}, [%rd{b}+4];", "mov.b64 %rd{a}, {{%r{b}, %r{c}}};", "bra L{back};",
        "st.global.f32 [%rd{a}], %f{b};", "shfl.sync.idx.b32 %r{a}|%p{b}, %r{c}, 1, 31, -1;",
    )), "@%p{a} ret;",
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(bodies(STATEMENTS, 6, 3, 24))
def test_liveness_is_its_definition(body) -> None:
    function = kernel(body)
    cfg = build(function)
    assert [set(names) for names in live_in(function, cfg)] == [slow_live(function, cfg, b.first) for b in cfg.blocks]
    assert register_count(function, cfg) == slow_count(function, cfg)


@pytest.mark.parametrize(("body", "count"), [
    ("ret;", 0),
    ("mov.u32 %r1, 0; mov.u32 %r2, 1; st.global.u32 [0], %r1; st.global.u32 [0], %r2; ret;", 2),
    ("mov.u64 %rd1, 0; mov.f64 %fd1, %fd2; st.global.f64 [%rd1], %fd1; ret;", 4),
    ("setp.eq.s32 %p1, 0, 0; @%p1 mov.u32 %r1, 0; st.global.u32 [0], %r1; ret;", 1),
    (".reg .v4 .f32 %v; mov.f32 %v.x, %f1; mov.f32 %v.w, %f1; st.global.v2.f32 [0], {%v.r, %v.a}; ret;", 2),
    ("st.global.u32 [0], %r5; ret;", 0),
])  # fmt: skip
def test_register_counts(body, count) -> None:
    function = kernel(body)
    assert register_count(function, build(function)) == count + ALLOCATOR_REGISTERS


def test_special_registers_are_never_live() -> None:
    function = kernel("mov.u32 %r1, %tid.x; add.u32 %r2, %r1, %laneid; ret;")
    assert function.body[0].operands[1] == Register("%tid", "x")
    assert live_in(function, build(function)) == [frozenset()]


OPERANDS = """
    .reg .v4 .f32 %v; .reg .pred %q<3>;
    setp.eq.and.s32 %q1|%q2, %r1, %r2, !%p1;
    @!%q1 ld.global.v4.f32 {%f1, %f2, _, %f4}, [%rd1+8];
    mov.f32 %v.g, %f1;
    mov.f32 %f2, %v.b;
    st.global.v4.f32 [%rd2], %v;
    atom.global.add.u32 %r3, [%rd1], %r4;
    vmad.s32.s32.s32 %r5, %r6, -%r7, %r8;
    shfl.sync.bfly.b32 %r1|%p1, %r2, %r3, 31, -1;
    mov.b64 {%r1, %r2}, %rd1;
    mov.u32 %r1, %tid.x;
    tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd5, {%f5, %f6}];
    bar.red.popc.u32 %r1, 0, !%p1;
    ret;
"""


def assert_equals_descriptions(function) -> None:
    solved = Liveness(function, build(function))
    for i, reads, writes in zip(function.body, solved.reads, solved.writes, strict=True):
        description = describe(i, function)
        assert (solved.names(reads), solved.names(writes)) == (
            frozenset(description.sources), frozenset(description.destinations)
        ), i.text  # fmt: skip


def test_reads_and_writes_are_those_of_the_descriptions() -> None:
    assert_equals_descriptions(kernel(OPERANDS))
    for path in (*sorted(ROOT.glob("examples/*/*.ptx")), ROOT / "tracer" / "programs" / "path-tracing.ptx"):
        for function in parse_file(path).functions.values():
            assert_equals_descriptions(function)
