"""The slices of the L2: their description, the flat arrays they live in, and the addresses they serve."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from replay import dram_state
from replay.bits import compiled
from replay.config import law, value

SECTORS = 4
FULL = 0xFFFFFFFF
# columns of line: tag, cycle of its last use, then masks over its sectors: readable, dirty, waiting for data
TAG, USED_AT, VALID, DIRTY, PENDING = range(5)
# columns of slice: input head and tail, first cycle it may look up, first cycle it may respond, output head and tail,
# free MSHR entries, waits for a fill
HEAD, TAIL, LOOKUP_AT, RESPOND_AT, OUT_HEAD, OUT_TAIL, MSHR_FREE, BLOCKED = range(8)
READ_HITS, READ_MISSES, SECTOR_MISSES, PENDING_HITS, WRITE_HITS, WRITE_MISSES, WRITE_BACKS, BLOCKED_TIMES = range(8)
COUNTERS = ("read_hits", "read_line_misses", "read_sector_misses", "read_pending_hits", "write_hits", "write_misses",
            "write_backs", "blocked_times")  # fmt: skip


@dataclass(frozen=True)
class Spec:
    """L2 cache of the whole GPU, in slices; each memory controller has some of them."""

    bytes: int = value("bytes", "Capacity of all slices together", 4096)
    line_bytes: int = value("bytes", "Length of a line, four sectors", 128)
    ways: int = value("lines", "Lines of a set", 1)
    slices_per_controller: int = value("count", "Slices of a memory controller, a power of two", 1)
    latency_cycles: int = value("cycles", "From a slice's input to its tag check", 1)
    mshr_entries: int = value("count", "Sectors of a slice that may be missing at a time", 1)
    mshr_merges: int = value("count", "Requests that may wait for one sector", 1)

    def __post_init__(self) -> None:
        law(self.line_bytes == 128, f"line_bytes must be 128, not {self.line_bytes}")
        slices = self.slices_per_controller
        law(slices & (slices - 1) == 0, f"slices_per_controller must be a power of two, not {slices}")


class L2(NamedTuple):
    """All slices; set k of slice s holds rows (s * sets + k) * ways and on of ``line``."""

    line: np.ndarray  # int64[5, slices * sets * ways]: a row per column name, so that the tags of a set are neighbours
    written: np.ndarray  # uint32[slices * sets * ways, 4]: bytes written since the sector was last readable
    entry_of: np.ndarray  # int32[slices * sets * ways, 4]: MSHR entry a pending sector waits in
    slice: np.ndarray  # int64[slices, 8]
    input: np.ndarray  # int64[slices * ring, 5]: cycle, sector, kind + 4 x byte mask, tag, SM
    output: np.ndarray  # int64[slices * ring, 3]: cycle, SM, tag
    mshr: np.ndarray  # int64[slices * entries, 3]: line row, sector of the line, waiting requests
    mshr_free: np.ndarray  # int32[slices, entries]
    waiter: np.ndarray  # int64[slices * entries * merges, 2]: SM, tag
    stats: np.ndarray  # int64[slices, 8]
    sets: int
    ways: int
    ring: int
    entries: int
    merges: int
    slices_per_controller: int
    controllers: int
    sector_row_shift: int  # log2 of sectors in a DRAM row of one bank
    banks: int


def make_state(spec: Spec, controllers: int, in_flight: int, dram_spec: dram_state.Spec) -> L2:
    """Empty, cold slices. ``in_flight`` is the most requests that all SMs may have under way."""
    slices = controllers * spec.slices_per_controller
    sets = spec.bytes // (slices * spec.line_bytes * spec.ways)
    lines = slices * sets * spec.ways
    ring = 1 << (in_flight - 1).bit_length()
    line = np.zeros((5, lines), np.int64)
    line[TAG] = -1
    state = L2(
        line,
        np.zeros((lines, SECTORS), np.uint32),
        np.zeros((lines, SECTORS), np.int32),
        np.zeros((slices, 8), np.int64),
        np.zeros((slices * ring, 5), np.int64),
        np.zeros((slices * ring, 3), np.int64),
        np.zeros((slices * spec.mshr_entries, 3), np.int64),
        np.tile(np.arange(spec.mshr_entries, dtype=np.int32), (slices, 1)),
        np.zeros((slices * spec.mshr_entries * spec.mshr_merges, 2), np.int64),
        np.zeros((slices, len(COUNTERS)), np.int64),
        sets,
        spec.ways,
        ring,
        spec.mshr_entries,
        spec.mshr_merges,
        spec.slices_per_controller,
        controllers,
        (dram_spec.row_bytes // 32).bit_length() - 1,
        dram_spec.banks,
    )
    state.slice[:, MSHR_FREE] = spec.mshr_entries
    return state


@compiled
def slice_of(state: L2, sector: int) -> int:
    """The slice of a sector: 256 B blocks go around the controllers, 128 B lines around a controller's slices."""
    controller = (sector >> 3) % state.controllers
    return controller * state.slices_per_controller + ((sector >> 2) & (state.slices_per_controller - 1))


def stats(state: L2) -> dict[str, np.ndarray]:
    """Every counter per slice; accesses = hits + misses + pending hits."""
    return {name: state.stats[:, index] for index, name in enumerate(COUNTERS)}
