"""Short traversal stacks: what a ray writes to memory, and loads back, where its stack outgrows ``rt.stack_entries``.

A ray visits a node's first child next and pushes the others; a visit that is no child of the one before it is popped.
A push onto a full stack writes the oldest entry, 8 B, to the warp's memory; a pop from an empty one loads the youngest
written entry back before the record is fetched. The depth follows from the trace's ``parents``: an entry that is pushed
is visited later. So entries that culling dropped are not counted, and a stretch of a ray after a program begins with an
empty stack.
"""

import numpy as np

from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.replay.input import rays as record
from rayplay.replay.jit.bits import entry_point

ENTRY_BYTES, LANES, SECTOR = 8, 32, 32
FIRST_BYTE = 384_000  # of a warp's tables: behind the rows of an intersection table
MOST_ENTRIES = 504  # in memory, as the tracer's deepest stack
MOST_STORES = 4000  # of a stretch, with those into the intersection table: half of the store queue


def stack_nodes() -> np.ndarray:
    """``Records.info`` of the loads of entries: int64[entries * 8], a sector of four lanes each."""
    sectors = np.arange(MOST_ENTRIES * LANES * ENTRY_BYTES // SECTOR)
    address = FIRST_BYTE + SECTOR * sectors
    return (address << record.ADDRESS_SHIFT) | (SECTOR << record.BYTES_SHIFT) | record.TABLE_LOAD


def expect_parents(tables: tuple[str, ...], where: str) -> None:
    """``UserError`` for a trace that does not tell how deep stacks are."""
    if "parents" not in tables:
        raise UserError(f"{where}: must have a table parents for rt.stack_entries: render it with --record distances")


def add_spills(
    entries: int, lane: np.ndarray, lists: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], parent: np.ndarray,
    first_load: int, where: str,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """The lists of rays with loads and stores of their stacks.

    entries     of a lane's stack on chip, 1 at least.
    lane        uint8[rays], with its flags.
    lists       first_node int64[rays + 1], node uint32[records], first_store int64[rays + 1], store int64[stores].
    parent      int32[nodes]; ``first_load``: number of the record that loads the first of ``stack_nodes``.

    Raises ``FormatError`` naming ``where`` for a deeper stack than memory holds, or too many stores of a stretch.
    """
    first_node, node, first_store, store = lists
    nodes, stores = np.zeros(len(first_node), np.int64), np.zeros(len(first_store), np.int64)
    last = np.full((2, len(parent)), -1, np.int64)
    longest = int(np.diff(first_node).max(initial=0))
    children = np.zeros(longest + 1, np.int64)
    nothing = np.zeros(0, np.uint32), np.zeros(0, np.int64)
    arguments = entries, lane, first_node, node, first_store, store, parent, first_load, last, children
    if not spill(*arguments, nodes, stores, *nothing, False):
        raise FormatError(
            f"{where}: table rays: a stretch must write at most {MOST_STORES} times, and hold {MOST_ENTRIES} entries in"
            " memory"
        )
    made, written = np.zeros(nodes[-1], np.uint32), np.zeros(stores[-1], np.int64)
    last[:] = -1
    spill(*arguments, nodes, stores, made, written, True)
    return nodes, made, stores, written


@entry_point
def spill(
    entries: int, lane: np.ndarray, first_node: np.ndarray, node: np.ndarray, first_store: np.ndarray,
    store: np.ndarray, parent: np.ndarray, first_load: int, last: np.ndarray, children: np.ndarray, nodes: np.ndarray,
    stores: np.ndarray, made: np.ndarray, written: np.ndarray, write: bool,
) -> bool:  # fmt: skip
    """Walk the stacks of all rays; without ``write`` only the ends in nodes and stores are found.

    last  int64[2, nodes]: the ray that visited a record last, and its visit.
    """
    loads = writes = 0
    for ray in range(lane.shape[0]):
        index = np.int64(lane[ray] & 31)
        begin, end = first_node[ray], first_node[ray + 1]
        count_children(node[begin:end], ray, parent, last, children)
        for at in range(first_store[ray], first_store[ray + 1]):
            if write:
                written[writes] = store[at]
            writes += 1
        on_chip = in_memory = 0
        for at in range(begin, end):
            number = np.int64(node[at]) & record.NODE_BITS
            if is_popped(number, at - begin, node[begin:end], parent):
                if on_chip > 0:
                    on_chip -= 1
                elif in_memory > 0:
                    in_memory -= 1
                    if write:
                        made[loads] = first_load + (in_memory * LANES + index) * ENTRY_BYTES // SECTOR
                    loads += 1
            if write:
                made[loads] = node[at]
            loads += 1
            for _ in range(children[at - begin] - 1):
                if on_chip < entries:
                    on_chip += 1
                    continue
                if in_memory == MOST_ENTRIES:
                    return False
                if write:
                    written[writes] = FIRST_BYTE + (in_memory * LANES + index) * ENTRY_BYTES
                in_memory += 1
                writes += 1
        nodes[ray + 1], stores[ray + 1] = loads, writes
        if writes - stores[ray] > MOST_STORES:
            return False
    return True


@entry_point
def is_popped(number: int, visit: int, node: np.ndarray, parent: np.ndarray) -> bool:
    """Whether a visit comes from the stack: it is no header, nor a child of the visit before."""
    if visit == 0 or number >= parent.shape[0] or parent[number] < 0:
        return False
    before = visit - 1
    while before > 0 and np.int64(node[before]) & record.NODE_BITS >= parent.shape[0]:  # loads of a table
        before -= 1
    return np.int64(node[before]) & record.NODE_BITS != parent[number]


@entry_point
def count_children(node: np.ndarray, ray: int, parent: np.ndarray, last: np.ndarray, children: np.ndarray) -> None:
    """Records of a ray that were fetched because of each visit: the one of its parent that was the last before it."""
    for visit in range(node.shape[0]):
        children[visit] = 0
        number = np.int64(node[visit]) & record.NODE_BITS
        if number >= parent.shape[0]:
            continue
        above = np.int64(parent[number])
        if above >= 0 and last[0, above] == ray:
            children[last[1, above]] += 1
        last[0, number], last[1, number] = ray, visit
