"""Linked programs: numbering, and tables that keep the schema and its laws."""

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.formats.schema.trace import BLOCKS, CHARACTERISATION, INSTRUCTIONS
from rayplay.ptx.program import link, numbered
from rayplay.ptx.text.parser import parse, parse_file


@pytest.fixture
def linked(data_folder):
    module = parse_file(data_folder / "rays.ptx")
    return link([(module, function) for function in module.functions.values()])


@pytest.mark.parametrize("table", [INSTRUCTIONS, BLOCKS, CHARACTERISATION], ids=lambda table: table.name)
def test_columns_are_those_of_the_schema(linked, table) -> None:
    columns = linked.tables()[table.name]
    rows = len(columns[table.columns[0].name])
    expected = {}
    for column in table.columns:
        expected[column.name] = np.dtype(object if column.dtype == "string" else column.dtype)
        if column.ragged:
            expected[f"{column.name}_offset"] = np.dtype(np.uint64)
            assert len(columns[f"{column.name}_offset"]) == rows + 1
        else:
            assert len(columns[column.name]) == rows
        if column.sorted:
            assert (np.diff(columns[column.name].astype(np.int64)) >= 0).all()
        if column.values and column.dtype == "string":
            assert set(columns[column.name]) <= set(column.values)
    assert {name: values.dtype for name, values in columns.items()} == expected


def test_numbers_are_contiguous(linked) -> None:
    tables = linked.tables()
    blocks, instructions = tables["blocks"], tables["instructions"]
    assert blocks["block_id"].tolist() == list(range(len(blocks["block_id"])))
    assert instructions["instruction_id"].tolist() == list(range(len(instructions["opcode"])))
    ends = blocks["first_instruction"] + blocks["instruction_count"]
    assert ends[:-1].tolist() == blocks["first_instruction"][1:].tolist()
    assert ends[-1] == len(instructions["opcode"])
    for number, function in enumerate(linked.functions):
        own = blocks["program"] == function.name
        assert own.nonzero()[0].tolist() == [
            linked.block_base[number] + b for b in range(len(linked.cfgs[number].blocks))
        ]
        assert set(blocks["reconvergence_block"][own]) <= {-1, *blocks["block_id"][own]}


def test_registers_are_numbered_over_all_functions(linked) -> None:
    instructions = linked.tables()["instructions"]
    used = {*instructions["destination_registers"].tolist(), *instructions["source_registers"].tolist()}
    assert used == set(range(len(used)))


def test_a_second_launch_counts_on(linked) -> None:
    first = linked.tables()
    count, blocks = len(first["instructions"]["opcode"]), len(first["blocks"]["block_id"])
    second = numbered(first, 4, blocks, count)
    assert set(second["instructions"]["kernel_id"]) == set(second["blocks"]["kernel_id"]) == {4}
    meets, before = second["blocks"]["reconvergence_block"], first["blocks"]["reconvergence_block"]
    assert (meets == [each if each == -1 else each + blocks for each in before.tolist()]).all()
    assert {name: {key: column.dtype for key, column in columns.items()} for name, columns in second.items()} == {
        name: {key: column.dtype for key, column in columns.items()} for name, columns in first.items()
    }
    assert second["instructions"]["instruction_id"][0] == count
    assert second["characterisation"]["instruction_id"][0] == count
    assert second["blocks"]["block_id"][0] == blocks
    assert (second["blocks"]["first_instruction"] == first["blocks"]["first_instruction"] + count).all()


def test_errors_name_file_and_line(wrap) -> None:
    for body, message in (("bra A;", "branches to 'A'"), ("foo.u32 %r1;", "opcode 'foo.u32'")):
        module = parse(wrap(body), "k.ptx")
        with pytest.raises(UserError, match=rf"^k\.ptx: line 12: .*{message}"):
            link([(module, module.functions["k"])])
