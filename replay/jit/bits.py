"""Bit masks as 64-bit integers, and sets kept in chained hash tables: what every unit is built from."""

import struct
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import config, njit, types
from numba.extending import intrinsic as numba_intrinsic

from rayplay.formats.guard.code_cache import kept
from rayplay.replay.jit.link import PartCompiler, WholeCompiler
from rayplay.replay.layers import ENGINE

numbas_intrinsic: Any = numba_intrinsic  # it changes the signature, which mypy cannot follow
WORD = (1 << 64) - 1
FAR = 1 << 62  # a time that never comes

# Functions that only compiled code calls get no wrapper for Python, which halves the time to compile them. None of them
# allocates, so none counts references: the counters are atomic, and took two thirds of the time when they were there.
jit: Any = njit  # its stub lacks the options used here
part = {
    "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "error_model": "numpy", "_nrt": False,
    "pipeline_class": PartCompiler,
}  # fmt: skip


def plain(kind: Any) -> Any:
    """The type under which a value is passed: one for constants and short numbers alike, so that code is made once."""
    found: Any = types.unliteral(kind)
    return types.int64 if isinstance(found, types.Integer) and getattr(found, "signed", False) else found


def compiled(function: Any, **options: Any) -> Any:
    """A function that only compiled code calls."""
    made = jit(**part, **options)(function)
    if (template := getattr(made, "get_call_template", None)) is not None:  # none where nothing is compiled
        made.get_call_template = lambda given, named: template(
            tuple(map(plain, given)), {name: plain(kind) for name, kind in named.items()}
        )
    return made


# A unit's state is passed as some hundred machine words, all of them copied for a call. So whatever runs every cycle or
# every instruction, and from one or two places only, becomes part of its caller: the calls took two thirds of the time.
def inlined(function: Any) -> Any:
    """A function that is inlined into its callers."""
    return compiled(function, forceinline=True)


whole = {"nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy", "_nrt": False}
entry_point = kept(jit(cache=True, pipeline_class=WholeCompiler, **whole), ENGINE)
HASH_FACTOR = -7046029254386353131  # 2^64 / golden ratio, as a signed number


def called_from_python(function: Any) -> Any:
    """A compiled function as Python runs it: it has no entry for Python, and calling it would end the process."""
    return getattr(function, "py_func", function)  # it is the plain one where nothing is compiled


def inlined_copy(function: Any) -> Any:
    """A compiled function once more, inlined where it is called by this name."""
    return inlined(called_from_python(function))


def intrinsic(plain: Callable[..., Any]) -> Callable[[Any], Any]:
    """Decorator of an instruction of the processor; plain: the same for Python, where nothing is compiled."""
    is_plain: bool = config.DISABLE_JIT  # type: ignore[attr-defined]
    return lambda generator: plain if is_plain else numbas_intrinsic(generator)


def signed(word: int) -> int:
    """The int64 with these lowest 64 bits."""
    word = int(word) & WORD
    return word - (1 << 64) if word >> 63 else word


def plain_lowest_bit(mask: int) -> int:
    """``lowest_bit`` in Python."""
    mask = int(mask) & WORD
    return (mask & -mask).bit_length() - 1 if mask else 64


def plain_highest_bit(mask: int) -> int:
    """``highest_bit`` in Python."""
    return (int(mask) & WORD).bit_length() - 1


def plain_exponent(number: float) -> int:
    """``exponent`` in Python."""
    return (struct.unpack("q", struct.pack("d", number))[0] >> 52) - 1023


@intrinsic(plain_lowest_bit)
def lowest_bit(typing_context: Any, mask: Any) -> Any:
    """Number of the lowest set bit of an int64 (64 for 0)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), generate


@intrinsic(plain_highest_bit)
def highest_bit(typing_context: Any, mask: Any) -> Any:
    """Number of the highest set bit of an int64 (-1 for 0)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zeros = builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))
        return builder.sub(ir.Constant(ir.IntType(64), 63), zeros)

    return types.int64(types.int64), generate


@intrinsic(lambda mask: (int(mask) & WORD).bit_count())
def count_bits(typing_context: Any, mask: Any) -> Any:
    """Set bits of an int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


@intrinsic(lambda mask, distance: signed((int(mask) & WORD) >> int(distance)))
def shift_right(typing_context: Any, mask: Any, distance: Any) -> Any:
    """Logical shift of an int64: zeros come in at the top."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.lshr(arguments[0], arguments[1])

    return types.int64(types.int64, types.int64), generate


@inlined
def lowest_bits(count: int) -> int:
    """The lowest ``count`` bits, 1 to 64 of them."""
    return shift_right(-1, 64 - count)


@inlined
def rotate_right(mask: int, distance: int) -> int:
    """An int64 with its lowest ``distance`` bits (0 to 63) moved to its top."""
    return shift_right(mask, distance) | mask << (-distance & 63)


@inlined
def fold(mask: int, places: int) -> int:
    """The places, modulo ``places`` (1, 2 or 4), of the set bits of an int64, as a mask."""
    for distance in (32, 16, 8, 4):
        mask |= shift_right(mask, distance)
    if places < 4:
        mask |= mask >> 2
    if places < 2:
        mask |= mask >> 1
    return mask & ((1 << places) - 1)


@intrinsic(lambda first, second: signed((int(first) & WORD) * (int(second) & WORD) >> 64))
def high_product(typing_context: Any, first: Any, second: Any) -> Any:
    """The upper 64 of the 128 bits that two unsigned 64-bit numbers make."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(number, wide) for number in arguments))
        return builder.trunc(builder.lshr(product, wide(64)), ir.IntType(64))

    return types.int64(types.int64, types.int64), generate


@intrinsic(plain_exponent)
def exponent(typing_context: Any, number: Any) -> Any:
    """Exponent of two of a float64 that is not negative; of 0 and of subnormal numbers -1023."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        return builder.sub(builder.lshr(builder.bitcast(arguments[0], word), word(52)), word(1023))

    return types.int64(types.float64), generate


@inlined
def bucket(key: int, buckets: int) -> int:
    """Hash bucket of ``key``; ``buckets`` is a power of two up to 2^24. Spreads any stride evenly.

    Sixteen keys in a row have buckets side by side, whose 4 bytes each are in a line or two of the host's caches.
    """
    return ((((key >> 4) * HASH_FACTOR) >> 40) + key) & (buckets - 1)
