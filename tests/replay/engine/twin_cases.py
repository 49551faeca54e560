"""Random small GPUs and traces, and what the slow twin and the engine make of them."""

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from outside import random_traces
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.exchange.accelsim.importer import import_accelsim
from rayplay.replay.gpu.description import load
from rayplay.replay.run.driver import simulate
from tests.reference.slow_gpu.config import (
    CacheConfig,
    DramConfig,
    GpuConfig,
    InstructionCacheConfig,
    RasterConfig,
    TextureConfig,
)
from tests.reference.slow_gpu.gpu import Gpu
from tests.reference.slow_gpu.program import Kernel
from tests.reference.slow_gpu.program import load as load_program
from tests.replay.launches import with_tables

UNITS = {
    "SP": "sp", "INT": "int", "SFU": "sfu", "DP": "dp", "S1": "branch", "S2": "texture", "S3": "tensor",
    "S4": "uniform",
}  # fmt: skip
WRITES: tuple[dict[str, Any], ...] = (
    {}, {}, {},
    *(
        {"l2.write_policy": policy, "l2.write_allocate": allocate}
        for policy in ("back", "through", "evict")
        for allocate in ("none", "naive", "lazy_fetch_on_read")
        if policy != "through" or allocate != "lazy_fetch_on_read"
    ),
)  # fmt: skip
CACHE = ("ways", "mshr_entries", "mshr_merges", "miss_queue")
MOST_THREADS = 128
Found = list[dict[str, int]]


@dataclass(frozen=True)
class Case:
    """A trace, and one GPU twice: for the twin, and as assignments to ``accelsim-rtx2060``."""

    trace: Path
    twin: GpuConfig
    assignments: list[str]


def make(
    seed: int, folder: Path, with_memory: bool = True, shape: tuple[int, int] | None = None, in_lockstep: bool = False,
    is_drawn: bool = False, extra: dict[str, Any] | None = None,
) -> Case:  # fmt: skip
    """The case of a seed.

    With a shape, the CTAs of each kernel and their threads, on an SM for 64 warps. ``in_lockstep`` on a GPU that needs
    it, whose L2 has a clock of its own. ``is_drawn``: kernels are stages of draws, and raster operations have rates.
    ``extra``: values in place of the seed's.
    """
    extra = extra or {}
    random = Random(seed)
    values = random_values(random) | rules_of_version(Random(f"version {seed}"))
    drawn = Random(f"options {seed}")
    values |= lockstep(drawn) if in_lockstep else options(drawn) | ticks(Random(f"ticks {seed}"))
    values |= instruction_cache(Random(f"instructions {seed}"), values)
    values |= texture_unit(Random(f"texture unit {seed}"))
    values |= write_back(Random(f"write back {seed}"), values)
    values |= rare_options(Random(f"rare {seed}"))
    values |= raster(Random(f"raster {seed}")) if is_drawn else {}
    values |= extra
    if shape:  # ports that these warps do not fill: a full one is DEVIATIONS R3
        values |= {"sm.count": 1, "sm.cluster": 1, "sm.warps": 64, "sm.ctas": 64}
        values |= {"interconnect.in_packets": 2048, "interconnect.out_packets": 2048}
    listing = random_traces.write(folder, random, min(MOST_THREADS, 32 * values["sm.warps"]), with_memory, shape)
    import_accelsim(listing, folder / "case.trace")
    name = "case.trace"
    if is_drawn:
        name = add_stages(folder / name, Random(f"stages {seed}")).name
    return Case(folder / name, twin_config(values), assignments(values))


def random_values(random: Random) -> dict[str, Any]:
    """Values of a description: what they are called there -> value."""
    pick = random.choice
    values: dict[str, Any] = {
        "sm.count": pick((1, 2, 3)), "sm.warps": pick((4, 8, 16)), "sm.ctas": pick((1, 2, 4)),
        "scheduler.policy": pick(("lrr", "gto", "oldest", "two-level")), "scheduler.active_warps": pick((1, 2, 3)),
        "pipeline.fetches": pick((1, 2, 4)), "pipeline.collectors": pick((4, 8, 16)),
        "pipeline.collector_ports": pick((1, 8)), "pipeline.register_banks": pick((4, 8, 16, 32)),
        "pipeline.register_steps": pick((1, 2)), "pipeline.result_buses": pick((2, 8)),
        "lsu.shared_latency_cycles": pick((2, 7, 30)),
        "l1.ways": pick((1, 2, 8)), "l1.mshr_entries": pick((2, 8, 64)), "l1.mshr_merges": pick((2, 32)),
        "l1.miss_queue": pick((3, 16)), "l1.latency_cycles": pick((2, 9, 32)), "l1.banks": pick((1, 2, 4)),
        "l1.dirty_percent": pick((0, 25)),
        "texture.sass_accesses": pick((True, False)), "texture.sets": pick((1, 2)), "texture.ways": pick((1, 2, 8)),
        "texture.line_bytes": pick((32, 128, 128)), "texture.fragments": pick((1, 3, 64)),
        "texture.requests": pick((1, 8)), "texture.lines": pick((1, 4, 128)), "texture.results": pick((1, 2)),
        "interconnect.in_packets": 512, "interconnect.out_packets": 512,
        "memory.count": pick((1, 2, 3)), "l2.slices_per_controller": pick((1, 2)), "l2.ways": pick((2, 4, 16)),
        "l2.mshr_entries": pick((2, 192)), "l2.mshr_merges": pick((2, 4)), "l2.miss_queue": pick((3, 32)),
        "l2.input_queue": pick((6, 64)), "l2.to_dram_queue": pick((4, 64)), "l2.from_dram_queue": pick((4, 64)),
        "l2.reply_queue": pick((4, 64)), "l2.latency_cycles": pick((16, 31, 60)),
        "dram.latency_cycles": pick((1, 20, 60)), "dram.clock_khz": pick((900_001, 1_365_000, 3_500_501)),
        "dram.queue_entries": pick((2, 64)), "dram.return_entries": pick((2, 192)), "dram.bank_groups": pick((1, 4)),
    }  # fmt: skip
    for unit in UNITS.values():
        latency = random.randint(1, 9)
        values[f"pipeline.{unit}_latency_cycles"] = latency
        values[f"pipeline.{unit}_initiation_cycles"] = random.randint(1, latency)
    wl = random.randint(2, 8)
    timing = {"wl": wl, "cl": wl + random.randint(0, 8), "rcd": wl + random.randint(2, 12)}
    timing |= {name: random.randint(1, 16) for name in ("ccd_long", "rrd", "rp", "cdlr", "wr", "rtpl")}
    timing |= {"ccd": random.randint(1, 6), "ras": random.randint(10, 30)}
    timing["rc"] = timing["ras"] + random.randint(0, 20)
    return values | {f"dram.{name}": value for name, value in timing.items()}


def rules_of_version(random: Random) -> dict[str, Any]:
    """Rules that differ between GPGPU-Sim 4.0 and later; drawn apart, so that a seed's other values stay."""
    policy = {"scheduler.policy": "gtlrr"} if random.random() < 0.2 else {}
    found = policy | {
        "pipeline.collector_owner": random.choice(("scheduler", "scheduler", "sm")),
        "l2.write_allocate": random.choice(("lazy_fetch_on_read", "lazy_fetch_on_read", "lazy_whole_sectors")),
    }
    if random.random() < 0.3:
        found["scheduler.policy"] = random.choice(("rrr", "limited", "two-level"))
    found["scheduler.issues"], found["scheduler.different_units"] = random.choice((1, 1, 1, 2)), random.random() < 0.5
    found["pipeline.sub_cores"] = random.random() < 0.7
    if not found["pipeline.sub_cores"]:
        found |= {"pipeline.collector_owner": "sm", "pipeline.register_banks": random.choice((4, 8))}
    return found


def options(random: Random) -> dict[str, Any]:
    """Options that the released configurations leave at their defaults; two of three cases do likewise."""
    if random.random() < 0.67:
        return {}
    pick = random.choice
    core, net, l2 = pick(((1_365_000,) * 3, (1_132_000, 1_365_000, 1_900_001), (1_365_000, 900_007, 700_001)))
    return {
        "sm.clock_khz": core, "memory.interconnect_clock_khz": net, "memory.l2_clock_khz": l2,
        "interconnect.arbiter": pick(("islip", "round_robin")), "lsu.global_skips_l1": pick((False, False, True)),
        "lsu.local_order": pick(("cta", "sm")), "l1.bank_bytes": pick((16, 32, 64, 128)),
        "l1.replacement": pick(("lru", "fifo")), "l2.replacement": pick(("lru", "fifo")),
        "l1.set_hash": pick(("linear", "fermi")), **pick(WRITES), **pick(({}, shared_ports(random))),
    }  # fmt: skip


def ticks(random: Random) -> dict[str, Any]:
    """How clocks tick; two of three cases have a DRAM clock whose ticks often fall on the core's."""
    often = {"dram.clock_khz": random.choice((455_000, 2_275_000, 4_095_000))} if random.random() < 0.67 else {}
    return {"memory.clock_ticks": random.choice(("summed", "summed", "exact"))} | often


def lockstep(random: Random) -> dict[str, Any]:
    """Values of GPUs in lockstep with three clocks, or an L2 much slower than the core."""
    clocks = ((1_132_000, 1_365_000, 1_900_001), (1_365_000, 900_007, 700_001), (1_365_000, 1_365_000, 300_000))
    core, net, l2 = random.choice(clocks)
    own = {"sm.clock_khz": core, "memory.interconnect_clock_khz": net, "memory.l2_clock_khz": l2}
    own |= shared_ports(random) | {"interconnect.perfect_memory": False}
    return own | {"interconnect.in_packets": random.choice((1, 2, 8)), "memory.clock_ticks": "exact"}


def shared_ports(random: Random) -> dict[str, Any]:
    """Values of GPUs in lockstep: clusters, short buffers, perfect memory."""
    pick = random.choice
    cluster = pick((1, 2, 3))
    return {
        "sm.cluster": cluster, "sm.count": cluster * pick((1, 2)), "interconnect.in_packets": pick((1, 2, 8, 512)),
        "interconnect.out_packets": pick((1, 2, 8, 512)), "interconnect.eject_packets": pick((1, 8, 32)),
        "interconnect.response_packets": pick((1, 2)), "interconnect.perfect_memory": random.random() < 0.25,
    }  # fmt: skip


def instruction_cache(random: Random, others: dict[str, Any]) -> dict[str, Any]:
    """Values of an instruction cache that is not perfect, in a fifth of the cases; perfect memory has none."""
    if others.get("interconnect.perfect_memory") or random.random() < 0.8:
        return {}
    pick, ways = random.choice, random.choice((1, 2, 16))
    values = {
        "perfect": False, "bytes": 128 * ways * pick((1, 2, 64)), "ways": ways, "mshr_entries": pick((1, 2, 8)),
        "mshr_merges": pick((1, 3, 48)), "miss_queue": pick((1, 2, 4)),
    }  # fmt: skip
    return {f"instruction_cache.{name}": value for name, value in values.items()}


def texture_unit(random: Random) -> dict[str, Any]:
    """Values of a texture unit, in half of the cases."""
    if random.random() < 0.5:
        return {}
    pick = random.choice
    return {
        "texture.path": "unit", "texture.sass_accesses": random.random() < 0.8,
        "texture.latency_cycles": pick((1, 7, 90)),
        "texture.quads_per_cycle": pick((1, 2, 8)), "texture.quads_per_request": pick((1, 2, 4, 8)),
        "texture.queue_entries": pick((1, 2, 8)),
    }  # fmt: skip


def raster(random: Random) -> dict[str, Any]:
    """Rates of raster operations, fast and slow, one or both."""
    pick = random.choice
    colours, depths = pick(((1, 0), (0, 1), (1, 1), (1, 1)))
    return {
        "rop.colour_pixels_per_cycle": colours * pick((1, 1, 3, 64)), "rop.pixel_bytes": pick((1, 4, 16)),
        "rop.depth_pixels_per_cycle": depths * pick((1, 3, 8, 64)),
    }  # fmt: skip


def add_stages(path: Path, random: Random) -> Path:
    """A trace whose kernels are stages of draws, most fragment shaders with a few or many covered pixels."""
    count = open_trace(path).rows("kernels")
    fragment = [random.random() < 0.9 for _ in range(count)]
    numbers = {name: np.zeros(count, np.uint32) for name in ("draw", "triangles", "shaded", "live")}
    covered = [of_pixels * random.choice((0, 1, 40, 1000, 20_000)) for of_pixels in fragment]
    stages: dict[str, Any] = {
        "kernel_id": np.arange(count), "stage": ["fragment" if each else "vertex" for each in fragment],
        "draw_name": [""] * count, "covered": np.array(covered), **numbers,
    }  # fmt: skip
    return with_tables(path, path.with_name("drawn.trace"), {"stages": stages})


def write_back(random: Random, others: dict[str, Any]) -> dict[str, Any]:
    """An L1 that writes back, in a fifth of the cases, before an L2 that does; perfect memory has none."""
    forwards = others.get("l2.write_policy", "back") != "back" or not others["l2.write_allocate"].startswith("lazy")
    if forwards or others.get("interconnect.perfect_memory") or random.random() < 0.8:
        return {}
    return {"l1.write_policy": "back"}


def rare_options(random: Random) -> dict[str, Any]:
    """Options that no released configuration changes, in a quarter of the cases."""
    if random.random() < 0.75:
        return {}
    return {
        "sm.rotates": random.random() < 0.5, "interconnect.grant_cycles": random.choice((1, 2, 3, 7)),
        "dram.free_turnaround": random.random() < 0.5, "dram.scheduler": random.choice(("frfcfs", "fifo")),
        "lsu.warp_parts": random.choice((1, 2, 4, 32)),
    }  # fmt: skip


def assignments(values: dict[str, Any]) -> list[str]:
    """For ``replay.gpu.description.load``."""
    slices = values["memory.count"] * values["l2.slices_per_controller"]
    more = {
        "sm.kernel_launch_cycles": 0, "l1.bytes": 512 * values["l1.ways"], "l1.unified_bytes": 20480,
        "l1.shared_options": [0, 4096, 16384], "l2.bytes": slices * 16 * values["l2.ways"] * 128,
    }  # fmt: skip
    written = {**values, **more}
    return [
        f"{key}={value}".lower() if isinstance(value, bool) else f"{key}={value!r}" for key, value in written.items()
    ]


def twin_config(values: dict[str, Any]) -> GpuConfig:
    """The same for the twin."""

    def part(name: str) -> dict[str, Any]:
        return {key.partition(".")[2]: value for key, value in values.items() if key.startswith(f"{name}.")}

    names = ("sm", "pipeline", "l1", "l2", "dram", "interconnect", "texture", "instruction_cache", "rop")
    sm, pipeline, l1, l2, dram, icnt, texture, l1i, rop = (part(name) for name in names)
    latencies = {
        name: (pipeline[f"{unit}_latency_cycles"], pipeline[f"{unit}_initiation_cycles"])
        for name, unit in UNITS.items()
    }
    timing = {key: dram[key] for key in vars(DramConfig()) if key in dram}
    timing["fifo"] = dram.get("scheduler") == "fifo"
    return GpuConfig(
        sms=sm["count"], cluster=sm.get("cluster", 1), rotates=sm.get("rotates", True),
        grant_cycles=icnt.get("grant_cycles", 1), perfect=icnt.get("perfect_memory", False),
        cluster_fifo=icnt.get("eject_packets", 32), response_fifo=icnt.get("response_packets", 2),
        warps=sm["warps"], ctas=sm["ctas"], policy=values["scheduler.policy"],
        active_warps=values["scheduler.active_warps"], issues=values.get("scheduler.issues", 1),
        different_units=values.get("scheduler.different_units", True), sub_cores=pipeline.get("sub_cores", True),
        collectors=pipeline["collectors"], collector_owner=pipeline["collector_owner"],
        collector_ports=pipeline["collector_ports"],
        register_banks=pipeline["register_banks"], collector_steps=pipeline["register_steps"],
        fetch_width=pipeline["fetches"], result_buses=pipeline["result_buses"],
        latencies={**latencies, "ONE": (1, 1)},
        l1=CacheConfig(
            4, *(l1[name] for name in CACHE), write_through=l1.get("write_policy", "through") == "through", ipoly=False,
            dirty_percent=l1["dirty_percent"], write_allocate=l1.get("write_allocate", "lazy").partition("_")[0],
            fifo=l1.get("replacement") == "fifo", fermi=l1.get("set_hash") == "fermi",
            whole_lines=l1.get("whole_lines", False), evict=l1.get("write_policy", "").startswith("evict"),
            keeps_local=l1.get("write_policy") == "evict_global",
        ),
        bank_bytes=values.get("l1.bank_bytes", 32), skip_l1=values.get("lsu.global_skips_l1", False),
        skip_local=values.get("lsu.local_skips_l1", False),
        local_by_cta=values.get("lsu.local_order", "cta") == "cta",
        round_robin=values.get("interconnect.arbiter") == "round_robin",
        l1_latency=l1["latency_cycles"], l1_banks=l1["banks"], unified_bytes=20480, shared_options=(0, 4096, 16384),
        shared_latency=values["lsu.shared_latency_cycles"], warp_parts=values.get("lsu.warp_parts", 1),
        texture=TextureConfig(texture.pop("sass_accesses"), **texture),
        instructions=InstructionCacheConfig(
            True, l1i["bytes"] // l1i["ways"] // 128, l1i["ways"], l1i["mshr_entries"], l1i["mshr_merges"],
            l1i["miss_queue"],
        ) if l1i else InstructionCacheConfig(),
        raster=RasterConfig(
            rop.get("colour_pixels_per_cycle", 0), rop.get("pixel_bytes", 16), rop.get("depth_pixels_per_cycle", 0)
        ),
        channels=values["memory.count"], slices_per_channel=l2["slices_per_controller"],
        l2=CacheConfig(
            16, *(l2[name] for name in CACHE), write_through=l2.get("write_policy") == "through",
            evict=l2.get("write_policy") == "evict", write_allocate=l2["write_allocate"].partition("_")[0],
            ipoly=True, dirty_percent=0,
            whole_sectors=l2["write_allocate"] == "lazy_whole_sectors", fifo=l2.get("replacement") == "fifo",
        ),
        rop_latency=l2["latency_cycles"], dram_latency=dram["latency_cycles"],
        slice_input=l2["input_queue"], slice_to_dram=l2["to_dram_queue"], slice_from_dram=l2["from_dram_queue"],
        random_partitions=values.get("memory.partition_hash") == "random", flush_l2=l2.get("flush_idle", False),
        slice_replies=l2["reply_queue"], crossbar_inputs=icnt["in_packets"], crossbar_outputs=icnt["out_packets"],
        dram=DramConfig(
            **timing, groups=dram["bank_groups"], queue=dram["queue_entries"], return_queue=dram["return_entries"]
        ),
        core_mhz=values.get("sm.clock_khz", 1_365_000) / 1000, l2_mhz=values.get("memory.l2_clock_khz", 0) / 1000,
        crossbar_mhz=values.get("memory.interconnect_clock_khz", 0) / 1000, dram_mhz=dram["clock_khz"] / 1000,
        summed_clocks=values.get("memory.clock_ticks") == "summed",
    )  # fmt: skip


def run_twin(case: Case) -> Found:
    """Cycles and counters by kernel, as the engine names them."""
    gpu, found = Gpu(case.twin), []
    for command in load_program(case.trace, case.twin.latencies, case.twin.texture.used):
        if isinstance(command, Kernel):
            result = gpu.run(command)
            found.append({"cycles": result.cycles} | {name: result.counts.get(name, 0) for name in COUNTED})
        else:
            gpu.copy(*command)
    return found


ACCESSES = ("read_hits", "read_pending_hits", "read_line_misses", "read_sector_misses", "write_hits",
    "write_pending_hits", "write_line_misses", "write_sector_misses")  # fmt: skip
COUNTED = {
    "thread_instructions": ("sm", ("thread_instructions",)), "warp_instructions": ("sm", ("warp_instructions",)),
    **{
        f"{level}_{name}": (unit, tuple(counter for counter in ACCESSES if kind in counter))
        for level, unit in (("l1", "l1d"), ("l2", "l2"))
        for name, kind in (("accesses", ""), ("misses", "misses"), ("pending_hits", "pending"))
    },
    **{f"l1i_{name}": ("l1i", (name,)) for name in ("hits", "misses", "fails")},
    **{
        f"rop_{name}": ("rop", (counter,))
        for name, counter in {
            "bytes": "colour_bytes", "cycles": "colour_cycles", "waits": "colour_wait_cycles", "tests": "depth_tests",
            "test_cycles": "depth_cycles",
        }.items()
    },
    "dram_reads": ("dram", ("reads",)), "dram_writes": ("dram", ("writes",)),
    "dram_activates": ("dram", ("activates",)), "dram_bus_clocks": ("dram", ("data_ticks",)),
    "dram_active_clocks": ("dram", ("active_ticks",)),
}  # fmt: skip


def run_engine(case: Case, quantum: int | None = None) -> Found:
    """Cycles and counters by kernel."""
    gpu, trace = load("accelsim-rtx2060", case.assignments), open_trace(case.trace)
    result = simulate(trace, gpu, quantum, model="pipeline")
    table, kernels = result.counters, result.kernels
    found = []
    for row in np.argsort(kernels["kernel_id"]):
        own = table["kernel_id"] == kernels["kernel_id"][row]
        counts = {"cycles": int(kernels["end_cycle"][row] - kernels["start_cycle"][row])}
        for name, (unit, counters) in COUNTED.items():
            rows = own & (table["unit"] == unit) & np.isin(table["counter"].astype(str), counters)
            counts[name] = int(table["value"][rows].sum())
        found.append(counts)
    return found


def differences(
    seed: int, folder: Path, with_memory: bool, in_lockstep: bool = False, is_drawn: bool = False,
    extra: dict[str, Any] | None = None,
) -> list[str]:  # fmt: skip
    """Differences between the counters of engine and twin, kernel by kernel."""
    folder.mkdir()
    case = make(seed, folder, with_memory, in_lockstep=in_lockstep, is_drawn=is_drawn, extra=extra)
    twin, engine = run_twin(case), run_engine(case)
    assert len(twin) == len(engine)
    return [
        f"seed {seed}, kernel {number}, {name}: twin {value}, engine {theirs[name]}"
        for number, (ours, theirs) in enumerate(zip(twin, engine, strict=True))
        for name, value in ours.items()
        if theirs[name] != value
    ]
