"""SASS listings: every line of real ones parses, operands get structure, mistakes are named, nothing else happens."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.flow.language import is_sass, parse, parse_file
from rayplay.ptx.ir import Immediate, Modified, Module, Not, Position, Reference, Register, Symbol
from rayplay.ptx.sass.cfg import build
from rayplay.ptx.sass.printer import print_module
from rayplay.ptx.sass.verify import verify
from rayplay.ptx.timing.control_codes import characterise_function
from rayplay.ptx.timing.sass_pipelines import sass_pipeline
from tests.reference.sass_liveness import SassLiveness

SASS = Path(__file__).parents[1] / "data" / "sass"
LISTINGS = ("sm_75", "sm_86", "sm_90", "cuobjdump")
HEAD = "\t.target\tsm_86\n\t.section\t.text.k\nk:\n"


def kernel(*lines: str) -> str:
    """A listing of a kernel of these instructions; the first is on line 4."""
    return HEAD + "".join(f"        /*{16 * n:04x}*/  {line} ;\n" for n, line in enumerate(lines))


def operands(text: str):
    return parse(kernel(f"OP {text}"), "k.sass").functions["k"].body[0].operands


def bare(module: Module):
    """The part that printing keeps: all but positions and the spelling of texts."""
    return {
        name: replace(
            f, position=Position(0, 0), body=tuple(replace(i, position=Position(0, 0), text="") for i in f.body)
        )
        for name, f in module.functions.items()
    }


@pytest.mark.parametrize("name", LISTINGS)
def test_every_line_of_a_listing_parses_and_prints(name) -> None:
    module = parse_file(SASS / f"{name}.sass")
    text = (SASS / f"{name}.sass").read_text()
    kept = {i.position.line for f in module.functions.values() for i in f.body}
    listed = {n for n, line in enumerate(text.split("\n"), 1) if line.lstrip().startswith("/*0") and ";" in line}
    left_out = [text.split("\n")[n - 1] for n in sorted(listed - kept)]
    assert kept <= listed
    assert all("NOP" in line or "BRA" in line for line in left_out)  # the padding behind each section
    assert not verify(module)
    assert all(i.encoding is not None for f in module.functions.values() for i in f.body)
    assert bare(parse(print_module(module), "again")) == bare(module)


def test_what_a_listing_says_of_functions() -> None:
    module = parse_file(SASS / "sm_75.sass")
    assert module.language == "sass"
    assert module.target == ("sm_75",)
    entries = [f.name for f in module.functions.values() if f.is_entry]
    assert sorted(entries) == sorted(
        [
            "table",
            "recursion",
            "division",
            "nested",
            "reduce",
            "atomics",
            "textures",
            "matrix",
            "half_precision",
            "local",
        ]
    )
    division = [name for name in module.functions if name.startswith("$__internal")]
    assert len(division) == 2
    assert "$recursion$_Z9fibonaccii" in module.functions
    assert module.functions["table"].directives["registers"] == (11,)
    assert module.functions["table"].directives["architecture"] == (75,)
    first = module.functions["table"].body[0]
    assert (first.address, first.full_opcode, first.text) == (
        0,
        "IMAD.MOV.U32",
        "IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28];",
    )


def test_cuobjdump_has_addresses_where_nvdisasm_has_names() -> None:
    module = parse_file(SASS / "cuobjdump.sass")
    named = parse_file(SASS / "sm_75.sass")
    for name in ("recursion", "reduce"):
        ours, theirs = module.functions[name], named.functions[name]
        assert [i.encoding for i in ours.body] == [i.encoding for i in theirs.body]
        assert ours.is_entry
    callees = [f for f in module.functions.values() if not f.is_entry]
    assert [len(f.body) for f in callees] == [len(named.functions["$recursion$_Z9fibonaccii"].body)]
    assert {o.name for f in module.functions.values() for i in f.body if i.opcode == "CALL" for o in i.operands} == {
        callees[0].name
    }


R2, R4, UR4 = Register("R2"), Register("R4"), Register("UR4")


@pytest.mark.parametrize(("text", "expected"), [
    ("R2, RZ, UR4", (R2, Register("RZ"), UR4)),
    ("P0, PT, !P1, UP2", (Register("P0"), Register("PT"), Not(Register("P1")), Register("UP2"))),
    ("-R2, |R2|, -|R2|, ~R2", (Modified(R2, "-"), Modified(R2, "", True), Modified(R2, "-", True), Modified(R2, "~"))),
    ("R2.reuse, -R2.H0_H0.reuse", (Modified(R2, suffixes=("reuse",)), Modified(R2, "-", False, ("H0_H0", "reuse")))),
    ("|R2|.reuse", (Modified(R2, "", True, ("reuse",)),)),
    ("c[0x0][0x160]", (Reference("c", Immediate(0), (), 0x160),)),
    ("-c[0x3][R2+0x8].H1_H1", (Modified(Reference("c", Immediate(3), (R2,), 8), "-", False, ("H1_H1",)),)),
    ("cx[UR4][0x10]", (Reference("cx", UR4, (), 16),)),
    ("[R2]", (Reference("", None, (R2,)),)),
    ("[R2.64+-0x4]", (Reference("", None, (Modified(R2, suffixes=("64",)),), -4),)),
    ("[R2.X4+UR4+0x10]", (Reference("", None, (Modified(R2, suffixes=("X4",)), UR4), 16),)),
    ("[0x40]", (Reference("", None, (), 64),)),
    ("desc[UR4][R2.64+0x8]", (Reference("desc", UR4, (Modified(R2, suffixes=("64",)),), 8),)),
    ("gdesc[UR4]", (Reference("gdesc", None, (UR4,)),)),
    ("SR_TID.X, SRZ, PR, B0, SB5", (Register("SR_TID", "X"), *map(Register, ("SRZ", "PR", "B0", "SB5")))),
    ("0x1f, -0x1", (Immediate(31), Immediate(-1))),
    ("1.5, -2, 1.25e-05", (Immediate(0x3FF8 << 48, "f64"), Immediate(0xC000 << 48, "f64"),
                          Immediate(0x3EEA36E2EB1C432D, "f64"))),
    ("+INF, -QNAN", (Immediate(0x7FF << 52, "f64"), Immediate(0xFFF8 << 48, "f64"))),
    ("2D, ARRAY_2D, gsb0", (Symbol("2D"), Symbol("ARRAY_2D"), Symbol("gsb0"))),
    ("32@lo((f + .L_x_1@srel))", (Symbol("32@lo((f + .L_x_1@srel))"),)),
    ("R2 `(k)", (R2, Symbol("k"))),
    ("R2 -0xf0", (R2, Immediate(-0xF0))),
])  # fmt: skip
def test_operands(text, expected) -> None:
    assert operands(text) == expected


WHOLE = """\
\t.target\tsm_90
//--------------------- .nv.info                 --------------------------
\t.section\t.nv.info,"",@"SHT_CUDA_INFO"
\t//----- nvinfo : EIATTR_REGCOUNT
\t.align\t\t4
        /*0000*/ \t.byte\t0x04, 0x2f
        /*0002*/ \t.short\t(.L_3 - .L_2)
.L_2:
        /*0004*/ \t.word\tindex@(k)
        /*0008*/ \t.word\t0x00000018
\t.section\t.text.k,"ax",@progbits
\t.align\t128
        .global         k
        .type           k,@function
        .size           k,(.L_x_2 - k)
        .other          k,@"STO_CUDA_ENTRY STV_DEFAULT"
k:
.text.k:
\t//## File "/a/b.cu", line 8
        /*0000*/   EXIT ;  /* 0x000000000000794d */
                           /* 0x000fea0003800000 */
.L_x_1:
        /*0010*/  BRA `(.L_x_1);
        /*0020*/  NOP;
.L_x_2:
\t.section\t.nv.shared.k,"aw",@nobits
\t.zero\t\t1024
"""


def test_directives_of_a_whole_file_are_read_over() -> None:
    function = parse(WHOLE, "x").functions["k"]
    assert len(function.body) == 1
    assert function.is_entry
    assert function.linkage == "visible"
    assert function.directives == {"registers": (24,), "architecture": (90,)}


def test_a_loop_that_is_reached_is_no_padding() -> None:
    text = HEAD + "  /*0000*/  MOV R2, R4 ;\n.L_x_1:\n  /*0010*/  BRA `(.L_x_1) ;\n  /*0020*/  NOP ;\n"
    assert [i.opcode for i in parse(text, "x").functions["k"].body] == ["MOV", "BRA"]


@pytest.mark.parametrize(("text", "message"), [
    (kernel("MOV R2,"), "k.sass:4:27: expected '!', '-', '[', '{', '|', '~' or ..., found ';'"),
    (kernel("MOV R2 R4"), "expected ',', ';'"),
    (kernel("IADD3 R2, R4, [R2"), "expected"),
    (kernel("@R2 EXIT"), "k.sass:4:19: expected a predicate after '@', found 'R2'"),
    (kernel("SEL R2, R4, !5"), "expected an opcode or register, found '5'"),
    (kernel("LDG R2, [R4+1.5]"), "expected an integer offset in [..]"),
    (kernel("MOV R2, #3"), "found '#'"),
    (HEAD + "  /*0000*/ MOV R2, R4 ; /* 0x0000000000000000 */\n", "expected the second half of the encoding"),
    (HEAD + "  /*0010*/ EXIT ;\n  /*0000*/ EXIT ;\n", "k.sass:5:3: expected an address behind 0x10"),
    ("  /*0000*/ EXIT ;\n", "k.sass:1:3: expected '.section .text.NAME' or 'Function : NAME'"),
    ("\tcode for sm_61\n\t\tFunction : k\n", "expected an architecture from sm_70 on, found 'sm_61'"),
    (HEAD + ".L_x_1:\n.L_x_1:\n", "k.sass:5:1: label '.L_x_1' stands twice"),
    (kernel("EXIT") + "what is this\n", "expected a directive such as .section, a heading"),
    ("digraph f {\n", "k.sass:1:1: expected a listing, found a graph"),
])  # fmt: skip
def test_mistakes_name_place_and_expectation(text, message) -> None:
    with pytest.raises(UserError, match=r"^k\.sass:\d+:\d+: ") as caught:
        parse(text, "k.sass")
    assert message in str(caught.value)


def test_binaries_are_refused_and_languages_told_apart(tmp_path) -> None:
    (tmp_path / "k.cubin").write_bytes(b"\x7fELF\x02\x01")
    with pytest.raises(UserError, match="found a binary: list it with 'nvdisasm -c -hex'"):
        parse_file(tmp_path / "k.cubin")
    assert is_sass(kernel("EXIT"))
    assert not is_sass(".version 8.0\n.target sm_75\n.entry k() { ret; } /*0000*/")
    assert not is_sass("")


def test_verification_names_opcodes_and_branches() -> None:
    problems = verify(parse(kernel("FOO R2, R4", "BRA `(.L_x_9)", "UTMALDG.2D [UR4], [UR6]", "EXIT"), "k.sass"))
    assert [str(p).partition(", in:")[0] for p in problems] == [
        "k.sass:4:9: opcode 'FOO' is not in the table of SASS opcodes (formats/exchange/accelsim/sass_classes.toml)",
        "k.sass:5:9: 'BRA `(.L_x_9);' branches to '.L_x_9', which is not a label of function 'k'",
        "k.sass:6:9: opcode 'UTMALDG.2D' begins with sm_90, so sm_86 does not have it",
    ]


PIECES = (
    " R255", " UR4", "c[0x0]", "desc[UR4]", "BRX R4", "`(.L_x_1)", "-QNAN", ".64", "/*0010*/", "EXIT", "CALL.REL.NOINC",
    "BSSY B0, `(.L_x_2) ;", "PT", "0x7fffffffffffffffffffffff", "1e999", "R999", "IMAD.WIDE", "HMMA.16816.F32", "\0",
    "*/", "TEX.SCR.LL", "R2P PR,", ";", ",", "[", "]", "|", "!", "@", "\n", "-", "(", '"', "é",
)  # fmt: skip


def mutated(chance: random.Random, text: str) -> str:
    for _ in range(chance.randrange(1, 4)):
        place = chance.randrange(len(text))
        other = chance.randrange(len(text))
        kind = chance.randrange(3)
        if kind == 0:
            text = text[:place] + text[place + chance.randrange(1, 12) :]
        elif kind == 1:
            text = text[:place] + chance.choice(PIECES) + text[place:]
        else:
            text = text[:place] + text[other : other + chance.randrange(1, 60)] + text[place:]
    return text


def shuffled(chance: random.Random, lines: list[str]) -> str:
    """Lines whose opcodes and operands have been dealt out again: valid in form, senseless in meaning."""
    words = [line.split("*/", 1)[1].split(";")[0].split() for line in lines]
    deck = [operand for line in words for operand in line[1:]]
    dealt = []
    for _ in words:
        taken = [chance.choice(deck).rstrip(",") for _ in range(chance.randrange(6))]
        dealt.append(f"{chance.choice(words)[0]} {', '.join(taken)}")
    return kernel(*dealt)


def test_mutations_give_a_module_or_a_user_error() -> None:
    chance = random.Random(20)
    modules = 0
    for name in LISTINGS:
        lines = (SASS / f"{name}.sass").read_text().split("\n")
        code = [line for line in lines if line.lstrip().startswith("/*0") and "*/  " in line and ";" in line]
        for _ in range(120):
            first = chance.randrange(len(code) - 30)
            piece = [line.split(";")[0] for line in code[first : first + 30]]
            body = "".join(f"{line} ;\n" for line in sorted(piece, key=lambda line: line.split("*/")[0]))
            text = mutated(chance, HEAD + body) if chance.random() < 0.5 else shuffled(chance, piece)
            try:
                module = parse(text, "x")
            except UserError:
                continue
            modules += 1
            analyse(module)
    assert modules > 80


def analyse(module: Module) -> None:
    """All that reads a module; only a UserError may come out."""
    verify(module)
    if module.language != "sass":
        return
    assert bare(parse(print_module(module), "again")).keys() == module.functions.keys()
    try:
        SassLiveness(module)
        for function in module.functions.values():
            characterise_function(function, build(function), sass_pipeline(86))
    except UserError:
        pass
