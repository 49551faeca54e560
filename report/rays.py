"""The rays' cost: BVH records by trace call of a thread, their histogram, and the costliest rays with their pixels."""

from typing import NamedTuple

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.replay.input.work import LANES
from rayplay.report.charts import spread
from rayplay.report.markup import Markup, tag
from rayplay.report.run import Run
from rayplay.report.tables import table

MOST_CALLS = 16  # of a thread; later ones share a row
COSTLIEST = 20
COLUMNS = ["warp_id", "lane", "segment", "kind", "primitive", "node"]
CALLS = (
    "trace call", "rays", "looking for any hit", "hits in %", "records per ray", "most records", "of all records in %",
)  # fmt: skip
NOTE = (
    "A thread's first trace call is its first row, mostly the ray from the camera. A ray's records include those after"
    " any-hit and intersection programs; a cost in cycles is known of pixels and warps."
)


class Rays(NamedTuple):
    """A row for each trace call of a thread: its number from 0, lane of the launch, records, any hit wanted, hit."""

    call: np.ndarray
    thread: np.ndarray
    records: np.ndarray
    early_out: np.ndarray
    hit: np.ndarray


def read_rays(trace: Trace) -> Rays:
    """Rays of a trace; the stretches after programs are joined to their call."""
    parts: list[Rays] = []
    calls = np.zeros(trace.rows("warps") * LANES, np.int64)  # until now, of each thread
    for rows in trace.batches("rays", COLUMNS):
        thread = rows["warp_id"].astype(np.int64) * LANES + rows["lane"]
        records = np.diff(rows["node_offset"].astype(np.int64))
        order = np.argsort(thread, kind="stable")
        first = np.ones(len(order), bool)
        first[1:] = thread[order[1:]] != thread[order[:-1]]
        is_call = (rows["segment"] == 0)[order]
        total = np.cumsum(is_call)
        start = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
        number = np.empty(len(order), np.int64)
        number[order] = total - total[start] + is_call[start] - 1 + calls[thread[order]]
        np.maximum.at(calls, thread, number + 1)
        parts.append(Rays(number, thread, records, rows["kind"] == 1, rows["primitive"] >= 0))
    return joined(Rays(*(np.concatenate(columns) for columns in zip(*parts, strict=True))))


def joined(rows: Rays) -> Rays:
    """Rows of one call as one: records summed, hit as at the end of the last."""
    most = int(rows.call.max(initial=0)) + 1
    key = rows.thread * most + rows.call
    order = np.argsort(key, kind="stable")
    begins = np.flatnonzero(np.append(True, key[order[1:]] != key[order[:-1]]))
    ends = np.append(begins[1:], len(order)) - 1
    records = np.add.reduceat(rows.records[order], begins) if len(order) else rows.records
    return Rays(rows.call[order[begins]], rows.thread[order[begins]], records, rows.early_out[order[begins]],
                rows.hit[order[ends]])  # fmt: skip


def rays_cost(run: Run) -> Markup | None:
    """All of it where the result has its trace, with rays; else the histogram of the pixels' means; else None."""
    trace = run.trace
    if trace is None or "rays" not in trace.tables or not trace.rows("rays"):
        return of_pixels(run)
    rays = read_rays(trace)
    return tag("div", spread(rays.records, "records of rays"), by_call(rays), costliest(rays, trace, run))


def of_pixels(run: Run) -> Markup | None:
    """Records per ray of each pixel, rounded."""
    rays, records = run.pixels("rays"), run.pixels("node_visits")
    if rays is None or records is None or not rays.any():
        return None
    some = rays > 0
    return spread(np.round(records[some] / rays[some]).astype(np.int64), "records per ray, mean of pixels")


def by_call(rays: Rays) -> Markup:
    """A row for each trace call of a thread."""
    call = np.minimum(rays.call, MOST_CALLS)
    count = np.bincount(call)
    records, hits, early = (np.bincount(call, weights) for weights in (rays.records, rays.hit, rays.early_out))
    most = np.zeros(len(count), np.int64)
    np.maximum.at(most, call, rays.records)
    total = max(float(records.sum()), 1.0)
    rows = [
        (f"{at + 1}" if at < MOST_CALLS else f"{at + 1} and later", int(count[at]), int(early[at]),
         round(100 * float(hits[at] / count[at]), 2), round(float(records[at] / count[at]), 3), int(most[at]),
         round(100 * float(records[at]) / total, 2))
        for at in np.flatnonzero(count).tolist()
    ]  # fmt: skip
    return table(CALLS, rows, "Rays by trace call of their thread")


def costliest(rays: Rays, trace: Trace, run: Run) -> Markup:
    """The rays with most records, and their pixels."""
    rows = np.argsort(-rays.records, kind="stable")[:COSTLIEST]
    pixels, cycles = pixels_of(trace, rays.thread[rows]), run.pixels()
    found: list[tuple[object, ...]] = []
    for row in rows.tolist():
        thread = int(rays.thread[row])
        x, y = pixels.get(thread, (None, None))
        spent = None
        if cycles is not None and x is not None and y is not None and y < cycles.shape[0] and x < cycles.shape[1]:
            spent = int(cycles[y, x])
        found.append((int(rays.records[row]), thread // LANES, thread % LANES, int(rays.call[row]) + 1, x, y, spent))
    heads = ("records", "warp", "lane", "trace call", "pixel x", "y", "cycles of the pixel")
    return table(heads, found, "Costliest rays")


def pixels_of(trace: Trace, threads: np.ndarray) -> dict[int, tuple[int, int]]:
    """Pixel of each of some threads of the launch; empty without an image launch."""
    if "threads" not in trace.tables:
        return {}
    found = trace.read("threads")
    thread = found["warp_id"].astype(np.int64) * LANES + found["lane"]
    mine = np.flatnonzero(np.isin(thread, threads))
    return {int(thread[at]): (int(found["pixel_x"][at]), int(found["pixel_y"][at])) for at in mine}
