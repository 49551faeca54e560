"""One dispatch for both backends: the same families, the same opcodes, and modules of the same names."""

from pathlib import Path

from rayplay import tracer
from rayplay.ptx.isa.modifiers import PATTERNS
from rayplay.tracer.interp import dispatch as interp
from rayplay.tracer.interp import optix as interp_optix
from rayplay.tracer.lower import dispatch as lower
from rayplay.tracer.lower import optix as lower_optix
from rayplay.tracer.meaning.dispatch import OPCODES
from rayplay.tracer.meaning.optix import GETTERS

ROOT = Path(tracer.__file__).parent
OF_ONE = {  # what only one backend needs: values and control of the interpreter, texts and code of the emitter
    "interp": {"arena", "blocks", "ctas", "flow", "values"},
    "lower": {"compile", "program"},
}


def stems(package: str) -> set[str]:
    return {path.stem for path in (ROOT / package).glob("*.py")} - OF_ONE[package]


def test_families_are_modules_of_one_name() -> None:
    assert stems("interp") == stems("lower")


def test_every_opcode_has_a_handler_in_both_backends() -> None:
    for families in (interp.FAMILIES, lower.FAMILIES):
        assert {name: set(handlers) for name, handlers in families.items()} == {
            name: set(opcodes) for name, opcodes in OPCODES.items()
        }


def test_opcodes_are_those_of_the_tables() -> None:
    known = {key.split(".")[0] for key in PATTERNS} | {"mma", "cp", "filter_shader"}
    assert {opcode for opcodes in OPCODES.values() for opcode in opcodes} <= known


def test_getters_are_the_same_calls() -> None:
    assert lower_optix.HANDLERS.keys() == GETTERS
    named = {f"_optix_{name}" for name in interp_optix.HANDLERS}
    assert named <= GETTERS
    # the others are fields by name, which the interpreter reads from the name itself
    fields = ("get_world_ray_", "get_object_ray_", "get_attribute_", "get_payload", "set_payload")
    assert all(name.removeprefix("_optix_").startswith(fields) for name in GETTERS - named)
