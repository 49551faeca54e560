"""The special function unit: hardware's results bit for bit, its tables found again, machine code equal to numpy."""

import csv
import ctypes
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayplay.ptx import parse
from rayplay.tracer.emit import sfu as emitted
from rayplay.tracer.emit.text import Text
from rayplay.tracer.lower import compile as jit
from rayplay.tracer.lower.program import ATTRIBUTES
from rayplay.tracer.meaning import sfu
from rayplay.tracer.native.cpu import host
from tools import sfu_fit

RESULTS = "reference/ptx_approx_f32.csv"
HAND_PICKED = [
    ("rcp", 0x40000000, 0x3F000000), ("rcp", 0x80000000, 0xFF800000), ("rcp.ftz", 0x00000001, 0x7F800000),
    ("sqrt", 0x40800000, 0x40000000), ("sqrt", 0xBF800000, 0x7FFFFFFF), ("rsqrt", 0x40800000, 0x3F000000),
    ("lg2", 0x41000000, 0x40400000), ("lg2", 0x00000000, 0xFF800000), ("ex2", 0x40400000, 0x41000000),
    ("ex2", 0xC3000000, 0x00200000), ("ex2.ftz", 0xC3000000, 0x00000000), ("sin", 0x80000000, 0x80000000),
    ("cos", 0x00000000, 0x3F800000), ("sin", 0x7F800000, 0x7FFFFFFF),
]  # fmt: skip


@pytest.mark.parametrize(("name", "argument", "result"), HAND_PICKED)
def test_values_that_follow_from_the_definition(name: str, argument: int, result: int) -> None:
    assert sfu.APPROXIMATIONS[name](np.array([argument])).tolist() == [result]


@pytest.mark.parametrize("name", ["rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2"])
def test_every_result_of_hardware_bit_for_bit(data: Path, name: str) -> None:
    argument, result = sfu_fit.read_results(data / RESULTS)[name].T
    assert len(argument) == 2048
    assert sfu.APPROXIMATIONS[name](argument).tolist() == result.tolist()


def test_the_tables_are_found_again_from_the_results(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sfu_fit.main([str(data / RESULTS)]) == 0
    assert capsys.readouterr().out == Path(sfu.__file__).with_name("sfu_tables.csv").read_text()


def test_a_table_is_found_from_its_own_results() -> None:
    """The sine's first piece, without knowing its table: a hundred of its results leave one triple."""
    p = sfu.POLYNOMIALS["sin"]
    fraction = np.random.default_rng(3).integers(0, 1 << 17, 100)
    value = sfu.evaluate("sin", fraction)
    exact = np.sin(np.arange(1 << 17) / sfu.ONE * np.pi / 2) * 2.0**37
    samples = sfu_fit.Samples(fraction, value, value + (1 << 14))
    assert sfu_fit.fit_piece(p, exact, samples) == tuple(sfu.TABLES["sin"][0].tolist())


ACCURACY = {"rcp": 2.0**-23, "sqrt": 2.0**-22.5, "rsqrt": 2.0**-22.7, "ex2": 2.0**-22}
"""Relative; rcp, sqrt, rsqrt and ex2 of the PTX ISA, 9.7.3."""
TRUE = {"rcp": lambda x: 1 / x, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "ex2": np.exp2}


@pytest.mark.parametrize("name", ACCURACY)
def test_accuracy_that_the_isa_promises(name: str) -> None:
    x = np.random.default_rng(1).uniform(1, 4, 1 << 18).astype(np.float32)
    value = sfu.APPROXIMATIONS[name](x.view(np.uint32).astype(np.int64)).astype(np.uint32).view(np.float32)
    exact = TRUE[name](x.astype(np.float64))
    assert np.max(np.abs(value - exact) / exact) <= ACCURACY[name]


@pytest.fixture(scope="module")
def machine_code() -> llvm.ExecutionEngine:
    """``run.NAME(in, out)`` for 32 words each."""
    helpers: dict[str, str] = {}
    callers = []
    for name in emitted.FUNCTIONS:
        e = Text(parse(".version 7.0\n.target sm_75\n.address_size 64\n", "none.ptx"), helpers)
        x = e.op("load <32 x i32>, ptr %p, align 4")
        e.put(f"store <32 x i32> {emitted.call_unit(e, name, x)}, ptr %q, align 4")
        callers.append("\n".join((f"define void @run.{name}(ptr %p, ptr %q) #0 {{", *e.lines, "ret void", "}")))
    data = jit.translate("\n".join((*callers, *helpers.values(), ATTRIBUTES, "")), host())
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), host().machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(data))
    engine.finalize_object()
    return engine


def test_every_function_has_both_definitions() -> None:
    assert emitted.FUNCTIONS.keys() == sfu.APPROXIMATIONS.keys()
    with open(Path(sfu.__file__).with_name("sfu_tables.csv"), newline="") as file:
        assert {row["function"] for row in csv.DictReader(file)} == sfu.POLYNOMIALS.keys()


WORDS = st.one_of(
    st.integers(0, 2**32 - 1),
    st.floats(width=32).map(lambda x: int(np.float32(x).view(np.uint32))),
    st.floats(-200, 200, width=32).map(lambda x: int(np.float32(x).view(np.uint32))),
)


@given(st.lists(WORDS, min_size=32, max_size=32))
@settings(max_examples=100, deadline=None)
def test_machine_code_equals_numpy(machine_code: llvm.ExecutionEngine, words: list[int]) -> None:
    x, y = np.array(words, np.uint32), np.zeros(32, np.uint32)
    for name, function in sfu.APPROXIMATIONS.items():
        run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(machine_code.get_function_address(f"run.{name}"))
        run(x.ctypes.data, y.ctypes.data)
        assert y.tolist() == function(x.astype(np.int64)).tolist(), name
