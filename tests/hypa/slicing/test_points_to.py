"""Objects that addresses can point into, and which accesses can touch the same bytes."""

import pytest

from rayplay.hypa.slicing.pointers import ANYWHERE, NUMBER, UNKNOWN, Location, Target, may_alias
from rayplay.hypa.slicing.points_to import points_to
from rayplay.ptx.ir import Module
from rayplay.ptx.program import link
from rayplay.ptx.text.parser import parse

HEAD = """.version 8.0
.target sm_75
.address_size 64
.global .align 8 .b8 table[64];
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k(.param .u64 p, .param .align 8 .b8 pair[16], .param .u64 n)
{
    .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<20>;
    .shared .align 4 .b8 cell[32];
    .local .align 4 .b8 frame[32];
"""
BUFFERS = {("p", 0): "one", ("pair", 0): "one", ("pair", 8): "two"}


def argument(name: str, offset: int | None, size: int) -> Target:
    if offset is None:
        found = [buffer for (parameter, _), buffer in BUFFERS.items() if parameter == name]
        return Target(frozenset(("allocation", each) for each in found))
    buffer = BUFFERS.get((name, offset))
    return Target(frozenset((("allocation", buffer),)), 0) if buffer else NUMBER


def locations(body: str) -> list[Location]:
    """Locations of the memory accesses of a kernel with this body, in order; reads of parameters left out."""
    module: Module = parse(f"{HEAD}{body}\n    ret;\n}}\n", "k.ptx")
    made = points_to(link([(module, module.functions["k"])]), argument)
    accesses = (each for index in range(len(module.functions["k"].body)) for each in made.uses(0, index))
    return [location for use, location in accesses if use.space != "param"]


def objects(body: str) -> set[str]:
    return {item[-1] for item in locations(body)[-1].target.objects}


@pytest.mark.parametrize(("body", "expected"), [
    ("ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd2, %rd1; ld.global.u32 %r1, [%rd2+8];", {"one"}),
    ("ld.param.u64 %rd1, [pair+8]; mad.lo.u64 %rd2, %rd3, 4, %rd1; ld.global.u32 %r1, [%rd2];", {"two"}),
    ("mov.b64 %rd1, pair; ld.param.u64 %rd2, [%rd1+8]; ld.global.u32 %r1, [%rd2];", {"two"}),
    ("ld.param.v2.u64 {%rd1, %rd2}, [pair]; ld.global.u32 %r1, [%rd1];", {"one", "two"}),
    ("mov.b64 %rd1, pair; add.u64 %rd1, %rd1, %rd9; ld.param.u64 %rd2, [%rd1]; ld.global.u32 %r1, [%rd2];",
     {"one", "two"}),
    ("ld.param.u64 %rd1, [p]; mov.b64 {%r1, %r2}, %rd1; shfl.sync.idx.b32 %r3, %r1, 0, 31, -1; "
     "shfl.sync.idx.b32 %r4, %r2, 0, 31, -1; mov.b64 %rd2, {%r3, %r4}; ld.global.u32 %r5, [%rd2];", {"one"}),
    ("ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [pair+8]; selp.b64 %rd3, %rd1, %rd2, %p1; "
     "ld.global.u32 %r1, [%rd3];", {"one", "two"}),
    ("ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [pair+8]; @%p1 mov.b64 %rd1, %rd2; ld.global.u32 %r1, [%rd1];",
     {"one", "two"}),
    ("ld.param.u64 %rd1, [p]; ld.global.u64 %rd2, [%rd1]; shl.b64 %rd3, %rd2, 3; add.u64 %rd4, %rd1, %rd3; "
     "ld.global.u32 %r1, [%rd4];", {"one"}),
    ("ld.param.u64 %rd1, [p]; ld.global.u64 %rd2, [%rd1]; ld.global.u32 %r1, [%rd2];", {"anywhere"}),
    ("ld.param.u64 %rd1, [n]; ld.global.u32 %r1, [%rd1];", {"anywhere"}),
    ("ld.global.u32 %r1, [4096];", {"anywhere"}),
    ("ld.global.u32 %r1, [table+4];", {"table"}),
    ("mov.u32 %r1, cell; shl.b32 %r2, %r3, 2; add.u32 %r4, %r1, %r2; ld.shared.u32 %r5, [%r4];", {"k:cell", "cell"}),
])  # fmt: skip
def test_an_address_is_followed_to_its_object(body: str, expected: set[str]) -> None:
    found = objects(body)
    assert found
    assert found <= expected
    assert len(found) == len(expected) or "cell" in expected


def test_a_loop_forgets_the_offset_and_keeps_the_object() -> None:
    first, last = locations("""
    ld.param.u64 %rd1, [p];
    ld.global.u32 %r1, [%rd1+4];
TOP:
    add.u64 %rd1, %rd1, 4;
    setp.lt.u64 %p1, %rd1, %rd9;
    @%p1 bra TOP;
    ld.global.u32 %r1, [%rd1+4];
""")  # fmt: skip
    assert first.target == Target(frozenset((("allocation", "one"),)), 4)
    assert last.target == Target(frozenset((("allocation", "one"),)), None)


ONE, TWO = ("allocation", "1"), ("allocation", "2")
CELL, FRAME = ("variable", "shared", "cell"), ("variable", "local", "frame")


def at(space: str, *items: tuple[str, ...], offset: int | None = None, size: int = 4) -> Location:
    return Location(space, Target(frozenset(items), offset), size)


@pytest.mark.parametrize(("one", "other", "expected"), [
    (at("global", ONE), at("global", TWO), False),
    (at("global", ONE), at("generic", ONE, TWO), True),
    (at("global", ONE, offset=0), at("global", ONE, offset=4), False),
    (at("global", ONE, offset=0, size=8), at("global", ONE, offset=4), True),
    (at("global", ONE, offset=0), at("global", ONE), True),
    (at("global", ONE, TWO, offset=0), at("global", ONE, offset=64), True),
    (at("shared", ANYWHERE), at("shared", CELL), True),
    (at("shared", ANYWHERE), at("global", ONE), False),
    (at("generic", ANYWHERE), at("local", FRAME), True),
    (at("generic", CELL), at("global", ANYWHERE), False),
    (at("generic", CELL), at("shared", ANYWHERE), True),
    (at("generic", ANYWHERE), at("global", ANYWHERE), True),
])  # fmt: skip
def test_accesses_that_can_touch_the_same_bytes(one: Location, other: Location, expected: bool) -> None:
    assert may_alias(one, other) is may_alias(other, one) is expected


def test_what_is_not_known_is_not_a_number() -> None:
    assert not Location("global", UNKNOWN, 4).is_known
    assert NUMBER.objects == frozenset()
