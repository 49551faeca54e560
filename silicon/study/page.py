"""Files of ``make correlate``: one CSV with every row, plots, verdicts, and the page that holds them together."""

import csv
import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rayplay.formats.place.publish import atomic_file
from rayplay.silicon.correlate import CHECK, Errors
from rayplay.silicon.study import plot, tables
from rayplay.silicon.study.rays import RATIO
from rayplay.silicon.study.rays import UNIT as PATHS
from rayplay.silicon.study.results import BANDWIDTH, COLUMNS, LATENCY, THROUGHPUT, TIME, Compared
from rayplay.silicon.study.verdicts import Verdict, groups, verdicts

NAMES = {LATENCY: "latencies", BANDWIDTH: "bandwidths", TIME: "kernel-times", THROUGHPUT: "ray-ratios"}
WORST = 0.2  # rows beyond are named on the page
MORE_THAN_ONE = 2


def write(rows: Sequence[Compared], out: Path, command: str) -> list[Verdict]:
    """Write rows.csv, verdicts.json, plots and README.md into ``out``; returns the verdicts."""
    out.mkdir(parents=True, exist_ok=True)
    found = verdicts(rows)
    with atomic_file(out / "rows.csv") as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row.record() for row in rows)
    with atomic_file(out / "verdicts.json") as partial:
        partial.write_text(json.dumps([each.record() for each in found], indent=1) + "\n")
    pictures = list(write_plots(rows, out / "plots"))
    with atomic_file(out / "README.md") as partial:
        partial.write_text("\n".join(lines(rows, found, pictures, command)) + "\n", encoding="utf-8")
    return found


def write_plots(rows: Sequence[Compared], folder: Path) -> Iterator[tuple[str, str]]:
    """Plots of each kind, all cards and each card of more than two points; yields file and title."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for kind, name in NAMES.items():
        mine = [row for row in rows if row.kind == kind and row.modelled and plotted(row)]
        for card in ("", *sorted({row.description for row in mine})):
            shown = [row for row in mine if card in ("", row.description)]
            if len(shown) > (0 if not card else MORE_THAN_ONE):
                title = f"{name.replace('-', ' ')}, {card or 'all cards'}"
                file = f"{name}/{card.removeprefix('card-') or 'all'}.svg"
                units = sorted({row.unit for row in shown})
                (folder / name).mkdir(exist_ok=True)
                (folder / file).write_text(plot.scatter(shown, title, units[0] if len(units) == 1 else "each its unit"))
                yield f"plots/{file}", title


def plotted(row: Compared) -> bool:
    """Of rays the ratios."""
    return row.kind != THROUGHPUT or row.unit == RATIO


def lines(
    rows: Sequence[Compared], found: Sequence[Verdict], pictures: Sequence[tuple[str, str]], command: str
) -> Iterator[str]:
    """The page."""
    compared = [row for row in rows if row.modelled is not None]
    yield "# Descriptions of cards against measurements\n"
    yield f"Written by `{command}`; [how it is done](../hardware.md#the-study). [rows.csv](rows.csv) has every row, "
    yield f"{len(rows)}, of which {len(compared)} are compared; the others say why not.\n"
    yield "## Verdicts\n"
    yield from table("what|figure|asked|reached|rows|holds", map(verdict_cells, found))
    yield "\n## Errors\n"
    yield "Rows that may set values of a description (calibration) and rows that only judge it (check) are split in "
    yield "[silicon/split.toml](../../silicon/split.toml). Weighted: sum of the errors by sum of the measured values. "
    yield "RPD: mean of 2 |s - h| / (s + h). Correlation: of logarithms.\n"
    yield from table(
        "card|kind|rows for|compared|median|mean|worst|weighted|RPD|correlation", map(group_cells, groups(rows))
    )
    yield "\n## Plots\n"
    yield "The line is equality, the band 20 %; circles are check rows, squares calibration rows.\n"
    yield "\n".join(f"![{title}]({file})" for file, title in pictures if title.endswith("all cards"))
    yield "\nA card each: " + ", ".join(f"[{t}]({file})" for file, t in pictures if not t.endswith("all cards")) + "."
    yield f"\n## Rows more than {WORST:.0%} off\n"
    beyond = [row for row in compared if row.error is not None and abs(row.error) > WORST]
    yield from table("card|what|unit|measured|modelled|error|reason|source", map(row_cells, beyond))
    yield "\n## Mechanisms\n"
    yield "What explains those rows, by [silicon/study/reasons.toml](../../silicon/study/reasons.toml).\n"
    yield from table("mechanism|rows|largest error", mechanisms(beyond))
    yield "\n## Not compared\n"
    reasons = [(row.kind, row.reason) for row in rows if row.modelled is None]
    counted = sorted({each: reasons.count(each) for each in reasons}.items())
    yield from table("kind|reason|rows", ([kind, reason, str(count)] for (kind, reason), count in counted))
    yield "\n## Described cards\n"
    yield from table(
        "description|measured cards|check rows|calibration rows",
        ([name, ", ".join(cards), *split_counts(rows, name)] for name, cards in tables.descriptions().items()),
    )


def mechanisms(beyond: Sequence[Compared]) -> Iterator[list[str]]:
    """Rows that are far off by the mechanism that explains them, the most frequent first."""
    found: dict[str, list[float]] = {}
    for row in beyond:
        named = (each.mechanism for each in tables.reasons() if each.fits(row.card, row.what, row.source))
        found.setdefault(next(named, "not a figure" if row.unit == PATHS else "not known"), []).append(row.error or 0.0)
    for name, errors in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        yield [name, str(len(errors)), f"{max(errors, key=abs):+.0%}"]


def split_counts(rows: Sequence[Compared], name: str) -> list[str]:
    """Compared rows of a description, to check and to calibrate."""
    mine = [row.use == CHECK for row in rows if row.description == name and row.modelled is not None]
    return [str(sum(mine)), str(len(mine) - sum(mine))]


def verdict_cells(each: Verdict) -> list[str]:
    """A row of the verdicts."""
    shown = "{:.2f}" if each.least else "{:.0%}"
    holds = "no rows" if each.reached is None else "yes" if each.holds else "**no**"
    reached = "-" if each.reached is None else f"{each.reached:.3f}" if each.least else f"{each.reached:.1%}"
    return [
        each.what,
        each.figure,
        shown.format(each.asked),
        reached,
        str(each.rows),
        holds,
    ]


def group_cells(group: tuple[str, str, str, int, Errors | None]) -> list[str]:
    """A row of the errors."""
    name, kind, use, count, errors = group
    if errors is None:
        return [name, kind, use, f"0 of {count}", *["-"] * 6]
    shares = (errors.median, errors.mean, errors.worst, errors.weighted, errors.rpd)
    correlation = "-" if errors.log_correlation != errors.log_correlation else f"{errors.log_correlation:.3f}"
    return [name, kind, use, f"{errors.rows} of {count}", *(f"{share:.1%}" for share in shares), correlation]


def row_cells(row: Compared) -> list[str]:
    """A row that is far off."""
    return [row.card, row.what, row.unit, f"{row.measured:,.4g}", f"{row.modelled:,.4g}", f"{row.error:+.0%}",
            row.reason or "not known", row.source]  # fmt: skip


def table(head: str, rows: Iterable[list[str]]) -> Iterator[str]:
    """A Markdown table."""
    yield f"| {head.replace('|', ' | ')} |"
    yield "|" + "---|" * (head.count("|") + 1)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
