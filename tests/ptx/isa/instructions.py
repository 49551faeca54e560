"""Instructions made from the tables of modifiers and operands: valid ones, and ones that one change has broken."""

import itertools
import random
from collections.abc import Iterator

from rayplay.ptx.isa.form import form_of, signature
from rayplay.ptx.isa.patterns import parsed
from rayplay.ptx.isa.row import Loose, Operand
from rayplay.ptx.isa.table import TABLE
from rayplay.ptx.numbers import TYPE_BYTES

HEAD = """.version 9.0
.target sm_100a
.address_size 64
.global .align 16 .b32 table[64];
.visible .entry k(.param .u64 kp0)
{
.reg .pred %p<8>; .reg .b16 %rs<8>; .reg .b32 %r<40>; .reg .f32 %f<40>; .reg .b64 %rd<40>; .reg .f64 %fd<8>;
"""
FIRST_LINE = HEAD.count("\n") + 1
# instructions whose operands depend on more than their signature says
LEFT_OUT = frozenset((
    "mma", "mma.sp", "mma.sp::ordered_metadata", "wmma.load", "wmma.store", "wmma.mma", "bra", "brx", "call", "tex",
    "tld4", "suld", "sust", "sured", "ldmatrix", "stmatrix", "fence", "exit", "trap", "brkpt", "ret",
    "alloca", "setmaxnreg", "createpolicy", "cp.async", "cvta", "mapa", "getctarank", "isspacep", "istypep",
    "discard", "applypriority", "shfl", "vote", "pmevent", "barrier.cluster", "nanosleep", "prefetch",
    "griddepcontrol", "bar.warp", "testp", "filter_shader",
))  # fmt: skip
REPLACEMENTS = (
    "5", "-3", "1.5", "0f3F800000", "table", "%tid.x", "[%rd1]", "{%r1, %r2}", "_", "!%p3", "%nowhere", "%rs3", "%r7",
    "%rd8", "%f9", "%fd3", "%p4",
)  # fmt: skip
WORDS = (
    "sat", "ftz", "rn", "rz", "rzi", "approx", "uni", "u8", "s16", "u32", "s64", "b16", "b32", "f32", "f64", "lo",
    "wide", "cc", "global", "shared", "v2", "sync", "volatile", "gpu", "and", "lt", "popc", "nc",
)  # fmt: skip


def register(type_name: str, number: int) -> str:
    """A register of ``HEAD`` that fits the type."""
    if type_name in ("pred", "f32", "f64"):
        return {"pred": f"%p{number % 8}", "f32": f"%f{number}", "f64": f"%fd{number % 8}"}[type_name]
    return {1: f"%rs{number % 8}", 2: f"%rs{number % 8}", 4: f"%r{number}", 8: f"%rd{number}"}[TYPE_BYTES[type_name]]


def operand_text(wanted: Operand, number: int) -> str:
    """Something that fits one place of a signature."""
    if wanted.role == "a":
        return "[%rd1]"
    if wanted.role == "i":
        return "5"
    if wanted.lanes > 1:
        return "{" + ", ".join(register(wanted.type, 4 * number + lane) for lane in range(wanted.lanes)) + "}"
    made = register(wanted.type or "b32", number)
    return f"{made}|%p7" if wanted.role == "q2" else made


def expansions(key: str, most: int, chance: random.Random) -> Iterator[tuple[str, ...]]:
    """Up to ``most`` combinations of modifiers for each pattern of a key."""
    forms = TABLE[key].forms
    for pattern in map(parsed, () if isinstance(forms, Loose) else forms):
        choices = [((),) * slot.may_lack + tuple((w,) if w else () for w in slot.words) for slot in pattern]
        everything = list(itertools.islice(itertools.product(*choices), 4000))
        for chosen in everything if len(everything) <= most else chance.sample(everything, most):
            yield tuple(word for group in chosen for word in group)


def valid_lines(most: int, seed: int) -> list[str]:
    """One instruction a line, of every opcode whose operands a signature describes; no type of 128 bits."""
    chance = random.Random(seed)
    made = {}
    for key in TABLE:
        opcode = key.split(".")[0]
        if key in LEFT_OUT or opcode in LEFT_OUT:
            continue
        for words in expansions(key, most, chance):
            wanted = [o for o in signature(form_of(opcode, words)) if not o.optional]
            if any(o.role in "xXt" for o in wanted) or any("128" in word or "const[" in word for word in words):
                continue
            operands = ", ".join(operand_text(o, number) for number, o in enumerate(wanted, 1))
            made[f"{'.'.join((opcode, *words))} {operands};"] = None
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
