"""Hooks: functions of the engine that a plug-in may replace, chosen while their callers are compiled.

A unit's state ends with ``own``, the state of the plug-in that acts on this unit, or ``NOTHING``. The class of ``own``
is part of the state's type. A call of a hook asks ``REPLACED`` for this class when it is compiled: without a plug-in
it is the plain call of the engine's own function, so that the default is the same machine code as without hooks.
Where nothing is compiled (``NUMBA_DISABLE_JIT=1``) the hook looks the class up at each call.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from rayplay.replay.jit.bits import compiled, inlined

Function = Callable[..., Any]


class Nothing(NamedTuple):
    """``own`` of a unit on which no plug-in acts: no word in memory."""


NOTHING = Nothing()


@dataclass(frozen=True)
class Hook:
    """A hook: its name without the unit, the engine's own function, and the arguments of that function."""

    name: str
    default: Function

    @property
    def arguments(self) -> tuple[str, ...]:
        """Arguments of the engine's function, the unit's state first."""
        return tuple(inspect.signature(self.default).parameters)

    @property
    def of_plugin(self) -> tuple[str, ...]:
        """Arguments of a plug-in's function: ``own`` comes second."""
        first, *rest = self.arguments
        return (first, "own", *rest)

    @property
    def contract(self) -> str:
        """Docstring of the engine's function: what the hook decides or is told."""
        return inspect.cleandoc(self.default.__doc__ or "")


HOOKS: dict[str, Hook] = {}
"""Every hook by family and name, such as ``rt.choose_warp`` or ``cache.replace``."""
REPLACED: dict[tuple[type, str], Any] = {}
"""(class of ``own``, hook): the compiled function that stands in, with the hook's own arguments."""


def own_class(kind: Any) -> Any:
    """The class of ``own`` in the type of a state, or of a reference to one; None for another type."""
    state = getattr(kind, "state", kind)
    fields = getattr(state, "fields", ())
    return state.types[fields.index("own")].instance_class if "own" in fields else None


def hook(name: str, inline: bool = True) -> Callable[[Function], Any]:
    """Decorator of a function whose first argument is a unit's state: a plug-in may replace it under ``name``.

    inline  whether it is inlined into its callers (``bits.inlined``) or compiled by itself (``bits.compiled``).
    """

    def decorate(function: Function) -> Any:
        HOOKS.setdefault(name, Hook(name, function))
        made = inlined(function) if inline else compiled(function)
        if not hasattr(made, "get_call_template"):
            return plain_hook(name, function)
        template, overload = made.get_call_template, made.get_overload

        def call_template(given: Any, named: Any) -> Any:
            other = REPLACED.get((own_class(given[0]), name))
            return template(given, named) if other is None else other.get_call_template(given, named)

        def get_overload(given: Any) -> Any:
            other = REPLACED.get((own_class(given[0]), name))
            return overload(given) if other is None else other.get_overload(given)

        made.get_call_template, made.get_overload = call_template, get_overload
        return made

    return decorate


def is_replaced(name: str) -> Any:
    """A function of a unit's state: whether a plug-in replaces the hook ``name``; a constant in machine code."""

    def no(state: Any) -> bool:
        return False

    made = hook(f"{name}?")(no)
    del HOOKS[f"{name}?"]  # no plug-in names it
    return made


def yes(state: Any) -> bool:
    """Stand in for the function that ``is_replaced`` made."""
    return True


def plain_hook(name: str, function: Function) -> Function:
    """A hook where nothing is compiled."""

    def call(state: Any, *rest: Any) -> Any:
        return REPLACED.get((type(state.own), name), function)(state, *rest)

    return call


def replace(own: type, name: str, function: Any) -> None:
    """Let a plug-in's compiled function stand in for a hook in states with this class of ``own``."""
    given = HOOKS[name].arguments
    text = f"def stand_in({', '.join(given)}): return policy({given[0]}, {given[0]}.own, {', '.join(given[1:])})"
    names: dict[str, Any] = {"policy": function}
    exec(text, names)  # its words are the engine's own
    REPLACED[own, name] = inlined(names["stand_in"])
    REPLACED[own, f"{name}?"] = inlined(yes)
