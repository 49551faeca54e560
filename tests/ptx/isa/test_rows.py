"""Every row of the instruction set is complete, and the rest of the project reads it."""

import random
from dataclasses import MISSING, fields

import pytest

from rayplay.formats.schema.trace import OPERATION_CLASSES
from rayplay.ptx.ir import NO_FORM
from rayplay.ptx.isa import table
from rayplay.ptx.isa.form import form_of, problem, signature
from rayplay.ptx.isa.patterns import WORDS, parsed
from rayplay.ptx.isa.row import COPIES, Control, Op, Yields
from rayplay.ptx.timing.pipelines import PIPELINES
from tests.ptx.isa.instructions import expansions

RESULTS = frozenset("dDrPqXm")


@pytest.fixture(params=table.TABLE.values(), ids=lambda op: op.name)
def op(request: pytest.FixtureRequest) -> Op:
    return request.param


def test_no_field_of_a_row_has_a_silent_default() -> None:
    defaults = {each.name for each in fields(Op) if each.default is not MISSING or each.default_factory is not MISSING}
    assert defaults == {"typed"}


def test_no_two_rows_have_one_name() -> None:
    families = [getattr(table, name) for name in dir(table) if hasattr(getattr(table, name), "ROWS")]
    names = [each.name for family in families for each in family.ROWS]
    assert sorted(names) == sorted(table.TABLE)


def test_a_row_uses_the_words_of_traces_and_pipelines(op: Op) -> None:
    classes = {op.operation_class} if isinstance(op.operation_class, str) else set(op.operation_class.values())
    assert classes <= set(OPERATION_CLASSES)
    for pipeline in PIPELINES.values():
        listed = {timing for _, timing in pipeline.by_timing}
        assert op.timing == "simple" or op.timing in listed
        assert classes <= pipeline.by_class.keys()


def test_the_roles_are_known_and_optional_ones_stand_last(op: Op) -> None:
    words = op.roles.split()
    assert all(word.lstrip("?") in "dsruPpqXxatlm" and len(word.lstrip("?")) == 1 for word in words)
    optional = [word.startswith("?") for word in words]
    assert optional == sorted(optional)


def test_effects_agree_with_the_operands(op: Op) -> None:
    roles = {word.lstrip("?") for word in op.roles.split()}
    assert (op.yields is Yields.NOTHING) == (not roles & RESULTS)
    assert op.memory.by != "image" or roles & {"t", "x"}
    assert op.memory.by not in ("address", "rows") or "a" in roles
    assert op.memory is not COPIES or op.opcode == "cp"
    assert op.control in (Control.NEXT, Control.MEETS, Control.ASKS) or op.yields is Yields.NOTHING
    assert 0 <= op.flops <= 2


def test_a_pattern_has_words_that_are_written_as_modifiers(op: Op) -> None:
    for pattern in op.patterns:
        for slot in parsed(pattern):
            assert slot.words
            assert not any(word in WORDS or word == "" for word in slot.words)


def test_every_form_is_legal_and_has_its_operands(op: Op) -> None:
    roles = [word.lstrip("?") for word in op.roles.split()]
    for modifiers in expansions(op.name, 20, random.Random(7)):
        form = form_of(op.opcode, modifiers)
        assert form.key == op.name
        assert problem(op.opcode, modifiers) is None
        wanted = signature(form)
        assert len(wanted) <= len(roles) + 1  # one that only a hint has
        for operand, role in zip(wanted, roles, strict=False):
            assert (operand.role in RESULTS | {"q2", "T", "M"}) >= (role in RESULTS)


def test_a_form_without_a_row_is_none() -> None:
    assert form_of("warpfold", ("sync",)) is NO_FORM
    assert problem("warpfold", ("sync",)) is None
