"""Meaning of each option of ``gpgpusim.config`` in a GPU description (``docs/sources/accel-sim.md#configurations``).

``OPTIONS`` maps an option to a function from its text to values by dotted path; ``TOGETHER`` has what follows from an
option and ``HELPERS`` that go with it; ``FIXED`` are options that are refused unless they have a value given there.
Options that change no cycle of a trace are in ``reference_options``.
"""

import re
from collections.abc import Callable
from fractions import Fraction

Values = dict[str, object]


class OptionError(ValueError):
    """The text of an option cannot be read; the message says what it must be."""


def numbers(text: str, count: int | None = None, separator: str = "[:,]") -> list[int]:
    """Whole numbers separated by colons or commas."""
    words = [word.strip() for word in re.split(separator, text)]
    if not all(re.fullmatch(r"\d{1,12}", word) for word in words) or (count is not None and len(words) < count):
        wanted = "a whole number" if count == 1 else f"{count or ''} whole numbers separated by : or ,".strip()
        raise OptionError(f"must be {wanted}, of at most 12 digits and not negative")
    return [int(word) for word in words]


def whole(path: str, factor: int = 1) -> Callable[[str], Values]:
    """One number, times ``factor``."""
    return lambda text: {path: numbers(text, 1)[0] * factor}


def chosen(path: str, words: dict[str, object]) -> Callable[[str], Values]:
    """One of several words."""

    def read(text: str) -> Values:
        if text not in words:
            raise OptionError(f"must be one of {', '.join(words)}")
        return {path: words[text]}

    return read


def several(section: str, *names: str, least: int = 0) -> Callable[[str], Values]:
    """As many numbers of a section, each ``least`` or more."""
    return lambda text: {
        f"{section}.{name}": max(number, least)
        for name, number in zip(names, numbers(text, len(names)), strict=False)
    }  # fmt: skip


def pair(prefix: str) -> Callable[[str], Values]:
    """``latency,initiation`` of a unit."""
    return several("pipeline", f"{prefix}_latency_cycles", f"{prefix}_initiation_cycles")


def clocks(text: str) -> Values:
    """``core:interconnect:L2:DRAM`` in MHz."""
    words = text.split(":")
    if len(words) != 4 or not all(re.fullmatch(r"\d{1,6}(\.\d{1,3}0*)?", word) for word in words):
        raise OptionError("must be four clocks in MHz with three decimals at most, separated by :")
    names = ("sm.clock_khz", "memory.interconnect_clock_khz", "memory.l2_clock_khz", "dram.clock_khz")
    return {name: int(Fraction(word) * 1000) for name, word in zip(names, words, strict=True)}


def scheduler(text: str) -> Values:
    """``gto``, ``lrr``, ``rrr``, ``old``, ``two_level_active:WARPS:0:1`` or ``warp_limiting:2:WARPS``."""
    if re.fullmatch(r"two_level_active:\d+:0:1", text):
        return {"scheduler.policy": "two-level", "scheduler.active_warps": numbers(text.split(":")[1], 1)[0]}
    if text.startswith("warp_limiting:2:"):
        return {"scheduler.policy": "limited", "scheduler.active_warps": numbers(text[16:], 1)[0]}
    words = {"gto": "gto", "lrr": "lrr", "rrr": "rrr", "old": "oldest", "oldest": "oldest"}
    return chosen("scheduler.policy", dict(words))(text)


def sub_cores(text: str) -> Values:
    """Whether schedulers have latches, collectors, banks and units of their own; without, the SM has."""
    found = chosen("pipeline.sub_cores", {"0": False, "1": True})(text)
    return found if found["pipeline.sub_cores"] else found | {"pipeline.collector_owner": "sm"}


CACHE = re.compile(
    r"([A-Z]):(\d{1,6}):(\d{1,6}):(\d{1,6}),([A-Z]):([A-Z]):([a-z]):([A-Z]):([A-Z]),"
    r"([A-Z]):(\d{1,6}):(\d{1,6}),(\d{1,6})(?::\d{1,6}(?:,(\d{1,6}))?)?"
)
WRITES = {"T": "through", "B": "back", "E": "evict", "L": "evict_global"}
ALLOCATIONS = {"m": "on_miss", "f": "on_fill", "s": "streaming"}
WRITE_ALLOCATIONS = {"N": "none", "W": "naive", "F": "fetch_on_write", "L": "lazy_fetch_on_read"}
SET_HASHES = {"L": "linear", "X": "xor", "P": "ipoly", "H": "fermi"}
REPLACEMENTS = {"L": "lru", "F": "fifo"}


def cache(text: str, kinds: tuple[tuple[str, str], ...], others: str) -> tuple[int, Values]:
    """Bytes and policy of a cache string; ``kinds``: letters of lines and MSHRs; ``others`` refuses the rest."""
    match = CACHE.fullmatch(text.replace(" ", ""))
    if match is None:
        raise OptionError("must be a cache such as S:64:128:16,L:B:m:L:P,A:192:4,32:0,32")
    if (match[1], match[10]) not in kinds:
        raise OptionError(f"must be {' or '.join(':...,'.join(kind) + ':...' for kind in kinds)}: {others}")
    sets, line_bytes, ways = (int(match[place]) for place in (2, 3, 4))
    policy: Values = {"line_bytes": line_bytes, "ways": ways}
    letters = {
        "replacement": (match[5], REPLACEMENTS), "write_policy": (match[6], WRITES),
        "allocate": (match[7], ALLOCATIONS), "write_allocate": (match[8], WRITE_ALLOCATIONS),
        "set_hash": (match[9], SET_HASHES),
    }  # fmt: skip
    for name, (letter, words) in letters.items():
        if letter not in words:
            raise OptionError(f"must have one of {', '.join(words)} for {name}")
        policy[name] = words[letter]
    policy |= {"mshr_entries": int(match[11]), "mshr_merges": int(match[12]), "miss_queue": int(match[13])}
    return sets * line_bytes * ways, policy | {"port_bytes": int(match[14] or 0) or line_bytes}


def l1_cache(text: str) -> Values:
    """The cache string of the L1; without one (``none``) all loads and stores go past it."""
    if text == "none":
        return {"lsu.local_skips_l1": True}
    size, policy = cache(text, (("S", "A"), ("N", "S")), "with others an assertion ends Accel-Sim")
    policy["whole_lines"] = text.lstrip()[0] == "N"
    return {"l1.bytes": size} | {f"l1.{name}": value for name, value in policy.items()}


def texture_cache(text: str) -> Values:
    """The cache string of the texture cache: ``N:4:128:256,L:R:m:N:L,T:512:8,128:2``."""
    match = re.fullmatch(r"[NS]:(\d+):(\d+):(\d+),L:R:m:N:L,[FT]:(\d+):(\d+),(\d+):(\d+)", text.replace(" ", ""))
    if match is None:
        raise OptionError("must be a texture cache such as N:4:128:256,L:R:m:N:L,T:512:8,128:2")
    names = ("sets", "line_bytes", "ways", "fragments", "requests", "lines", "results")
    return {f"texture.{name}": int(number) for name, number in zip(names, match.groups(), strict=True)}


def _instruction_cache(given: dict[str, str]) -> Values:
    """The string of the instruction cache: ``N:64:128:16,L:R:f:N:L,S:2:48,4``; any, where the cache is perfect."""
    perfect = given.get("gpgpu_perfect_inst_const_cache", "1") != "0"
    text = given["gpgpu_cache:il1"].replace(" ", "")
    match = re.fullmatch(r"N:(\d{1,6}):128:(\d{1,6}),L:R:f:N:L,S:(\d{1,6}):(\d{1,6}),(\d{1,6})(?:,\d+|:\d+)*", text)
    if match is None and perfect:
        return {}
    if match is None:
        raise OptionError("must be an instruction cache such as N:64:128:16,L:R:f:N:L,S:2:48,4")
    sets, ways, *queues = map(int, match.groups())
    names = ("mshr_entries", "mshr_merges", "miss_queue")
    found = {"bytes": sets * ways * 128, "ways": ways} | dict(zip(names, queues, strict=True))
    return {f"instruction_cache.{name}": value for name, value in found.items()}


TIMING = {
    "nbk": "banks", "CCD": "ccd", "RRD": "rrd", "RCD": "rcd", "RAS": "ras", "RP": "rp", "RC": "rc", "CL": "cl",
    "WL": "wl", "CDLR": "cdlr", "WR": "wr", "nbkgrp": "bank_groups", "CCDL": "ccd_long", "RTPL": "rtpl",
}  # fmt: skip


def timing(text: str) -> Values:
    """``nbk=16:CCD=4:...`` of the DRAM."""
    found: Values = {}
    for word in text.strip('"').split(":"):
        name, _, number = word.strip().partition("=")
        if name not in TIMING or not number.isdigit():
            raise OptionError(f"must be timings {', '.join(TIMING)} such as CCD=4 separated by :")
        found[f"dram.{TIMING[name]}"] = int(number)
    return found


RECORDS = ("header", "internal", "instance", "descriptor", "triangle", "triangle_hit", "procedural")
SWITCH = {"0": False, "1": True}
HASHES = {"0": "linear", "1": "xor", "2": "ipoly"}
OPTIONS: dict[str, Callable[[str], Values]] = {
    "gpgpu_n_mem": whole("memory.count"),
    "gpgpu_n_sub_partition_per_mchannel": whole("l2.slices_per_controller"),
    "gpgpu_simt_core_sim_order": chosen("sm.rotates", dict(SWITCH)),
    "gpgpu_clock_domains": clocks,
    "gpgpu_shader_registers": whole("sm.registers"),
    "gpgpu_shader_cta": whole("sm.ctas"),
    "gpgpu_shmem_size": whole("sm.shared_bytes"),
    "gpgpu_kernel_launch_latency": whole("sm.kernel_launch_cycles"),
    "gpgpu_TB_launch_latency": whole("sm.cta_launch_cycles"),
    "gpgpu_max_insn_issue_per_warp": whole("scheduler.issues"),
    "gpgpu_dual_issue_diff_exec_units": chosen("scheduler.different_units", dict(SWITCH)),
    "gpgpu_sub_core_model": sub_cores,
    "gpgpu_num_sched_per_core": whole("scheduler.count"),
    "gpgpu_scheduler": scheduler,
    "gpgpu_inst_fetch_throughput": whole("pipeline.fetches"),
    "gpgpu_operand_collector_num_units_gen": whole("pipeline.collectors"),
    "gpgpu_num_reg_banks": whole("pipeline.register_banks"),
    "gpgpu_reg_file_port_throughput": whole("pipeline.register_steps"),
    "gpgpu_smem_latency": whole("lsu.shared_latency_cycles"),
    "gpgpu_shmem_num_banks": whole("lsu.shared_banks"),
    "gpgpu_shmem_limited_broadcast": chosen("lsu.one_broadcast", dict(SWITCH)),
    "gpgpu_shmem_warp_parts": whole("lsu.warp_parts"),
    "gpgpu_cache:dl1": l1_cache,
    "gpgpu_tex_cache:l1": texture_cache,
    "gpgpu_perfect_inst_const_cache": chosen("instruction_cache.perfect", dict(SWITCH)),
    "gpgpu_l1_latency": whole("l1.latency_cycles"),
    "gpgpu_l1_banks": whole("l1.banks"),
    "gpgpu_l1_banks_hashing_function": chosen("l1.bank_hash", {"0": "linear", "1": "xor"}),
    "gpgpu_l1_banks_byte_interleaving": whole("l1.bank_bytes"),
    "gpgpu_local_mem_map": chosen("lsu.local_order", {"0": "sm", "1": "cta"}),
    "gpgpu_l1_cache_write_ratio": whole("l1.dirty_percent"),
    "gpgpu_flush_l1_cache": chosen("l1.invalidate_idle", dict(SWITCH)),
    "gpgpu_l2_rop_latency": whole("l2.latency_cycles"),
    "gpgpu_dram_partition_queues": several("l2", "input_queue", "to_dram_queue", "from_dram_queue", "reply_queue"),
    "gpgpu_perf_sim_memcpy": chosen("memory.copies", {"0": "none", "1": "low_32_bits"}),
    "gpgpu_memory_partition_indexing": chosen(
        "memory.partition_hash",
        {"0": "consecutive", "1": "xor", "2": "ipoly", "4": "random", "5": "consecutive"},
    ),
    "gpgpu_flush_l2_cache": chosen("l2.flush_idle", dict(SWITCH)),
    "gpgpu_mem_addr_mapping": lambda text: {"memory.address_map": text},
    "icnt_in_buffer_limit": whole("interconnect.in_packets"),
    "icnt_out_buffer_limit": whole("interconnect.out_packets"),
    "gpgpu_n_cluster_ejection_buffer_size": whole("interconnect.eject_packets"),
    "gpgpu_n_ldst_response_buffer_size": whole("interconnect.response_packets"),
    "gpgpu_perfect_mem": chosen("interconnect.perfect_memory", dict(SWITCH)),
    "icnt_arbiter_algo": chosen("interconnect.arbiter", {"0": "round_robin", "1": "islip"}),
    "icnt_grant_cycles": whole("interconnect.grant_cycles"),
    "dram_latency": whole("dram.latency_cycles"),
    "gpgpu_dram_scheduler": chosen("dram.scheduler", {"0": "fifo", "1": "frfcfs"}),
    "gpgpu_frfcfs_dram_sched_queue_size": whole("dram.queue_entries"),
    "gpgpu_dram_return_queue_size": whole("dram.return_entries"),
    "gpgpu_dram_burst_length": whole("dram.burst_length"),
    "dram_data_command_freq_ratio": whole("dram.data_ratio"),
    "gpgpu_dram_timing_opt": timing,
    "dram_dual_bus_interface": chosen("dram.dual_bus", dict(SWITCH)),
    "dram_elimnate_rw_turnaround": chosen("dram.free_turnaround", dict(SWITCH)),
    "dram_bnk_indexing_policy": chosen("dram.bank_hash", dict(HASHES)),
    "dram_bnkgrp_indexing_policy": chosen("dram.bank_group_bits", {"0": "higher", "1": "lower"}),
    "trace_opcode_latency_initiation_int": pair("int"),
    "trace_opcode_latency_initiation_sp": pair("sp"),
    "trace_opcode_latency_initiation_dp": pair("dp"),
    "trace_opcode_latency_initiation_sfu": pair("sfu"),
    "trace_opcode_latency_initiation_spec_op_1": pair("branch"),
    "trace_opcode_latency_initiation_spec_op_2": pair("texture"),
    "trace_opcode_latency_initiation_spec_op_3": pair("tensor"),
    "trace_opcode_latency_initiation_spec_op_4": pair("uniform"),
    "gpgpu_num_rt_core_units": whole("rt.cores"),
    "gpgpu_rt_max_warps": whole("rt.warps"),
    "gpgpu_rt_max_mshr": whole("rt.mshr_entries"),
    "gpgpu_rt_perfect_mem": chosen("rt.perfect_memory", dict(SWITCH)),
    "gpgpu_rt_coalesce_warps": chosen("rt.coalescing", {"0": "warp", "1": "unit"}),
    "gpgpu_rt_intersection_latency": several("rt", *(f"{name}_cycles" for name in RECORDS), least=1),
    "gpgpu_rt_intersection_table_type": chosen("rt.intersection_table", {"0": "baseline", "1": "fcc"}),
}


def _sms(given: dict[str, str]) -> Values:
    cluster = numbers(given.get("gpgpu_n_cores_per_cluster", "1"))[0]
    return {"sm.count": numbers(given["gpgpu_n_clusters"])[0] * cluster, "sm.cluster": cluster}


def _subnets(given: dict[str, str]) -> Values:
    """Networks of the crossbar: the third and later ones carry nothing, and with one GPGPU-Sim reads past its list."""
    if numbers(given["icnt_subnets"], 1)[0] < 2:
        raise OptionError("must be at least 2: requests and replies have a network each")
    return {}


def _address_mask(given: dict[str, str]) -> Values:
    """Address map that an explicit one replaces."""
    if numbers(given["gpgpu_mem_address_mask"], 1)[0] != 1 and "gpgpu_mem_addr_mapping" not in given:
        raise OptionError("must be 1, or -gpgpu_mem_addr_mapping given, which replaces it")
    return {}


def _warps(given: dict[str, str]) -> Values:
    threads, lanes = numbers(given["gpgpu_shader_core_pipeline"], 2)[:2]
    if lanes != 32:
        raise OptionError("must be threads:32, since a warp has 32 lanes")
    return {"sm.warps": threads // lanes}


def _schedulers(given: dict[str, str]) -> int:
    return numbers(given.get("gpgpu_num_sched_per_core", "4"))[0]


def _result_buses(given: dict[str, str]) -> Values:
    widths = numbers(given["gpgpu_pipeline_widths"], 11)
    if any(width not in (0, _schedulers(given)) for width in widths[:10]):
        raise OptionError(f"must have one latch of each class for each scheduler ({_schedulers(given)})")
    return {"pipeline.result_buses": widths[10]}


def _ports(given: dict[str, str]) -> Values:
    into, out = (numbers(given.get(f"gpgpu_operand_collector_num_{way}_ports_gen", "8"))[0] for way in ("in", "out"))
    if into != out:
        raise OptionError(f"must be as many as -gpgpu_operand_collector_num_out_ports_gen ({out})")
    return {"pipeline.collector_ports": into}


def _a_unit_each(name: str) -> Callable[[dict[str, str]], Values]:
    """Units of one class: as many as there are schedulers, or the option is refused."""

    def read(given: dict[str, str]) -> Values:
        if numbers(given[name])[0] != _schedulers(given):
            raise OptionError(f"must be one for each scheduler ({_schedulers(given)}): others are not modelled")
        return {}

    return read


def _specialised(name: str) -> Callable[[dict[str, str]], Values]:
    """``enabled,units,latency,ID_OC,OC_EX,NAME`` of a specialised unit; its latency bounds the trace's alone."""

    def read(given: dict[str, str]) -> Values:
        words = given[name].split(",")
        if words[0] != "0" and [words[place : place + 1] for place in (1, 3, 4)] != [[f"{_schedulers(given)}"]] * 3:
            raise OptionError("must have one unit and latch for each scheduler, as in 1,4,200,4,4,TEX for 4")
        return {}

    return read


def _coalescing(given: dict[str, str]) -> Values:
    if numbers(given["gpgpu_coalesce_arch"])[0] < 40:
        raise OptionError("must be at least 40: lines of earlier GPUs are not modelled")
    return {}


def _concurrency(given: dict[str, str]) -> Values:
    together = given["gpgpu_concurrent_kernel_sm"] != "0"
    return {"sm.concurrent_kernels": numbers(given.get("gpgpu_max_concurrent_kernel", "32"))[0] if together else 1}


def _unified(given: dict[str, str]) -> Values:
    if given["gpgpu_adaptive_cache_config"] == "0":
        return {"l1.unified_bytes": 0, "l1.shared_options": []}
    options = [size << 10 for size in numbers(given.get("gpgpu_shmem_option", "0"))]
    size = numbers(given.get("gpgpu_unified_l1d_size", "0"))[0] << 10
    return {"l1.unified_bytes": size, "l1.shared_options": options}


def _l2(given: dict[str, str]) -> Values:
    size, policy = cache(given["gpgpu_cache:dl2"], (("S", "A"),), "an L2 without sectors is not modelled")
    slices = numbers(given.get("gpgpu_n_mem", "12"))[0]
    slices *= numbers(given.get("gpgpu_n_sub_partition_per_mchannel", "1"))[0]
    return {"l2.bytes": size * slices} | {f"l2.{name}": value for name, value in policy.items()}


def _skips(given: dict[str, str]) -> Values:
    """Whether global memory goes past the L1: where it is told to, and without an L1."""
    if given.get("gpgpu_cache:dl1") != "none":
        return chosen("lsu.global_skips_l1", dict(SWITCH))(given.get("gpgpu_gmem_skip_L1D", "0"))
    if "gpgpu_rt_use_l1" in given and _rt_cache(given)["rt.cache"] == "l1":
        raise OptionError("must be a cache where an RT unit reads through it")
    return {"lsu.global_skips_l1": True}


def _bus(given: dict[str, str]) -> Values:
    chips = numbers(given.get("gpgpu_n_mem_per_ctrlr", "1"))[0]
    return {"dram.bus_bytes": numbers(given["gpgpu_dram_buswidth"])[0] * chips}


def _write_queue(given: dict[str, str]) -> Values:
    if given["dram_seperate_write_queue_enable"] == "0":
        return {"dram.write_queue_entries": 0, "dram.write_high": 0, "dram.write_low": 0}
    size, high, low = numbers(given.get("dram_write_queue_size", "32:28:16"), 3)[:3]
    return {"dram.write_queue_entries": size, "dram.write_high": high, "dram.write_low": low}


def _rt_cache(given: dict[str, str]) -> Values:
    if given.get("gpgpu_rt_disable_rt_cache", "0") != "0":
        return {"rt.cache": "none"}
    return {"rt.cache": "l1" if given["gpgpu_rt_use_l1"] != "0" else "private"}


TOGETHER: dict[str, Callable[[dict[str, str]], Values]] = {
    "gpgpu_n_clusters": _sms, "gpgpu_shader_core_pipeline": _warps, "gpgpu_pipeline_widths": _result_buses,
    "gpgpu_concurrent_kernel_sm": _concurrency, "gpgpu_adaptive_cache_config": _unified, "gpgpu_gmem_skip_L1D": _skips,
    "gpgpu_cache:dl1": _skips, "gpgpu_cache:dl2": _l2,
    "gpgpu_cache:il1": _instruction_cache,
    "gpgpu_dram_buswidth": _bus, "dram_seperate_write_queue_enable": _write_queue, "gpgpu_rt_use_l1": _rt_cache,
    "icnt_subnets": _subnets, "gpgpu_mem_address_mask": _address_mask,
    "gpgpu_coalesce_arch": _coalescing, "gpgpu_operand_collector_num_in_ports_gen": _ports,
    "gpgpu_operand_collector_num_out_ports_gen": _ports,
    **{name: _a_unit_each(name) for name in (f"gpgpu_num_{unit}_units" for unit in ("sp", "dp", "int", "sfu"))},
    **{name: _specialised(name) for name in (f"specialized_unit_{number}" for number in range(1, 5))},
}  # fmt: skip
# With options of Vulkan-Sim's RT unit the SM and the L2 are GPGPU-Sim 4.0's, each variable of a thread has a block of
# its own, and the RT unit has its quirks: value -> what it means then.
VULKAN_SIM: dict[str, dict[object, object]] = {
    "scheduler.policy": {"lrr": "gtlrr"}, "pipeline.collector_owner": {"scheduler": "sm"},
    "l2.write_allocate": {"lazy_fetch_on_read": "lazy_whole_sectors"}, "lsu.local_interleaved": {True: False},
    "lsu.local_block_bytes": {0: 256}, "rt.mshr_limit": {"every-read": "vulkan-sim"},
    "rt.response": {"waiter": "vulkan-sim"},
}  # fmt: skip
HELPERS = (
    "gpgpu_n_cores_per_cluster", "gpgpu_max_concurrent_kernel", "gpgpu_unified_l1d_size", "gpgpu_shmem_option",
    "gpgpu_n_mem_per_ctrlr", "dram_write_queue_size", "gpgpu_rt_disable_rt_cache",
)  # fmt: skip
FIXED: dict[str, tuple[str, ...]] = {
    "network_mode": ("2",),
    "gpgpu_enable_specialized_operand_collector": ("0",),
    "gpgpu_cache:dl2_texture_only": ("0",),
    "l2_ideal": ("0",), "gpgpu_simple_dram_model": ("0",), "gpgpu_max_cycle": ("0",),
    "gpgpu_max_insn": ("0",), "gpgpu_max_cta": ("0",), "gpgpu_max_completed_cta": ("0",),
    "gpgpu_mem_unit_ports": ("1", "0"), "checkpoint_option": ("0",),
    "resume_option": ("0",), "SST_mode": ("0",), "gpgpu_lrc_enabled": ("0",), "gpgpu_opndcoll_model": ("0",),
    "gpgpu_n_chiplet_partition": ("1",), "gpgpu_rt_coherence_engine": ("0",),
    "gpgpu_rt_cache:l1": ("S:32:128:16,L:R:m:L:P,A:256:256,32:0,32",),
}  # fmt: skip
