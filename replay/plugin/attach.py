"""A plug-in in the units of a machine: its own state in each, and its counters."""

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from rayplay.formats.guard.errors import UserError, reason_of
from rayplay.replay.jit.hooks import replace
from rayplay.replay.plugin.load import RESERVED, Plugin, is_field
from rayplay.replay.plugin.targets import hooks_of_units

MOST = np.iinfo(np.int64).max
PASSES = re.compile(r"pipeline: |^Failed in |mode pipeline \(step")  # lines of numba's errors that tell no reason
Values = dict[str, Any]
Nodes = Callable[[], dict[str, np.ndarray]]


def attach(plugin: Plugin, values: Values, unit: str, state: Any, nodes: Nodes = dict) -> Any:
    """The state of a unit on which the plug-in acts, with its own state; others as they are.

    values  parameters by name, as the description has them.
    nodes   () -> columns of the trace's nodes, for an ``arrays`` that takes them.
    """
    if unit not in plugin.units:
        return state
    instances = len(getattr(state, "stats", (0,)))
    fields = {"counters": np.zeros((instances, len(plugin.counters)), np.int64), "instances": instances}
    for name, each in plugin.parameters.items():
        fields[name] = each.choices.index(values[name]) if each.choices else values[name]
    fields |= own_arrays(plugin, values, unit, state, nodes, fields)
    return state._replace(own=own_class(plugin, unit, tuple(fields))(**fields))


def own_arrays(
    plugin: Plugin, values: Values, unit: str, state: Any, nodes: Nodes, taken: Values
) -> dict[str, np.ndarray]:
    """The arrays that a plug-in's ``arrays`` makes for a unit; ``UserError`` for a name or an array that cannot be."""
    further = [nodes()] if plugin.arrays and len(inspect.signature(plugin.arrays).parameters) > 3 else []
    try:
        found = plugin.arrays(unit, state, dict(values), *further) if plugin.arrays else {}
    except Exception as error:
        raise UserError(f"{plugin.path}: arrays({unit!r}, ...): {type(error).__name__}: {reason_of(error)}") from None
    found = {} if found is None else found
    if not isinstance(found, dict):
        raise UserError(f"{plugin.path}: arrays({unit!r}, ...): must be a table of name: array, not {found!r}")
    made = {}
    for name, array in found.items():
        if name in taken or name in RESERVED or not is_field(name):
            raise UserError(f"{plugin.path}: arrays: {name!r} must be a new name, and not {', '.join(RESERVED)}")
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "iub" or array.ndim not in (1, 2):
            raise UserError(f"{plugin.path}: arrays: {name} must be an array of whole numbers in one or two dimensions")
        if array.dtype == np.uint64 and array.size and array.max() > MOST:
            raise UserError(f"{plugin.path}: arrays: {name} must hold numbers below 2^63, found {array.max()}")
        made[name] = np.ascontiguousarray(array, np.int64).copy()
    return made


def own_class(plugin: Plugin, unit: str, names: tuple[str, ...]) -> type:
    """The class of a plug-in's state of a unit, by whose name machine code is told apart."""
    if unit not in plugin.classes:
        kinds = dict.fromkeys(("instances", *plugin.parameters), int)
        fields = [(name, kinds.get(name, np.ndarray)) for name in names]
        made: Any = NamedTuple(f"Own_{plugin.module.__name__}_{unit}", fields)  # type: ignore[misc]
        made.__module__ = plugin.module.__name__
        setattr(plugin.module, made.__name__, made)  # where the cache of machine code looks for it
        for name, hook in hooks_of_units().items():
            if name in plugin.functions and name.partition(".")[0] == unit:
                replace(made, hook, plugin.functions[name])
        plugin.classes[unit] = made
    if plugin.classes[unit].__match_args__ != names:  # type: ignore[attr-defined]
        raise UserError(f"{plugin.path}: arrays({unit!r}, ...): must make arrays of the same names on every GPU")
    return plugin.classes[unit]


def counters(plugin: Plugin, states: dict[str, Any]) -> dict[str, np.ndarray]:
    """The plug-in's counters, ``UNIT.NAME`` -> int64[instances]; states: of the units, by name."""
    return {
        f"{unit}.{name}": states[unit].own.counters[:, column].copy()
        for unit in plugin.units
        for column, name in enumerate(plugin.counters)
    }


@contextmanager
def compiling(plugin: Plugin | None) -> Iterator[None]:
    """While the engine is compiled: what a plug-in's functions cannot do is a ``UserError`` with their line."""
    try:
        yield
    except Exception as error:
        if plugin is None or not type(error).__module__.startswith("numba"):
            raise
        text = str(error)
        lines = re.findall(rf'File "{re.escape(plugin.path)}", line (\d+)', text)
        where = f"{plugin.path}:{lines[-1]}" if lines else plugin.path
        reasons = [line.strip() for line in text.splitlines() if line.strip() and not PASSES.search(line)]
        reason = reasons[0] if reasons else type(error).__name__
        raise UserError(f"{where}: cannot be compiled: {reason} (NUMBA_DISABLE_JIT=1 runs it as Python)") from error
