"""The choice of a fraction before anything is replayed."""

import pytest

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard import exact
from rayplay.replay.gpu.description import load
from rayplay.zatel.sample import until
from rayplay.zatel.sample.estimate import read_work
from rayplay.zatel.sample.forecast import Forecast, Population, forecast, population
from rayplay.zatel.sample.model_error import Spread, read_table
from rayplay.zatel.sample.until import cheapest, estimate_until, expected, half_width

GPU = ["sm.kernel_launch_cycles=100"]


def promised(fraction: float, width: float) -> Forecast:
    return Forecast(fraction, width, 0.0, {}, fraction + 0.1, fraction + 0.6)


def test_the_least_fraction_that_promises_enough_or_everything_where_that_is_cheaper() -> None:
    some = [promised(0.1, 0.08), promised(0.2, 0.05), promised(0.45, 0.02)]
    assert cheapest(some, 0.05) == 0.2
    assert cheapest(some, 0.02) == 1.0  # 1.05 full replays
    assert cheapest(some, 0.01) == 1.0


def test_widths_of_a_forecast_follow_from_the_table_by_hand(trace: Trace) -> None:
    rows = [Spread(scene, "mobile", 0.2, 40, 1.0, 600, 4, "gpu_cycles", 0.05, 0.03, 0.06) for scene in "abc"]
    of = Population(96, 96, 1.0, 600)
    found = [forecast(trace, load("mobile"), of, one, rows) for one in (0.25, 0.5)]
    # share 0.03 / 0.06; half the variance left out of 3/4, twice the warps; t of two degrees of freedom
    assert found[0].sampling == pytest.approx(4.3027 * 0.5 * (0.06**2 * 40 / 0.8 * 0.75 / 24) ** 0.5, rel=1e-3)
    assert found[1].sampling / found[0].sampling == pytest.approx((0.5 / 0.75 / 2) ** 0.5)
    assert exact.length(found[0].sampling, found[0].model) == pytest.approx(found[0].widths["gpu_cycles"])
    assert found[1].cost < found[1].first < 1.1
    assert forecast(trace, load("mobile"), of, 1.0, rows).widths == {"gpu_cycles": 0.0}


def test_a_forecast_reads_no_warp(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    monkeypatch.setattr(Trace, "batches", lambda self, name, columns=None: read.append(name))
    found, known = expected(trace, load("mobile"))
    assert [one.fraction for one in found] == [0.5, 1.0]  # two of its 96 CTAs in each of 24 strata
    assert not known
    assert not read
    assert population(trace, load("mobile")).ctas == 96


def test_a_wide_target_takes_one_sample_and_a_narrow_one_everything(trace: Trace, monkeypatch) -> None:
    gpu, work = load("mobile", GPU), read_work(trace)
    monkeypatch.setattr(until, "LEAST_CTAS", 16)
    (one,) = estimate_until(trace, gpu, 0.9, 1, work)
    assert one.share < 1.0
    assert half_width(one) <= 0.9
    monkeypatch.setattr(until, "estimate", None)  # no sample before it
    (whole,) = estimate_until(trace, gpu, 0.0001, 1, work)
    assert (whole.share, half_width(whole)) == (1.0, 0.0)


def test_a_broken_promise_ends_in_the_full_replay(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table without errors promises every target."""
    gpu, work = load("mobile", GPU), read_work(trace)
    monkeypatch.setattr(until, "LEAST_CTAS", 16)
    perfect = [row._replace(error=0.0, spread=0.0, sampling_error=0.0) for row in read_table()]
    monkeypatch.setattr(until, "ERRORS", perfect)
    found = estimate_until(trace, gpu, 0.001, 1, work)
    assert [one.share < 1.0 for one in found] == [True, False]


def test_the_choice_does_not_depend_on_what_is_kept(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the target of a fraction near a half: everything is cheaper only where the trace must be read first."""
    gpu, chosen = load("mobile", GPU), []
    monkeypatch.setattr(until, "LEAST_CTAS", 46)
    monkeypatch.setattr(until, "replay_whole", lambda trace, gpu: chosen.append("whole"))
    monkeypatch.setattr(until, "estimate", lambda *arguments: chosen.append("part") or 1 / 0)
    promise = forecast(trace, gpu, population(trace, gpu), 0.49, until.ERRORS)
    monkeypatch.setattr(until, "forecast", lambda *arguments: promise._replace(first=1.0, cost=0.6))
    width = exact.length(promise.sampling, promise.model)
    for work in (None, read_work(trace), None):  # the last one with a warm cache
        estimate_until(trace, gpu, width, 1, work)
    assert chosen == ["whole"] * 3
