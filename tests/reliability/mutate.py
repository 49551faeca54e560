"""Changes of a file's bytes and of its text, each decided by a ``random.Random`` alone."""

import copy
import random
import re
from collections.abc import Callable
from typing import Any

EXTREMES = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 40, (1 << 63) - 1, (1 << 64) - 1)
NUMBERS = ("-1", "0", "1", "32", "65536", "4294967296", "9223372036854775808", "1e308", "nan", "inf", "0x", "1" * 40)
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2, 3.5, 1 << 31, 1 << 40, 1 << 63, -(1 << 62), 1e300, "", "x", "../x", [], [1], [[]], {},
    {"a": 1},
)  # fmt: skip
NUMBER = re.compile(rb"0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?")
INSERTED = (b"\0", b"\n", b"\xff", b"(", b"]", b"{", b'"', b"-", b"=", b",", b"#", b" ", b"../", b"\xc3\xa9")


def flip_bit(data: bytes, chance: random.Random) -> bytes:
    """One bit."""
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]


def change_bytes(data: bytes, chance: random.Random) -> bytes:
    """One to eight bytes anywhere."""
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 9)):
        changed[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(changed)


def change_block(data: bytes, chance: random.Random) -> bytes:
    """64 bytes of noise."""
    at = chance.randrange(len(data))
    return data[:at] + chance.randbytes(min(64, len(data) - at)) + data[at + 64 :]


def zero_run(data: bytes, chance: random.Random) -> bytes:
    """Up to 512 bytes of zeros, as a lost sector leaves."""
    at, length = chance.randrange(len(data)), chance.randrange(1, 513)
    return data[:at] + bytes(min(length, len(data) - at)) + data[at + length :]


def insert(data: bytes, chance: random.Random) -> bytes:
    """A few bytes more."""
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.randbytes(chance.randrange(1, 17)) + data[at:]


def remove(data: bytes, chance: random.Random) -> bytes:
    """Up to 64 bytes fewer."""
    at = chance.randrange(len(data))
    return data[:at] + data[at + chance.randrange(1, 65) :]


def change_characters(data: bytes, chance: random.Random) -> bytes:
    """One to four characters of a text become others."""
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 5)):
        changed[chance.randrange(len(data))] = chance.randrange(32, 127)
    return bytes(changed)


def other_value(document: Any, chance: random.Random) -> Any:
    """A JSON document in which one value is another, missing, or there twice; its syntax is whole."""
    document = copy.deepcopy(document)
    holder: Any = {"": document}
    key: Any = ""
    while isinstance(holder[key], (dict, list)) and holder[key] and (key == "" or chance.random() < 0.85):
        holder = holder[key]
        key = chance.choice(list(holder)) if isinstance(holder, dict) else chance.randrange(len(holder))
    change = chance.randrange(4)
    if change == 0 and key != "":
        del holder[key]
    elif change == 1 and isinstance(holder, list):
        holder.insert(key, holder[chance.randrange(len(holder))])
    else:
        holder[key] = copy.deepcopy(chance.choice(VALUES))
    return document if key != "" else holder[""]


def extreme_number(data: bytes, chance: random.Random) -> bytes:
    """A field of two, four or eight bytes becomes a number at the edge of its type."""
    size = chance.choice((2, 4, 8))
    at = chance.randrange(max(1, len(data) - size))
    value = chance.choice(EXTREMES) & ((1 << 8 * size) - 1)
    return data[:at] + value.to_bytes(size, "little") + data[at + size :]


def swap_pieces(data: bytes, chance: random.Random) -> bytes:
    """A piece of the file copied over another place."""
    start, at, length = chance.randrange(len(data)), chance.randrange(len(data)), chance.randrange(1, 257)
    piece = data[start : start + length]
    return data[:at] + piece + data[at + len(piece) :]


def other_number(data: bytes, chance: random.Random) -> bytes:
    """A number of a text becomes another."""
    found = list(NUMBER.finditer(data))
    if not found:
        return flip_bit(data, chance)
    match = chance.choice(found)
    return data[: match.start()] + chance.choice(NUMBERS).encode() + data[match.end() :]


def repeat_piece(data: bytes, chance: random.Random) -> bytes:
    """A piece of a text many times."""
    at, length = chance.randrange(len(data)), chance.randrange(1, 40)
    return data[:at] + data[at : at + length] * chance.randrange(2, 50) + data[at:]


def swap_lines(data: bytes, chance: random.Random) -> bytes:
    """Two lines of a text change places, or one is there twice."""
    lines = data.split(b"\n")
    one, two = chance.randrange(len(lines)), chance.randrange(len(lines))
    if chance.random() < 0.5:
        lines[one], lines[two] = lines[two], lines[one]
    else:
        lines.insert(one, lines[two])
    return b"\n".join(lines)


def insert_word(data: bytes, chance: random.Random) -> bytes:
    """A character or word that means something to some parser."""
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(INSERTED) + data[at:]


Change = Callable[[bytes, random.Random], bytes]
OF_BYTES: tuple[Change, ...] = (
    flip_bit, change_bytes, change_block, zero_run, insert, remove, extreme_number, swap_pieces,
)  # fmt: skip
OF_TEXT: tuple[Change, ...] = (
    flip_bit, change_characters, change_characters, remove, other_number, other_number, repeat_piece, swap_lines,
    insert_word, swap_pieces,
)  # fmt: skip


def mutated(data: bytes, is_text: bool, chance: random.Random) -> bytes:
    """One to three changes; never the data itself."""
    changed = data
    while changed == data:
        for _ in range(chance.choice((1, 1, 2, 3))):
            changed = chance.choice(OF_TEXT if is_text else OF_BYTES)(changed or b"\0", chance)
    return changed


def truncations(length: int, places: int, chance: random.Random) -> list[int]:
    """Lengths to cut to: ``places`` different ones, and every one of a file up to 4 KiB where 500 are asked for."""
    if length <= 4096 and places >= min(length, 500):
        return list(range(length))
    return sorted(chance.sample(range(length), min(places, length)))
