"""Several results beside each other: differences of every metric from the base, cycle stacks, pictures.

The noise floor of a metric is its largest change among replays of the base with a trifle changed, such as a latency
by a cycle; nothing is marked without them.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from rayplay.formats.look.compare import change, difference
from rayplay.replay.unit.cycle_stack import REASONS
from rayplay.replay.verdict import PHRASES, Figure, judged, shown, six
from rayplay.report.charts import WIDTH, figure, label, legend, stack_bar
from rayplay.report.markup import Child, Markup, tag
from rayplay.report.pictures import diverging, heat, values
from rayplay.report.run import Run, flat, moved_key
from rayplay.report.tables import cell, head_cell, scrolled, section

MOST_PICTURES = 64  # frames of the film strip
MOST_HOVERED = 4  # pictures with values to hover, which take most of the page's bytes
MOST_ANSWERS, MOST_KEYS = 6, 3
CYCLES = "gpu_cycles"
LEAST_SHOWN = 0.00005  # smaller differences are shown as 0.00


def noise_floor(base: Run, trifles: Sequence[Run]) -> dict[str, float]:
    """Metric -> its largest change among ``trifles``; empty without any."""
    found: dict[str, float] = {}
    for run in trifles:
        for metric in base.summary:
            moved = moved_by(run, base, metric)
            found[metric] = max(found.get(metric, 0.0), abs(moved or 0.0))
    return found


def moved_by(run: Run, base: Run, metric: str) -> float | None:
    """The change of a metric: of shares the difference, else relative to the base."""
    if metric not in run.summary or metric not in base.summary:
        return None
    ours, theirs = run.summary[metric], base.summary[metric]
    return change(ours["value"], theirs["value"], theirs["unit"])


def comparison(runs: Sequence[Run], floor: Mapping[str, float]) -> Markup:
    """The section of every metric, with its difference from the first of ``runs``."""
    note = f"The base is {runs[0].name}. Differences are percent of it, of shares percentage points. "
    if floor:
        note += (
            "Coloured (red: more, blue: less) is only what exceeds the noise floor: the largest change that replays"
            " of the base with a trifle altered, such as a latency by one cycle, show."
        )
    else:
        note += (
            "Nothing is marked: how far chance alone moves each value is not known. To know it, replay the base with a"
        )
        note += " trifle changed, such as a latency by one cycle, and name that result after --noise."
    return section("Metrics of all results", metrics(runs, floor), note=note)


def differences(runs: Sequence[Run], floor: Mapping[str, float]) -> Markup:
    """The first screen of several results: the change in words, what matters side by side, stacks, pictures."""
    names = ", ".join(run.name for run in runs[1 : MOST_ANSWERS + 1])
    more = f" and {len(runs) - MOST_ANSWERS - 1} more" if len(runs) > MOST_ANSWERS + 1 else ""
    title = tag("h1", f"{names}{more} against {runs[0].name}")
    stacks = figure_of_stacks(runs)
    upper: list[Child] = (
        [tag("h2", "Cycles, and where the issue slots went"), stacks, legend()] if stacks is not None else []
    )
    return tag("div", title, answers(runs, floor), upper, beside(runs), strip(runs), class_="differences")


def beside(runs: Sequence[Run]) -> Markup:
    """Numbers side by side: the limit, six numbers, the RT units; a row each, a column each run."""
    names = [run.name for run in runs]
    found = [{figure.name: figure for figure in (*six(run.summary), *further(run))} for run in runs]
    rows = list[Markup]()
    for key, first in found[0].items():
        cells: list[Child] = [tag("th", first.label, scope="row"), tag("td", shown(first), class_="number")]
        for each in found[1:]:
            theirs = each[key]
            cells.append(tag("td", shown(theirs), class_="number"))
            cells.append(tag("td", difference(theirs.value, first.value, first.unit), class_="number"))
        rows.append(tag("tr", *cells))
    heads = [tag("th", "of the whole replay", scope="col"), tag("th", names[0], scope="col", class_="number")]
    for name in names[1:]:
        heads += [tag("th", words, scope="col", class_="number") for words in (name, "difference")]
    made = tag("table", tag("caption", "Side by side; differences of shares are percentage points"),
               tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="short")  # fmt: skip
    return scrolled(made, "Side by side")


def further(run: Run) -> list[Figure]:
    """Numbers beside the six: the largest shares of the issue slots, the RT units, and the queue for them."""
    total = run.slots[1].sum(axis=0) if run.explained else np.zeros(len(REASONS), np.int64)
    part = total / total.sum() if total.any() else total
    held = [Figure(reason, f"{PHRASES[reason]}, of the issue slots", float(part[REASONS.index(reason)]), "1", "")
            for reason in ("rt_unit", "memory", "data")]  # fmt: skip
    efficiency = run.summary.get("rt_efficiency", {"value": None})["value"]
    return [
        *held, Figure("rt_efficiency", "RT efficiency", efficiency, "1", ""),
        Figure("queued", "of the wait for the RT unit, for a free place", run.queued, "1", ""),
    ]  # fmt: skip


def answers(runs: Sequence[Run], floor: Mapping[str, float]) -> Markup | None:
    """A sentence for each further run: its change of the cycles, beside the noise floor; None for one run."""
    said = [answer(run, runs[0], floor.get(CYCLES)) for run in runs[1 : MOST_ANSWERS + 1]]
    if len(runs) > MOST_ANSWERS + 1:
        said.append(f"{len(runs) - MOST_ANSWERS - 1} more are below.")
    return tag("ul", *(tag("li", words) for words in said), class_="answers") if said else None


def answer(run: Run, base: Run, floor: float | None) -> str:
    """The change of the cycles in words. floor: the noise floor of the cycles."""
    ours, theirs = flat(run.gpu), flat(base.gpu)
    keys = [key for key in ours if ours[key] != theirs.get(key) and key != "name"]
    if len(keys) > MOST_KEYS:
        why = f" ({len(keys)} values of the GPU differ)"
    else:
        changed = [moved_key(key, theirs.get(key, "none"), ours[key]) for key in keys]
        why = f" ({', '.join(changed)})" if changed else ""
    moved = moved_by(run, base, CYCLES)
    if moved is None:
        return f"{run.name} against {base.name}{why}: the cycles cannot be compared."
    return f"{run.name} against {base.name}{why}: {judged(moved, floor)}."


def figure_of_stacks(runs: Sequence[Run]) -> Markup | None:
    """A bar for each run, as long as its cycles are many."""
    explained = [run for run in runs if run.explained]
    if not explained:
        return None
    most, drawn = max(run.cycles for run in explained), []
    for row, run in enumerate(explained):
        total = run.slots[1].sum(axis=0)
        share, width = total / max(int(total.sum()), 1), run.cycles / most * (2 * WIDTH - 180)
        drawn.append(label(174, row * 22.0 + 15, run.name[:28], "end"))
        drawn.append(stack_bar(180, row * 22.0, width, 20, share, run.name))
    said = ", ".join(f"{run.name} {run.cycles:,} cycles" for run in explained)
    return figure(Markup("".join(drawn)), 2 * WIDTH, 22.0 * len(explained), f"Cycles and their stacks: {said}")


def strip(runs: Sequence[Run]) -> Markup | None:
    """Cycles per pixel of every run in one scale, and the difference from the base where the sizes are equal."""
    found = [(run, cycles) for run in runs[:MOST_PICTURES] if (cycles := run.pixels()) is not None]
    if len(found) < 2:
        return None
    most, first = max(float(np.quantile(cycles, 0.995)) for _, cycles in found), found[0][1]
    framed_ones, hovered = list[Child](), len(found) <= MOST_HOVERED
    for run, cycles in found:
        words = f"{run.name}: cycles per pixel, mean {float(cycles.mean()):,.0f}"
        framed_ones.append(framed(heat(cycles, most), words, cycles if hovered else None))
        if run is not found[0][0] and cycles.shape == first.shape:
            moved = cycles.astype(np.int64) - first
            words = (
                f"{run.name} against the base: from {int(moved.min()):+,} (blue) to {int(moved.max()):+,} cycles (red)"
            )
            framed_ones.append(framed(diverging(moved), words, moved if hovered else None))
    return tag("div", *framed_ones, class_="strip few" if hovered else "strip")


def framed(source: str, words: str, found: np.ndarray | None = None) -> Markup:
    """A picture with its words below; its values, int[height, width], are shown on hover."""
    hover: dict[str, str | int] = {}
    if found is not None:
        least = min(int(found.min(initial=0)), 0)
        hover = {"data_values": values(found - least), "data_least": least, "data_unit": "cycles", "tabindex": 0}
    class_ = "picture values" if hover else "picture"
    return tag("figure", tag("img", src=source, alt=words, class_=class_, **hover), tag("figcaption", words))


def metrics(runs: Sequence[Run], floor: Mapping[str, float]) -> Markup:
    """Every metric of the base: its value in each run, and the difference."""
    base = runs[0]
    heads: list[Child] = [head_cell("metric", False)]
    for run in runs:
        heads += [head_cell(title, True) for title in (run.name, "difference")[: 1 if run is base else 2]]
    if floor:
        heads.append(tag("th", "noise floor", scope="col", class_="number"))
    rows = []
    for metric, entry in base.summary.items():
        cells: list[Child] = [cell(metric, True), cell(entry["value"], False)]
        for run in runs[1:]:
            theirs = run.summary.get(metric, {"value": None})["value"]
            cells += [cell(theirs, False), difference_cell(run, base, metric, floor.get(metric))]
        if floor:
            words = f"{100 * floor[metric]:.2f} {'points' if entry['unit'] == '1' else '%'}"
            cells.append(tag("td", words, class_="number", data_value=repr(floor[metric])))
        rows.append(tag("tr", *cells))
    made = tag("table", tag("caption", "Metrics of all results"), tag("thead", tag("tr", *heads)), tag("tbody", *rows))
    return scrolled(made, "Metrics of all results")


def difference_cell(run: Run, base: Run, metric: str, floor: float | None) -> Markup:
    """A difference, with an arrow and a colour where it exceeds the noise floor."""
    moved = moved_by(run, base, metric)
    if moved is None:
        return tag("td", "", class_="number")
    unit = base.summary[metric]["unit"]
    beyond = floor is not None and abs(moved) > max(floor, LEAST_SHOWN)
    arrow = (" \u25b2" if moved > 0 else " \u25bc") if beyond else ""
    words = difference(run.summary[metric]["value"], base.summary[metric]["value"], unit)
    class_ = f"number{' more' if moved > 0 else ' less'}" if beyond else "number"
    return tag("td", words + arrow, class_=class_, data_value=repr(moved))
