"""The second screen: memory, reads, rays, SMs, warps, kernels, program, configuration, counters."""

from collections.abc import Iterator

import numpy as np

from rayplay.replay.results.definitions import counter
from rayplay.report.charts import spread
from rayplay.report.cores import cores, slowest
from rayplay.report.energy import energy
from rayplay.report.markup import Markup, tag
from rayplay.report.memory import memory, memory_note
from rayplay.report.program import program_section
from rayplay.report.rays import NOTE as RAYS_NOTE
from rayplay.report.rays import rays_cost
from rayplay.report.run import Run, flat
from rayplay.report.tables import Section, section, table

MOST_ROWS = 2000  # of kernels
SLOWEST = 20
KINDS = {"undefined": "outside known records"}  # of reads; the others' names say it
SMS_NOTE = "The slowest SM is the one with live warps for the longest time. Shares are of the issue slots of the SM."


def sections(run: Run) -> Iterator[Section]:
    """Every part for which the result and the trace have the data."""
    if "counters" in run.result.tables and {"l1d", "l2", "dram"} <= set(run.counters):
        yield section("Memory", memory(run), note=memory_note(run))
        if run.counters.get("rt_unit", {}).get("reads"):
            yield section("Reads of the RT unit by kind of record", reads(run))
    if (rays := rays_cost(run)) is not None:
        yield section("BVH records per ray", rays, note=RAYS_NOTE if run.trace is not None else "")
    if (pixels := run.pixels()) is not None and pixels.any():
        yield section("Cycles per pixel", spread(pixels.ravel(), "cycles of pixels"))
    if run.explained:
        yield section("SMs", tag("p", slowest(run)), cores(run), note=SMS_NOTE)
    if (warps := slowest_warps(run)) is not None:
        yield section("Slowest warps", warps, note="A warp takes as long as the slowest of its pixels.")
    if (joules := energy(run)) is not None:
        yield joules
    yield from kernel_sections(run)
    if (lines := program_section(run)) is not None:
        yield section("Program", lines[0], note=lines[1])
    if run.gpu:
        yield section("Configuration", configuration(run))
    yield section("Metrics", metrics(run))
    if "counters" in run.result.tables:
        yield section("Counters", counters(run))


def reads(run: Run) -> Markup:
    """Chunks of 32 B that the RT units asked for."""
    of = run.counters["rt_unit"]
    found = {name.removeprefix("reads_"): count for name, count in of.items() if name.startswith("reads_") and count}
    total = sum(found.values())
    rows = [(KINDS.get(kind, kind), count, round(100 * count / total, 2)) for kind, count in found.items()]
    return table(("kind", "reads of 32 B", "share in %"), rows, "Reads by kind of record")


def slowest_warps(run: Run) -> Markup | None:
    """Warps of the trace by the cycles of their slowest pixel."""
    cycles = run.pixels()
    if run.trace is None or cycles is None or "threads" not in run.trace.tables:
        return None
    threads = run.trace.read("threads", ["warp_id", "pixel_x", "pixel_y"])
    inside = (threads["pixel_y"] < cycles.shape[0]) & (threads["pixel_x"] < cycles.shape[1])
    x, y, warp = (threads[name][inside] for name in ("pixel_x", "pixel_y", "warp_id"))
    if not len(warp):
        return None
    order = np.argsort(-cycles[y, x], kind="stable")
    _, first = np.unique(warp[order], return_index=True)
    rows = order[np.sort(first)[:SLOWEST]]
    found = [(int(warp[row]), int(cycles[y[row], x[row]]), int(x[row]), int(y[row])) for row in rows]
    return table(("warp", "cycles", "slowest pixel x", "y"), found, "Slowest warps")


def kernel_sections(run: Run) -> Iterator[Section]:
    """A row a launch; a row a stream where there are several."""
    names = ("kernel_id", "name", "stream", "start_cycle", "end_cycle", "warp_instructions")
    if "start_cycle" not in run.kernels:
        return
    columns = [run.kernels[name].tolist() for name in names]
    rows = [(*row, row[4] - row[3]) for row in zip(*columns, strict=True)]
    longest = sorted(sorted(rows, key=lambda row: -row[6])[:MOST_ROWS], key=lambda row: row[0])
    heads = ("launch", "name", "stream", "first cycle", "end", "warp instructions", "cycles")
    note = f"The longest {MOST_ROWS:,} of {len(rows):,}." if len(rows) > MOST_ROWS else ""
    yield section("Launches", table(heads, longest, "Launches", len(rows) > SLOWEST), note=note)
    streams = sorted({row[2] for row in rows})
    if len(streams) > 1:
        of = [[row for row in rows if row[2] == stream] for stream in streams]
        found = [
            (s, len(mine), sum(r[6] for r in mine), sum(r[5] for r in mine))
            for s, mine in zip(streams, of, strict=True)
        ]
        yield section(
            "Streams", table(("stream", "launches", "cycles of launches", "warp instructions"), found, "Streams")
        )


def configuration(run: Run) -> Markup:
    """Every value of the GPU, and the base's where it differs."""
    base = {key: value for key, _, value in run.changes}
    rows = [
        (key, plain(value), plain(base[key]) if key in base else "") for key, value in sorted(flat(run.gpu).items())
    ]
    return table(("key", "value", "base, where it differs"), rows, "Description of the GPU", True)


def plain(value: object) -> str:
    """A value of a description as its file has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def metrics(run: Run) -> Markup:
    """Every metric with its definition."""
    rows = [
        (name, e["value"], "" if e["unit"] == "1" else e["unit"], e["definition"]) for name, e in run.summary.items()
    ]
    return table(("metric", "value", "unit", "definition"), rows, "Metrics", True)


def counters(run: Run) -> Markup:
    """Every counter, summed over instances and launches, with its definition."""
    rows = []
    for unit, of in run.counters.items():
        for name, value in of.items():
            rows.append((f"{unit}.{name}", value, *defined(unit, name)))
    return table(("counter", "sum over all units", "unit", "definition"), rows, "Counters", True)


def defined(unit: str, name: str) -> tuple[str, str]:
    """Unit of a counter's value, and the event; empty for one of another version."""
    try:
        found = counter(unit, name)
    except KeyError:
        return "", ""
    return found.measure, found.definition
