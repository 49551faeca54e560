"""Charts of a sweep as SVG: the Pareto front, effects of parameters, and how two of them act together."""

import math
from collections.abc import Callable, Sequence

from rayplay.report.charts import WIDTH, figure, label
from rayplay.report.markup import Markup, tag
from rayplay.sweep.show.compare import Compared, Comparison
from rayplay.sweep.show.effects import Effect, Interaction

LEFT, TOP, HEIGHT, ROW = 70.0, 10.0, 300.0, 18.0
COLOURS = ("#2f7fc1", "#d1662a", "#2e8b57", "#8a5fb0", "#b5892b", "#c2497a", "#4f8f9d", "#777777")
NAMED = 170.0  # width of the names of parameters


def scale(values: Sequence[float]) -> tuple[float, float]:
    """Ends of an axis: a little beyond the values."""
    low, high = min(values), max(values)
    room = (high - low) * 0.06 or abs(high) * 0.06 or 1.0
    return low - room, high + room


def front(found: Comparison, names: Sequence[str], objectives: tuple[str, str]) -> Markup:
    """Designs by two objectives; the front is joined by steps, the noise floor is the bar at the base."""
    across, up = objectives
    shown = [
        (number, each.values[across], each.values[up])
        for number, each in enumerate(found.designs)
        if each.values[across] is not None and each.values[up] is not None
    ]
    (x0, x1), (y0, y1) = scale([x for _, x, _ in shown]), scale([y for _, _, y in shown])  # type: ignore[misc]
    width = 2 * WIDTH - LEFT - 20

    def place(x: float, y: float) -> tuple[float, float]:
        return LEFT + (x - x0) / (x1 - x0) * width, TOP + HEIGHT - (y - y0) / (y1 - y0) * HEIGHT

    drawn = [tag("rect", x=LEFT, y=TOP, width=width, height=HEIGHT, class_="box"), *ticks(x0, x1, y0, y1, width)]
    line = sorted(place(x, y) for number, x, y in shown if number in found.front)  # type: ignore[arg-type]
    if len(line) > 1:
        drawn.append(tag("path", d="M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in line), class_="arrow"))
    for number, x, y in shown:
        at, on = place(x, y), number in found.front  # type: ignore[arg-type]
        tip = f"{names[number]}\n{across} {x:.4g}, {up} {y:.4g}{', on the front' if on else ''}"
        if number == found.base:
            tip += ", base"
            drawn.append(
                floor_bar(found, objectives, at, (width / (x1 - x0), HEIGHT / (y1 - y0)), (x or 0.0, y or 0.0))
            )
        drawn.append(interval_bars(found.designs[number], objectives, place))
        fill = "#d1662a" if number == found.base else COLOURS[0] if on else "#9aa3ad"
        drawn.append(tag("rect", x=at[0] - 4, y=at[1] - 4, width=8, height=8, rx=4, fill=fill, data_tip=tip))
    drawn += [label(LEFT + width / 2, TOP + HEIGHT + 34, across, "middle", "strong"),
              label(LEFT, TOP - 1, up, "start", "strong")]  # fmt: skip
    said = "; ".join(f"{names[number]}: {x:.4g}, {y:.4g}" for number, x, y in shown if number in found.front)
    return figure(Markup("".join(drawn)), 2 * WIDTH, TOP + HEIGHT + 40, f"Pareto front of {across} and {up}: {said}")


def interval_bars(
    design: Compared, objectives: tuple[str, str], place: Callable[[float, float], tuple[float, float]]
) -> Markup:
    """The 95 % interval of each objective that a budgeted run estimated."""
    drawn = []
    x, y = (design.values[name] or 0.0 for name in objectives)
    for axis, name in enumerate(objectives):
        if name in design.bounds:
            low, high = design.bounds[name]
            ends = ((low, y), (high, y)) if axis == 0 else ((x, low), (x, high))
            (x0, y0), (x1, y1) = (place(*each) for each in ends)
            drawn.append(tag("path", d=f"M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}", class_="mark"))
    return Markup("".join(drawn))


def floor_bar(found: Comparison, objectives: tuple[str, str], at: tuple[float, float], unit: tuple[float, float],
              value: tuple[float, float]) -> Markup:  # fmt: skip
    """The noise floor around the base, along each objective that has one."""
    drawn = []
    for axis, name in enumerate(objectives):
        half = (found.floor or {}).get(name, 0.0) * value[axis] * unit[axis]
        x, y = (half, 0.0) if axis == 0 else (0.0, half)
        if half:
            ends = f"M{at[0] - x:.1f} {at[1] - y:.1f}L{at[0] + x:.1f} {at[1] + y:.1f}"
            drawn.append(tag("path", d=ends, class_="arrow", stroke_width=3))
    return Markup("".join(drawn))


def ticks(x0: float, x1: float, y0: float, y1: float, width: float) -> list[Markup]:
    """Numbers along both axes."""
    drawn = []
    for value in steps(x0, x1):
        x = LEFT + (value - x0) / (x1 - x0) * width
        drawn += [tag("path", d=f"M{x:.1f} {TOP:g}V{TOP + HEIGHT:g}", class_="mark", opacity=0.25),
                  label(x, TOP + HEIGHT + 15, f"{value:.4g}", "middle")]  # fmt: skip
    for value in steps(y0, y1):
        y = TOP + HEIGHT - (value - y0) / (y1 - y0) * HEIGHT
        drawn += [tag("path", d=f"M{LEFT:g} {y:.1f}H{LEFT + width:g}", class_="mark", opacity=0.25),
                  label(LEFT - 6, y + 4, f"{value:.4g}", "end")]  # fmt: skip
    return drawn


def steps(low: float, high: float) -> list[float]:
    """About five round values between two ends."""
    size = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(size * each for each in (1, 2, 5, 10) if (high - low) / (size * each) <= 6)
    return [number * step for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def sensitivity(found: Sequence[Effect], metric: str, floor: float | None) -> Markup:
    """For each parameter the mean change at each of its values, on one axis; the noise floor as a band."""
    most = max((abs(change) for each in found for change in each.changes), default=0.0) or 1.0
    middle, reach = NAMED + (2 * WIDTH - NAMED) / 2, (2 * WIDTH - NAMED) / 2 - 60
    height = (ROW + 8) * len(found)
    drawn = []
    if floor:
        half = min(floor / most, 1.0) * reach
        drawn.append(tag("rect", x=middle - half, y=0, width=2 * half, height=height, class_="track"))
    drawn.append(tag("path", d=f"M{middle:g} 0V{height:g}", class_="mark"))
    for row, each in enumerate(found):
        y = row * (ROW + 8) + 13
        places = [middle + change / most * reach for change in each.changes]
        drawn.append(label(NAMED - 6, y + 4, each.name[:28], "end"))
        drawn.append(tag("path", d=f"M{min(places):.1f} {y:g}H{max(places):.1f}", class_="arrow"))
        for number, (value, change, x) in enumerate(zip(each.values, each.changes, places, strict=True)):
            tip = f"{each.name} = {value}: {metric} {100 * change:+.2f} % of the mean"
            size = 3.5 + 1.0 * number * 4 / max(len(places) - 1, 1) / 2  # larger for larger values
            drawn.append(tag("rect", x=x - size, y=y - size, width=2 * size, height=2 * size, rx=size,
                             fill=COLOURS[0], data_tip=tip))  # fmt: skip
        low, high = (each.changes.index(end) for end in (min(each.changes), max(each.changes)))
        if low != high:
            drawn += [label(places[low] - 8, y + 4, each.values[low], "end", "edge"),
                      label(places[high] + 8, y + 4, each.values[high], "start", "edge")]  # fmt: skip
    said = "; ".join(f"{each.name} {100 * each.share:.0f} % of the variance" for each in found)
    return figure(Markup("".join(drawn)), 2 * WIDTH, height, f"Mean change of {metric} by parameter: {said}")


def together(found: Interaction, metric: str) -> Markup:
    """A line for each value of the second parameter over the values of the first; parallel lines do not interact."""
    known = [change for row in found.changes for change in row if change is not None]
    (y0, y1), width, height = scale(known), WIDTH - LEFT - 130, 170.0
    gap = width / max(len(found.values[0]) - 1, 1)
    drawn = [tag("rect", x=LEFT, y=TOP, width=width, height=height, class_="box")]
    for value in steps(y0, y1):
        y = TOP + height - (value - y0) / (y1 - y0) * height
        drawn.append(label(LEFT - 6, y + 4, f"{100 * value:+.3g} %", "end"))
    for number, name in enumerate(found.values[1]):
        line, colour = [], COLOURS[number % len(COLOURS)]
        for place, row in enumerate(found.changes):
            change = row[number]
            if change is None:
                continue
            x, y = LEFT + place * gap, TOP + height - (change - y0) / (y1 - y0) * height
            line.append(f"{x:.1f} {y:.1f}")
            tip = f"{found.names[0]} = {found.values[0][place]}, {found.names[1]} = {name}: {100 * change:+.2f} %"
            drawn.append(tag("rect", x=x - 4, y=y - 4, width=8, height=8, rx=4, fill=colour, data_tip=tip))
        if len(line) > 1:
            drawn.append(tag("path", d="M" + "L".join(line), fill="none", stroke=colour, stroke_width=2))
        drawn += [tag("rect", x=WIDTH - 120, y=TOP + 16 * number + 3, width=10, height=10, fill=colour),
                  label(WIDTH - 105, TOP + 16 * number + 12, name[:16])]  # fmt: skip
    for place, name in enumerate(found.values[0]):
        drawn.append(label(LEFT + place * gap, TOP + height + 15, name[:12], "middle"))
    drawn += [label(LEFT + width / 2, TOP + height + 31, found.names[0], "middle", "strong"),
              label(WIDTH - 120, TOP - 1, found.names[1], "start", "strong")]  # fmt: skip
    words = f"{metric} by {found.names[0]} and {found.names[1]}: {100 * found.share:.1f} % of the variance beyond both"
    return figure(Markup("".join(drawn)), WIDTH, TOP + height + 36, words)
