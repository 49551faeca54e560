"""The slow twin against Accel-Sim: cycles and counters of the micro traces that it runs in seconds, all exact."""

import csv
from pathlib import Path

import pytest

from rayplay.formats.exchange.accelsim.importer import import_accelsim
from tests.reference.slow_gpu.config import RTX2060
from tests.reference.slow_gpu.gpu import Gpu, Result
from tests.reference.slow_gpu.program import Kernel, load

OUTSIDE = Path(__file__).parents[2] / "outside"
MICRO = (
    "bra@256", "ffma_dep@256", "ffma_ind@256", "ffma_ind_16w@256", "ffma_ind_4w@256", "iadd_dep@256", "iadd_ind@256",
    "ldg_1sect_dep@256", "ldg_l1hit_dep@256", "ldg_l1hit_ind@256", "lds_conf32_dep@256", "lds_dep@256",
    "mix_32w@256", "mix_ffma_iadd_ind@256", "mov_dep@256", "mufu_dep@256", "mufu_ind@256", "stg_ind@256",
    "uldc_ind@1024",
)  # fmt: skip
KERNELS = ("ffma-1-32-40", "ffma-4096-16", "vectoradd-100-32")
COUNTERS = {
    "thread_instructions": "thread_instructions", "warp_instructions": "warp_instructions",
    "l1d_accesses": "l1_accesses", "l1d_misses": "l1_misses", "l1d_pending_hits": "l1_pending_hits",
    "l2_accesses": "l2_accesses", "l2_misses": "l2_misses", "dram_reads": "dram_reads", "dram_writes": "dram_writes",
    "dram_activates": "dram_activates",
}  # fmt: skip


def expected(name: str, table: str) -> dict[str, str]:
    """The row of tests/outside/expected_*.csv for the RTX 2060 with the shortest launch latency."""
    with (OUTSIDE / table).open() as file:
        rows = [row for row in csv.DictReader(file) if row["trace"] == name and row["config"] == "SM75_RTX2060"]
    return min(rows, key=lambda row: int(row["launch_latency"]))


def run(listing: Path, folder: Path) -> list[Result]:
    """Every kernel of an Accel-Sim trace."""
    import_accelsim(listing, folder / "a.trace")
    gpu = Gpu(RTX2060)
    results = []
    for command in load(folder / "a.trace", RTX2060.latencies):
        if isinstance(command, Kernel):
            results.append(gpu.run(command))
        else:
            gpu.copy(*command)
    return results


@pytest.mark.parametrize(
    ("folder", "name"), [*(("micro", name) for name in MICRO), *(("traces", name) for name in KERNELS)]
)
def test_cycles_and_counters_are_those_of_accel_sim(data: Path, tmp_path: Path, folder: str, name: str) -> None:
    row = expected(name, "expected_micro.csv" if folder == "micro" else "expected_kernels.csv")
    [result] = run(data / "reference" / "accelsim" / folder / name / "kernelslist.g", tmp_path)
    counts = result.counts
    found = {theirs: counts.get(ours, 0) for theirs, ours in COUNTERS.items()}
    assert result.cycles == int(row["cycles"]) - int(row["launch_latency"])
    assert found == {theirs: int(row[theirs]) for theirs in COUNTERS}
    used = counts["dram_bus_clocks"]
    assert used / counts["dram_clocks"] == pytest.approx(float(row["bw_util"]), abs=1e-5)
    assert used / max(counts["dram_active_clocks"], 1) == pytest.approx(float(row["dram_eff"]), abs=1e-5)
