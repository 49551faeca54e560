"""Text of an Accel-Sim trace from rows of a trace, in one pass.

Source: ``docs/sources/accel-sim.md#kernel-body, #instruction-line``.

Masks and addresses are written here; the constant text of an instruction is passed in as bytes.
"""

from typing import NamedTuple

import numpy as np

from rayplay.formats.exchange.accelsim.tokens import loop

SPACE, NEWLINE, MINUS, ZERO = 32, 10, 45, 48
LANES = 32
STRIDE, DIFFERENCES = 1, 2
PLAIN, MEMORY, EXIT = range(3)


class Lines(NamedTuple):
    """The static part of each instruction's line, and what the writer must know of it."""

    text: np.ndarray  # uint8: heads ("0010 ") and tails (" 1 R4 LDG.E 1 R2 4") of all instructions
    head: np.ndarray  # int64[instructions + 1]: PC, before the mask
    tail: np.ndarray  # int64[instructions]: where the head ends
    kind: np.ndarray  # uint8[instructions]: PLAIN, MEMORY (addresses follow) or EXIT
    exit_text: np.ndarray  # uint8: the tail of an added EXIT
    exit_head: np.ndarray  # uint8: its PC


class Rows(NamedTuple):
    """The rows of some whole warps; offsets are rows of the tables of the batch."""

    visit_first: np.ndarray  # int64[warps + 1]
    block_first: np.ndarray  # int64[visits]: first instruction
    block_count: np.ndarray  # int64[visits]
    mask: np.ndarray  # uint32[visits]
    access_first: np.ndarray  # int64[warps + 1]
    access_visit: np.ndarray  # uint32
    access_instruction: np.ndarray  # uint32
    access_mask: np.ndarray  # uint32
    address_first: np.ndarray  # int64[accesses + 1]
    address: np.ndarray  # int64: the bits of uint64
    predicate_first: np.ndarray  # int64[warps + 1]
    predicate_visit: np.ndarray  # uint32
    predicate_instruction: np.ndarray  # uint32
    predicate_mask: np.ndarray  # uint32
    launched: np.ndarray  # uint32[warps]
    exact: bool  # a lane that is active in the visit and not in ``predicates`` executed the instruction


@loop
def write_warp(
    out: np.ndarray, at: int, lines: Lines, rows: Rows, warp: int, later: np.ndarray
) -> tuple[int, int, int]:
    """Write the instructions of a warp from ``out[at]`` on; returns the new end, lines, and lanes that did not exit.

    later  uint32[visits of the longest warp]: scratch.
    """
    first, end = rows.visit_first[warp], rows.visit_first[warp + 1]
    lanes = np.uint32(0)
    for visit in range(end - 1, first - 1, -1):
        later[visit - first] = lanes
        lanes |= rows.mask[visit]
    access, predicate = rows.access_first[warp], rows.predicate_first[warp]
    count, exited = 0, np.uint32(0)
    for visit in range(first, end):
        for number in range(rows.block_first[visit], rows.block_first[visit] + rows.block_count[visit]):
            mask = rows.mask[visit]
            if _is_row(rows.predicate_visit, rows.predicate_instruction, predicate, rows.predicate_first[warp + 1],
                       visit - first, number):  # fmt: skip
                mask = rows.predicate_mask[predicate]
                predicate += 1
            has_access = _is_row(rows.access_visit, rows.access_instruction, access, rows.access_first[warp + 1],
                                 visit - first, number)  # fmt: skip
            if lines.kind[number] == EXIT:
                mask &= ~later[visit - first]
                exited |= mask
            elif lines.kind[number] == MEMORY and not rows.exact:
                mask = rows.access_mask[access] if has_access else np.uint32(0)
            at = _write_line(out, at, lines, number, mask)
            if lines.kind[number] == MEMORY:
                at = _write_addresses(out, at, rows, access if has_access else -1, mask)
            access += has_access
            at = _put_bytes(out, at, NEWLINE, 1)
            count += 1
    return at, count, int(rows.launched[warp] & ~exited)


@loop
def write_exit(out: np.ndarray, at: int, lines: Lines, mask: int) -> int:
    """Write an EXIT for lanes whose program ended without one."""
    at = _put_text(out, at, lines.exit_head, 0, len(lines.exit_head))
    at = _put_hex(out, at, int(mask), 8)
    at = _put_text(out, at, lines.exit_text, 0, len(lines.exit_text))
    return _put_bytes(out, at, NEWLINE, 1)


@loop
def _is_row(visits: np.ndarray, instructions: np.ndarray, row: int, end: int, visit: int, instruction: int) -> bool:
    return row < end and visits[row] == visit and instructions[row] == instruction


@loop
def _write_line(out: np.ndarray, at: int, lines: Lines, number: int, mask: int) -> int:
    at = _put_text(out, at, lines.text, lines.head[number], lines.tail[number])
    at = _put_hex(out, at, int(mask), 8)
    return _put_text(out, at, lines.text, lines.tail[number], lines.head[number + 1])


@loop
def _write_addresses(out: np.ndarray, at: int, rows: Rows, access: int, mask: int) -> int:
    """Base and stride where the lanes are neighbours and the stride is one, else base and differences."""
    values = np.zeros(LANES, np.int64)
    count, first_lane, last_lane = 0, -1, -1
    given = rows.address_first[access] if access >= 0 else 0
    held = rows.access_mask[access] if access >= 0 else np.uint32(0)
    for lane in range(LANES):
        if (mask >> np.uint32(lane)) & np.uint32(1):
            if (held >> np.uint32(lane)) & np.uint32(1):
                values[count] = rows.address[given]
                given += 1
            first_lane = lane if first_lane < 0 else first_lane
            last_lane = lane
            count += 1
    if count == 0:
        return _put_stride(out, at, 0, 0)
    strides = count > 1 and last_lane - first_lane + 1 == count
    for place in range(2, count):
        strides = strides and values[place] - values[place - 1] == values[1] - values[0]
    if strides and abs(values[1] - values[0]) < 1 << 31:
        return _put_stride(out, at, int(values[0]), int(values[1] - values[0]))
    at = _put_bytes(out, at, SPACE, 1)
    at = _put_bytes(out, at, ZERO + DIFFERENCES, 1)
    at = _put_base(out, at, int(values[0]))
    for place in range(1, count):
        at = _put_bytes(out, at, SPACE, 1)
        at = _put_decimal(out, at, int(values[place] - values[place - 1]))
    return at


@loop
def _put_stride(out: np.ndarray, at: int, base: int, stride: int) -> int:
    at = _put_bytes(out, at, SPACE, 1)
    at = _put_bytes(out, at, ZERO + STRIDE, 1)
    at = _put_base(out, at, base)
    at = _put_bytes(out, at, SPACE, 1)
    return _put_decimal(out, at, stride)


@loop
def _put_base(out: np.ndarray, at: int, value: int) -> int:
    out[at] = SPACE
    out[at + 1] = ZERO
    out[at + 2] = 120
    return _put_hex(out, at + 3, value, 1)


@loop
def _put_bytes(out: np.ndarray, at: int, value: int, count: int) -> int:
    for place in range(at, at + count):
        out[place] = value
    return at + count


@loop
def _put_text(out: np.ndarray, at: int, text: np.ndarray, first: int, end: int) -> int:
    for place in range(first, end):
        out[at] = text[place]
        at += 1
    return at


@loop
def _put_hex(out: np.ndarray, at: int, value: int, least_digits: int) -> int:
    digits = least_digits
    while digits < 16 and value >> (4 * digits):
        digits += 1
    for place in range(digits - 1, -1, -1):
        digit = (value >> (4 * place)) & 15
        out[at] = ZERO + digit if digit < 10 else 87 + digit
        at += 1
    return at


@loop
def _put_decimal(out: np.ndarray, at: int, value: int) -> int:
    if value < 0:
        out[at] = MINUS
        at += 1
    rest = abs(value)
    digits, power = 1, 10
    while digits < 19 and rest >= power:
        digits += 1
        power *= 10
    for place in range(digits - 1, -1, -1):
        out[at + place] = ZERO + rest % 10
        rest //= 10
    return at + digits
