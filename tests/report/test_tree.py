"""The page of an acceleration structure: its numbers are the structure's, it has words for everything, asks nothing."""

import re
from pathlib import Path

import numpy as np
import pytest

import rayplay
from rayplay.report.tree import Survey, said, tree_page
from rayplay.tracer.bvh.build import build_acceleration
from rayplay.tracer.bvh.decode import decode
from rayplay.tracer.bvh.quality import quality
from rayplay.tracer.bvh.xray import x_ray
from rayplay.tracer.scenes import load
from rayplay.tracer.shading.upload import pixel_rays
from tests.report.pages import AXE, NO_AXE, Parsed, in_browser, violations


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    trace = rayplay.trace("cornell", size=(16, 8), samples=1, out=tmp_path_factory.mktemp("tree") / "a.trace")
    scene = load("cornell")
    structure = build_acceleration(scene, 0)
    decoded = decode(structure)
    return Survey(
        "cornell",
        structure,
        quality(structure, decoded, trace),
        x_ray(decoded, *pixel_rays(scene.camera, 32, 24)),
        trace,
    )


def test_the_numbers_are_the_structures(survey: Survey) -> None:
    page = tree_page(survey)
    values = re.findall(r'data-value="([^"]*)"', page)
    counts = survey.acceleration.statistics
    for number in (survey.quality.cost, survey.quality.overlap("top"), counts.triangles, counts.image_bytes):
        assert repr(number) in values
    for depth in survey.quality.depths:
        assert {repr(depth.internal), repr(depth.leaves), repr(depth.cost), repr(depth.reads)} <= set(values)
    assert said(survey) in page


def test_the_fewest_records_of_a_share(survey: Survey) -> None:
    reads = survey.quality.reads
    assert reads is not None
    most = np.sort(reads)[::-1]
    table = tree_page(survey).partition("Fewest records with a share of the fetches")[2].partition("</table>")[0]
    rows = re.findall(r">(\d+) %</th><td[^>]*data-value=\"(\d+)\"", table)
    assert [share for share, _ in rows] == ["50", "80", "95", "99"]
    for share, records in rows:
        assert most[: int(records)].sum() * 100 >= int(share) * most.sum()
        assert most[: int(records) - 1].sum() * 100 < int(share) * most.sum()


def test_the_page_without_a_trace_asks_nothing_and_is_the_same(survey: Survey) -> None:
    structure, decoded = survey.acceleration, decode(survey.acceleration)
    alone = survey._replace(trace=None, quality=quality(structure, decoded))
    page = tree_page(alone)
    assert page == tree_page(alone)
    assert "fetches" not in page.partition("</style>")[2].partition("Records by depth")[2].partition("<script")[0]
    parsed = Parsed(tree_page(survey))
    assert not parsed.open
    for element, attributes in parsed.elements:
        assert element != "img" or attributes.get("alt")
        assert all(str(attributes.get(name, "data:")).startswith("data:") for name in ("src", "href", "data-values"))


def test_hovering_says_how_many_boxes(survey: Survey, tmp_path: Path) -> None:
    script = """
    await new Promise(go => {
      const look = () => document.querySelector('img.values[data-ready]') ? go() : setTimeout(look, 20);
      look();
    });
    const image = document.querySelector('img.values');
    image.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
    return document.getElementById('tip').textContent;
    """
    total = survey.x_ray.top.sum(axis=0) + survey.x_ray.bottom.sum(axis=0)
    assert in_browser(tree_page(survey), script, tmp_path) == f"pixel 1, 0: {total[0, 1]:,} boxes"


@pytest.mark.skipif(not AXE.exists(), reason=NO_AXE)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_accessibility_checker_finds_nothing(scheme: str, survey: Survey, tmp_path: Path) -> None:
    assert violations(tree_page(survey), tmp_path, scheme) == []
