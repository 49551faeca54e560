"""Rows against Vulkan-Sim's RT unit: the rays of its dumps, with Rayplay's unit, L1, L2 and DRAM.

That warps, lanes and requests are exact to the cycle where the memory's answers are the dump's is what
``tests/replay/rt/test_vulkan_sim_memory.py`` asserts. Here the memory is ours, and what the programs read between two
traces is put in their place (``outside.dump_trace``), so that these rows bound, and do not equate.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from outside.dump import read_dump
from outside.dump_trace import write_trace
from outside.rows import Row, compare
from outside.traces import data_folder
from outside.vulkan_sim import RECORDS, RELEASED, RT_READS, dumped_accesses
from rayplay.replay.gpu.description import load
from rayplay.replay.run.driver import simulate

DUMPS = {"box32": "mobile", "box32_perfect": "mobile", "shipao32": "mobile", "cornell32_rtx2060": "rtx2060"}
LATENCY, EFFICIENCY = 0.25, 0.10


def rows(only: str = "") -> Iterator[Row]:
    """The rows of the dumps whose case contains ``only``."""
    for name in DUMPS:
        if only in case_name(name):
            yield from dump_rows(name)


def case_name(name: str) -> str:
    """Names of a dump's rows."""
    return f"vulkan-sim RT unit {name}"


def dump_rows(name: str) -> Iterator[Row]:
    """Mean latency of a warp and mean efficiency; reads and stores of the RT units where memory is not perfect."""
    warps = read_dump(data_folder() / "reference" / "vulkansim" / f"{name}.txt.xz")
    perfect = ["rt.perfect_memory=true"] if name.endswith("perfect") else []
    gpu = load(DUMPS[name], [*RELEASED[DUMPS[name]], *perfect])
    with tempfile.TemporaryDirectory() as folder:
        result = simulate(write_trace(Path(folder) / "dump.trace", warps, gpu.sm.count), gpu)
    cycles = np.array([warp.end_cycle - warp.start_cycle for warp in warps])
    lanes = np.array([sum(warp.latency.values()) for warp in warps])
    yield compare(case_name(name), "warps", len(warps), result.value("rt_warps") or 0)
    for quantity, theirs, tolerance in (
        ("rt_warp_latency", cycles.mean(), LATENCY), ("rt_efficiency", (lanes / cycles / 32).mean(), EFFICIENCY),
    ):  # fmt: skip
        yield compare(case_name(name), quantity, float(theirs), result.value(quantity) or 0.0, tolerance)
    if not perfect:
        ours = {
            "rt_reads": sum(result.value(f"rt_requests_{kind}") or 0 for kind in RECORDS),
            "rt_writes": result.value("rt_writes") or 0,
        }
        sent = dumped_accesses(name)
        for counter, number in ours.items():
            quantity, tolerance = RT_READS[counter]
            yield compare(case_name(name), quantity, sent[counter], round(number), tolerance)
