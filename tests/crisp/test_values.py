"""Values and verdicts by hand: choices, findings, and the source of every published number."""

import re
from pathlib import Path

import pytest

from rayplay.crisp import pairs
from rayplay.crisp.experiments import EXPERIMENTS, batches, composition, owners, quads, slicer, three, traffic, ways
from rayplay.crisp.sources import AS_GPUS, ON_CHIP, Drawn
from rayplay.crisp.suite import Workload
from rayplay.crisp.values import Case, Value, chosen, mean, published, series, singles, theirs
from rayplay.formats.dataset.reader import open_trace
from tools.site.links import anchors

ROOT = Path(__file__).resolve().parents[2]
PAIR = Case("Orin", "8x8", "SPH", "VIO")


def speeds(name: str, by_partner: dict[str, dict[str, float]]) -> list[Value]:
    """Speeds over MPS by partner and partition."""
    return [
        Value(name, PAIR._replace(partner=partner, partition=partition), pairs.SPEED, speed)
        for partner, of_one in by_partner.items()
        for partition, speed in of_one.items()
    ]


def verdicts(experiment: object, values: list[Value]) -> list[bool | None]:
    return [finding.holds for finding in experiment.findings(values)]  # type: ignore[attr-defined]


def test_values_are_chosen_by_case_and_series_apart() -> None:
    found = [
        Value("a", PAIR, "q", 1.0),
        Value("a", PAIR, "q", 2.0, 10.0),
        Value("a", Case("x"), "q", 3.0),
        Value("b", PAIR, "q", 4.0),
    ]
    assert singles(found, "a", "q") == {PAIR: 1.0, Case("x"): 3.0}
    assert series(found, "a", "q", PAIR) == ([10.0], [2.0])
    assert [one.value for one in chosen(found, "a", "q", gpu="x")] == [3.0]
    assert mean([1.0, 3.0]) == 2.0
    assert mean([]) != mean([])


def test_every_published_number_has_a_source() -> None:
    pages = {"crisp": set(anchors(ROOT / "docs" / "sources" / "crisp.md"))}
    for one in published():
        page, _, heading = one.source.partition("#")
        assert one.who in ("paper", "hardware", "artifact", "meshes")
        assert heading in pages[page] if heading else re.fullmatch(r"Fig\. \d+|VI-[A-C](?:, Fig\. \d+)?", one.source), (
            one
        )


def test_experiments_have_names_of_their_own() -> None:
    names = [one.name for one in EXPERIMENTS]
    assert len(set(names)) == len(names)
    assert {one.value.experiment for one in published()} <= set(names)


def test_the_best_batch_weighs_draws_by_their_size() -> None:
    error = batches.errors()
    hardware = 57754 + 8192 * 258.2 + 24
    assert error[96] == pytest.approx((57754 - 56764 + 8192 * (258.2 - 252)) / hardware)
    assert error[64] == pytest.approx((58594 - 57754 + 8192 * (265 - 258.2)) / hardware)
    counts = {24: 30.0, 32: 28.0, 48: 26.0, 64: 24.0, 96: 22.0, 128: 20.0, 0: 10.0}
    values = [Value("batches", Case(graphics="SPL"), "invocations", count, float(at)) for at, count in counts.items()]
    assert verdicts(batches, values) == [True, True]
    assert verdicts(batches, [one._replace(value=100.0 - one.value) for one in values])[1] is False


def test_speeds_are_over_mps_and_decide_figures_12_and_14() -> None:
    def outcome(cycles: int) -> dict[str, object]:
        return {"cycles": cycles, "classes": {"graphics": {"cycles": cycles - 1}, "compute": {"cycles": cycles}}}

    found = {PAIR._replace(partition="mps"): outcome(300), PAIR._replace(partition="even"): outcome(200)}
    speed = singles(pairs.values("slicer", found), "slicer", pairs.SPEED)
    assert list(speed.values()) == [1.0, 1.5]

    gains = {"mps": 1.0, "even": 1.1, "slicer": 1.05, "greedy": 1.3}
    paper = {"HOLO": gains, "VIO": gains, "NN": gains | {"even": 1.4}}
    assert verdicts(slicer, speeds("slicer", paper)) == [True, True, True]
    other = {"HOLO": gains | {"even": 1.6}, "VIO": gains, "NN": gains | {"slicer": 2.9}}
    assert verdicts(slicer, speeds("slicer", other)) == [False, False, True]

    even = dict.fromkeys(("HOLO", "VIO", "NN"), gains | {"even": 1.001, "slicer": 0.999})
    assert verdicts(slicer, speeds("slicer", even))[0] is None, "as fast, to the digits of the page"

    slow = {"mps": 1.0, "mig": 0.9, "tap": 1.01}
    hologram = [Value("ways", PAIR._replace(partner="HOLO", partition="tap"), ways.WAYS, 1.0)]
    assert verdicts(ways, speeds("ways", dict.fromkeys(("HOLO", "VIO", "NN"), slow)) + hologram) == [True] * 4
    fast, hologram = {"mps": 1.0, "mig": 1.2, "tap": 1.1}, [hologram[0]._replace(value=2.0)]
    assert verdicts(ways, speeds("ways", dict.fromkeys(("HOLO", "VIO", "NN"), fast)) + hologram) == [False] * 4


def test_a_study_without_a_partner_says_nothing_of_it() -> None:
    alone = {"HOLO": {"mps": 1.0, "even": 1.1, "slicer": 0.9, "greedy": 1.0, "mig": 1.2, "tap": 1.1}}
    assert verdicts(slicer, speeds("slicer", alone)) == [True, None, None]
    assert verdicts(ways, speeds("ways", alone)) == [False, False, None, None]


def test_ways_are_the_median_over_time_from_the_first_division_on() -> None:
    assert ways.median_over_time([0], [16], 900) == 16
    assert ways.median_over_time([0, 500], [16, 3], 600) == 3
    assert ways.median_over_time([0, 100, 300, 310], [16, 1, 9, 5], 400) == 1  # 200 of 300 cycles
    assert ways.median_over_time([0, 100, 200, 310], [16, 1, 9, 5], 500) == 5  # 100, 110 and 190 cycles


def test_a_background_adds_threads_without_helpers_where_pixels_are_free() -> None:
    case = Case(size="10x10", graphics="PT")
    stages = {"stage": ["vertex", "fragment"], "shaded": [9, 60], "live": [9, 40], "covered": [0, 50],
              "draw": [0, 0], "draw_name": ["a", "a"]}  # fmt: skip
    for covered, expected in ((50, 160 / 140), (100, 60 / 40)):
        found = list(quads.values({case: {"stages": stages | {"covered": [0, covered]}}}))
        assert singles(found, "quads", quads.QUANTITY)[case] == 60 / 40
        assert singles(found, "quads", quads.FILLED)[case] == expected


def test_draws_stand_beside_what_their_triangles_say() -> None:
    """Two draws with fragments, of which one has too few triangles for a mean, and one without."""
    case = Case(size="2560x1440", graphics="PT")
    stages = {"stage": ["vertex", "fragment", "fragment"], "shaded": [9, 60, 30], "live": [9, 40, 10],
              "covered": [0, 50, 10], "draw": [0, 0, 2], "draw_name": ["a", "a", "c"]}  # fmt: skip
    shapes = {"name": ["a", "b", "c"], "triangles": [250, 0, 3], "area": [50.0, 0.0, 9.0], "threads": [70.0, 0.0, 90.0]}
    for threads, holds in ((70.0, True), (90.0, False)):
        shapes["threads"][0] = threads
        found = list(quads.values({case: {"stages": stages}, case._replace(variant=quads.SHAPES): shapes}))
        assert singles(found, "quads", quads.OF_DRAW) == {
            case._replace(variant="0 a"): 1.5, case._replace(variant="2 c"): 3.0,
        }  # fmt: skip
        assert singles(found, "quads", quads.SAID)[case._replace(variant="0 a")] == threads / 50
        assert singles(found, "quads", quads.PIXELS)[case._replace(variant="0 a")] == 0.2
        assert verdicts(quads, found) == [True, holds]
        assert [line[2:7] for line in quads.table(found)[1]] == [
            ["all", "50", "-", "1.800", "-"],
            ["0 a", "40", "0.2", "1.500", f"{threads / 50:.3f}"],
            ["2 c", "10", "3.0", "3.000", "10.000"],
        ]


def test_shares_of_the_l2_are_means_over_time() -> None:
    counters = dict.fromkeys(
        [
            f"l2.{kind}_{name}"
            for kind in ("read", "write")
            for name in ("hits", "pending_hits", "line_misses", "sector_misses")
        ],
        1,
    )
    rates = composition.hit_rates(counters | {"l2.read_hits": 5})
    assert rates[composition.HIT] == 8 / 12
    assert rates[composition.COUNTED] == 10 / 12  # six of eight reads, all four writes
    assert rates[composition.TEXTURE_HIT] != rates[composition.TEXTURE_HIT]  # NaN: no textures
    texels = {"l2.texture_read_hits": 2, "l2.texture_read_pending_hits": 1, "l2.texture_read_line_misses": 1}
    rates = composition.hit_rates(counters | texels | {"l1d.texture_read_hits": 1, "l1d.texture_read_sector_misses": 4})
    assert rates[composition.TEXTURE_HIT] == 3 / 4
    assert rates[composition.TEXTURE_PART] == 4 / 8
    assert rates[composition.REST_HIT] == 3 / 4  # no read, three of four; all four writes less the textures' hits
    assert rates[composition.L1_TEXTURE_HIT] == 1 / 5
    share, rest = rates[composition.TEXTURE_PART], rates[composition.REST_HIT]
    assert rates[composition.COUNTED] == share * rates[composition.TEXTURE_HIT] + (1 - share) * rest
    for picture in ("SPL", "SPH", "PT", "IT", "MT"):  # the RTX 3070's are made so as well
        said = {
            name: next(iter(theirs("composition", name, who="hardware", graphics=picture).values()))
            for name in (composition.HIT, composition.TEXTURE_PART, composition.TEXTURE_HIT, composition.REST_HIT)
        }
        share, rest = said[composition.TEXTURE_PART], said[composition.REST_HIT]
        made = share * said[composition.TEXTURE_HIT] + (1 - share) * rest
        assert made == pytest.approx(said[composition.HIT], abs=0.001)
    lines = {"cycle": [0, 500], "lines graphics texture": [0.2, 0.4], "lines graphics other": [0.1, 0.5]}
    classes = {"graphics": {"counters": counters}}
    values = list(composition.values({PAIR: {"series": lines, "classes": classes}}))
    assert singles(values, "composition", composition.MEAN)[PAIR] == pytest.approx(0.3)
    assert singles(values, "composition", composition.MOST)[PAIR] == 0.4
    owned = lines | {"lines compute other": [0.0, 0.1]}
    [share] = singles(owners.values({PAIR: {"series": owned}}), "owners", owners.SHARE).values()
    assert share == pytest.approx(0.9)  # of the second half, 0.9 of 1.0


def test_data_on_chip_are_held_against_the_hardwares_rates() -> None:
    """Of SPL alone: 0.5 and 0.1 points nearer to the RTX 3070's share of texture reads, further from its hits."""
    [share], [rate] = ([traffic.hardware(name)["SPL"]] for name in (traffic.TEXTURE_PART, traffic.COUNTED))
    case = Case("RTX 3070", "2560x1440", "SPL")
    values = [
        Value("traffic", case._replace(variant=variant), name, known + off)
        for variant, off_share, off_rate in ((traffic.PAPER, -0.3, 0.1), (traffic.ON_CHIP, 0.2, -0.15))
        for name, known, off in ((traffic.TEXTURE_PART, share, off_share), (traffic.COUNTED, rate, off_rate),
                                 (traffic.CYCLES, 0, 9), (traffic.ACCESSES, 0, 9))
    ]  # fmt: skip
    assert verdicts(traffic, values) == [True, False]
    assert verdicts(traffic, [one._replace(case=one.case._replace(size="8x8")) for one in values]) == [None, None]
    assert traffic.errors(values, traffic.TEXTURE_PART)[traffic.ON_CHIP] == pytest.approx(0.2)
    all_of_it = [one._replace(case=one.case._replace(variant=AS_GPUS)) for one in values[-4:]]
    assert verdicts(traffic, values + all_of_it) == [True, True, False, False]
    _, lines = traffic.table(values)
    assert [line[1] for line in lines] == [traffic.PAPER, traffic.ON_CHIP]
    more = [one._replace(case=one.case._replace(graphics="PT")) for one in values if one.case.variant == traffic.PAPER]
    assert verdicts(traffic, values + more) == [None, None]  # PT is not on chip
    assert traffic.errors(values + more, traffic.COUNTED).keys() == {traffic.PAPER}
    for variant, said in ((traffic.PAPER, "mean distance in points: in the L2 30.0"), (traffic.ON_CHIP, "-")):
        found = list(traffic.findings([one for one in values if one.case.variant == variant]))
        assert ([one.holds for one in found], found[0].here) == ([None, None], said)
    assert lines[0][5] == f"{100 * share - 30:.1f} / {100 * share:.1f}"


def test_a_picture_is_drawn_with_the_traffic_of_its_source(tmp_path: Path) -> None:
    for name, expected in (
        ("", ("l2", "rgba32f", False, None)),
        (ON_CHIP, ("chip", "rgba8", False, None)),
        (AS_GPUS, ("chip", "rgba8", True, "block")),
    ):
        source = Drawn(Workload("cornell", "cornell", "lit"), (8, 6), traffic=name)
        source.make(tmp_path / f"{source.name}.trace")
        rules = open_trace(tmp_path / f"{source.name}.trace").manifest.provenance["rules"]
        assert (rules["varyings"], rules["target"], rules["merges"], rules["storage"]["tiling"]) == expected


def test_weighted_speedup_and_fairness_of_three_classes() -> None:
    def alone(cycles: int) -> dict[str, object]:
        return {"cycles": cycles, "classes": {}}

    together = {
        "cycles": 400,
        "classes": {name: {"cycles": cycles} for name, cycles in zip(three.CLASSES, (200, 100, 400), strict=True)},
    }
    found = {PAIR._replace(partition="mps"): together}
    found |= {PAIR._replace(variant=f"alone {name}"): alone(100) for name in three.CLASSES}
    values = list(three.values(found))
    assert singles(values, "three", three.SPEEDUP) == {PAIR._replace(partition="mps"): 0.5 + 1 + 0.25}
    assert singles(values, "three", three.FAIRNESS) == {PAIR._replace(partition="mps"): 0.25}
    assert list(singles(values, "three", "slowdown compute").values()) == [4.0]
    assert verdicts(three, values) == [True]


def test_published_values_are_found_by_case() -> None:
    assert theirs("quads", "threads over covered", graphics="IT") == {Case(size="2560x1440", graphics="IT"): 1.311}
    assert len(theirs("batches", "invocations", who="hardware")) == 3
