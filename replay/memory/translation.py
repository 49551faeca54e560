"""Translation of the addresses of requests as they leave an SM's port: tables of the pages that it used last (TLB).

A request to a page of the first table takes no time; to one of the second alone ``second_cycles``; to another
``walk_cycles``. Requests to a page that is on its way wait for it, and requests to other pages pass; any number of
pages may be on their way. Both tables forget the page of a set that was used longest ago. A GPU's second table serves
all SMs; here each SM has one of its own, since SMs meet at the crossbar alone.
Source: ``docs/sources/choices.md#translation``.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rayplay.replay.input.work import SECTOR_BYTES
from rayplay.replay.jit.bits import compiled, inlined
from rayplay.replay.jit.rows import FixedRows
from rayplay.replay.unit.schema import law, value

NO_PAGE = -1
PAGE, READY, USED = range(3)  # columns of ``table``: READY is the cycle from which on the page is known


@dataclass(frozen=True)
class Spec:
    """Translation of the addresses of an SM's requests that leave it."""

    page_bytes: int = value("bytes", "Bytes of a page, a power of two; 0: addresses need no translation", 0)
    entries: int = value("pages", "Pages of an SM's first table, each in any of its places", 1)
    second_entries: int = value("pages", "Pages of its second table", 1)
    second_ways: int = value("pages", "Pages of a set of the second table", 1)
    second_cycles: int = value("cycles", "What a request waits for a page of the second table alone", 0)
    walk_cycles: int = value("cycles", "What a request waits for a page of neither", 0)

    def __post_init__(self) -> None:
        page = self.page_bytes
        law(
            page == 0 or (page >= SECTOR_BYTES and page & (page - 1) == 0),
            f"page_bytes must be 0 or a power of two of at least {SECTOR_BYTES}, not {page}",
        )
        law(
            self.second_entries % self.second_ways == 0,
            f"second_entries ({self.second_entries}) must be a multiple of second_ways ({self.second_ways})",
        )


class Translation(NamedTuple):
    """Tables of all SMs: rows of an SM's first table, then of its second one."""

    table: FixedRows  # int64[sms * pages, 3]
    uses: np.ndarray  # int64[sms]: look-ups so far
    page_shift: int  # of a sector number; -1: no translation
    pages: int  # of both tables of an SM
    entries: int
    second_ways: int
    second_sets: int
    second_cycles: int
    walk_cycles: int


def make_state(spec: Spec, sms: int) -> Translation:
    """Empty tables."""
    pages = spec.entries + spec.second_entries if spec.page_bytes else 0
    table = np.zeros((max(sms * pages, 1), 3), np.int64)
    table[:, PAGE] = NO_PAGE
    return Translation(
        table, np.zeros(sms, np.int64), (spec.page_bytes // SECTOR_BYTES).bit_length() - 1, pages, spec.entries,
        spec.second_ways, spec.second_entries // spec.second_ways, spec.second_cycles, spec.walk_cycles,
    )  # fmt: skip


@compiled
def translated(state: Translation, sm: int, sector: int, now: int) -> int:
    """Cycle in which the place of a sector is known to an SM that asks for it in cycle ``now``."""
    table, first, page = state.table, sm * state.pages, sector >> state.page_shift
    second = first + state.entries + page % state.second_sets * state.second_ways
    state.uses[sm] += 1
    row = place_of(table, first, state.entries, page)
    known = table[row, PAGE] == page
    behind = place_of(table, second, state.second_ways, page)
    if not known:
        table[row, PAGE] = page
        table[row, READY] = max(now, table[behind, READY]) + state.second_cycles
        if table[behind, PAGE] != page:
            table[row, READY] = now + state.walk_cycles
            table[behind, PAGE], table[behind, READY] = page, now + state.walk_cycles
        table[behind, USED] = state.uses[sm]
    table[row, USED] = state.uses[sm]
    return max(now, table[row, READY])


@inlined
def place_of(table: np.ndarray, first: int, ways: int, page: int) -> int:
    """Row of a page in one set of a table; without it the row to give up, used longest ago."""
    oldest = first
    for row in range(first, first + ways):
        if table[row, PAGE] == page:
            return row
        if table[row, USED] < table[oldest, USED]:
            oldest = row
    return oldest
