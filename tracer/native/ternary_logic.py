"""Guard against a fault of LLVM up to 22.1: a wrong truth table in masked ternary logic of AVX-512.

``(x & C) | (y & ~C)`` becomes one VPTERNLOG; where a ``select`` of it and x or y follows, the two become one
instruction under a mask, and an operand in memory makes LLVM rotate the operands. The tables of the two rotations were
exchanged (llvm-project issue 157929, mended by pull request 209782). Only merging instructions under a mask with an
operand in memory rotate, so code without any of them is right whatever the program.
"""

import re

import llvmlite.binding as llvm


def _bytes_with(bits: int, value: int) -> bytes:
    """A set of a regular expression: the bytes whose ``bits`` are ``value``."""
    return b"[" + b"".join(rb"\x%02x" % byte for byte in range(256) if byte & bits == value) + b"]"


_EVEX_0F3A_66 = rb"\x62" + _bytes_with(0x07, 3) + _bytes_with(0x07, 5)
_MASK = b"(?!" + _bytes_with(0x07, 0) + b")" + _bytes_with(0x80, 0)  # a mask register, and no zeroing
_TERNARY_OF_MEMORY = rb"\x25[\x00-\xbf]"  # VPTERNLOG, and a ModRM that is not of registers alone
_SUSPECT = re.compile(_EVEX_0F3A_66 + _MASK + _TERNARY_OF_MEMORY, re.DOTALL)
_SELECT = re.compile(
    r"^  (?P<result>%\S+) = select (?P<condition>.*<\d+ x i1> %\S+), "
    r"(?P<type><(?P<lanes>\d+) x (?P<element>i8|i16|i32|i64|half|float|double)>) (?P<one>.+), (?P=type) (?P<other>.+)$",
    re.MULTILINE,
)
_BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "half": 16, "float": 32, "double": 64}


def is_suspect(code: bytes) -> bool:
    """Whether machine code may have a ternary operation that LLVM got wrong; true by accident harms nothing."""
    return _SUSPECT.search(code) is not None


def is_suspect_object(data: bytes) -> bool:
    """``is_suspect`` of the code in an object file."""
    sections = llvm.ObjectFileRef.from_data(data).sections()
    return any(is_suspect(section.data()) for section in sections if section.is_text())


def fenced(text: str) -> str:
    """LLVM IR whose vector selects take their operands from behind a fence, which no logic operation merges through."""
    return _SELECT.sub(_with_fences, text)


def _with_fences(match: re.Match[str]) -> str:
    kind, result = match["type"], match["result"]
    words, odd = divmod(int(match["lanes"]) * _BITS[match["element"]], 32)
    if odd:
        return match[0]
    floats = f"<{words} x float>"
    lines, names = [], []
    for side in ("one", "other"):
        value = match[side]
        if value.startswith("%"):
            stem = f"%fence.{side}.{result[1:]}"
            lines += [
                f"{stem}.in = bitcast {kind} {value} to {floats}",
                f"{stem}.out = call {floats} @llvm.arithmetic.fence.v{words}f32({floats} {stem}.in)",
                f"{stem} = bitcast {floats} {stem}.out to {kind}",
            ]
            value = stem
        names.append(value)
    lines.append(f"{result} = select {match['condition']}, {kind} {names[0]}, {kind} {names[1]}")
    return "\n".join(f"  {line}" for line in lines)
