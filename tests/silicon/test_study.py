"""The study of all cards: no row is dropped, verdicts by hand, plots, results that are kept. Nothing is replayed."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from rayplay.replay.gpu.description import shipped
from rayplay.silicon.correlate import CALIBRATION, CHECK
from rayplay.silicon.study import plot, tables
from rayplay.silicon.study.collect import Study, at_clock
from rayplay.silicon.study.page import write
from rayplay.silicon.study.rays import RATIO, throughputs
from rayplay.silicon.study.results import BANDWIDTH, LATENCY, THROUGHPUT, TIME, Compared, Results
from rayplay.silicon.study.verdicts import verdicts


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
    assert reached[6] == (pytest.approx(0.10), 2, True), "an RTX 3060's rows were used"
    assert reached[8] == (pytest.approx(0.30), 1, False)
    assert verdicts([])[0].reached is None
    assert not any(each.holds for each in verdicts([]))


def test_a_plot_is_svg_with_a_point_a_row() -> None:
    rows = [row(TIME, 100, 100), row(TIME, 1000, 500, use=CALIBRATION)]
    tree = ElementTree.fromstring(plot.scatter(rows, "kernel <times>", "us"))
    (circle,) = tree.iter("{http://www.w3.org/2000/svg}circle")
    right, down = float(circle.attrib["cx"]) - plot.LEFT, float(circle.attrib["cy"]) - plot.TOP
    assert right == pytest.approx(plot.SIDE - down, abs=0.02), "equal values lie on the line"
    assert sum(each.attrib.get("class") == CALIBRATION for each in tree.iter()) == 1
    assert tree[0].text == "kernel <times>"


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
