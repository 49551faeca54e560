"""Design studies of whatif and scale on the page: changes beside the noise floor, and the full replays."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import LIST_BYTES
from rayplay.formats.guard.text import parse_json, read_text
from rayplay.replay.verdict import judged
from rayplay.report.charts import WIDTH, figure, label
from rayplay.report.forecast import expect_same, number
from rayplay.report.markup import Markup, tag
from rayplay.report.run import Run
from rayplay.report.tables import cell, head_cell, scrolled, section, wide

CHARTED, MOST_SENTENCES = "gpu_cycles", 6
ROW, NAMES, LETTERS = 18.0, 230.0, 34  # height of a bar; width of the names, and their letters
MIDDLE = NAMES + (2 * WIDTH - NAMES) / 2
REACH = (2 * WIDTH - NAMES) / 2 - 70  # of the longest bar, which leaves room for its words
NOTE = (
    "Relative changes: of whatif from the unchanged GPU, of scale from the full replay or the first machine. "
    "Marked is only what exceeds the noise floor: the largest change that a trifle makes, as a latency by one cycle."
)

CHART = "Change of the cycles; grey is the noise floor."

Values = dict[str, float | None]


class Line(NamedTuple):
    """A design or a machine: metric -> relative change, and the change that noise makes."""

    name: str
    change: Values
    floor: Values


class Study(NamedTuple):
    """A file of ``rayplay whatif`` or ``rayplay scale``."""

    name: str
    trace: str
    gpu: str
    lines: list[Line]


def read_study(path: Path) -> Study:
    """Read a file that ``--out`` of whatif or scale wrote; ``UserError`` for anything else."""
    raw = parse_json(read_text(path, "study", LIST_BYTES), path)
    place = f"--study {path}"
    if not isinstance(raw, dict) or not ({"designs", "noise_floor"} <= raw.keys() or "models" in raw):
        raise UserError(f"{place}: must be what rayplay whatif or rayplay scale wrote; has neither designs nor models")
    lines = design_lines(place, raw) if "designs" in raw else machine_lines(place, raw)
    return Study(path.name, str(raw.get("trace", "unknown")), str(raw.get("gpu", "unknown")), lines)


def design_lines(place: str, raw: dict[str, Any]) -> list[Line]:
    """Designs of whatif, each before its full replay where there is one."""
    floor, full_floor = (
        read_values(f"{place}: {key}", raw.get(key) or {}) for key in ("noise_floor", "full_noise_floor")
    )
    lines = []
    for row, design in enumerate(listed(f"{place}: designs", raw["designs"])):
        at, name = f"{place}: designs[{row}]", str(design.get("change", "unnamed"))
        lines.append(Line(name, read_values(f"{at}.predicted", design.get("predicted")), floor))
        if design.get("full") is not None:
            lines.append(Line(f"{name}, full replay", read_values(f"{at}.full", design["full"]), full_floor))
    return lines


def machine_lines(place: str, raw: dict[str, Any]) -> list[Line]:
    """Machines of scale, against the full replay or else the first machine."""
    models = listed(f"{place}: models", raw["models"])
    found = [read_values(f"{place}: models[{row}].metrics", model.get("metrics")) for row, model in enumerate(models)]
    base = read_values(f"{place}: full", raw["full"]) if raw.get("full") else found[0]
    lines = []
    for row, (model, values) in enumerate(zip(models, found, strict=True)):
        floor = read_values(f"{place}: models[{row}].noise_floor", model.get("noise_floor") or {})
        change = {metric: relative(value, base.get(metric)) for metric, value in values.items()}
        lines.append(Line(f"machine {model.get('name', row)}", change, floor))
    return lines


def listed(place: str, given: Any) -> list[dict[str, Any]]:
    """A list of tables with an entry at least."""
    if not isinstance(given, list) or not given or not all(isinstance(each, dict) for each in given):
        raise UserError(f"{place}: must be a list of objects, found {str(given)[:60]!r}")
    return given


def read_values(place: str, given: Any) -> Values:
    """Metrics with their numbers."""
    if not isinstance(given, dict):
        raise UserError(f"{place}: must hold a number for each metric, found {str(given)[:60]!r}")
    return {str(name): number(f"{place}.{name}", value) for name, value in given.items()}


def relative(value: float | None, base: float | None) -> float | None:
    """Relative difference from ``base``; None where it is undefined."""
    return None if value is None or not base else value / base - 1


def studies(found: Sequence[Study], base: Run) -> Markup:
    """The section of ``found``: a chart of the cycles and a table of all metrics for each.

    Raises ``UserError`` for a study of another trace or GPU than ``base``.
    """
    for each in found:
        expect_same(f"--study {each.name}", each.trace, each.gpu, base)
    return section(
        "Studies",
        *(
            tag(
                "div",
                sentences(each),
                tag("p", CHART, class_="note"),
                wide("Change of the cycles", chart(each)),
                table(each),
            )
            for each in found
        ),
        note=NOTE,
    )


def sentences(study: Study) -> Markup:
    """The change of the cycles by each of the first lines, in words."""
    moved = [(line, line.change.get(CHARTED)) for line in study.lines[:MOST_SENTENCES]]
    said = [f"{line.name}: {judged(change, line.floor.get(CHARTED))}." for line, change in moved if change is not None]
    return tag("ul", *(tag("li", words) for words in said), class_="answers")


def chart(study: Study) -> Markup:
    """Change of the cycles, a bar a line, around the band of the noise floor."""
    changes = [line.change.get(CHARTED) for line in study.lines]
    most = max((abs(change or 0.0) for change in changes), default=0.0) or 1.0
    drawn = [bar(row, line, most) for row, line in enumerate(study.lines)]
    height = ROW * len(study.lines)
    drawn.append(tag("path", d=f"M{MIDDLE:g} 0V{height:g}", class_="mark"))
    said = "; ".join(f"{line.name} {percents(change)}" for line, change in zip(study.lines, changes, strict=True))
    return figure(Markup("".join(drawn)), 2 * WIDTH, height, f"Change of the cycles, {study.name}: {said}")


def bar(row: int, line: Line, most: float) -> Markup:
    """One bar of the chart, of which ``most`` is the longest."""
    change, y = line.change.get(CHARTED), row * ROW
    signed, noise = (change or 0.0) / most * REACH, min(line.floor.get(CHARTED) or 0.0, most) / most * REACH
    tip = f"{line.name}: cycles {percents(change)}, noise floor {percents(line.floor.get(CHARTED))}"
    at, anchor = (MIDDLE + signed - 4, "end") if signed < 0 else (MIDDLE + signed + 4, "start")
    left = MIDDLE + min(signed, 0.0)
    return Markup("".join((
        label(NAMES - 6, y + 13, line.name[:LETTERS], "end"),
        tag("rect", x=MIDDLE - noise, y=y, width=2 * noise, height=ROW, class_="track", data_tip=tip),
        tag("rect", x=left, y=y + 3, width=abs(signed), height=ROW - 6, class_="bar", data_tip=tip),
        label(at, y + 13, percents(change), anchor),
    )))  # fmt: skip


def percents(change: float | None) -> str:
    """A relative change for a reader."""
    return "-" if change is None else f"{100 * change:+.2f} %"


def table(study: Study) -> Markup:
    """Every change in percent."""
    names = list(dict.fromkeys(metric for line in study.lines for metric in line.change))
    heads = [head_cell("change", False), *(head_cell(f"{name} %", True) for name in names)]
    rows = [
        tag("tr", cell(line.name, True), *(change_cell(line.change.get(name), line.floor.get(name)) for name in names))
        for line in study.lines
    ]
    caption = f"{study.name}: {study.trace} on {study.gpu}"
    made = tag("table", tag("caption", caption), tag("thead", tag("tr", *heads)), tag("tbody", *rows))
    return scrolled(made, caption)


def change_cell(change: float | None, floor: float | None) -> Markup:
    """A change in percent, with an arrow and a colour where it exceeds the noise floor."""
    if change is None:
        return cell(None, False)
    beyond = floor is not None and abs(change) > floor
    arrow = (" \u25b2" if change > 0 else " \u25bc") if beyond else ""
    class_ = f"number{' more' if change > 0 else ' less'}" if beyond else "number"
    tip = None if floor is None else f"noise floor {100 * floor:.2f} %"
    return tag("td", f"{100 * change:+.2f}{arrow}", class_=class_, data_value=repr(100 * change), data_tip=tip)
