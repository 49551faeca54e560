"""The loops of the functional L2: which lines the warps ask for, step by step, and what a cache makes of them."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit

from formats.code_cache import use_numba_cache

use_numba_cache(Path(__file__).parent)

HIT_LINES = 1 << 40  # hits have lines from here on
NODE_BITS = np.uint32(0x7FFFFFFF)
WAYS = 16
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing: neighbouring lines fall into distant sets


class Rays(NamedTuple):
    """Columns of ``rays``: warp, visit and offset as int64, node as uint32."""

    warp: np.ndarray
    visit: np.ndarray
    offset: np.ndarray
    node: np.ndarray


class Accesses(NamedTuple):
    """Columns of ``accesses`` as int64: sector of each lane's address."""

    warp: np.ndarray
    visit: np.ndarray
    offset: np.ndarray
    sector: np.ndarray


class Nodes(NamedTuple):
    """Of each BVH record: its line, the sectors of it that it takes (a bit each), the first warp to fetch it or -1."""

    line: np.ndarray
    sectors: np.ndarray
    first: np.ndarray


class Requested(NamedTuple):
    """Rows of requests: step of its warp, line, sectors; and how many rows each warp has."""

    step: np.ndarray
    line: np.ndarray
    sectors: np.ndarray
    owned: np.ndarray


@njit(cache=True)
def spread(line: int) -> int:
    """31 well-mixed bits of a line number."""
    return int((np.uint64(line) * GOLDEN) >> np.uint64(33))


@njit(cache=True)
def ask(line: int, sectors: int, step: int, start: int, rows: int, out: Requested) -> int:
    """Add a request of one step, whose others are the rows from ``start`` on; a line is asked for once a step."""
    for row in range(start, rows):
        if out.line[row] == line:
            out.sectors[row] |= sectors
            return rows
    out.line[rows], out.sectors[rows], out.step[rows] = line, sectors, step
    return rows + 1


@njit(cache=True)
def walk(rays: Rays, accesses: Accesses, nodes: Nodes, shift: int, steps: np.ndarray, out: Requested) -> int:
    """Walk what some warps do to memory, step by step; returns the rows written to ``out``.

    An access is a step, and so is a record of a trace call: its lanes go record by record, side by side. A hit also
    stores to a line of its own, which nobody else uses. Only lines whose hash ends in ``shift`` zero bits are written
    (set sampling), but every step is counted in ``steps``, int64[warps], and ``out.owned`` grows by the rows of each
    warp.
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
            for lane in range(accesses.offset[access], accesses.offset[access + 1]):
                sector = accesses.sector[lane]
                if not spread(sector >> 2) & only:
                    rows = ask(sector >> 2, 1 << (sector & 3), steps[of], start, rows, out)
            out.owned[of] += rows - start
            steps[of] += 1
            access += 1
            continue
        of, end = rays.warp[begin], begin
        while end < rays.warp.size and rays.warp[end] == of and rays.visit[end] == rays.visit[begin]:
            end += 1
        before = rows
        rows = trace_call(rays, begin, end, nodes, only, steps, rows, out)
        out.owned[of] += rows - before
        begin = end
    return rows


@njit(cache=True)
def trace_call(
    rays: Rays, begin: int, end: int, nodes: Nodes, only: int, steps: np.ndarray, rows: int, out: Requested
) -> int:
    """The rays ``begin`` to ``end`` of one trace call."""
    of, longest = rays.warp[begin], 0
    for ray in range(begin, end):
        longest = max(longest, rays.offset[ray + 1] - rays.offset[ray])
    for step in range(longest):
        start = rows
        for ray in range(begin, end):
            place = rays.offset[ray] + step
            if place >= rays.offset[ray + 1]:
                continue
            record = rays.node[place]
            node = np.int64(record & NODE_BITS)
            if nodes.first[node] < 0:
                nodes.first[node] = of
            if not spread(nodes.line[node]) & only:
                rows = ask(nodes.line[node], nodes.sectors[node], steps[of] + step, start, rows, out)
            if record > NODE_BITS:
                own = HIT_LINES + rays.offset[0] + place
                if not spread(own) & only:
                    rows = ask(own, 1, steps[of] + step, rows, rows, out)
    steps[of] += longest
    return rows


@njit(cache=True)
def begin_steps(steps: np.ndarray, slots: int) -> np.ndarray:
    """int64[warps]: the step at which each warp starts, when each of ``slots`` takes the next warp as it gets free."""
    free, begins = np.zeros(slots, np.int64), np.zeros(steps.size, np.int64)  # free: a binary heap
    for warp in range(steps.size):
        begins[warp] = free[0]
        value, place = free[0] + steps[warp] + 1, 0
        while True:
            child = 2 * place + 1
            if child >= slots:
                break
            if child + 1 < slots and free[child + 1] < free[child]:
                child += 1
            if free[child] >= value:
                break
            free[place] = free[child]
            place = child
        free[place] = value
    return begins


@njit(cache=True)
def cache_misses(line: np.ndarray, sectors: np.ndarray, sets: int, shift: int, counted: np.ndarray) -> int:
    """Sectors that miss an LRU cache of ``sets`` x 16 lines, among the requests that are ``counted``."""
    tag, valid = np.full((sets, WAYS), -1, np.int64), np.zeros((sets, WAYS), np.uint8)
    missed = 0
    for row in range(line.size):
        index = (spread(line[row]) >> shift) % sets
        way = 0
        while way < WAYS - 1 and tag[index, way] != line[row]:
            way += 1
        held = valid[index, way] if tag[index, way] == line[row] else np.uint8(0)
        absent = sectors[row] & ~held
        if counted[row]:
            while absent:
                missed += absent & np.uint8(1)
                absent >>= np.uint8(1)
        while way > 0:  # most recent first
            tag[index, way], valid[index, way] = tag[index, way - 1], valid[index, way - 1]
            way -= 1
        tag[index, 0], valid[index, 0] = line[row], held | sectors[row]
    return missed


@njit(cache=True)
def spread_all(line: np.ndarray) -> np.ndarray:
    """``spread`` of each line: int64[lines]."""
    return np.array([spread(number) for number in line], np.int64)
