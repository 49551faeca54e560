"""The order of issue: a permutation of each block that computes the same and has its loads ahead of their uses."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rayplay import ptx
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.laws.check import validate
from rayplay.ptx.flow.cfg import build
from rayplay.ptx.flow.schedule import WINDOW, scheduled
from rayplay.tracer.api import Device
from rayplay.tracer.launch import run_launch_file
from tests.tracer.harness.random_programs import random_program

ROOT = Path(__file__).resolve().parents[3]
TEXTBOOK = ROOT / "silicon" / "kernels" / "textbook.ptx"
HEAD = ".version 7.8\n.target sm_75\n.address_size 64\n"


def order(body: str, registers: str = ".reg .b32 %r<9>; .reg .b64 %x<9>; .reg .pred %p<3>;") -> list[str]:
    """First words and destinations of a kernel's instructions in the order of issue."""
    text = f"{HEAD}.visible .entry k(.param .u64 a)\n{{\n{registers}\n{body}\nret;\n}}\n"
    return [i.text.rstrip(";") for i in scheduled(ptx.parse(text, "k.ptx")).functions["k"].body]


def test_loads_go_ahead_of_the_uses_of_earlier_ones() -> None:
    found = order("""
        ld.param.u64 %x0, [a];
        ld.global.u32 %r0, [%x0];
        add.u32 %r4, %r4, %r0;
        ld.global.u32 %r1, [%x0+4];
        add.u32 %r4, %r4, %r1;""")
    assert [text.split()[0] for text in found] == [
        "ld.param.u64", "ld.global.u32", "ld.global.u32", "add.u32", "add.u32", "ret",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("between", "kept"),
    [
        ("st.global.u32 [%x0+8], %r5;", True),
        ("st.u32 [%x1], %r5;", True),  # generic: may be the same memory
        ("st.shared.u32 [%r6], %r5;", False),
        ("bar.sync 0;", True),
        ("membar.gl;", True),
        ("mov.u32 %r7, %clock;", True),
        ("atom.global.add.u32 %r7, [%x0+8], 1;", True),
        ("ld.volatile.global.u32 %r7, [%x0+8];", True),
    ],
)
def test_a_load_stays_behind_what_may_change_its_value(between: str, kept: bool) -> None:
    chain = "add.u32 %r5, %r5, 1;\n" * 3
    found = order(f"ld.param.u64 %x0, [a];\n{chain}{between}\nld.global.u32 %r0, [%x0];\nadd.u32 %r1, %r0, 1;")
    places = {text: place for place, text in enumerate(found)}
    assert (places["ld.global.u32 %r0, [%x0]"] > places[between.rstrip(";")]) is kept


def test_a_write_stays_behind_the_reads_of_the_value_before() -> None:
    found = order("""
        ld.param.u64 %x0, [a];
        add.u32 %r1, %r0, 1;
        ld.global.u32 %r0, [%x0];
        @%p1 add.u32 %r0, %r1, 2;
        add.u32 %r2, %r0, 3;
        add.cc.u32 %r3, %r3, %r4;
        addc.u32 %r5, %r5, %r6;""")
    assert found.index("add.u32 %r1, %r0, 1") < found.index("ld.global.u32 %r0, [%x0]")
    assert found.index("@%p1 add.u32 %r0, %r1, 2") < found.index("add.u32 %r2, %r0, 3")
    assert found.index("add.cc.u32 %r3, %r3, %r4") < found.index("addc.u32 %r5, %r5, %r6")


def test_every_block_keeps_its_instructions_and_its_end() -> None:
    module = ptx.parse_file(TEXTBOOK)
    moved = 0
    for name, function in scheduled(module).functions.items():
        before = module.functions[name]
        assert function.labels == before.labels
        for block in build(before).blocks:
            place = slice(block.first, block.first + block.count)
            old, new = before.body[place], function.body[place]
            assert sorted(map(id, old)) == sorted(map(id, new))
            assert max(old.index(each) - new.index(each) for each in old) < WINDOW
            moved += old != new
    assert moved > 6


@settings(max_examples=4, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30))
def test_a_random_program_computes_the_same(seed: int) -> None:
    found = []
    for change in (lambda module: module, scheduled):
        given = [np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)]
        device = Device(change(ptx.parse(random_program(seed), "random.ptx")))
        found.append(device.launch("k", given, grid=2, block=64, backend="interpreter"))
    for one, other in zip(*found, strict=True):
        assert (one == other).all()


@pytest.mark.parametrize("name", ["arrays/histogram", "graphs/needle"])
def test_an_example_computes_the_same(name: str, tmp_path: Path) -> None:
    path = ROOT / "examples" / f"{name}.toml"
    runs = [run_launch_file(path, tmp_path / f"{on}.trace", progress=False, schedule=on) for on in (False, True)]
    for buffer, values in runs[0].buffers.items():
        assert (values == runs[1].buffers[buffer]).all(), buffer
    assert runs[0].thread_instructions == runs[1].thread_instructions
    assert validate(open_trace(tmp_path / "True.trace")) == []  # not by the machine code of the other order
