"""Charts as SVG: cycle stacks, utilisation, timeline with a heat map of units, histogram."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from rayplay.replay.unit.cycle_stack import MEANINGS, REASONS
from rayplay.replay.verdict import HELD, percent, used_share
from rayplay.report.markup import Markup, tag
from rayplay.report.pictures import heat
from rayplay.report.run import Timeline

# Each bears black text (WCAG AA).
COLOURS = {
    "issue": "#3fb873", "data": "#9ecae1", "unit": "#5aa2d6", "lsu": "#a79bd8", "rt_unit": "#f0803c",
    "memory": "#fdc58a", "barrier": "#e58fc0", "fetch": "#bfe3b4", "idle": "#dcdcdc",
}  # fmt: skip
LABELLED = 0.07  # share of a bar from which a piece says its percentage
READABLE = 14  # height of such a bar
WIDTH = 560  # of the charts of the first screen, in SVG units
BAR = 14.0  # height of a unit's bar
LETTER = 7  # width of a letter of a label
MOST_NAMES = 4  # of launches that begin in an interval
RANGES = 12  # bars of a histogram
MOST_GROUPS = 16  # bars of SMs; more are joined


def figure(chart: Markup, width: float, height: float, label: str) -> Markup:
    """An SVG with a text alternative."""
    return tag("svg", chart, viewBox=f"0 0 {width:g} {height:g}", role="img", aria_label=label, class_="chart")


def label(x: float, y: float, words: str, anchor: str = "start", class_: str = "") -> Markup:
    """Text of a chart."""
    return tag("text", words, x=x, y=y, text_anchor=anchor, class_=class_ or None)


def stack_bar(x: float, y: float, width: float, height: float, share: np.ndarray, name: str) -> Markup:
    """One bar, cut by reason; ``share`` is float64[len(REASONS)]."""
    pieces, left = [], x
    for reason, part in zip(REASONS, share.tolist(), strict=True):
        if part <= 0:
            continue
        tip = f"{name}: {reason} {percent(part)} - {MEANINGS[reason]}"
        pieces.append(tag("rect", x=left, y=y, width=part * width, height=height, fill=COLOURS[reason], data_tip=tip))
        if part >= LABELLED and height >= READABLE:
            pieces.append(label(left + part * width / 2, y + height / 2 + 4, percent(part), "middle", "on"))
        left += part * width
    return Markup("".join(pieces))


def cycle_stack(sms: np.ndarray, slots: np.ndarray) -> Markup:
    """A bar for all SMs, and one for each group of SMs."""
    groups = min(len(sms), MOST_GROUPS)
    of_group = np.arange(len(sms)) * groups // len(sms)
    rows = [("all", slots.sum(axis=0))]
    for group in range(groups):
        mine = sms[of_group == group]
        name = f"{mine[0]}" if len(mine) == 1 else f"{mine[0]}-{mine[-1]}"
        rows.append((f"SM {name}", slots[of_group == group].sum(axis=0)))
    drawn, y = [], 0.0
    for number, (name, found) in enumerate(rows):
        height = 20.0 if number == 0 else max(5.0, 118.0 / groups)
        share = found / max(int(found.sum()), 1)
        drawn.append(stack_bar(62, y, WIDTH - 62, height - 1.5, share, name))
        if number == 0 or number in (1, groups):
            drawn.append(label(56, y + height / 2 + 4, name, "end"))
        y += height + (5 if number == 0 else 0)
    total = rows[0][1] / max(int(rows[0][1].sum()), 1)
    said = ", ".join(f"{reason} {percent(part)}" for reason, part in zip(REASONS, total.tolist(), strict=True))
    return figure(Markup("".join(drawn)), WIDTH, y + 4, f"Cycle stack, share of the issue slots: {said}")


def legend() -> Markup:
    """Colours of the reasons."""
    keys = [
        tag("li", tag("span", class_="key", style=f"background:{COLOURS[reason]}"), reason, data_tip=MEANINGS[reason])
        for reason in REASONS
    ]
    return tag("ul", *keys, class_="legend")


def utilisation(units: Mapping[str, float], meaning: Mapping[str, str]) -> Markup:
    """Bars of the units, the busiest first."""
    order = sorted(units, key=lambda unit: (-units[unit], unit))
    drawn = []
    for row, unit in enumerate(order):
        y, share = row * BAR, min(units[unit], 1.0)
        tip = f"{unit}: {used_share(unit, units[unit])}; {meaning.get(unit, '')}"
        drawn += [
            label(70, y + 11, unit, "end"),
            tag("rect", x=76, y=y + 1, width=400, height=BAR - 2, class_="track", data_tip=tip),
            tag("rect", x=76, y=y + 1, width=400 * share, height=BAR - 2, class_="bar", data_tip=tip),
            label(484, y + 11, f"{percent(units[unit])}{'*' if unit in HELD else ''}"),
        ]
    said = ", ".join(f"{unit} {percent(units[unit])}" for unit in order)
    return figure(Markup("".join(drawn)), WIDTH, len(order) * BAR, f"Share of each unit's capacity in use: {said}")


def timeline(found: Timeline, launches: Sequence[tuple[int, str]]) -> Markup:
    """Reasons over time; under them a heat map of the units; launches are marked.

    launches  first cycle and name of each.
    """
    left, width, top, row = 70.0, 1080.0, 56.0, 13.0
    edges, units = found.edges, list(found.units)
    scale = width / max(int(edges[-1] - edges[0]), 1)
    x = left + (edges - edges[0]) * scale
    height = top + 4 + row * len(units)
    drawn = [areas(found.reasons, x, top)]
    matrix = np.stack([found.units[unit] for unit in units])
    middles = (np.arange(width) + 0.5) / scale + edges[0]
    bins = np.clip(np.searchsorted(edges, middles, side="right") - 1, 0, len(edges) - 2)
    picture = heat(matrix[:, bins], 1.0)
    drawn.append(tag(
        "image", href=picture, x=left, y=top + 4, width=width, height=row * len(units), preserveAspectRatio="none",
        class_="pixels",
    ))  # fmt: skip
    drawn += [label(left - 6, top + 4 + row * place + 10, unit, "end") for place, unit in enumerate(units)]
    drawn.append(label(left - 6, top / 2, "slots", "end"))
    begun: dict[int, list[str]] = {}
    for start, name in launches:
        at = left + (start - int(edges[0])) * scale
        drawn.append(tag("path", d=f"M{at:.2f} 0V{height:g}", class_="mark"))
        begun.setdefault(int(np.searchsorted(edges, start, side="right")) - 1, []).append(name)
    for at in range(len(edges) - 1):
        names = ", ".join(begun.get(at, [])[:MOST_NAMES])
        tip = interval_words(found, at) + (f"\nbegin: {names}" if names else "")
        drawn.append(tag(
            "rect", x=float(x[at]), y=0, width=float(x[at + 1] - x[at]), height=height, class_="over", data_tip=tip,
        ))  # fmt: skip
    drawn += [
        label(left, height + 12, f"cycle {edges[0]:,}"), label(left + width, height + 12, f"{edges[-1]:,}", "end"),
    ]  # fmt: skip
    said = f"Timeline of {len(edges) - 1} intervals to cycle {edges[-1]:,}, {len(launches)} launches; peaks: "
    said += ", ".join(f"{unit} {percent(float(found.units[unit].max()))}" for unit in units)
    return figure(Markup("".join(drawn)), left + width + 4, height + 16, said)


def areas(share: np.ndarray, x: np.ndarray, height: float) -> Markup:
    """Stacked steps; ``share`` is float64[bins, reasons], ``x`` float64[bins + 1]."""
    level = np.concatenate([np.zeros((len(share), 1)), np.cumsum(share, axis=1)], axis=1) * height
    drawn = []
    for place, reason in enumerate(REASONS):
        if not share[:, place].any():
            continue
        low, high = height - level[:, place], height - level[:, place + 1]
        steps = [f"{x[at]:.1f} {y:.1f}H{x[at + 1]:.1f}" for at, y in enumerate(high)]
        back = [f"{x[at + 1]:.1f} {low[at]:.1f}H{x[at]:.1f}" for at in range(len(low) - 1, -1, -1)]
        drawn.append(tag("path", d="M" + "L".join(steps + back) + "Z", fill=COLOURS[reason]))
    return Markup("".join(drawn))


def interval_words(found: Timeline, at: int) -> str:
    """The numbers of one interval."""
    parts = [
        f"{reason} {percent(part)}" for reason, part in zip(REASONS, found.reasons[at].tolist(), strict=True) if part
    ]
    units = [f"{unit} {percent(float(share[at]))}" for unit, share in found.units.items()]
    return (
        f"cycles {found.edges[at]:,} to {found.edges[at + 1]:,}\nslots: {', '.join(parts)}\nunits: {', '.join(units)}"
    )


def histogram(counts: Sequence[tuple[str, int]], what: str) -> Markup:
    """Vertical bars with their numbers on hover. counts: name of the range, how many."""
    most = max((count for _, count in counts), default=1) or 1
    width, drawn = WIDTH / max(len(counts), 1), []
    longest = max((len(name) for name, _ in counts), default=1)
    every = math.ceil(longest * LETTER / width)  # bar with a name, so that none lies on the next
    for place, (name, count) in enumerate(counts):
        height = 90 * count / most
        drawn.append(tag("rect", x=place * width + 1, y=100 - height, width=width - 2, height=height, class_="bar",
                         data_tip=f"{name} {what}: {count:,}"))  # fmt: skip
        if place % every == 0:
            drawn.append(label((place + 0.5) * width, 114, name, "middle"))
    said = "; ".join(f"{name}: {count:,}" for name, count in counts)
    return figure(Markup("".join(drawn)), WIDTH, 120, f"{what}: {said}")


def spread(values: np.ndarray, what: str) -> Markup:
    """Histogram of whole numbers in even ranges, with least, median and most."""
    low, high = int(values.min()), int(values.max())
    step = -(-(high - low + 1) // RANGES)
    edges = np.arange(low, high + step + 1, step)
    counts = np.histogram(values, edges)[0].tolist()
    ranges = pairwise(edges.tolist())
    names = [f"{first:,}" if after - first == 1 else f"{first:,}+" for first, after in ranges]
    words = f"{what} (least {low:,}, median {int(np.median(values)):,}, most {high:,})"
    drawn = histogram(list(zip(names, counts, strict=True)), words)
    return tag("div", drawn, tag("p", words, class_="note"), class_="small")
