"""The meaning of integer, logic, move, comparison and warp instructions: Python's integers, lane by lane."""

from collections.abc import Callable

import numpy as np

from ptx.ir import Immediate, Instruction, Pair, Vector
from tracer import interpreter_convert, interpreter_float
from tracer.interpreter_values import UNSIGNED, Lanes, resize, splat
from tracer.lower_emit import TYPES, type_names
from tracer.lower_int import INT_COMPARISONS

Handler = Callable[[Lanes, Instruction], None]
BITS_32 = (1 << 32) - 1


def numbers(w: Lanes, i: Instruction, index: int, name: str) -> list[int]:
    """Operand ``index`` of every lane as a Python integer of type ``name``."""
    width = TYPES[name]
    sign = 1 << (width - 1) if name[0] == "s" else 0
    return [(int(bits) ^ sign) - sign for bits in w.read(i.operands[index], name)]


def put(w: Lanes, i: Instruction, values: list[int], width: int, signed: bool = False) -> None:
    """Write integers, modulo 2**width."""
    w.write(i.operands[0], np.array([v % (1 << width) for v in values], UNSIGNED[width]), signed)


def _lanewise(function: Callable[..., int], sources: int = 2) -> Handler:
    """An instruction that is a function of its operands' integers, all of the instruction's type."""

    def run(w: Lanes, i: Instruction) -> None:
        name = type_names(i)[-1]
        values = [numbers(w, i, k + 1, name) for k in range(sources)]
        put(w, i, [function(*lane) for lane in zip(*values, strict=True)], TYPES[name])

    return run


def run_mul_mad(w: Lanes, i: Instruction) -> None:
    """mul, mad and their 24-bit forms: low, high or wide part of the product."""
    name = type_names(i)[-1]
    width = TYPES[name]
    a, b = numbers(w, i, 1, name), numbers(w, i, 2, name)
    if i.opcode.endswith("24"):
        half = 1 << 23 if name[0] == "s" else 0
        a, b = ([((v & 0xFFFFFF) ^ half) - half for v in values] for values in (a, b))
    product = [x * y for x, y in zip(a, b, strict=True)]
    if "hi" in i.modifiers:
        product = [p >> width for p in product]
    out = 2 * width if "wide" in i.modifiers else width
    if i.opcode.startswith("mad"):
        product = [p + c for p, c in zip(product, numbers(w, i, 3, f"{name[0]}{out}"), strict=True)]
    put(w, i, product, out, name[0] == "s")


def _quotient(a: int, b: int) -> int:
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int:
    return a if b == 0 else a - b * _quotient(a, b)


def run_shift(w: Lanes, i: Instruction) -> None:
    """shl, shr: amounts of the width or more shift everything out."""
    name = type_names(i)[-1]
    amounts = numbers(w, i, 2, "u32")
    values = numbers(w, i, 1, name)
    width = TYPES[name]
    if i.opcode == "shl":
        put(w, i, [v << s if s < width else 0 for v, s in zip(values, amounts, strict=True)], width)
    else:
        put(w, i, [v >> min(s, width) for v, s in zip(values, amounts, strict=True)], width)


def run_funnel(w: Lanes, i: Instruction) -> None:
    """shf: 64 bits {b, a} shifted, the high (.l) or low (.r) word kept."""
    a, b, c = (numbers(w, i, k, "u32") for k in (1, 2, 3))
    by = [min(s, 32) if "clamp" in i.modifiers else s % 32 for s in c]
    both = [high << 32 | low for low, high in zip(a, b, strict=True)]
    moved = [(v << s) >> 32 if "l" in i.modifiers else v >> s for v, s in zip(both, by, strict=True)]
    put(w, i, moved, 32)


def run_count(w: Lanes, i: Instruction) -> None:
    """popc, clz, bfind: 32-bit results."""
    name = type_names(i)[-1]
    width = TYPES[name]
    values = numbers(w, i, 1, name if i.opcode == "bfind" else f"u{width}")
    if i.opcode == "popc":
        put(w, i, [v.bit_count() for v in values], 32)
    elif i.opcode == "clz":
        put(w, i, [width - v.bit_length() for v in values], 32)
    else:
        tops = [(v if v >= 0 else ~v).bit_length() - 1 for v in values]
        if "shiftamt" in i.modifiers:
            tops = [-1 if top < 0 else width - 1 - top for top in tops]
        put(w, i, tops, 32)


def run_reverse(w: Lanes, i: Instruction) -> None:
    """brev."""
    width = TYPES[type_names(i)[-1]]
    put(w, i, [int(f"{v:0{width}b}"[::-1], 2) for v in numbers(w, i, 1, f"u{width}")], width)


def run_bfe(w: Lanes, i: Instruction) -> None:
    """bfe, bit by bit as in the PTX manual."""
    name = type_names(i)[-1]
    width = TYPES[name]
    lanes = zip(numbers(w, i, 1, f"u{width}"), numbers(w, i, 2, "u32"), numbers(w, i, 3, "u32"), strict=True)
    results = []
    for a, b, c in lanes:
        pos, length = b & 0xFF, c & 0xFF
        sign = a >> min(pos + length - 1, width - 1) & 1 if name[0] == "s" and length else 0
        bits = (a >> pos + k & 1 if k < length and pos + k < width else sign for k in range(width))
        results.append(sum(bit << k for k, bit in enumerate(bits)))
    put(w, i, results, width)


def run_bfi(w: Lanes, i: Instruction) -> None:
    """bfi: the low bits of a replace those of b at a position."""
    width = TYPES[type_names(i)[-1]]
    name = f"u{width}"
    results = []
    lanes = zip(*(numbers(w, i, k, name) for k in (1, 2)), *(numbers(w, i, k, "u32") for k in (3, 4)), strict=True)
    for a, b, c, d in lanes:
        pos, length = c & 0xFF, d & 0xFF
        field = ((1 << length) - 1) << pos
        results.append(b & ~field | a << pos & field)
    put(w, i, results, width)


def run_bmsk(w: Lanes, i: Instruction) -> None:
    """bmsk: ones at a position."""
    pos, length = numbers(w, i, 1, "u32"), numbers(w, i, 2, "u32")
    if "wrap" in i.modifiers:
        pos, length = [p % 32 for p in pos], [n % 32 for n in length]
    put(w, i, [((1 << min(n, 32)) - 1) << min(p, 32) for p, n in zip(pos, length, strict=True)], 32)


def run_lop3(w: Lanes, i: Instruction) -> None:
    """lop3: any function of three bits, by its truth table."""
    table = i.operands[4]
    assert isinstance(table, Immediate)
    results = [
        sum((table.bits >> (4 * (a >> k & 1) + 2 * (b >> k & 1) + (c >> k & 1)) & 1) << k for k in range(32))
        for a, b, c in zip(*(numbers(w, i, k, "u32") for k in (1, 2, 3)), strict=True)
    ]
    put(w, i, results, 32)


def run_prmt(w: Lanes, i: Instruction) -> None:
    """prmt: each result byte is one of eight, or its sign."""
    results = []
    for a, b, c in zip(*(numbers(w, i, k, "u32") for k in (1, 2, 3)), strict=True):
        data = (b << 32 | a).to_bytes(8, "little")
        chosen = ((c >> 4 * k & 7, c >> 4 * k & 8) for k in range(4))
        out = [(255 if data[n] & 0x80 else 0) if replicate else data[n] for n, replicate in chosen]
        results.append(int.from_bytes(bytes(out), "little"))
    put(w, i, results, 32)


def run_select(w: Lanes, i: Instruction) -> None:
    """selp, slct."""
    name = next(m for m in i.modifiers if m in TYPES)
    if i.opcode == "selp":
        where = w.read(i.operands[3], "pred")
    elif type_names(i)[-1] == "s32":
        where = np.array([c >= 0 for c in numbers(w, i, 3, "s32")])
    else:
        where = interpreter_float.as_float(w.read(i.operands[3], "f32")) >= 0
    w.write(i.operands[0], np.where(where, w.read(i.operands[1], name), w.read(i.operands[2], name)))


ORDER: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip
UNSIGNED_WORDS = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def comparison(w: Lanes, i: Instruction, name: str) -> np.ndarray:
    """The result of a comparison, bool[32]."""
    if name[0] == "f":
        return interpreter_float.compare(i, w.read(i.operands[1], name), w.read(i.operands[2], name))
    word = i.modifiers[0]
    assert word in INT_COMPARISONS
    kind = f"u{TYPES[name]}" if word in UNSIGNED_WORDS else name
    test = ORDER[UNSIGNED_WORDS.get(word, word)]
    return np.array([test(a, b) for a, b in zip(numbers(w, i, 1, kind), numbers(w, i, 2, kind), strict=True)])


BOOLEAN = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _combine(w: Lanes, i: Instruction, value: np.ndarray) -> np.ndarray:
    word = next((m for m in i.modifiers if m in BOOLEAN), None)
    return BOOLEAN[word](value, w.read(i.operands[3], "pred")) if word else value


def run_setp(w: Lanes, i: Instruction) -> None:
    """setp: p = (a cmp b) op c, and q = !(a cmp b) op c."""
    value = comparison(w, i, type_names(i)[-1])
    target = i.operands[0]
    if isinstance(target, Pair):
        first, second = _combine(w, i, value), _combine(w, i, ~value)
        w.write(target.first, first)
        w.write(target.second, second)
    else:
        w.write(target, _combine(w, i, value))


def run_set(w: Lanes, i: Instruction) -> None:
    """set: all ones, or 1.0, where the comparison holds."""
    out, name = type_names(i)
    truth = 0x3F800000 if out == "f32" else BITS_32
    w.write(i.operands[0], np.where(_combine(w, i, comparison(w, i, name)), np.uint32(truth), np.uint32(0)))


def run_mov(w: Lanes, i: Instruction) -> None:
    """mov, also packing and unpacking of vectors."""
    name = type_names(i)[-1]
    width = TYPES[name]
    target, source = i.operands
    if isinstance(target, Vector):
        part = width // len(target.elements)
        value = w.read(source, name)
        for index, element in enumerate(target.elements):
            w.write(element, resize(value >> value.dtype.type(index * part), part))
    elif isinstance(source, Vector):
        part = width // len(source.elements)
        value = splat(0, width)
        for index, element in enumerate(source.elements):
            value = value | resize(w.read(element, f"b{part}"), width) << value.dtype.type(index * part)
        w.write(target, value)
    else:
        w.write(target, w.read(source, name))


def run_predicate_logic(w: Lanes, i: Instruction) -> None:
    """and, or, xor, not of registers or predicates."""
    name = type_names(i)[-1]
    a = w.read(i.operands[1], name)
    if i.opcode == "not":
        w.write(i.operands[0], ~a)
    else:
        b = w.read(i.operands[2], name)
        w.write(i.operands[0], {"and": a & b, "or": a | b, "xor": a ^ b}[i.opcode])


def run_cvta(w: Lanes, i: Instruction) -> None:
    """cvta: shared addresses are offsets, all other spaces are generic already."""
    name = type_names(i)[-1]
    base = w.machine("shared_base") if "shared" in i.modifiers else 0
    put(w, i, [v - base if "to" in i.modifiers else v + base for v in numbers(w, i, 1, name)], TYPES[name])


def run_isspacep(w: Lanes, i: Instruction) -> None:
    """isspacep: shared and local are ranges, global is the rest."""
    address = numbers(w, i, 1, "u64")
    shared = [0 <= a - w.machine("shared_base") < w.machine("shared_bytes") for a in address]
    local = [0 <= a - w.machine("local_base") < w.machine("local_total_bytes") for a in address]
    neither = [not (s or t) for s, t in zip(shared, local, strict=True)]
    w.write(
        i.operands[0], np.array(shared if "shared" in i.modifiers else local if "local" in i.modifiers else neither)
    )


def run_cvt(w: Lanes, i: Instruction) -> None:
    """cvt, in ``interpreter_convert``."""
    interpreter_convert.run_cvt(w, i)


def run_clamp(w: Lanes, i: Instruction) -> None:
    """min, max; .relu also clamps at 0."""
    name = type_names(i)[-1]
    pick = min if i.opcode == "min" else max
    results = [pick(a, b) for a, b in zip(numbers(w, i, 1, name), numbers(w, i, 2, name), strict=True)]
    put(w, i, [max(r, 0) for r in results] if "relu" in i.modifiers else results, TYPES[name])


HANDLERS: dict[str, Handler] = {
    "mul": run_mul_mad, "mad": run_mul_mad, "mul24": run_mul_mad, "mad24": run_mul_mad,
    "div": _lanewise(_quotient), "rem": _lanewise(_remainder), "min": run_clamp, "max": run_clamp,
    "neg": _lanewise(lambda a: -a, 1), "abs": _lanewise(abs, 1), "cnot": _lanewise(lambda a: int(a == 0), 1),
    "sad": _lanewise(lambda a, b, c: c + abs(a - b), 3),
    "and": run_predicate_logic, "or": run_predicate_logic, "xor": run_predicate_logic, "not": run_predicate_logic,
    "popc": run_count, "clz": run_count, "bfind": run_count, "brev": run_reverse,
    "shl": run_shift, "shr": run_shift, "shf": run_funnel, "bfe": run_bfe, "bfi": run_bfi, "bmsk": run_bmsk,
    "lop3": run_lop3, "prmt": run_prmt, "selp": run_select, "slct": run_select, "setp": run_setp, "set": run_set,
    "mov": run_mov, "cvta": run_cvta, "isspacep": run_isspacep, "cvt": run_cvt,
}  # fmt: skip
