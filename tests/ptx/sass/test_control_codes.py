"""SASS to a trace's tables: control codes, latencies without them, classes, and the command line."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from rayplay.formats.schema.trace import BLOCKS, CHARACTERISATION, INSTRUCTIONS, UNITS
from rayplay.ptx.flow.language import build, describe, parse, parse_file
from rayplay.ptx.program import link
from rayplay.ptx.sass.cfg import reached
from rayplay.ptx.timing.control_codes import Control, characterise_function, control, control_codes
from rayplay.ptx.timing.sass_pipelines import sass_pipeline
from tests.ptx.sass.test_cfg import function

SASS = Path(__file__).parents[1] / "data" / "sass"


@pytest.mark.parametrize(("high", "expected", "text"), [
    # MOV R1, c[0x0][0x28] and others as cuobjdump lists them for sm_75
    (0x000FE40000000F00, Control(2, False, -1, -1, 0, 0), "B------:R-:W-:-:S02"),
    (0x000E220000002100, Control(1, False, 0, -1, 0, 0), "B------:R-:W0:-:S01"),
    (0x001FD000078E020A, Control(8, True, -1, -1, 1, 0), "B0-----:R-:W-:Y:S08"),
    (0x000EA200001EE900, Control(1, False, 2, -1, 0, 0), "B------:R-:W2:-:S01"),
    (0x040FE40003F24270, Control(2, False, -1, -1, 0, 1), "B------:R-:W-:-:S02"),
    (0x004FE80000004800, Control(4, False, -1, -1, 4, 0), "B--2---:R-:W-:-:S04"),
    (0x0003E4000B901C44, Control(2, False, -1, 1, 0, 0), "B------:R1:W-:-:S02"),
    (0x000FC00000000000, Control(0, True, -1, -1, 0, 0), "B------:R-:W-:Y:S00"),
])  # fmt: skip
def test_control_codes(high, expected, text) -> None:
    made = control(high << 64 | 0x0123456789ABCDEF)
    assert made == expected
    assert str(made) == text


@pytest.mark.parametrize("name", ["sm_75", "sm_86", "sm_90"])
def test_the_code_waits_for_every_load_it_reads(name) -> None:
    """Reads of a loaded register wait for the load's slot: in a straight line, the compiler's codes must say so."""
    waited = 0
    for made in parse_file(SASS / f"{name}.sass").functions.values():
        codes = control_codes(made)
        assert codes is not None
        for block in build(made).blocks:
            owed: dict[str, int] = {}
            for index in range(block.first, block.first + block.count):
                described = describe(made.body[index], made)
                for register in described.sources:
                    slot = owed.get(register)
                    assert slot is None or codes[index].wait_mask >> slot & 1, made.body[index].text
                    waited += slot is not None
                owed = {r: slot for r, slot in owed.items() if not codes[index].wait_mask >> slot & 1}
                for register in described.destinations:
                    owed.pop(register, None)
                    if codes[index].write_barrier >= 0:
                        owed[register] = codes[index].write_barrier
    assert waited > 100


@pytest.mark.parametrize("name", ["sm_75", "sm_86", "sm_90"])
def test_tables_keep_the_schema(name) -> None:
    module = parse_file(SASS / f"{name}.sass")
    program = link([(module, f) for f in reached(module.functions["division"], module.functions)])
    assert program.source == "sass"
    assert len(program.functions) == 3
    tables = program.tables()
    for table in (INSTRUCTIONS, BLOCKS, CHARACTERISATION):
        columns = tables[table.name]
        rows = len(columns[table.columns[0].name])
        for column in table.columns:
            values = columns[column.name]
            assert values.dtype == np.dtype(object if column.dtype == "string" else column.dtype)
            assert len(columns.get(f"{column.name}_offset", [*range(rows + 1)])) == rows + 1
            if column.values and column.dtype == "string":
                assert set(values) <= set(column.values)
    made = tables["characterisation"]
    assert made["stall_cycles"].min() >= 1
    assert set(made["scoreboard_slot"].tolist()) <= {-1, 0, 1, 2, 3, 4, 5}
    assert made["unit"].max() < len(UNITS)
    codes = [code for f in program.functions for code in control_codes(f) or []]
    assert made["wait_mask"].tolist() == [code.wait_mask for code in codes]
    instructions = tables["instructions"]
    classes = dict(zip(instructions["opcode"], instructions["operation_class"], strict=True))
    assert {classes["DFMA"], classes["EXIT"], classes["BSYNC"], classes["MUFU.RCP64H"]} == {
        "fp64", "exit", "branch", "sfu",
    }  # fmt: skip
    stores = instructions["opcode"].tolist().index(next(o for o in instructions["opcode"] if o.startswith("STG.E.64")))
    assert (instructions["memory_space"][stores], instructions["access_bytes"][stores]) == ("global", 8)
    assert program.registers_per_thread >= 20


def test_latencies_where_there_are_no_encodings() -> None:
    lines = "LDG.E R2, [R4.64]", "FADD R3, R2, 1", "FADD R6, R3, 2", "DADD R8, R8, R8", "UMOV UR4, 0x1", "EXIT"
    for target, stall in (("sm_75", 7), ("sm_90", 7)):
        made = function(*lines, target=target)
        assert control_codes(made) is None
        table = characterise_function(made, build(made), sass_pipeline(75))
        assert table.unit == ["lsu", "sp", "sp", "dp", "uniform", "branch"]
        assert table.stall_cycles[1] == stall  # latency 2 and the depth of 5: docs/sources/accel-sim.md#initiation
        assert table.scoreboard_slot == [0, -1, -1, -1, -1, -1]
        assert table.wait_mask == [0, 1, 0, 0, 0, 0]
        assert table.initiation_cycles == [1, *([2, 2] if target == "sm_75" else [1, 1]), 64, 1, 1]


def ptx(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ptx", *map(str, arguments)], capture_output=True, text=True, check=False
    )


def test_the_command_line_takes_both_languages(tmp_path, data_folder) -> None:
    listing = SASS / "sm_86.sass"
    shown = ptx("parse", listing).stdout
    assert shown.startswith("SASS  sm_86\n")
    assert ".entry  nested: " in shown
    assert "registers, with encodings" in shown
    assert "lanes meet at" in ptx("cfg", listing, "--entry", "nested").stdout
    assert ptx("cfg", listing, "--dot", "--entry", "nested").stdout.startswith('digraph "nested"')
    characterised = ptx("characterise", listing, "--entry", "nested").stdout
    assert characterised.startswith("nested on sm_86 by control codes: unit, stall")
    assert "B------:R-:W0:-:S" in characterised
    assert parse(ptx("print", listing).stdout, "x").functions.keys() == parse_file(listing).functions.keys()
    made = ptx("characterise", listing, "--out", tmp_path / "c.parquet")
    assert made.returncode == 0, made.stderr
    assert pq.read_table(tmp_path / "c.parquet").num_rows > 700
    assert ptx("parse", data_folder / "rays.ptx").stdout.startswith("PTX 9.")


@pytest.mark.parametrize(("verb", "text", "message"), [
    ("parse", "\t.section\t.text.k\nk:\n/*0000*/ FOO R2 ;\n", "k.sass:3:1: opcode 'FOO' is not in the table"),
    ("cfg", "\t.section\t.text.k\nk:\n/*0000*/ BRX R2 -0x10 ;\n", "k.sass: line 3: 'BRX R2 -0x10;' has no list"),
    ("parse", "\t.section\t.text.k\nk:\n/*0000*/ MOV R2, ;\n", "k.sass:3:18: expected"),
    ("inject", "\t.section\t.text.k\nk:\n/*0000*/ EXIT ;\n", "k.sass:1:2: expected"),
])  # fmt: skip
def test_mistakes_are_one_line_and_exit_code_2(verb, text, message, tmp_path) -> None:
    (tmp_path / "k.sass").write_text(text)
    made = ptx(verb, tmp_path / "k.sass")
    assert made.returncode == 2
    assert message in made.stderr
    assert "Traceback" not in made.stderr
