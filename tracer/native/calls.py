"""Calling code by its address from numba: machine code of programs, and the traversal."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from rayplay.tracer.native.jit import compiled

I64 = ir.IntType(64)


@intrinsic
def _call_program(typing_context: Any, address: Any, machine: Any, activation: Any) -> Any:
    """``int64 f(int64* machine, int64* activation)`` at ``address``; all three are addresses."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        kind = ir.FunctionType(I64, [I64, I64])
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        return builder.call(function, [arguments[1], arguments[2]])

    return types.int64(types.int64, types.int64, types.int64), generate


@intrinsic
def _call_traversal(typing_context: Any, address: Any, scene: Any, frame: Any, state: Any, lane: Any, log: Any) -> Any:
    """``int64 f(int64 context, int64 frame, int64 state, int64 lane, int64 log)`` at ``address``."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        kind = ir.FunctionType(I64, [I64] * 5)
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        return builder.call(function, list(arguments[1:]))

    return types.int64(*[types.int64] * 6), generate


@intrinsic
def _as_pointer(typing_context: Any, address: Any) -> Any:
    """An address as a pointer that ``carray`` takes."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), generate


# mypy takes intrinsics for the functions that define them
call_program: Any = _call_program
call_traversal: Any = _call_traversal
as_pointer: Any = _as_pointer


@compiled
def borrowed(array: np.ndarray) -> np.ndarray:
    """The same array without an owner: numba counts owners with atomic instructions at every call, which would take
    half of the time of short warps. The caller keeps the original alive."""
    return carray(as_pointer(array.ctypes.data), array.shape, array.dtype)
