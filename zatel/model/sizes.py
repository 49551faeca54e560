"""Sizes of the work of every warp, from small columns alone: a sample is drawn before addresses are decoded."""

from typing import NamedTuple

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.zatel.model.follow import inner
from rayplay.zatel.model.instructions import traces_rays
from rayplay.zatel.model.reading import add_at


class Sizes(NamedTuple):
    """Steps, BVH records and instructions of each warp, int64[warps], as in ``traffic.Stream``, which says what they
    are without rays."""

    steps: np.ndarray
    records: np.ndarray
    issued: np.ndarray


def read_sizes(trace: Trace) -> Sizes:
    """Read the sizes. Rows that break a law, whose error comes with their reading in full, are left out."""
    count = trace.rows("warps")
    sizes, length = Sizes(*np.zeros((3, count), np.int64)), trace.read("blocks", ["instruction_count"])
    instructions = length["instruction_count"].astype(np.int64)
    for rows in trace.batches("visits", ["warp_id", "block_id"]):
        add_lengths(rows["warp_id"], rows["block_id"], instructions, sizes.issued)
    for rows in trace.batches("accesses", ["warp_id"]) if "accesses" in trace.tables else ():
        add_at(rows["warp_id"], np.broadcast_to(np.int64(1), len(rows["warp_id"])), sizes.steps)
    if not traces_rays(trace):
        return Sizes(sizes.issued, sizes.steps, sizes.issued)
    call = np.array([-1, -1, 0], np.int64)
    for rows in trace.batches("rays", ["warp_id", "visit", "node"]):
        add_calls(rows["warp_id"], rows["visit"], rows["node_offset"].view(np.int64), sizes, call)
    return sizes


@inner
def add_lengths(warp: np.ndarray, block: np.ndarray, length: np.ndarray, issued: np.ndarray) -> None:
    """Add the instructions of visits; ``length``, int64[blocks]."""
    for row in range(warp.size):
        if warp[row] < issued.size and block[row] < length.size:
            issued[warp[row]] += length[block[row]]


@inner
def add_calls(warp: np.ndarray, visit: np.ndarray, offset: np.ndarray, sizes: Sizes, call: np.ndarray) -> None:
    """Add rays: their records, and as steps the records of the longest ray of each trace call.

    call  int64[3], warp and visit of the last ray, and steps of its call so far; goes from piece to piece.
    """
    for ray in range(warp.size):
        owner, length = np.int64(warp[ray]), offset[ray + 1] - offset[ray]
        if owner >= sizes.steps.size:
            continue
        if owner != call[0] or visit[ray] != call[1]:
            call[0], call[1], call[2] = owner, np.int64(visit[ray]), 0
        sizes.records[owner] += length
        sizes.steps[owner] += max(length - call[2], 0)
        call[2] = max(call[2], length)
