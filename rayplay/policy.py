"""Names for a policy's file: ``from rayplay.policy import hook``; docs/policies.md says how to write one.

``python -m rayplay.policy`` prints every hook with its contract, and the functions that a policy may call.

The modules of columns are here as well: ``rt`` (slots and lanes of RT units), ``cache``, ``warps``, ``dram``, ``ctas``.
"""

import argparse
from collections.abc import Iterator

from rayplay.formats.guard.command import run
from rayplay.replay.input import rays
from rayplay.replay.jit.bits import FAR, count_bits, lowest_bit
from rayplay.replay.memory.cache import state as cache
from rayplay.replay.memory.dram import state as dram
from rayplay.replay.plugin.author import compiled, default, hook, parameter, warp_at
from rayplay.replay.plugin.targets import hook_lines
from rayplay.replay.rt import state as rt
from rayplay.replay.rt.count import asks, count_warp
from rayplay.replay.rt.entry import next_arrival, wake
from rayplay.replay.sm import ctas, warps
from rayplay.replay.unit.streams import count_for

__all__ = [
    "FAR", "asks", "cache", "compiled", "count_bits", "count_for", "count_warp", "ctas", "default", "dram", "hook",
    "lowest_bit", "next_arrival", "parameter", "rays", "rt", "wake", "warp_at", "warps",
]  # fmt: skip


HELPERS = {
    "asks(state, at)": "Whether a slot's warp has a record to ask for.",
    "lowest_bit(mask)": "Number of the lowest set bit; 64 for 0.",
    "count_bits(mask)": "How many bits are set.",
    "warp_at(core, sm, number)": "Row of `core.warp` of the warp that bit `number` of a scheduler's mask stands for.",
    "wake(state, sm, cycle)": "Have the SM's RT units run in `cycle` at the latest.",
    "next_arrival(state, sm)": "The cycle from which a warp waits for a place in an RT unit.",
    "count_for(state, at, stream)": "From here on instance `at` of a unit counts events of `stream`.",
    "count_warp(state, sm, at, now)": "Add a completed warp of an RT unit to its counters.",
    "FAR": "A cycle that never comes.",
    "default(hook)": "The engine's own function of a hook, without `own`.",
}
"""Functions and numbers for hook functions, and what they are."""


def helper_lines() -> Iterator[str]:
    """The helpers as the rows of a table in Markdown."""
    for call, text in HELPERS.items():
        yield f"| `{call}` | {text} |"


def main() -> None:
    """Print hooks, then helpers."""
    argparse.ArgumentParser(prog="python -m rayplay.policy", description=__doc__).parse_args()
    print("\n".join([*hook_lines(), "| call | meaning |", "|---|---|", *helper_lines()]), flush=True)


if __name__ == "__main__":
    run("rayplay.policy", main)
