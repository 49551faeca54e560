"""The meaning of video instructions, lane by lane in Python's integers, after the PTX manual's pseudocode."""

from rayplay.ptx.ir import Instruction
from rayplay.tracer.interp.compare import ORDER
from rayplay.tracer.interp.integer import clamp, numbers, put
from rayplay.tracer.interp.values import Handler, Lanes
from rayplay.tracer.meaning import video
from rayplay.tracer.meaning.dispatch import SCALAR_VIDEO, SIMD_VIDEO, unknown


def part_of(word: int, index: int, bits: int, signed: bool) -> int:
    """A byte or half of a word as a number."""
    value = word >> index * bits & (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def _source(w: Lanes, i: Instruction, index: int, name: str) -> list[int]:
    part = video.component(i.operands[index])
    bits, place = (video.PART_BITS[part[0]], int(part[1])) if part else (32, 0)
    words = w.read(video.unsigned_operand(i.operands[index]), "u32")
    return [part_of(int(word), place, bits, name[0] == "s") for word in words]


def primary(i: Instruction, a: int, b: int) -> int:
    """The operation itself."""
    match i.opcode.rstrip("24"):
        case "vadd":
            return a + b
        case "vsub":
            return a - b
        case "vabsdiff":
            return abs(a - b)
        case "vmin":
            return min(a, b)
        case "vmax":
            return max(a, b)
        case "vavrg":
            return (a + b + 1) >> 1 if a + b >= 0 else (a + b) >> 1
        case "vset":
            return int(ORDER[i.form.compare](a, b))
    amount = b % 32 if i.form.bounds == "wrap" else min(b, 32)
    return a << amount if i.opcode == "vshl" else a >> amount


def run_scalar_video(w: Lanes, i: Instruction) -> None:
    """vadd, vsub, vabsdiff, vmin, vmax, vshl, vshr, vset: compute, clamp, then combine with c or merge into it."""
    types = i.form.types
    kind = "u" if i.opcode == "vset" else types[0][0]
    a, b = (_source(w, i, index, types[index - 3]) for index in (1, 2))
    values = [primary(i, x, y) for x, y in zip(a, b, strict=True)]
    part = video.component(i.operands[0])
    bits = video.PART_BITS[part[0]] if part else 32
    if i.form.saturates:
        values = [clamp(value, kind, bits) for value in values]
    if len(i.operands) > 3:
        third = numbers(w, i, 3, f"{kind}32")
        values = [_with_third(i, part, value, c, kind) for value, c in zip(values, third, strict=True)]
    put(w, i, values, 32)


def _with_third(i: Instruction, part: str, value: int, c: int, kind: str) -> int:
    if part:
        bits = video.PART_BITS[part[0]]
        place = int(part[1]) * bits
        mask = ((1 << bits) - 1) << place
        return value << place & mask | c & ~mask
    word = i.form.operation
    value &= (1 << 32) - 1
    if kind == "s" and value >> 31:
        value -= 1 << 32
    return value + c if word == "add" else min(value, c) if word == "min" else max(value, c)


def run_vmad(w: Lanes, i: Instruction) -> None:
    """vmad: the product of two parts plus c, plus 1 with .po, shifted right and clamped where asked."""
    types = i.form.types
    minus_product, minus_c = video.vmad_signs(unknown(w.activation.linked.module, i), i)
    kind = "s" if "s" in (types[1][0], types[2][0]) or minus_product or minus_c else "u"
    lanes = zip(*(_source(w, i, k, name) for k, name in ((1, types[1]), (2, types[2]), (3, kind))), strict=True)
    values = [
        ((-a if minus_product else a) * b + (-c if minus_c else c) + i.form.plus_one) >> i.form.shift
        for a, b, c in lanes
    ]
    put(w, i, [clamp(value, kind, 32) for value in values] if i.form.saturates else values, 32)


def run_simd_video(w: Lanes, i: Instruction) -> None:
    """The operation on all bytes or halves; the chosen results replace parts of c, or are added to it."""
    count = int(i.opcode[-1])
    bits = 32 // count
    types = i.form.types
    kind = "u" if i.opcode.startswith("vset") else types[0][0]
    mask = video.component(i.operands[0])
    chosen = [int(digit) for digit in mask[1:]] if mask else list(range(count))
    places = [video.selection(video.component(i.operands[k]), count, (k - 1) * count) for k in (1, 2)]
    signs = [name[0] == "s" for name in types[-2:]]
    results = []
    for a, b, c in zip(*(numbers(w, i, k, "u32") for k in (1, 2, 3)), strict=True):
        total = c
        for index in chosen:
            pair = (
                part_of((a, b)[places[k][index] // count], places[k][index] % count, bits, signs[k]) for k in (0, 1)
            )
            value = primary(i, *pair)
            if i.form.saturates:
                value = clamp(value, kind, bits)
            if i.form.operation == "add":
                total += value
            else:
                field = (1 << bits) - 1
                total = total & ~(field << index * bits) | (value & field) << index * bits
        results.append(total)
    put(w, i, results, 32)


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(SCALAR_VIDEO, run_scalar_video),
    **dict.fromkeys(SIMD_VIDEO, run_simd_video), "vmad": run_vmad,
}  # fmt: skip
