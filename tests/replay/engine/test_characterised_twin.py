"""The engine's model ``characterised`` against its slow twin on drawn GPUs and traces; ``make fuzz`` draws 500."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.laws.check import validate
from tests.replay.engine.characterised_cases import (
    FULL,
    Block,
    Case,
    Kernel,
    Line,
    Program,
    Shape,
    cases,
    first_values,
    programs,
)
from tests.replay.engine.characterised_trace import differences, run_twin, write_program

DRAWN = settings(
    max_examples=15, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
ADD = Line("add.s32", "int", "none", "int", 1, 1, -1, 0)
BARRIER = Line("bar.sync", "barrier", "none", "branch", 1, 1, -1, 0)
WHOLE = Shape(0, 1, 0, 0, 512, FULL)


def launch(*paths: tuple[int, ...], blocks: tuple[Block, ...] = (Block((ADD,)),), stream: int = 0) -> Kernel:
    """A CTA whose warps go along these paths, with all lanes."""
    visits = tuple(tuple((block, FULL) for block in path) for path in paths)
    return Kernel(blocks, visits, 1, len(paths), stream, 8, 0)


@DRAWN
@given(cases())
def test_every_cycle_and_counter_is_the_twins(case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert differences(case, Path(folder)) == []


@DRAWN
@given(programs())
def test_drawn_traces_keep_every_law(program: Program) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert validate(open_trace(write_program(Path(folder) / "case.trace", program))) == []


def test_a_warp_that_retires_opens_the_barrier_for_the_next_cycle(tmp_path: Path) -> None:
    """Whether it is older than the warp that waits or younger."""
    blocks = Block((ADD,)), Block((BARRIER, ADD))
    for number, paths in enumerate((((0,), (1,)), ((1,), (0,)))):
        case = Case(Program((launch(*paths, blocks=blocks),), ()), first_values(sm_count=1, sm_ctas=1), 0)
        (tmp_path / f"{number}").mkdir()
        assert differences(case, tmp_path / f"{number}") == []


def test_a_kernel_without_work_takes_its_launch_latency_beside_others_too(tmp_path: Path) -> None:
    kernels = launch(()), launch((0, 0), stream=1), launch((0,))
    for latency in (0, 100):
        gpu = first_values(sm_concurrent_kernels=2, sm_kernel_launch_cycles=latency)
        case, folder = Case(Program(kernels, ()), gpu, 0), tmp_path / f"{latency}"
        folder.mkdir()
        assert differences(case, folder) == []
        twin = run_twin(case, folder / "case.trace")
        assert (twin[0]["kernel 0.end"], twin[2]["kernel 2.start"]) == (latency, latency)


def test_a_reduction_on_shared_memory_releases_its_slot(tmp_path: Path) -> None:
    reduction = Line("red.shared.add.u32", "atomic", "shared", "lsu", 1, 1, 0, 0, 4, WHOLE, "shared")
    waits = Line("add.s32", "int", "none", "int", 1, 1, -1, 1)
    program = Program((launch((0,), blocks=(Block((reduction, waits)),)),), ())
    assert differences(Case(program, first_values(), 0), tmp_path) == []
