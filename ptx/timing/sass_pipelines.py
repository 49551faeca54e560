"""How long SASS instructions take: latencies per architecture, for listings without encodings.

Latency and initiation interval per unit come from Accel-Sim's configurations, tuned to the cards
(docs/sources/accel-sim.md#opcode-latencies): RTX 2060 for Volta and Turing, RTX 3070 for Ampere and, because no later
ones are published, for Ada, Hopper and Blackwell. ``depth_cycles`` is 5: dependent latency is latency + 5
(docs/sources/accel-sim.md#initiation).
"""

from dataclasses import dataclass

from rayplay.formats.exchange.accelsim.sass_classes import unit
from rayplay.ptx.timing.pipelines import Pipeline, Timing

_TURING = {
    "sp": (2, 2), "int": (2, 2), "sfu": (21, 8), "dp": (64, 64), "branch": (4, 4), "texture": (200, 4),
    "tensor": (16, 16), "uniform": (4, 1), "lsu": (1, 1), "rt": (1, 1),
}  # fmt: skip
_AMPERE = _TURING | {"sp": (2, 1), "tensor": (32, 32)}
_UNIFORM = (4, 1)
_UNIFORM_OPCODES = frozenset(("R2UR", "S2UR", "VOTEU"))
_AT_ONCE = frozenset(("EXIT", "BAR"))  # 1, 1 through the integer pipe
FIRST_AMPERE = 80


@dataclass(frozen=True, slots=True)
class SassPipeline(Pipeline):
    """The timings of one architecture, by unit."""

    by_unit: dict[str, tuple[int, int]]

    def timing(self, operation_class: str, timing_class: str, type_name: str) -> Timing:
        """The timing of an opcode, which is its class; half-precision ones take half the initiation interval."""
        where = unit(timing_class)
        latency, initiation = self.by_unit[where]
        if timing_class in _AT_ONCE:
            latency, initiation = 1, 1
        elif timing_class in _UNIFORM_OPCODES or timing_class[0] == "U":
            latency, initiation = _UNIFORM
        elif operation_class == "fp16":
            initiation = max(1, initiation // 2)
        return Timing(where, latency, initiation)


def sass_pipeline(architecture: int) -> SassPipeline:
    """The pipeline of ``sm_<architecture>``."""
    table = _AMPERE if architecture >= FIRST_AMPERE else _TURING
    return SassPipeline(f"sm_{architecture}", 5, {}, {}, table)
