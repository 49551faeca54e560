"""Random cases for Accel-Sim: traces with configurations to run there, and the comparison with its logs.

``python -m outside.random_accelsim write FOLDER --count N`` writes ``FOLDER/case-0000`` and so on: ``kernelslist.g``,
kernel files, ``gpgpusim.config`` and ``trace.config``. Run Accel-Sim on each, with ``-trace kernelslist.g``, the two
configurations, and its output in ``accel-sim.log`` of the case. ``python -m outside.random_accelsim compare FOLDER``
replays the cases and prints a row for each kernel; it exits with 1 when one differs, or when no case has a log.
"""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np

from outside import random_traces
from outside.rows import Row, compare, table
from outside.traces import imported
from rayplay.formats.guard.command import run
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import load
from rayplay.replay.run.driver import simulate

BASE = Path(__file__).parent / "configs"
LOG, MOST_THREADS, MOST_CHANGES = "accel-sim.log", 256, 2
# Option -> values beside the base's.
CHANGES = {
    "gpgpu_scheduler": ("gto", "old", "rrr", "two_level_active:2:0:1", "two_level_active:6:0:1", "warp_limiting:2:3"),
    "gpgpu_TB_launch_latency": ("7", "100"), "gpgpu_kernel_launch_latency": ("500", "5000"),
    "gpgpu_sub_core_model": ("0",), "gpgpu_max_insn_issue_per_warp": ("2",), "gpgpu_dual_issue_diff_exec_units": ("0",),
    "gpgpu_shmem_num_banks": ("16", "24"), "gpgpu_shmem_limited_broadcast": ("1",), "gpgpu_smem_latency": ("5", "20"),
    "gpgpu_num_reg_banks": ("4", "16"), "gpgpu_reg_file_port_throughput": ("1", "4"),
    "gpgpu_operand_collector_num_units_gen": ("4", "16"),
    "gpgpu_inst_fetch_throughput": ("1", "2", "8"), "gpgpu_pipeline_widths": ("4,4,4,4,4,4,4,4,4,4,2,4,4",),
    "gpgpu_n_clusters": ("1", "3", "80"), "gpgpu_shader_cta": ("1", "32"), "gpgpu_shader_core_pipeline": ("2048:32",),
    "gpgpu_l1_latency": ("5", "39"), "gpgpu_l1_banks": ("1", "2"), "gpgpu_l1_cache_write_ratio": ("0", "100"),
    "gpgpu_cache:dl1": ("S:4:128:64,L:T:m:L:L,A:8:4,4:0,32", "S:4:128:64,F:T:m:L:X,A:256:32,16:0,32",
                        "S:4:128:64,L:B:m:N:L,A:256:32,16:0,32", "S:4:128:64,L:B:m:W:L,A:256:32,16:0,32"),
    "gpgpu_flush_l1_cache": ("0",), "gpgpu_perf_sim_memcpy": ("0",),
    "gpgpu_gmem_skip_L1D": ("1",), "gpgpu_l1_banks_byte_interleaving": ("64", "128"), "gpgpu_local_mem_map": ("0",),
    "icnt_arbiter_algo": ("0",),
    "gpgpu_cache:dl2": ("S:32:128:16,L:B:m:L:L,A:192:4,32:0,32", "S:64:128:16,L:B:m:L:P,A:4:2,4:0,32"),
    "gpgpu_l2_rop_latency": ("40", "120"), "dram_latency": ("10", "254"), "gpgpu_dram_return_queue_size": ("16",),
    "gpgpu_frfcfs_dram_sched_queue_size": ("4",), "gpgpu_dram_partition_queues": ("16:16:16:16",),
    "gpgpu_clock_domains": ("1365:1365:1365:850", "1132:1132:1500:3500.5"), "dram_dual_bus_interface": ("1",),
    "dram_bnk_indexing_policy": ("1",), "dram_bnkgrp_indexing_policy": ("0",), "gpgpu_dram_scheduler": ("0",),
    "gpgpu_shmem_warp_parts": ("2", "8"), "gpgpu_memory_partition_indexing": ("4",), "gpgpu_flush_l2_cache": ("1",),
}  # fmt: skip
KERNEL_CYCLES = re.compile(r"^gpu_sim_cycle = (\d+)$", re.MULTILINE)


def write_cases(folder: Path, first: int, count: int) -> Iterator[Path]:
    """Write the cases of some seeds; existing folders are refused."""
    for seed in range(first, first + count):
        random, case = Random(seed), folder / f"case-{seed:04}"
        if case.exists():
            raise UserError(f"{case}: must not exist, or another --first must be taken")
        case.mkdir(parents=True)
        changes = dict(random_change(random) for _ in range(random.randint(0, MOST_CHANGES)))
        text = (BASE / "gpgpusim.config").read_text(encoding="utf-8")
        for name, value in changes.items():
            text = re.sub(rf"^-{re.escape(name)} .*$", f"-{name} {value}", text, flags=re.MULTILINE)
        (case / "gpgpusim.config").write_text(text, encoding="utf-8")
        (case / "trace.config").write_text((BASE / "trace.config").read_text(encoding="utf-8"), encoding="utf-8")
        random_traces.write(case, random, MOST_THREADS)
        yield case


def random_change(random: Random) -> tuple[str, str]:
    """One option of the base and another value."""
    name = random.choice(list(CHANGES))
    return name, random.choice(CHANGES[name])


def cycles(case: Path) -> list[int]:
    """Cycles of each kernel of a case, in the order of its list, as a replay has them."""
    kernels = simulate(imported(case), load(str(case / "gpgpusim.config")), model="pipeline").kernels
    order = np.argsort(kernels["kernel_id"])
    found: list[int] = (kernels["end_cycle"] - kernels["start_cycle"])[order].tolist()
    return found


def rows(folder: Path) -> Iterator[Row]:
    """A row for each kernel of the cases with a log; where a log has fewer kernels, Accel-Sim has not finished."""
    for log in sorted(folder.glob(f"case-*/{LOG}")):
        theirs = [int(found) for found in KERNEL_CYCLES.findall(log.read_text(encoding="utf-8", errors="replace"))]
        ours = cycles(log.parent)
        if len(theirs) != len(ours):
            yield compare(log.parent.name, "kernels", len(theirs), len(ours))
        for number, (expected, found) in enumerate(zip(theirs, ours, strict=False), 1):
            yield compare(f"{log.parent.name} #{number}", "cycles", expected, found)


def main() -> int:
    """Write cases, or compare."""
    parser = argparse.ArgumentParser(prog="python -m outside.random_accelsim", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("verb", choices=("write", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=100, metavar="N", help="cases to write (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="seed of the first (default: 0)")
    arguments = parser.parse_args()
    if arguments.verb == "write":
        print(f"{len(list(write_cases(arguments.folder, arguments.first, arguments.count)))} cases written")
        return 0
    found = list(rows(arguments.folder))
    for text in table(found):
        print(text)
    exact, kernels = sum(row.passed for row in found), len(found)
    print(f"{exact} of {kernels} kernels are exact" if kernels else f"{arguments.folder}: no case has {LOG}")
    return 0 if kernels and exact == kernels else 1


if __name__ == "__main__":
    run("random_accelsim", main)
