"""No text makes the parser, the verifier or the printer fail in another way than a UserError, or take long."""

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.text.parser import parse
from rayplay.ptx.text.printer import print_module
from rayplay.ptx.verifier.code import verify
from tests.ptx.text.fuzz import fuzz

HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n"
KERNEL = HEAD + ".entry k(.param .u64 kp0) { .reg .b32 %r<10>; .reg .pred %p<4>; .reg .b64 %rd<5>;\n"
MANY = 20_000
DEEP = {
    "braces": KERNEL + "{" * MANY + "}" * MANY + "}",
    "open": KERNEL + "{" * MANY,
    "parentheses": KERNEL + "mov.u32 %r1, " + "(" * MANY + "1" + ")" * MANY + "; }",
    "signs": KERNEL + "mov.u32 %r1, " + "-!~" * MANY + "1; }",
    "casts": KERNEL + "mov.u32 %r1, " + "(.s64)" * MANY + "1; }",
    "choices": KERNEL + "mov.u32 %r1, " + "1?" * MANY + "1" + ":2" * MANY + "; }",
    "sum": KERNEL + "mov.u64 %rd1, " + "1+" * MANY + "1; }",
    "nested": KERNEL + "mov.u64 %rd1, " + "(1+" * MANY + "1; }",
    "vectors": KERNEL + "mov.b64 %rd1, " + "{" * MANY + "%r1" + "}" * MANY + "; }",
    "brackets": KERNEL + "ld.u32 %r1, " + "[" * MANY + "; }",
    "initialisers": HEAD + ".global .b32 x[] = " + "{" * MANY + "1" + "}" * MANY + ";",
    "dimensions": HEAD + ".global .b32 x" + "[1]" * MANY + ";",
    "huge": HEAD + ".global .b32 x[2][1000000000] = {{1}, {2}};",
    "ranges": KERNEL + "".join(f".reg .b32 %q{i}_<1000000>;\n" for i in range(MANY)) + "ret; }",
    "hidden ranges": KERNEL + "{ .reg .b32 %r<1000000>; mov.u32 %r1, %r5; }\n" * (MANY // 4) + "ret; }",
    "nested labels": KERNEL + "{ L: bra L; bra M;\n" * 2000 + "}" * 2000 + " M: ret; }",
    "missing labels": KERNEL + "".join(f"L{i}: bra M{i};\n" for i in range(MANY // 4)) + "ret; }",
    "unknown opcodes": KERNEL + "".join(f"adq{i}.u32 %r1, %r2;\n" for i in range(MANY // 4)) + "ret; }",
    "one line": KERNEL + "mov.u32 %r1, 5; " * MANY + "ret; }", "comment": KERNEL + "/*" * MANY,
    "name": KERNEL + "mov.u32 %r1, %" + "r1" * MANY + "; }", "modifiers": KERNEL + "add" + ".u32" * MANY + " %r1; }",
    "digits": KERNEL + "mov.u32 %r1, " + "9" * MANY + "; }", "bytes": HEAD + "\0" * MANY, "quotes": KERNEL + '"' * MANY,
    "sections": HEAD + ".section .debug_x {" + ".b8 1, 2, 3\n" * MANY + "}",
}  # fmt: skip


def test_mutations_of_our_files() -> None:
    assert 0 < fuzz(seed=3, count=250) < 250


@pytest.mark.parametrize("name", DEEP)
def test_deep_and_long_texts(name) -> None:
    """A module, which verifies and prints, or an error of a length that can be read."""
    message = outcome(DEEP[name])
    assert len(message) < 1000


def outcome(text: str) -> str:
    """The error of a text, empty for a module."""
    try:
        module = parse(text, "x")
    except UserError as error:
        return str(error)
    verify(module)
    print_module(module)
    return ""
