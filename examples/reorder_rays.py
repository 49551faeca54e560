"""Reorder the rays of a trace between tracing and replay: like rays share warps.

    python examples/reorder_rays.py TRACE.trace --key two_point --out SORTED.trace

Sorting keys as in Meister, Boksansky, Guthe and Bittner, On ray reordering techniques for faster GPU ray tracing (I3D
2020). Each trace call of a launch, bounce by bounce, has its rays sorted by the key and dealt out again to the same
lanes of the same warps; every ray keeps its records. The programs run as before: sorting, and handing results back,
cost nothing here, so that the gain is the most that a sort in front of the RT unit can bring. Continuations of rays,
after any-hit and intersection programs, are sorted among themselves.
"""

import argparse
from pathlib import Path

import numpy as np

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.guard.command import run
from rayplay.formats.guard.errors import UserError
from rayplay.formats.laws.expect import valid_trace

Columns = dict[str, np.ndarray]
BITS = 10
PLACES = ("warp_id", "visit", "lane", "instruction_id", "segment")
"""Columns that stay with the lane; all others go with the ray."""
KEYS = {
    "origin": "cells of the origin along a space-filling (Morton) curve",
    "direction": "likewise of the direction",
    "origin_direction": "origin, rays of one cell by direction",
    "direction_origin": "octant of the direction, then origin",
    "two_point": "origin and end of the ray, their bits in turn",
    "random": "none: shuffled, the other end of the scale",
}


def cells(points: np.ndarray) -> np.ndarray:
    """int64[rays, 3]: the cell of each coordinate in the box of all, ``BITS`` bits."""
    low, high = points.min(axis=0), points.max(axis=0)
    scaled = (points - low) / np.where(high > low, high - low, 1) * (1 << BITS)
    return np.minimum(scaled.astype(np.int64), (1 << BITS) - 1)


def interleaved(*coordinates: np.ndarray) -> np.ndarray:
    """int64[rays]: the bits of some coordinates in turn, the highest first."""
    found = np.zeros(len(coordinates[0]), np.int64)
    for bit in reversed(range(BITS)):
        for each in coordinates:
            found = found << 1 | each >> bit & 1
    return found


def sorting_key(rays: Columns, name: str) -> np.ndarray:
    """The key of each ray."""
    origin = np.stack([rays[f"origin_{axis}"] for axis in "xyz"], axis=1).astype(np.float64)
    direction = np.stack([rays[f"direction_{axis}"] for axis in "xyz"], axis=1).astype(np.float64)
    length = np.linalg.norm(direction, axis=1, keepdims=True)
    direction /= np.where(length > 0, length, 1)
    start = cells(origin).T
    if name == "random":
        return np.random.default_rng(1).permutation(len(origin))
    if name == "origin":
        return interleaved(*start)
    if name == "direction":
        return interleaved(*cells(direction).T)
    if name == "origin_direction":
        return interleaved(*start) << 12 | interleaved(*(cells(direction).T >> BITS - 4)) & 0xFFF
    if name == "direction_origin":
        return (direction > 0) @ np.array([4, 2, 1]) << 3 * BITS | interleaved(*start)
    box = origin.max(axis=0) - origin.min(axis=0)
    reach = np.minimum(np.where(np.isfinite(rays["hit_t"]), rays["hit_t"] * length[:, 0], np.inf), np.linalg.norm(box))
    end = cells(origin + direction * reach[:, None]).T
    return interleaved(*start, *end)


def dealt(trace: Trace, rays: Columns, key: np.ndarray) -> np.ndarray:
    """For each row of ``rays`` the row whose ray it gets."""
    kernel = trace.read("warps", ["kernel_id"])["kernel_id"][rays["warp_id"]]
    begins = np.r_[True, (np.diff(rays["warp_id"]) != 0) | (np.diff(rays["visit"]) != 0)]
    call = np.cumsum(begins) - 1
    first_call = call[np.searchsorted(rays["warp_id"], rays["warp_id"])]
    groups = np.stack([kernel, rays["instruction_id"], rays["segment"], rays["kind"], call - first_call], axis=1)
    group = np.unique(groups, axis=0, return_inverse=True)[1].reshape(-1)
    found = np.empty(len(key), np.int64)
    found[np.lexsort((np.arange(len(key)), group))] = np.lexsort((key, group))
    return found


def moved(table: Columns, order: np.ndarray, stay: tuple[str, ...]) -> Columns:
    """A table with the rows of ``order``, but for the columns that stay."""
    found: Columns = {}
    for name, column in table.items():
        offset = table.get(f"{name}_offset")
        if offset is not None:
            first, lengths = offset[:-1].astype(np.int64)[order], np.diff(offset.astype(np.int64))[order]
            end = np.cumsum(lengths)
            found[name] = column[np.arange(end[-1] if len(end) else 0) + np.repeat(first - end + lengths, lengths)]
            found[f"{name}_offset"] = np.r_[0, end].astype(offset.dtype)
        elif not name.endswith("_offset"):
            found[name] = column if name in stay else column[order]
    return found


def reorder(trace: Trace, key: str, out: Path) -> int:
    """Write the trace with its rays sorted by a key; returns their number."""
    if "rays" not in trace.tables:
        raise UserError(f"{trace.path}: must have rays to reorder")
    rays = trace.read("rays")
    order = dealt(trace, rays, sorting_key(rays, key))
    provenance = {"command": "reorder_rays", "key": key, "trace": trace.manifest.provenance}
    with valid_trace(out) as unchecked, TraceWriter(unchecked, provenance, trace.image_size) as writer:
        for name in trace.tables:
            writer.declare(name)
            if name in ("rays", "distances", "culled"):
                writer.put(name, moved(trace.read(name), order, PLACES))
                continue
            for batch in trace.batches(name):
                writer.put(name, batch)
    return len(order)


def main() -> None:
    """Reorder a trace."""
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument("trace", type=Path)
    made.add_argument("--key", choices=KEYS, default="two_point", help="; ".join(f"{k}: {v}" for k, v in KEYS.items()))
    made.add_argument("--out", type=Path, required=True, metavar="NAME.trace", help="trace to write")
    given = made.parse_args()
    print(f"reordered {reorder(open_trace(given.trace), given.key, given.out):,} rays by {given.key}")


if __name__ == "__main__":
    run("reorder_rays", main)
