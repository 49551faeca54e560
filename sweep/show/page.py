"""The page of a sweep: missing points, the front, effects of parameters, noise floor, designs and points."""

import math
from collections.abc import Sequence
from importlib.metadata import version
from itertools import combinations

from rayplay.report.document import document
from rayplay.report.markup import Child, Markup, tag
from rayplay.report.tables import cell, head_cell, scrolled, section, table, wide
from rayplay.sweep.plan.plan import Plan
from rayplay.sweep.plan.verdict import SKIPPED
from rayplay.sweep.show import charts
from rayplay.sweep.show.compare import COST, Compared, Comparison, axes_of, compare
from rayplay.sweep.show.effects import Effect, Interaction, effects
from rayplay.sweep.show.table import Row, parameters

MOST_INTERACTIONS, MOST_ROWS, MISSING_SHOWN, LEAST_REST = 4, 2000, 12, 0.005


def page(plan: Plan, rows: Sequence[Row]) -> str:
    """The page of a sweep and the rows of its table."""
    found = compare(plan, rows)
    names = design_names(plan, found)
    singles, pairs = effects(rows, axes_of(plan), found.metric)
    parts: list[Child] = [
        header(plan, found, names), incomplete(rows), said(found, names, singles),
        pareto_section(plan, found, names), effect_section(singles, pairs, found), noise_section(found),
        design_section(plan, found, names), point_section(plan, rows),
    ]  # fmt: skip
    done = sum(row["status"] == "done" for row in rows)
    return document(f"{plan.name}: {done:,} of {len(rows):,} points", *parts)


def design_names(plan: Plan, found: Comparison) -> list[str]:
    """Each design by the parameters that vary; of several that move together, as the axes of a zip do, by the first."""
    axes = axes_of(plan)
    columns = list(zip(*(map(str, each.name) for each in found.designs), strict=True))
    levels = [[column.index(text) for text in column] for column in columns]
    varying = [place for place, level in enumerate(levels) if any(level) and level not in levels[:place]]
    return [
        ", ".join(f"{axes[place]} {value(each, place)}" for place in varying) or "the only design"
        for each in found.designs
    ]


def value(each: Compared, place: int) -> str:
    """A parameter of a design for a reader."""
    found = each.name[place]
    return "none" if found in ("", None) else str(found)


def header(plan: Plan, found: Comparison, names: Sequence[str]) -> Markup:
    """Name, counts, base, versions."""
    sweep = plan.space.sweep
    facts = [
        counted(len(plan.inputs), "trace"), counted(len(found.designs), "design"), f"base: {names[found.base]}",
        "objectives: " + ", ".join(f"{name} {sense}" for name, sense in sweep.compare.objectives.items()),
        f"rayplay {version('rayplay')}",
    ]  # fmt: skip
    return tag("header", tag("h1", plan.name), tag("ul", *(tag("li", fact) for fact in facts), class_="facts"))


def counted(number: int, what: str) -> str:
    """``1 trace``, ``2 traces``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def incomplete(rows: Sequence[Row]) -> Markup | None:
    """The points without a result, before anything that is averaged."""
    skipped = sum(row["status"] == SKIPPED for row in rows)
    missing = [row for row in rows if row["status"] not in ("done", SKIPPED)]
    note = (
        f"A budgeted run skipped {skipped:,} of {len(rows):,} points, on which the front does not depend. Designs with "
    )
    note += "such points have estimates with intervals; effects are of the points that ran."
    told = tag("div", tag("p", note), class_="said") if skipped else None
    if not missing:
        return told
    listed = [
        f"{row['trace']} on {row['gpu']}, point {row['point']}: {row['reason'] or row['status']}"
        for row in missing[:MISSING_SHOWN]
    ]
    more = [f"and {len(missing) - MISSING_SHOWN} more"] if len(missing) > MISSING_SHOWN else []
    words = f"Partial: {len(rows) - len(missing) - skipped:,} of {len(rows):,} points have a result. "
    words += "Designs with a missing point have no value and stand on no front."
    return tag(
        "div",
        tag("p", words, class_="warning"),
        tag("ul", *(tag("li", line) for line in [*listed, *more])),
        class_="said",
    )


def said(found: Comparison, names: Sequence[str], singles: Sequence[Effect]) -> Markup:
    """The answer in words."""
    known = [each for each in found.designs if None not in each.values.values()]
    lines = [f"{len(found.front)} of {len(known)} designs are on the Pareto front."]
    on_front = [(each.values.get(found.metric), number) for number, each in enumerate(found.designs)]
    best = [(v, number) for v, number in on_front if v is not None and number in found.front]
    if best:
        least, number = min(best)
        lines.append(f"Fewest {found.metric}: {names[number]}, {100 * (least - 1):+.1f} % of the base.")
    if singles:
        lines.append(
            f"{singles[0].name} moves {found.metric} most: {100 * singles[0].share:.0f} % of the variance"
            f" between designs."
        )
    floor = (found.floor or {}).get(found.metric)
    if floor is None:
        lines.append("The noise floor was not measured (noise = true under [compare]).")
    else:
        lines.append(f"Noise floor of {found.metric}: {100 * floor:.2f} %; smaller changes say nothing.")
    return tag("div", *(tag("p", line, class_="verdict" if not at else None) for at, line in enumerate(lines)),
               class_="said")  # fmt: skip


def pareto_section(plan: Plan, found: Comparison, names: Sequence[str]) -> Markup:
    """A chart for each pair of objectives, and the designs on the front."""
    objectives = list(plan.space.sweep.compare.objectives)
    known = [each for each in found.designs if None not in each.values.values()]
    drawn: list[Child] = []
    if known and len(objectives) > 1:
        for up, across in combinations(objectives, 2):
            drawn.append(wide(f"{across} and {up}", charts.front(found, names, (across, up))))
    elif known:
        drawn.append(tag("p", "One objective has no front, only a best design.", class_="note"))
    rows = [[names[number], *(found.designs[number].values[name] for name in objectives)] for number in found.front]
    note = "Blue is the front, orange the base with its noise floor. Metrics are geometric means of the ratios to the "
    note += "base over all traces; shares are means" + (
        "; cost is the weighted sum of values." if COST in objectives else "."
    )
    drawn.append(table(["design", *objectives], rows, "On the front"))
    return section("Pareto front", *drawn, note=note)


def effect_section(singles: Sequence[Effect], pairs: Sequence[Interaction], found: Comparison) -> Markup | None:
    """Sensitivity of the metric to each parameter, and the strongest interactions."""
    if not singles:
        return None
    floor = (found.floor or {}).get(found.metric)
    parts: list[Child] = [
        wide("Sensitivity", charts.sensitivity(singles, found.metric, floor)),
        table(
            ["parameter", "share of variance %", "least %", "most %"],
            [[each.name, 100 * each.share, 100 * min(each.changes), 100 * max(each.changes)] for each in singles],
            "Main effects",
        ),
    ]
    if pairs:
        shown = [
            tag("div", tag("h2", f"{' x '.join(each.names)}: {100 * each.share:.1f} % of the variance beyond the sum"),
                charts.together(each, found.metric))
            for each in pairs[:MOST_INTERACTIONS]
        ]  # fmt: skip
        parts += [
            tag("h2", "Interactions: lines that are not parallel"), tag("div", *shown, class_="upper"),
            table(["parameters", "share of variance %"], [[" x ".join(e.names), 100 * e.share] for e in pairs],
                  "Interactions"),
        ]  # fmt: skip
    note = f"Mean change of {found.metric} at each value of a parameter, over all other parameters and traces; larger "
    note += "dots are larger values, the grey band is the noise floor. "
    rest = 1.0 - math.fsum(each.share for each in singles) - math.fsum(each.share for each in pairs)
    if rest > LEAST_REST:
        note += f"The other {100 * rest:.0f} % of the variance: effects that differ between traces, or of three."
    return section("Sensitivity and interaction", *parts, note=note)


def noise_section(found: Comparison) -> Markup | None:
    """Noise floors."""
    if found.floor is None:
        return None
    rows = [[name, 100 * floor] for name, floor in found.floor.items()]
    note = "The change between runs of the base with a latency off by a cycle, exceeded by chance with 5 %."
    return section(
        "Noise floor", table(["metric", "floor %"], rows, "Noise floor of the mean over all traces"), note=note
    )


def design_section(plan: Plan, found: Comparison, names: Sequence[str]) -> Markup:
    """Every design with its objectives and its change on each trace, marked beyond the noise floor."""
    objectives = list(plan.space.sweep.compare.objectives)
    traces = list(dict.fromkeys(name for each in found.designs for name in each.by_trace))
    heads = [head_cell("design", False), head_cell("front", False), head_cell("missing", True)]
    bounded = [name for name in objectives if any(name in each.bounds for each in found.designs)]
    heads += [head_cell(name, True) for name in objectives]
    heads += [head_cell(f"{name} {end}", True) for name in bounded for end in ("low", "high")]
    heads += [head_cell(trace, True) for trace in traces]
    floor = (found.floor or {}).get(found.metric)
    body = []
    for number, each in enumerate(found.designs):
        cells = [cell(names[number], True), cell("front" if number in found.front else "", False)]
        cells.append(cell(each.missing, False))
        cells += [cell(each.values[name], False) for name in objectives]
        cells += [cell(end, False) for name in bounded for end in each.bounds.get(name, (each.values[name],) * 2)]
        cells += [change(each.by_trace.get(trace), floor) for trace in traces]
        body.append(tag("tr", *cells))
    caption = f"{len(found.designs)} designs; of each trace the change of {found.metric} from the base in %"
    made = tag("table", tag("caption", caption), tag("thead", tag("tr", *heads)), tag("tbody", *body))
    return section("Designs", scrolled(made, "Designs"))


def change(moved: float | None, floor: float | None) -> Markup:
    """A relative change in percent, coloured where it exceeds the noise floor."""
    if moved is None:
        return cell(None, False)
    beyond = floor is not None and abs(moved) > floor
    class_ = "number" + ((" more" if moved > 0 else " less") if beyond else "")
    return tag("td", f"{100 * moved:+.2f}", class_=class_, data_value=repr(100 * moved))


def point_section(plan: Plan, rows: Sequence[Row]) -> Markup:
    """The points, those without a result first."""
    varying = [name for name in ("reason", *parameters(plan)) if len({str(row.get(name)) for row in rows}) > 1]
    names = ["point", "status", *varying]
    metric = [name for name in plan.space.sweep.compare.objectives if name != COST and "." not in name]
    ordered = sorted(rows, key=lambda row: (row["status"] == "done", row["point"]))[:MOST_ROWS]
    shown = [[plain(row.get(name)) for name in [*names, *metric]] for row in ordered]
    cut = f"; the first {MOST_ROWS:,} of {len(rows):,}, rayplay sweep collect has all" if len(rows) > MOST_ROWS else ""
    return section("Points", table([*names, *metric], shown, f"Points{cut}", searched=True))


def plain(found: object) -> object:
    """A value for a table: flags and lists as text."""
    return str(found) if isinstance(found, (bool, list, tuple)) else found
