"""The units that a plug-in may act on, and the hooks of each."""

from collections.abc import Iterator

from rayplay.replay.jit.hooks import HOOKS, Hook
from rayplay.replay.memory.cache import prefetch as cache_prefetch
from rayplay.replay.memory.dram import banks
from rayplay.replay.rt import unit as rt_unit
from rayplay.replay.sm import models, turns

DEFINED_IN = (cache_prefetch, banks, rt_unit, models, turns)
"""Modules that bring all hooks with them."""
UNITS = {
    "rt": ("rt", "ray-tracing units", "SM"),
    "sm": ("sm", "warp schedulers", "SM"),
    "l1": ("cache", "L1 data caches", "SM"),
    "l2": ("cache", "L2 slices", "slice"),
    "rt_cache": ("cache", "private caches of RT units (``rt.cache`` private)", "RT unit"),
    "dram": ("dram", "DRAM channels", "channel"),
    "ctas": ("ctas", "dispatcher of CTAs", "GPU"),
}
"""Unit -> family of its hooks, what it is, and what has a row of ``own.counters``."""


def hooks_of_units() -> dict[str, str]:
    """Every hook that a plug-in may name -> its entry in ``HOOKS``: ``l1.replace`` -> ``cache.replace``."""
    return {
        f"{unit}.{name.partition('.')[2]}": name
        for unit, (family, _, _) in UNITS.items()
        for name in HOOKS
        if name.partition(".")[0] == family
    }


def hook_named(name: str) -> Hook:
    """The hook that a plug-in names."""
    return HOOKS[hooks_of_units()[name]]


def hook_lines() -> Iterator[str]:
    """The hooks as Markdown: units and arguments of each, then its contract."""
    families: dict[str, list[str]] = {}
    for unit, (family, _, _) in UNITS.items():
        families.setdefault(family, []).append(unit)
    for name, hook in HOOKS.items():
        family, _, short = name.partition(".")
        named = ", ".join(f"`{unit}.{short}`" for unit in families[family])
        yield f"**{named}** `({', '.join(hook.of_plugin)})`"
        yield ""
        yield hook.contract.replace("``", "`")
        yield ""
