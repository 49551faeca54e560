"""Names for a policy's file: ``from rayplay.policy import hook``; docs/policies.md says how to write one.

``python -m rayplay.policy`` prints every hook with its contract.

The modules of columns are here as well: ``rt`` (slots and lanes of RT units), ``cache``, ``warps``, ``dram``, ``ctas``.
"""

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


if __name__ == "__main__":
    print("\n".join(hook_lines()))
