"""Geometry of the modelled GPU for models outside the engine: address maps, intersection tables, CTA slots, lanes.

The one door, beside ``replay.simulate`` and ``replay.gpu.description``, through which ``zatel`` sees ``replay``.
"""

from rayplay.replay.input.intersection_tables import BASELINE_DATA, BASELINE_ROW
from rayplay.replay.jit.bits import count_bits, lowest_bit
from rayplay.replay.launch.launches import places_of
from rayplay.replay.memory.addresses import PARTITION_HASHES, Addresses
from rayplay.replay.reorder.carry_out import expect_no_reorder
from rayplay.replay.rt.state import TABLE_BYTES, WARPS_PER_SM
from rayplay.replay.unit.schema import LawError

__all__ = [
    "BASELINE_DATA",
    "BASELINE_ROW",
    "PARTITION_HASHES",
    "TABLE_BYTES",
    "WARPS_PER_SM",
    "Addresses",
    "LawError",
    "count_bits",
    "expect_no_reorder",
    "lowest_bit",
    "places_of",
]
