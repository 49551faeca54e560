"""Latencies from control codes: codes by hand, ptxas's code for the architectures of the described families."""

import fnmatch
import shutil

import pytest

from rayplay.replay.gpu.description import load
from rayplay.silicon.assembled import (
    ALWAYS,
    BRANCH,
    CALLS,
    EXIT,
    MUFU_CYCLES,
    NO_BARRIER,
    OPERATIONS,
    Control,
    cycles,
    latency,
)  # fmt: skip

CARDS = {"sm_80": "card-a100", "sm_86": "card-rtx3060", "sm_90": "card-h100"}
needs_ptxas = pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas is not here")


def code(opcode: int, stall: int = 1, sets: int = NO_BARRIER, waits: int = 0, guard: int = ALWAYS, distance: int = 0):
    return Control(opcode, guard, stall, sets, waits, distance)


def test_stalls_add_up_and_a_wait_lasts_until_its_barrier_is_released():
    assert cycles([code(1, 4), code(2, 5), code(EXIT)]) == 9
    assert cycles([code(1, 2, sets=3), code(2, 4, waits=0b1000), code(EXIT)]) == MUFU_CYCLES + 4
    assert cycles([code(1, 2, sets=3), code(2, 4, waits=0b0001), code(EXIT)]) == 6
    assert cycles([code(1, 0), code(EXIT)]) == 1


def test_a_call_is_passed_by_and_other_guarded_branches_are_not_taken():
    slow = [code(7, 9), code(CALLS[0], 9)]
    assert cycles([code(BRANCH, 2, guard=0, distance=2), *slow, code(1, 3), code(EXIT)]) == 5
    assert cycles([code(BRANCH, 2, guard=0, distance=2), code(7, 9), code(7, 9), code(1, 3), code(EXIT)]) == 23
    assert cycles([code(BRANCH, 2, distance=1), code(7, 9), code(1, 3), code(EXIT)]) == 5


@needs_ptxas
@pytest.mark.parametrize("architecture", CARDS)
def test_descriptions_have_what_the_assembler_schedules(architecture):
    rows = load(CARDS[architecture]).latencies.rows()
    for operation in OPERATIONS:
        row = next(row for row in rows if fnmatch.fnmatchcase(operation, row.pattern))
        if operation != "div.s32":  # has the row of div.u32, and other signs to set
            assert row.latency_cycles == pytest.approx(latency(operation, architecture), abs=1), operation
