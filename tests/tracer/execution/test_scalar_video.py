"""Parts of video operands, merging, negation, carries under guards and lop3's predicate, worked out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayplay.formats.guard.errors import UserError
from tests.tracer.harness.execution import both, execute

FRAME = """
.visible .entry test(.param .u64 z, .param .u32 a, .param .u32 b, .param .u32 c)
{{
    .reg .pred %p<6>;
    .reg .b32 %r<9>;
    .reg .b64 %l<3>;
    ld.param.u64 %l1, [z];
    ld.param.u32 %r1, [a];
    ld.param.u32 %r2, [b];
    ld.param.u32 %r3, [c];
    mov.u32 %r5, %laneid;
    mul.wide.u32 %l2, %r5, 4;
    add.u64 %l1, %l1, %l2;
    setp.lt.u32 %p1, %r5, 16;
    mov.u32 %r4, 0;
    {body}
    st.global.u32 [%l1], %r4;
    ret;
}}
"""
A, B, C = 0x80FF7F01, 0x01020304, 0xAABBCCDD
ANSWERS = [
    ("vadd.s32.s32.s32 %r4, %r1.b3, %r2.b0;", (A, B, C), 0xFFFFFF84),
    ("vadd.u32.u32.u32 %r4, %r1.b3, %r2.h1;", (A, B, C), 0x182),
    ("vadd.u32.u32.u32.sat %r4.b1, %r1.b3, %r2.h1, %r3;", (A, B, C), 0xAABBFFDD),
    ("vsub.s32.u32.u32.sat %r4.h1, %r1.b0, %r2.h0, %r3;", (A, B, C), 0xFCFDCCDD),
    ("vmin.s32.s32.s32 %r4.b3, %r1.h1, %r2.b1, %r3;", (A, B, C), 0xFFBBCCDD),
    ("vset.u32.u32.gt %r4.h0, %r1.b2, %r2.b2, %r3;", (A, B, C), 0xAABB0001),
    ("vadd4.u32.u32.u32 %r4.b20, %r1, %r2, %r3;", (A, B, C), 0xAA01CC05),
    ("vadd4.u32.u32.u32 %r4, %r1.b7610, %r2.b3210, %r3;", (A, B, 0), 0x8101FE02),
    ("vadd2.u32.u32.u32 %r4.h1, %r1.h32, %r2.h10, %r3;", (A, B, C), 0x8201CCDD),
    ("vabsdiff2.u32.u32.u32.add %r4.h0, %r1, %r2, %r3;", (5, 2, 10), 13),
    ("vmad.s32.s32.s32 %r4, -%r1, %r2, %r3;", (3, 5, 7), 0xFFFFFFF8),
    ("vmad.u32.u32.u32 %r4, %r1, %r2, -%r3;", (3, 5, 7), 8),
    ("vmad.s32.s32.s32.shr7 %r4, %r1.b0, %r2.b0, %r3;", (0xFF, 2, 0x100), 1),
    ("vmad.s32.s32.s32 %r4, -%r1, -%r2, %r3;", (3, 5, 7), 22),
    ("lop3.or.b32 %r4|%p2, %r1, %r2, %r3, 0x80, !%p1; selp.b32 %r4, 1, %r4, %p2;", (3, 5, 1), 1),
    ("lop3.and.b32 _|%p2, %r1, %r2, %r3, 0x80, %p1; selp.b32 %r4, 7, 9, %p2;", (3, 5, 2), 9),
    ("add.cc.u32 %r4, %r1, %r2; @!%p1 add.cc.u32 %r4, 0, 0; addc.u32 %r4, 0, 0;", (0xFFFFFFFF, 1, 0), 1),
    ("add.u32 %r4, 1, 2; @%p1 min.u32 %r4, %r1, %r2;", (7, 8, 0), 7),
    ("setp.lt.and.u32 %p2|%p3, %r1, %r2, %p1; selp.b32 %r4, 1, 0, %p2; @%p3 add.u32 %r4, %r4, 2;", (1, 2, 0), 1),
]  # fmt: skip


def arguments(values: tuple[int, int, int]) -> list[np.ndarray | int]:
    return [np.zeros(32, np.uint32), *values]


@pytest.mark.parametrize(("body", "values", "expected"), ANSWERS)
def test_known_answers(body: str, values: tuple[int, int, int], expected: int) -> None:
    out = both(FRAME.format(body=body), arguments(values)).buffers[0]
    assert hex(out[5]) == hex(expected)


@pytest.mark.parametrize("body", [
    "vadd.u32.u32.u32.add %r4.b1, %r1, %r2, %r3;", "vmad.s32.s32.s32.po %r4, -%r1, %r2, %r3;",
    "vmad.s32.s32.s32 %r4, -%r1, %r2, -%r3;", "lop3.or.b32 %r4, %r1, %r2, %r3, 0x80;",
])  # fmt: skip
def test_operands_that_do_not_belong_together_are_refused(body: str) -> None:
    with pytest.raises(UserError, match=r"test\.ptx:\d+:\d+: "):
        execute(FRAME.format(body=body), arguments((1, 2, 3)))


NAMES = st.sampled_from(("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vset"))
SIGNS = st.sampled_from(("u32", "s32"))
PART = st.sampled_from(("", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"))
WORDS = st.integers(0, (1 << 32) - 1)


@given(st.data(), st.tuples(WORDS, WORDS, WORDS))
@settings(max_examples=10, deadline=None)
def test_random_parts(data: st.DataObject, values: tuple[int, int, int]) -> None:
    """Sixteen instructions, half of them SIMD, each adding to what came before."""
    lines = []
    for _ in range(8):
        name, types = data.draw(NAMES), [data.draw(SIGNS) for _ in range(3)]
        spelled = ".".join((name, *([*types[1:], "ge"] if name == "vset" else types)))
        sat = ".sat" if name != "vset" and data.draw(st.booleans()) else ""
        lines.append(
            f"{spelled}{sat} %r6{data.draw(PART.filter(bool))}, %r1{data.draw(PART)}, %r2{data.draw(PART)}, %r4;"
        )
        count = data.draw(st.sampled_from((2, 4)))
        letter, digits = ("h", "0123") if count == 2 else ("b", "01234567")
        parts = ["." + letter + "".join(data.draw(st.sampled_from(digits)) for _ in range(count)) for _ in range(2)]
        mask = "." + letter + "".join(data.draw(st.sampled_from(("0", "1", "10"))))
        spelled = spelled.replace(name, f"{name}{count}", 1)
        lines.append(f"{spelled}{sat} %r4{mask}, %r1{parts[0]}, %r6{parts[1]}, %r3; xor.b32 %r1, %r1, %r4;")
    both(FRAME.format(body="\n    ".join(lines)), arguments(values))
