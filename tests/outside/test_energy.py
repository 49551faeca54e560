"""Energy of Accel-Sim's public traces: components whose counters agree are within 1 % of AccelWattch's rule.

The rule is applied again here, on its own: to Accel-Sim's counters (``expected_kernels.csv``), and to the instructions
as the files of the traces have them, line by line. ``NAMED`` lists the components that are compared with nothing, and
why.
"""

import csv
import dataclasses
import lzma
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

import pytest

from outside.traces import accelsim_folder, imported
from rayplay.formats.dataset.result import open_result
from rayplay.replay.energy.account import Account, account
from rayplay.replay.energy.table import COMPONENTS, read_table
from rayplay.replay.gpu.description import load
from rayplay.replay.run.driver import simulate

TABLE = read_table()
TRACES = (
    "vectoradd-100-32", "matrixmul-32-32", "ffma-1-32-40", "ffma-4096-16", "simple-trace-example", "bfs-rodinia-2.0-ft",
)  # fmt: skip
NAMED = {
    "ICP": "Accel-Sim's perfect instruction cache counts nothing: an estimate here",
    "SHRDP": "Accel-Sim's reports have no cycles of shared memory",
    "STATICP": "AccelWattch chooses a category for each 500 cycles, this package for each launch",
    "IDLE_COREP": "idle SMs are an estimate from the cycle stack",
    "RTP": "AccelWattch has no RT unit",
}
UNUSED = ("TCP", "TEXP", "TENSORP", "DPUP", "DP_MULP", "FP_SINP", "FP_LGP")  # of no trace here
# The rule for opcodes of these traces, as AccelWattch's map from opcodes to components has it.
INT_MUL = {"IMAD", "XMAD", "LEA", "ISCADD", "IMUL", "UIMAD"}
FP_MUL = {"FFMA", "FMUL", "HFMA2"}
FP = {"FADD", "FSETP", "FMNMX", "FSEL", "I2F", "F2I", "F2F", "FCHK"}
INT = {
    "IADD", "IADD3", "IADD32I", "ISETP", "MOV", "MOV32I", "SHL", "SHR", "SHF", "LOP", "LOP3", "LOP32I", "SEL", "PRMT",
    "UMOV", "UIADD3", "UISETP", "ULOP3", "USHF", "ULEA", "CS2R", "S2UR", "R2UR", "PLOP3", "BFE", "IMNMX", "PSETP",
    "ICMP",
}  # fmt: skip
NO_UNIT = {
    "LDG", "STG", "LDS", "STS", "LDC", "ULDC", "S2R", "EXIT", "BRA", "BAR", "NOP", "SSY", "SYNC", "BSSY", "BSYNC",
    "PBK", "BRK", "DEPBAR", "WARPSYNC", "MEMBAR",
}  # fmt: skip


def kernel_lines(folder: Path) -> Iterator[list[str]]:
    """The lines of each kernel's file, in the order of the list."""
    for line in (folder / "kernelslist.g").read_text().splitlines():
        if line.startswith("kernel"):
            file = next(path for path in (folder / line.strip(), folder / f"{line.strip()}.xz") if path.exists())
            text = file.read_bytes()
            yield (lzma.decompress(text) if file.suffix == ".xz" else text).decode().splitlines()


def sectors(words: list[str], threads: int) -> int:
    """Different sectors of 32 B of a memory instruction: its width, the mode of its addresses, and the addresses."""
    width, mode, base = int(words[0]), int(words[1]), int(words[2], 16)
    if mode == 1:
        lanes = [base + int(words[3]) * lane for lane in range(threads)]
    elif mode == 2:
        lanes = list(accumulate([base, *map(int, words[3 : 2 + threads])]))
    else:
        lanes = [int(word, 16) for word in words[2 : 2 + threads]]
    return len({at // 32 for lane in lanes for at in (lane, lane + width - 1)})


def counted(lines: list[str]) -> Counter[str]:
    """AccelWattch's events of one kernel: active threads of each operation, operands x 32, constant accesses."""
    found: Counter[str] = Counter()
    has_line = any(line.startswith("-enable lineinfo = 1") for line in lines)
    for line in lines:
        words = line.split()[has_line:]
        if len(words) < 5 or line[0] in "-#" or "=" in line:
            continue
        threads, written = int(words[1], 16).bit_count(), int(words[2])
        opcode, read = words[3 + written], int(words[4 + written])
        base, sources = opcode.split(".")[0], set(words[5 + written : 5 + written + read])
        found["warp"] += 1
        found["thread"] += threads
        found["REG_WR"] += 32 * written
        found["REG_RD"] += 32 * len(sources)
        found["CC_H"] += base == "LDC"
        assert base in INT | INT_MUL | FP | FP_MUL | NO_UNIT | {"MUFU"}, opcode
        is_move = opcode in ("IMAD.MOV", "IMAD.IADD")
        found["INT_ACC"] += threads * (base in INT or is_move)
        found["INT_MUL_ACC"] += threads * (base in INT_MUL and not is_move)
        found["FP_ACC"] += threads * (base in FP)
        found["FP_MUL_ACC"] += threads * (base in FP_MUL)
        if base in ("LDG", "STG") and threads:
            found[base] += sectors(words[5 + written + read :], threads)
        found["FP_EXP_ACC"] += threads * (opcode in ("MUFU.RCP", "MUFU.EX2"))
        found["FP_SQRT_ACC"] += threads * (opcode == "MUFU.RSQ")
    return found


def expected(row: dict[str, str], found: Counter[str]) -> dict[str, float]:
    """Joules by component, of Accel-Sim's counters and the instructions of the file."""
    pj = {event: sum(of.values()) for event, of in TABLE.pj.items()}
    n = {name: int(row[name]) for name in row if name[-1] == "s" and row[name].isdigit()}
    own = {
        "IBP": pj["TOT_INST"] * found["warp"], "SCHEDP": pj["FP_INT"] * found["warp"],
        "RFP": pj["REG_RD"] * found["REG_RD"] + pj["REG_WR"] * found["REG_WR"],
        "INTP": pj["INT_ACC"] * found["INT_ACC"], "INT_MULP": pj["INT_MUL_ACC"] * found["INT_MUL_ACC"],
        "FPUP": pj["FP_ACC"] * found["FP_ACC"], "FP_MULP": pj["FP_MUL_ACC"] * found["FP_MUL_ACC"],
        "FP_EXP": pj["FP_EXP_ACC"] * found["FP_EXP_ACC"], "FP_SQRTP": pj["FP_SQRT_ACC"] * found["FP_SQRT_ACC"],
        "CCP": TABLE.pj["CC_H"]["CCP"] * found["CC_H"],
        "PIPEP": pj["PIPE_A"] * n["thread_instructions"] / (32 * 8),
        "NOCP": pj["NOC_A"] * 2 * n["l2_accesses"],
        "DRAMP": TABLE.pj["MEM_RD"]["DRAMP"] * n["dram_reads"] + TABLE.pj["MEM_WR"]["DRAMP"] * n["dram_writes"],
    }  # fmt: skip
    assert (found["warp"], found["thread"]) == (n["warp_instructions"], n["thread_instructions"])
    return {name: picojoules * 1e-12 for name, picojoules in own.items()}


@pytest.fixture(scope="module", params=TRACES)
def case(request: pytest.FixtureRequest, data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Account]:
    """A trace's name, and its energy on Accel-Sim's RTX 2060."""
    folder = accelsim_folder("traces", request.param)
    if not folder.is_dir():
        pytest.skip(f"{request.param} is not in the data folder")
    trace, gpu = imported(folder), load("accelsim-rtx2060")
    out = tmp_path_factory.mktemp("energy") / "a.result"
    simulate(trace, gpu).write(out, {"gpu": dataclasses.asdict(gpu)})
    return request.param, account(open_result(out), TABLE, trace)


def test_components_whose_counters_agree(case: tuple[str, Account]) -> None:
    name, found = case
    with (Path(__file__).parent / "expected_kernels.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["trace"] == name and row["config"] == "SM75_RTX2060"]
    rows = [row for row in rows if row["launch_latency"] == "5000"]
    compared = set()
    files = list(kernel_lines(accelsim_folder("traces", name)))
    assert len(found.launches) == len(rows) == len(files)
    for launch, row, lines in zip(found.launches, rows, files, strict=True):
        assert launch.activity.seconds == pytest.approx(int(row["cycles"]) / 1365e6, rel=1e-12)
        events = launch.activity.events
        own = counted(lines)
        theirs = expected(row, own)
        assert (events["DC_RH"] + events["DC_RM"], events["DC_WH"] + events["DC_WM"]) == (own["LDG"], own["STG"])
        precharges = events["MEM_PRE"] * TABLE.pj["MEM_PRE"]["DRAMP"] * 1e-12
        theirs["DRAMP"] += precharges
        theirs["CONSTP"] = TABLE.power.chip_w * int(row["cycles"]) / 1365e6
        for level, part in (("l1d", "DC"), ("l2", "L2")):  # hits and misses of reads and writes sum to theirs
            missed = sum(events[f"{part}_{of}M"] for of in "RW")
            assert missed == int(row[f"{level}_misses"])
            assert missed + sum(events[f"{part}_{of}H"] for of in "RW") == int(row[f"{level}_accesses"])
        for component, joules in theirs.items():
            assert launch.joules.of(component) == pytest.approx(joules, rel=0.01, abs=1e-18), component
        compared |= set(theirs)
    assert compared | set(NAMED) | set(UNUSED) | {"DCP", "L2CP", "MCP"} == set(COMPONENTS)
    assert not any(launch.joules.of(component) for launch in found.launches for component in UNUSED)


def test_idle_sms_of_one_cta(case: tuple[str, Account]) -> None:
    """ffma-1-32-40 is one CTA of one warp: 29 SMs are idle throughout, and its own for the launch latency of 5000."""
    name, found = case
    if name == "ffma-1-32-40":
        assert found.launches[0].activity.idle_sms == pytest.approx(29 + 5000 / 40907, abs=1e-3)
