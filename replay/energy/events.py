"""AccelWattch's events from the counters of a result, of a launch or of an interval.

Source: ``docs/sources/accelwattch.md#counting-rules``.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rayplay.formats.guard.errors import UserError

LANES = 32
MOST_DUTY = 0.8
FETCHED = 2  # instructions of a fetch, where no instruction cache is counted
# Chunks of 32 B of a record, by the counters that count chunks: Vulkan-Sim's structure.
CHUNKS = {"header": 4, "internal": 2, "instance": 4, "descriptor": 1, "triangle": 2, "procedural": 2, "triangle_hit": 2}
Totals = Mapping[str, Mapping[str, int]]  # unit -> counter -> sum over instances

_KINDS = ("hits", "pending_hits", "line_misses", "sector_misses")
_CACHE = tuple(f"{of}_{kind}" for of in ("read", "write") for kind in _KINDS)
REQUIRED = {
    "sm": ("warp_instructions", "thread_instructions", "retired_warps"), "lsu": ("shared_cycles",),
    "l1d": _CACHE, "l2": _CACHE, "port": ("requests", "responses"), "dram": ("reads", "writes", "precharges"),
    "rt_unit": ("records", "rays"),
}  # fmt: skip
# Event of the trace's -> counters that say when it happened, the first of them that counted anything.
DRIVERS = {
    "INT_ACC": (("sm", "threads_int"),), "INT_MUL_ACC": (("sm", "threads_int"),),
    "FP_ACC": (("sm", "threads_sp"),), "FP_MUL_ACC": (("sm", "threads_sp"),),
    "DP_ACC": (("sm", "threads_dp"),), "DP_MUL_ACC": (("sm", "threads_dp"),),
    **{f"FP_{name}_ACC": (("sm", "threads_sfu"),) for name in ("SQRT", "LG", "SIN", "EXP")},
    "TENSOR_ACC": (("sm", "threads_tensor"),), "TEX_ACC": (("sm", "threads_texture"),),
    "PIPE_A": (("sm", "thread_instructions"),),
    **dict.fromkeys(("box", "triangle", "record"), (("rt_unit", "records"),)),
}  # fmt: skip
# Without the trace: unit -> event that all its threads are counted as.
UNIT_EVENTS = {
    "int": "INT_ACC", "uniform": "INT_ACC", "sp": "FP_ACC", "dp": "DP_ACC", "sfu": "FP_EXP_ACC",
    "tensor": "TENSOR_ACC", "texture": "TEX_ACC",
}  # fmt: skip
# Operands of a warp instruction without the trace: as the path tracer of traces/sample.trace reads and writes.
READS, WRITES = 1.32, 1.02


class Chip(NamedTuple):
    """A GPU as far as its energy follows from it: SMs, core clock, schedulers and result buses of an SM."""

    sms: int
    hertz: float
    schedulers: int
    result_buses: int
    rt_cache: str


def chip_of(gpu: Any, place: str) -> Chip:
    """The chip of a result's provenance. ``UserError`` when it is not there."""
    try:
        return Chip(
            int(gpu["sm"]["count"]), gpu["sm"]["clock_khz"] * 1e3, int(gpu["scheduler"]["count"]),
            int(gpu["pipeline"]["result_buses"]), str(gpu["rt"]["cache"]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError):
        raise UserError(f"{place}: energy needs the GPU in its provenance, which is not there: replay anew") from None


def check_counters(totals: Totals, place: str) -> None:
    """``UserError`` for a result whose replay did not count what the energy needs."""
    for unit, names in REQUIRED.items():
        for name in names:
            if name not in totals.get(unit, {}):
                raise UserError(
                    f"{place}: energy needs the counter {unit}.{name}, which it lacks: the model gatsim keeps none,"
                    " and an earlier version may have had none; replay with --model characterised or pipeline"
                )


def counted(totals: Totals, chip: Chip) -> dict[str, float]:
    """The events that the counters tell, linear in them. A pending hit is a hit; a packet is one flit of 40 B."""
    sm, lsu, port, dram = totals["sm"], totals["lsu"], totals["port"], totals["dram"]
    found: dict[str, float] = dict.fromkeys(("TOT_INST", "FP_INT"), sm["warp_instructions"])
    found |= dict(cache_events("DC", totals["l1d"])) | dict(cache_events("L2", totals["l2"]))
    found |= {"SHRD_ACC": lsu["shared_cycles"], "NOC_A": port["requests"] + port["responses"]}
    found |= {"TC_H": lsu.get("texture_hits", 0), "TC_M": lsu.get("texture_misses", 0)}
    found |= {"MEM_RD": dram["reads"], "MEM_WR": dram["writes"], "MEM_PRE": dram["precharges"]}
    if chip.rt_cache == "private":
        found["DC_RH"] += totals["rt_unit"]["read_hits"]
        found["DC_RM"] += totals["rt_unit"]["read_misses"]
    if "l1i" in totals:
        found |= {"IC_H": totals["l1i"]["hits"], "IC_M": totals["l1i"]["misses"]}
    else:
        found |= {"IC_H": sm["warp_instructions"] / FETCHED, "IC_M": 0}
    return found | {"record": totals["rt_unit"]["records"]}


def cache_events(level: str, cache: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Hits and misses of reads and writes of a cache."""
    for of in ("read", "write"):
        name = f"{level}_{of[0].upper()}"
        yield f"{name}H", cache[f"{of}_hits"] + cache[f"{of}_pending_hits"]
        yield f"{name}M", cache[f"{of}_line_misses"] + cache[f"{of}_sector_misses"]


def duty(totals: Totals, chip: Chip, cycles: int) -> float:
    """Event ``PIPE_A``: duty of the result buses x cycles x SMs, at most 0.8 of them."""
    used = totals["sm"]["thread_instructions"] / (LANES * chip.result_buses)
    return min(used, MOST_DUTY * cycles * chip.sms)


def tests(records: Mapping[str, float], boxes_per_node: float) -> dict[str, float]:
    """Tests of the RT units by the records that rays fetched; an instance's transform counts as a triangle."""
    return {
        "box": records.get("internal", 0) * boxes_per_node + records.get("procedural", 0),
        "triangle": records.get("triangle", 0) + records.get("instance", 0),
    }


def estimated(totals: Totals, boxes_per_node: float) -> tuple[dict[str, float], float]:
    """Events that need the trace, guessed from the counters, and the active threads of an instruction.

    All work of a unit is counted as its costliest common operation, operands are a path tracer's, and records
    of RT units are divided as the chunks that they asked for.
    """
    sm, rt = totals["sm"], totals["rt_unit"]
    found: dict[str, float] = {}
    warps = threads = 0
    for unit, event in UNIT_EVENTS.items():
        found[event] = found.get(event, 0) + sm.get(f"threads_{unit}", 0)
        warps, threads = warps + sm.get(f"issued_{unit}", 0), threads + sm.get(f"threads_{unit}", 0)
    found |= {"REG_RD": LANES * READS * sm["warp_instructions"], "REG_WR": LANES * WRITES * sm["warp_instructions"]}
    asked = {name: rt.get(f"reads_{name}", 0) / chunks for name, chunks in CHUNKS.items()}
    lanes = rt["records"] / max(sum(asked.values()), 1)  # that share a chunk
    records = {name: lanes * count for name, count in asked.items()}
    records["triangle"] += records["triangle_hit"]
    found |= tests(records, boxes_per_node)
    return found, threads / warps if warps else 0.0
