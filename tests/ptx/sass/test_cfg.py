"""Blocks, registers and live ranges of SASS: what nvdisasm says of our kernels, and what it cannot say."""

import random
import re
from pathlib import Path

import pytest

from rayplay.formats.exchange.accelsim.sass_classes import CLASSES
from rayplay.formats.guard.errors import UserError
from rayplay.ptx.flow.language import parse, parse_file
from rayplay.ptx.flow.liveness import register_count
from rayplay.ptx.graph import END
from rayplay.ptx.ir import Function
from rayplay.ptx.sass.cfg import build, callees, reached
from rayplay.ptx.sass.registers import registers
from tests.ptx.sass.oracle import (
    graph_differences,
    live_differences,
    mark_differences,
    read_graphs,
    read_live,
)
from tests.reference.sass_liveness import SassLiveness

SASS = Path(__file__).parents[1] / "data" / "sass"
ARCHITECTURES = ("sm_75", "sm_86", "sm_90")


def function(*lines: str, target: str = "sm_86") -> Function:
    """A function of these lines: instructions, and labels, which end in a colon."""
    text, address = f"\t.target\t{target}\n\t.section\t.text.k\nk:\n", 0
    for line in lines:
        if line.endswith(":"):
            text += f"{line}\n"
        else:
            text += f"/*{address:04x}*/ {line} ;\n"
            address += 16
    return parse(text, "k.sass").functions["k"]


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_blocks_are_those_of_nvdisasm(name) -> None:
    module = parse_file(SASS / f"{name}.sass")
    graphs = read_graphs((SASS / f"{name}.bbcfg").read_text())
    assert graphs.keys() == module.functions.keys()
    assert graph_differences(module, graphs) == []
    assert sum(len(build(f).blocks) for f in module.functions.values()) > 120


def test_a_missing_block_would_be_seen() -> None:
    module = parse_file(SASS / "sm_86.sass")
    graphs = read_graphs((SASS / "sm_86.bbcfg").read_text())
    node = next(node for node, (_, targets) in graphs["nested"].items() if len(targets) == 2)
    graphs["nested"][node][1].pop()
    assert len(graph_differences(module, graphs)) == 1


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_registers_written_and_read_are_those_of_nvdisasm(name) -> None:
    compared, differences = mark_differences(
        parse_file(SASS / f"{name}.sass"), read_live((SASS / f"{name}.plr").read_text())
    )
    assert differences == []
    assert compared > 700


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_live_registers_are_those_of_nvdisasm(name) -> None:
    compared, fewer, more = live_differences(
        parse_file(SASS / f"{name}.sass"), read_live((SASS / f"{name}.plr").read_text())
    )
    assert (fewer, more) == ([], [])
    assert compared > 400


@pytest.mark.parametrize(("lines", "counts", "successors", "leaves", "meets"), [
    (["MOV R2, R4", "EXIT"], [2], [()], [True], [END]),
    (["@P0 EXIT", "EXIT"], [1, 1], [(1,), ()], [True, True], [END, END]),
    (["@P0 BRA `(.A)", "MOV R2, R4", ".A:", "EXIT"], [1, 1, 1], [(2, 1), (2,), ()], [False, False, True], [2, 2, END]),
    (["@!PT BRA `(.A)", ".A:", "EXIT"], [1, 1], [(1,), ()], [False, True], [1, END]),
    (["BRA P1, `(.A)", "MOV R2, R4", ".A:", "EXIT"], [1, 1, 1], [(2, 1), (2,), ()], [False, False, True], [2, 2, END]),
    (["BRA.DIV ~URZ, `(.A)", "MOV R2, R4", ".A:", "EXIT"], [1, 1, 1], [(2, 1), (2,), ()], [False, False, True],
     [2, 2, END]),
    (["BRA.U UP0, `(.A)", "MOV R2, R4", ".A:", "EXIT"], [1, 1, 1], [(2, 1), (2,), ()], [False, False, True],
     [2, 2, END]),
    (["CALL.REL.NOINC `(f)", "EXIT"], [1, 1], [(1,), ()], [False, True], [1, END]),
    (["@P0 CALL.REL.NOINC `(.A)", "MOV R2, R4", ".A:", "EXIT"], [1, 1, 1], [(2, 1), (2,), ()], [False, False, True],
     [2, 2, END]),
    ([".A:", "BAR.SYNC 0x0", "@P0 BRA `(.A)", "RET.REL.NODEC R2 `(k)"], [2, 1], [(0, 1), ()], [False, True], [1, END]),
    (["BRX R4 -0x10 (*\"BRANCH_TARGETS .A,.B,.A\"*)", ".A:", "MOV R2, R4", ".B:", "EXIT"], [1, 1, 1],
     [(1, 2), (2,), ()], [False, False, True], [2, 2, END]),
    # lanes that exit inside BSSY..BSYNC do not keep the others from meeting
    (["BSSY B0, `(.C)", "@P0 BRA `(.A)", "@P1 EXIT", ".A:", "BSYNC B0", ".C:", "EXIT"], [2, 1, 1, 1],
     [(2, 1), (2,), (3,), ()], [False, True, False, True], [3, 3, 3, END]),
])  # fmt: skip
def test_where_control_goes(lines, counts, successors, leaves, meets) -> None:
    cfg = build(function(*lines))
    assert [b.count for b in cfg.blocks] == counts
    assert [b.successors for b in cfg.blocks] == successors
    assert [b.leaves for b in cfg.blocks] == leaves
    assert list(cfg.reconvergence) == meets


@pytest.mark.parametrize(("line", "message"), [
    ("BRA `(.A)", r"line 4: 'BRA `\(\.A\);' branches to '\.A', which is not a label of function 'k'"),
    ("BRX R4 -0xf0", r"has no list of targets, which 'nvdisasm -c' writes behind it"),
    ("BRA 0x4440", r"does not branch to a label or instruction of its section"),
])  # fmt: skip
def test_branches_to_nowhere(line, message) -> None:
    with pytest.raises(UserError, match=message):
        build(function(line, "EXIT"))


def group(name: str, count: int) -> list[str]:
    letters = name.rstrip("0123456789")
    return [f"{letters}{int(name[len(letters) :]) + k}" for k in range(count)]


@pytest.mark.parametrize(("line", "written", "read"), [
    ("@!P3 MOV R2, UR4", ["R2"], ["P3", "UR4"]),
    ("IADD3 R2, P0, P1, R3, R4, -R5", ["R2", "P0", "P1"], ["R3", "R4", "R5"]),
    ("IADD3.X R2, R3, R4, RZ, P0, !P1", ["R2"], ["R3", "R4", "P0", "P1"]),
    ("IMAD.WIDE.U32 R2, P2, R8, 0x21, R4", ["R2", "R3", "P2"], ["R8", "R4", "R5"]),
    ("IMAD.HI.U32 R0, R8, R9, R4", ["R0"], ["R8", "R9", "R4", "R5"]),
    ("ISETP.GE.AND P0, PT, R2, c[0x0][0x160], P3", ["P0"], ["R2", "P3"]),
    ("LOP3.LUT P0, RZ, R2, 0x1f, RZ, 0xc0, !PT", ["P0"], ["R2"]),
    ("PLOP3.LUT P0, P1, P2, !P3, PT, 0x80, 0x8", ["P0", "P1"], ["P2", "P3"]),
    ("SEL R2, R3, R4, !P0", ["R2"], ["R3", "R4", "P0"]),
    ("DFMA R4, R6, R8, -R10", group("R4", 2), group("R6", 6)),
    ("DSETP.MAX.AND P0, P1, |R2|, R4, PT", ["P0", "P1"], group("R2", 4)),
    ("F2F.F64.F32 R2, R5", group("R2", 2), ["R5"]),
    ("F2F.F32.F64 R2, R4", ["R2"], group("R4", 2)),
    ("F2F R2, R4", ["R2"], ["R4"]),
    ("F2I.S64.F64.TRUNC R2, R4", group("R2", 2), group("R4", 2)),
    ("I2F.F64 R2, R5", group("R2", 2), ["R5"]),
    ("I2F.S64 R2, R4", ["R2"], group("R4", 2)),
    ("MUFU.RCP64H R2, R5", ["R2"], ["R5"]),
    ("LDG.E.128 R4, [R2.64+UR6+0x10]", group("R4", 4), ["R2", "R3", "UR6", "UR7"]),
    ("LDG.E.SYS R4, [R2]", ["R4"], ["R2", "R3"]),
    ("LDG.E.U8 R4, desc[UR4][R2.64+0x8]", ["R4"], ["UR4", "UR5", "R2", "R3"]),
    ("STG.E.64 desc[UR4][R2.64], R6", [], ["UR4", "UR5", "R2", "R3", "R6", "R7"]),
    ("LDS.64 R4, [R2.X8+UR4]", group("R4", 2), ["R2", "UR4"]),
    ("LDSM.16.M88.4 R4, [R2]", group("R4", 4), ["R2"]),
    ("LDGSTS.E.BYPASS.128 [R5], [R2.64], P0", [], ["R5", "R2", "R3", "P0"]),
    ("LDC.64 R4, c[0x3][R2]", group("R4", 2), ["R2"]),
    ("ULDC.64 UR4, c[0x0][0x118]", group("UR4", 2), []),
    ("ATOMG.E.CAS.64.STRONG.GPU PT, R4, [R10], R6, R8", group("R4", 2), [*group("R10", 2), *group("R6", 4)]),
    ("ATOMS.ADD R4, [R2], R5", ["R4"], ["R2", "R5"]),
    ("RED.E.ADD.F64.RN.STRONG.GPU [R2.64], R4", [], group("R2", 4)),
    ("SHFL.UP P0, R2, R3, 0x1, RZ", ["P0", "R2"], ["R3"]),
    ("VOTE.ANY R2, P0, !P1", ["R2", "P0"], ["P1"]),
    ("VOTE.ALL P0, P1", ["P0"], ["P1"]),
    ("MATCH.ANY.U64 R2, R4", ["R2"], group("R4", 2)),
    ("R2P PR, R2, 0x5", ["P0", "P2"], ["R2"]),
    ("P2R R2, PR, RZ, 0x3", ["R2"], ["P0", "P1"]),
    ("HMMA.16816.F32 R4, R8, R12, R16", group("R4", 4), [*group("R8", 4), *group("R12", 2), *group("R16", 4)]),
    ("HMMA.1688.F16 R4, R8, R12, R16", group("R4", 2), [*group("R8", 2), "R12", *group("R16", 2)]),
    ("HMMA.1684.F32.TF32 R4, R8, R12, R16", group("R4", 4), [*group("R8", 2), "R12", *group("R16", 4)]),
    ("IMMA.16832.S8.S8 R4, R8.ROW, R12.COL, R16", group("R4", 4),
     [*group("R8", 4), *group("R12", 2), *group("R16", 4)]),
    ("DMMA.884 R4, R8, R10, R12", group("R4", 4), [*group("R8", 4), *group("R12", 4)]),
    ("HGMMA.64x64x16.F32 R24, gdesc[UR8], R24, gsb0", group("R24", 32), [*group("UR8", 4), *group("R24", 32)]),
    ("TEX.SCR.LL RZ, R7, R4, R8, 0x0, 0x58, 2D, 0x1", ["R7"], ["R4", "R5", "R8"]),
    ("TEX.SCR.LL R6, R12, R14, R17, 0x0, 0x58, 2D", ["R6", "R7", "R12", "R13"], ["R14", "R15", "R17"]),
    ("SUST.D.BA.2D.STRONG.SM.TRAP [R2], R4, 0x0, 0x5a", [], ["R2", "R3", "R4"]),
    ("SUST.D.BA.1D.128.STRONG.SM.TRAP [R14], R4, 0x0, 0x5a", [], ["R14", "R4", "R5", "R6", "R7"]),
    ("SULD.D.BA.1D.64.STRONG.SM.TRAP R4, [R14], 0x5a", ["R4", "R5"], ["R14"]),
    ("CS2R R2, SR_CLOCKLO", group("R2", 2), []),
    ("S2R R2, SR_TID.X", ["R2"], []),
    ("BSSY B0, `(.A)", ["B0"], []),
    ("BSYNC B0", [], ["B0"]),
    ("RET.REL.NODEC R20 `(k)", [], group("R20", 2)),
    ("EXIT", [], []),
])  # fmt: skip
def test_registers_of_instructions(line, written, read) -> None:
    ours = registers(function(line).body[0])
    assert (sorted(ours[0]), sorted(ours[1])) == (sorted(written), sorted(set(read)))


def test_descriptors_that_only_the_encoding_names() -> None:
    loads = [i for f in parse_file(SASS / "sm_86.sass").functions.values() for i in f.body if i.opcode == "LDG"]
    assert loads
    assert all(any(name[:2] == "UR" for name in registers(i)[1]) for i in loads)


CALLS = """
.section .text.k
.type k,@function
.type f,@function
k:
/*0000*/ MOV R4, 0x1 ;
/*0010*/ MOV R9, 0x2 ;
/*0020*/ MOV R20, 0x40 ;
/*0030*/ CALL.REL.NOINC `(f) ;
/*0040*/ IADD3 R5, R5, R9, RZ ;
/*0050*/ STG.E [R2.64], R5 ;
/*0060*/ EXIT ;
f:
/*0070*/ @P0 BRA `(.A) ;
/*0080*/ IADD3 R5, R4, 0x1, RZ ;
/*0090*/ RET.REL.NODEC R20 `(k) ;
.A:
/*00a0*/ MOV R5, RZ ;
/*00b0*/ MOV R6, RZ ;
/*00c0*/ RET.REL.NODEC R20 `(k) ;
"""


def test_live_registers_across_calls() -> None:
    module = parse(CALLS, "x")
    kernel, callee = module.functions["k"], module.functions["f"]
    assert callees(kernel, module.functions) == {3: ("f",)}
    assert [f.name for f in reached(kernel, module.functions)] == ["k", "f"]
    live = SassLiveness(module)
    # the callee surely writes R5, so it is dead before the call; R9 and the address live through it
    assert live.live("k")[2] == {"R1", "R2", "R3", "R4", "R9", "P0", "R20", "R21"}
    assert live.live("f")[2] == {"R1", "R2", "R3", "R5", "R9", "R20", "R21"}
    assert "R6" not in live.live("f")[5]
    assert register_count(kernel, build(kernel)) == 21 + 2
    assert register_count(callee, build(callee)) == 22 + 2


@pytest.mark.parametrize(("lines", "live"), [
    (["@P0 MOV R2, 0x1", "BAR.SYNC 0x0", "STG.E [R4.64], R2"], True),
    (["@P0 MOV R2, 0x1", ".B:", "@P0 STG.E [R4.64], R2"], False),
    (["@P0 MOV R2, 0x1", ".B:", "@!P0 STG.E [R4.64], R2"], True),
    (["@P0 MOV R2, 0x1", ".B:", "ISETP.NE.AND P0, PT, R3, RZ, PT", "@P0 STG.E [R4.64], R2"], True),
    (["@!P0 MOV R2, 0x1", "@!P0 BRA `(.B)", "MOV R2, 0x2", ".B:", "STG.E [R4.64], R2"], False),
    (["@P0 MOV R2, 0x1", "@!P0 BRA `(.B)", "MOV R2, 0x2", ".B:", "STG.E [R4.64], R2"], True),
    (["@P0 MOV R2, 0x1", ".B:", "@P1 MOV R2, 0x2", ".C:", "STG.E [R4.64], R2"], True),
    (["@P0 MOV R2, 0x1", ".B:", "@!P0 MOV R2, 0x2", ".C:", "STG.E [R4.64], R2"], False),
])  # fmt: skip
def test_writes_under_a_predicate_end_lives_for_some_lanes(lines, live) -> None:
    """Whether R2 is needed from before the block of the first line."""
    body = "\n".join(line if line[-1] == ":" else f"/*{16 * n + 32:04x}*/ {line} ;" for n, line in enumerate(lines))
    text = f".section .text.k\nk:\n/*0000*/ NOP ;\n/*0010*/ BAR.SYNC 0x0 ;\n.A:\n{body}\n/*0400*/ EXIT ;\n"
    assert ("R2" in SassLiveness(parse(text, "x")).live("k")[0]) == live


def test_any_form_of_any_opcode_has_registers() -> None:
    """Forms that no compiler writes give some registers, never an exception of another kind."""
    chance = random.Random(8)
    shapes = ["R2", "RZ", "P0", "!P1", "UR4", "[R2.64]", "c[0x0][R4]", "desc[UR4][R6.64]", "0x1", "2D", "-|R8|.H1_H1"]
    modifiers = [
        "",
        ".64",
        ".F64",
        ".F32",
        ".WIDE",
        ".HI",
        ".E",
        ".2D",
        ".16816",
        ".64x64x16",
        ".S8",
        ".SCR.LL",
        ".U64",
    ]
    for opcode in sorted(CLASSES):
        lines = []
        for _ in range(8):
            operands = ", ".join(chance.choice(shapes) for _ in range(chance.randrange(7)))
            lines.append(f"{opcode}{chance.choice(modifiers)}{chance.choice(modifiers)} {operands}")
        for instruction in function(*lines).body:
            written, read = registers(instruction)
            assert all(re.fullmatch(r"U?[RPB]\d+", name) for name in (*written, *read)), instruction.text
