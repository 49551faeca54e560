"""Groups of asynchronous copies, and the wait for them.

Source: ``docs/sources/accel-sim.md#instruction-line, #asynchronous-copies``.
"""

from pathlib import Path

import pytest

from outside.random_traces import HEAD
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.exchange.accelsim.importer import import_accelsim
from rayplay.formats.exchange.accelsim.sass_classes import spared_groups
from rayplay.replay.gpu.description import load
from rayplay.replay.run.driver import simulate
from tests.reference.slow_gpu.config import RTX2060
from tests.reference.slow_gpu.gpu import Gpu
from tests.reference.slow_gpu.program import Kernel
from tests.reference.slow_gpu.program import load as load_program

FAR_APART = 1 << 20


def trace_of(folder: Path, *kernels: list[str]) -> Path:
    """Kernels of one warp, its instructions without PC and mask, as a trace."""
    folder.mkdir()
    for number, given in enumerate(kernels, 1):
        lines = [*given, "0 EXIT 0 0 0"]
        text = HEAD.format(number=number, ctas=1, threads=32, shared=4096, registers=16)
        text += f"#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = {len(lines)}\n"
        text += "".join(f"{16 * pc:04x} ffffffff {line}\n" for pc, line in enumerate(lines)) + "#END_TB\n"
        (folder / f"kernel-{number}.traceg").write_text(text)
    names = (f"kernel-{number}.traceg\n" for number in range(1, len(kernels) + 1))
    (folder / "kernelslist.g").write_text("".join(names))
    import_accelsim(folder / "kernelslist.g", folder / "case.trace")
    return folder / "case.trace"


def cycles(trace: Path) -> int:
    """Cycles of the engine, which are the twin's."""
    took = simulate(trace, load("accelsim-rtx2060", ["sm.kernel_launch_cycles=0"]), model="pipeline")
    twin = Gpu(RTX2060)
    for kernel in load_program(trace, RTX2060.latencies):
        assert isinstance(kernel, Kernel)
        assert twin.run(kernel).cycles == took.value("gpu_cycles")
    return int(took.value("gpu_cycles"))


def copy(number: int) -> str:
    return f"0 LDGSTS.E 1 R2 4 1 {0x10000000 + number * FAR_APART:#x} 4 0"


COMMIT = "0 LDGDEPBAR 0 0 0"
WORK = ["1 R7 MUFU.RCP 1 R7 0 0"] * 40  # 26 cycles each: longer than a copy


def wait(spared: int) -> str:
    return f"0 DEPBAR.LE 0 0 {spared}"


def test_a_wait_holds_the_warp_until_the_copies_of_its_groups_are_done(tmp_path: Path) -> None:
    one, two = [copy(0), COMMIT], [copy(0), COMMIT, *WORK, copy(1), COMMIT]
    alone = cycles(trace_of(tmp_path / "alone", WORK))
    before = cycles(trace_of(tmp_path / "before", [*one, wait(0), *WORK]))
    beside = cycles(trace_of(tmp_path / "beside", [*one, *WORK, wait(0)]))
    assert before > alone + 300, "the work begins when the copy is there"
    assert beside < alone + 30, "the copy is there before the work is done"
    all_groups = cycles(trace_of(tmp_path / "all", [*two, wait(0), *WORK]))
    but_one = cycles(trace_of(tmp_path / "but-one", [*two, wait(1), *WORK]))
    assert all_groups > but_one + 300, "the second group is waited for only where it is not spared"


def test_copies_outside_of_any_group_that_has_ended_are_not_waited_for(tmp_path: Path) -> None:
    open_group = cycles(trace_of(tmp_path / "open", [copy(0), wait(0), *WORK]))
    ended = cycles(trace_of(tmp_path / "ended", [copy(0), COMMIT, wait(0), *WORK]))
    assert ended > open_group + 300


def test_the_immediate_is_in_the_text_of_the_instruction(tmp_path: Path) -> None:
    trace = open_trace(trace_of(tmp_path / "text", [copy(0), COMMIT, wait(2)]))
    assert trace.read("instructions", ["text"])["text"].tolist()[1:3] == ["LDGDEPBAR", "DEPBAR.LE 0x2"]


@pytest.mark.parametrize(
    ("opcode", "text", "spared"),
    [
        ("DEPBAR.LE", "DEPBAR.LE SB0, 0x1 ;", 1), ("DEPBAR.LE", "@P0 DEPBAR.LE SB2, 0x0", 0),
        ("cp.async.wait_group", "cp.async.wait_group 3;", 3), ("cp.async.wait_all", "cp.async.wait_all;", 0),
    ],
)  # fmt: skip
def test_how_many_groups_a_wait_spares(opcode: str, text: str, spared: int) -> None:
    assert spared_groups(opcode, text) == spared
