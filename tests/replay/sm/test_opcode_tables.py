"""Every opcode in every table of Accel-Sim takes its unit, latency and initiation interval.

Source: docs/sources/accel-sim.md#opcode-classes, #opcode-latencies; ``opcode_tables.toml`` has the tables.
"""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.exchange.accelsim import sass_classes
from rayplay.replay.gpu.description import load
from rayplay.replay.input import work as op
from rayplay.replay.sm.pipeline import program
from rayplay.replay.sm.pipeline import state as pipe

TABLES = tomllib.loads(Path(__file__).with_name("opcode_tables.toml").read_text())
GPU = load("accelsim-rtx2060", ["pipeline.texture_latency_cycles=199", "pipeline.sp_initiation_cycles=1"])
# category -> unit, and the unit whose option has its latency; exits and barriers take 1, 1
UNITS = {
    "sp": "sp", "sfu": "sfu", "dp": "dp", "int": "int", "alu": "int", "control": "int", "exit": "int", "barrier": "int",
    "spec_1": "branch", "spec_2": "texture", "spec_3": "tensor", "spec_4": "uniform", "load": "lsu", "store": "lsu",
    "atomic": "lsu", "fence": "lsu",
}  # fmt: skip
HALVED = ["HADD2", "HADD2_32I", "HFMA2", "HFMA2_32I", "HMUL2_32I", "HSET2", "HSETP2"]
KINDS = {"load": (op.LOAD,), "store": (op.STORE,), "atomic": (op.ATOMIC, op.REDUCTION), "fence": (op.FENCE,)}


def static(opcodes: list[str], architecture: int) -> dict[str, np.ndarray]:
    """The columns of ``instructions`` that an import of these opcodes writes, and an EXIT behind them."""
    names = [*opcodes, "EXIT"]
    classes = [sass_classes.CLASSES[name] for name in names]
    return {
        "kernel_id": np.zeros(len(names), np.uint32),
        "opcode": np.array(names),
        "operation_class": np.array(classes),
        "memory_space": np.array([sass_classes.memory_space(name, architecture) for name in names]),
        "text": np.array([f"{n}{sass_classes.mark(k, architecture)}" for n, k in zip(names, classes, strict=True)]),
    }


@pytest.mark.parametrize("architecture", TABLES)
def test_an_opcode_takes_the_unit_and_the_cycles_of_the_reference(architecture: str) -> None:
    for category, text in TABLES[architecture].items():
        columns = static(text.split(), int(architecture))
        from_sass = np.ones(len(columns["opcode"]), bool)
        kind = program.memory_kinds(columns, from_sass, GPU.texture)
        unit = program.units(columns, kind, from_sass)
        latency, initiation = program.timing(columns, unit, GPU.pipeline)
        for row, opcode in enumerate(text.split()):
            theirs = UNITS[category]
            assert pipe.CLASSES[unit[row]] == theirs, (category, opcode)
            assert kind[row] in KINDS.get(category, (op.PLAIN, op.BARRIER)), (category, opcode)
            expected = (1, 1) if category in ("exit", "barrier", *KINDS) else GPU.pipeline.timing(theirs)
            halved = max(expected[1] // 2, 1) if opcode in HALVED else expected[1]
            assert (latency[row], initiation[row]) == (expected[0], halved), (category, opcode)


def test_the_tables_are_complete() -> None:
    counts = {set_: sum(len(text.split()) for text in table.values()) for set_, table in TABLES.items()}
    assert counts == {"35": 97, "61": 152, "70": 127, "75": 164, "86": 174}
