"""State of a traversal: the context (pointers to everything shared) and the per-lane stack.

The context is an ``int64[len(Context._fields)]`` so that machine code can hand it over as one pointer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.abi.layout import Words
from rayplay.tracer.bvh.build import Acceleration
from rayplay.tracer.bvh.layout import EIGHT
from rayplay.tracer.native.jit import compiled
from rayplay.tracer.native.memory import load_i64

RECORDS = ("visits", "distances", "culled")
"""What a traversal records: its visits; their entry distances too; and the visits that culling removed."""
VULKAN_SIM_ORDER, NEAREST_ORDER = 0, 1
ORDERS = {"vulkan-sim": VULKAN_SIM_ORDER, "nearest": NEAREST_ORDER}

STACK_ENTRIES = 504
MOST_KEPT = 1000
"""As many as a lane has in Vulkan-Sim's intersection table (``docs/sources/vulkan-sim.md#intersection-table``)."""
STATE = Words("STATE", "uint32", f"""
    top                     a lane's private state: entries of its stack, or FINISHED
    base                    entry where the level that is being traversed begins
    instance                block of the instance whose bottom level that is, 0 in the top level
    kept_first              candidates kept for the end of the traversal: the next one that is offered
    kept_last               and the end
    scratch[8]              results of the box test
    stack[{2 * STACK_ENTRIES}]             entries: kind and block of a record, and the bits of its entry distance
    kept[{2 * MOST_KEPT}]              candidates: the instance's block, and kind and block of the leaf
""")  # fmt: skip
STATE_WORDS = len(STATE)


class Context(NamedTuple):
    """The context, one field per word: addresses of arrays, and numbers."""

    image: int  # bytes of the acceleration structure
    block_row: int  # uint32[blocks]: rows in the nodes table
    hit_records: int  # int32[records, 3]: closest-hit, any-hit, intersection program
    miss_programs: int  # int32[records]
    instance_record: int  # uint32[instances]: first hit record
    hit_record_count: int
    miss_record_count: int
    top_block: int
    base_address: int
    order: int
    delayed: int  # 1 where any-hit and intersection programs run after the traversal
    distance_log: int  # bytes from a word of the log to its distance, 0 where none is recorded
    culled: int  # 1 where visits that culling removes are logged as well
    wide: int  # 1 where nodes are eight wide (``layout.EIGHT``)
    descriptors: int  # 1 where a leaf's descriptor is logged before it


@dataclass(frozen=True, eq=False)
class TraversalContext:
    """``words`` is what ``traverse_lane`` takes; the object keeps the arrays behind the pointers alive. ``record``: of
    ``RECORDS``."""

    words: NDArray[np.int64]
    acceleration: Acceleration
    arrays: tuple[NDArray[Any], ...]
    record: str

    @property
    def address(self) -> int:
        """Address of the words, for machine code."""
        return self.words.ctypes.data

    @property
    def delayed(self) -> bool:
        """Whether any-hit and intersection programs run after the traversal."""
        return bool(self.words[Context._fields.index("delayed")])


def make_context(
    acceleration: Acceleration,
    hit_records: NDArray[np.int32],
    miss_programs: Sequence[int],
    order: str,
    instance_records: NDArray[np.uint32] | None = None,
    delayed: bool = False,
    record: str = "visits",
    distance_log: int = 0,
) -> TraversalContext:
    """Bind an acceleration structure to the programs of a launch.

    hit_records: int32[records, 3], ids of the closest-hit, any-hit and intersection program of each hit record, -1 for
    none. miss_programs: ids, -1 for none. instance_records: first hit record of each instance; by default record
    ``geometry * ray_types`` with as many ray types as there are records per geometry. order: "vulkan-sim" (the first
    hit internal child is next, the others are pushed, nothing is sorted, and the records mark every triangle between
    t_min and t_max; ``docs/sources/vulkan-sim.md#traversal-order, #ray-flags``) or "nearest" (children by entry
    distance, skipped when they lie behind the committed hit). delayed: any-hit and intersection programs run after the
    traversal, which goes on as if their primitives had not been hit (``docs/sources/vulkan-sim.md#delayed-programs``).
    record: of ``RECORDS``. distance_log: bytes from the log to the log of distances, float32 by the same index.
    """
    if acceleration.statistics.stack_entries > STACK_ENTRIES:
        raise ValueError(f"the tree needs {acceleration.statistics.stack_entries} stack entries of {STACK_ENTRIES}")
    records = np.ascontiguousarray(hit_records, dtype=np.int32).reshape(-1, 3)
    misses = np.ascontiguousarray(miss_programs, dtype=np.int32)
    if instance_records is None:
        ray_types = len(records) // max(len(acceleration.geometries), 1)
        instance_records = acceleration.instance_geometry * np.uint32(ray_types)
    offsets = np.ascontiguousarray(instance_records, dtype=np.uint32)
    shared = Context(
        image=acceleration.words.ctypes.data,
        block_row=acceleration.block_row.ctypes.data,
        hit_records=records.ctypes.data,
        miss_programs=misses.ctypes.data,
        instance_record=offsets.ctypes.data,
        hit_record_count=len(records),
        miss_record_count=len(misses),
        top_block=acceleration.top_block,
        base_address=acceleration.base_address,
        order=ORDERS[order],
        delayed=int(delayed),
        distance_log=distance_log if record != RECORDS[0] else 0,
        culled=int(record == RECORDS[2]),
        wide=int(acceleration.layout.node == EIGHT),
        descriptors=int(acceleration.layout.has_descriptors),
    )
    words = np.array(shared, dtype=np.int64)
    return TraversalContext(words, acceleration, (records, misses, offsets), record)


@compiled
def open_context(words: int) -> Context:
    """words: address of the fields, int64 each."""
    return Context(
        load_i64(words), load_i64(words + 8), load_i64(words + 16), load_i64(words + 24), load_i64(words + 32),
        load_i64(words + 40), load_i64(words + 48), load_i64(words + 56), load_i64(words + 64), load_i64(words + 72),
        load_i64(words + 80), load_i64(words + 88), load_i64(words + 96), load_i64(words + 104), load_i64(words + 112),
    )  # fmt: skip
