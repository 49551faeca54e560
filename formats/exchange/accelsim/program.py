"""Map each executed instruction to an instruction of the program.

In Accel-Sim a PC is only an id: each line has its own opcode and registers, and NVBit counts PCs from the start of each
function, so PCs of a kernel's functions collide. So an instruction is identified by everything in its line that the
trace's tables keep; several may share a PC.
"""

from typing import NamedTuple

import numpy as np

from rayplay.formats.exchange.accelsim.parse import MOST_DESTINATIONS, MOST_SOURCES
from rayplay.formats.exchange.accelsim.reader import Piece
from rayplay.formats.exchange.accelsim.tokens import copy, entry_point, part
from rayplay.formats.guard.errors import FormatError

FIRST_ROOM, MOST_INSTRUCTIONS = 1 << 10, 1 << 21


class Seen(NamedTuple):
    """Room for instructions by number, in the order in which they were first seen."""

    pc: np.ndarray  # int64[n]
    opcode: np.ndarray  # int32[n]
    register: np.ndarray  # int16[n, registers]
    width: np.ndarray  # uint8[n], 0 where the tables do not keep it
    slot: np.ndarray  # int32[2 n]: number + 1 at the hash of an instruction, 0 where free; n is a power of two


def make_seen(room: int) -> Seen:
    """Empty table."""
    registers = np.zeros((room, MOST_DESTINATIONS + MOST_SOURCES), np.int16)
    return Seen(
        np.zeros(room, np.int64), np.zeros(room, np.int32), registers, np.zeros(room, np.uint8),
        np.zeros(2 * room, np.int32),
    )  # fmt: skip


class Program:
    """The instructions of one kernel, ``count`` so far."""

    def __init__(self, place: str) -> None:
        self.count = 0
        self._place, self._seen = place, make_seen(FIRST_ROOM)

    def numbers(self, piece: Piece, keeps_width: np.ndarray) -> np.ndarray:
        """int64[n], the instruction of each row of ``piece``; new ones are added.

        keeps_width: bool by opcode number. Raises ``FormatError`` for more than ``MOST_INSTRUCTIONS``.
        """
        width = np.where(keeps_width[piece.opcode], piece.width, 0).astype(np.uint8)
        number, row = np.zeros(len(piece.pc), np.int64), 0
        while row < len(number):
            row = self.number_rows(piece, width, number, row)
            if row < len(number):
                self._grow()
        return number

    def number_rows(self, piece: Piece, width: np.ndarray, number: np.ndarray, first: int = 0) -> int:
        """Fill ``number`` from the row ``first`` on; returns the row that found no room, or their count."""
        self.count, row = _number_rows(
            self._seen, self.count, first, piece.pc, piece.opcode, piece.register, width, number
        )
        return row

    def _grow(self) -> None:
        if self.count >= MOST_INSTRUCTIONS:
            raise FormatError(
                f"{self._place}: must have at most {MOST_INSTRUCTIONS} different instructions, found more"
            )
        old, self._seen = self.rows(), make_seen(2 * self.count)
        number = np.zeros(self.count, np.int64)
        _number_rows(self._seen, 0, 0, old.pc, old.opcode, old.register, old.width, number)

    def rows(self) -> Seen:
        """The instructions by number, without room for more."""
        seen, end = self._seen, self.count
        return Seen(seen.pc[:end], seen.opcode[:end], seen.register[:end], seen.width[:end], seen.slot)

    def order(self) -> np.ndarray:
        """Numbers in the order of the trace's tables: by PC; instructions that share a PC with earlier ones come last.

        So the instructions of a function whose PCs collide with another's stay together, and its blocks whole.
        """
        pc = self._seen.pc[: self.count]
        by_pc = np.argsort(pc, kind="stable")
        place = np.arange(self.count)
        is_first = np.diff(pc[by_pc], prepend=-1) != 0
        variant = np.zeros(self.count, np.int64)
        variant[by_pc] = place - np.maximum.accumulate(np.where(is_first, place, 0))
        return np.lexsort((pc, variant))


@entry_point
def _number_rows(
    seen: Seen, count: int, first: int, pc: np.ndarray, opcode: np.ndarray, register: np.ndarray, width: np.ndarray,
    number: np.ndarray,
) -> tuple[int, int]:  # fmt: skip
    """Fill ``number`` from the row ``first`` on; return the number of instructions, and the row that found no room."""
    most = len(seen.slot) - 1
    for row in range(first, len(pc)):
        place = _hash(pc[row], opcode[row], register[row], width[row]) & most
        while seen.slot[place] != 0:
            held = seen.slot[place] - 1
            if (
                seen.pc[held] == pc[row]
                and seen.opcode[held] == opcode[row]
                and seen.width[held] == width[row]
                and _are_equal(seen.register[held], register[row])
            ):
                break
            place = (place + 1) & most
        if seen.slot[place] == 0:
            if count == len(seen.pc):
                return count, row
            seen.pc[count], seen.opcode[count], seen.width[count] = pc[row], opcode[row], width[row]
            copy(register[row], 0, seen.register[count], 0, len(register[row]))
            count += 1
            seen.slot[place] = count
        number[row] = seen.slot[place] - 1
    return count, len(pc)


@part
def _hash(pc: int, opcode: int, register: np.ndarray, width: int) -> int:
    """Below 2**31."""
    key = np.uint64(pc) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(opcode) << np.uint64(8) ^ np.uint64(width)
    for value in register:
        key = (key ^ np.uint64(value + 1)) * np.uint64(0x100000001B3)
    return int(key >> np.uint64(33))


@part
def _are_equal(left: np.ndarray, right: np.ndarray) -> bool:
    for place in range(len(left)):  # noqa: SIM110  compiled
        if left[place] != right[place]:
            return False
    return True
