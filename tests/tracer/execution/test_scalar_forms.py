"""Every form of every scalar instruction runs, alike in machine code and interpreter; anything else is refused."""

import random
import re

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.isa.form import problem
from rayplay.ptx.isa.patterns import spelled
from rayplay.ptx.isa.table import SCALAR, TABLE
from tests.tracer.harness.execution import HEADER, both, execute
from tests.tracer.harness.scalar_programs import Form, kernel, spell
from tests.tracer.harness.scalar_values import doubles, words

FORMS = {
    opcode: [
        (opcode, modifiers)
        for modifiers in dict.fromkeys(form for pattern in TABLE[opcode].forms for form in spelled(pattern))
        if not {"v2", "v4"} & set(modifiers)
    ]
    for opcode in sorted(SCALAR)
}
BOOLEAN = {"and", "or", "xor"}
MOST = 250  # forms of one opcode that are tried each time; set, setp and cvt have more
UNTOUCHED = 0x5555_5555_5555_5555


def sample(opcode: str, seed: int) -> list[Form]:
    forms = FORMS[opcode]
    return forms if len(forms) <= MOST else random.Random(seed).sample(forms, MOST)


def groups() -> list[list[str]]:
    """Opcodes in a few programs of about equal size."""
    made: list[list[str]] = [[]]
    for opcode in sorted(SCALAR):
        if sum(min(len(FORMS[other]), MOST) for other in made[-1]) > 400:
            made.append([])
        made[-1].append(opcode)
    return made


def run_forms(forms: list[Form], threads: int, seed: int) -> None:
    slots = np.full(len(forms) * threads * 2, UNTOUCHED, np.uint64)
    inputs = [words(threads, seed), doubles(threads, seed + 1)]
    out = both(kernel(forms, threads), [*inputs, slots], block=(threads, 1, 1)).buffers[2]
    untouched = (out.reshape(len(forms), threads, 2)[:, :, 0] == UNTOUCHED).all(1)
    assert not untouched.any(), [spell(form) for form, none in zip(forms, untouched, strict=True) if none]


@pytest.mark.parametrize("opcodes", groups(), ids=lambda opcodes: f"{opcodes[0]}-{opcodes[-1]}")
def test_every_form_is_the_same_in_both_backends(opcodes: list[str]) -> None:
    run_forms([form for opcode in opcodes for form in sample(opcode, 1)], 64, 11)


ANY_FORM = st.sampled_from([form for forms in FORMS.values() for form in forms])


@given(st.lists(ANY_FORM, min_size=30, max_size=30), st.integers(0, 1 << 30))
@settings(max_examples=8, deadline=None)
def test_random_programs_of_forms(forms: list[Form], seed: int) -> None:
    run_forms(forms, 96, seed)


EXTRA = (
    "ftz",
    "sat",
    "relu",
    "cc",
    "rz",
    "NaN",
    "satfinite",
    "approx",
    "wide",
    "hi",
    "clamp",
    "oob",
    "x",
    "u32",
    "f16",
)


@given(ANY_FORM, st.sampled_from(EXTRA), st.sampled_from(["machine", "interpreter"]))
@settings(max_examples=40, deadline=None)
def test_a_modifier_that_does_not_belong_is_named_with_its_line(form: Form, extra: str, backend: str) -> None:
    opcode, modifiers = form
    more = (*modifiers[:-1], extra, modifiers[-1])
    assume(problem(opcode, more))
    text = kernel([form], 32).replace(f"\n{spell(form)} ", f"\n{spell((opcode, more))} ", 1)
    line = 2 + HEADER.count("\n") + text[: text.index(f"\n{spell((opcode, more))}")].count("\n")
    expected = re.escape(f"test.ptx:{line}:1: the executor does not know {spell((opcode, more))}")
    with pytest.raises(UserError, match=expected):
        execute(text, [words(32, 1), doubles(32, 2), np.zeros(64, np.uint64)], backend)


def test_forms_are_those_that_the_manual_has() -> None:
    """Combinations that ptxas refuses, and a few that it takes, in an order of their own."""
    refused = """add.sat.u32 add.ftz.f64 add.cc.sat.s32 mul.u32 mul.wide.u64 mul.lo.f32 fma.f32 neg.ftz.f64 neg.ftz.bf16
    min.relu.f32 min.NaN.f64 popc.u32 bfind.b32 brev.u32 setp.lo.s32 setp.lt.b32 sin.f32 cvt.f32.s32 cvt.s32.f32
    cvt.rn.s32.f32 cvt.rn.f32.f32 cvt.rn.relu.s32.f32 div.approx.f64 rcp.f32 sqrt.approx.f64 add.rz.f16 shl.u32
    lop3.xor.b32 copysign.f16 testp.normal.f16 fma.rn.sat.relu.f16 vadd.u32.u32.add mad24.hi.cc.s32 prmt.f4e"""
    assert [text for text in refused.split() if problem(text.split(".")[0], tuple(text.split(".")[1:])) is None] == []
    taken = "add.f32.rn.ftz setp.s32.lt cvt.f32.f64.rn.ftz add.cc.s64 cvt.sat.u8.s32 set.eq.and.f16x2.f16x2"
    assert [text for text in taken.split() if problem(text.split(".")[0], tuple(text.split(".")[1:]))] == []
