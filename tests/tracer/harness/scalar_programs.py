"""Programs of scalar instructions for tests: operands of any form, and a kernel that runs them."""

from rayplay.ptx.isa.types import TYPES

LETTER = {1: "p", 8: "c", 16: "h", 32: "r", 64: "l", 128: "q"}
SOURCES = 3  # registers of each width that hold inputs: %h1 to %h3, %r1 to %r3, %l1 to %l3
VIDEO_THREE = ("add", "min", "max")

Form = tuple[str, tuple[str, ...]]


def register(type_name: str, number: int) -> str:
    """The register ``number`` that holds a value of a type."""
    width = TYPES[type_name]
    return f"%{LETTER[width if width != 8 else 16]}{number}"


def types_of(form: Form) -> list[str]:
    """Type modifiers in order."""
    return [m for m in form[1] if m in TYPES]


def signature(form: Form) -> tuple[list[str], list[str]]:
    """Types of destinations and sources of a form; a trailing ``!`` is a predicate that may be left out."""
    opcode, modifiers = form
    types = types_of(form)
    first, last = types[0], types[-1]
    wide = f"{last[0]}{2 * TYPES[last]}" if "wide" in modifiers else last
    same = {
        "abs": 1, "neg": 1, "not": 1, "cnot": 1, "brev": 1, "rcp": 1, "sqrt": 1, "rsqrt": 1, "sin": 1, "cos": 1,
        "lg2": 1, "ex2": 1, "tanh": 1, "mov": 1, "sad": 3, "fma": 3, "madc": 3, "mad24": 3,
    }  # fmt: skip
    special = {
        "popc": (["u32"], [last]), "clz": (["u32"], [last]), "bfind": (["u32"], [last]),
        "fns": (["b32"], ["b32", "b32", "s32"]), "bfe": ([last], [last, "u32", "u32"]),
        "bfi": ([last], [last, last, "u32", "u32"]), "szext": ([last], [last, "u32"]),
        "bmsk": (["b32"], ["u32", "u32"]), "dp4a": (["u32"], ["u32"] * 3), "dp2a": (["u32"], ["u32"] * 3),
        "shl": ([last], [last, "u32"]), "shr": ([last], [last, "u32"]), "shf": (["b32"], ["b32", "b32", "u32"]),
        "prmt": (["b32"], ["b32"] * 3), "testp": (["pred"], [last]), "selp": ([last], [last, last, "pred"]),
        "slct": ([first], [first, first, last]), "mad": ([wide], [last, last, wide]), "mul": ([wide], [last, last]),
        "lop3": (["b32"], ["b32"] * 3), "fma": ([last], [last] * 3),
    }  # fmt: skip
    if opcode in ("add", "sub", "fma") and len(types) == 2:  # f32 with half precision factors
        return ["f32"], [last, "f32"] if opcode != "fma" else [last, last, "f32"]
    if opcode in ("min", "max") and "abs" in modifiers and "xorsign" not in modifiers:
        return [last], [last] * 3
    if opcode in special:
        return special[opcode]
    if opcode in ("set", "setp"):
        combined = ["pred"] if {"and", "or", "xor"} & set(modifiers) else []
        targets = [first] if opcode == "set" else ["pred", "pred"] if last.endswith("x2") else ["pred"]
        return targets, [last, last, *combined]
    if opcode == "cvt":
        return _cvt(modifiers, first, last)
    if opcode[0] == "v":
        simd = opcode[-1] in "24"
        three = simd or opcode == "vmad" or set(VIDEO_THREE) & set(modifiers)
        return ["u32"], ["u32"] * (3 if three else 2)
    return [last], [last] * same.get(opcode, 2)


def _cvt(modifiers: tuple[str, ...], first: str, last: str) -> tuple[list[str], list[str]]:
    if "pack" in modifiers:
        return ["u32"], ["s32"] * (3 if last == "b32" else 2)
    two = first.endswith("x2") and last == "f32"
    target = "u32" if TYPES[first] == 8 and not first.endswith("x2") else first
    return [target], [last] * (1 + two)


def operands(form: Form, numbers: tuple[int, ...] = (1, 2, 3)) -> tuple[str, list[str]]:
    """The operand text of a form, and the registers that it writes."""
    targets, sources = signature(form)
    written = [register(name, 4 + k) for k, name in enumerate(targets)]
    words = [register(name, numbers[k % len(numbers)]) for k, name in enumerate(sources)]
    if form[0] == "lop3":
        words.append("0x6A")
        if len(form[1]) > 1:
            words, written = [*words, "%p1"], [*written, "%p5"]
    return ", ".join(["|".join(written), *words]), written


def spell(form: Form) -> str:
    """The opcode with its modifiers."""
    return ".".join((form[0], *form[1]))


def kernel(forms: list[Form], threads: int) -> str:
    """A kernel that runs each form on a thread's inputs and stores what it writes, 16 bytes per form and thread.

    x holds three words per thread, y three double words; half words are the low halves of the double words.
    """
    lines = []
    for index, form in enumerate(forms):
        text, written = operands(form)
        at = 16 * threads * index
        lines.append(f"{spell(form)} {text};")
        for number, name in enumerate(written):
            lines += store(name, at + 8 * number)
    return PROLOGUE.format(x=threads * 4, xx=threads * 8, y=threads * 8, yy=threads * 16, body="\n".join(lines))


def store(name: str, at: int) -> list[str]:
    """Instructions that store a register at an offset from the result of the thread."""
    if name[1] == "p":
        return [f"selp.b32 %r19, 1, 0, {name};", f"st.global.b32 [%at+{at}], %r19;"]
    if name[1] == "q":
        return [f"mov.b128 {{%l18, %l19}}, {name};", f"st.global.v2.b64 [%at+{at}], {{%l18, %l19}};"]
    return [f"st.global.b{ {'c': 8, 'h': 16, 'r': 32, 'l': 64}[name[1]] } [%at+{at}], {name};"]


PROLOGUE = """
.visible .entry test(.param .u64 x, .param .u64 y, .param .u64 z)
{{
    .reg .pred %p<6>;
    .reg .b8 %c<6>;
    .reg .b16 %h<6>;
    .reg .b32 %r<20>;
    .reg .b64 %l<20>;
    .reg .b128 %q<6>;
    .reg .b64 %at;
    mov.u32 %r10, %tid.x;
    ld.param.u64 %l10, [x];
    ld.param.u64 %l11, [y];
    ld.param.u64 %at, [z];
    mul.wide.u32 %l12, %r10, 4;
    mul.wide.u32 %l13, %r10, 8;
    mul.wide.u32 %l14, %r10, 16;
    add.u64 %l10, %l10, %l12;
    add.u64 %l11, %l11, %l13;
    add.u64 %at, %at, %l14;
    ld.global.u32 %r1, [%l10];
    ld.global.u32 %r2, [%l10+{x}];
    ld.global.u32 %r3, [%l10+{xx}];
    ld.global.u64 %l1, [%l11];
    ld.global.u64 %l2, [%l11+{y}];
    ld.global.u64 %l3, [%l11+{yy}];
    mov.b64 {{%h1, _, _, _}}, %l1;
    mov.b64 {{%h2, _, _, _}}, %l2;
    mov.b64 {{%h3, _, _, _}}, %l3;
    mov.b128 %q1, {{%l1, %l2}};
    mov.b128 %q2, {{%l2, %l3}};
    setp.lt.s32 %p1, %r3, 0;
    setp.lt.s32 %p2, %r2, 0;
    setp.lt.s32 %p3, %r1, 0;
    add.cc.u32 %r11, %r2, %r3;
{body}
    ret;
}}
"""
