"""SASS opcodes: operation class, memory space and unit, as pure tables.

Both ``ptx`` (listings) and importers of dynamic traces that keep the dotted opcode (``LDG.E.64``) read them. Classes
and units follow Accel-Sim's tables (docs/sources/accel-sim.md#opcode-classes), named as ``formats.schema.trace``
names them, over the instruction sets of NVIDIA's "CUDA Binary Utilities", Volta to Blackwell.
"""

import re

from rayplay.formats.guard.errors import FormatError

ARCHITECTURES = (70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121)

_OPCODES = {
    "int": """BMSK BREV FLO IABS IADD IADD3 IADD32I IDP IDP4A IMAD IMNMX IMUL IMUL32I ISCADD ISCADD32I LEA LOP LOP3
        LOP32I POPC SGXT SHF SHL SHR VABSDIFF VABSDIFF4 VHMNMX VIADD VIADDMNMX VIMNMX VIMNMX3 XMAD
        UBMSK UBREV UFLO UIABS UIADD UIADD3 UIMAD UIMNMX ULEA ULOP ULOP3 ULOP32I UPOPC USGXT USHF USHL USHR UVIADD
        UVIADDMNMX UVIMNMX UVIMNMX3""",
    "fp32": """FADD FADD2 FADD32I FFMA FFMA2 FFMA32I FMNMX FMNMX3 FMUL FMUL2 FMUL32I FSWZADD
        UFADD UFFMA UFMNMX UFMUL""",
    "fp64": "DADD DFMA DMNMX DMUL",
    "fp16": """HADD2 HADD2_32I HFMA2 HFMA2_32I HMNMX2 HMUL2 HMUL2_32I FHADD FHFMA""",
    "sfu": "MUFU UMUFU",
    "move": """MOV MOV32I MOVM PRMT SEL FSEL S2R S2UR CS2R CS2UR R2UR UR2UP UP2UR P2R R2P B2R R2B UMOV UPRMT USEL
        UFSEL LEPC GETLMEMBASE""",
    "convert": "F2F F2FP F2I F2IP FRND I2F I2FP I2I I2IP UF2F UF2FP UF2I UF2IP UFRND UI2F UI2FP UI2I UI2IP",
    "predicate": """ISETP FSETP DSETP HSETP2 FSET HSET2 FCHK PSETP PLOP3 QSPC UISETP UPSETP UPLOP3 UFSET UFSETP
        ELECT""",
    "constant": "LDC ULDC LDCU UCLEA",
    "load": "LD LDG LDGMC LDGSTS LDL LDS LDSM LDT LDTM",
    "store": "ST STG STL STS STSM STAS STT STTM",
    "atomic": "ATOM ATOMG ATOMS RED REDG REDAS UREDGR SUATOM SURED",
    "texture": "TEX TLD TLD4 TMML TXD TXQ SULD SUST SUQUERY",
    "branch": """BMOV BRA BREAK BRX BRXU BSSY BSYNC CALL JMP JMX JMXU RET RPCMOV RTT WARPSYNC YIELD ENDCOLLECTIVE
        NANOSLEEP""",
    "barrier": "BAR UCGABAR_ARV UCGABAR_WAIT UCGABAR_GET UCGABAR_SET",
    "fence": "MEMBAR ERRBAR CGAERRBAR FENCE DEPBAR",
    "shuffle": "SHFL VOTE VOTEU VOTE_VTG MATCH REDUX CREDUX",
    "trace": "TTUGO",
    "matrix": """HMMA IMMA BMMA DMMA QMMA OMMA HGMMA IGMMA BGMMA QGMMA WARPGROUP WARPGROUPSET UTCHMMA UTCIMMA UTCQMMA
        UTCOMMA""",
    "exit": "EXIT KILL",
    "other": """ACQBULK ACQSHMINIT BPT CCTL CCTLL CCTLT NOP PMTRIG PREEXIT LDGDEPBAR ARRIVES SYNCS SETCTAID SETLMEMBASE
        USETMAXREG UMEMSETS UGETNEXTWORKID USTGR UBLKCP UBLKPF UBLKRED UTMACCTL UTMACMDFLUSH UTMALDG UTMALST UTMAPF
        UTMAREDG UTMASTG UTCATOMSWS UTCBAR UTCCP UTCSHIFT UTCCTL TTUCCTL TTUCLOSE TTULD TTUOPEN TTUST TTUSTATE""",
}  # fmt: skip
CLASSES = {opcode: name for name, opcodes in _OPCODES.items() for opcode in opcodes.split()}

_SPACES = {
    "global": "LDG LDGMC LDGSTS STG ATOMG REDG UREDGR USTGR",
    "shared": "LDS LDSM STS STSM STAS ATOMS REDAS",
    "local": "LDL STL",
    "generic": "LD ST ATOM RED",
    "const": "LDC ULDC LDCU",
    "texture": "TEX TLD TLD4 TXD SULD SUST SUATOM SURED",
}
SPACES = {opcode: name for name, opcodes in _SPACES.items() for opcode in opcodes.split()}

_UNIT_OF_CLASS = {
    "int": "int", "fp32": "sp", "fp64": "dp", "fp16": "sp", "sfu": "sfu", "move": "int", "convert": "int",
    "predicate": "int", "constant": "int", "load": "lsu", "store": "lsu", "atomic": "lsu", "texture": "texture",
    "branch": "branch", "barrier": "branch", "fence": "lsu", "shuffle": "int", "trace": "rt", "matrix": "tensor",
    "exit": "branch", "other": "int",
}  # fmt: skip
_UNIT_OF_OPCODE = {
    "FSEL": "sp", "FSET": "sp", "FSETP": "sp", "FCHK": "sp", "HSET2": "sp", "HSETP2": "sp", "DSETP": "dp",
    "DEPBAR": "int", "ERRBAR": "int", "SULD": "int", "SUST": "int", "SUQUERY": "int", "BPT": "branch",
    "KILL": "tensor", "R2UR": "uniform", "S2UR": "uniform", "CS2UR": "uniform", "VOTEU": "uniform", "REDUX": "uniform",
    "LDCU": "uniform",
}  # fmt: skip
_UNIFORM_CLASSES = ("int", "fp32", "sfu", "move", "convert", "predicate", "constant")  # with a name that begins with U

# The first architecture that has an opcode, where that is later than Volta. Uniform ones are told by their letter.
_FIRST = {
    **dict.fromkeys(("R2UR", "S2UR", "VOTEU", "LDSM", "MOVM", "HMNMX2"), 75),
    **dict.fromkeys(("LDGSTS", "LDGDEPBAR", "REDUX", "DMMA", "F2IP", "I2FP"), 80),
    **dict.fromkeys((
        "ACQBULK", "CGAERRBAR", "ELECT", "ENDCOLLECTIVE", "FENCE", "LDGMC", "PREEXIT", "REDAS", "REDG", "STAS", "STSM",
        "SYNCS", "VHMNMX", "VIADD", "VIADDMNMX", "VIMNMX", "VIMNMX3", "HGMMA", "IGMMA", "BGMMA", "QGMMA", "WARPGROUP",
        "WARPGROUPSET", "UBLKCP", "UBLKPF", "UBLKRED", "UTMACCTL", "UTMACMDFLUSH", "UTMALDG", "UTMALST", "UTMAPF",
        "UTMAREDG", "UTMASTG", "USETMAXREG", "UCGABAR_ARV", "UCGABAR_WAIT",
    ), 90),
    **dict.fromkeys((
        "FADD2", "FFMA2", "FMUL2", "FMNMX3", "LDCU", "LDT", "LDTM", "STT", "STTM", "CREDUX", "CS2UR", "UTCHMMA",
        "UTCIMMA", "UTCQMMA", "UTCOMMA", "UTCATOMSWS", "UTCBAR", "UTCCP", "UTCSHIFT", "UFADD", "UFFMA", "UFMUL",
        "UFMNMX", "UFSEL", "UFSET", "UFSETP", "UF2F", "UF2I", "UI2F", "UGETNEXTWORKID", "UVIADD", "UVIMNMX", "USTGR",
        "UREDGR", "UMEMSETS", "OMMA",
    ), 100),
}  # fmt: skip


def operation_class(opcode: str, architecture: int) -> str:
    """Operation class (of ``formats.schema.trace.OPERATION_CLASSES``) of a dotted opcode such as ``IMAD.WIDE.U32``.

    ``architecture`` is the number of ``sm_75``. Raises FormatError for an opcode or architecture that is not in the
    table, and for an opcode that begins with a later architecture.
    """
    base = opcode.partition(".")[0]
    found = CLASSES.get(base)
    if found is None:
        raise FormatError(
            f"opcode '{opcode}' is not in the table of SASS opcodes (formats/exchange/accelsim/sass_classes.py)"
        )
    if architecture not in ARCHITECTURES:
        known = ", ".join(f"sm_{number}" for number in ARCHITECTURES)
        raise FormatError(f"architecture must be one of {known}, not sm_{architecture}")
    first = _FIRST.get(base, 75 if base[0] == "U" else ARCHITECTURES[0])
    if architecture < first:
        raise FormatError(f"opcode '{opcode}' begins with sm_{first}, so sm_{architecture} does not have it")
    return found


def memory_space(opcode: str) -> str:
    """Memory space (of ``formats.schema.trace.MEMORY_SPACES``) that an opcode reads or writes; ``none`` without one.

    ``LDGSTS`` copies from global to shared memory: its accesses are the load's.
    """
    return SPACES.get(opcode.partition(".")[0], "none")


def access_bytes(opcode: str) -> int:
    """Bytes a lane reads or writes with a dotted opcode, 0 without an access: the width modifier, 4 without one."""
    base, *modifiers = opcode.split(".")
    if base in ("LDSM", "STSM"):
        return 16 if modifiers[-1:] == ["4"] else 8 if modifiers[-1:] == ["2"] else 4
    if base not in SPACES:
        return 0
    return next((_BYTES[modifier] for modifier in modifiers if modifier in _BYTES), 4)


def unit(opcode: str) -> str:
    """The unit, one of ``formats.schema.trace.UNITS``, that executes an opcode of the table."""
    base = opcode.partition(".")[0]
    if base in _UNIT_OF_OPCODE:
        return _UNIT_OF_OPCODE[base]
    kind = CLASSES[base]
    return "uniform" if base[0] == "U" and kind in _UNIFORM_CLASSES else _UNIT_OF_CLASS[kind]


def spared_groups(opcode: str, text: str) -> int:
    """Number of latest groups of asynchronous copies that a wait (DEPBAR, ``cp.async.wait_group``) does not wait for.

    The last number of its text; 0 without one.
    """
    numbers = re.findall(r"(?<![\w.])(?:0[xX][0-9a-fA-F]+|[0-9]+)(?!\w)", text.partition(opcode)[2])
    return int(numbers[-1], 0) if numbers else 0


_BYTES = {
    "U8": 1, "S8": 1, "U16": 2, "S16": 2, "F16": 2, "BF16": 2, "32": 4, "64": 8, "U64": 8, "S64": 8, "F64": 8, "96": 12,
    "128": 16, "256": 32, "F16x4": 8, "BF16x4": 8, "F32x2": 8, "F16x8": 16, "BF16x8": 16, "F32x4": 16,
}  # fmt: skip
