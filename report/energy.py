"""Energy on the page, where ``NAME.energy`` stands beside the result: joules by unit, and power over time."""

import numpy as np

from rayplay.formats.dataset.energy import open_energy
from rayplay.formats.dataset.reader import Dataset
from rayplay.report.charts import histogram
from rayplay.report.markup import Child, Markup, tag
from rayplay.report.run import Run
from rayplay.report.tables import Section, section, table, wide

BARS = 48  # of power over time


def energy(run: Run) -> Section | None:
    """The part of the page; None without an energy, and where it is of another result of that name."""
    path = run.result.path.with_suffix(".energy")
    if not (path / "manifest.json").is_file():
        return None
    found = open_energy(path)
    if found.manifest.provenance.get("result_digest") != run.digest:
        return None
    children: list[Child] = [totals(found), units(found)]
    if "power" in found.tables and found.rows("power"):
        children.append(wide("Power over time", over_time(found)))
    return section("Energy", *children, note=note(found))


def note(found: Dataset) -> str:
    """The GPU that the coefficients were fitted on, as the energy's provenance has it."""
    used = found.manifest.provenance.get("table")
    name, fitted = (used.get(key, "unknown") for key in ("name", "fitted_on")) if isinstance(used, dict) else ("", "")
    return (
        f"By {name}: {fitted}. Constant and static power are the fitted chip's, not this one's; RT units are parameters"
        " with a range."
    )


def totals(found: Dataset) -> Markup:
    """Every quantity of the whole replay, with its range."""
    columns = found.read("totals")
    values = [
        [None if value != value else value for value in columns[name].tolist()] for name in ("value", "low", "high")
    ]
    rows = list(zip(columns["metric"], *values, columns["unit"], strict=True))
    return table(("quantity", "value", "RT units at least", "at most", "unit"), rows, "Energy of the replay")


def units(found: Dataset) -> Markup:
    """Joules of each unit and kind, the most first."""
    columns, sums = found.read("energy"), dict[tuple[str, str], float]()
    for unit, kind, joules in zip(columns["unit"], columns["kind"], columns["joules"].tolist(), strict=True):
        sums[unit, kind] = sums.get((unit, kind), 0.0) + joules
    whole = sum(sums.values()) or 1.0
    rows = [
        (*key, joules, round(100 * joules / whole, 2)) for key, joules in sorted(sums.items(), key=lambda row: -row[1])
    ]
    return table(("unit", "kind", "J", "share in %"), [row for row in rows if row[2]], "Energy by unit")


def over_time(found: Dataset) -> Markup:
    """Mean power of at most ``BARS`` stretches of the replay."""
    columns = found.read("power", ["start_cycle", "cycles", "watts"])
    start, place = np.unique(columns["start_cycle"], return_inverse=True)
    cycles, watts = np.zeros(len(start)), np.bincount(place, columns["watts"])
    cycles[place] = columns["cycles"]
    bins = min(len(start), BARS)
    of_bin = np.arange(len(start)) * bins // len(start)
    mean = np.bincount(of_bin, watts * cycles) / np.maximum(np.bincount(of_bin, cycles), 1)
    first = start[np.searchsorted(of_bin, np.arange(bins))]
    bars = [(f"{cycle:,}", round(power)) for cycle, power in zip(first.tolist(), mean.tolist(), strict=True)]
    drawn = histogram(bars, "W from this cycle on")
    return tag("div", drawn, tag("p", "Power in W over cycles", class_="note"), class_="small")
