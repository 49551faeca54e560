"""Loads and stores at plain addresses, for code that machine code calls and that visits millions of records.

Arrays would cost more than the work itself: every function that takes one counts references to it.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _integer_loader(bits: int, extend: str) -> Callable[..., Any]:
    def load(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
            pointer = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
            value = builder.load(pointer, align=1)
            return getattr(builder, extend)(value, ir.IntType(64)) if bits < 64 else value

        return types.int64(types.int64), generate

    return intrinsic(load)


def _load_f32(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        return builder.load(builder.inttoptr(arguments[0], ir.FloatType().as_pointer()), align=1)

    return types.float32(types.int64), generate


def _store_f32(typing_context: Any, address: Any, value: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        builder.store(arguments[1], builder.inttoptr(arguments[0], ir.FloatType().as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.float32), generate


def _integer_storer(bits: int) -> Callable[..., Any]:
    def store(typing_context: Any, address: Any, value: Any) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
            word = builder.trunc(arguments[1], ir.IntType(bits)) if bits < 64 else arguments[1]
            builder.store(word, builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    return intrinsic(store)


load_u8, load_u16, load_u32 = (_integer_loader(bits, "zext") for bits in (8, 16, 32))
load_i32, load_i64 = _integer_loader(32, "sext"), _integer_loader(64, "sext")
load_f32: Callable[..., Any] = intrinsic(_load_f32)
store_u8, store_u16, store_u32, store_i64 = (_integer_storer(bits) for bits in (8, 16, 32, 64))
store_f32: Callable[..., Any] = intrinsic(_store_f32)
"""Integers are int64 in registers, whatever their width in memory."""


def _boxes(action: str, signature: Any) -> Callable[..., Any]:
    """Operations on boxes of eight float32 (``tracer.bvh.split``), one vector instruction each."""

    def operate(typing_context: Any, target: Any, source: Any) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
            target, source = arguments
            pointer = builder.inttoptr(target, _BOX.as_pointer())
            if action == "fill":
                one = builder.insert_element(ir.Constant(_BOX, ir.Undefined), source, ir.Constant(ir.IntType(32), 0))
                lanes = ir.Constant(ir.VectorType(ir.IntType(32), 8), [0] * 8)
                value = builder.shuffle_vector(one, one, lanes)
            else:
                value = builder.load(builder.inttoptr(source, _BOX.as_pointer()), align=4)
            if action == "grow":
                old = builder.load(pointer, align=4)
                value = builder.select(builder.fcmp_ordered("<", value, old), value, old)
            builder.store(value, pointer, align=4)
            return context.get_dummy_value()

        return signature, generate

    return intrinsic(operate)


_BOX = ir.VectorType(ir.FloatType(), 8)
copy_box = _boxes("copy", types.void(types.int64, types.int64))
"""copy_box(target, source)"""
grow_box = _boxes("grow", types.void(types.int64, types.int64))
"""grow_box(total, other): the smaller of each word."""
fill_box = _boxes("fill", types.void(types.int64, types.float32))
"""fill_box(target, value)"""


def _bit_count(name: str) -> Callable[..., Any]:
    def count(typing_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
            if name == "cttz":
                return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))
            return builder.ctpop(arguments[0])

        return types.int64(types.int64), generate

    return intrinsic(count)


trailing_zeros = _bit_count("cttz")
"""Number of the lowest set bit; the value must not be 0."""
population = _bit_count("ctpop")
"""How many bits are set."""


def _reinterpret(source: Any, target: Any, pointee: ir.Type) -> Callable[..., Any]:
    def cast(typing_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
            value = arguments[0]
            if pointee == ir.IntType(64) and isinstance(value.type, ir.FloatType):
                return builder.zext(builder.bitcast(value, ir.IntType(32)), pointee)
            if isinstance(pointee, ir.FloatType):
                return builder.bitcast(builder.trunc(value, ir.IntType(32)), pointee)
            return builder.bitcast(value, pointee)

        return target(source), generate

    return intrinsic(cast)


f32_bits = _reinterpret(types.float32, types.int64, ir.IntType(64))
f32_of_bits = _reinterpret(types.int64, types.float32, ir.FloatType())
f64_bits = _reinterpret(types.float64, types.int64, ir.IntType(64))
f64_of_bits = _reinterpret(types.int64, types.float64, ir.DoubleType())
"""Bits as they are; those of float32 are zero-extended."""
