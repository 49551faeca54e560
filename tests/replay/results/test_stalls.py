"""Stalls by instruction: looks account for the warps' cycles, stand at the right code, and follow from cycles alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.replay.results import stalls
from rayplay.replay.run.driver import simulate

SAMPLE = Path(__file__).parents[3] / "traces/sample.trace"


def table(model: str | None = None, **given: Any) -> tuple[Any, dict[str, np.ndarray]]:
    result = simulate(SAMPLE, "rtx2060", model=model, **given)
    return result, result.by_class["stalls"][0]


def by_state(found: dict[str, np.ndarray]) -> dict[str, int]:
    return {state: int(found["warp_cycles"][found["state"] == state].sum()) for state in stalls.STATES}


@pytest.mark.parametrize("model", ["characterised", "pipeline"])
def test_looks_account_for_the_cycles_of_the_warps(model: str) -> None:
    result, found = table(model)
    counters = result.counters
    resident = counters["value"][counters["counter"] == "resident_warp_cycles"].sum()
    assert found["warp_cycles"].sum() == pytest.approx(resident, rel=0.03)
    stack, states = result.table("stack"), by_state(found)
    # few warps share a scheduler here, so that parts of slots are near warp-cycles
    slots = {
        state: stack["slots"][stack["reason"] == state].sum() for state in ("rt_unit", "memory", "barrier", "fetch")
    }
    assert states["rt_unit"] == pytest.approx(slots["rt_unit"], rel=0.1)
    assert states["memory"] == pytest.approx(slots["memory"], rel=0.25)
    assert (states["barrier"], states["fetch"]) == (slots["barrier"], slots["fetch"]) == (0, 0)
    assert states["ready"] > 0
    assert states["data"] > states["memory"]


def test_rays_count_for_the_call_that_traced_them() -> None:
    _, found = table()
    blocks = open_trace(SAMPLE).read("blocks", ["first_instruction", "instruction_count"])
    ends = blocks["first_instruction"] + blocks["instruction_count"] - 1
    traced = found["instruction_id"][found["state"] == "rt_unit"]
    assert len(traced)
    assert set(traced.tolist()) <= set(ends.tolist())
    classes = open_trace(SAMPLE).read("instructions", ["operation_class"])["operation_class"]
    assert "trace" in set(classes[traced])


def test_quantum_and_threads_change_nothing() -> None:
    _, first = table()
    for given in ({"quantum": 7}, {"threads": 2}, {"interval": 777}):
        for name, column in table(**given)[1].items():
            np.testing.assert_array_equal(column, first[name])


def test_the_distance_doubles_after_many_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stalls, "MOST_LOOKS", 8)
    _, few = table()
    assert (few["warp_cycles"] % stalls.FIRST_DISTANCE_CYCLES == 0).all()
    monkeypatch.undo()
    _, many = table()
    assert len(few["state"]) < len(many["state"])
    assert few["warp_cycles"].sum() == pytest.approx(many["warp_cycles"].sum(), rel=0.25)
