"""Compiled walk over rays and accesses: the lines that each warp requests, step by step."""

from typing import NamedTuple

import numpy as np

from rayplay.replay.geometry import BASELINE_DATA, BASELINE_ROW
from rayplay.zatel.model.accesses import FULL_SHIFT, LOCAL_LINES, WRITE, Accesses
from rayplay.zatel.model.follow import followed, inner, is_followed, loop

HIT_LINES = 1 << 40  # hits have lines from here on
TABLE_LINES = 1 << 41  # and intersection tables from here on; ``traffic.in_order`` adds the slot's table
NODE_BITS = np.uint32(0x7FFFFFFF)
UNSEEN, FOLLOWED = 1, 2  # bits of ``Nodes.look``
ROW_LINES = BASELINE_ROW // 128  # of an intersection table
WHOLE_STORE = WRITE | 1 << FULL_SHIFT | 1  # of one sector


class Rays(NamedTuple):
    """Columns of ``rays``: warp, visit, lane and offset as int64, node as uint32."""

    warp: np.ndarray
    visit: np.ndarray
    lane: np.ndarray
    offset: np.ndarray
    node: np.ndarray


class Nodes(NamedTuple):
    """BVH records: line, sectors of the line (a bit each), first warp to fetch the record or -1.

    procedural  bool[nodes], procedural primitives; empty without any.
    look        uint8[nodes], what the next fetch of a record must do, from ``looks``: mostly nothing.
    """

    line: np.ndarray
    sectors: np.ndarray
    first: np.ndarray
    procedural: np.ndarray
    look: np.ndarray


class Requested(NamedTuple):
    """Rows of requests: step of its warp, line, sectors (as in ``Stream``); and the number of rows of each warp."""

    step: np.ndarray
    line: np.ndarray
    sectors: np.ndarray
    owned: np.ndarray


def looks(line: np.ndarray, first: np.ndarray, shift: int) -> np.ndarray:
    """Bits of each record, uint8[nodes]: no warp fetched it before; set sampling follows its line."""
    return np.asarray((first < 0) * np.uint8(UNSEEN) | followed(line, shift) * np.uint8(FOLLOWED), np.uint8)


@inner
def ask(line: int, sectors: int, step: int, start: int, rows: int, out: Requested) -> int:
    """Add a request to the step whose rows begin at ``start``; a step requests a line once."""
    for row in range(start, rows):
        if out.line[row] == line:
            out.sectors[row] |= sectors
            return rows
    out.line[rows], out.sectors[rows], out.step[rows] = line, sectors, step
    return rows + 1


@inner
def walk(rays: Rays, accesses: Accesses, nodes: Nodes, base: int, shift: int, steps: np.ndarray, out: Requested) -> int:
    """Walk the memory requests of some warps step by step; return the rows written to ``out``.

    An access is a step. So is a record of a trace call, whose lanes advance record by record in lockstep. A hit also
    stores to a private line of its own; ``base`` records came before these. Set sampling writes one of 2^``shift``
    lines, and all lines of local memory and intersection tables, whose final numbers follow later. Every step counts in
    ``steps``, int64[warps]; ``out.owned`` grows by the rows of each warp.
    """
    rows, begin, access, only = 0, 0, 0, (1 << shift) - 1
    while begin < rays.warp.size or access < accesses.warp.size:
        traces = begin < rays.warp.size
        if access < accesses.warp.size and (
            not traces
            or accesses.warp[access] < rays.warp[begin]
            or (accesses.warp[access] == rays.warp[begin] and accesses.visit[access] <= rays.visit[begin])
        ):
            of, start = accesses.warp[access], rows
            for at in range(accesses.offset[access], accesses.offset[access + 1]):
                if accesses.line[at] >= LOCAL_LINES or is_followed(accesses.line[at], only):
                    rows = ask(accesses.line[at], accesses.sectors[at], steps[of], start, rows, out)
            out.owned[of] += rows - start
            steps[of] += 1
            access += 1
            continue
        of, end = rays.warp[begin], begin
        while end < rays.warp.size and rays.warp[end] == of and rays.visit[end] == rays.visit[begin]:
            end += 1
        before = rows
        rows = trace_call(rays, begin, end, nodes, base, only, steps, rows, out)
        out.owned[of] += rows - before
        begin = end
    return rows


@inner
def trace_call(
    rays: Rays, begin: int, end: int, nodes: Nodes, base: int, only: int, steps: np.ndarray, rows: int, out: Requested
) -> int:
    """Walk the rays ``begin`` to ``end`` of one trace call."""
    of, longest = rays.warp[begin], 0
    for ray in range(begin, end):
        longest = max(longest, rays.offset[ray + 1] - rays.offset[ray])
    if nodes.procedural.size:
        rows = enter(rays, begin, end, nodes, steps[of], rows, out)
    for step in range(longest):
        start = rows
        for ray in range(begin, end):
            place = rays.offset[ray] + step
            if place >= rays.offset[ray + 1]:
                continue
            record = rays.node[place]
            node = np.int64(record & NODE_BITS)
            look = nodes.look[node]
            if look & UNSEEN:
                nodes.first[node], nodes.look[node] = of, look & FOLLOWED
            if look & FOLLOWED:
                rows = ask(nodes.line[node], nodes.sectors[node], steps[of] + step, start, rows, out)
            if record > NODE_BITS:
                own = HIT_LINES + 2 * (base + place)
                if is_followed(own, only):
                    rows = ask(own, WHOLE_STORE, steps[of] + step, rows, rows, out)
    steps[of] += longest
    return rows


@inner
def enter(rays: Rays, begin: int, end: int, nodes: Nodes, step: int, rows: int, out: Requested) -> int:
    """Add a trace call's stores into the intersection table of its warp: two words of a row for each procedural record.

    All leave in the call's first step. Those into the same line are one request, whose sectors hold their number in
    place of the sectors written in full. Layout and rule: ``replay.input.intersection_tables``.
    """
    start, most = rows, 0
    for ray in range(begin, end):
        row = 0
        for place in range(rays.offset[ray], rays.offset[ray + 1]):
            if not nodes.procedural[rays.node[place] & NODE_BITS]:
                continue
            if row == most:
                for at in range(start + most * ROW_LINES, start + (most + 1) * ROW_LINES):
                    out.line[at], out.sectors[at] = TABLE_LINES + at - start, WRITE
                most += 1
            for inside in (4 * rays.lane[ray], BASELINE_DATA + 8 * rays.lane[ray]):
                at = start + row * ROW_LINES + (inside >> 7)
                out.sectors[at] = (out.sectors[at] | 1 << (inside >> 5 & 3)) + (1 << FULL_SHIFT)
            row += 1
    for at in range(start, start + most * ROW_LINES):
        if out.sectors[at] != WRITE:
            out.line[rows], out.sectors[rows], out.step[rows] = out.line[at], out.sectors[at], step
            rows += 1
    return rows


@loop
def first_uses(node: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """BVH records in the order of their first use, int64[n]; ``seen``, bool[nodes], leaves out the nodes seen."""
    found = np.empty(seen.size, np.int64)
    count = 0
    for record in node:
        number = np.int64(record & NODE_BITS)
        if not seen[number]:
            seen[number] = True
            found[count] = number
            count += 1
    return found[:count].copy()
