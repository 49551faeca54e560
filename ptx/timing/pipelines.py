"""How long instructions take on a GPU's pipelines: the rows behind ``characterise.py``.

A pipeline maps an instruction to the unit that executes it, the cycles until a dependent instruction may issue, and the
cycles the unit stays busy. Add a GPU by adding a value to ``PIPELINES``.
"""

from dataclasses import dataclass

from rayplay.formats.guard.errors import UserError

VARIABLE_LATENCY_CLASSES = frozenset(("load", "texture", "atomic", "trace"))  # these set scoreboard slots


@dataclass(frozen=True, slots=True)
class Timing:
    """``latency_cycles`` through the unit, ``initiation_cycles`` between two warp instructions on it."""

    unit: str
    latency_cycles: int
    initiation_cycles: int


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The timings of one GPU.

    ``by_timing`` is keyed by (operation class, timing class of ``ptx.isa``) and looked up first, then ``by_class``.
    ``depth_cycles`` is what issue, operand read and write-back add to every latency before a dependent instruction can
    issue.
    """

    name: str
    depth_cycles: int
    by_class: dict[str, Timing]
    by_timing: dict[tuple[str, str], Timing]

    def timing(self, operation_class: str, timing_class: str, type_name: str) -> Timing:
        """The timing of an instruction; float comparisons run on the float units."""
        found = self.by_timing.get((operation_class, timing_class)) or self.by_class[operation_class]
        if operation_class == "predicate" and type_name in ("f32", "f64"):
            return self.by_timing["predicate", type_name]
        return found

    def result_cycles(self, timing: Timing) -> int:
        """Cycles from the issue of an instruction to the first issue of one that needs its result."""
        return timing.latency_cycles + self.depth_cycles


# The values come from Vulkan-Sim's SM75_RTX2060 configuration, which Zatel's and LumiBench's figures were made with
# (docs/sources/vulkan-sim.md#instruction-latencies): latencies of ADD, MAX, MUL, MAD,
# DIV[, SHFL], the timing classes of ``ptx.isa``; an opcode that is not in those lists takes 1.
#     int 4,13,4,5,145,32   initiation 2,2,2,2,8,4          fp 4,13,4,5,39   initiation 2,2,2,2,4
#     sfu 100, initiation 8; all divisions on the SFU       tensor 64, initiation 64
# Differences, each with its reason:
# - initiation is at least 2 on int and sp: a unit has 16 lanes (docs/sources/accel-sim.md#initiation); Vulkan-Sim has 1
#   where unlisted.
# - fma takes MAD's 5 cycles, rem takes DIV's: Vulkan-Sim's own shaders have neither, so its table leaves them at 1.
# - fp64 is Accel-Sim's 64,64 (docs/sources/accel-sim.md#opcode-latencies, tuned to the card); Vulkan-Sim's
#   configuration has no fp64 unit.
# - depth 5: a program sees latency + 5, measured (docs/sources/accel-sim.md#initiation: 7.0 for latency 2).
_MOVE = Timing("int", 1, 2)

RTX2060 = Pipeline(
    name="rtx2060",
    depth_cycles=5,
    by_class={
        "int": Timing("int", 1, 2), "fp32": Timing("sp", 1, 2), "fp64": Timing("dp", 64, 64),
        "fp16": Timing("sp", 4, 2), "sfu": Timing("sfu", 100, 8), "move": _MOVE, "convert": _MOVE,
        "predicate": _MOVE, "constant": _MOVE, "load": Timing("lsu", 1, 1), "store": Timing("lsu", 1, 1),
        "atomic": Timing("lsu", 1, 1), "texture": Timing("lsu", 1, 4), "branch": Timing("branch", 1, 1),
        "barrier": Timing("branch", 1, 1), "fence": Timing("lsu", 1, 1), "shuffle": Timing("int", 32, 4),
        "trace": Timing("rt", 1, 1), "runtime": _MOVE, "matrix": Timing("tensor", 64, 64),
        "exit": Timing("branch", 1, 1), "other": _MOVE,
    },
    by_timing={
        ("int", "add"): Timing("int", 4, 2), ("int", "max"): Timing("int", 13, 2), ("int", "mul"): Timing("int", 4, 2),
        ("int", "mad"): Timing("int", 5, 2), ("int", "div"): Timing("sfu", 145, 8),
        ("fp32", "add"): Timing("sp", 4, 2), ("fp32", "max"): Timing("sp", 13, 2), ("fp32", "mul"): Timing("sp", 4, 2),
        ("fp32", "mad"): Timing("sp", 5, 2), ("sfu", "div"): Timing("sfu", 39, 4),
        ("fp64", "div"): Timing("dp", 330, 130), ("fp64", "root"): Timing("dp", 330, 130),
        ("fp16", "mad"): Timing("sp", 5, 2),
        ("predicate", "f32"): Timing("sp", 1, 2), ("predicate", "f64"): Timing("dp", 64, 64),
    },
)  # fmt: skip

PIPELINES = {RTX2060.name: RTX2060}


def pipeline(name: str) -> Pipeline:
    """The pipeline of that name. Raises UserError listing the known ones."""
    if name not in PIPELINES:
        raise UserError(f"pipeline must be one of {', '.join(sorted(PIPELINES))}, not '{name}'")
    return PIPELINES[name]
