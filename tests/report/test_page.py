"""The page: its numbers are the result's, it makes no request, no name becomes markup, its bytes are reproducible."""

import re
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.result import ResultWriter, open_result
from rayplay.formats.guard.errors import UserError
from rayplay.replay.unit.cycle_stack import REASONS
from rayplay.replay.verdict import PHRASES, percent, six, verdict
from rayplay.report.comparison import strip
from rayplay.report.page import page
from rayplay.report.run import Run
from tests.report.pages import Parsed

HOSTILE = '</script><script>alert(1)</script><img src=x onerror=alert(2)>"\' onload="x'
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-"
LARGEST = 1_000_000  # bytes, of the sample's page


def test_the_six_numbers_are_the_results(runs: list[Run], one: str) -> None:
    shown = {a["data-metric"]: a["data-value"] for _, a in Parsed(one).elements if "data-metric" in a}
    assert shown == {f.name: None if f.value is None else repr(f.value) for f in six(runs[0].summary)}
    assert runs[0].verdict in one


def test_every_metric_and_counter_is_there(runs: list[Run], one: str) -> None:
    values = re.findall(r'data-value="([^"]*)"', one)
    for entry in runs[0].summary.values():
        assert entry["value"] is None or repr(entry["value"]) in values
    counters = runs[0].result.read("counters")
    total = sum(sum(of.values()) for of in runs[0].counters.values())
    assert total == counters["value"].sum()
    for unit, of in runs[0].counters.items():
        assert all(f">{unit}.{name}<" in one for name in of)


def test_the_page_makes_no_request(two: str) -> None:
    for element, attributes in Parsed(two).elements:
        for name in ("src", "href", "data-values"):
            assert str(attributes.get(name, "data:")).startswith(("data:", "#") if element == "a" else "data:")
        assert not {"action", "srcset", "ping"} & attributes.keys()
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|https?:|WebSocket|import\(", two)
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-" in two.replace(
        "&#x27;", "'"
    )


def test_the_page_is_small_and_the_same(runs: list[Run], one: str) -> None:
    assert len(one.encode()) < LARGEST
    assert page([Run(open_result(runs[0].result.path), runs[0].trace)]) == one


def test_everything_has_words(two: str) -> None:
    parsed = Parsed(two)
    assert not parsed.open
    assert all(a.get("alt") for element, a in parsed.elements if element == "img")
    assert all(a.get("aria-label") for element, a in parsed.elements if element == "svg")
    assert sum(element == "table" for element, _ in parsed.elements) == two.count("<caption>")
    identifiers = [a["id"] for _, a in parsed.elements if "id" in a]
    assert len(identifiers) == len(set(identifiers))


def hostile_result(folder: Path) -> Path:
    """A result whose every name is markup."""
    path, name = folder / "<b>x&.result", np.array([HOSTILE], object)
    zero, one = np.zeros(1, np.int32), np.ones(1, np.int64)
    instance = {"instance": zero.astype(np.uint32), "stream": zero, "kernel_id": zero}
    with ResultWriter(path, {"trace": HOSTILE, "gpu": {"name": HOSTILE, HOSTILE: HOSTILE}, "model": HOSTILE}) as writer:
        nine = {"kernel_id": np.zeros(9, np.int32), "sm": np.zeros(9, np.uint32), "slots": np.arange(9, dtype=np.int64)}
        writer.put("stack", nine | {"reason": np.array(REASONS, object)})
        span = {"start_cycle": np.zeros(1, np.int64), "end_cycle": one, "warp_instructions": one}
        writer.put("kernels", {"kernel_id": zero, "name": name, "stream": zero} | span)
        use = {"used": one, "capacity": np.full(1, 4.0)}
        writer.put("utilisation", {"kernel_id": zero, "unit": name, "measure": name} | use)
        writer.put("counters", instance | {"unit": name, "counter": name, "value": one, "measure": name})
        entry = {"value": 4, "unit": HOSTILE, "kind": "sum", "definition": HOSTILE}
        writer.summary({"gpu_cycles": entry, HOSTILE: entry})
    return path


def test_hostile_names_stay_text(tmp_path: Path, one: str) -> None:
    written = page([Run(open_result(hostile_result(tmp_path)))] * 2)
    parsed, usual = Parsed(written), Parsed(one)
    assert not parsed.open
    assert {element for element, _ in parsed.elements} <= {element for element, _ in usual.elements} | {"nav"}
    assert sum(element == "script" for element, _ in parsed.elements) == 1
    assert not any(name.startswith("on") for _, attributes in parsed.elements for name in attributes)
    assert sum(HOSTILE in text for _, text in parsed.text) > 5


@pytest.mark.parametrize("lost", ["stack", "timeline", "pixels", "counters", "kernels", "utilisation"])
def test_a_result_without_a_table_has_a_page(lost: str, runs: list[Run], tmp_path: Path) -> None:
    with ResultWriter(tmp_path / "x.result") as writer:
        for table in runs[0].result.tables:
            if table != lost:
                writer.put(table, runs[0].result.read(table))
        writer.summary(runs[0].summary)
    run = Run(open_result(tmp_path / "x.result"))
    assert not Parsed(page([run])).open
    assert (run.timeline is None) == (lost in ("stack", "timeline", "kernels", "utilisation"))


def test_an_empty_result_has_a_page(tmp_path: Path) -> None:
    with ResultWriter(tmp_path / "x.result") as writer:
        writer.summary({})
    assert "no cycle stack" in page([Run(open_result(tmp_path / "x.result"))])


def test_the_verdict_names_the_largest_share() -> None:
    slots = np.zeros((2, len(REASONS)), np.int64)
    slots[:, REASONS.index("memory")], slots[:, REASONS.index("issue")] = (60, 80), (40, 20)
    table = {"sm": np.repeat([0, 1], len(REASONS)), "reason": np.array(REASONS * 2, object), "slots": slots.ravel()}
    said = verdict(table, {"l2": 0.5, "dram": 0.9, "warps": 1.0})
    assert said.startswith(f"Limited by {PHRASES['memory']}: 70 % of the issue slots; next {PHRASES['issue']}, 30 %.")
    assert "Busiest unit: dram, 90 %" in said
    assert "By SM: 60 % of its own slots (SM 0) to 80 % (SM 1)." in said
    held = verdict(table, {"l2": 0.5, "rt_unit": 0.9}, {"rt_efficiency": {"value": 0.25}})
    assert "Busiest unit: rt_unit, a warp inside in 90 % of the cycles, RT efficiency 25 %." in held
    assert [percent(share) for share in (0, 0.0001, 0.05, 0.5)] == ["0.0 %", "< 0.1 %", "5.0 %", "50 %"]


def test_the_timeline_sums_to_the_utilisation(runs: list[Run]) -> None:
    run = runs[0]
    assert run.timeline is not None
    cycles = np.diff(run.timeline.edges)
    for unit, share in run.units.items():
        assert (run.timeline.units[unit] * cycles).sum() / run.cycles == pytest.approx(share, rel=1e-9)
    assert run.timeline.reasons.sum(axis=1) == pytest.approx(1)


def test_only_what_exceeds_the_noise_is_marked(runs: list[Run]) -> None:
    marks = re.compile('\u25b2|\u25bc|class="number (?:more|less)"')
    assert not marks.search(page(runs))
    assert marks.search(page(runs, runs[:1]))
    assert not marks.search(page(runs, runs[1:]))


def test_the_changes_of_the_gpu_are_named(runs: list[Run]) -> None:
    assert runs[0].changes == []
    assert [(key, ours) for key, ours, _ in runs[1].changes] == [("rt.warps", 1)]


def test_another_trace_is_refused(runs: list[Run], tmp_path: Path) -> None:
    with ResultWriter(tmp_path / "x.result") as writer:
        kernels = runs[0].result.read("kernels")
        writer.put("kernels", kernels | {"name": np.array(["other"] * len(kernels["name"]), object)})
        writer.summary(runs[0].summary)
    with pytest.raises(
        UserError, match=r"must be the trace that x.result replays; launch 0 is path-tracing, not other"
    ):
        Run(open_result(tmp_path / "x.result"), runs[0].trace)


def test_the_film_strip_has_a_frame_for_each_result_and_its_difference(runs: list[Run]) -> None:
    """As an animation's frames are compared: the base once, each other beside its difference from the base."""
    frames = [runs[0], runs[1], runs[1]]
    alternatives = [str(a["alt"]) for element, a in Parsed(str(strip(frames))).elements if element == "img"]
    assert len(alternatives) == 2 * len(frames) - 1
    base, other = (run.pixels() for run in runs)
    assert base is not None
    assert other is not None
    least, most = int((other.astype(int) - base).min()), int((other.astype(int) - base).max())
    assert f"from {least:+,} (blue) to {most:+,} cycles (red)" in alternatives[2]
    assert strip(runs[:1]) is None
