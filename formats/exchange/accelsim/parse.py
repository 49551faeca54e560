"""Parse the lines of an Accel-Sim trace into arrays (``docs/sources/accel-sim.md#instruction-line``).

``parse_lines`` finds warps and instructions, ``parse_operations`` reads the rest of each instruction: two halves, which
the first import compiles side by side.

Text after the addresses of a line (immediates of version 5, register values of version 6) is not read. The immediate of
an instruction without addresses is read: DEPBAR's is the number of copy groups that it does not wait for.
"""

from typing import NamedTuple

import numpy as np

from rayplay.formats.exchange.accelsim.tokens import (
    NAME_BYTES,
    NAME_SLOTS,
    NEWLINE,
    NO_REGISTER,
    SPACE,
    copy,
    entry_point,
    next_line,
    number_of_name,
    part,
    read_decimal,
    read_hex,
    read_register,
    skip_blanks,
    skip_token,
)

MOST_SOURCES, MOST_DESTINATIONS = 8, 2
REGISTERS = MOST_DESTINATIONS + MOST_SOURCES
MEMO_SLOTS, MEMO_BYTES = 1 << 12, 96
OK, FULL = 0, 1
BAD_NUMBER, BAD_KEYWORD, BAD_REGISTER, TOO_MANY, BAD_MODE, NOT_IN_WARP, TOO_FEW_LINES, TOO_MANY_NAMES, BAD_MASK = range(
    2, 11
)
MESSAGES = {
    BAD_NUMBER: "a number must stand here",
    BAD_KEYWORD: "the line must be 'thread block =', 'warp =', 'insts =', '#BEGIN_TB', '#END_TB' or an instruction",
    BAD_REGISTER: "a register must be R, UR, P or UP and a number",
    TOO_MANY: f"an instruction has at most {MOST_DESTINATIONS} destinations and {MOST_SOURCES} sources",
    BAD_MODE: "the address mode must be 0 (list), 1 (base and stride) or 2 (base and differences)",
    NOT_IN_WARP: "an instruction must follow 'warp =' and 'insts ='",
    TOO_FEW_LINES: "the warp must have as many instructions as its 'insts =' says",
    TOO_MANY_NAMES: f"a trace has at most {NAME_SLOTS // 2} different opcodes",
    BAD_MASK: "a mask must be a hexadecimal number of 32 bits",
}
STATE = CTA_X, CTA_Y, CTA_Z, WARP, LEFT, WARP_ROW, AT, NAMES = range(8)
"""Of the state: the CTA and warp that lines belong to, instructions left in the warp, warps so far, the byte to go on
at, and opcodes so far."""
EQUALS, HASH, LETTER_C, LETTER_I, LETTER_T, LETTER_W = 61, 35, 99, 105, 116, 119
THREAD_BLOCK, WARP_WORD, INSTS = (
    np.frombuffer(word, np.uint8).copy() for word in (b"thread block", b"warp", b"insts")
)  # fmt: skip


class Names(NamedTuple):
    """Opcodes seen so far (``accelsim_tokens.number_of_name``)."""

    held: np.ndarray
    start: np.ndarray
    slot: np.ndarray


class Memo(NamedTuple):
    """Memo of the text between mask and addresses by PC, which nearly always repeats.

    A slot holds the last text of one PC and its parsed meaning; length 0 marks an empty slot.
    """

    pc: np.ndarray  # int64[slots]
    length: np.ndarray  # int64[slots]
    text: np.ndarray  # uint8[slots, MEMO_BYTES]
    opcode: np.ndarray  # int32[slots]
    register: np.ndarray  # int16[slots, destinations and sources]
    width: np.ndarray  # uint8[slots]


class Rows(NamedTuple):
    """Room for instructions, their addresses and warps."""

    warp: np.ndarray  # int64[n], row of the warp
    pc: np.ndarray  # int64[n]
    mask: np.ndarray  # uint32[n]
    place: np.ndarray  # int64[n], the byte after the mask
    opcode: np.ndarray  # int32[n]
    register: np.ndarray  # int16[n, destinations and sources], NO_REGISTER fills the rest
    width: np.ndarray  # uint8[n], bytes of an access; without one, the low 7 bits of the immediate, 0 for none
    first_address: np.ndarray  # int64[n + 1]
    address: np.ndarray  # uint64[m], one per lane of the mask
    warps: np.ndarray  # int64[n, 4]: CTA x, y, z and warp in the CTA


def make_names() -> Names:
    """Empty table of names."""
    return Names(np.zeros(NAME_BYTES, np.uint8), np.zeros(NAME_SLOTS + 1, np.int64), np.zeros(NAME_SLOTS, np.int32))


def make_memo() -> Memo:
    """Empty memo."""
    n = MEMO_SLOTS
    return Memo(
        np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros((n, MEMO_BYTES), np.uint8), np.zeros(n, np.int32),
        np.zeros((n, MOST_DESTINATIONS + MOST_SOURCES), np.int16), np.zeros(n, np.uint8),
    )  # fmt: skip


def make_rows(instructions: int) -> Rows:
    """Room for ``instructions`` with 32 addresses each; unwritten pages take no memory."""
    n = instructions
    registers = np.zeros((n, MOST_DESTINATIONS + MOST_SOURCES), np.int16)
    return Rows(
        np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.uint32), np.zeros(n, np.int64),
        np.zeros(n, np.int32), registers, np.zeros(n, np.uint8), np.zeros(n + 1, np.int64),
        np.zeros(32 * n, np.uint64), np.zeros((n, 4), np.int64),
    )  # fmt: skip


@entry_point
def parse_lines(text: np.ndarray, state: np.ndarray, rows: Rows, skipped: int) -> tuple[int, int, int]:
    """Find warps and instructions in the lines of ``text`` from ``state[AT]`` on.

    Returns a status, and the numbers of instructions and warps. text: uint8[n], ends with a newline. skipped: tokens
    before the PC. FULL: repeat with the same state and empty rows. After an error ``state[AT]`` is the place.
    """
    first_warp = state[WARP_ROW]
    count = first_warp - first_warp  # no constant 0: the callees would be compiled once more for it
    while state[AT] < len(text):
        at = skip_blanks(text, state[AT])
        if count == len(rows.pc) or state[WARP_ROW] - first_warp == len(rows.pc):
            return FULL, count, state[WARP_ROW] - first_warp
        status, here = OK, at
        letter = text[at]
        if letter in (HASH, LETTER_T, LETTER_W, LETTER_I) or (letter == LETTER_C and text[at + 1] == 108):
            status, here = _keyword(text, at, state, rows, first_warp)
        elif letter != NEWLINE and state[LEFT] <= 0:
            status = NOT_IN_WARP
        elif letter != NEWLINE:
            for _ in range(skipped):
                at = skip_token(text, skip_blanks(text, at))
            status, here = _instruction(text, at, rows, count)
            if status == OK:
                rows.warp[count] = state[WARP_ROW] - 1
                state[LEFT] -= 1
                count += 1
        if status != OK:
            state[AT] = here
            return status, count, state[WARP_ROW] - first_warp
        state[AT] = next_line(text, here)
    return OK, count, state[WARP_ROW] - first_warp


@part
def _keyword(text: np.ndarray, at: int, state: np.ndarray, rows: Rows, first_warp: int) -> tuple[int, int]:
    """Parse a line other than an instruction; return a status and a position in the line."""
    letter = text[at]
    if letter in (HASH, LETTER_C):  # the bounds of CTAs say nothing more, clusters change no cycle
        return (TOO_FEW_LINES if state[LEFT] > 0 else OK), at
    word = THREAD_BLOCK if letter == LETTER_T else WARP_WORD if letter == LETTER_W else INSTS
    for byte in word:  # a newline ends the comparison: no word has one
        if text[at] != byte:
            return BAD_KEYWORD, at
        at += 1
    here = skip_blanks(text, at)
    if text[here] != EQUALS:
        return BAD_KEYWORD, here
    here += 1
    first = CTA_X if letter == LETTER_T else WARP if letter == LETTER_W else LEFT
    if state[LEFT] > 0:
        return TOO_FEW_LINES, at
    for field in range(first, CTA_Z + 1 if letter == LETTER_T else first + 1):
        value, end = read_decimal(text, here)
        if end < 0 or value < 0:
            return BAD_NUMBER, here
        state[field], here = value, end + 1 if text[end] == 44 else end
    if letter == LETTER_I:
        copy(state, CTA_X, rows.warps[state[WARP_ROW] - first_warp], 0, WARP + 1 - CTA_X)
        state[WARP_ROW] += 1
    return OK, here


@part
def _instruction(text: np.ndarray, at: int, rows: Rows, row: int) -> tuple[int, int]:
    """PC and mask of an instruction; return a status and a position in its line."""
    pc, end = read_hex(text, at)
    if end < 0:
        return BAD_NUMBER, at
    mask, here = read_hex(text, end)
    if here < 0 or mask >> 32 != 0:
        return BAD_MASK, end
    rows.pc[row], rows.mask[row], rows.place[row] = pc, mask, here
    return OK, here


@entry_point
def parse_operations(text: np.ndarray, state: np.ndarray, names: Names, memo: Memo, rows: Rows, count: int) -> int:
    """Read opcode, registers, width and addresses of the first ``count`` rows that ``parse_lines`` found.

    Returns a status; after an error ``state[AT]`` is the place.
    """
    addresses = count - count  # no constant 0, as above
    for row in range(count):
        rows.first_address[row] = addresses
        status, at = _remembered(text, rows.place[row], names, memo, state, rows, row)
        if status == OK and rows.width[row] == 0:
            immediate, after = read_decimal(text, at)
            rows.width[row] = immediate & 127 if after >= 0 else 0
        elif status == OK:
            status, at, addresses = _addresses(text, at, rows.mask[row], rows.address, addresses)
        if status != OK:
            state[AT] = at
            return status
    rows.first_address[count] = addresses
    return OK


@part
def _remembered(
    text: np.ndarray, at: int, names: Names, memo: Memo, state: np.ndarray, rows: Rows, row: int
) -> tuple[int, int]:  # fmt: skip
    """Opcode, registers and width, from the memo where its text is the same; return a status and a position."""
    pc = rows.pc[row]
    slot = (pc >> 3) & (MEMO_SLOTS - 1)
    if memo.pc[slot] == pc and _is_same(text, at, memo.text[slot], memo.length[slot]):
        rows.opcode[row], rows.width[row] = memo.opcode[slot], memo.width[slot]
        copy(memo.register[slot], 0, rows.register[row], 0, REGISTERS)
        return OK, at + memo.length[slot]
    status, end = _operation(text, at, names, state, rows, row)
    if status != OK:
        return status, end
    memo.length[slot] = 0
    if end - at <= MEMO_BYTES:
        memo.pc[slot], memo.length[slot] = pc, end - at
        copy(text, at, memo.text[slot], 0, end - at)
        memo.opcode[slot], memo.width[slot] = rows.opcode[row], rows.width[row]
        copy(rows.register[row], 0, memo.register[slot], 0, REGISTERS)
    return OK, end


@part
def _is_same(text: np.ndarray, at: int, held: np.ndarray, length: int) -> bool:
    """Whether the ``length`` bytes of ``held``, more than 0, stand at ``at``, whole to the end of a token."""
    for place in range(length):
        if text[at + place] != held[place]:
            return False
    return length > 0 and text[at + length] <= SPACE


@part
def _operation(
    text: np.ndarray, at: int, names: Names, state: np.ndarray, rows: Rows, row: int
) -> tuple[int, int]:  # fmt: skip
    """Opcode, registers and width of an instruction; return a status and a position in its line."""
    for position in range(REGISTERS):
        rows.register[row, position] = NO_REGISTER
    none = row - row  # no constant 0, as above
    status, at = _registers(text, at, rows.register[row], none, none + MOST_DESTINATIONS)
    if status != OK:
        return status, at
    begin = skip_blanks(text, at)
    at = skip_token(text, begin)
    number = number_of_name(text, begin, at, names.held, names.start, names.slot, state[NAMES])
    if number < 0:
        return TOO_MANY_NAMES, at
    rows.opcode[row] = number
    state[NAMES] += number == state[NAMES]
    status, at = _registers(text, at, rows.register[row], none + MOST_DESTINATIONS, none + MOST_SOURCES)
    if status != OK:
        return status, at
    width, end = read_decimal(text, at)
    if end < 0 or width < 0 or width > 255:
        return BAD_NUMBER, at
    rows.width[row] = width
    return OK, end


@part
def _registers(text: np.ndarray, at: int, into: np.ndarray, first: int, most: int) -> tuple[int, int]:
    """A count and that many registers."""
    count, end = read_decimal(text, at)
    if end < 0:
        return BAD_NUMBER, at
    if count > most or count < 0:
        return TOO_MANY, at
    at = end
    for index in range(count):
        into[first + index], end = read_register(text, at)
        if end < 0:
            return BAD_REGISTER, at
        at = end
    return OK, at


@part
def _addresses(text: np.ndarray, at: int, mask: int, into: np.ndarray, count: int) -> tuple[int, int, int]:
    """The mode and the addresses of the lanes in ``mask``, lowest first."""
    mode, here = read_decimal(text, at)
    if here < 0 or mode < 0 or mode > 2:
        return BAD_MODE, at, count
    lanes = 0
    while mask >> lanes != 0:
        lanes += 1
    value, step, seen = 0, 0, 0
    if mask == 0:
        return OK, here, count
    for lane in range(lanes):
        if mask >> lane & 1 == 0:
            continue
        end = here
        if mode == 0 or seen == 0:
            value, end = read_hex(text, here)
        elif mode == 2:
            step, end = read_decimal(text, here)
        if end < 0:
            return BAD_NUMBER, here, count
        if seen > 0 and mode != 0:
            value += step
        elif mode == 1:
            step, end = read_decimal(text, end)
            if end < 0:
                return BAD_NUMBER, here, count
        into[count], here = value, end
        count += 1
        seen += 1
    return OK, here, count
