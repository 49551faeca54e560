"""A lane's stack of records still to visit, and the order in which a node's children get there.

``VULKAN_SIM_ORDER``: of a node's hit children, in slot order, the first internal one is next and all others are pushed;
nothing is sorted, and nothing dropped when popped. ``NEAREST_ORDER``: children are pushed far to near, and popped ones
that lie behind the committed hit are dropped.
"""

import numpy as np

from rayplay.tracer.bvh.layout import EIGHT, INTERNAL, MOST_CHILDREN, SIX
from rayplay.tracer.native.jit import compiled
from rayplay.tracer.native.memory import load_f32, load_u8, load_u32, population, store_f32, store_u32, trailing_zeros
from rayplay.tracer.rays.box import INSTANCE_SHIFT, INTERNAL_SHIFT
from rayplay.tracer.rays.state import NEAREST_ORDER, STATE

NOTHING = -1
KIND_SHIFT = 28
"""A reference to a record is its kind above this bit and its block below."""
BLOCK_MASK = (1 << KIND_SHIFT) - 1
CULLED = 1 << 31
"""Mark of a reference to a record that culling removed."""


Children = tuple[int, int, int]
"""Of a node: block of the first child, address of the byte of its first slot, blocks of an internal child."""


@compiled
def children_of(wide: int, record: int, block: int) -> Children:
    """Places of the children of the node at ``block``, whose bytes are at ``record``."""
    if wide:
        return block + load_u32(record + 4 * EIGHT.child_offset), record + EIGHT.child_bytes, EIGHT.blocks
    return block + load_u32(record + 4 * SIX.child_offset), record + SIX.child_bytes, SIX.blocks


@compiled
def push(state: int, top: int, reference: int, entry: np.float32) -> None:
    """Write stack entry ``top``: what to visit, and how far along the ray its box begins."""
    store_u32(state + 4 * STATE.stack + 8 * top, reference)
    store_f32(state + 4 * STATE.stack + 8 * top + 4, entry)


@compiled
def pop(order: int, keeps: int, state: int, top: int, base: int, limit: np.float32) -> tuple[int, int]:
    """Take the top entry above ``base``; returns it, or NOTHING, and the new top, where its distance still stands.

    keeps  1: an entry that lies behind the committed hit is taken all the same, marked CULLED.
    """
    while top > base:
        top -= 1
        entry = state + 4 * STATE.stack + 8 * top
        if order != NEAREST_ORDER or load_f32(entry + 4) <= limit:
            return load_u32(entry), top
        if keeps:
            return load_u32(entry) | CULLED, top
    return NOTHING, top


@compiled
def distance_at(state: int, entry: int) -> np.float32:
    """Entry distance of a stack entry."""
    return load_f32(state + 4 * STATE.stack + 8 * entry + 4)


@compiled
def push_all(
    order: int, children: Children, found: int, state: int, top: int, reach: np.float32, mark: int
) -> tuple[int, int, np.float32]:
    """Push the children of a node that is culled itself (``mark`` CULLED), or those behind ``reach``, marked; then the
    others, which come before them. Returns what ``push_children`` does."""
    if mark != 0:
        return push_children(order, children, found, state, top, mark)
    behind = 0
    for slot in range(MOST_CHILDREN):
        if load_f32(state + 4 * (STATE.scratch + slot)) > reach:
            behind |= 1 << slot
    behind &= found
    if behind != 0:  # without kinds: none of them is next
        _, top, _ = push_children(order, children, found & ~0xFFFF | behind, state, top, CULLED)
    return push_children(order, children, found & ~behind, state, top, 0)


@compiled
def push_children(
    order: int, children: Children, found: int, state: int, top: int, mark: int
) -> tuple[int, int, np.float32]:
    """Push the hit children of a node in the given order, marked with ``mark``; returns the next reference (or
    NOTHING), the new top, and the entry distance of the next."""
    distance = np.float32(0.0)
    hits, following, first = found & 0xFF, NOTHING, top
    inner = hits & found >> INTERNAL_SHIFT
    if order != NEAREST_ORDER and inner != 0:
        slot = trailing_zeros(inner)
        following = INTERNAL << KIND_SHIFT | _child_block(children, found, slot) | mark
        distance = load_f32(state + 4 * (STATE.scratch + slot))
        hits &= ~(1 << slot)
    while hits != 0:
        slot = trailing_zeros(hits)
        hits &= hits - 1
        kind = load_u8(children[1] + slot) >> 4
        reference = kind << KIND_SHIFT | _child_block(children, found, slot) | mark
        entry = load_f32(state + 4 * (STATE.scratch + slot))
        if order == NEAREST_ORDER:
            _insert(state, first, top, reference, entry)
        else:
            push(state, top, reference, entry)
        top += 1
    return following, top, distance


@compiled
def _child_block(children: Children, found: int, slot: int) -> int:
    """Children follow each other; an instance takes two blocks, and so may an internal node."""
    double = found >> INSTANCE_SHIFT
    if children[2] > 1:
        double |= found >> INTERNAL_SHIFT
    return children[0] + slot + population(double & ((1 << slot) - 1))


@compiled
def _insert(state: int, first: int, top: int, reference: int, entry: np.float32) -> None:
    """Push so that entries from ``first`` stay sorted, the nearest on top; equal ones in slot order from the top."""
    slot = top
    while slot > first and load_f32(state + 4 * STATE.stack + 8 * slot - 4) <= entry:
        below = state + 4 * STATE.stack + 8 * slot - 8
        push(state, slot, load_u32(below), load_f32(below + 4))
        slot -= 1
    push(state, slot, reference, entry)
