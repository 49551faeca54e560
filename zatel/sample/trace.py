"""Trace of the sampled CTAs, with the contents of the L2 before them.

A CTA without visits changes nothing in a replay, so rows of other CTAs are dropped and all ids stay. BVH records that
CTAs outside the sample fetch earlier must not miss: a host copy puts them into the L2.
"""

from pathlib import Path

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.edit.select import take
from rayplay.zatel.model.traffic import LINE_BYTES, SECTOR_BYTES

THINNED = ("visits", "accesses", "predicates", "rays")
LEFT_OUT = ("image", "copies")


def write_sample(trace: Trace, warps: np.ndarray, line: np.ndarray, sectors: np.ndarray, out: Path) -> None:
    """Write the rows of the ``warps``, bool[warps], and the lines that the L2 holds, to ``out``.

    line, sectors  int64[n], and uint8[n] with a bit for each sector, in the order in which they entered the L2.
    """
    given = {"name": trace.path.name, "provenance": trace.manifest.provenance}
    provenance = {"command": "zatel estimate", "input": given, "warps": int(warps.sum())}
    with TraceWriter(out, provenance, trace.image_size) as writer:
        for name in trace.tables:
            if name in LEFT_OUT:
                continue
            table = trace.layout.table(name)
            writer.declare(name)
            for batch in trace.batches(name):
                writer.put(name, take(table, batch, warps[batch["warp_id"]]) if name in THINNED else batch)
        if len(line):
            writer.put("copies", copies(line, sectors))


def copies(line: np.ndarray, sectors: np.ndarray) -> dict[str, np.ndarray]:
    """Rows of the table ``copies``, one for each run of adjacent sectors of a line."""
    held = (sectors[:, None] >> np.arange(LINE_BYTES // SECTOR_BYTES) & 1).astype(np.int8)
    row, first = np.nonzero(np.diff(held, axis=1, prepend=0) > 0)
    last = np.nonzero(np.diff(held, axis=1, append=0) < 0)[1]
    address = (line[row] * LINE_BYTES + first * SECTOR_BYTES).astype(np.uint64)
    length = ((last + 1 - first) * SECTOR_BYTES).astype(np.uint64)
    return {"kernel_id": np.zeros(len(address), np.uint32), "address": address, "bytes": length}
