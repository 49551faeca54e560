"""Every form of every scalar instruction runs, alike in machine code and interpreter; anything else is refused."""

import random
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptx.forms import PATTERNS, all_forms

sys.path.insert(0, str(Path(__file__).parent))
from execution import both
from scalar_programs import Form, kernel, spell
from scalar_values import doubles, words

FORMS = {opcode: [(opcode, modifiers) for modifiers in all_forms(opcode)] for opcode in PATTERNS}
BOOLEAN = {"and", "or", "xor"}
MOST = 250  # forms of one opcode that are tried each time; those of set, setp and cvt are taken in turns
UNTOUCHED = 0x5555_5555_5555_5555


def sample(opcode: str, seed: int) -> list[Form]:
    forms = FORMS[opcode]
    return forms if len(forms) <= MOST else random.Random(seed).sample(forms, MOST)


def groups() -> list[list[str]]:
    """Opcodes in a few programs of about equal size."""
    made: list[list[str]] = [[]]
    for opcode in PATTERNS:
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
