"""Scatter plots of measured against modelled values, as SVG: logarithmic axes, a line of equality, a band of 20 %."""

import math
from collections.abc import Sequence

from rayplay.report.markup import Markup, tag
from rayplay.silicon.correlate import CALIBRATION
from rayplay.silicon.study.results import Compared

SIDE, LEFT, TOP, RIGHT, BOTTOM = 300.0, 62.0, 26.0, 26.0, 44.0
BAND = 1.2
STYLE = (
    "text{font:12px sans-serif;fill:#333}.small{font-size:11px}.axis{stroke:#888;fill:none}.grid{stroke:#e4e4e4}"
    ".same{stroke:#555}.band{fill:#f1f1f1}.check{fill:#f0803c;fill-opacity:.75}.calibration{fill:#5aa2d6}"
)


def scatter(rows: Sequence[Compared], title: str, unit: str) -> str:
    """An SVG of its own; ``rows`` were compared."""
    values = [value for row in rows for value in (row.measured, row.modelled) if value]
    low, high = math.floor(math.log10(min(values)) * 2) / 2, math.ceil(math.log10(max(values)) * 2) / 2
    high = max(high, low + 0.5)
    width, height = LEFT + SIDE + RIGHT, TOP + SIDE + BOTTOM

    def x(value: float) -> float:
        return LEFT + SIDE * (math.log10(value) - low) / (high - low)

    def y(value: float) -> float:
        return TOP + SIDE - SIDE * (math.log10(value) - low) / (high - low)

    drawn = [tag("title", title), tag("style", STYLE), tag("rect", width=width, height=height, fill="#fff"),
             tag("text", title, x=LEFT, y=16), band(x, y, low, high)]  # fmt: skip
    for power in ticks(low, high):
        at = 10.0**power
        drawn += [
            tag("path", d=f"M{x(at):.1f} {TOP:g}V{TOP + SIDE:g}M{LEFT:g} {y(at):.1f}H{LEFT + SIDE:g}", class_="grid"),
            tag("text", number(at), x=x(at), y=TOP + SIDE + 15, text_anchor="middle", class_="small"),
            tag("text", number(at), x=LEFT - 5, y=y(at) + 4, text_anchor="end", class_="small"),
        ]
    corner = 10.0**low
    drawn.append(tag("path", d=f"M{x(corner):.1f} {y(corner):.1f}L{x(10**high):.1f} {y(10**high):.1f}", class_="same"))
    drawn.append(tag("rect", x=LEFT, y=TOP, width=SIDE, height=SIDE, class_="axis"))
    drawn += points(rows, x, y)
    drawn.append(tag("text", f"measured, {unit}", x=LEFT + SIDE / 2, y=TOP + SIDE + 34, text_anchor="middle"))
    middle = TOP + SIDE / 2
    turned = f"rotate(-90 14 {middle:g})"
    drawn.append(tag("text", f"modelled, {unit}", x=14.0, y=middle, text_anchor="middle", transform=turned))
    attributes = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}"'
    return f'<svg {attributes} role="img">{"".join(drawn)}</svg>\n'


def points(rows: Sequence[Compared], x, y) -> list[Markup]:  # type: ignore[no-untyped-def]  # scales
    """A point a row; calibration rows are squares."""
    drawn = []
    for row in rows:
        assert row.modelled is not None
        assert row.error is not None
        tip = tag("title", f"{row.card}: {row.what}, {row.measured:.5g} {row.unit} measured, {row.error:+.1%}")
        at = x(row.measured), y(row.modelled)
        if row.use == CALIBRATION:
            drawn.append(tag("g", tip, tag("rect", x=at[0] - 3, y=at[1] - 3, width=6, height=6, class_="calibration")))
        else:
            drawn.append(tag("g", tip, tag("circle", cx=at[0], cy=at[1], r=3.5, class_="check")))
    return drawn


def band(x, y, low: float, high: float) -> Markup:  # type: ignore[no-untyped-def]  # scales
    """The area of errors below 20 %."""
    first, last = 10.0**low, 10.0**high
    corners = ((first, first), (first * BAND, first), (last, last / BAND), (last, last), (last / BAND, last),
               (first, first * BAND))  # fmt: skip
    return tag("path", d="M" + "L".join(f"{x(a):.1f} {y(b):.1f}" for a, b in corners) + "Z", class_="band")


def ticks(low: float, high: float) -> list[float]:
    """Powers of ten that get a line, with halves of them (3.16) where there are few."""
    whole = [float(power) for power in range(math.ceil(low), math.floor(high) + 1)]
    return whole if len(whole) > 1 else [low + 0.25 * k for k in range(round((high - low) / 0.25) + 1)]


def number(value: float) -> str:
    """A tick's label."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.3g}"
