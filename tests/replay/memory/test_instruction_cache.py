"""The instruction cache: what a line costs, which lines are asked for, and what the trace keeps of PCs.

The slow twin has the cycles of random traces (``tests/replay/engine/test_twin.py``).
"""

from pathlib import Path

import numpy as np
import pytest

from outside.random_traces import HEAD
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.exchange.accelsim.export import export_accelsim
from rayplay.formats.exchange.accelsim.importer import import_accelsim
from rayplay.formats.exchange.accelsim.sass_classes import program_counters
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import load
from rayplay.replay.results.metrics import Result
from rayplay.replay.run.driver import simulate

MISSES = "instruction_cache.perfect=false"
SMALL = ("sm.count=1", "memory.count=1", "l2.bytes=262144", "sm.kernel_launch_cycles=0", "pipeline.fetches=1")
WORK = "1 R1 FFMA 1 R1 0 0"  # each needs the one before it: two are fetched while one is under way
WARM = "MemcpyHtoD,0xF0000000,65536"
LINE_BYTES = 128


def trace_of(folder: Path, pcs: list[int], kernels: int = 1, warps: int = 1) -> Path:
    """Warps that execute instructions at these PCs and end; the L2 has the code."""
    folder.mkdir()
    own = f"insts = {len(pcs)}\n" + "".join(
        f"{pc:04x} ffffffff {'0 EXIT 0 0 0' if pc == pcs[-1] else WORK}\n" for pc in pcs
    )
    names = [f"kernel-{number}.traceg" for number in range(1, kernels + 1)]
    for number, name in enumerate(names, 1):
        text = HEAD.format(number=number, ctas=1, threads=32 * warps, shared=0, registers=16)
        text += "#BEGIN_TB\nthread block = 0,0,0\n" + "".join(f"warp = {warp}\n{own}" for warp in range(warps))
        (folder / name).write_text(text + "#END_TB\n")
    (folder / "kernelslist.g").write_text("\n".join([WARM, *names]) + "\n")
    import_accelsim(folder / "kernelslist.g", folder / "case.trace")
    return folder / "case.trace"


def replay(trace: Path, *values: str) -> Result:
    return simulate(trace, load("accelsim-rtx2060", [*SMALL, *values]), model="pipeline")


def counted(result: Result, counter: str, unit: str = "l1i") -> int:
    table = result.counters
    return int(table["value"][(table["unit"] == unit) & (table["counter"] == counter)].sum())


@pytest.mark.parametrize("latency", [100, 194])
def test_a_line_costs_the_way_to_the_l2_and_its_four_sectors(tmp_path: Path, latency: int) -> None:
    """A cycle less each way than a load's miss, which waits for the L1's cycle and the LD/ST unit's buffer."""
    pcs = [LINE_BYTES * line for line in range(9)]  # each instruction in a line of its own, the pair's second one too
    trace, values = trace_of(tmp_path / "case", pcs), [f"l2.latency_cycles={latency}"]
    perfect, cached = replay(trace, *values), replay(trace, MISSES, *values)
    looked_up = -(-len(pcs) // 2)  # the second instruction of a pair comes with the first
    assert counted(cached, "misses") == counted(cached, "fills") == looked_up
    whole = load("accelsim-rtx2060", [*SMALL, *values]).l1_miss_cycles + 1 + 3
    first = cached.value("gpu_cycles") - perfect.value("gpu_cycles")
    assert whole * (looked_up - 1) < first <= whole * looked_up
    alone = [replay(trace_of(tmp_path / name, [0, 16]), name, *values) for name in (MISSES, MISSES[:-5] + "true")]
    assert alone[0].value("gpu_cycles") - alone[1].value("gpu_cycles") == whole
    assert counted(cached, "requests", "port") == 4 * looked_up


def test_neighbours_share_a_line_and_kernels_share_lines(tmp_path: Path) -> None:
    pcs = [16 * number for number in range(33)]  # four lines and one instruction
    found = replay(trace_of(tmp_path / "case", pcs, kernels=2, warps=4), MISSES)
    assert counted(found, "fills") == 5, "code of the second kernel lies where the first one's did"
    assert counted(found, "hits") + counted(found, "misses") == 2 * 4 * 17, "two instructions a fetch"
    assert counted(found, "merges") == 3 * 5, "of four warps one asks"


def test_a_line_that_went_is_fetched_again(tmp_path: Path) -> None:
    pcs = [16 * number for number in range(33)]
    one_line = [MISSES, "instruction_cache.bytes=128", "instruction_cache.ways=1"]
    found = replay(trace_of(tmp_path / "case", pcs, kernels=2), *one_line)
    assert counted(found, "fills") == 10
    assert counted(found, "evictions") == 9


def test_a_perfect_cache_has_no_counters(tmp_path: Path) -> None:
    found = replay(trace_of(tmp_path / "case", [0, 16]))
    assert "l1i" not in set(found.counters["unit"])


def test_instructions_that_no_warp_executed_leave_their_room(tmp_path: Path) -> None:
    pcs = [0x20, 0x30, 0x1F0, 0x200, 0x210]
    trace = open_trace(trace_of(tmp_path / "case", pcs))
    table = trace.read("instructions")
    assert program_counters(table).tolist() == pcs
    assert ["PC" in text for text in table["text"].astype(str)] == [True, False, True, False, False]
    export_accelsim(trace, tmp_path / "back")
    lines = (tmp_path / "back" / "kernel-1.traceg").read_text().splitlines()
    assert [int(line.split()[0], 16) for line in lines if "ffffffff" in line] == pcs
    import_accelsim(tmp_path / "back" / "kernelslist.g", tmp_path / "again.trace")
    np.testing.assert_array_equal(open_trace(tmp_path / "again.trace").read("instructions")["text"], table["text"])


def test_values_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UserError, match=r"bytes \(384\) must be a power of two of sets of 1 ways of 128 B"):
        load("rtx2060", ["instruction_cache.bytes=384", "instruction_cache.ways=1"])
    with pytest.raises(UserError, match=r"interconnect.perfect_memory needs instruction_cache.perfect"):
        load("rtx2060", [MISSES, "interconnect.perfect_memory=true"])
