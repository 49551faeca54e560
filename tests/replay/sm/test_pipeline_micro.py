"""The model ``pipeline`` against Accel-Sim, cycle for cycle: kernels without memory.

Source: docs/sources/accel-sim.md#micro-benchmarks.
"""

import csv
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from outside.random_traces import HEAD
from outside.traces import accelsim_folder, imported
from rayplay.formats.exchange.accelsim.importer import import_accelsim
from rayplay.replay.gpu.description import load
from rayplay.replay.input.work import DESTINATIONS_SHIFT
from rayplay.replay.run.driver import simulate
from rayplay.replay.sm.pipeline.state import WRITTEN
from rayplay.replay.sm.pipeline.units import write_banks

EXPECTED = Path(__file__).parents[2] / "outside" / "expected_micro.csv"
FAMILIES = ("bra", "ffma", "iadd", "mix", "mov", "mufu", "uldc")


def expected() -> dict[str, dict[str, str]]:
    """Row of each micro trace without memory accesses."""
    with open(EXPECTED) as lines:
        return {row["trace"]: row for row in csv.DictReader(lines) if row["trace"].startswith(FAMILIES)}


@pytest.mark.parametrize("name", expected())
def test_arithmetic_takes_the_cycles_of_accel_sim(name: str) -> None:
    folder = accelsim_folder("micro", name)
    if not (folder / "kernelslist.g").exists():
        pytest.skip("the reference's trace is not there")
    result = simulate(imported(folder), load("accelsim-rtx2060", ["sm.kernel_launch_cycles=0"]), model="pipeline")
    row = expected()[name]
    assert result.value("gpu_cycles") == int(row["cycles"])
    assert result.value("thread_instructions") == int(row["thread_instructions"])
    assert result.value("warp_instructions") == int(row["warp_instructions"])


@pytest.mark.parametrize(("name", "cycles"), [("ffma-4096-16", 1621), ("ffma-1-32-40", 35907)])
def test_kernels_of_arithmetic_take_the_cycles_of_accel_sim(name: str, cycles: int) -> None:
    """expected_kernels.csv, less the launch latency; ffma-4096-16 has 4096 CTAs in turn on 30 SMs."""
    folder = accelsim_folder("traces", name)
    result = simulate(imported(folder), load("accelsim-rtx2060", ["sm.kernel_launch_cycles=0"]))
    assert result.value("gpu_cycles") == cycles


def test_registers_of_one_bank_are_written_together() -> None:
    """A PTX vector may name such registers; two instructions never write a bank in the same cycle."""
    core = SimpleNamespace(
        row=np.zeros((1, WRITTEN + 1), np.int64), schedulers=1, banks=4, sub_cores=True,
        register_first=np.array([0, 2, 3]), register=np.array([330, 338, 334]),
        code=np.array([2 << DESTINATIONS_SHIFT, 1 << DESTINATIONS_SHIFT]),
    )  # fmt: skip
    assert write_banks.py_func(core, 0, 7, 0, 0)
    assert not write_banks.py_func(core, 0, 7, 0, 1)
    assert write_banks.py_func(core, 0, 8, 0, 1)


@pytest.mark.parametrize(("flushes", "misses"), [("true", 2), ("false", 1)])
def test_a_fence_empties_the_l1_where_idle_sms_do(tmp_path: Path, flushes: str, misses: int) -> None:
    """-gpgpu_flush_l1_cache decides both."""
    lines = ["LDG.E 1 R2 4 1 0x10000000 0 0", "MEMBAR.SC.GPU 0 0 0", "LDG.E 1 R3 4 1 0x10000000 0 0", "EXIT 0 0 0"]
    written = ["1 R4", "0", "1 R5", "0"]
    body = "".join(f"{16 * at:04x} ffffffff {written[at]} {text}\n" for at, text in enumerate(lines))
    head = HEAD.format(number=1, ctas=1, threads=32, shared=0, registers=8)
    kernel = f"{head}#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 4\n{body}#END_TB\n"
    (tmp_path / "kernel-1.traceg").write_text(kernel)
    (tmp_path / "kernelslist.g").write_text("kernel-1.traceg\n")
    import_accelsim(tmp_path / "kernelslist.g", tmp_path / "one.trace")
    result = simulate(tmp_path / "one.trace", load("accelsim-rtx2060", [f"l1.invalidate_idle={flushes}"]))
    table = result.counters
    missed = (table["unit"] == "l1d") & np.isin(
        table["counter"].astype(str), ("read_line_misses", "read_sector_misses")
    )
    assert int(table["value"][missed].sum()) == misses
