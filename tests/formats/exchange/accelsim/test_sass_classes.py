"""The table of SASS opcodes: classes, spaces, widths, units, and what it refuses."""

import pytest

from rayplay.formats.exchange.accelsim import sass_classes
from rayplay.formats.exchange.accelsim.sass_classes import access_bytes, memory_space, operation_class, unit
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.schema.trace import MEMORY_SPACES, OPERATION_CLASSES, UNITS


def test_every_row_is_of_the_trace_format() -> None:
    assert set(sass_classes.CLASSES.values()) <= set(OPERATION_CLASSES)
    assert set(sass_classes.SPACES.values()) <= set(MEMORY_SPACES)
    assert sass_classes.SPACES.keys() <= sass_classes.CLASSES.keys()
    assert {unit(opcode) for opcode in sass_classes.CLASSES} <= set(UNITS)
    assert len(sass_classes.CLASSES) == sum(len(text.split()) for text in sass_classes.TABLES["classes"].values())


# first tokens and classes of Accel-Sim's opcode tables (docs/sources/accel-sim.md#opcode-classes)
@pytest.mark.parametrize(("opcodes", "architecture", "where"), [
    ("FADD FMUL FFMA FMNMX FSEL FSET FSETP FCHK FSWZADD HADD2.F32 HFMA2.MMA HMUL2 HSETP2.GT.AND", 75, "sp"),
    ("IADD3 IMAD.WIDE.U32 IABS IMNMX ISETP.GE.AND LEA.HI LOP3.LUT SHF.L.U32 POPC FLO.U32 BREV BMSK IDP.4A.S8.S8", 75,
     "int"),
    ("MOV SEL PRMT SHFL.BFLY S2R CS2R I2F.F64 F2I F2F.F64.F32 PLOP3.LUT P2R R2P VOTE.ANY NOP DEPBAR.LE LDC.64", 70,
     "int"),
    ("MUFU.RCP MUFU.EX2", 86, "sfu"),
    ("DADD DMUL DFMA DSETP.MAX.AND", 86, "dp"),
    ("BRA BRX BSSY BSYNC CALL.REL.NOINC RET.REL.NODEC BREAK BMOV.32 WARPSYNC YIELD NANOSLEEP JMP EXIT BAR.SYNC", 75,
     "branch"),
    ("TEX.SCR.LL TLD TLD4 TXD TXQ TMML", 75, "texture"),
    ("HMMA.16816.F32 IMMA.8816.S8.S8 BMMA.88128", 80, "tensor"),
    ("ULDC.64 S2UR R2UR UIADD3 UIMAD UISETP.GE.AND UMOV ULOP3.LUT ULEA USHF.R.U32.HI VOTEU.ANY", 75, "uniform"),
    ("LDG.E.64 LDL LDS.U.128 LD.E LDSM.16.M88.4 STG.E STL STS ST.E ATOM.E ATOMG.E.ADD ATOMS.ADD RED.E.ADD MEMBAR", 86,
     "lsu"),
])  # fmt: skip
def test_units_are_those_of_accel_sim(opcodes, architecture, where) -> None:
    for opcode in opcodes.split():
        assert operation_class(opcode, architecture) in OPERATION_CLASSES
        assert unit(opcode) == where, opcode


@pytest.mark.parametrize(("opcode", "kind", "space", "size"), [
    ("LDG.E", "load", "global", 4), ("LDG.E.64.CONSTANT", "load", "global", 8), ("LDG.E.U8.SYS", "load", "global", 1),
    ("LDS.U.128", "load", "shared", 16), ("LDSM.16.M88.4", "load", "shared", 16), ("STL.S16", "store", "local", 2),
    ("LDGSTS.E.BYPASS.128", "load", "global", 16), ("ATOMG.E.ADD.F64.RN.STRONG.GPU", "atomic", "global", 8),
    ("RED.E.ADD.F16x2.RN.STRONG.GPU", "atomic", "generic", 4), ("ATOMS.CAS.64", "atomic", "shared", 8),
    ("LDC.64", "constant", "const", 8), ("ULDC", "constant", "const", 4), ("TEX.LL", "texture", "texture", 4),
    ("IMAD.WIDE.U32", "int", "none", 0), ("F2F.F64.F32", "convert", "none", 0), ("TXQ", "texture", "none", 0),
    ("HFMA2.MMA", "fp16", "none", 0), ("SHFL.IDX", "shuffle", "none", 0), ("BAR.SYNC", "barrier", "none", 0),
    ("MEMBAR.SC.GPU", "fence", "none", 0), ("EXIT", "exit", "none", 0), ("TTUGO", "trace", "none", 0),
])  # fmt: skip
def test_classes_spaces_and_widths(opcode, kind, space, size) -> None:
    assert (operation_class(opcode, 86), memory_space(opcode), access_bytes(opcode)) == (kind, space, size)


@pytest.mark.parametrize(("opcode", "architecture", "message"), [
    ("FOO.BAR", 75, "opcode 'FOO.BAR' is not in the table"),
    ("MOV", 61, "architecture must be one of sm_70, sm_72"),
    ("ULDC", 70, "opcode 'ULDC' begins with sm_75, so sm_70 does not have it"),
    ("LDGSTS.E", 75, "begins with sm_80"),
    ("UTMALDG.2D", 89, "begins with sm_90"),
    ("UTCHMMA", 90, "begins with sm_100"),
])  # fmt: skip
def test_what_no_architecture_or_not_this_one_has(opcode, architecture, message) -> None:
    with pytest.raises(FormatError, match=message):
        operation_class(opcode, architecture)


@pytest.mark.parametrize(("opcode", "where"), [
    ("IMMA.8816.S8.S8", {61: "int", 70: "int", 75: "tensor"}), ("KILL", {61: "int", 70: "branch", 86: "tensor"}),
    ("BRA", {35: "int", 61: "int", 70: "branch"}), ("TEX.SCR.LL", {61: "int", 70: "texture"}),
    ("SUATOM.ADD", {75: "int"}), ("SURED", {86: "int"}),
])  # fmt: skip
def test_units_of_earlier_instruction_sets(opcode, where) -> None:
    assert {number: unit(opcode, number) for number in where} == where


@pytest.mark.parametrize("architecture", [35, 61, 70, 75, 86])
def test_the_end_of_a_thread_carries_its_instruction_set(architecture: int) -> None:
    text = f"EXIT{sass_classes.mark('exit', architecture)}"
    assert sass_classes.marked(text) == min(architecture, 75)
    assert sass_classes.marked("BRA") == 75
    assert (memory_space("LD.E", architecture), memory_space("LDG.E", architecture))[architecture > 50] == "global"
