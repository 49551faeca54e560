"""The parser: what each piece of syntax becomes and what each mistake is called."""

import random
import re
from pathlib import Path

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Address, Immediate, Not, Pair, Register, Symbol, Texture, Vector
from rayplay.ptx.text.parser import parse, parse_file
from rayplay.ptx.text.printer import print_module
from rayplay.ptx.verifier.code import verify

R = Register
OPERANDS = [
    ("add.s32 %r1, %r2, -4;", (R("%r1"), R("%r2"), Immediate(-4))),
    ("mov.u32 %r1, 0xFFU;", (R("%r1"), Immediate(255))),
    ("mov.u32 %r1, 0b101;", (R("%r1"), Immediate(5))),
    ("mov.u32 %r1, 017;", (R("%r1"), Immediate(15))),
    ("mov.f32 %f1, 0f3F800000;", (R("%f1"), Immediate(0x3F800000, "f32"))),
    ("mov.f32 %f1, -1.5;", (R("%f1"), Immediate(0xBFC00000, "f32"))),
    ("mov.f64 %fd1, 0d3FF0000000000000;", (R("%fd1"), Immediate(0x3FF0000000000000, "f64"))),
    ("mov.f64 %fd1, 1e300;", (R("%fd1"), Immediate(0x7E37E43C8800759C, "f64"))),
    ("mov.u32 %r1, %tid.x;", (R("%r1"), R("%tid", "x"))),
    ("mov.u32 %r1, WARP_SZ;", (R("%r1"), Immediate(32))),
    ("mov.u64 %rd1, k_param_0;", (R("%rd1"), Symbol("k_param_0"))),
    ("mov.u64 %rd1, k_param_0+8;", (R("%rd1"), Symbol("k_param_0", 8))),
    ("ld.param.u64 %rd1, [k_param_0];", (R("%rd1"), Address(Symbol("k_param_0")))),
    ("ld.global.f32 %f1, [%rd1+-8];", (R("%f1"), Address(R("%rd1"), -8))),
    ("ld.global.f32 %f1, [ %rd1 + 4 ];", (R("%f1"), Address(R("%rd1"), 4))),
    ("ld.global.f32 %f1, [%rd1-8];", (R("%f1"), Address(R("%rd1"), -8))),
    ("ld.global.u32 %r1, [4096];", (R("%r1"), Address(Immediate(4096)))),
    ("ld.global.v2.f32 {%f1, _}, [%rd1];", (Vector((R("%f1"), None)), Address(R("%rd1")))),
    ("setp.lt.and.s32 %p1|%p2, %r1, 3, !%p3;", (Pair(R("%p1"), R("%p2")), R("%r1"), Immediate(3), Not(R("%p3")))),
    ("setp.eq.s32 _|%p2, %r1, 3;", (Pair(None, R("%p2")), R("%r1"), Immediate(3))),
    ("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f5, %f6}];",
     (Vector((R("%f1"), R("%f2"), R("%f3"), R("%f4"))), Texture(R("%rd1"), None, Vector((R("%f5"), R("%f6")))))),
    ("tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [%rd1, %rd2, {%r6}];",
     (Vector((R("%f1"), R("%f2"), R("%f3"), R("%f4"))), Texture(R("%rd1"), R("%rd2"), Vector((R("%r6"),))))),
    ("st.shared::cta.b32 [%r1], %r2;", (Address(R("%r1")), R("%r2"))),
    ("bar.sync 0;", (Immediate(0),)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "operands"), OPERANDS, ids=[text for text, _ in OPERANDS])
def test_operands(kernel, text, operands) -> None:
    instruction = kernel(text).body[0]
    assert instruction.operands == operands
    assert instruction.full_opcode == text.split()[0]
    assert (instruction.position.line, instruction.position.column) == (12, 1)


def test_a_register_plus_a_constant_is_added_before(kernel) -> None:
    body = kernel("L: @%p1 add.u32 %r1, %r2+1, %rs1+-2; ret;").body
    assert [i.full_opcode for i in body] == ["add.u32", "add.u16", "add.u32", "ret"]
    first, second = body[0].operands[0], body[1].operands[0]
    assert body[0].operands == (first, R("%r2"), Immediate(1))
    assert body[2].operands == (R("%r1"), first, second)
    assert body[0].guard is None
    assert kernel("L: add.u32 %r1, %r2+1, 3; ret;").labels == {"L": 0}


@pytest.mark.parametrize(("version", "opcodes"), [
    ("1.3", ["sin.approx.ftz.f32", "div.rn.f64", "div.full.f32"]), ("1.4", ["sin.f32", "div.f64", "div.full.f32"]),
])  # fmt: skip
def test_defaults_before_version_1_4(version, opcodes) -> None:
    registers = ".reg .f32 %f<3>; .reg .f64 %d<3>;"
    text = f".version {version}\n.target sm_13\n.entry k {{ {registers} sin.f32 %f1, %f2; div.f64 %d1, %d1, %d2;"
    body = parse(f"{text} div.full.f32 %f1, %f1, %f2; exit; }}", "x").functions["k"].body
    assert [i.full_opcode for i in body[:3]] == opcodes


def test_old_modules() -> None:
    """Registers outside functions, which a function may hide; declarations without a semicolon; debug lines."""
    module = parse(
        """.version 1.3
.target sm_10, map_f64_to_f32
.reg .u32 %ra<17>;
.reg .f32 shared_one;
.visible .func (.reg .s32 r) f (.reg .s32 a)
.visible .func g ()
.file 1 "<command-line>"
.visible .func (.reg .s32 r) f (.reg .s32 a) { .reg .u32 %ra<3>; mov.u32 %ra1, 5; mov.s32 r, %ra1; ret; }
.entry k { .param .u64 k_ptr; .loc 1 13 0
$L: mov.u32 %ra2, 1; mov.f32 shared_one, 0f3F800000; exit; }
@@DWARF .section .debug_info, "",@progbits
""",
        "old.ptx",
    )
    assert verify(module) == []
    assert module.registers == {"%ra<17>": "u32", "shared_one": "f32"}
    assert module.functions["g"].is_declaration
    assert not module.functions["f"].is_declaration
    assert module.functions["f"].registers["%ra1#2"] == "u32"
    assert module.functions["k"].annotations[0].text == ".loc 1 13 0"
    printed = print_module(module)
    assert print_module(parse(printed, "printed")) == printed
    assert [a.text[:9] for a in module.annotations] == ['.file 1 "', "@@DWARF ."]


def test_text_is_one_line_without_comments(kernel) -> None:
    function = kernel("@!%p1   add.s32\t%r1, // first\n  %r2, /* second */ 3 ;")
    assert function.body[0].text == "@!%p1 add.s32 %r1, %r2, 3 ;"
    assert function.body[0].guard.negated


def test_nested_scopes_hide_and_are_renamed(kernel) -> None:
    function = kernel(
        "bra DONE; { .reg .f32 %r1; { .reg .f64 %r1; mov.f64 %r1, %r1; bra DONE;\n"
        "DONE: mov.f64 %r1, 0d0000000000000000; } mov.f32 %r1, %r1; } mov.u32 %r1, %r1; DONE: ret;"
    )
    moved = [i.operands[0].name for i in function.body if i.opcode == "mov"]
    assert moved == ["%r1#3", "%r1#3", "%r1#2", "%r1"]
    assert function.registers["%r1#2"] == "f32"
    assert function.registers["%r1#3"] == "f64"
    branches = [i.operands[0].name for i in function.body if i.opcode == "bra"]
    assert branches == ["DONE", "DONE#2"]
    assert function.body[function.labels["DONE"]].opcode == "ret"
    assert function.labels["DONE#2"] == 3


def test_call_sequences_have_parameters_of_their_own(data_folder) -> None:
    calls = parse_file(data_folder / "compute.ptx").functions["calls"]
    made = [i.call for i in calls.body if i.call is not None]
    names = [argument.name for call in made for argument in call.arguments]
    assert len(names) == len(set(names))
    assert all(name in calls.variables for name in names)


@pytest.mark.parametrize("spelling", [
    "call (%r1), _optix_get_launch_index_x, ();", "call(%r1),_optix_get_launch_index_x,();",
    "call (%r1), _optix_get_launch_index_x;", "call (%r1) , _optix_get_launch_index_x , ( ) ;",
])  # fmt: skip
def test_calls_of_the_optix_interface(kernel, spelling) -> None:
    call = kernel(spelling).body[0].call
    assert call.results == (R("%r1"),)
    assert call.target == Symbol("_optix_get_launch_index_x")
    assert call.arguments == ()


def test_module_declarations() -> None:
    text = """.version 3.1
.target sm_20, debug
.extern .shared .align 16 .b8 smem[];
.global .align 4 .u32 table[2][2] = {{1, -2}, {0x3}};
.global .f32 pi = 3.140625;
.const .u64 addresses[2] = {generic(table)+4, pi};
.global .align 16 .v4 .f32 v;
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.func (.reg .u32 %out) twice(.reg .u32 %in) { add.u32 %out, %in, %in; ret; }
\0"""
    module = parse(text, "old.ptx")
    assert (module.version, module.target, module.address_size) == ((3, 1), ("sm_20", "debug"), 32)
    assert module.variables["smem"].bytes == 0
    assert module.variables["table"].initial == bytes([1, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF, 3])
    assert module.variables["pi"].initial == bytes.fromhex("00004940")
    assert module.variables["addresses"].relocations == ((0, Symbol("table", 4, True)), (8, Symbol("pi")))
    assert (module.variables["v"].bytes, module.variables["v"].type) == (16, "v4.f32")
    assert module.functions["vprintf"].is_declaration
    assert module.functions["twice"].registers == {"%out": "u32", "%in": "u32"}
    assert verify(module) == []


def test_directives_pragmas_and_targets(kernel) -> None:
    text = """.version 8.0
.target sm_75
.address_size 64
.pragma "nounroll";
.visible .entry k() .maxntid 128, 1, 1 .minnctapersm 4 .pragma "x"; ;
.visible .entry k() .maxntid 128, 1, 1 .minnctapersm 4
{ .reg .b32 %r<3>; .pragma "nounroll";
  list: .branchtargets A, B;
  brx.idx %r1, list;
A: ret; B: exit;
  p0: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 8 .b8 _[16]) .noreturn;
  trap; }
"""
    function = parse(text, "x").functions["k"]
    assert function.directives == {"maxntid": (128, 1, 1), "minnctapersm": (4,)}
    assert function.branch_targets == {"list": ("A", "B")}
    assert [p.bytes for p in function.prototypes["p0"].parameters] == [8, 16]


def test_a_body_that_runs_off_its_end_gets_the_implied_return(kernel) -> None:
    for body in ("", "mov.u32 %r1, 0;", "bra L; L:", "@%p1 ret;"):
        assert kernel(body).body[-1].opcode == "ret"
    assert [i.opcode for i in kernel("ret;").body] == ["ret"]


def test_compiled_programs_are_whole(program) -> None:
    assert verify(program) == []
    assert sum(len(f.body) for f in program.functions.values()) > 50
    for function in program.functions.values():
        for instruction in function.body:
            line = program.source_lines[instruction.position.line - 1]
            first_word = instruction.text.split()[0].rstrip(";")
            at = line[instruction.position.column - 1 :]
            assert at.startswith(first_word) or (at[0] == "}" and instruction is function.body[-1])


ERRORS = [
    ("add.s32 %r1 %r2, 3;", 12, 13, "expected '+', ',', ';' or '|', found", "%r2"),
    ("add.s32 %r1, , %r2;", 12, 14, "an operand", ","),
    ("add.s32 %r1, %r2, 3", 13, 1, "';'", "}"),
    ("ld.global.u32 %r1, [%rd1;", 12, 25, "']'", ";"),
    ("@ add.s32 %r1, %r2, 3;", 12, 11, "expected a name or opcode, found", "%r1"),
    ("mov.u32 %r1, 0xZZ;", 12, 14, "an operand", "0xZZ"),
    (".reg .u33 %x;", 12, 6, "a type such as .u32", ".u33"),
    ("mov.u32 %r1, (%r2);", 12, 1, "an operand", "parenthesised"),
    ("@foo ret;", 12, 1, "a register", "'foo'"),
    (".reg .b32 %x<9999999999>;", 12, 11, "at most 2147483648 registers", "9999999999"),
    (".reg .b32 %r1;", 12, 11, "declared twice", "%r1"),
    ("L: L: ret;", 12, 4, "label 'L' stands twice", "L"),
    ("call (%r1), 5, ();", 12, 1, "call (results), function, (arguments)", "call"),
    ("/* never ends", 12, 1, "'*/'", "end of the file"),
    ("mov.u32 %r1, 99999999999999999999999;", 12, 14, "at most 64 bits", "999"),
    ("{ mov.u32 %r1, 0;", 13, 2, "'}'", "the end of the file"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "line", "column", "expected", "found"), ERRORS, ids=[e[0] for e in ERRORS])
def test_mistakes_are_named(wrap, body, line, column, expected, found) -> None:
    with pytest.raises(UserError) as caught:
        parse(wrap(body), "k.ptx")
    message = str(caught.value)
    assert re.match(rf"k\.ptx:{line}:{column}: ", message), message
    assert expected in message
    assert found in message
    assert "\n" not in message


@pytest.mark.parametrize("text", [
    "", "hello", "{", ".target sm_75", "\x00", ".version 8.0\n.target sm_75\n.global .u32 x[9999999999999999];",
    ".version 8.0\n.target sm_75\n.global .u32 x[2] = {1,2,3};",
    ".version 8.0\n.target sm_75\n.global .align 3 .u32 x;",
])  # fmt: skip
def test_text_that_is_no_module(text) -> None:
    with pytest.raises(UserError):
        parse(text, "x.ptx")


def test_damaged_programs_give_an_error_or_a_module(data_folder) -> None:
    """Only UserError may come out, whatever is cut out of, doubled in or written into a real program."""
    from rayplay.ptx.flow.cfg import build

    text = (data_folder / "compute_plain.ptx").read_text()
    text = text[: text.index("\n}\n", 6000) + 3]
    assert len(parse(text, "whole").functions) > 3
    random_ = random.Random(7)
    survived, messages = 0, []
    for _ in range(150):
        at, length = random_.randrange(len(text)), random_.randrange(1, 30)
        piece = random_.choice(["", text[at : at + 2 * length], "{", "}", ";", "[", "%", "0x", ", ", ".b32", "\0", "é"])
        try:
            module = parse(text[:at] + piece + text[at + length :], "damaged")
            verify(module)
            for function in module.functions.values():
                build(function)
            survived += 1
        except UserError as error:
            messages.append(str(error))
    assert all(re.match(r"damaged:\d+:\d+: |line \d+: ", message) for message in messages)
    assert 0 < survived < 150


def test_lark_reads_the_same_language(data_folder, wrap) -> None:
    """The table's own loop accepts and refuses what lark's parser does, at the same place."""
    import lark

    from rayplay.ptx.text.lalr import GRAMMAR

    reference = lark.Lark(GRAMMAR.read_text(), parser="lalr", lexer="basic")
    for text in [(data_folder / "rays.ptx").read_text(), *(wrap(body) for body, _ in OPERANDS)]:
        reference.parse(text)
        parse(text, "x")
    for body, line, column, _, _ in ERRORS[:7]:
        with pytest.raises(lark.UnexpectedInput) as caught:
            reference.parse(wrap(body))
        assert (caught.value.line, caught.value.column) == (line, column)


def test_a_binary_file_is_named_and_a_nul_at_the_end_is_text(tmp_path: Path) -> None:
    file = tmp_path / "a.ptx"
    text = b".version 8.0\n.target sm_75\n.address_size 64\n"
    for end in (b"\0", b"\0\n", b"\0\r\n", b"\0 \0\n"):
        file.write_bytes(text + end)
        assert not parse_file(file).functions
    for head in (b"\xedCN\x7f\x01A\x02b\x03\x02\x07\0\x18\0", b"\x7fELF\x02\x01\x01\0\0\0"):
        file.write_bytes(head + text)
        with pytest.raises(UserError, match=r"a\.ptx: must be PTX text, found a binary file: compile with nvcc -ptx"):
            parse_file(file)
