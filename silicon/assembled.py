"""Latencies of PTX operations as the assembler schedules them: stalls and waits in the control codes of machine code.

From Volta on an instruction has 128 bits, 21 of them for control: cycles until the next one issues, a barrier that is
released with its result where its latency varies, the barriers that it waits for. ``ptxas`` assembles a chain of an
operation in two lengths. The codes are followed as a warp that is alone on its scheduler follows them; the difference
is the operation's latency. Calls, which special operands take, are passed by. The codes do not have the latency of the
special function unit: it is the calibration row ``ptx:ex2.approx``. Source:
``docs/sources/measurements.md#latencies-of-assembled-operations``.

``python -m silicon.assembled sm_90`` prints the operations of an architecture.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SHORT, LONG = 16, 48
MUFU_CYCLES = 16  # calibration row ptx:ex2.approx of TITAN V and TITAN RTX
EXIT, BRANCH = 0x94D, 0x947
CALLS = (0x943, 0x944)
ALWAYS = 7  # guard
BARRIERS, NO_BARRIER = 6, 7
INSTRUCTION_BYTES = 16

OPERATIONS = {
    "ex2.approx.ftz.f32": "ex2.approx.ftz.f32 %f1, %f1;",
    "lg2.approx.f32": "lg2.approx.f32 %f1, %f1;",
    "lg2.approx.ftz.f32": "lg2.approx.ftz.f32 %f1, %f1;",
    "rcp.approx.f32": "rcp.approx.f32 %f1, %f1;",
    "sqrt.approx.f32": "sqrt.approx.f32 %f1, %f1;",
    "sqrt.approx.ftz.f32": "sqrt.approx.ftz.f32 %f1, %f1;",
    "rsqrt.approx.f32": "rsqrt.approx.f32 %f1, %f1;",
    "rsqrt.approx.ftz.f32": "rsqrt.approx.ftz.f32 %f1, %f1;",
    "sin.approx.f32": "sin.approx.f32 %f1, %f1;",
    "cos.approx.f32": "cos.approx.f32 %f1, %f1;",
    "rcp.rn.f32": "rcp.rn.f32 %f1, %f1;",
    "sqrt.rn.f32": "sqrt.rn.f32 %f1, %f1;",
    "div.approx.f32": "div.approx.f32 %f1, %f2, %f1;",
    "div.full.f32": "div.full.f32 %f1, %f2, %f1;",
    "div.u32": "div.u32 %r1, %r1, %r2;",
    "div.s32": "div.s32 %r1, %r1, %r2;",
    "rem.u32": "rem.u32 %r1, %r1, %r2;",
    "clz.b32": "clz.b32 %r1, %r1;",
}
"""Operations whose latency is a sequence of machine instructions, each as a chain's link."""


@dataclass(frozen=True)
class Control:
    """An instruction's opcode, guard, control code, and for a branch the distance to its target in instructions."""

    opcode: int
    guard: int
    stall: int
    sets: int
    waits: int
    distance: int


def latency(operation: str, architecture: str) -> float:
    """Cycles of ``operation``, a key of ``OPERATIONS``, in a chain assembled for ``architecture``, such as sm_90.

    Raises ``OSError`` without ptxas, ``CalledProcessError`` where it does not know the architecture.
    """
    few, many = (cycles(assemble(operation, length, architecture)) for length in (SHORT, LONG))
    return (many - few) / (LONG - SHORT)


def cycles(code: list[Control]) -> int:
    """Cycles to the end of a kernel that no slow path is taken in."""
    now, at, released = 0, 0, [0] * BARRIERS
    while at < len(code) and code[at].opcode != EXIT:
        each = code[at]
        now = max([now, *(released[k] for k in range(BARRIERS) if each.waits >> k & 1)])
        if each.sets != NO_BARRIER:
            released[each.sets] = now + MUFU_CYCLES
        now += max(each.stall, 1)
        at += 1 + (each.distance if is_taken(code, at) else 0)
    return now


def is_taken(code: list[Control], at: int) -> bool:
    """Whether a branch goes forward always, or past a call."""
    each = code[at]
    if each.opcode != BRANCH or each.distance <= 0:
        return False
    return each.guard == ALWAYS or any(code[k].opcode in CALLS for k in range(at + 1, at + 1 + each.distance))


def assemble(operation: str, length: int, architecture: str) -> list[Control]:
    """Control codes of a chain of ``length`` operations on values that differ by lane."""
    with tempfile.TemporaryDirectory(prefix="rayplay-assembled-") as folder:
        source, binary = Path(folder) / "chain.ptx", Path(folder) / "chain.cubin"
        source.write_text(chain(operation, length, architecture))
        subprocess.run(["ptxas", "-arch", architecture, source, "-o", binary], check=True, capture_output=True)
        return list(controls(section(binary.read_bytes(), ".text.chain"), architecture))


def chain(operation: str, length: int, architecture: str) -> str:
    """PTX of a chain."""
    links = "\n    ".join([OPERATIONS[operation]] * length)
    return f""".version 8.0
.target {architecture}
.address_size 64
.visible .entry chain(.param .u64 out, .param .u32 seed)
{{
    .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .b64 %b<4>;
    ld.param.u64 %b1, [out];
    ld.param.u32 %r2, [seed];
    mov.u32 %r1, %tid.x;
    add.u32 %r2, %r2, %r1;
    mul.wide.u32 %b2, %r1, 8;
    add.u64 %b1, %b1, %b2;
    mov.b32 %f1, %r1; mov.b32 %f2, %r2;
    {links}
    st.global.u32 [%b1], %r1;
    st.global.f32 [%b1+4], %f1;
    ret;
}}
"""


def section(binary: bytes, name: str) -> bytes:
    """A section of an ELF file of 64 bits."""
    start = int.from_bytes(binary[40:48], "little")
    size, count, names = (int.from_bytes(binary[at : at + 2], "little") for at in (58, 60, 62))
    headers = [binary[start + k * size : start + (k + 1) * size] for k in range(count)]
    places = [(int.from_bytes(h[24:32], "little"), int.from_bytes(h[32:40], "little")) for h in headers]
    texts = binary[places[names][0] : sum(places[names])]
    for header, (offset, length) in zip(headers, places, strict=True):
        text = texts[int.from_bytes(header[:4], "little") :]
        if text[: text.index(b"\0")].decode() == name:
            return binary[offset : offset + length]
    raise ValueError(f"no section {name}")


def controls(code: bytes, architecture: str) -> Iterator[Control]:
    """The instructions' control codes."""
    words = np.frombuffer(code, "<u8").reshape(-1, INSTRUCTION_BYTES // 8).tolist()
    for low, high in words:
        word = low | high << 64
        opcode, guard = word & 0xFFF, word >> 12 & 15
        control = word >> 105
        yield Control(
            opcode, guard, control & 15, control >> 5 & 7, control >> 11 & 63,
            distance_of(word, architecture) if opcode == BRANCH else 0,
        )  # fmt: skip


def distance_of(word: int, architecture: str) -> int:
    """Instructions between a branch and its target."""
    if architecture >= "sm_90":
        found = (word >> 34 & (1 << 40) - 1) << 8 | word >> 16 & 255
        return _signed(found, 48) * 4 // INSTRUCTION_BYTES
    return _signed(word >> 32 & (1 << 32) - 1, 32) // INSTRUCTION_BYTES


def _signed(number: int, bits: int) -> int:
    return number - (1 << bits) if number >> (bits - 1) else number


if __name__ == "__main__":
    for each in OPERATIONS:
        print(f"{each:<22}{latency(each, sys.argv[1]):>8.2f}")
