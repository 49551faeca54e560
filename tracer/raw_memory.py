"""Loads and stores at plain addresses, for code that machine code calls and that visits millions of records.

Arrays would cost more than the work itself: every function that takes one counts references to it.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _loader(kind: Any, llvm: ir.Type) -> Callable[..., Any]:
    def load(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
            return builder.load(builder.inttoptr(arguments[0], llvm.as_pointer()), align=1)

        return kind(types.int64), generate

    return intrinsic(load)


def _storer(kind: Any, llvm: ir.Type) -> Callable[..., Any]:
    def store(typing_context: Any, address: Any, value: Any) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
            builder.store(arguments[1], builder.inttoptr(arguments[0], llvm.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, kind), generate

    return intrinsic(store)


load_u8 = _loader(types.uint8, ir.IntType(8))
load_u32 = _loader(types.uint32, ir.IntType(32))
load_i32 = _loader(types.int32, ir.IntType(32))
load_i64 = _loader(types.int64, ir.IntType(64))
load_f32 = _loader(types.float32, ir.FloatType())
store_u32 = _storer(types.uint32, ir.IntType(32))
store_f32 = _storer(types.float32, ir.FloatType())


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
