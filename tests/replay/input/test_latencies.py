"""Latencies of a GPU in place of a trace's: with the trace's own ones nothing changes; a dependent chain takes them."""

from pathlib import Path

import numpy as np
import pytest

from rayplay import ptx
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.ptx.flow.language import describe
from rayplay.ptx.timing.pipelines import RTX2060
from rayplay.replay.gpu.description import load
from rayplay.replay.input.latencies import Spec, retimed
from rayplay.replay.run.driver import simulate
from rayplay.tracer.launch import run_launch_file

FOLDER = Path("tracer/kernels")
KERNELS = ("matrix_multiply", "stencil", "reduction")


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """Traces of compute kernels by name."""
    folder = tmp_path_factory.mktemp("latencies")
    for name in KERNELS:
        run_launch_file(FOLDER / f"{name}.toml", folder / f"{name}.trace")
    return folder


def rows_of(name):
    """The rows of the pipeline that traces are characterised with, one an opcode."""
    module = ptx.parse((FOLDER / f"{name}.ptx").read_text(), name)
    rows = {}
    for function in module.functions.values():
        for instruction in function.body:
            d = describe(instruction, function)
            timing = RTX2060.timing(d.operation_class, d.timing, d.type)
            cycles = RTX2060.result_cycles(timing)
            opcode = instruction.full_opcode
            rows[opcode] = f"{opcode} {timing.unit} {cycles} {timing.initiation_cycles}"
    return (*rows.values(), "* int 1 1")


def tables_of(path):
    trace = open_trace(path)
    return {name: trace.read(name) for name in ("instructions", "blocks", "kernels")}, trace.read("characterisation")


@pytest.mark.parametrize("name", KERNELS)
def test_own_latencies(traces, name):
    tables, known = tables_of(traces / f"{name}.trace")
    made = retimed(tables, known, Spec(rows_of(name)))
    for column in known:
        assert np.array_equal(made[column], known[column]), column


def test_each_latency_counts(traces):
    """Stalls are never shorter where an instruction takes longer; some are longer."""
    tables, known = tables_of(traces / "matrix_multiply.trace")
    short, long = (retimed(tables, known, Spec((f"* int {cycles} 2",)))["stall_cycles"] for cycles in (4, 9))
    assert (long >= short).all()
    assert (long > short).any()


def test_first_row_that_fits(traces):
    tables, known = tables_of(traces / "matrix_multiply.trace")
    one, other = (retimed(tables, known, Spec(rows)) for rows in (("* sp 4 2",), ("*.u32 sp 4 2", "* sp 4 2")))
    assert all(np.array_equal(one[column], other[column]) for column in known)


def test_cycles(traces):
    """A GPU's latencies reach the replay: the trace's own, given as rows, take the same cycles; longer ones more."""
    trace = traces / "matrix_multiply.trace"
    cycles = [
        simulate(trace, load("rtx2060").with_values(**{"latencies.of_ptx": rows})).summary["gpu_cycles"]["value"]
        for rows in ((), rows_of("matrix_multiply"), ("* int 40 2",))
    ]
    assert cycles[0] == cycles[1] < cycles[2]


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (["* int 4"], "must be PATTERN UNIT LATENCY INITIATION"),
        (["* adder 4 2"], "must be PATTERN UNIT LATENCY INITIATION"),
        (["* int 0 2"], "must be 1 to 65535"),
        (["fma.* sp 4 2"], "the last row of of_ptx must be for *"),
        (["* int 4 2", "fma.* sp 4 2"], "the last row of of_ptx must be for *"),
    ],
)
def test_refused(tmp_path, rows, why):
    path = tmp_path / "mine.toml"
    path.write_text(f'name = "mine"\nlike = "rtx2060"\n[latencies]\nof_ptx = {rows}\n')
    with pytest.raises(UserError, match=r"mine\.toml:\d: latencies: .*") as raised:
        load(str(path))
    assert why in str(raised.value)
