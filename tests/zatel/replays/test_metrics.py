"""Step 7: extrapolation and combination, by the paper's own examples."""

import pytest

from rayplay.zatel.replays.metrics import RULES, combine, extrapolate, mean_absolute_error, relative_error


def metrics(**given: float | None) -> dict[str, float | None]:
    return dict.fromkeys(RULES, 1.0) | given


def test_the_seven_metrics_of_table_1_in_its_order() -> None:
    assert list(RULES) == [
        "gpu_ipc", "gpu_cycles", "l1d_miss_rate", "l2_miss_rate", "rt_efficiency", "dram_efficiency",
        "bandwidth_utilisation",
    ]  # fmt: skip


def test_100_000_cycles_at_a_tenth_of_the_pixels_are_a_million() -> None:  # Zatel III-G
    assert extrapolate(metrics(gpu_cycles=100_000), 0.1)["gpu_cycles"] == pytest.approx(1_000_000)


def test_rates_are_not_extrapolated() -> None:
    given = metrics(gpu_ipc=20.0, l1d_miss_rate=0.7, l2_miss_rate=0.3, rt_efficiency=None, dram_efficiency=0.5)
    after = extrapolate(given, 0.25)
    assert {name for name in RULES if after[name] != given[name]} == {"gpu_cycles"}


def test_20_and_50_ipc_are_70_and_miss_rates_are_averaged() -> None:  # Zatel III-H
    both = combine([metrics(gpu_ipc=20, l1d_miss_rate=0.70), metrics(gpu_ipc=50, l1d_miss_rate=0.60)])
    assert both["gpu_ipc"] == 70
    assert both["l1d_miss_rate"] == pytest.approx(0.65)


def test_cycles_are_averaged() -> None:
    both = combine([metrics(gpu_cycles=900_000.0), metrics(gpu_cycles=1_100_000.0)])
    assert both["gpu_cycles"] == 1_000_000


def test_a_group_without_a_value_does_not_take_part() -> None:
    assert combine([metrics(rt_efficiency=None), metrics(rt_efficiency=0.5)])["rt_efficiency"] == 0.5
    assert combine([metrics(rt_efficiency=None)])["rt_efficiency"] is None


def test_errors_are_relative_to_the_full_simulation() -> None:
    assert relative_error(110.0, 100.0) == pytest.approx(0.1)
    assert relative_error(90.0, 100.0) == pytest.approx(0.1)
    assert relative_error(None, 100.0) is None
    assert relative_error(0.0, 0.0) == 0.0
    assert relative_error(0.1, 0.0) is None
    assert mean_absolute_error([0.1, None, 0.3]) == pytest.approx(0.2)
    assert mean_absolute_error([None]) is None
