"""What a traversal reads and keeps: the context (pointers to everything shared) and the per-lane stack.

The context is an ``int64[CONTEXT_WORDS]`` so that machine code can hand it over as one pointer; ``open_context`` turns
it back into arrays.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import carray, njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from tracer.bvh import Acceleration
from tracer.bvh_layout import BLOCK_BYTES, BLOCK_WORDS

VULKAN_SIM_ORDER, NEAREST_ORDER = 0, 1
ORDERS = {"vulkan-sim": VULKAN_SIM_ORDER, "nearest": NEAREST_ORDER}

CONTEXT_WORDS = 13
LOG_WORDS = 65_536
"""Words of the log that a stretch may fill."""

# a lane's private state: uint32[STATE_WORDS]
STATE_TOP, STATE_BASE, STATE_INSTANCE = 0, 1, 2
STATE_SCRATCH = 8
"""Eight words for the box test's results."""
STATE_STACK = 16
"""First stack entry; an entry is two words: kind and block, and the bits of its entry distance."""
STATE_WORDS = 1024
STACK_ENTRIES = (STATE_WORDS - STATE_STACK) // 2


class Context(NamedTuple):
    """The context as arrays."""

    image: int
    bytes: np.ndarray  # uint8[bytes], the image
    words: np.ndarray  # uint32[bytes / 4], the same
    floats: np.ndarray  # float32[bytes / 4], the same
    top_block: int
    top_row: np.ndarray  # uint32[blocks of the top level]
    base_address: int
    hit_records: np.ndarray  # int32[records, 3]
    miss_programs: np.ndarray  # int32[records]
    instance_record: np.ndarray  # uint32[instances]
    order: int


@dataclass(frozen=True, eq=False)
class TraversalContext:
    """``words`` is what ``traverse_lane`` takes; the object keeps the arrays behind the pointers alive."""

    words: NDArray[np.int64]
    acceleration: Acceleration
    arrays: tuple[NDArray[Any], ...]

    @property
    def address(self) -> int:
        """Address of the words, for machine code."""
        return self.words.ctypes.data


def make_context(
    acceleration: Acceleration,
    hit_records: NDArray[np.int32],
    miss_programs: Sequence[int],
    instance_records: NDArray[np.uint32] | None = None,
    order: str = "vulkan-sim",
) -> TraversalContext:
    """Bind an acceleration structure to the programs of a launch.

    hit_records: int32[records, 3], ids of the closest-hit, any-hit and intersection program of each hit record, -1 for
    none. miss_programs: ids, -1 for none. instance_records: first hit record of each instance; by default record
    ``geometry * ray_types`` with as many ray types as there are records per geometry. order: "vulkan-sim" (the first
    hit internal child is next, the others are pushed, nothing is sorted; ``reference/vulkan-sim.md`` 1.3) or
    "nearest" (children by entry distance, skipped when they lie behind the committed hit).
    """
    if acceleration.statistics.stack_entries > STACK_ENTRIES:
        raise ValueError(f"the tree needs {acceleration.statistics.stack_entries} stack entries of {STACK_ENTRIES}")
    records = np.ascontiguousarray(hit_records, dtype=np.int32).reshape(-1, 3)
    misses = np.ascontiguousarray(miss_programs, dtype=np.int32)
    if instance_records is None:
        ray_types = len(records) // max(len(acceleration.geometries), 1)
        instance_records = acceleration.instance_geometry * np.uint32(ray_types)
    offsets = np.ascontiguousarray(instance_records, dtype=np.uint32)
    arrays = (acceleration.words, acceleration.top_row, records, misses, offsets)
    words = np.array(
        [
            *(array.ctypes.data for array in arrays),
            *(len(array) for array in arrays),
            acceleration.top_block,
            acceleration.base_address,
            ORDERS[order],
        ],
        dtype=np.int64,
    )
    return TraversalContext(words, acceleration, arrays)


@njit(cache=True, inline="always")
def open_context(words: np.ndarray) -> Context:
    """words: int64[CONTEXT_WORDS]."""
    return Context(
        words[0],
        carray(as_pointer(words[0]), (words[5] * BLOCK_BYTES,), np.uint8),
        carray(as_pointer(words[0]), (words[5] * BLOCK_WORDS,), np.uint32),
        carray(as_pointer(words[0]), (words[5] * BLOCK_WORDS,), np.float32),
        words[10],
        carray(as_pointer(words[1]), (words[6],), np.uint32),
        words[11],
        carray(as_pointer(words[2]), (words[7], 3), np.int32),
        carray(as_pointer(words[3]), (words[8],), np.int32),
        carray(as_pointer(words[4]), (words[9],), np.uint32),
        words[12],
    )


@intrinsic
def as_pointer(typing_context: Any, address: Any) -> Any:
    """An address as a pointer that ``carray`` takes."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), generate
