"""Intersection tables of Vulkan-Sim: what rays write, and load, for the procedural primitives that they meet.

Rules: ``docs/sources/vulkan-sim.md#intersection-table``. A stretch of a ray enters a row for each procedural record in
it. The baseline table has a row per entry of a lane (4 B hit group, 8 B primitive and instance); function call
coalescing (FCC) has a row per hit group for all lanes: an entry first loads 4 B of every row in turn, each row once per
ray, and then writes the lane's mask byte and 8 B into the first row of its group in which the lane has no entry, or
into a new row (4 B more). The hit group of a primitive is its instance, since a trace does not name the program.
"""

import numpy as np

from rayplay.formats.guard.errors import FormatError
from rayplay.formats.schema.trace import NODE_KINDS
from rayplay.replay.input import rays as record
from rayplay.replay.jit.bits import entry_point

MOST_ROWS = 1000
INSTANCE = NODE_KINDS.index("instance")
BASELINE_ROW, BASELINE_DATA = 384, 128  # bytes of a row; where its primitives begin
FCC_ROW, FCC_MASK, FCC_DATA = 292, 4, 36  # bytes of a row; where its masks and its primitives begin


def table_nodes() -> np.ndarray:
    """``Records.info`` of the loads from the rows of an FCC table: int64[MOST_ROWS]."""
    return (np.arange(MOST_ROWS) * FCC_ROW << record.ADDRESS_SHIFT) | (4 << record.BYTES_SHIFT) | record.TABLE_LOAD


def add_entries(
    table: int, first_ray: np.ndarray, lane: np.ndarray, first_node: np.ndarray, node: np.ndarray, kind: np.ndarray,
    group: np.ndarray, where: str,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Loads and stores of rays for their entries.

    table        place in ``rt_unit_spec.TABLES``: BASELINE or FCC.
    first_ray    int64[operations]: first ray of each; lane uint8[rays], with its flags.
    first_node   int64[rays + 1]: first record of each in node uint32[records].
    kind         uint8[nodes]; a record of number len(kind) + r is the load from row r.
    group        int64[32]: scratch, the instance each lane was in at the end of its last stretch.

    Returns first_node and node with the loads, and first_store int64[rays + 1] and store int64[stores], offsets in the
    table. Raises ``FormatError`` naming ``where`` for more entries than the table has rows.
    """
    rays = len(lane)
    nodes, stores = np.zeros(rays + 1, np.int64), np.zeros(rays + 1, np.int64)
    scratch = np.zeros((2, MOST_ROWS), np.int64)
    nothing = np.zeros(0, np.uint32), np.zeros(0, np.int64)
    arguments = table == record.FCC, first_ray, lane, first_node, node, kind
    before = group.copy()
    if not enter(*arguments, group, scratch, nodes, stores, *nothing, False):
        raise FormatError(f"{where}: table rays: a warp's rays must meet at most {MOST_ROWS} procedural primitives")
    loaded, store = np.zeros(nodes[-1], np.uint32), np.zeros(stores[-1], np.int64)
    enter(*arguments, before, scratch, nodes, stores, loaded, store, True)
    return nodes, loaded, stores, store


@entry_point
def enter(
    by_group: bool, first_ray: np.ndarray, lane: np.ndarray, first_node: np.ndarray, node: np.ndarray,
    kind: np.ndarray, group: np.ndarray, scratch: np.ndarray, nodes: np.ndarray, stores: np.ndarray,
    loaded: np.ndarray, store: np.ndarray, write: bool,
) -> bool:  # fmt: skip
    """Enter all rays into the tables of their warps; without ``write`` only the ends in nodes and stores are found."""
    made = written = operation = rows = 0
    for ray in range(lane.shape[0]):
        while operation < first_ray.shape[0] and first_ray[operation] <= ray:
            operation += 1
            rows = 0
        index = np.int64(lane[ray] & 31)
        if lane[ray] & record.FIRST_STRETCH:
            group[index] = -1
        entries = seen = 0
        for at in range(first_node[ray], first_node[ray + 1]):
            number = np.int64(node[at]) & record.NODE_BITS
            if write:
                loaded[made] = node[at]
            made += 1
            if kind[number] == INSTANCE:
                group[index] = number
            if kind[number] != record.PROCEDURAL or node[at] >> record.CULLED_SHIFT & 1:
                continue
            if not by_group:
                if write:
                    store[written] = entries * BASELINE_ROW + index * 4
                    store[written + 1] = entries * BASELINE_ROW + BASELINE_DATA + index * 8
                entries += 1
                written += 2
                if entries == MOST_ROWS:
                    return False
                continue
            row = 0
            while row < rows:
                if row >= seen:
                    if write:
                        loaded[made] = kind.shape[0] + row
                    made += 1
                    seen = row + 1
                if scratch[0, row] == group[index] and not (scratch[1, row] >> index) & 1:
                    break
                row += 1
            if row == MOST_ROWS:
                return False
            if row == rows:
                scratch[0, row], scratch[1, row] = group[index], 0
                rows += 1
                if write:
                    store[written] = row * FCC_ROW
                written += 1
            scratch[1, row] |= 1 << index
            if write:
                store[written] = row * FCC_ROW + FCC_MASK + index
                store[written + 1] = row * FCC_ROW + FCC_DATA + index * 8
            written += 2
        nodes[ray + 1], stores[ray + 1] = made, written
    return True
