"""Counting what a launch did from its block visits, as they are made: visits, lanes, and where control parted.

Two definitions of a divergent branch, both of jumps (``bra``, ``brx.idx``) that lanes can leave to more than one block:

per warp  an execution by a warp whose lanes go to more than one block. It is seen in the next visit of the warp: its
          lanes are then some, but not all, of the lanes that jumped (the first side runs, the others wait). nvprof
          counts so.
per CTA   HyPA III-B compares the lists of code blocks of all threads of a CTA. The n-th executions of a jump by the
          warps of a CTA are one branch; it is divergent when their threads do not all go on in the same block.
"""

from typing import NamedTuple

import numpy as np

from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.native.calls import borrowed
from rayplay.tracer.native.jit import entry_point, inlined

NO_JUMP, JUMP, CONDITIONAL_JUMP = 0, 1, 2
SIDE_UNSEEN, SIDE_END, SIDE_SEVERAL = -1, -2, -3  # else the block that the threads seen so far went to
FIRST_ROOM = 64

# int64 words of the progress
RUN, ROW, CTA, SITE_TO_GROW = range(4)
PROGRESS_WORDS = 4


class Counters(NamedTuple):
    """Counters per block of the launch; a site is a block that ends in a conditional jump."""

    visits: np.ndarray  # int64[blocks]
    lanes: np.ndarray  # int64[blocks]: visits by threads
    divergent: np.ndarray  # int64[blocks]: of its jump, per warp
    cta_branches: np.ndarray  # int64[blocks]: of its jump, per CTA
    cta_divergent: np.ndarray  # int64[blocks]
    jump: np.ndarray  # uint8[blocks]: NO_JUMP, JUMP, CONDITIONAL_JUMP
    site: np.ndarray  # int64[blocks], -1 for none
    # per warp of the running CTA
    last_mask: np.ndarray  # uint32[warps]: lanes of the latest visit, 0 unless that ended in a conditional jump
    last_block: np.ndarray  # int64[warps]
    times: np.ndarray  # int32[warps, sites]: executions so far
    waiting: np.ndarray  # int64[warps, 32, 3]: lanes that have jumped and were not seen since: site, execution, lanes
    waiting_count: np.ndarray  # int64[warps]
    # executions of the sites by the running CTA, site after site
    sides: np.ndarray  # int32[room of all sites]
    start: np.ndarray  # int64[sites]
    room: np.ndarray  # int64[sites]
    used: np.ndarray  # int64[sites]
    site_block: np.ndarray  # int64[sites]
    progress: np.ndarray  # int64[PROGRESS_WORDS]


@inlined
def _borrow(c: Counters) -> Counters:
    """All arrays without their owners (``borrowed``)."""
    return Counters(
        borrowed(c.visits), borrowed(c.lanes), borrowed(c.divergent), borrowed(c.cta_branches),
        borrowed(c.cta_divergent), borrowed(c.jump), borrowed(c.site), borrowed(c.last_mask), borrowed(c.last_block),
        borrowed(c.times), borrowed(c.waiting), borrowed(c.waiting_count), borrowed(c.sides), borrowed(c.start),
        borrowed(c.room), borrowed(c.used), borrowed(c.site_block), borrowed(c.progress),
    )  # fmt: skip


@inlined
def _bits(mask: np.uint32) -> int:
    mask -= (mask >> np.uint32(1)) & np.uint32(0x55555555)
    mask = (mask & np.uint32(0x33333333)) + ((mask >> np.uint32(2)) & np.uint32(0x33333333))
    mask = (mask + (mask >> np.uint32(4))) & np.uint32(0x0F0F0F0F)
    return int(((np.uint64(mask) * np.uint64(0x01010101)) >> np.uint64(24)) & np.uint64(0xFF))


@inlined
def _note_side(c: Counters, site: int, execution: int, block: int) -> None:
    """Threads of a warp that made this execution of a site's jump went to ``block``."""
    at = c.start[site] + execution
    seen = c.sides[at]
    if seen == SIDE_UNSEEN:
        c.sides[at] = block
        c.used[site] = max(c.used[site], execution + 1)
    elif seen != block and seen != SIDE_SEVERAL:
        c.sides[at] = SIDE_SEVERAL
        c.cta_divergent[c.site_block[site]] += 1


@inlined
def _arrive(c: Counters, warp: int, block: int, mask: np.uint32) -> None:
    """The lanes of ``mask`` are seen in ``block``: lanes that waited have gone there."""
    kept = 0
    for index in range(c.waiting_count[warp]):
        group = c.waiting[warp, index]
        lanes = np.uint32(group[2])
        if lanes & mask:
            _note_side(c, group[0], group[1], block)
            lanes &= ~mask
        if lanes:
            c.waiting[warp, kept, 0], c.waiting[warp, kept, 1] = group[0], group[1]
            c.waiting[warp, kept, 2] = lanes
            kept += 1
    c.waiting_count[warp] = kept


@inlined
def _jump(c: Counters, warp: int, site: int, mask: np.uint32) -> bool:
    """The lanes of ``mask`` execute a conditional jump; False when the table of sides has no room for it."""
    execution = np.int64(c.times[warp, site])
    if execution >= c.room[site]:
        return False
    c.times[warp, site] = execution + 1
    group = c.waiting[warp, c.waiting_count[warp]]
    group[0], group[1], group[2] = site, execution, mask
    c.waiting_count[warp] += 1
    return True


@entry_point
def end_cta(c: Counters) -> None:
    """The threads of the running CTA have ended; lanes that still wait have left the program."""
    for warp in range(c.waiting_count.shape[0]):
        for index in range(c.waiting_count[warp]):
            group = c.waiting[warp, index]
            _note_side(c, group[0], group[1], SIDE_END)
        c.waiting_count[warp] = 0
        c.last_mask[warp] = 0
    for site in range(c.used.shape[0]):
        c.cta_branches[c.site_block[site]] += c.used[site]
        c.sides[c.start[site] : c.start[site] + c.used[site]] = SIDE_UNSEEN
        c.used[site] = 0
    c.times[:] = 0


@entry_point
def count_visits(c: Counters, warp_id: np.ndarray, end: np.ndarray, visits: np.ndarray, warps: int) -> bool:
    """Count the visits of ``VisitSink.put_visits``; ``warps``: per CTA; CTAs come one after another.

    False: the table of sides must grow at site ``progress[SITE_TO_GROW]``, then call again to go on.
    """
    c = _borrow(c)
    warp_id, end, visits = borrowed(warp_id), borrowed(end), borrowed(visits)
    while c.progress[RUN] < warp_id.shape[0]:
        run = c.progress[RUN]
        cta, warp = warp_id[run] // warps, warp_id[run] % warps
        if cta != c.progress[CTA]:
            end_cta(c)
            c.progress[CTA] = cta
        while c.progress[ROW] < end[run]:
            row = c.progress[ROW]
            block, mask = np.int64(visits[row, 0]), visits[row, 1]
            if c.waiting_count[warp]:
                _arrive(c, warp, block, mask)
            if c.jump[block] == CONDITIONAL_JUMP and not _jump(c, warp, c.site[block], mask):
                c.progress[SITE_TO_GROW] = c.site[block]
                return False
            c.visits[block] += 1
            c.lanes[block] += _bits(mask)
            before = c.last_mask[warp]
            if before:
                if mask != before and mask & ~before == 0:
                    c.divergent[c.last_block[warp]] += 1
                c.last_mask[warp] = 0
            if c.jump[block] == CONDITIONAL_JUMP:
                c.last_mask[warp], c.last_block[warp] = mask, block
            c.progress[ROW] = row + 1
        c.progress[RUN] = run + 1
    return True


def make_counters(jump: np.ndarray, warps: int) -> Counters:
    """Counters of a launch at 0. jump: uint8[blocks]; warps: warps of a CTA."""
    blocks = len(jump)
    site_block = np.flatnonzero(jump == CONDITIONAL_JUMP)
    sites = len(site_block)
    site = np.full(blocks, -1, np.int64)
    site[site_block] = np.arange(sites)
    return Counters(
        visits=np.zeros(blocks, np.int64),
        lanes=np.zeros(blocks, np.int64),
        divergent=np.zeros(blocks, np.int64),
        cta_branches=np.zeros(blocks, np.int64),
        cta_divergent=np.zeros(blocks, np.int64),
        jump=jump.astype(np.uint8),
        site=site,
        last_mask=np.zeros(warps, np.uint32),
        last_block=np.zeros(warps, np.int64),
        times=np.zeros((warps, sites), np.int32),
        waiting=np.zeros((warps, LANES + 1, 3), np.int64),
        waiting_count=np.zeros(warps, np.int64),
        sides=np.full(sites * FIRST_ROOM, SIDE_UNSEEN, np.int32),
        start=np.arange(sites, dtype=np.int64) * FIRST_ROOM,
        room=np.full(sites, FIRST_ROOM, np.int64),
        used=np.zeros(sites, np.int64),
        site_block=site_block.astype(np.int64),
        progress=np.array([0, 0, 0, 0], np.int64),
    )


def grown(c: Counters, site: int) -> Counters:
    """The same counters with twice the room for the executions of a site."""
    room = c.room.copy()
    room[site] *= 2
    start = np.concatenate(([0], np.cumsum(room)[:-1])).astype(np.int64)
    sides = np.full(int(room.sum()), SIDE_UNSEEN, np.int32)
    for each in range(len(room)):
        old = c.sides[c.start[each] : c.start[each] + c.used[each]]
        sides[start[each] : start[each] + c.used[each]] = old
    return c._replace(sides=sides, start=start, room=room)
