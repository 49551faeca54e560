"""The energy of results: sums, power over time, ranges, refusals, and the files."""

from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

import rayplay
from rayplay.formats.dataset.energy import open_energy
from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.dataset.result import Result, ResultWriter, open_result
from rayplay.formats.guard.errors import UserError
from rayplay.replay.energy.account import Account, account, account_with_trace
from rayplay.replay.energy.difference import difference
from rayplay.replay.energy.power import power
from rayplay.replay.energy.table import EVENTS, Table, read_table
from rayplay.replay.energy.write import lines, write

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = ROOT / "traces" / "sample.trace"
TABLE = read_table()


@pytest.fixture(scope="module")
def trace() -> Trace:
    return open_trace(SAMPLE)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, trace: Trace) -> dict[str, Result]:
    """The sample on ``mobile``, with its RT unit's places and with one."""
    folder, found = tmp_path_factory.mktemp("energy"), {}
    mobile = rayplay.Gpu.load("mobile")
    for name, gpu in (("mobile", mobile), ("one place", mobile.with_values(**{"rt.warps": 1}))):
        rayplay.replay(trace, gpu, out=folder / f"{name}.result", interval=2000)
        found[name] = open_result(folder / f"{name}.result")
    return found


@pytest.fixture(scope="module")
def launches(generated: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Trace]:
    """Several launches, and their trace."""
    out = tmp_path_factory.mktemp("launches") / "all.result"
    rayplay.replay(generated, "mobile", out=out, interval=500)
    return open_result(out), open_trace(generated)


@pytest.fixture(scope="module")
def mobile(results: dict[str, Result], trace: Trace) -> Account:
    return account(results["mobile"], TABLE, trace)


def test_instructions_of_the_trace_are_those_that_were_issued(mobile: Account, trace: Trace) -> None:
    events = mobile.launches[0].activity.events
    counters = mobile.result.read("counters")
    issued = counters["value"][(counters["unit"] == "sm") & (counters["counter"] == "warp_instructions")].sum()
    assert events["TOT_INST"] == events["FP_INT"] == issued == mobile.result.value("warp_instructions")
    records = counters["value"][(counters["unit"] == "rt_unit") & (counters["counter"] == "records")].sum()
    fetched = np.concatenate([rows["node"] for rows in trace.batches("rays", ["node"])])
    kinds = trace.read("nodes", ["kind"])["kind"][fetched & 0x7FFFFFFF]
    assert events["record"] == records == len(fetched)
    assert events["box"] == 6 * (kinds == 1).sum()
    assert events["triangle"] == np.isin(kinds, (2, 4)).sum()


def test_merged_reads_are_not_taken_off_the_misses(mobile: Account) -> None:
    """AccelWattch takes them off (DEVIATIONS.md)."""
    table, events = mobile.result.read("counters"), mobile.launches[0].activity.events
    of = {
        name: int(table["value"][(table["unit"] == "l1d") & (table["counter"] == name)].sum())
        for name in ("merges", "read_line_misses", "read_sector_misses")
    }
    assert of["merges"] > 0
    assert events["DC_RM"] == of["read_line_misses"] + of["read_sector_misses"]


def test_leakage_is_of_the_whole_launch(mobile: Account) -> None:
    """The first interval lies in the launch latency or before the first ray, and yet has the launch's category."""
    launch = mobile.launches[0]
    assert launch.category == "int_fp_sfu"
    over_time = power(mobile)
    assert over_time is not None
    slots = mobile.result.read("timeline")
    live = (slots["unit"] == "stack") & (slots["counter"] != "idle")
    share = np.bincount(np.unique(slots["start_cycle"], return_inverse=True)[1][live], slots["value"][live])
    expected = launch.joules.static["STATICP"] * share / share.sum()
    assert over_time.joules["leakage", "static"] == pytest.approx(expected, rel=1e-12)


def test_fetches_are_an_estimate(mobile: Account) -> None:
    launch = mobile.launches[0]
    assert launch.activity.events["IC_H"] == launch.activity.events["TOT_INST"] / 2
    assert launch.origin["IC_H"] == launch.origin["IC_M"] == "estimate"


def test_energies_of_launches_sum(launches: tuple[Result, Trace]) -> None:
    result, trace = launches
    found = account(result, TABLE, trace)
    assert len(found.launches) == result.rows("kernels") > 1
    assert found.joules[1] == pytest.approx(sum(each.joules.total for each in found.launches), rel=1e-12)
    assert found.seconds == pytest.approx(result.value("seconds"), rel=1e-12)
    events = {event: sum(each.activity.events.get(event, 0) for each in found.launches) for event in EVENTS}
    counters = result.read("counters")
    of = dict.fromkeys(zip(counters["unit"], counters["counter"], strict=True), 0)
    for unit, name, value in zip(counters["unit"], counters["counter"], counters["value"].tolist(), strict=True):
        of[unit, name] += value
    assert events["DC_RH"] == of["l1d", "read_hits"] + of["l1d", "read_pending_hits"]
    assert events["DC_WM"] == of["l1d", "write_line_misses"] + of["l1d", "write_sector_misses"]
    assert events["NOC_A"] == of["port", "requests"] + of["port", "responses"]
    assert events["MEM_RD"] == of["dram", "reads"]
    assert events["SHRD_ACC"] == of["lsu", "shared_cycles"] > 0
    chip = TABLE.power.chip_w * found.seconds
    assert sum(each.joules.constant["CONSTP"] for each in found.launches) == pytest.approx(chip, rel=1e-12)


@pytest.mark.parametrize("traced", [True, False])
def test_power_over_time_sums_to_the_energy(launches: tuple[Result, Trace], traced: bool) -> None:
    result, trace = launches
    found = account(result, TABLE, trace if traced else None)
    over_time = power(found)
    assert over_time is not None
    assert len(over_time.start) > 3
    assert sum(over_time.cycles) == result.value("gpu_cycles")
    assert sum(joules.sum() for joules in over_time.joules.values()) == pytest.approx(found.joules[1], rel=1e-9)
    assert all((joules >= 0).all() for joules in over_time.joules.values())


def test_events_of_the_timeline_are_the_counters(mobile: Account) -> None:
    """So that power over time needs no correction: an interval's own counters, through the same law."""
    over_time = power(mobile)
    assert over_time is not None
    table = mobile.result.read("timeline")
    reads = (table["unit"] == "dram") & (table["counter"] == "reads")
    writes = (table["unit"] == "dram") & (table["counter"] == "writes")
    closed = (table["unit"] == "dram") & (table["counter"] == "precharges")
    pj = TABLE.pj
    expected = [
        1e-12 * (pj["MEM_RD"]["DRAMP"] * r + pj["MEM_WR"]["DRAMP"] * w + pj["MEM_PRE"]["DRAMP"] * p)
        for r, w, p in zip(*(table["value"][rows].tolist() for rows in (reads, writes, closed)), strict=True)
    ]
    assert over_time.joules["DRAM", "dynamic"] == pytest.approx(expected, rel=1e-9)


def test_quantities(mobile: Account) -> None:
    found = {name: values for name, values, _ in mobile.totals()}
    assert found["energy"] == mobile.joules
    assert sum(found[f"{kind}_energy"][1] for kind in ("dynamic", "static", "constant")) == pytest.approx(
        found["energy"][1]
    )
    rays = mobile.result.value("rt_closest_hit_rays") + mobile.result.value("rt_any_hit_rays")
    assert found["energy_per_ray"][1] == pytest.approx(found["energy"][1] / rays)
    assert found["energy_per_pixel"][1] == pytest.approx(found["energy"][1] / 1024)
    assert found["edp"][1] == pytest.approx(found["energy"][1] * mobile.result.value("seconds"))
    assert found["power"][1] == pytest.approx(found["energy"][1] / mobile.result.value("seconds"))
    assert found["energy"][0] < found["energy"][1] < found["energy"][2]


def test_an_sm_is_idle_without_a_warp(mobile: Account) -> None:
    """32 CTAs of a warp on 8 SMs: the launch latency, and an SM whose last warp has ended."""
    cycles = mobile.result.value("gpu_cycles")
    latency = rayplay.Gpu.load("mobile").sm.kernel_launch_cycles
    assert latency / cycles * 8 < mobile.launches[0].activity.idle_sms < 8 / 2


def test_estimates_come_near_the_trace(mobile: Account, results: dict[str, Result]) -> None:
    """On the trace whose operands they are: leakage, L1 and DRAM do not change, the rest by a few percent."""
    guessed = account(results["mobile"], TABLE)
    assert guessed.trace is None
    for component in ("DCP", "DRAMP", "L2CP", "STATICP", "CONSTP", "RFP"):
        theirs = guessed.launches[0].joules.of(component)
        assert theirs == pytest.approx(mobile.launches[0].joules.of(component), rel=0.01)
    assert guessed.joules[1] == pytest.approx(mobile.joules[1], rel=0.05)
    assert any("estimates" in line for line in lines(guessed))
    assert not any("estimates" in line for line in lines(mobile))


def test_the_trace_is_found_by_its_name(results: dict[str, Result]) -> None:
    assert account_with_trace(results["mobile"], TABLE).trace == "sample.trace"


def test_a_trace_that_was_not_replayed_is_refused(results: dict[str, Result], generated: Path) -> None:
    said = "is no replay of this trace: launch 0 has 164,665 warp instructions, not"
    with pytest.raises(UserError, match=said):
        account(results["mobile"], TABLE, open_trace(generated))


def charged(joules: float, box: tuple[float, float, float], table: Table = TABLE) -> Account:
    """An account of which only the energy and the boxes' range are known."""
    none = (0.0, 0.0, 0.0)
    rt = {"box": box, "triangle": none, "record": none}
    return cast(
        Account,
        SimpleNamespace(joules=(0.0, joules, 0.0), seconds=1.0, rt=rt, table=table, result=SimpleNamespace(path="a")),
    )


@pytest.mark.parametrize(("one", "other", "low", "high", "survives"), [
    ((10.0, (1.0, 4.0, 9.0)), (8.0, (1.0, 4.0, 9.0)), 2.0, 2.0, True),  # equal work cancels
    ((10.0, (1.0, 4.0, 9.0)), (8.0, (2.0, 8.0, 18.0)), 2.0 - 5.0, 2.0 + 3.0, False),  # more boxes: their cost decides
    ((10.0, (1.0, 4.0, 9.0)), (2.0, (2.0, 8.0, 18.0)), 8.0 - 5.0, 8.0 + 3.0, True),
    ((2.0, (1.0, 4.0, 9.0)), (10.0, (0.5, 2.0, 4.5)), -8.0 - 1.5, -8.0 + 2.5, True),
])  # fmt: skip
def test_a_sign_survives_the_range_or_not(one, other, low: float, high: float, survives: bool) -> None:
    found = difference(charged(*one), charged(*other))
    assert found == (low, one[0] - other[0], high)
    assert found.survives == survives
    back = difference(charged(*other), charged(*one))
    assert (back.low, back.high, back.survives) == (-high, -low, survives)


def test_a_smaller_rt_unit_costs_more_whatever_a_test_costs(
    results: dict[str, Result], trace: Trace, mobile: Account
) -> None:
    found = difference(account(results["one place"], TABLE, trace), mobile)
    assert found.survives
    assert found.low == pytest.approx(found.high, rel=1e-6)  # both test the same boxes
    with pytest.raises(UserError, match="must be compared by the table"):
        difference(mobile, charged(1.0, (0.0, 0.0, 0.0), replace(TABLE, name="other")))


def test_the_files_are_the_same_again(
    mobile: Account, results: dict[str, Result], trace: Trace, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        write(account(results["mobile"], TABLE, trace), tmp_path / f"{name}.energy")
    one, two = (
        {file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("a.energy", "b.energy")
    )
    assert one == two
    found = open_energy(tmp_path / "a.energy")
    rows, watts = found.read("energy"), found.read("power")
    assert rows["joules"].sum() == pytest.approx(mobile.joules[1], rel=1e-12)
    assert rows["low_joules"].sum() == pytest.approx(mobile.joules[0], rel=1e-12)
    assert rows["high_joules"].sum() == pytest.approx(mobile.joules[2], rel=1e-12)
    hertz = rayplay.Gpu.load("mobile").sm.clock_khz * 1e3
    assert (watts["watts"] * watts["cycles"] / hertz).sum() == pytest.approx(mobile.joules[1], rel=1e-9)
    assert set(found.read("events")["origin"]) == {"result", "trace", "estimate"}


@pytest.mark.parametrize(("lacking", "said"), [
    ("l1d.read_line_misses", "energy needs the counter l1d.read_line_misses, which it lacks: the model gatsim"),
    ("stack", "energy needs the tables stack and kernels, which it lacks: replay anew"),
    ("gpu", "energy needs the GPU in its provenance, which is not there: replay anew"),
])  # fmt: skip
def test_a_result_that_tells_too_little_is_one_line(
    results: dict[str, Result], tmp_path: Path, lacking: str, said: str
) -> None:
    whole = results["mobile"]
    made = dict(whole.manifest.provenance)
    if lacking == "gpu":
        del made["gpu"]
    with ResultWriter(tmp_path / "part.result", made) as writer:
        for name in set(whole.tables) - {lacking}:
            columns = whole.read(name)
            if name == "counters":
                unit, _, counter = lacking.partition(".")
                kept = (columns["unit"] != unit) | (columns["counter"] != counter)
                columns = {key: values[kept] for key, values in columns.items()}
            writer.put(name, columns)
        writer.summary(whole.summary)
    with pytest.raises(UserError, match=said):
        account(open_result(tmp_path / "part.result"), TABLE)


def rewritten(whole: Result, out: Path, table: str, **columns: object) -> Result:
    """The result with other columns in one of its tables."""
    with ResultWriter(out, dict(whole.manifest.provenance)) as writer:
        for name in whole.tables:
            writer.put(name, whole.read(name) | (columns if name == table else {}))
        writer.summary(whole.summary)
    return open_result(out)


def test_launches_side_by_side_are_one_row(mobile: Account, trace: Trace, tmp_path: Path) -> None:
    counters = mobile.result.read("counters")
    shared = np.where(counters["unit"] == "dram", np.int32(-1), counters["kernel_id"])
    found = account(rewritten(mobile.result, tmp_path / "a.result", "counters", kernel_id=shared), TABLE, trace)
    assert [each.kernel_id for each in found.launches] == [-1]
    assert found.joules == pytest.approx(mobile.joules, rel=1e-12)


def test_rows_of_no_sm_or_launch_are_one_line(mobile: Account, tmp_path: Path) -> None:
    stack = mobile.result.read("stack")
    away = rewritten(mobile.result, tmp_path / "a.result", "stack", sm=stack["sm"] + np.uint32(8))
    with pytest.raises(UserError, match=r"a.result: table stack must name SMs below 8, not 15"):
        account(away, TABLE)
    lost = rewritten(mobile.result, tmp_path / "b.result", "stack", kernel_id=stack["kernel_id"] + np.int32(5))
    with pytest.raises(UserError, match=r"b.result: launch 0 must have rows in the tables counters and stack"):
        account(lost, TABLE)


def test_a_result_of_gatsim_is_refused(trace: Trace, tmp_path: Path) -> None:
    rayplay.replay(trace, "mobile", model="gatsim", out=tmp_path / "g.result")
    with pytest.raises(UserError, match="the model gatsim keeps none"):
        account(open_result(tmp_path / "g.result"), TABLE)


def test_the_table_in_the_provenance_reads_back(mobile: Account, tmp_path: Path) -> None:
    write(mobile, tmp_path / "a.energy")
    kept = open_energy(tmp_path / "a.energy").manifest.provenance
    assert kept["table"] == asdict(TABLE)
    assert (kept["result"], kept["trace"]) == ("mobile.result", "sample.trace")
