"""Instructions made from the tables of modifiers and operands: valid ones, and ones that one change has broken."""

import itertools
import random
from collections.abc import Iterator

from rayplay.ptx.isa.patterns import ROUNDINGS, parsed
from rayplay.ptx.isa.row import Loose
from rayplay.ptx.isa.table import TABLE
from rayplay.tracer.opcodes.specimens import REGISTERS, instruction

HEAD = (
    """.version 9.0
.target sm_100a
.address_size 64
.global .align 16 .b32 table[64];
.visible .entry k(.param .u64 given)
{
"""
    + REGISTERS
    + "\n.param .align 16 .b8 passed[32];\n"
)
FIRST_LINE = HEAD.count("\n") + 1
LEFT_OUT = frozenset(("bra", "brx", "call", "exit", "trap", "brkpt", "ret", "alloca", "setmaxnreg", "filter_shader"))
REPLACEMENTS = (
    "5", "-3", "1.5", "0f3F800000", "table", "%tid.x", "[%rd1]", "{%r1, %r2}", "_", "!%p3", "%nowhere", "%rs3", "%r7",
    "%rd8", "%f9", "%fd3", "%p4",
)  # fmt: skip
WORDS = (
    "sat", "ftz", "rn", "rz", "rzi", "approx", "uni", "u8", "s16", "u32", "s64", "b16", "b32", "f32", "f64", "lo",
    "wide", "cc", "global", "shared", "v2", "sync", "volatile", "gpu", "and", "lt", "popc", "nc",
)  # fmt: skip


def expansions(key: str, most: int, chance: random.Random) -> Iterator[tuple[str, ...]]:
    """Up to ``most`` combinations of modifiers for each pattern of a key."""
    for pattern in map(parsed, TABLE[key].patterns):
        choices = [((),) * slot.may_lack + tuple((w,) if w else () for w in slot.words) for slot in pattern]
        everything = list(itertools.islice(itertools.product(*choices), 4000))
        for chosen in everything if len(everything) <= most else chance.sample(everything, most):
            yield tuple(word for group in chosen for word in group)


def valid_lines(most: int, seed: int) -> list[str]:
    """One instruction a line, of every opcode whose forms the table knows; no type of 128 bits."""
    chance = random.Random(seed)
    made = {}
    for key, op in TABLE.items():
        if op.opcode in LEFT_OUT or isinstance(op.forms, Loose):
            continue
        for words in expansions(key, most, chance):
            is_early = op.opcode in ("shfl", "vote") and "sync" not in words
            is_early |= op.opcode == "mad" and words[-1] in ("f32", "f64") and not ROUNDINGS & set(words)
            if not is_early and not any("128" in word or "const[" in word for word in words):
                made[instruction((op.opcode, words), key)] = None
    return list(made)


def broken(line: str, chance: random.Random) -> str:
    """The line after one change to its modifiers or operands; a few changes leave it valid."""
    head, _, rest = line.rstrip(";").partition(" ")
    words, operands = head.split("."), split_operands(rest)
    change = chance.randrange(6)
    if change == 0 and len(words) > 1:
        del words[chance.randrange(1, len(words))]
    elif change == 1:
        words.insert(chance.randrange(1, len(words) + 1), chance.choice(WORDS))
    elif change == 2 and operands:
        del operands[chance.randrange(len(operands))]
    elif change == 3:
        operands.insert(chance.randrange(len(operands) + 1), chance.choice(REPLACEMENTS))
    elif operands:
        operands[chance.randrange(len(operands))] = chance.choice(REPLACEMENTS)
    return f"{'.'.join(words)} {', '.join(operands)};"


def split_operands(text: str) -> list[str]:
    """Operands at the commas outside of brackets."""
    made, depth, current = [], 0, ""
    for letter in text:
        depth += (letter in "{[") - (letter in "}]")
        if letter == "," and depth == 0:
            made.append(current.strip())
            current = ""
        else:
            current += letter
    return [*made, current.strip()] if current.strip() else made
