"""Laws of what limits an RT unit: tests a cycle, and entries of a ray's stack."""

import numpy as np
import pytest

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.testing.generate import make_trace
from rayplay.replay.gpu.description import load
from rayplay.replay.run.driver import simulate
from rayplay.replay.testing import digest, totals

SMALL = ("sm.count=1", "memory.count=1", "l2.bytes=65536", "sm.kernel_launch_cycles=0")
INTERNAL, TRIANGLE = 1, 4


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return open_trace(make_trace(tmp_path_factory.mktemp("limits") / "a.trace", 5, (40, 4), ctas=0, traversals=True))


def replay(trace: Trace, *values: str) -> tuple[str, dict[str, int]]:
    with np.errstate(over="ignore"):
        result = simulate(trace, load("mobile", [*SMALL, *values]))
    return digest(result), totals(result)


def test_a_unit_is_busy_for_its_tests_at_least_and_rates_that_suffice_change_nothing(trace: Trace) -> None:
    kind = trace.read("nodes", ["kind"])["kind"][trace.read("rays", ["node"])["node"] & np.uint32(0x7FFFFFFF)]
    boxes, triangles = 8 * np.count_nonzero(kind == INTERNAL), np.count_nonzero(kind == TRIANGLE)
    free = replay(trace)
    enough = "rt.box_tests_per_cycle=100000", "rt.triangle_tests_per_cycle=100000"
    assert replay(trace, *enough)[0] == free[0]
    counts = [free[1]]
    for rate in (16, 4, 1):
        found = replay(trace, f"rt.box_tests_per_cycle={rate}", "rt.boxes_per_node=8")[1]
        assert found["rt_unit.busy_cycles"] >= boxes / rate
        counts.append(found)
    intersecting = [count["rt_unit.intersection_lane_cycles"] for count in counts]
    assert intersecting == sorted(intersecting)
    assert intersecting[-1] > 2 * intersecting[0]
    assert replay(trace, "rt.triangle_tests_per_cycle=1")[1]["rt_unit.busy_cycles"] >= triangles
    assert {count["rt_unit.records"] for count in counts} == {free[1]["rt_unit.records"]}


def test_a_shorter_stack_has_more_traffic_and_one_that_is_deep_enough_none(trace: Trace) -> None:
    free = replay(trace)
    assert replay(trace, "rt.stack_entries=500")[0] == free[0]
    counts = [replay(trace, f"rt.stack_entries={entries}")[1] for entries in (1, 2, 3)]
    for name, rest in (("reads_table", 0), ("stores", free[1]["rt_unit.stores"])):
        found = [count[f"rt_unit.{name}"] for count in counts]
        assert found == sorted(found, reverse=True)
        assert found[0] > found[1] > rest
        assert found[-1] >= rest
