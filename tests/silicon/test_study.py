"""The study of all cards: no row is dropped, verdicts by hand, plots, results that are kept. Nothing is replayed."""

import csv
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.schema.trace import NODE_KINDS
from rayplay.replay.gpu.description import shipped
from rayplay.silicon.correlate import CALIBRATION, CHECK
from rayplay.silicon.study import plot, tables
from rayplay.silicon.study.collect import Study, at_clock
from rayplay.silicon.study.page import WORST, write
from rayplay.silicon.study.rays import RATIO, UNIT, throughputs, traced
from rayplay.silicon.study.results import BANDWIDTH, LATENCY, THROUGHPUT, TIME, Compared, Results
from rayplay.silicon.study.verdicts import verdicts

ROOT = Path(__file__).parents[2]
SPHERES_OF_WKND = 487


class Known(Results):
    """Results that are there already: a micro-benchmark has 10 cycles, a kernel 100 us, every card 1 G paths/s."""

    def of(self, key: dict[str, Any], compute: Callable[[], Any]) -> Any:
        """Constants by task."""
        if key["task"] == "suite":
            return [{"quantity": "l1_hit", "unit": "cycles", "value": 10.0}]
        return {"time": 100.0, "rays": 1e9}[key["task"]]


def row(
    kind: str, measured: float, modelled: float | None, unit: str = "us", reason: str = "", **more: str
) -> Compared:
    values = {"description": "card-gtx1650", "card": "A", "what": "x", "use": CHECK, "source": "s"} | more
    return Compared(kind=kind, unit=unit, measured=measured, modelled=modelled, reason=reason, **values)


@pytest.fixture(scope="module")
def rows() -> list[Compared]:
    study = Study(Known(None))
    return [*study.rows(), *throughputs(study)]


def test_every_measured_row_appears_and_says_why_it_is_not_compared(rows: list[Compared]) -> None:
    expected = Counter(
        [(found["gpu"], found["quantity"]) for name in tables.QUANTITIES for found in tables.rows_of(name)]
        + [(time.card, f"{time.kernel} {time.n}") for time in tables.kernel_times()]
        + [(found["gpu"], found["scene"]) for found in tables.rows_of(tables.RAYS)]
    )
    assert Counter((found.card, found.what) for found in rows if found.unit != RATIO) == expected
    assert all(found.reason for found in rows if found.modelled is None)
    assert {found.kind for found in rows if found.modelled is not None} == {LATENCY, TIME, THROUGHPUT}
    assert sum(found.kind == TIME and found.modelled is not None for found in rows) > 40


def test_values_are_of_every_task() -> None:
    """Micro-benchmarks, kernels and rays."""
    warps: dict[str, set[int]] = {}

    class Seen(Known):
        def of(self, key: dict[str, Any], compute: Callable[[], Any]) -> Any:
            warps.setdefault(key["task"], set()).add(key["gpu"]["rt"]["warps"])
            return super().of(key, compute)

    study = Study(Seen(None), ["card-rtx2070", "card-rtx3060"], values=["rt.warps=16"])
    assert [*study.rows(), *throughputs(study)]
    assert warps == {task: {16} for task in ("suite", "time", "rays")}


def test_ratios_are_between_scenes_of_a_card_and_between_cards_of_a_driver(rows: list[Compared]) -> None:
    found = {(each.card, each.what): each.measured for each in rows if each.unit == RATIO}
    assert found["RTX 2070", "cornell / wknd"] == pytest.approx(30.4 / 19.9, rel=2e-3)
    assert found["RTX 2080 Ti FE / RTX 2070", "cornell"] == pytest.approx(54.9 / 30.4, rel=2e-3)
    assert not any("RTX 3060 Ti / RTX 2070" in card for card, _ in found), "of other drivers"


def test_descriptions_exist_and_a_card_has_one() -> None:
    found = tables.descriptions()
    assert set(found) <= set(shipped())
    unmeasured = {name for name in shipped() if name.startswith("card-")} - set(found)
    assert unmeasured == {"card-orin", "card-rtx4090"}
    names = [card for cards in found.values() for card in cards]
    assert len(names) == len(set(names))


def test_verdicts_by_hand() -> None:
    found = verdicts([
        row(LATENCY, 100, 104, "cycles"), row(LATENCY, 100, 90, "cycles", use=CALIBRATION),
        row(BANDWIDTH, 100, 50, "B/clk", "known"),
        row(TIME, 100, 110), row(TIME, 1000, 1100), row(TIME, 50, 60, description="card-rtx3060"), row(TIME, 9, None),
        row(THROUGHPUT, 2, 2.6, RATIO), row(THROUGHPUT, 1, 9, "Mpaths/s"),
    ])  # fmt: skip
    reached = [(each.reached, each.rows, each.holds) for each in found]
    assert reached[0] == (pytest.approx(0.10), 3, False)
    assert reached[1] == (pytest.approx(0.50), 3, False)
    assert reached[3] == (pytest.approx(0.10), 2, True), "rows without a named reason"
    assert reached[4] == (pytest.approx((0.1 + 0.1 + 0.2) / 3), 3, True)
    assert found[5].reached is not None
    assert 0.99 < found[5].reached < 1
    assert reached[6] == (pytest.approx((0.1 + 0.1 + 0.2) / 3), 3, True), "no row of the card with slow memory"
    assert reached[8] == (pytest.approx(0.10), 2, True), "an RTX 3060's rows were used"
    assert reached[10] == (pytest.approx(0.30), 1, False)
    assert verdicts([])[0].reached is None
    assert not any(each.holds for each in verdicts([]))


def test_a_reason_is_of_one_row_and_no_other_row_has_one() -> None:
    assert tables.reason_of("A100", "l2_hit", "arXiv 2402.13499 (Luo)")
    assert not tables.reason_of("A100", "l2_hit", "arXiv 2208.11174")
    assert not tables.reason_of("A100", "l2_hit_tlb_miss", "arXiv 2402.13499 (Luo)")


def test_the_page_names_every_row_that_is_far_off_and_no_reason_outlives_its_row() -> None:
    with (ROOT / "docs" / "hardware" / "rows.csv").open(encoding="utf-8") as file:
        found = [each for each in csv.DictReader(file) if each["modelled"] and each["unit"] != UNIT]
    beyond = [each for each in found if abs(float(each["error"])) > WORST]
    assert len(beyond) > 20
    for each in beyond:
        named = [r for r in tables.reasons() if r.fits(each["card"], each["what"], each["source"])]
        assert len(named) == 1, f"{each['card']}, {each['what']}, {each['source']}: {each['error']}"
        assert each["reason"] == named[0].why
    for reason in tables.reasons():
        assert any(reason.fits(each["card"], each["what"], each["source"]) for each in beyond), reason
        assert not any(
            reason.fits(each["card"], each["what"], each["source"]) for each in found if each not in beyond
        ), reason
    page = (ROOT / "docs" / "hardware" / "README.md").read_text(encoding="utf-8")
    assert all(reason.mechanism in page for reason in tables.reasons())


def test_rays_are_of_whole_frames_with_an_instance_a_sphere(tmp_path: Path) -> None:
    """Every warp of the trace casts rays: warps that do nothing would count as time."""
    trace = open_trace(traced("wknd", (32, 4), tmp_path))
    warps = trace.read("warps", ["warp_id"])["warp_id"]
    segments = trace.read("rays", ["warp_id"])["warp_id"]
    assert set(warps.tolist()) == set(segments.tolist())
    kinds = Counter(trace.read("nodes", ["kind"])["kind"].tolist())
    assert max(kinds[NODE_KINDS.index("instance")], kinds["instance"]) == SPHERES_OF_WKND


def test_kernels_of_slow_memory_are_counted_apart() -> None:
    slow = row(TIME, 100, 50, card="RTX 2060", what="add_row 1024")
    fast = row(TIME, 100, 90, card="RTX 2060", what="matvec 512")
    found = {each.what: each.reached for each in verdicts([slow, fast]) if each.figure == "mean absolute error"}
    assert found["kernel times above 50 us"] == pytest.approx(0.3)
    assert found["kernel times above 50 us, without the RTX 2060's slow memory"] == pytest.approx(0.1)


def test_a_plot_is_svg_with_a_point_a_row() -> None:
    rows = [row(TIME, 100, 100), row(TIME, 1000, 500, use=CALIBRATION)]
    tree = ElementTree.fromstring(plot.scatter(rows, "kernel <times>", "us"))
    (circle,) = tree.iter("{http://www.w3.org/2000/svg}circle")
    right, down = float(circle.attrib["cx"]) - plot.LEFT, float(circle.attrib["cy"]) - plot.TOP
    assert right == pytest.approx(plot.SIDE - down, abs=0.02), "equal values lie on the line"
    assert sum(each.attrib.get("class") == CALIBRATION for each in tree.iter()) == 1
    assert tree[0].text == "kernel <times>"


def test_labels_of_ticks_end_within_the_plot() -> None:
    tree = ElementTree.fromstring(plot.scatter([row(TIME, 100, 10_000)], "times", "us"))
    width = float(tree.attrib["width"])
    centred = [each for each in tree.iter() if each.get("class") == "small" and each.get("text-anchor") == "middle"]
    assert any(each.text == "10,000" for each in centred)
    for each in centred:
        assert float(each.attrib["x"]) + len(each.text or "") * 11 * 0.6 / 2 <= width, "a digit is 0.6 em wide at most"


def test_the_page_is_the_same_bytes_twice(rows: list[Compared], tmp_path: Path) -> None:
    texts = []
    for name in ("a", "b"):
        write(rows, tmp_path / name, "make correlate")
        texts.append({p.relative_to(tmp_path / name): p.read_bytes() for p in (tmp_path / name).rglob("*.*")})
    assert texts[0] == texts[1]
    assert Path("plots/kernel-times/gtx1650.svg") in texts[0]
    assert texts[0][Path("rows.csv")].count(b"\n") == len(rows) + 1


def test_what_is_finished_is_not_computed_again(tmp_path: Path) -> None:
    results, made = Results(tmp_path), []
    for key in ("a", "a", "b"):
        assert results.of({"task": key}, lambda key=key: made.append(key) or [1.5]) == [1.5]
    assert made == ["a", "b"]


def test_clocks_keep_their_ratio() -> None:
    from rayplay.replay.gpu.description import load

    gpu = at_clock(load("card-rtx3060"), 1_500_000)
    assert (gpu.sm.clock_khz, gpu.memory.l2_clock_khz) == (1_500_000, 1_500_000)
    assert gpu.memory.interconnect_clock_khz == 3_000_000
