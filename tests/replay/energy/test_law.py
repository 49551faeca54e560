"""The energy law equals AccelWattch's code on its golden vectors, and hand-computed values without them."""

import csv
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayplay.replay.energy.law import Activity, category, energy, rt_joules
from rayplay.replay.energy.table import CATEGORIES, COMPONENTS, EVENTS, Table, names, read_table

TABLE = read_table()
CATEGORY_OF = {
    "cat1": "int_mix", "cat2": "int_fp", "cat3": "int_fp_dp", "cat4": "int_fp_sfu", "cat5": "int_fp_tex",
    "cat6": "int_fp_tensor", "geomean": "other", "intadd": "int_add", "intmul": "int_mul",
}  # fmt: skip
COUNTS = st.dictionaries(
    st.sampled_from((*EVENTS, "box", "triangle", "record")), st.integers(0, 10**9).map(float), max_size=5
)


def activity(events: dict[str, float], seconds: float = 1e-3, idle: float = 0.0, threads: float = 32.0) -> Activity:
    return Activity(events, seconds, 80, idle, threads)


def test_every_golden_vector_of_accelwattch(data: Path) -> None:
    file = data / "reference" / "energy" / "energy_golden.csv"
    if not file.is_file():
        pytest.skip("energy_golden.csv is not in the data folder")
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert len(rows) >= 16
    for row in rows:
        cycles, sms = float(row["cycles"]), int(row["cores"])
        seconds = cycles / (float(row["clock_mhz"]) * 1e6)
        events = {event: float(row[event]) for event in EVENTS} | {"PIPE_A": float(row["PIPE_A"]) * cycles * sms}
        found = energy(Activity(events, seconds, sms, float(row["IDLE_CORE_N"]), float(row["avg_threads"])), TABLE)
        assert category(events) == CATEGORY_OF.get(row["static_category"], row["static_category"])
        compared = {name.removeprefix("W_"): float(watts) for name, watts in row.items() if name.startswith("W_")}
        assert found.total / seconds == pytest.approx(compared.pop("total"), rel=1e-6)
        assert len(compared) == len(COMPONENTS) - 1  # all but the RT units
        for component, watts in compared.items():
            assert found.of(component) / seconds == pytest.approx(watts, rel=1e-6, abs=1e-12), component


@pytest.mark.parametrize(("events", "component", "joules"), [
    ({"DC_RH": 1e6}, "DCP", 453.71186e-6),
    ({"DC_RH": 1e6, "DC_WM": 1e6}, "MCP", (52.720318 + 123.55476) * 1e-6 + 0.55022e-3),
    ({"REG_RD": 64e6, "REG_WR": 32e6}, "RFP", (64 * 2.5001567 + 32 * 2.1367391) * 1e-6),
    ({"MEM_RD": 1e6, "MEM_WR": 2e6, "MEM_PRE": 3e6}, "DRAMP", (2009.6731 + 2 * 1115.1964 + 3 * 332.69421) * 1e-6),
    ({"PIPE_A": 1e6}, "PIPEP", 125.08993e-6),
    ({"box": 1e6, "triangle": 1e6, "record": 1e6}, "RTP", (40 + 120 + 30) * 1e-6),
])  # fmt: skip
def test_joules_of_events_by_hand(events: dict[str, float], component: str, joules: float) -> None:
    assert energy(activity(events), TABLE).of(component) == pytest.approx(joules, rel=1e-9)


@pytest.mark.parametrize(("events", "threads", "watts"), [
    ({"INT_ACC": 1.0, "FP_MUL_ACC": 1.0}, 32, 18.6179906 + 31 * 0.645228013),
    ({"INT_ACC": 1.0, "FP_ACC": 1.0, "FP_SIN_ACC": 1.0}, 11.2, 18.55029744 + 11 * 0.6099397),
    ({"INT_MUL_ACC": 1.0}, 1, 16.64811823), ({"INT_ACC": 1.0, "INT_MUL_ACC": 1.0}, 2, 15.29035866 + 0.586233603),
    ({"FP_ACC": 1.0}, 1, 17.21745077), ({"INT_ACC": 1.0, "DP_ACC": 1.0}, 1, 17.21745077),
    ({"DC_WH": 1.0, "SHRD_ACC": 1.0}, 32, 34.79491352), ({"SHRD_ACC": 1.0, "L2_RH": 1.0}, 0, 31.40965691),
    ({"L2_RM": 1.0}, 4, 17.30654755), ({}, 4, 1.965373811 + 3 * 0.003966868), ({}, 0, 1.965373811),
])  # fmt: skip
def test_leakage_by_hand(events: dict[str, float], threads: float, watts: float) -> None:
    half = energy(activity(events, 1e-3, 40, threads), TABLE)
    assert half.static["STATICP"] == pytest.approx(watts / 2 * 1e-3, rel=1e-9)
    assert half.static["IDLE_COREP"] == pytest.approx(40 * 0.28279166e-3, rel=1e-9)


def test_without_events_only_constant_and_static_power_flow() -> None:
    found = energy(activity({}, 2.0, 80), TABLE)
    assert not any(found.dynamic.values())
    assert found.total == pytest.approx(2.0 * (32.32522272 + 0.55022 + 80 * 0.28279166), rel=1e-12)
    assert found.constant == pytest.approx({"CONSTP": 2.0 * 32.32522272, "MCP": 2.0 * 0.55022}, rel=1e-12)


@given(COUNTS, COUNTS)
def test_dynamic_energy_is_additive_and_knows_no_time(one: dict[str, float], other: dict[str, float]) -> None:
    both = {event: one.get(event, 0) + other.get(event, 0) for event in {**one, **other}}
    parts = [energy(activity(events), TABLE).dynamic for events in (one, other)]
    whole = energy(activity(both, 7e-3, 5), TABLE).dynamic
    for component, joules in whole.items():
        assert joules == pytest.approx(sum(part[component] for part in parts), rel=1e-12, abs=1e-30)


@given(COUNTS, st.floats(0.0, 10.0))
def test_dynamic_energy_is_linear_in_the_coefficients(events: dict[str, float], factor: float) -> None:
    rows = {event: {name: pj * factor for name, pj in row.items()} for event, row in TABLE.pj.items()}
    own = {event: count for event, count in events.items() if event in EVENTS}
    scaled = energy(activity(own), replace(TABLE, pj=rows)).dynamic
    for component, joules in energy(activity(own), TABLE).dynamic.items():
        assert scaled[component] == pytest.approx(factor * joules, rel=1e-12, abs=1e-30)


@given(COUNTS)
def test_the_default_of_rt_units_lies_in_its_range(events: dict[str, float]) -> None:
    found = rt_joules(events, TABLE)
    assert all(low <= default <= high for low, default, high in found.values())
    assert math.isclose(sum(row[1] for row in found.values()), energy(activity(events), TABLE).dynamic["RTP"])


def scaled(**changed: float) -> Table:
    return replace(TABLE, scale=replace(TABLE.scale, **changed))


def test_voltage_scales_leakage_once_and_all_else_twice() -> None:
    events = {"DC_RH": 1e6, "INT_ACC": 1e6, "box": 1e6}
    before, after = (energy(activity(events, 1e-3, 20), table) for table in (TABLE, scaled(volts=0.5)))
    for kind, factor in (("dynamic", 0.25), ("static", 0.5), ("constant", 0.25)):
        assert sum(getattr(after, kind).values()) == pytest.approx(factor * sum(getattr(before, kind).values()))


def test_factors_of_another_chip() -> None:
    events = {"DC_RH": 1e6, "INT_ACC": 1e6}
    before = energy(activity(events, 1e-3, 20), TABLE)
    after = energy(activity(events, 1e-3, 20), scaled(dynamic=1.0649, idle=3.85, constant=1.708, static=2.0))
    assert after.of("DCP") == pytest.approx(1.0649 * before.of("DCP"))
    assert after.of("IDLE_COREP") == pytest.approx(3.85 * before.of("IDLE_COREP"))
    assert after.of("CONSTP") == pytest.approx(1.708 * before.of("CONSTP"))
    assert after.of("STATICP") == pytest.approx(2 * before.of("STATICP"))


def test_the_published_models_come_with_the_package(data: Path) -> None:
    """Every coefficient of every model, to the digits of the published table."""
    model_of = {"sass": "sass_sim", "sass-alt": "sass_sim_alt", "ptx": "ptx_sim", "hw": "sass_hw",
                "hybrid": "sass_hybrid"}  # fmt: skip
    assert names() == sorted(f"accelwattch-{name}" for name in model_of)
    file = data / "reference" / "energy" / "energy_coefficients.csv"
    if not file.is_file():
        pytest.skip("energy_coefficients.csv is not in the data folder")
    rows = list(csv.DictReader(file.read_text().splitlines()))
    for name, model in model_of.items():
        table = read_table(f"accelwattch-{name}")
        for row in (row for row in rows if row["model"] == model and row["component"] != "-"):
            if row["counter"] == "IDLE_CORE_N":
                assert table.power.idle_sm_w == float(row["pJ_per_event"])
            else:
                assert table.pj[row["counter"]][row["component"]] == float(row["pJ_per_event"])
        assert sum(map(len, table.pj.values())) == sum(row["model"] == model for row in rows) - 1


def test_every_category_has_a_row() -> None:
    assert set(TABLE.static) == set(CATEGORIES)


def test_published_error_of_the_model(data: Path) -> None:
    """The authors' own components and measured watts give the mean error that the table's note names: 9.23 %."""
    file = data / "reference" / "energy" / "accelwattch_kernels.csv"
    if not file.is_file():
        pytest.skip("accelwattch_kernels.csv is not in the data folder")
    rows = [row for row in csv.DictReader(file.read_text().splitlines()) if row["gpu"] == "volta_gv100_sass_sim"]
    errors = [abs(float(row["W_model_total"]) / float(row["W_measured"]) - 1) for row in rows]
    assert f"{sum(errors) / len(errors):.2%}".replace("%", " %") in TABLE.fitted_on
    assert f"{len(rows)} kernels" in TABLE.fitted_on
    for row in rows:
        assert float(row["W_CONSTP"]) == pytest.approx(TABLE.power.chip_w, rel=1e-5)
