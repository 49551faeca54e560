"""The second screen: memory, reads, rays, warps, kernels, program, configuration, counters."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from rayplay.replay.results.bottlenecks import accesses
from rayplay.replay.results.definitions import counter
from rayplay.replay.verdict import percent
from rayplay.report.charts import histogram, memory_chart
from rayplay.report.energy import energy
from rayplay.report.markup import Markup, tag
from rayplay.report.run import Run, flat
from rayplay.report.tables import section, table, wide

SECTOR_BYTES = 32
MOST_ROWS = 2000  # of kernels; of source lines
SLOWEST = 20
RANGES = 12  # bars of a histogram


def sections(run: Run) -> Iterator[Markup]:
    """Every part for which the result and the trace have the data."""
    if "counters" in run.result.tables and {"l1d", "l2", "dram"} <= set(run.counters):
        yield section("Memory", wide("Memory", memory(run)))
        if run.counters.get("rt_unit", {}).get("reads"):
            yield section("Reads of the RT unit by kind of record", reads(run))
    if (rays := records_per_ray(run)) is not None:
        yield section("BVH records per ray", rays)
    if (pixels := run.pixels()) is not None and pixels.any():
        yield section("Cycles per pixel", spread(pixels.ravel(), "cycles of pixels"))
    if (warps := slowest_warps(run)) is not None:
        yield section("Slowest warps", warps, note="A warp takes as long as the slowest of its pixels.")
    if (joules := energy(run)) is not None:
        yield joules
    yield from kernel_sections(run)
    if (lines := program_lines(run)) is not None:
        yield section("Program", lines, note=PROGRAM_NOTE)
    if run.gpu:
        yield section("Configuration", configuration(run))
    yield section("Metrics", metrics(run))
    if "counters" in run.result.tables:
        yield section("Counters", counters(run))


def memory(run: Run) -> Markup:
    """SMs, L1, L2 and DRAM, with bytes and hit rates on the edges."""
    found = run.counters
    of = {unit: {name: np.array([events]) for name, events in found[unit].items()} for unit in ("l1d", "l2")}
    l1, l2 = (accesses(of[unit]) * SECTOR_BYTES for unit in ("l1d", "l2"))
    missed = ((l1, run.value("l1d_miss_rate")), (l2, run.value("l2_miss_rate")))
    lines = [f"{percent(1 - rate)} hits" if moved else "no accesses" for moved, rate in missed]
    sms = f"{len(run.slots[0])} SMs" if run.explained else "SMs"
    used = percent(run.value("bandwidth_utilisation")) + " in use"
    boxes = [(sms, "LSU and RT units"), ("L1", lines[0]), ("L2", lines[1]), ("DRAM", used)]
    return memory_chart(boxes, [sized(l1), sized(l2), sized(run.value("dram_bytes"))])


def sized(count: float) -> str:
    """Bytes for a reader."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count /= 1000
    return f"{count:,.0f} {unit}" if unit == "B" else f"{count:,.1f} {unit}"


def reads(run: Run) -> Markup:
    """Chunks of 32 B that the RT units asked for."""
    of = run.counters["rt_unit"]
    found = {name.removeprefix("reads_"): count for name, count in of.items() if name.startswith("reads_") and count}
    total = sum(found.values())
    rows = [(kind, count, round(100 * count / total, 2)) for kind, count in found.items()]
    return table(("kind", "reads of 32 B", "share in %"), rows, "Reads by kind of record")


def records_per_ray(run: Run) -> Markup | None:
    """Histogram over the trace's rays; of the pixels' means where there is no trace."""
    if run.trace is not None and "rays" in run.trace.tables and run.trace.rows("rays"):
        lengths = [np.diff(part["node_offset"].astype(np.int64)) for part in run.trace.batches("rays", ["node"])]
        return spread(np.concatenate(lengths), "records of rays")
    rays, records = run.pixels("rays"), run.pixels("node_visits")
    if rays is None or records is None or not rays.any():
        return None
    some = rays > 0
    return spread(np.round(records[some] / rays[some]).astype(np.int64), "records per ray, mean of pixels")


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


def kernel_sections(run: Run) -> Iterator[Markup]:
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


PROGRAM_NOTE = (
    "Executions are the trace's, of warps. Stall cycles are executions x the stall that the characterisation gives the"
    " instruction; waits for memory and rays are no part of it."
)


def program_lines(run: Run) -> Markup | None:
    """Instructions of the trace by executions, the most executed first."""
    if run.trace is None:
        return None
    blocks = run.trace.read("blocks", ["block_id", "first_instruction", "instruction_count", "program"])
    visits = np.zeros(len(blocks["block_id"]), np.int64)
    for part in run.trace.batches("visits", ["block_id"]):
        visits += np.bincount(part["block_id"], minlength=len(visits))
    text = run.trace.read("instructions", ["instruction_id", "line", "text"])
    executed = np.repeat(visits, blocks["instruction_count"])
    program = np.repeat(blocks["program"], blocks["instruction_count"])
    stall = np.zeros(len(executed), np.int64)
    if "characterisation" in run.trace.tables and run.trace.rows("characterisation") == len(stall):
        stall = executed * run.trace.read("characterisation", ["stall_cycles"])["stall_cycles"].astype(np.int64)
    order = np.argsort(-np.maximum(executed, stall), kind="stable")[:MOST_ROWS]
    rows = [
        (int(text["line"][at]), text["text"][at], program[at], int(executed[at]), int(stall[at]))
        for at in np.sort(order) if executed[at]
    ]  # fmt: skip
    return table(("line", "instruction", "program", "executions", "stall cycles"), rows, "Instructions", True)


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
