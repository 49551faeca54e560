"""The simulation of the scheduler against answers that need none, and the written pages."""

import math

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from rayplay.sweep.growth.scheduler import Cluster, simulate
from rayplay.sweep.space.file import Sweep
from rayplay.sweep.space.page import BEGIN, END, MEANING, PAGE, keys, table

FREE = {"overhead_seconds": 0.0, "operations": 0, "spread": 0.0}


def test_equal_points_fill_the_slots_in_rounds() -> None:
    found = simulate(Cluster(2, 5, 100, 7.0, **FREE))  # type: ignore[arg-type]
    assert found.makespan_seconds == pytest.approx(70.0)
    assert (found.efficiency, found.executions) == (pytest.approx(1.0), 1.0)


def test_a_server_that_is_too_slow_decides_the_makespan() -> None:
    cluster = Cluster(100, 10, 1000, 0.001, overhead_seconds=0.0, operations=10, server_operations=100.0, spread=0.0)
    assert simulate(cluster).makespan_seconds == pytest.approx(100.0, rel=0.01)
    assert simulate(cluster).busy > 0.99


@drawn(nodes=st.integers(1, 20), slots=st.integers(1, 8), points=st.integers(1, 400), seed=st.integers(0, 9))
@settings(max_examples=30, deadline=None)
def test_a_makespan_is_between_its_bounds(nodes: int, slots: int, points: int, seed: int) -> None:
    """Longest-first on equal machines is within 4/3 of the least makespan (R. L. Graham, 1969, theorem 2)."""
    cluster = Cluster(nodes, slots, points, 5.0, overhead_seconds=0.0, operations=0, seed=seed)
    found = simulate(cluster)
    whole = found.efficiency * found.makespan_seconds * nodes * slots
    longest = simulate(cluster._replace(nodes=points)).makespan_seconds
    least = max(whole / (nodes * slots), longest)
    assert least * (1 - 1e-9) <= found.makespan_seconds <= whole / (nodes * slots) + longest


def test_deaths_repeat_points_and_lose_none() -> None:
    calm = Cluster(10, 4, 2000, 600.0)
    stormy = simulate(calm._replace(days_to_failure=0.2))
    assert 1.0 < stormy.executions < 1.2
    assert stormy.makespan_seconds > simulate(calm).makespan_seconds
    assert stormy == simulate(calm._replace(days_to_failure=0.2))
    assert math.isinf(calm.days_to_failure)


def test_the_page_has_the_keys_of_the_code() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.split(BEGIN)[1].split(END)[0] == table(), "python -m rayplay.sweep.space.page writes it"
    assert {name for name, _ in keys(Sweep, "")} == set(MEANING)
