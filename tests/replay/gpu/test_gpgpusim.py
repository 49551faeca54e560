"""gpgpusim.config as a GPU description: its values, places in errors, nothing unnamed.

Source: docs/sources/accel-sim.md#configurations.
"""

import dataclasses
import re
from pathlib import Path

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import explain, load, notes

CONFIG = """\
# the numbers of docs/sources/accel-sim.md#configurations, SM75_RTX2060
-gpgpu_n_clusters 30
-gpgpu_n_cores_per_cluster 1
-gpgpu_n_mem 12
-gpgpu_n_sub_partition_per_mchannel 2
-gpgpu_clock_domains 1365:1365:1365:3500.5
-gpgpu_shader_registers 65536
-gpgpu_shader_core_pipeline 1024:32
-gpgpu_shader_cta 16
-gpgpu_kernel_launch_latency 5000
-gpgpu_concurrent_kernel_sm 0
-gpgpu_num_sched_per_core 4
-gpgpu_scheduler lrr
-gpgpu_pipeline_widths 4,4,4,4,4,4,4,4,4,4,8,4,4
-gpgpu_shmem_size 65536
-gpgpu_smem_latency 30
-gpgpu_adaptive_cache_config 1
-gpgpu_shmem_option 32,64
-gpgpu_unified_l1d_size 96
-gpgpu_cache:dl1 S:4:128:64,L:T:m:L:L,A:256:32,16:0,32
-gpgpu_l1_latency 32
-gpgpu_l1_cache_write_ratio 25
-gpgpu_cache:dl2 S:64:128:16,L:B:m:L:P,A:192:4,32:0,32
-gpgpu_l2_rop_latency 194
-gpgpu_memory_partition_indexing 0
-gpgpu_mem_addr_mapping dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RBBBCCCC.BCCSSSSS
-dram_latency 96
-gpgpu_dram_buswidth 2
-gpgpu_dram_burst_length 16
-dram_data_command_freq_ratio 4
-gpgpu_dram_timing_opt nbk=16:CCD=4:RRD=12:RCD=24:RAS=55:RP=24:RC=78:CL=24:WL=8:CDLR=10:WR=24:nbkgrp=4:CCDL=6:RTPL=4
-dram_bnkgrp_indexing_policy 1
-network_mode 2
-gpgpu_ptx_sim_mode 0
"""
TRACE_CONFIG = """\
-trace_opcode_latency_initiation_dp 64,64   # a comment
-trace_opcode_latency_initiation_spec_op_4 4,1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/gpgpusim.config").write_text(CONFIG)
    (tmp_path / "mine/trace.config").write_text(TRACE_CONFIG)
    return tmp_path / "mine"


def test_the_references_configuration_gives_the_shipped_description(folder: Path) -> None:
    found, shipped = load(str(folder / "gpgpusim.config")), load("accelsim-rtx2060")
    assert found.name == "mine"
    assert dataclasses.replace(found, name=shipped.name) == shipped


@pytest.mark.parametrize(
    ("line", "path", "value"),
    [
        ("-gpgpu_scheduler two_level_active:5:0:1", "scheduler.active_warps", 5),
        ("-gpgpu_tex_cache:l1 N:4:128:64,L:R:m:N:L,T:512:8,128:2", "texture.ways", 64),
        ("-gpgpu_scheduler old", "scheduler.policy", "oldest"),
        ("-gpgpu_scheduler rrr", "scheduler.policy", "rrr"),
        ("-gpgpu_scheduler warp_limiting:2:3", "scheduler.active_warps", 3),
        ("-gpgpu_max_insn_issue_per_warp 2", "scheduler.issues", 2),
        ("-gpgpu_dual_issue_diff_exec_units 0", "scheduler.different_units", False),
        ("-gpgpu_sub_core_model 0", "pipeline.collector_owner", "sm"),
        ("-gpgpu_clock_domains 1132:1000.5:900:3500.5", "memory.interconnect_clock_khz", 1000500),
        ("-gpgpu_clock_domains 1132:1000.500000:900:3500.5", "memory.clock_ticks", "summed"),
        ("-gpgpu_cache:dl1 S:1:128:512,L:L:s:N:L,A:256:8,16:0,32", "l1.allocate", "streaming"),
        ("-gpgpu_adaptive_cache_config 0", "l1.unified_bytes", 0),
        ("-gpgpu_concurrent_kernel_sm 1", "sm.concurrent_kernels", 32),
        ("-dram_seperate_write_queue_enable 1\n-dram_write_queue_size 64:56:32", "dram.write_low", 32),
        ("-gpgpu_rt_max_warps 8", "rt.warps", 8),
        ("-gpgpu_TB_launch_latency 100", "sm.cta_launch_cycles", 100),
        ("-gpgpu_shmem_num_banks 16", "lsu.shared_banks", 16),
        ("-gpgpu_shmem_limited_broadcast 1", "lsu.one_broadcast", True),
        ("-gpgpu_shmem_warp_parts 2", "lsu.warp_parts", 2),
        ("-gpgpu_shmem_warp_parts 3", "lsu.warp_parts", 3),
        ("-gpgpu_dram_scheduler 0", "dram.scheduler", "fifo"),
        ("-gpgpu_rt_intersection_latency 1,2,3,4,5,6,7", "rt.triangle_hit_cycles", 6),
        ("-gpgpu_rt_use_l1 0", "rt.cache", "private"),
        ("-gpgpu_cache:dl2 S:64:128:16,F:B:m:L:P,A:192:4,32:0,32", "l2.replacement", "fifo"),
        ("-gpgpu_cache:dl2 S:64:128:16,L:T:m:N:P,A:192:4,32:0,32", "l2.write_policy", "through"),
        ("-gpgpu_cache:dl2 S:64:128:16,L:B:m:W:P,A:192:4,32:0,32", "l2.write_allocate", "naive"),
        ("-gpgpu_cache:dl1 S:4:128:64,L:T:m:L:H,A:256:32,16:0,32", "l1.set_hash", "fermi"),
        ("-gpgpu_l1_banks_byte_interleaving 64", "l1.bank_bytes", 64),
        ("-gpgpu_gmem_skip_L1D 1", "lsu.global_skips_l1", True),
        ("-gpgpu_cache:dl1 none", "lsu.local_skips_l1", True),
        ("-gpgpu_cache:dl1 none\n-gpgpu_gmem_skip_L1D 0", "lsu.global_skips_l1", True),
        ("-gpgpu_cache:dl1 N:32:128:4,L:L:m:N:H,S:64:8,8", "l1.whole_lines", True),
        ("-gpgpu_cache:dl1 N:32:128:4,L:L:m:N:H,S:64:8,8", "l1.port_bytes", 128),
        ("-gpgpu_local_mem_map 0", "lsu.local_order", "sm"),
        ("-gpgpu_perfect_mem 1", "interconnect.perfect_memory", True),
        ("-gpgpu_memory_partition_indexing 4", "memory.partition_hash", "random"),
        ("-gpgpu_memory_partition_indexing 5", "memory.partition_hash", "consecutive"),
        ("-gpgpu_flush_l2_cache 1", "l2.flush_idle", True),
        ("-gpgpu_cache:dl1 S:4:128:64,L:B:m:N:L,A:256:32,16:0,32", "l1.write_allocate", "none"),
        ("-gpgpu_cache:dl1 S:4:128:64,L:B:m:F:L,A:256:32,16:0,32", "l1.write_allocate", "fetch_on_write"),
        ("-gpgpu_cache:dl1 S:4:128:64,L:T:m:L:L,A:256:32,16", "l1.port_bytes", 128),
        ("-gpgpu_simt_core_sim_order 0", "sm.rotates", False),
        ("-icnt_grant_cycles 3", "interconnect.grant_cycles", 3),
        ("-dram_elimnate_rw_turnaround 1", "dram.free_turnaround", True),
        ("-icnt_subnets 3", "interconnect.perfect_memory", False),
        ("-gpgpu_mem_address_mask 0", "memory.partition_hash", "consecutive"),
        ("-gpgpu_n_clusters 15\n-gpgpu_n_cores_per_cluster 2", "sm.cluster", 2),
        ("-gpgpu_n_clusters 15\n-gpgpu_n_cores_per_cluster 2", "sm.count", 30),
        ("-icnt_in_buffer_limit 8", "lockstep", True),
        ("-gpgpu_n_cluster_ejection_buffer_size 8", "interconnect.eject_packets", 8),
        ("-icnt_arbiter_algo 0", "interconnect.arbiter", "round_robin"),
        ("-gpgpu_cache:dl2 S:32:128:16,L:B:m:L:P,A:192:4,32:0,32", "l2.bytes", 32 * 128 * 16 * 24),
    ],
)
def test_an_option_becomes_its_value(folder: Path, line: str, path: str, value: object) -> None:
    (folder / "gpgpusim.config").write_text(f"{CONFIG}{line}\n")
    found: object = load(str(folder / "gpgpusim.config"))
    for name in path.split("."):
        found = getattr(found, name)
    assert found == value


def test_vulkan_sims_configuration_has_the_rules_of_its_version(folder: Path) -> None:
    (folder / "gpgpusim.config").write_text(f"{CONFIG}-gpgpu_rt_use_l1 1\n")
    gpu, told = load(str(folder / "gpgpusim.config")), list(notes(str(folder / "gpgpusim.config")))
    found = (gpu.scheduler.policy, gpu.pipeline.collector_owner, gpu.l2.write_allocate, gpu.l1.write_allocate)
    assert found == ("gtlrr", "sm", "lazy_whole_sectors", "lazy_fetch_on_read")
    assert (gpu.lsu.local_interleaved, gpu.lsu.local_block_bytes) == (False, 256)
    assert (gpu.rt.mshr_limit, gpu.rt.response) == ("vulkan-sim", "vulkan-sim")
    assert told[1].startswith("options of Vulkan-Sim's RT unit are given: scheduler.policy, ")
    lines = [line for line in explain(str(folder / "gpgpusim.config")) if "scheduler.policy" in line]
    assert lines[0].endswith("gpgpusim.config:13, in Vulkan-Sim]")


def test_a_value_says_where_it_comes_from(folder: Path) -> None:
    lines = [line for line in explain(str(folder / "gpgpusim.config")) if "dram.latency_cycles" in line]
    assert lines[0].endswith("gpgpusim.config:27]")
    lines = [line for line in explain(str(folder / "gpgpusim.config")) if "sm.register_unit" in line]
    assert lines[0].endswith("not in gpgpusim.config: as accelsim-rtx2060]")


def test_every_option_is_counted_and_named(folder: Path) -> None:
    (folder / "gpgpusim.config").write_text(f"{CONFIG}-gpgpu_new_unit 7\n-l2_ideal 0\n")
    told = list(notes(str(folder / "gpgpusim.config")))
    assert told[0].endswith(f"{CONFIG.count(chr(10)) - 3 + 2} options became values, 2 say what is modelled anyway")
    assert told[1] == "1 options change no cycle of a trace: -gpgpu_ptx_sim_mode"
    assert told[2] == "warning: 1 options are none of Accel-Sim's, and ignored: -gpgpu_new_unit"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("gpgpu_n_mem 12", r"gpgpusim.config:35: must be '-option value', found 'gpgpu_n_mem 12'"),
        ("-gpgpu_n_mem", "config:35: must be '-option value', found '-gpgpu_n_mem'"),
        ("-gpgpu_n_mem -dram_latency 9", "config:35: must be '-option value', found '-gpgpu_n_mem -dram_latency'"),
        ('-gpgpu_scheduler "gto', "config:35: the quotation must end, found '\"gto'"),
        (
            "-gpgpu_n_mem twelve",
            "config:35: -gpgpu_n_mem must be a whole number, of at most 12 digits and not negative, found 'twelve'",
        ),
        (
            "-gpgpu_scheduler fifo",
            "config:35: -gpgpu_scheduler must be one of gto, lrr, rrr, old, oldest, found 'fifo'",
        ),
        ("-gpgpu_cache:dl1 none\n-gpgpu_rt_use_l1 1", "must be a cache where an RT unit reads through it"),
        ("-gpgpu_cache:dl1 any", "config:35: -gpgpu_cache:dl1 must be a cache such as"),
        ("-gpgpu_cache:dl1 N:4:128:64,L:B:m:L:L,S:64:8,8", "whole_lines needs write_allocate none or naive"),
        ("-gpgpu_cache:dl1 N:4:128:64,L:L:m:N:L,S:64:8,8:0,32", "whole_lines needs line_bytes and port_bytes of 128"),
        ("-gpgpu_cache:dl2 S:64:128:16,L:R:m:L:P,A:192:4,32:0,32", "must have one of T, B, E, L for write_policy"),
        (
            "-gpgpu_cache:dl1 N:4:128:64,L:T:m:L:L,A:256:32,16:0,32",
            r"must be S:...,A:... or N:...,S:...: with others an",
        ),
        ("-gpgpu_cache:dl1 S:4:128:64,L:T:m:L:L,S:256:32,16:0,32", r"must be S:...,A:... or N:...,S:...: with others"),
        ("-gpgpu_dram_timing_opt CCD=4:XYZ=1", "must be timings nbk, CCD"),
        ("-gpgpu_clock_domains 1365:1365:1365:3500.1234", "must be four clocks in MHz with three decimals at most"),
        ("-gpgpu_shader_core_pipeline 1024:64", "must be threads:32, since a warp has 32 lanes"),
        ("-gpgpu_shader_core_pipeline 4096:32", "warps must be at most 64, not 128"),
        ("-network_mode 1", "config:35: -network_mode must be 2: others are not modelled, found '1'"),
        ("-gpgpu_num_dp_units 2", "-gpgpu_num_dp_units must be one for each scheduler"),
        ("-gpgpu_pipeline_widths 4,4,2,4,4,4,4,4,4,4,8", "must have one latch of each class for each scheduler"),
        ("-specialized_unit_2 1,2,200,4,4,TEX", "must have one unit and latch for each scheduler"),
        ("-gpgpu_coalesce_arch 20", "must be at least 40"),
        ("-icnt_subnets 1", "-icnt_subnets must be at least 2"),
        ("-gpgpu_memory_partition_indexing 3", "must be one of 0, 1, 2, 4, 5, found '3'"),
        ("-gpgpu_memory_partition_indexing 6", "must be one of 0, 1, 2, 4, 5, found '6'"),
        ("-gpgpu_shmem_warp_parts 33", "warp_parts must be at most 32, the lanes of a warp, not 33"),
        ("-gpgpu_cache:dl2 S:64:128:16,L:T:m:L:P,A:192:4,32:0,32", "would answer a write twice"),
        (
            "-gpgpu_cache:dl2 N:64:128:16,L:B:m:W:P,A:192:4,32:0,32",
            "must be S:...,A:...: an L2 without sectors is not modelled",
        ),
        ("-gpgpu_cache:dl1 S:4:128:64,L:T:m:F:L,A:256:32,16:0,32", "does not send every write on"),
        ("-icnt_grant_cycles 0", "grant_cycles must be at least 1"),
        ("-gpgpu_operand_collector_num_in_ports_gen 1", "must be as many as -gpgpu_operand_collector_num_out_ports"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(folder: Path, line: str, message: str) -> None:
    (folder / "gpgpusim.config").write_text(f"{CONFIG}{line}\n")
    with pytest.raises(UserError, match=message):
        load(str(folder / "gpgpusim.config"))


def test_an_absent_or_binary_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such configuration"):
        load(str(tmp_path / "gpgpusim.config"))
    (tmp_path / "gpgpusim.config").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="cannot be read"):
        load(str(tmp_path / "gpgpusim.config"))


def test_a_quoted_value_may_go_on_in_the_next_line(folder: Path) -> None:
    """As the timings of HBM do in Accel-Sim's V100s."""
    timing = '-gpgpu_dram_timing_opt "nbk=16:CCD=1:RRD=3:RCD=12:RAS=28:RP=12:RC=40:\n'
    timing += '                        CL=12:WL=2:CDLR=3:WR=10:nbkgrp=4:CCDL=2:RTPL=3"  # 850 MHz\n'
    (folder / "gpgpusim.config").write_text(f"{CONFIG}{timing}-gpgpu_n_mem 24 -dram_latency 100\n")
    found = load(str(folder / "gpgpusim.config"))
    assert (found.dram.rc, found.dram.cl, found.dram.rtpl) == (40, 12, 3)
    assert (found.memory.count, found.dram.latency_cycles) == (24, 100)
    assert any(line.endswith("gpgpusim.config:37]") for line in explain(str(folder / "gpgpusim.config")))


@pytest.mark.parametrize("text", ["", "# nothing\n", "-gpgpu_ptx_sim_mode 0\n"])
def test_a_file_that_describes_no_gpu_is_refused(folder: Path, text: str) -> None:
    (folder / "gpgpusim.config").write_text(text)
    (folder / "trace.config").unlink()
    with pytest.raises(UserError, match="must have an option that describes a GPU, such as -gpgpu_n_clusters"):
        load(str(folder / "gpgpusim.config"))


def test_an_address_mask_needs_a_map_that_replaces_it(folder: Path) -> None:
    text = CONFIG + "-gpgpu_mem_address_mask 0\n"
    (folder / "gpgpusim.config").write_text(text)
    assert load(str(folder / "gpgpusim.config")).dram.banks == 16
    (folder / "gpgpusim.config").write_text(re.sub(r"-gpgpu_mem_addr_mapping.*\n", "", text))
    with pytest.raises(UserError, match="must be 1, or -gpgpu_mem_addr_mapping given, which replaces it, found '0'"):
        load(str(folder / "gpgpusim.config"))
