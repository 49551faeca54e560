"""Names for the files of plug-ins: hooks, parameters, compiled helpers and the engine's own choices.

A hook function gets the unit's state, the plug-in's own state of that unit, and what the hook says. It is compiled
with the engine: numbers and arrays alone, no allocation, no index below 0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.nearest import hint
from rayplay.replay.jit.bits import called_from_python, inlined
from rayplay.replay.jit.hooks import HOOKS
from rayplay.replay.plugin.targets import hooks_of_units
from rayplay.replay.sm import models, warps
from rayplay.replay.sm.pipeline import state as pipe

Function = Callable[..., Any]
compiled = inlined
"""Decorator of a function that hook functions call."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a plug-in: a key of ``[policy.NAME]`` in the description, and a field of ``own``.

    A word of ``choices`` is its place among them in ``own``.
    """

    default: int | str
    unit: str
    doc: str
    minimum: int = 0
    choices: tuple[str, ...] = ()


def parameter(default: int | str, unit: str, doc: str, minimum: int = 0, choices: tuple[str, ...] = ()) -> Parameter:
    """A parameter of a plug-in, a value of ``[policy.NAME]`` and a number in ``own``.

    minimum  of a whole number; 0 unless it is said, so that -1 is refused.
    choices  words that it may be instead; ``own`` has the place of the word among them, from 0 on.
    """
    if not choices and not isinstance(default, int):
        raise UserError(f"parameter {default!r}: must be a whole number, or one of its choices")
    if choices and default not in choices:
        raise UserError(f"parameter {default!r}: must be one of its choices {', '.join(choices)}")
    return Parameter(default, unit, doc, minimum, choices)


def hook(*names: str) -> Callable[[Function], Any]:
    """Decorator of a function that stands in for one or several hooks, such as ``l1.replace``.

    Raises ``UserError`` for an unknown name.
    """
    known = hooks_of_units()
    for name in names:
        if name not in known:
            raise UserError(f"unknown hook {name!r}; {hint(name, known)}")

    def decorate(function: Function) -> Any:
        made = inlined(function)
        made.hooks = names
        return made

    return decorate


def default(name: str) -> Any:
    """The engine's own function of a hook, for a policy that falls back on it, without ``own``."""
    known = hooks_of_units()
    if name not in known:
        raise UserError(f"unknown hook {name!r}; {hint(name, known)}")
    return inlined(called_from_python(HOOKS[known[name]].default))


@inlined
def _of_rank(core: warps.Warps, sm: int, bit: int) -> int:
    return sm * core.warps + core.member[sm, bit]


@inlined
def _of_warp(core: pipe.Pipeline, sm: int, bit: int) -> int:
    return sm * core.warps + bit


warp_at = models.resolved(_of_rank, _of_warp)
"""(core, sm, number) -> row of ``core.warp``: the warp that a bit of a scheduler's mask stands for, by its number."""
