"""Printing: the text of a structure parses back to it, up to positions and the spacing of texts."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from rayplay.ptx.ir import (
    Address,
    Function,
    Guard,
    Immediate,
    Instruction,
    Module,
    Not,
    Pair,
    Position,
    Register,
    Symbol,
    Vector,
)
from rayplay.ptx.text.parser import parse
from rayplay.ptx.text.printer import print_instruction, print_module

NOWHERE = Position(0, 0)


def placeless(module: Module) -> Module:
    """The module without positions and texts."""

    def variable(v):
        return replace(v, position=NOWHERE)

    def function(f: Function) -> Function:
        return replace(
            f, position=NOWHERE, returns=tuple(map(variable, f.returns)), parameters=tuple(map(variable, f.parameters)),
            variables={n: variable(v) for n, v in f.variables.items()},
            body=tuple(replace(i, position=NOWHERE, text="") for i in f.body),
            prototypes={n: function(p) for n, p in f.prototypes.items()},
        )  # fmt: skip

    return replace(
        module, source_name="", source_lines=(), variables={n: variable(v) for n, v in module.variables.items()},
        functions={n: function(f) for n, f in module.functions.items()},
    )  # fmt: skip


def test_programs_survive_printing(program) -> None:
    text = print_module(program)
    again = parse(text, "printed")
    assert print_module(again) == text
    renamed = any("#" in n for f in program.functions.values() for n in (*f.registers, *f.variables, *f.labels))
    assert renamed or placeless(again) == placeless(program)


REGISTERS = [f"%{kind}{i}" for kind in ("r", "f", "rd", "p") for i in range(4)]
registers = st.sampled_from(REGISTERS).map(Register)
integers = st.integers(-(1 << 63), (1 << 64) - 1).map(Immediate)
floats = st.integers(0, (1 << 64) - 1).map(lambda bits: Immediate(bits, "f64"))
symbols = st.builds(Symbol, st.sampled_from(["k_param_0", "table"]), st.integers(-64, 1 << 20))
bases = st.one_of(registers, st.sampled_from([Symbol("k_param_0"), Immediate(4096)]))
addresses = st.builds(Address, bases, st.integers(-(1 << 31), 1 << 31)).filter(
    lambda a: not (isinstance(a.base, Immediate) and a.offset)
)
elements = st.one_of(st.none(), registers, integers)
operands = st.one_of(
    registers, integers, floats, symbols, addresses, registers.map(Not), st.builds(Pair, registers, registers),
    st.lists(elements, min_size=1, max_size=4).map(tuple).map(Vector),
)  # fmt: skip
guards = st.one_of(st.none(), st.builds(Guard, registers, st.booleans()))
instructions = st.builds(
    Instruction, st.sampled_from(["add", "foo", "ld"]),
    st.lists(st.sampled_from(["global", "u32", "a::b"]), max_size=3).map(tuple),
    st.lists(operands, max_size=5).map(tuple), guards, st.just(NOWHERE), st.just(""),
)  # fmt: skip


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(instructions, max_size=8))
def test_any_instructions_survive_printing(made) -> None:
    declared = "".join(f".reg .{'pred' if n[1] == 'p' else 'b32'} {n};" for n in REGISTERS)
    body = "\n".join(print_instruction(i) for i in made)
    head = ".version 8.0\n.target sm_75\n.global .u32 table[9];\n.entry k(.param .u64 k_param_0)"
    function = parse(f"{head} {{ {declared}\n{body} ret; }}", "x").functions["k"]
    assert [replace(i, position=NOWHERE, text="") for i in function.body[:-1]] == made
