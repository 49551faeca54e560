"""The forms of scalar instructions: which modifiers each opcode takes, and in which combinations.

A pattern is a row of slots. ``a|b`` takes one of the words, ``a|b?`` one or none. ``ptxas`` takes modifiers in any
order, so do patterns; only types keep theirs (``cvt.f32.s32`` is not ``cvt.s32.f32``). What matches no pattern
(``ptx.isa.modifiers``) is no instruction that can be executed, so that no modifier is ever ignored. Source: PTX ISA 9.0
sections 9.7.1 to 9.7.9.
"""

from collections.abc import Iterator
from functools import cache
from itertools import product

WORDS = {
    "INT": "u16|s16|u32|s32|u64|s64", "INT8": "u8|s8|u16|s16|u32|s32|u64|s64", "WORD": "u32|s32", "LONG": "u64|s64",
    "CARRIED": "u32|s32|u64|s64", "PACKED": "u16x2|s16x2", "RND": "rn|rz|rm|rp", "IRND": "rni|rzi|rmi|rpi",
    "BITS": "b16|b32|b64", "HALF": "f16|f16x2", "BRAIN": "bf16|bf16x2", "BOOL": "and|or|xor",
    "EQ": "eq|ne", "ORDER": "eq|ne|lt|le|gt|ge", "UORDER": "eq|ne|lt|le|gt|ge|lo|ls|hi|hs",
    "FORDER": "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan", "ANY": "b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64",
}  # fmt: skip

_SUM = (
    "INT", "sat s32", "cc CARRIED", "RND? ftz? sat? f32", "RND? f64", "RND? ftz? f32x2", "rn? ftz? sat? HALF",
    "rn? BRAIN", "RND? sat? f32 f16|bf16",
)  # fmt: skip
_EXTREME = (
    "u16|u32|u64|u16x2|s16|s64", "relu? s16x2|s32", "ftz? NaN? f32", "ftz? NaN? xorsign abs f32", "ftz? NaN? abs f32",
    "f64", "ftz? NaN? HALF", "ftz? NaN? xorsign abs HALF", "NaN? BRAIN", "NaN? xorsign abs BRAIN",
)  # fmt: skip
_COMPARE = (
    "EQ BITS", "ORDER s16|s32|s64", "UORDER u16|u32|u64", "FORDER ftz? f32|f16", "FORDER f64|bf16",
)  # fmt: skip
_COMPARE_ALL = tuple(pattern.replace(" ", f" {extra}", 1) for pattern in _COMPARE for extra in ("", "BOOL "))
_PAIRS = ("FORDER ftz? f16x2", "FORDER BOOL ftz? f16x2", "FORDER bf16x2", "FORDER BOOL bf16x2")
_LEGS = ("EQ BOOL? {} BITS", "ORDER BOOL? {} s16|s32|s64", "UORDER BOOL? {} u16|u32|u64", "FORDER BOOL? {} f64")
_ROUND32 = ("RND ftz? f32", "RND f64")
_VIDEO = ("WORD WORD WORD sat? add|min|max?",)
_VIDEO_SIMD = ("WORD WORD WORD sat?", "WORD WORD WORD add")
_SMALL = "e4m3x2|e5m2x2"
_SMALLER = "e2m1x2|e2m3x2|e3m2x2"

PATTERNS: dict[str, tuple[str, ...]] = {
    "add": (*_SUM, "PACKED"), "sub": _SUM, "addc": ("cc? CARRIED",), "subc": ("cc? CARRIED",),
    "mul": ("lo|hi INT", "wide u16|s16|u32|s32", "RND? ftz? sat? f32", "RND? f64", "RND? ftz? f32x2",
            "rn? ftz? sat? HALF", "rn? BRAIN"),
    "mad": ("lo|hi INT", "wide u16|s16|u32|s32", "hi sat s32", "lo|hi cc CARRIED", "RND? ftz? sat? f32", "RND? f64"),
    "madc": ("lo|hi cc? CARRIED",), "mul24": ("lo|hi WORD",), "mad24": ("lo|hi WORD", "hi sat s32"),
    "fma": ("RND ftz? sat? f32", "RND f64", "RND ftz? f32x2", "rn ftz? sat|relu? HALF", "rn relu? BRAIN",
            "RND sat? f32 f16|bf16"),
    "sad": ("INT",), "div": ("INT", "approx|full|RND ftz? f32", "RND f64"), "rem": ("INT",),
    "abs": ("s16|s32|s64", "ftz? f32|HALF", "f64|BRAIN"), "neg": ("s16|s32|s64", "ftz? f32|HALF", "f64|BRAIN"),
    "min": _EXTREME, "max": _EXTREME, "copysign": ("f32|f64",),
    "testp": ("finite|infinite|number|notanumber|normal|subnormal f32|f64",),
    "rcp": ("approx ftz? f32", *_ROUND32, "approx ftz f64"), "sqrt": ("approx ftz? f32", *_ROUND32),
    "rsqrt": ("approx ftz? f32", "approx ftz? f64"), "sin": ("approx ftz? f32",), "cos": ("approx ftz? f32",),
    "lg2": ("approx ftz? f32",), "ex2": ("approx ftz? f32", "approx HALF", "approx ftz BRAIN"),
    "tanh": ("approx f32|HALF|BRAIN",),
    "popc": ("b32|b64",), "clz": ("b32|b64",), "bfind": ("shiftamt? CARRIED",), "brev": ("b32|b64",), "fns": ("b32",),
    "bfe": ("CARRIED",), "bfi": ("b32|b64",), "szext": ("clamp|wrap WORD",), "bmsk": ("clamp|wrap b32",),
    "dp4a": ("WORD WORD",), "dp2a": ("lo|hi WORD WORD",),
    "and": ("pred|BITS",), "or": ("pred|BITS",), "xor": ("pred|BITS",), "not": ("pred|BITS",), "cnot": ("BITS",),
    "lop3": ("or|and? b32",), "shl": ("BITS",), "shr": ("BITS|INT",), "shf": ("l|r clamp|wrap b32",),
    "prmt": ("b32 f4e|b4e|rc8|ecl|ecr|rc16?",),
    "set": (*(leg.format("u32|s32|f32|f16|bf16") for leg in _LEGS), "FORDER BOOL? ftz? u32|s32|f32|f16 f32",
            "FORDER BOOL? bf16 f32",
            "FORDER BOOL? ftz? f16|u16|s16|u32|s32 f16", "FORDER BOOL? bf16|u16|s16|u32|s32 bf16",
            "FORDER BOOL? ftz? f16x2|u32|s32 f16x2", "FORDER BOOL? bf16x2|u32|s32 bf16x2"),
    "setp": (*_COMPARE_ALL, *_PAIRS),
    "selp": ("ANY",), "slct": ("ANY s32", "ftz? ANY f32"), "mov": ("pred|ANY|b128", "v2|v4 ANY"),
    "cvt": (
        "sat? INT8 INT8", "IRND ftz? sat? INT8 f32", "IRND sat? INT8 f64|f16", "IRND INT8 bf16",
        "RND ftz? sat? f32 INT8", "RND sat? f64|f16 INT8", "RND bf16 INT",
        "RND ftz? sat? f32 f64", "ftz? sat? f64 f32", "ftz? sat? f32 f16", "rn? ftz? f32 bf16",
        "sat? f64 f16", "f64 bf16",
        "RND ftz? sat? f16 f32", "RND sat? f16 f64", "IRND? ftz? sat? f32 f32", "IRND? sat? f64 f64",
        "IRND? sat? f16 f16", "IRND? bf16 bf16", "RND bf16 f16|f64", "RND? f16 bf16",
        "rn|rz relu? satfinite? f16|bf16 f32", "rn|rz relu? satfinite? f16x2|bf16x2 f32",
        "rm|rp bf16 f32", "RND ftz relu? satfinite? bf16 f32", "rna satfinite? tf32 f32",
        "rn|rz relu? satfinite? tf32 f32",
        f"rn satfinite relu? {_SMALL} f32|f16x2", f"rn relu? f16x2 {_SMALL}",
        f"rn satfinite relu? {_SMALLER} f32", f"rn relu? f16x2 {_SMALLER}",
        "rz|rp satfinite? ue8m0x2 f32|bf16x2", "rn bf16x2 ue8m0x2",
        "pack sat u16|s16 s32", "pack sat u8|s8|u4|s4|u2|s2 s32 b32",
    ),
    "vadd": _VIDEO, "vsub": _VIDEO, "vabsdiff": _VIDEO, "vmin": _VIDEO, "vmax": _VIDEO,
    "vshl": ("WORD WORD u32 sat? clamp|wrap add|min|max?",), "vshr": ("WORD WORD u32 sat? clamp|wrap add|min|max?",),
    "vmad": ("WORD WORD WORD po? sat? shr7|shr15?",), "vset": ("WORD WORD ORDER add|min|max?",),
    **{f"{name}{width}": _VIDEO_SIMD for name in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax")
       for width in (2, 4)},
    "vset2": ("WORD WORD ORDER add?",), "vset4": ("WORD WORD ORDER add?",),
}  # fmt: skip

Slots = tuple[tuple[tuple[str, ...], bool], ...]


@cache
def forms_of(opcode: str) -> tuple[Slots, ...]:
    """The patterns of an opcode as (words, may be left out) slots; none for opcodes that are not scalar."""
    return tuple(tuple(_slot(text) for text in pattern.split()) for pattern in PATTERNS.get(opcode, ()))


def _slot(text: str) -> tuple[tuple[str, ...], bool]:
    words = [WORDS.get(word, word).split("|") for word in text.rstrip("?").split("|")]
    return tuple(word for group in words for word in group), text.endswith("?")


def all_forms(opcode: str) -> Iterator[tuple[str, ...]]:
    """Every combination of modifiers that an opcode takes, each once, in the order of the PTX manual."""
    seen: set[tuple[str, ...]] = set()
    for form in forms_of(opcode):
        for chosen in product(*((("", *words) if optional else words) for words, optional in form)):
            modifiers = tuple(word for word in chosen if word)
            if modifiers not in seen:
                seen.add(modifiers)
                yield modifiers
