"""SSA form against reaching definitions, and the dependences that follow from it."""

import pytest

from rayplay.hypa.slicing.ssa import CARRY, ENTRY, INSTRUCTION, PHI, Ssa, accesses, build_ssa
from rayplay.ptx.flow.cfg import build
from rayplay.ptx.graph import Cfg
from rayplay.ptx.ir import Function, Instruction
from rayplay.ptx.isa.describe import describe
from rayplay.ptx.text.parser import parse, parse_file
from tests.ptx.conftest import DATA, PROGRAMS, kernel
from tests.tracer.harness.random_programs import random_program

NOTHING = -1  # the definition that a register has at the entry


def reaching(function: Function, cfg: Cfg) -> list[dict[str, set[int]]]:
    """Per instruction and register it reads: the instructions that can have written it, by plain iteration.

    A guarded write leaves the values that were there before.
    """
    at_end: list[dict[str, set[int]]] = [{} for _ in cfg.blocks]
    found: list[dict[str, set[int]]] = [{} for _ in function.body]
    names = {name for i in function.body for names in accesses(i, function) for name in names}
    entered: list[dict[str, set[int]]] = [{name: set() for name in names} for _ in cfg.blocks]
    for name in names if cfg.blocks else ():
        entered[0][name] = {NOTHING}
    changed = True
    while changed:
        changed = False
        for number, block in enumerate(cfg.blocks):
            known = {name: set(sites) for name, sites in entered[number].items()}
            for position in range(block.first, block.first + block.count):
                i = function.body[position]
                reads, writes = sources(i, function)
                found[position] = {name: set(known[name]) for name in reads}
                for name in writes:
                    known[name] = {position} | (known[name] if i.guard else set())
            at_end[number] = known
            for successor in block.successors:
                for name, sites in known.items():
                    changed |= not sites <= entered[successor][name]
                    entered[successor][name] |= sites
    return found


def sources(i: Instruction, function: Function) -> tuple[list[str], list[str]]:
    """The registers that an instruction reads, and the ones that it writes."""
    reads, writes = accesses(i, function)
    computed_from = {*describe(i, function).sources, CARRY}
    return [name for name in reads if name in computed_from], writes


def expanded(function: Function, ssa: Ssa, value: int) -> set[int]:
    """The instructions behind a value, through phis and through guarded writes to the value before."""
    sites, waiting, seen = set(), [value], set()
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        kind, where, register = ssa.definition[each]
        if kind == PHI:
            waiting += ssa.phis[where].arguments
        else:
            sites.add(where if kind == INSTRUCTION else NOTHING)
            if kind == INSTRUCTION and function.body[where].guard is not None:
                waiting.append(ssa.reads[where][register])
    return sites


def check(function: Function) -> None:
    cfg = build(function)
    ssa, expected = build_ssa(function, cfg), reaching(function, cfg)
    reachable = {0}
    for _ in cfg.blocks:
        reachable |= {s for number in reachable for s in cfg.blocks[number].successors}
    for number, block in enumerate(cfg.blocks):
        for position in range(block.first, block.first + block.count):
            if number in reachable:
                values = {name: ssa.reads[position][name] for name in expected[position]}
                found = {name: expanded(function, ssa, value) for name, value in values.items()}
                assert found == expected[position], function.body[position].text
    values = [value for written in ssa.writes for value in written.values()] + [phi.value for phi in ssa.phis]
    assert len(values) == len(set(values))
    assert all(-1 not in phi.arguments for phi in ssa.phis)


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_programs(name: str) -> None:
    for function in parse_file(DATA / f"{name}.ptx").functions.values():
        if not function.is_declaration:
            check(function)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed: int) -> None:
    for function in parse(random_program(seed), "random.ptx").functions.values():
        check(function)


def test_a_guarded_write_reads_what_it_may_keep() -> None:
    function = kernel("mov.u32 %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 mov.u32 %r1, 2;\nmov.u32 %r3, %r1;\nret;")
    ssa = build_ssa(function, build(function))
    assert ssa.reads[2] == {"%p1": ssa.writes[1]["%p1"], "%r1": ssa.writes[0]["%r1"]}
    assert ssa.reads[3] == {"%r1": ssa.writes[2]["%r1"]}
    assert ssa.definition[ssa.reads[1]["%r2"]] == (ENTRY, -1, "%r2")


def test_values_meet_in_phis() -> None:
    """A loop to the first block: its phi has the entry as the last argument."""
    function = kernel("TOP:\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 9;\n@%p1 bra TOP;\nret;")
    ssa = build_ssa(function, build(function))
    (phi,) = [phi for phi in ssa.phis if phi.register == "%r1"]
    assert ssa.reads[0] == {"%r1": phi.value}
    assert [ssa.definition[value][0] for value in phi.arguments] == [INSTRUCTION, ENTRY]
    assert [phi.register for phi in ssa.phis] == ["%r1"]


def test_the_carry_is_a_register() -> None:
    function = kernel("add.cc.u32 %r1, %r2, %r3;\nadd.u32 %r5, %r1, %r1;\naddc.u32 %r4, %r2, %r3;\nret;")
    ssa = build_ssa(function, build(function))
    assert ssa.reads[2]["cc"] == ssa.writes[0]["cc"]
