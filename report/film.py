"""The page of an animation: cost over its frames, a film strip with what moved, the table of frames."""

import csv
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import LIST_BYTES
from rayplay.formats.guard.text import read_text
from rayplay.report import pictures
from rayplay.report.charts import WIDTH, figure, label
from rayplay.report.document import document
from rayplay.report.markup import Child, Markup, tag
from rayplay.report.tables import section, table, wide

TABLE, LARGEST = "frames.csv", 1e300
MOST_PICTURES, THUMB = 24, 200  # frames of the strip, spread evenly; their width in pixels
LEFT, HIGH, WIDEST = 90.0, 150.0, 80.0  # room of the axis, height of the chart, widest bar
NOTE = "Below each picture: how much brighter (red) or darker (blue) a pixel is than in the picture before."
Value = str | int | float | None


class Film(NamedTuple):
    """Frames of ``rayplay animate``: name of the folder, columns of its table, a row a frame, pictures by frame."""

    name: str
    columns: list[str]
    rows: list[list[Value]]
    pictures: dict[int, np.ndarray]  # linear radiance, float[height, width, 3]

    @property
    def cost(self) -> str:
        """The column that is charted: the time of a frame, or its rays where none was measured."""
        return "ms" if "ms" in self.columns else "rays"

    def column(self, name: str) -> list[float | None]:
        """A column of numbers; None where a frame has none."""
        place = self.columns.index(name)
        return [row[place] if isinstance(row[place], (int, float)) else None for row in self.rows]  # type: ignore[misc]


def read_film(folder: Path) -> Film:
    """Read what ``rayplay animate`` wrote; ``UserError`` for anything else."""
    text = read_text(folder / TABLE, "table of frames", LIST_BYTES)
    try:
        lines = list(csv.reader(StringIO(text)))
    except csv.Error as error:
        raise UserError(f"--animation {folder / TABLE}: must be CSV; {error}") from error
    if len(lines) < 2 or lines[0][:3] != ["frame", "trace", "rays"] or any(len(x) != len(lines[0]) for x in lines):
        raise UserError(f"--animation {folder / TABLE}: must be what rayplay animate wrote, with a line a frame")
    rows = [[number(folder, cell) if place != 1 else cell for place, cell in enumerate(line)] for line in lines[1:]]
    shown = sorted({round(at) for at in np.linspace(0, len(rows) - 1, min(len(rows), MOST_PICTURES)).tolist()})
    found = {at: picture for at in shown if (picture := image(folder / Path(str(rows[at][1])).name)) is not None}
    return Film(folder.name, lines[0], rows, found)


def number(folder: Path, cell: str) -> Value:
    """A number of the table, None where it is empty."""
    try:
        found = None if not cell else int(cell) if cell.lstrip("-").isdigit() else float(cell)
        if found is None or abs(found) < LARGEST:
            return found
    except ValueError:
        pass
    raise UserError(f"--animation {folder / TABLE}: must hold finite numbers, found {cell[:60]!r}")


def image(path: Path) -> np.ndarray | None:
    """The picture of a frame's trace, scaled to ``THUMB``; None without one."""
    trace = open_trace(path)
    if "image" not in trace.tables or not trace.rows("image"):
        return None
    columns = trace.read("image")
    channels = [pictures.grid(columns, name) for name in ("red", "green", "blue")]
    height, width = channels[0].shape
    size = (min(width, THUMB), max(1, round(height * min(width, THUMB) / width)))
    scaled = [np.asarray(Image.fromarray(c.astype(np.float32)).resize(size, Image.Resampling.BOX)) for c in channels]
    return np.stack(scaled, axis=-1)


def film_page(film: Film) -> str:
    """The HTML of one animation."""
    facts = [f"{len(film.rows)} frames", f"rayplay {version('rayplay')}"]
    header = tag("header", tag("h1", film.name), tag("ul", *(tag("li", fact) for fact in facts), class_="facts"))
    words = tag("div", tag("p", said(film), class_="verdict"), class_="said")
    drawn = section("Cost of each frame", wide("Cost of each frame", chart(film)))
    frames = section("Frames", table(film.columns, film.rows, "Frames", True))
    return document(f"{film.name}: {len(film.rows)} frames", header, words, drawn, strip(film), frames)


def said(film: Film) -> str:
    """The animation's cost in a sentence."""
    name = film.cost
    cost = film.column(name)
    known = [(value, at) for at, value in enumerate(cost) if value is not None]
    if not known:
        return "No frame has a cost."
    (least, first), (most, last), unit = min(known), max(known), "ms" if name == "ms" else "rays"
    mean = sum(value for value, _ in known) / len(known)
    return (
        f"A frame takes {mean:,.4g} {unit} in the mean; frame {last} takes most ({most:,.4g} {unit}),"
        f" frame {first} least ({least:,.4g})."
    )


def chart(film: Film) -> Markup:
    """Bars of the frames; estimates with their 95 % interval."""
    name = film.cost
    cost = film.column(name)
    low, high = (film.column(f"{name}_{end}") if f"{name}_{end}" in film.columns else [None] * len(cost)
                 for end in ("low", "high"))  # fmt: skip
    most = max((value for value in (*cost, *high) if value is not None), default=0.0) or 1.0
    step, drawn = min((2 * WIDTH - LEFT) / len(cost), WIDEST), []
    for at, value in enumerate(cost):
        if value is None:
            continue
        x, tall = LEFT + at * step, HIGH * value / most
        tip = f"frame {at}: {value:,.6g} {name}"
        first, last = low[at], high[at]
        has_interval = first is not None and last is not None
        tip += f", 95 % interval {first:,.6g} to {last:,.6g}" if has_interval else ""
        drawn.append(tag("rect", x=x + step * 0.1, y=HIGH - tall, width=step * 0.8, height=tall, class_="bar",
                         data_tip=tip))  # fmt: skip
        if first is not None and last is not None:
            middle, top, bottom = x + step / 2, HIGH * (1 - last / most), HIGH * (1 - first / most)
            drawn.append(tag("path", d=f"M{middle:.2f} {top:.2f}V{bottom:.2f}", class_="mark"))
    drawn += [label(LEFT - 6, 11, f"{most:,.4g} {name}", "end"), label(LEFT - 6, HIGH, "0", "end"),
              label(LEFT, HIGH + 14, "frame 0"),
              label(LEFT + step * len(cost), HIGH + 14, f"{len(cost) - 1}", "end")]  # fmt: skip
    return figure(Markup("".join(drawn)), 2 * WIDTH, HIGH + 18, f"Cost of each frame: {said(film)}")


def strip(film: Film) -> Markup | None:
    """The pictures in their order, each above its difference from the one before."""
    shown: list[Child] = []
    before: np.ndarray | None = None
    for at, picture in film.pictures.items():
        parts: list[Child] = [tag("img", src=pictures.photograph(picture), alt=f"Frame {at}", class_="picture")]
        words = f"frame {at}"
        if before is not None and before.shape == picture.shape:
            moved = brightness(picture) - brightness(before)
            share = float((moved != 0).mean())
            words += f", {100 * share:.0f} % of the pixels differ"
            parts.append(tag("img", src=pictures.diverging(moved), alt=f"Difference of {words}", class_="picture"))
        shown.append(tag("figure", *parts, tag("figcaption", words)))
        before = picture
    return section("Film strip", tag("div", *shown, class_="strip"), note=NOTE) if shown else None


def brightness(picture: np.ndarray) -> np.ndarray:
    """Brightness in 256 steps, int64[height, width]."""
    found: np.ndarray = np.round(255 * np.clip(np.nan_to_num(picture), 0, 1).mean(axis=2)).astype(np.int64)
    return found
