"""The page in a headless Chromium: hover, keys, sorting, search, the switch of runs, no errors, no requests."""

import json
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from rayplay.report.film import Film, Value, chart, strip
from rayplay.report.forecast import Forecast
from rayplay.report.memory import edges
from rayplay.report.page import page
from rayplay.report.run import Run, flat
from rayplay.report.study import read_study
from tests.report.pages import AXE, CHROMIUM, NO_AXE, NO_BROWSER, OPTIONS, in_browser, violations
from tests.report.test_study import WHATIF

BROWSERS_OWN = (".google.com", ".googleapis.com", ".gvt1.com")  # that Chromium asks at its start, whatever the page
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_BROWSER)

READY = """
await new Promise(go => {
  const look = () => document.querySelector('img.values[data-ready]') ? go() : setTimeout(look, 20);
  look();
});
"""
POINT = """
const move = (element, x, y) => {
  element.dispatchEvent(new PointerEvent('pointermove', { bubbles: true, clientX: x, clientY: y }));
  return document.getElementById('tip').textContent;
};
"""


def test_hovering_a_pixel_says_its_cycles(runs: list[Run], one: str, tmp_path: Path) -> None:
    cycles = runs[0].pixels()
    assert cycles is not None
    script = READY + POINT + """
    const image = document.querySelector('img.values'), box = image.getBoundingClientRect(), found = [];
    const scale = Math.min(box.width / image.naturalWidth, box.height / image.naturalHeight);
    const left = box.left + (box.width - scale * image.naturalWidth) / 2;
    const top = box.top + (box.height - scale * image.naturalHeight) / 2;
    for (let row = 0; row < image.naturalHeight; row++) for (let column = 0; column < image.naturalWidth; column++)
      found.push(move(image, left + (column + 0.5) * scale, top + (row + 0.5) * scale));
    image.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
    return [found, document.getElementById('tip').textContent];
    """  # fmt: skip
    found, by_key = in_browser(one, script, tmp_path)
    height, width = cycles.shape
    assert found == [f"pixel {x}, {y}: {cycles[y, x]:,} cycles" for y in range(height) for x in range(width)]
    assert by_key == found[1]


def test_a_definition_is_shown_on_hover_and_focus(runs: list[Run], one: str, tmp_path: Path) -> None:
    script = (
        POINT
        + """
    const cards = [...document.querySelectorAll('.six > div')];
    const hovered = cards.map(card => move(card, 5, 5));
    cards[0].focus();
    return [hovered, document.getElementById('tip').textContent, document.getElementById('tip').hidden];
    """
    )
    hovered, focused, hidden = in_browser(one, script, tmp_path)
    assert hovered[0] == focused == runs[0].summary["gpu_cycles"]["definition"]
    assert all(hovered)
    assert not hidden


def test_sorting_and_search(runs: list[Run], one: str, tmp_path: Path) -> None:
    script = """
    const tables = [...document.querySelectorAll('table')];
    const table = tables.find(each => each.caption.textContent === 'Metrics');
    const column = () => [...table.tBodies[0].rows].map(row => row.cells[1].dataset.value ?? null);
    const [name, value] = table.querySelectorAll('button.sort'), found = [column()];
    value.click(); found.push(column());
    value.click(); found.push(column());
    const state = value.closest('th').getAttribute('aria-sort');
    const field = table.closest('.scroll').parentNode.querySelector('input');
    field.value = 'MISS'; field.dispatchEvent(new Event('input'));
    const shown = [...table.tBodies[0].rows].filter(row => !row.hidden).map(row => row.cells[0].textContent);
    return [found, state, shown, field.parentNode.querySelector('output').textContent];
    """
    (before, down, up), state, shown, said = in_browser(one, script, tmp_path)
    values = [entry["value"] for entry in runs[0].summary.values()]
    assert [None if v is None else float(v) for v in before] == values
    known = [float(value) for value in down if value is not None]
    assert known == sorted((value for value in values if value is not None), reverse=True)
    assert [float(value) for value in up if value is not None] == known[::-1]
    assert state == "ascending"
    expected = {name for name, e in runs[0].summary.items() if "miss" in f"{name}{e['definition']}".lower()}
    assert set(shown) == expected
    assert said == f"{len(expected)} of {len(values)} rows"


def test_switching_runs(two: str, tmp_path: Path) -> None:
    script = """
    const seen = () => [...document.querySelectorAll('.first')].map(part => part.hidden);
    const found = [seen()];
    document.querySelector('[data-show="1"]').click();
    return [...found, seen(), document.querySelector('[data-show="1"]').getAttribute('aria-pressed')];
    """
    assert in_browser(two, script, tmp_path) == [[False, True], [True, False], "true"]


@pytest.mark.parametrize("width", [1200, 700, 400])
def test_the_first_screen_fits(width: int, one: str, tmp_path: Path) -> None:
    script = """
    const box = document.querySelector('.first').getBoundingClientRect();
    return [document.documentElement.scrollWidth, innerWidth, box.bottom];
    """  # fmt: skip
    needed, inner, bottom = in_browser(one, script, tmp_path, f"--window-size={width},800")
    assert needed <= inner
    assert width < 1200 or bottom <= 800


def test_the_policy_lets_its_own_script_run_and_asks_nobody(two: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(two)
    log = tmp_path / "net.json"
    options = (f"--user-data-dir={tmp_path / 'profile'}", f"--log-net-log={log}", "--enable-logging=stderr")
    command = [str(CHROMIUM), *OPTIONS, *options, "--dump-dom", (tmp_path / "page.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert 'data-ready="yes"' in done.stdout
    assert "CONSOLE" not in done.stderr
    events = json.loads(log.read_text())["events"] if log.exists() else []
    asked = {event["params"]["url"] for event in events if "url" in event.get("params", {})}
    hosts = {found for url in asked if (found := urlsplit(url).hostname)}
    assert all(host.endswith(BROWSERS_OWN) for host in hosts), hosts


def test_the_figures_in_the_browser_are_those_of_the_tables(runs: list[Run], one: str, tmp_path: Path) -> None:
    """Every number of the tables, read from the DOM after the script has run, against the result's files."""
    script = """
    const found = {};
    for (const table of document.querySelectorAll('table')) found[table.caption.textContent] =
      [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.dataset.value ?? cell.textContent));
    found.six = [...document.querySelectorAll('[data-metric]')].map(each => [each.dataset.metric, each.dataset.value]);
    found.chart = document.querySelector('svg[aria-label^="Memory:"]').textContent;
    return found;
    """
    found, run = in_browser(one, script, tmp_path), runs[0]
    summary = {name: entry["value"] for name, entry in run.summary.items()}
    assert {row[0]: row[1] for row in found["Metrics"]} == {
        name: "-" if value is None else repr(value) for name, value in summary.items()
    }
    assert {row[0]: int(row[1]) for row in found["Counters"]} == {
        f"{unit}.{name}": value for unit, of in run.counters.items() for name, value in of.items()
    }
    assert all(float(value) == summary[name] for name, value in found["six"] if name in summary)
    kernels = run.kernels
    assert [[int(row[0]), int(row[3]), int(row[4]), int(row[5])] for row in found["Launches"]] == np.stack(
        [kernels[name] for name in ("kernel_id", "start_cycle", "end_cycle", "warp_instructions")], axis=1
    ).tolist()
    assert [[int(cell) for cell in row[1:3]] for row in found["Bytes between the levels of memory"]] == [
        [edge.read, edge.written] for edge in edges(run)
    ]
    assert all(line in found["chart"] for edge in edges(run) for line in edge.words)
    waits = run.result.read("stalls")
    assert sum(int(row[5]) for row in found["Instructions"]) == waits["warp_cycles"].sum()
    assert sum(int(row[1]) for row in found["Reads by kind of record"]) == run.counters["rt_unit"]["reads"]
    flat_gpu = {
        key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in flat(run.gpu).items()
    }
    assert {row[0]: row[1] for row in found["Description of the GPU"]} == flat_gpu


def test_hovering_a_difference_says_more_and_fewer_cycles(runs: list[Run], tmp_path: Path) -> None:
    script = POINT + """
    const image = document.querySelectorAll('.strip img')[2];
    await new Promise(go => {
      const look = () => image.dataset.ready ? go() : setTimeout(look, 20);
      look();
    });
    const found = [];
    for (let step = 0; step < 31; step++) {
      image.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
      found.push(document.getElementById('tip').textContent);
    }
    return found;
    """  # fmt: skip
    other, base = (run.pixels() for run in runs)
    assert base is not None
    assert other is not None
    moved = (other.astype(int) - base)[0]
    assert (moved < 0).any()
    assert in_browser(page(runs[::-1]), script, tmp_path) == [
        f"pixel {x}, 0: {moved[x]:,} cycles" for x in range(1, 32)
    ]


def other_pages(runs: list[Run], folder: Path) -> str:
    """The parts that only some pages have, in one: predictions, studies, an animation's chart and strip, boxes."""
    (folder / "w.json").write_text(json.dumps(WHATIF))
    guess = Forecast("e.json", "sample.trace", "mobile", {"gpu_cycles": (1.0, 0.5, 2.0), "gpu_ipc": (9.0, None, None)})
    pictures = {at: np.full((4, 6, 3), 0.1 + 0.4 * at) for at in range(2)}
    rows: list[list[Value]] = [[at, f"000{at}.trace", 100 + at, 1.5, 2.0, 1.0, 3.0] for at in range(2)]
    film = Film("walk", ["frame", "trace", "rays", "records_per_ray", "ms", "ms_low", "ms_high"], rows, pictures)
    whole = page(runs[:1], runs[1:], [guess], [read_study(folder / "w.json")])
    drawn = "".join(map(str, (strip(film), chart(film))))
    return whole.replace("</main>", f"{drawn}</main>")


@pytest.mark.skipif(not AXE.exists(), reason=NO_AXE)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["results", "others"])
def test_the_accessibility_checker_finds_nothing(
    which: str, scheme: str, runs: list[Run], two: str, tmp_path: Path
) -> None:
    html = two if which == "results" else other_pages(runs, tmp_path)
    assert violations(html, tmp_path, scheme) == []
