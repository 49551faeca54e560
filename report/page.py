"""The page: header, verdict, six numbers, charts and pictures on the first screen, detail on the second."""

from collections.abc import Callable, Sequence
from importlib.metadata import version

import numpy as np

from rayplay.formats.guard.digest import file_digest
from rayplay.formats.look.compare import difference
from rayplay.replay.results.bottlenecks import UTILISATION
from rayplay.replay.verdict import Figure, shown, six
from rayplay.report import charts, pictures
from rayplay.report.comparison import comparison, differences, noise_floor
from rayplay.report.cores import slowest
from rayplay.report.detail import sections
from rayplay.report.document import document, of_run, switch
from rayplay.report.forecast import Forecast, forecasts
from rayplay.report.markup import Child, Markup, tag
from rayplay.report.run import Run, moved_key
from rayplay.report.study import Study, studies
from rayplay.report.tables import Section, contents, wide

SLOTS = "Where the issue slots went (each SM: of its own slots)"
UNITS = "Units: share of the capacity in use (* of the cycles, with a warp inside)"
MOST_MARKS = 60  # launches that the timeline marks, the longest
MOST_CHANGES = 6  # of the GPU that the header names
DIGITS = 12  # of a digest in the header; hovering shows all


def page(
    runs: Sequence[Run], trifles: Sequence[Run] = (), predicted: Sequence[Forecast] = (),
    studied: Sequence[Study] = (), progress: Callable[[], object] = lambda: None,
) -> str:  # fmt: skip
    """The HTML of results; the first is the base of the others.

    trifles    replays of the base with a trifle changed, whose differences are the noise floor.
    predicted  predictions and estimates of the base.
    studied    what-if and scale studies of the base.
    progress   called after each part.
    """
    firsts, details = list[Markup](), list[Markup]()
    for number, run in enumerate(runs):
        parts = list[Section]()
        for part in sections(run):
            parts.append(part)
            progress()
        anchors = [(f"part-{number}-{place}", part.heading) for place, part in enumerate(parts)]
        firsts.append(of_run(number, first_screen(run, runs[0], contents(anchors)), "first"))
        anchored = [tag("div", part, id=name) for (name, _), part in zip(anchors, parts, strict=True)]
        details.append(of_run(number, list[Child](anchored), "detail"))
    floor = noise_floor(runs[0], trifles)
    compared = comparison(runs, floor) if len(runs) > 1 else None
    guessed = forecasts(predicted, runs[0], floor) if predicted else None
    changed_ones = studies(studied, runs[0]) if studied else None
    title, names = f"{runs[0].name}: {runs[0].cycles:,} cycles", [run.name for run in runs]
    beside = (compared, guessed, changed_ones)
    top = differences(runs, floor) if len(runs) > 1 else None
    return document(title, top, switch(names), *firsts, *beside, *details)


def first_screen(run: Run, base: Run, links: Markup) -> list[Child]:
    """The first screen of a run. links: to the parts of the second."""
    return [header(run), links, said(run), numbers(run, base if base is not run else None), screen(run)]


def header(run: Run) -> Markup:
    """Scene, program, pixels, GPU and its changes, digests, versions, seconds."""
    made = run.trace.manifest.provenance if run.trace is not None else {}
    pixels = run.pixels()
    facts: list[Child] = [("trace ", run.result.manifest.provenance.get("trace", "unknown"))]
    facts += [(f"{name} ", made[name]) for name in ("scene", "program") if isinstance(made.get(name), str)]
    if pixels is not None:
        facts.append(f"{pixels.shape[1]} x {pixels.shape[0]} pixels")
    facts.append((tag("b", run.gpu.get("name", "unknown GPU")), changed(run)))
    if run.result.manifest.provenance.get("model", "default") != "default":
        facts.append(("model ", run.result.manifest.provenance["model"]))
    facts += [digest("result", run.digest)] if run.digest else []
    if run.trace is not None and (manifest := run.trace.path / "manifest.json").is_file():
        facts.append(digest("trace", file_digest(manifest)))
    facts.append(f"rayplay {version('rayplay')}")
    seconds = run.result.host.get("replay_wall_seconds")
    facts += [f"replayed in {seconds:.2f} s"] if seconds is not None else []
    return tag("header", tag("h1", run.name), tag("ul", *(tag("li", fact) for fact in facts), class_="facts"))


def changed(run: Run) -> str:
    """Keys of the GPU that differ from the one of its name."""
    shown_ones = [moved_key(key, base, value) for key, value, base in run.changes[:MOST_CHANGES]]
    more = [f"{len(run.changes) - MOST_CHANGES} more"] if len(run.changes) > MOST_CHANGES else []
    return f" with {', '.join([*shown_ones, *more])}" if run.changes else ""


def digest(name: str, found: str) -> Markup:
    """A digest's first digits."""
    return tag("span", f"{name} {found[:DIGITS]}", data_tip=f"SHA-256 of the {name}'s manifest: {found}")


def said(run: Run) -> Markup:
    """The verdict, and what to know before believing it."""
    warned = [tag("p", "Note: ", words, class_="warning") for words in run.warnings]
    queue = tag("p", run.queue) if run.queue else None
    return tag("div", tag("p", run.verdict, class_="verdict"), queue, *warned, class_="said")


def numbers(run: Run, base: Run | None) -> Markup:
    """The six numbers, with the difference from the base."""
    before = {figure.name: figure for figure in six(base.summary)} if base is not None else {}
    return tag("dl", *(number(figure, before.get(figure.name)) for figure in six(run.summary)), class_="six")


def number(figure: Figure, before: Figure | None) -> Markup:
    """One number; its definition on hover."""
    exact = None if figure.value is None else repr(figure.value)
    value, _, unit = shown(figure).partition(" ")
    change = difference(figure.value, before.value, figure.unit) if before is not None else ""
    bold = tag("b", value, data_metric=figure.name, data_value=exact)
    return tag(
        "div", tag("dt", figure.label), tag("dd", bold, " ", unit),
        tag("dd", change, " of the base", class_="delta") if change else None, data_tip=figure.definition, tabindex=0,
    )  # fmt: skip


def screen(run: Run) -> Markup:
    """Cycle stack and utilisation, the pictures beside them, and the timeline below."""
    left: list[Child] = []
    if run.explained:
        meaning = {unit: words for unit, (_, words) in UTILISATION.items()}
        left = [
            tag("h2", SLOTS), charts.cycle_stack(*run.slots), charts.legend(),
            tag("p", slowest(run), class_="note"),
            tag("h2", UNITS), charts.utilisation(run.units, meaning),
        ]  # fmt: skip
    looks = images(run)
    upper = tag("div", tag("div", *left), tag("div", looks) if looks else None, class_="upper")
    return tag("div", upper, over_time(run))


def over_time(run: Run) -> Markup | None:
    """The timeline, with the longest launches marked."""
    if run.timeline is None:
        return None
    starts, ends = run.kernels["start_cycle"], run.kernels["end_cycle"]
    longest = np.sort(np.argsort(starts - ends, kind="stable")[:MOST_MARKS])
    launches = [(int(starts[row]), str(run.kernels["name"][row])) for row in longest]
    return tag("div", tag("h2", "Over time: issue slots, and the use of each unit (dark 0, bright 100 %)"),
               wide("Timeline", charts.timeline(run.timeline, launches)))  # fmt: skip


def images(run: Run) -> Markup | None:
    """The rendered picture beside cycles per pixel."""
    cycles = run.pixels()
    if cycles is None:
        return None
    most = float(np.quantile(cycles, 0.995)) if cycles.any() else 0.0
    words = f"least {int(cycles.min()):,}, mean {float(cycles.mean()):,.0f}, most {int(cycles.max()):,} cycles"
    rows = [heatmap(cycles, most, f"Cycles per pixel: {words}")]
    names = [f"cycles per pixel, {words}"]
    if run.trace is not None and "image" in run.trace.tables and run.trace.rows("image"):
        columns = run.trace.read("image")
        radiance = np.stack([pictures.grid(columns, name) for name in ("red", "green", "blue")], axis=-1)
        rows.insert(0, tag("img", src=pictures.photograph(radiance), alt="The rendered picture", class_="picture"))
        names.insert(0, "rendered picture")
    shown_ones = [tag("figure", row, tag("figcaption", name)) for row, name in zip(rows, names, strict=True)]
    scale = tag("div", tag("span", "0"), tag("i"), tag("span", f"{most:,.0f} cycles and more"), class_="scale")
    return tag("div", tag("h2", "Pixels"), tag("div", *shown_ones, class_="pair"), scale)


def heatmap(cycles: np.ndarray, most: float, words: str) -> Markup:
    """Cycles per pixel, whose values the script reads from a second picture."""
    return tag("img", src=pictures.heat(cycles, most), alt=words, class_="picture values", tabindex=0,
               data_values=pictures.values(cycles), data_unit="cycles")  # fmt: skip
