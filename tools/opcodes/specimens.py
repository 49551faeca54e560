"""One instruction as PTX text for any form in the tables: operands that fit its modifiers, in a kernel of its own."""

import re

from rayplay.ptx.isa.form import form_of, signature
from rayplay.ptx.isa.memory import HINT
from rayplay.ptx.isa.row import Operand
from rayplay.ptx.numbers import TYPE_BYTES
from tools.opcodes.patterns import BULK, Form, spell

REGISTERS = """.reg .pred %p<40>; .reg .b16 %rs<40>; .reg .b32 %r<80>; .reg .f32 %f<80>; .reg .b64 %rd<80>;
.reg .f64 %fd<80>; .reg .b128 %rq<40>;"""
_BEFORE = dict.fromkeys(("addc", "subc", "madc"), "add.cc.u32 %r70, %r71, %r72;")
_DIMENSIONS = {"1d": 1, "2d": 2, "3d": 3, "a1d": 2, "a2d": 4, "cube": 3, "acube": 4, "2dms": 4, "a2dms": 4}
_TILE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_ELEMENT = re.compile(r"(?:ue|f|bf|tf|s|u|b|e)(\d+)(?:m\d+)?")
_FIXED = {
    "bra": "L", "brx": "%r1, targets", "call": "callee, ()", "cp.async": "[%r1], [%rd2], 16", "pmevent": "5",
    "discard": "[%rd1], 128", "applypriority": "[%rd1], 128", "setmaxnreg": "32", "cp.async.wait_group": "0",
    "cp.async.bulk.wait_group": "0", "wgmma.wait_group": "0", "cp.async.bulk.prefetch": "[%rd1], %r1",
    "cp.async.bulk.prefetch.tensor": "[%rd1, {%r1}]", "cp.async.bulk.tensor": "[%rd1], [%rd2, {%r1}], [%rd3]",
    "cp.reduce.async.bulk.tensor": "[%rd1, {%r1}], [%rd2]", "cp.reduce.async.bulk": "[%rd1], [%rd2], %r1",
    "movmatrix": "%r1, %r2", "filter_shader": "%r1",
}  # fmt: skip


def header(form: Form) -> str:
    """Version and target that a form needs."""
    opcode, words = form
    if any(word.startswith("const[") for word in words):
        return "1.4\n.target sm_13"
    old = "sync" not in words and opcode in ("shfl", "vote")
    return ("6.3\n.target sm_60" if old else "9.0\n.target sm_100a") + "\n.address_size 64"


def function(name: str, form: Form, key: str) -> str:
    """A kernel whose last instruction but ``ret`` is of the form."""
    before = _BEFORE.get(form[0], "")
    line = f"{spell(form)} {_operands(form, key)};"
    return f""".visible .entry {name}(.param .u64 given)
{{ {REGISTERS}
.param .align 16 .b8 passed[32]; {before}
targets: .branchtargets L;
{line}
L: ret; }}
"""


def _operands(form: Form, key: str) -> str:
    opcode, words = form
    special = {"tex": _texture, "tld4": _texture, "suld": _surface, "sust": _surface, "sured": _surface,
               "mma": _product, "wmma": _product, "mbarrier": _mbarrier, "cp": _copy, "fence": _fence}  # fmt: skip
    made = special[opcode](words, key) if opcode in special else None
    if made is not None or key in _FIXED:
        return made if made is not None else _FIXED[key]
    wanted = [operand for operand in signature(form_of(opcode, words)) if not operand.optional]
    return ", ".join(_operand(operand, number, words) for number, operand in enumerate(wanted, 1))


def _operand(wanted: Operand, number: int, words: tuple[str, ...]) -> str:
    if wanted.role == "a":
        if not any(word.startswith("param") for word in words):
            return "[%rd1]"
        return "[passed]" if number == 1 else "[given]"
    if wanted.role == "i":
        return "5"
    if wanted.role == "n":
        return "%rd2"
    if wanted.role == "t":
        return "[%rd2, {%r1}]"
    lanes = wanted.lanes
    if lanes > 1 or wanted.role == "M":
        return _vector(wanted.type or "b32", 4 * number, lanes)
    made = register(wanted.type or "b32", number)
    return f"{made}|%p7" if wanted.role == "q2" else made


def register(type_name: str, number: int) -> str:
    """A register that fits a type."""
    if type_name in ("pred", "f32", "f64"):
        return {"pred": "%p", "f32": "%f", "f64": "%fd"}[type_name] + str(number)
    return {1: "%rs", 2: "%rs", 4: "%r", 8: "%rd", 16: "%rq"}[TYPE_BYTES.get(type_name, 4)] + str(number)


def _vector(type_name: str, first: int, count: int) -> str:
    return "{" + ", ".join(register(type_name, first + k) for k in range(count)) + "}"


def _texture(words: tuple[str, ...], key: str) -> str:
    *_, result, coordinate = words
    geometry = next(word for word in words if word in _DIMENSIONS)
    count = _DIMENSIONS[geometry]
    lanes = 2 if "v2" in words else 4
    gradient = _vector("f32", 30, {1: 1, 2: 2, 3: 4, 4: 4}[count])
    if geometry in ("a1d", "a2d"):
        gradient = _vector("f32", 30, int(geometry[1]))
    extra = {"level": ", %f60", "grad": f", {gradient}, {gradient}"}
    at = _vector("b32" if coordinate == "s32" else "f32", 20, 4 if count == 3 else count)
    mode = next((word for word in words if word in extra), "")
    return f"{_vector('f32' if result == 'f32' else 'b32', 1, lanes)}, [%rd2, {at}]{extra.get(mode, '')}"


def _surface(words: tuple[str, ...], key: str) -> str:
    geometry = next(word for word in words if word in _DIMENSIONS)
    type_name = next(word for word in words if word in TYPE_BYTES)
    lanes = next((int(word[1]) for word in words if word in ("v2", "v4")), 1)
    at = f"[%rd2, {_vector('b32', 20, 4 if geometry in ('3d', 'a2d') else int(geometry[-2]) + (geometry[0] == 'a'))}]"
    wide = {"b8": "b16"}.get(type_name, type_name)
    data = _vector(wide, 1, lanes) if lanes > 1 else register(wide, 1)
    return f"{data}, {at}" if words and key == "suld" else f"{at}, {data}"


def _product(words: tuple[str, ...], key: str) -> str | None:
    """Fragments of mma and wmma, as many registers as the shape and the types ask for."""
    m, n, k = (int(size) for size in _TILE.fullmatch(next(w for w in words if _TILE.fullmatch(w))).groups())  # type: ignore[union-attr]
    types = [word for word in words if _ELEMENT.fullmatch(word)]
    if key in ("wmma.load", "wmma.store"):
        part = next(word for word in words if word in "abcd")
        rows, columns = {"a": (m, k), "b": (k, n)}.get(part, (m, n))
        data = _fragment(1, types[0], rows * columns, part in "cd", key)
        return f"{data}, [%rd2]" if key == "wmma.load" else f"[%rd2], {data}"
    d, a, b, c = types[:4] if len(types) >= 4 else (types[0], "f16", "f16", types[-1])
    parts = [(d, m * n, True), (a, m * k, False), (b, n * k, False), (c, m * n, True)]
    if key == "mma" and "m8n8k4" in words and a == "f16":  # four products of quads at once
        parts[0], parts[3] = (d, 4 * m * n, True), (c, 4 * m * n, True)
        parts[1] = parts[2] = (a, 4 * m * k, False)
    if "sp" in words or "sp::ordered_metadata" in words:
        parts[1] = (a, m * k // 2, False)
    made = [_fragment(16 * place + 1, *part, key) for place, part in enumerate(parts)]
    if "sp" in words or "sp::ordered_metadata" in words:
        made += ["%r70", "0"]
    if "block_scale" in words:
        made += ["%r70", "{0, 0}", "%r71", "{0, 0}"]
    return ", ".join(made)


def _fragment(first: int, type_name: str, elements: int, accumulates: bool, key: str) -> str:
    bits = int(_ELEMENT.fullmatch(type_name)[1])  # type: ignore[index]
    bits = 8 if bits < 8 and type_name[0] == "e" else 32 if type_name == "tf32" else bits
    count = max(1, elements * bits // 1024 if bits < 64 else elements // 32)
    if key.startswith("wmma") and type_name in ("f16",) and not accumulates:
        count = 8  # every element is held twice
    return _vector("b32" if bits < 32 or type_name == "tf32" else type_name, first, count)


def _mbarrier(words: tuple[str, ...], key: str) -> str | None:
    return "%rd1, [%r2], %r3" if "expect_tx" in words[1:] or "noComplete" in words else None


def _copy(words: tuple[str, ...], key: str) -> str | None:
    policy = ", %rd5" * (HINT in words)
    if key == "cp.async":
        return f"[%r1], [%rd2], 16{policy}"
    if key == "cp.async.bulk":
        counted = ", [%r4]" * (BULK in words)
        mask = ", %rs1" * ("multicast::cluster" in words or "cp_mask" in words)
        return f"[%rd1], [%rd2], %r3{counted}{mask}{policy}"
    return None


def _fence(words: tuple[str, ...], key: str) -> str:
    return "[%rd1], 128" if "tensormap::generic" in words and "acquire" in words else ""
