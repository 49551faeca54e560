"""How many 32-bit registers an operand of a SASS instruction has.

Widths follow from the modifiers: ``.64`` and ``.128`` of memory accesses, ``.WIDE`` of multiplications, F64 and S64 of
conversions, the shape of matrix instructions. Checked against the register marks of ``nvdisasm -plr``.
"""

import re

from rayplay.formats.exchange.accelsim.sass_classes import access_bytes
from rayplay.ptx.ir import Immediate, Instruction, Modified, Reference, Register, Symbol


def opcodes(text: str) -> frozenset[str]:
    """A set of opcodes, written as one text."""
    return frozenset(text.split())


DOUBLE = opcodes("DADD DFMA DMUL DMNMX DSETP")
_PAIR_MODIFIER = opcodes("IADD MOV UMOV UIADD3 UIADD SEL USEL LEA ULEA UIMAD IMAD SHF USHF")
_COMPARISONS = opcodes("ISETP UISETP IMNMX UIMNMX")
_WIDE_INTEGERS = frozenset(("64", "S64", "U64"))
_PACKED = opcodes("FADD2 FMUL2 FFMA2")
_CODE_ADDRESS = opcodes("BRX BRXU JMX JMXU RET CALL")
_SURFACES = opcodes("SULD SUST SUATOM SURED")
_TENSOR_COPIES = opcodes("UTMALDG UTMASTG UTMAREDG")
_BULK_COPIES = opcodes("UBLKCP UBLKPF UBLKRED")
_WARP_BITS = 32 * 32  # a register of all lanes of a warp
_MATRIX_BITS = {"TF32": 32, "S8": 8, "U8": 8, "E4M3": 8, "E5M2": 8, "S4": 4, "U4": 4, "E2M1": 4, "B1": 1}
_MATRIX_SHAPES = {  # rows, columns, depth
    "884": (8, 8, 4), "8816": (8, 8, 16), "8832": (8, 8, 32), "88128": (8, 8, 128), "1684": (16, 8, 4),
    "1688": (16, 8, 8), "16816": (16, 8, 16), "16832": (16, 8, 32), "16864": (16, 8, 64), "168128": (16, 8, 128),
    "168256": (16, 8, 256),
}  # fmt: skip
_GROUP_SHAPE = re.compile(r"(\d+)x(\d+)x(\d+)\Z")


def data_words(instruction: Instruction) -> int:
    """Registers of the data of a memory access: bytes in words of 4."""
    return max(1, (access_bytes(instruction.full_opcode) + 3) // 4)


def address_words(instruction: Instruction, reference: Reference, name: str, suffixes: tuple[str, ...]) -> int:
    """Registers of one term of an address: 64-bit addresses of global memory are pairs.

    Turing writes ``LDG.E R0, [R2]`` for the pair R2, R3, later ones ``[R2.64]``; ``.U32`` and ``.X4`` are offsets.
    Surfaces take a coordinate per dimension, and so do tensor copies behind the address in shared memory (and of the
    barrier, ``UTMALDG``). Matrix descriptors come in twos.
    """
    if instruction.opcode in _SURFACES | _TENSOR_COPIES:
        dimensions = next((int(m[0]) for m in instruction.modifiers if m[1:] == "D" and m[0].isdigit()), 1)
        if instruction.opcode in _SURFACES:
            return dimensions
        first = next(operand for operand in instruction.operands if isinstance(operand, Reference)) is reference
        return dimensions + 1 + (instruction.opcode == "UTMALDG") if first else 2
    if reference.name == "gdesc":
        return 4
    if "64" in suffixes or instruction.opcode in _BULK_COPIES:
        return 2
    if suffixes or reference.name not in ("", "desc") or instruction.opcode == "LDGSTS":
        return 1
    return 2 if "E" in instruction.modifiers and (not reference.name or name[0] == "U") else 1


def operand_words(instruction: Instruction, number: int, destinations: int) -> int:
    """Registers of operand ``number``, a plain register, where the first ``destinations`` operands are written."""
    operand = instruction.operands[number]
    inner = operand.operand if isinstance(operand, Modified) else operand
    if not isinstance(inner, Register) or inner.name.lstrip("U")[:1] != "R":
        return 1
    opcode, modifiers = instruction.opcode, instruction.modifiers
    rule = _RULES.get(opcode)
    if rule is not None:
        return rule(instruction, number, destinations)
    if opcode in DOUBLE or opcode in _PACKED or opcode in _CODE_ADDRESS:
        return 2
    if opcode in _PAIR_MODIFIER and "64" in modifiers:
        return 2
    if opcode in _COMPARISONS and not _WIDE_INTEGERS.isdisjoint(modifiers):
        return 2  # Blackwell
    return 1


def _memory(instruction: Instruction, number: int, destinations: int) -> int:
    return data_words(instruction)


def _surface(instruction: Instruction, number: int, destinations: int) -> int:
    """``SUST.D.BA.1D.128 [R14], R4`` and ``SULD.D``: the data; a handle in a register is one."""
    return data_words(instruction) if number == (0 if destinations else 1) else 1


def _multiply(instruction: Instruction, number: int, destinations: int) -> int:
    """``IMAD.WIDE`` writes a pair and adds one; ``IMAD.HI`` adds one."""
    place = number - destinations
    if "WIDE" in instruction.modifiers:
        return 2 if number == 0 or place == 2 else 1
    return 2 if "HI" in instruction.modifiers and place == 2 else 1


def _convert(instruction: Instruction, number: int, destinations: int) -> int:
    """``F2F.F64.F32``: destination type first; ``F2I.S64.F64`` and ``I2F.F64.S64`` leave 32-bit types out."""
    modifiers = [m for m in instruction.modifiers if m != "FTZ"]
    opcode = instruction.opcode.lstrip("U")
    if opcode == "F2F":
        types = [m for m in modifiers if m[:1] in "FB" and m[1:2].isdigit()]
        return 2 if types and types[0 if number < destinations else -1] == "F64" else 1
    if opcode == "FRND":
        return 2 if "F64" in modifiers else 1
    if (number >= destinations) == (opcode == "F2I"):
        return 2 if "F64" in modifiers else 1
    return 2 if not {"S64", "U64"}.isdisjoint(modifiers) else 1


def _clock(instruction: Instruction, number: int, destinations: int) -> int:
    return 1 if "32" in instruction.modifiers else 2


def _match(instruction: Instruction, number: int, destinations: int) -> int:
    return 2 if number >= destinations and "U64" in instruction.modifiers else 1


def _barrier_object(instruction: Instruction, number: int, destinations: int) -> int:
    """``SYNCS.EXCH.64`` and ``SYNCS.ARRIVE.TRANS64``: values of mbarrier objects are 64-bit."""
    return 2 if number < destinations or "64" in instruction.modifiers else 1


def _transpose(instruction: Instruction, number: int, destinations: int) -> int:
    """``MOVM.U4TO8`` widens the elements to two registers."""
    return 2 if number < destinations and any("TO" in modifier for modifier in instruction.modifiers) else 1


def _pair(instruction: Instruction, number: int, destinations: int) -> int:
    return 2 if number < destinations else 1


def _matrix(instruction: Instruction, number: int, destinations: int) -> int:
    """``HMMA.16816.F32 D, A, B, C``: elements of the tile over the lanes of the warp, or of four for ``HGMMA``."""
    shape = next((_MATRIX_SHAPES[m] for m in instruction.modifiers if m in _MATRIX_SHAPES), None)
    warps = 1
    for found in filter(None, map(_GROUP_SHAPE.match, instruction.modifiers)):
        shape, warps = (int(found[1]), int(found[2]), int(found[3])), 4 if "GMMA" in instruction.opcode else 1
    if shape is None or number > 3:
        return 1
    if warps > 1 and number > 1:
        number = 3  # a register behind the descriptors: the accumulator
    rows, columns, depth = shape
    types = [m for m in instruction.modifiers if m in _MATRIX_BITS]
    volta = instruction.opcode == "HMMA" and "884" in instruction.modifiers
    if instruction.opcode == "DMMA":
        bits, accumulator = 64, 64
    elif instruction.opcode == "BMMA":
        bits, accumulator = 1, 32
    else:
        bits = _MATRIX_BITS[types[min(number - 1, len(types) - 1)]] if types and number else 16
        accumulator = 16 if "F16" in instruction.modifiers and "F32" not in instruction.modifiers else 32
    if volta:
        return 2  # of the four steps that Volta makes of one product
    size = {1: rows * depth * bits, 2: columns * depth * bits}.get(number, rows * columns * accumulator)
    if number == 1 and "SP" in instruction.modifiers:
        size //= 2
    return max(1, size // (_WARP_BITS * warps))


def _texture(instruction: Instruction, number: int, destinations: int) -> int:
    """Results: two components in the second register, two in the first. Arguments: coordinates, then level and others;
    ``.SCR`` puts two in the first group and the rest in the second."""
    words = [operand.name for operand in instruction.operands if isinstance(operand, Symbol)]
    shape = next((word for word in words if word[-2:] in _COORDINATES or word[-4:] == "CUBE"), "1D")
    if number < destinations:
        last = instruction.operands[-1]
        mask = last.bits if isinstance(last, Immediate) else 0xF
        components = mask.bit_count()
        return max(1, min(components, 2) if number == destinations - 1 else components - 2)
    operand = instruction.operands[number]
    inner = operand.operand if isinstance(operand, Modified) else operand
    if isinstance(inner, Register) and inner.name[0] == "U":
        return 2
    coordinates = (3 if shape[-4:] == "CUBE" else _COORDINATES[shape[-2:]]) + ("ARRAY" in shape)
    extra = len({"LL", "LB", "AOFFI", "DC", "LC"}.intersection(instruction.modifiers))
    if instruction.opcode == "TXD":
        extra += 2 * (coordinates - ("ARRAY" in shape))
    elif "SCR" in instruction.modifiers and coordinates + extra > 2:
        coordinates, extra = 2, coordinates + extra - 2
    return coordinates if number == destinations else max(1, extra)


_COORDINATES = {"1D": 1, "2D": 2, "3D": 3}
_RULES = {
    **dict.fromkeys(
        opcodes("LD LDG LDL LDS LDC ULDC LDCU LDSM ST STG STL STS STSM ATOM ATOMG ATOMS RED REDG"), _memory
    ),
    **dict.fromkeys(("IMAD", "UIMAD"), _multiply),
    **dict.fromkeys(opcodes("F2F F2I I2F FRND UF2F UF2I UI2F UFRND"), _convert),
    **dict.fromkeys(opcodes("HMMA IMMA BMMA DMMA QMMA OMMA HGMMA IGMMA BGMMA QGMMA"), _matrix),
    **dict.fromkeys(opcodes("TEX TLD TLD4 TXD"), _texture),
    "SULD": _surface, "SUST": _surface,
    "SYNCS": _barrier_object, "CS2R": _clock, "CS2UR": _clock, "MOVM": _transpose, "MATCH": _match, "LEPC": _pair,
    "GETLMEMBASE": _pair,
}  # fmt: skip
