"""Options that Accel-Sim registers: where, and which of them change no cycle of a trace.

``OPTIONS``, ``TOGETHER``, ``HELPERS`` and ``FIXED`` of ``gpgpusim_options`` have the others: none is read in silence.
"""

from collections.abc import Iterator

from rayplay.replay.gpu.gpgpusim_options import FIXED, HELPERS, OPTIONS, TOGETHER

# Place that registers options (revisions: docs/sources/accel-sim.md) -> the options; NAME# stands for NAME1 to NAME8.
PLACES = {
    "framework trace-driven/trace_driven.cc, trace_config::reg_options": """
trace trace_opcode_latency_initiation_int trace_opcode_latency_initiation_sp trace_opcode_latency_initiation_dp
trace_opcode_latency_initiation_sfu trace_opcode_latency_initiation_tensor trace_opcode_latency_initiation_spec_op_#""",
    "src/gpgpu-sim/gpu-sim.cc, shader_core_config::reg_options": """
gpgpu_simd_model gpgpu_shader_core_pipeline gpgpu_tex_cache:l1 gpgpu_const_cache:l1 gpgpu_cache:il1 gpgpu_cache:dl1
gpgpu_l1_cache_write_ratio gpgpu_l1_banks gpgpu_l1_banks_byte_interleaving gpgpu_l1_banks_hashing_function
gpgpu_l1_latency gpgpu_smem_latency gpgpu_cache:dl1PrefL1 gpgpu_cache:dl1PrefShared gpgpu_gmem_skip_L1D
gpgpu_perfect_mem n_regfile_gating_group gpgpu_clock_gated_reg_file gpgpu_clock_gated_lanes gpgpu_shader_registers
gpgpu_registers_per_block gpgpu_ignore_resources_limitation gpgpu_shader_cta gpgpu_num_cta_barriers gpgpu_n_clusters
gpgpu_n_cores_per_cluster gpgpu_n_cluster_ejection_buffer_size gpgpu_n_ldst_response_buffer_size gpgpu_shmem_per_block
gpgpu_shmem_size gpgpu_shmem_option gpgpu_unified_l1d_size gpgpu_adaptive_cache_config gpgpu_shmem_sizeDefault
gpgpu_shmem_size_PrefL1 gpgpu_shmem_size_PrefShared gpgpu_shmem_num_banks gpgpu_shmem_limited_broadcast
gpgpu_shmem_warp_parts gpgpu_mem_unit_ports gpgpu_warpdistro_shader gpgpu_warp_issue_shader gpgpu_local_mem_map
gpgpu_num_reg_banks gpgpu_reg_bank_use_warp_id gpgpu_sub_core_model gpgpu_enable_specialized_operand_collector
gpgpu_operand_collector_num_units_sp gpgpu_operand_collector_num_units_dp gpgpu_operand_collector_num_units_sfu
gpgpu_operand_collector_num_units_int gpgpu_operand_collector_num_units_tensor_core
gpgpu_operand_collector_num_units_mem gpgpu_operand_collector_num_units_gen gpgpu_operand_collector_num_in_ports_sp
gpgpu_operand_collector_num_in_ports_dp gpgpu_operand_collector_num_in_ports_sfu
gpgpu_operand_collector_num_in_ports_int gpgpu_operand_collector_num_in_ports_tensor_core
gpgpu_operand_collector_num_in_ports_mem gpgpu_operand_collector_num_in_ports_gen
gpgpu_operand_collector_num_out_ports_sp gpgpu_operand_collector_num_out_ports_dp
gpgpu_operand_collector_num_out_ports_sfu gpgpu_operand_collector_num_out_ports_int
gpgpu_operand_collector_num_out_ports_tensor_core gpgpu_operand_collector_num_out_ports_mem
gpgpu_operand_collector_num_out_ports_gen gpgpu_coalesce_arch gpgpu_num_sched_per_core gpgpu_max_insn_issue_per_warp
gpgpu_dual_issue_diff_exec_units gpgpu_simt_core_sim_order gpgpu_pipeline_widths gpgpu_tensor_core_avail
gpgpu_num_sp_units gpgpu_num_dp_units gpgpu_num_int_units gpgpu_num_sfu_units gpgpu_num_tensor_core_units
gpgpu_num_mem_units gpgpu_scheduler gpgpu_concurrent_kernel_sm gpgpu_perfect_inst_const_cache
gpgpu_inst_fetch_throughput gpgpu_reg_file_port_throughput specialized_unit_#""",
    "src/gpgpu-sim/gpu-sim.cc, memory_config::reg_options": """
gpgpu_perf_sim_memcpy gpgpu_simple_dram_model gpgpu_dram_scheduler gpgpu_dram_partition_queues l2_ideal
gpgpu_cache:dl2 gpgpu_cache:dl2_texture_only gpgpu_n_mem gpgpu_n_sub_partition_per_mchannel gpgpu_n_mem_per_ctrlr
gpgpu_memlatency_stat gpgpu_frfcfs_dram_sched_queue_size gpgpu_dram_return_queue_size gpgpu_dram_buswidth
gpgpu_dram_burst_length dram_data_command_freq_ratio gpgpu_dram_timing_opt gpgpu_l2_rop_latency dram_latency
dram_dual_bus_interface dram_bnk_indexing_policy dram_bnkgrp_indexing_policy dram_seperate_write_queue_enable
dram_write_queue_size dram_elimnate_rw_turnaround icnt_flit_size SST_mode""",
    "src/gpgpu-sim/gpu-sim.cc, later revisions": """
gpgpu_simple_dram_clock_multiplier chiplet_partition_stride inter_chiplet_queue_size inter_chiplet_queue_latency
gpgpu_lrc_enabled gpgpu_lrc_max_entries gpgpu_lrc_max_merged gpgpu_opndcoll_model gpgpu_trywait_max_retries
gpgpu_trywait_retry_cycles gpgpu_n_chiplet_partition gpgpu_chiplet_interleave chiplet_mem_stride""",
    "src/gpgpu-sim/gpu-sim.cc, gpgpu_sim_config::reg_options": """
gpgpu_max_cycle gpgpu_max_insn gpgpu_max_cta gpgpu_max_completed_cta gpgpu_runtime_stat liveness_message_freq
gpgpu_compute_capability_major gpgpu_compute_capability_minor gpgpu_flush_l1_cache gpgpu_flush_l2_cache
gpgpu_deadlock_detect gpgpu_ptx_instruction_classification gpgpu_ptx_sim_mode gpgpu_clock_domains
gpgpu_max_concurrent_kernel gpgpu_cflog_interval visualizer_enabled visualizer_outputfile visualizer_zlevel
gpgpu_stack_size_limit gpgpu_heap_size_limit gpgpu_runtime_sync_depth_limit gpgpu_runtime_pending_launch_count_limit
trace_enabled trace_components trace_sampling_core trace_sampling_memory_partition gpgpu_kernel_launch_latency
gpgpu_cdp_enabled gpgpu_TB_launch_latency""",
    "src/gpgpu-sim/gpu-sim.cc, power_config::reg_options": """
accelwattch_xml_file power_simulation_enabled power_per_cycle_dump hw_perf_file_name hw_perf_bench_name
power_simulation_mode dvfs_enabled aggregate_power_stats accelwattch_hybrid_perfsim_L1_RH
accelwattch_hybrid_perfsim_L1_RM accelwattch_hybrid_perfsim_L1_WH accelwattch_hybrid_perfsim_L1_WM
accelwattch_hybrid_perfsim_L2_RH accelwattch_hybrid_perfsim_L2_RM accelwattch_hybrid_perfsim_L2_WH
accelwattch_hybrid_perfsim_L2_WM accelwattch_hybrid_perfsim_CC_ACC accelwattch_hybrid_perfsim_SHARED_ACC
accelwattch_hybrid_perfsim_DRAM_RD accelwattch_hybrid_perfsim_DRAM_WR accelwattch_hybrid_perfsim_NOC
accelwattch_hybrid_perfsim_PIPE_DUTY accelwattch_hybrid_perfsim_NUM_SM_IDLE accelwattch_hybrid_perfsim_CYCLES
accelwattch_hybrid_perfsim_VOLTAGE power_trace_enabled power_trace_zlevel steady_power_levels_enabled
steady_state_definition gpuwattch_xml_file""",
    "src/gpgpu-sim/icnt_wrapper.cc, icnt_reg_options": """
network_mode inter_config_file icnt_in_buffer_limit icnt_out_buffer_limit icnt_subnets icnt_arbiter_algo icnt_verbose
icnt_grant_cycles""",
    "src/gpgpu-sim/addrdec.cc, addrdec_setoption": """
gpgpu_mem_addr_mapping gpgpu_mem_addr_test gpgpu_mem_address_mask gpgpu_memory_partition_indexing""",
    "src/abstract_hardware_model.cc, gpgpu_functional_sim_config::reg_options": """
gpgpu_ptx_use_cuobjdump gpgpu_experimental_lib_support checkpoint_option checkpoint_kernel checkpoint_CTA
resume_option resume_kernel resume_CTA checkpoint_CTA_t checkpoint_insn_Y gpgpu_ptx_convert_to_ptxplus
gpgpu_ptx_force_max_capability gpgpu_ptx_inst_debug_to_file gpgpu_ptx_inst_debug_file
gpgpu_ptx_inst_debug_thread_uid""",
    "src/cuda-sim: ptx_loader.cc, cuda-sim.cc, ptx-stats.cc": """
save_embedded_ptx keep gpgpu_ptx_save_converted_ptxplus gpgpu_occupancy_sm_number ptx_opcode_latency_int
ptx_opcode_latency_fp ptx_opcode_latency_dp ptx_opcode_latency_sfu ptx_opcode_latency_tesnor ptx_opcode_initiation_int
ptx_opcode_initiation_fp ptx_opcode_initiation_dp ptx_opcode_initiation_sfu ptx_opcode_initiation_tensor cdp_latency
enable_ptx_file_line_stats ptx_line_stats_filename""",
}  # fmt: skip
# Why options change no cycle of a trace -> such options.
REASONS = {
    "of the functional simulation of PTX, which a trace replaces": """
gpgpu_ptx_use_cuobjdump gpgpu_experimental_lib_support gpgpu_ptx_convert_to_ptxplus gpgpu_ptx_force_max_capability
gpgpu_ptx_inst_debug_to_file gpgpu_ptx_inst_debug_file gpgpu_ptx_inst_debug_thread_uid save_embedded_ptx keep
gpgpu_ptx_save_converted_ptxplus gpgpu_occupancy_sm_number ptx_opcode_latency_int ptx_opcode_latency_fp
ptx_opcode_latency_dp ptx_opcode_latency_sfu ptx_opcode_latency_tesnor ptx_opcode_initiation_int
ptx_opcode_initiation_fp ptx_opcode_initiation_dp ptx_opcode_initiation_sfu ptx_opcode_initiation_tensor cdp_latency
gpgpu_ptx_instruction_classification gpgpu_ptx_sim_mode gpgpu_compute_capability_major gpgpu_compute_capability_minor
gpgpu_stack_size_limit gpgpu_heap_size_limit gpgpu_runtime_sync_depth_limit gpgpu_runtime_pending_launch_count_limit
gpgpu_cdp_enabled gpgpu_registers_per_block gpgpu_shmem_per_block""",
    "where its traces lie, which the command line says here": "trace",
    "statistics, logs and pictures": """
n_regfile_gating_group gpgpu_clock_gated_reg_file gpgpu_clock_gated_lanes gpgpu_warpdistro_shader
gpgpu_warp_issue_shader gpgpu_memlatency_stat gpgpu_runtime_stat liveness_message_freq gpgpu_cflog_interval
visualizer_enabled visualizer_outputfile visualizer_zlevel trace_enabled trace_components trace_sampling_core
trace_sampling_memory_partition icnt_verbose enable_ptx_file_line_stats ptx_line_stats_filename""",
    "power, which follows the cycles": PLACES["src/gpgpu-sim/gpu-sim.cc, power_config::reg_options"],
    "read and not used by its code": """
gpgpu_num_mem_units gpgpu_reg_bank_use_warp_id gpgpu_mem_addr_test gpgpu_simd_model""",
    "of checkpoints, which no trace begins from": """
checkpoint_kernel checkpoint_CTA resume_kernel resume_CTA checkpoint_CTA_t checkpoint_insn_Y""",
    "of an L1 that the CUDA call of an executed program asks for": """
gpgpu_cache:dl1PrefL1 gpgpu_cache:dl1PrefShared gpgpu_shmem_sizeDefault gpgpu_shmem_size_PrefL1
gpgpu_shmem_size_PrefShared""",
    "of specialised operand collectors, which are refused": """
gpgpu_operand_collector_num_units_sp gpgpu_operand_collector_num_units_dp gpgpu_operand_collector_num_units_sfu
gpgpu_operand_collector_num_units_int gpgpu_operand_collector_num_units_tensor_core
gpgpu_operand_collector_num_units_mem gpgpu_operand_collector_num_in_ports_sp gpgpu_operand_collector_num_in_ports_dp
gpgpu_operand_collector_num_in_ports_sfu gpgpu_operand_collector_num_in_ports_int
gpgpu_operand_collector_num_in_ports_tensor_core gpgpu_operand_collector_num_in_ports_mem
gpgpu_operand_collector_num_out_ports_sp gpgpu_operand_collector_num_out_ports_dp
gpgpu_operand_collector_num_out_ports_sfu gpgpu_operand_collector_num_out_ports_int
gpgpu_operand_collector_num_out_ports_tensor_core gpgpu_operand_collector_num_out_ports_mem""",
    "of the constant cache, which no opcode of a trace reads: LDC is an integer instruction": """
gpgpu_const_cache:l1""",
    "lets kernels that no SM can hold begin, which are refused": "gpgpu_ignore_resources_limitation",
    "of a unit that no opcode of a trace uses": """
trace_opcode_latency_initiation_tensor gpgpu_tensor_core_avail gpgpu_num_tensor_core_units
trace_opcode_latency_initiation_spec_op_5 trace_opcode_latency_initiation_spec_op_6
trace_opcode_latency_initiation_spec_op_7 trace_opcode_latency_initiation_spec_op_8 gpgpu_trywait_max_retries
gpgpu_trywait_retry_cycles specialized_unit_5 specialized_unit_6 specialized_unit_7 specialized_unit_8""",
    "of a network, chiplets, or a DRAM or coalescer model that are refused": """
inter_config_file icnt_flit_size chiplet_partition_stride inter_chiplet_queue_size inter_chiplet_queue_latency
gpgpu_chiplet_interleave chiplet_mem_stride gpgpu_simple_dram_clock_multiplier gpgpu_lrc_max_entries
gpgpu_lrc_max_merged""",
    "barriers of a trace have no number": "gpgpu_num_cta_barriers",
    "ends a run that is stuck, as a replay always does": "gpgpu_deadlock_detect",
}  # fmt: skip
UNITS = range(1, 9)  # that NAME# stands for


def _by_option(lists: dict[str, str]) -> dict[str, str]:
    """Option -> the key of the list that names it."""
    found: dict[str, str] = {}
    for key, names in lists.items():
        for name in names.split():
            found |= {name.replace("#", str(unit)): key for unit in (UNITS if "#" in name else UNITS[:1])}
    return found


REGISTERED, WITHOUT_EFFECT = _by_option(PLACES), _by_option(REASONS)
MODELLED = frozenset((*OPTIONS, *TOGETHER, *HELPERS))


def meaning(name: str) -> str:
    """The sentence of the page on an option that Accel-Sim registers."""
    if name in WITHOUT_EFFECT:
        return f"no effect: {WITHOUT_EFFECT[name]}"
    if name in FIXED:
        return f"refused, unless it is {' or '.join(FIXED[name])}"
    return "modelled"


def rows() -> Iterator[tuple[str, tuple[str, str]]]:
    """Option, and its meaning and place, of all that Accel-Sim registers, in the order of the places."""
    yield from ((f"-{name}", (meaning(name), place)) for name, place in REGISTERED.items())
