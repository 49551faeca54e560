"""Communication between threads in compiled code: numbers that all of them read and change, and the core's hand-off.

The numbers are the first of each row of an int64[rows, CACHE_LINE_WORDS] (``parallel.make_team``).
"""

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from rayplay.replay.jit.bits import intrinsic
from rayplay.replay.jit.rows import CACHE_LINE_WORDS


def first_of(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Address of the first number of a row of a team."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(array.data, [builder.mul(arguments[1], ir.IntType(64)(CACHE_LINE_WORDS))])


def plain_store(team: np.ndarray, row: int, value: int) -> None:
    """``store`` in Python, for one thread."""
    team[row, 0] = value


def plain_fetch_and_add(team: np.ndarray, row: int) -> int:
    """``fetch_and_add`` in Python, for one thread."""
    team[row, 0] += 1
    return int(team[row, 0]) - 1


@intrinsic(lambda team, row: int(team[row, 0]))
def load(typing_context: Any, team: Any, row: Any) -> Any:
    """The first number of a row, and with it everything that was written before it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(first_of(context, builder, signature, arguments), "acquire", 8)

    return types.int64(team, types.int64), generate


@intrinsic(plain_store)
def store(typing_context: Any, team: Any, row: Any, value: Any) -> Any:
    """Write the first number of a row, after everything that was written before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store_atomic(arguments[2], first_of(context, builder, signature, arguments), "release", 8)
        return context.get_dummy_value()

    return types.void(team, types.int64, types.int64), generate


@intrinsic(plain_fetch_and_add)
def fetch_and_add(typing_context: Any, team: Any, row: Any) -> Any:
    """Count the first number of a row up by one, after everything that was written before; returns what it was."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = first_of(context, builder, signature, arguments)
        return builder.atomic_rmw("add", place, ir.IntType(64)(1), "acq_rel")

    return types.int64(team, types.int64), generate


def call(name: str, *numbers: int) -> Any:
    """Generator of a call of an operating-system function."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = ir.IntType(32)
        kind = ir.FunctionType(number, [number] * len(numbers))
        builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [number(value) for value in numbers])
        return context.get_dummy_value()

    return generate


@intrinsic(lambda: None)
def give_way(typing_context: Any) -> Any:
    """Let another thread have the core, if one wants it."""
    return types.void(), call("SwitchToThread") if sys.platform == "win32" else call("sched_yield")


@intrinsic(lambda: None)
def sleep(typing_context: Any) -> Any:
    """Leave the core for some ten microseconds (a millisecond on Windows)."""
    return types.void(), call("Sleep", 1) if sys.platform == "win32" else call("usleep", 20)
