"""Which registers a SASS instruction writes and reads, implicit pairs and quads among them.

The text names the first register of a group: ``LDG.E.128 R4, [R2.64]`` writes R4 to R7 and reads R2 and R3. What an
operand is follows from the opcode (this file) and how many registers it has from the modifiers
(``widths.py``). Registers are named by their text (``R4``, ``P0``, ``UR4``, ``UP1``, ``B0``); the constant ones
(``RZ``, ``PT``, ``URZ``, ``UPT``) and special registers are left out. The register marks of ``nvdisasm -plr`` agree,
except the predicates of ``P2R`` and ``R2P``, which the tool does not mark.
"""

from collections.abc import Iterator

from rayplay.ptx.ir import Function, Immediate, Instruction, Modified, Not, Operand, Reference, Register, Vector
from rayplay.ptx.sass.widths import address_words, opcodes, operand_words

NO_DESTINATION = opcodes("""
    ST STG STL STS STSM STAS STT STTM RED REDG REDAS UREDGR USTGR SUST SURED LDGSTS
    BRA BRX BRXU JMP JMX JMXU CALL RET EXIT KILL BREAK BSYNC WARPSYNC YIELD NANOSLEEP BAR BPT NOP RTT
    MEMBAR ERRBAR CGAERRBAR FENCE DEPBAR CCTL CCTLL CCTLT LDGDEPBAR PMTRIG PREEXIT ACQBULK ENDCOLLECTIVE ARRIVES
    SETCTAID SETLMEMBASE USETMAXREG WARPGROUP WARPGROUPSET UCGABAR_ARV UCGABAR_WAIT UBLKCP UBLKPF UBLKRED UTMACCTL
    UTMACMDFLUSH UTMALDG UTMALST UTMAPF UTMAREDG UTMASTG UTCHMMA UTCIMMA UTCQMMA UTCOMMA UTCBAR UTCCP UTCSHIFT UMEMSETS
""")
TWO_PREDICATES = opcodes("ISETP FSETP DSETP HSETP2 PSETP PLOP3 UISETP UFSETP UPSETP UPLOP3")
ONE_DESTINATION = opcodes("FCHK P2R UP2UR R2P ELECT R2B BMOV BSSY")
TWO_REGISTERS = opcodes("TEX TLD TLD4 TXD TMML TXQ")
RESERVED_REGISTERS = 2
_CONSTANT = frozenset(("RZ", "URZ", "PT", "UPT", "SRZ"))
_PREDICATES = {"PR": "P", "UPR": "UP"}


def registers(instruction: Instruction) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the registers written and read, each once; the guard's predicate is read."""
    operands = instruction.operands
    count = destination_count(instruction)
    written: dict[str, None] = {}
    read: dict[str, None] = {}
    if instruction.guard is not None:
        read.update(dict.fromkeys(_group(instruction.guard.register.name, 1)))
    for number, operand in enumerate(operands):
        into = written if number < count and not isinstance(operand, Reference) else read
        into.update(dict.fromkeys(_names(instruction, operand, number, count)))
    return tuple(written), tuple(read)


def destination_count(instruction: Instruction) -> int:
    """How many operands, from the first on, the instruction writes.

    A predicate before a register is written (``SHFL P0, R4, ..``), and so are predicates right behind the register
    (the carries of ``IADD3 R2, P0, R3, R4, R5``); at the end of the line they are read.
    """
    opcode, operands = instruction.opcode, instruction.operands
    if opcode in NO_DESTINATION or not operands:
        return 0
    if opcode in TWO_PREDICATES:
        return 2
    if opcode in ONE_DESTINATION:
        return 1
    first = 0
    while first < min(len(operands), 2) and _is_predicate(operands[first]):
        first += 1
    if first == len(operands) or not _is_register(operands[first]):
        first = 0
    elif opcode in TWO_REGISTERS and len(operands) > 2 and _is_register(operands[1]):
        return 2
    last = first + 1
    most = 1 if opcode in ("VOTE", "VOTEU", "B2R") else 2
    while _is_register(operands[first]) and last < len(operands) and last - first <= most:
        if not _is_predicate(operands[last]) or (opcode in ("VOTE", "VOTEU") and len(operands) < 3):
            break
        last += 1
    return last


def _is_predicate(operand: Operand) -> bool:
    return isinstance(operand, Register) and operand.name.lstrip("U")[:1] == "P" and operand.name not in _PREDICATES


def _is_register(operand: Operand) -> bool:
    inner = operand.operand if isinstance(operand, Modified) else operand
    return isinstance(inner, Register) and inner.name.lstrip("U")[:1] == "R"


def _names(instruction: Instruction, operand: Operand, number: int, count: int) -> Iterator[str]:
    """The registers of one operand."""
    if isinstance(operand, Modified):
        operand = operand.operand
    if isinstance(operand, Register):
        if operand.name in _PREDICATES:
            yield from _predicates(instruction, _PREDICATES[operand.name])
        else:
            yield from _group(operand.name, operand_words(instruction, number, count))
    elif isinstance(operand, Not):
        yield from _group(operand.register.name, 1)
    elif isinstance(operand, Vector):
        for element in operand.elements:
            if isinstance(element, Register):
                yield from _group(element.name, 1)
    elif isinstance(operand, Reference):
        yield from _reference(instruction, operand)


def _reference(instruction: Instruction, reference: Reference) -> Iterator[str]:
    if isinstance(reference.table, Register):
        yield from _group(reference.table.name, 2)  # descriptors and bindless banks are 64-bit
    for term in reference.terms:
        suffixes = term.suffixes if isinstance(term, Modified) else ()
        inner = term.operand if isinstance(term, Modified) else term
        if isinstance(inner, Register):
            yield from _group(inner.name, address_words(instruction, reference, inner.name, suffixes))
    if instruction.encoding is not None and _has_hidden_descriptor(reference):
        place = 32 if instruction.opcode in ("LD", "LDG") else 64
        yield from _group(f"UR{instruction.encoding >> place & 0x3F}", 2)


def _has_hidden_descriptor(reference: Reference) -> bool:
    """``[R2.64]`` of sm_80 to sm_89 is ``desc[UR][R2.64]`` of sm_90; there only the encoding names the descriptor."""
    suffixes = [term.suffixes for term in reference.terms if isinstance(term, Modified)]
    return not reference.name and len(reference.terms) == 1 and suffixes == [("64",)]


def _group(name: str, words: int) -> Iterator[str]:
    """``name`` and the registers behind it."""
    if name in _CONSTANT or name[:2] in ("SR", "SB"):
        return
    if words == 1:
        yield name
        return
    letters = name.rstrip("0123456789")
    first = int(name[len(letters) :] or 0)
    for number in range(first, first + words):
        yield f"{letters}{number}"


def _predicates(instruction: Instruction, letter: str) -> Iterator[str]:
    """The predicates that the mask of ``P2R R0, PR, RZ, 0x7f`` selects."""
    masks = [operand.bits for operand in instruction.operands if isinstance(operand, Immediate)]
    mask = masks[-1] if masks else 0x7F
    for number in range(7):
        if mask >> number & 1:
            yield f"{letter}{number}"


def register_count(function: Function) -> int:
    """General registers of a thread: what the listing says (``SHI_REGISTERS``, ``EIATTR_REGCOUNT``), otherwise those up
    to the highest that the function names and the two that Volta and later reserve: what the listing says of all 99
    kernels without calls that were compared."""
    stated = function.directives.get("registers")
    if stated:
        return stated[0]
    names = (name for instruction in function.body for group in registers(instruction) for name in group)
    return max((int(name[1:]) + 1 for name in names if name[0] == "R"), default=0) + RESERVED_REGISTERS
