"""Numbers, names and registers in the bytes of an Accel-Sim trace, for compiled code.

A position is a byte; a reading function returns the value and the position after it, or a position of -1 when
the text has another form.
"""

from typing import Any

import numpy as np
from numba import njit

from rayplay.formats.guard.code_cache import kept

_jit: Any = njit  # its annotations leave most options out
SOURCES = ["formats/exchange/accelsim"]
loop = kept(_jit(cache=True), SOURCES)
# Loops that are given all their arrays count no references. ``part`` is only called by compiled code. A slice is never
# assigned as a whole: numba would compile the formatting of an error message with it, which takes two seconds.
_OPTIONS = {"no_cfunc_wrapper": True, "error_model": "numpy", "_nrt": False}
entry_point = kept(_jit(cache=True, **_OPTIONS), SOURCES)
part = _jit(no_cpython_wrapper=True, **_OPTIONS)

NEWLINE, SPACE, RETURN, TAB, MINUS, COMMA = 10, 32, 13, 9, 45, 44
NAME_SLOTS, NAME_BYTES = 1 << 14, 1 << 19
NO_REGISTER = -1
UNIFORM_REGISTER, PREDICATE_REGISTER, UNIFORM_PREDICATE_REGISTER = 256, 320, 328
"""Numbers of UR0, P0 and UP0; R0 is 0."""


@part
def copy(source: np.ndarray, first: int, into: np.ndarray, place: int, count: int) -> None:
    """Write ``count`` items of a row of ``source``, from ``first`` on, to ``into``, from ``place`` on."""
    for offset in range(count):
        into[place + offset] = source[first + offset]


@part
def skip_blanks(text: np.ndarray, at: int) -> int:
    """Position of the next byte other than a blank; a newline counts as other."""
    while text[at] == SPACE or text[at] == TAB or text[at] == RETURN:
        at += 1
    return at


@part
def skip_token(text: np.ndarray, at: int) -> int:
    """The end of the token that begins at ``at``."""
    while text[at] > SPACE:
        at += 1
    return at


@part
def next_line(text: np.ndarray, at: int) -> int:
    """The first byte after the next newline."""
    while text[at] != NEWLINE:
        at += 1
    return at + 1


@part
def read_hex(text: np.ndarray, at: int) -> tuple[int, int]:
    """A number of at most 64 bits in hexadecimal, with or without 0x."""
    at = skip_blanks(text, at)
    if text[at] == 48 and (text[at + 1] | 32) == 120:
        at += 2
    value, start = 0, at
    while True:
        byte = int(np.int64(text[at]))
        if 48 <= byte <= 57:
            digit = byte - 48
        elif 97 <= (byte | 32) <= 102:
            digit = (byte | 32) - 87
        else:
            break
        if value >> 60 != 0:
            return value, -1
        value = value << 4 | digit
        at += 1
    return value, at if at > start and _ends(text, at) else -1


@part
def read_decimal(text: np.ndarray, at: int) -> tuple[int, int]:
    """A whole number below 2**63, maybe negative."""
    at = skip_blanks(text, at)
    negative = text[at] == MINUS
    if negative:
        at += 1
    value, start = 0, at
    while 48 <= text[at] <= 57:
        value = value * 10 + int(np.int64(text[at]) - 48)
        at += 1
    is_whole = start < at < start + 20 and value >= 0 and _ends(text, at)  # beyond 2**63 it has become negative
    return (-value if negative else value), at if is_whole else -1


@part
def _ends(text: np.ndarray, at: int) -> bool:
    return text[at] <= SPACE or text[at] == COMMA


@part
def read_register(text: np.ndarray, at: int) -> tuple[int, int]:
    """R7, UR7, P7 or UP7; RZ, URZ, PT and UPT are NO_REGISTER.

    R255, as Accel-Sim's tracer writes RZ, is register 255: its simulator reads and reserves it like any other.
    """
    at = skip_blanks(text, at)
    uniform = text[at] == 85
    if uniform:
        at += 1
    is_predicate = text[at] == 80
    if not is_predicate and text[at] != 82:
        return NO_REGISTER, -1
    if text[at + 1] == 90 or text[at + 1] == 84:
        return NO_REGISTER, at + 2 if _ends(text, at + 2) else -1
    number, end = read_decimal(text, at + 1)
    if end < 0 or number < 0 or number > 255 or text[at + 1] <= SPACE:
        return NO_REGISTER, -1
    if is_predicate:
        return (UNIFORM_PREDICATE_REGISTER if uniform else PREDICATE_REGISTER) + number % 8, end
    if uniform:
        return UNIFORM_REGISTER + number % 64, end
    return number, end


@part
def number_of_name(
    text: np.ndarray, begin: int, end: int, held: np.ndarray, start: np.ndarray, slot: np.ndarray, count: int
) -> int:
    """The number of the name ``text[begin:end]``, ``count`` when it is new and has been added, -1 without room.

    held: uint8[NAME_BYTES], the names one after the other; start: int64[NAME_SLOTS + 1], where each begins;
    slot: int32[NAME_SLOTS], number + 1 at the hash of the name, 0 where free.
    """
    key = np.uint64(0xCBF29CE484222325)
    for at in range(begin, end):
        key = (key ^ np.uint64(text[at])) * np.uint64(0x100000001B3)
    place = np.int64(key & np.uint64(NAME_SLOTS - 1))
    while slot[place] != 0:
        number = np.int64(slot[place]) - 1
        first = start[number]
        if start[number + 1] - first == end - begin:
            same = True
            for offset in range(end - begin):
                same = same and held[first + offset] == text[begin + offset]
            if same:
                return int(number)
        place = (place + 1) & (NAME_SLOTS - 1)
    if count >= NAME_SLOTS // 2 or start[count] + end - begin > NAME_BYTES:
        return -1
    copy(text, begin, held, start[count], end - begin)
    start[count + 1] = start[count] + end - begin
    slot[place] = count + 1
    return count
