"""The loop of a traversal: take a record, log it, test it, push what it leads to.

Stack order ``VULKAN_SIM_ORDER``: of a node's hit children, in slot order, the first internal one is next and all others
are pushed; nothing is sorted or dropped when popped. ``NEAREST_ORDER``: children are pushed far to near and popped ones
behind the committed hit are dropped.
"""

import numpy as np
from numba import njit

from tracer.bvh_layout import (
    BLOCK_BYTES,
    BLOCK_WORDS,
    HEADER_ROOT,
    INSTANCE,
    INSTANCE_CHILD,
    INSTANCE_INDEX,
    INSTANCE_MASK,
    INSTANCE_WORLD_TO_OBJECT,
    INTERNAL,
    LEAF_DESCRIPTOR_ROW,
    LEAF_GEOMETRY,
    LEAF_OPAQUE_BIT,
    LEAF_PRIMITIVE,
    LEAF_VERTICES,
    NODE_CHILD_BYTES,
    NODE_CHILD_OFFSET,
    TRIANGLE,
    WIDTH,
)
from tracer.frame import FIELD, STATUS_ANY_HIT, STATUS_INTERSECTION
from tracer.geometry import HIT_FRONT, NO_HIT, intersect_triangle, safe_inverse, transform_point, transform_vector
from tracer.traversal_box import hit_children
from tracer.traversal_lane import (
    CANDIDATE,
    COMMITTED,
    FLAG_CULL_BACK,
    FLAG_CULL_FRONT,
    FLAG_CULL_NON_OPAQUE,
    FLAG_CULL_OPAQUE,
    FLAG_FIRST_HIT,
    FLAG_FORCE_ANY_HIT,
    FLAG_NO_ANY_HIT,
    FLAGS,
    HIT_T,
    SBT_OFFSET,
    SBT_STRIDE,
    T_MIN,
    Triple,
    world_ray,
    write_hit,
    write_suspension,
)
from tracer.traversal_state import (
    NEAREST_ORDER,
    STATE_BASE,
    STATE_INSTANCE,
    STATE_SCRATCH,
    STATE_STACK,
    STATE_TOP,
    Context,
)

ERROR_LOG_FULL, ERROR_RECORD = -1, -2
FINISHED = 0xFFFFFFFF
"""In the state's top: nothing is left to visit."""
NOTHING = -1
KIND_SHIFT = 28
BLOCK_MASK = (1 << KIND_SHIFT) - 1
HIT_BIT = np.uint32(1 << 31)
VISIBILITY = FIELD["visibility_mask"]
GO_ON, COMMITTED_HIT, SUSPENDED, SUSPENDED_OFFER = range(4)
MOST_WORDS = 2
"""Log words that one stack entry may need."""


Ray = tuple[Triple, Triple, Triple]
"""Origin, direction and 1 / direction in the space that is being traversed."""
Place = tuple[int, int, int, int]
"""Instance, primitive, geometry in its bottom level, hit record."""


@njit(cache=True, inline="always")
def push(state: np.ndarray, top: int, reference: int, entry: np.float32) -> None:
    """Write stack entry ``top``: kind and block, and how far along the ray its box begins."""
    state[STATE_STACK + 2 * top] = np.uint32(reference)
    state.view(np.float32)[STATE_STACK + 2 * top + 1] = entry


@njit(cache=True, error_model="numpy")
def walk(
    shared: Context,
    frame: np.ndarray,
    floats: np.ndarray,
    state: np.ndarray,
    lane: int,
    log: np.ndarray,
    count: int,
) -> int:
    """Visit records until none is left (``state[STATE_TOP] == FINISHED``) or a program is needed (the frame says
    which). ``count`` words of ``log`` are written already; returns how many are now, or an error."""
    t_min, limit = floats[T_MIN, lane], floats[COMMITTED + HIT_T, lane]
    top, base, inside = np.int64(state[STATE_TOP]), np.int64(state[STATE_BASE]), np.int64(state[STATE_INSTANCE])
    ray = _ray_in(shared, floats, lane, inside)
    entries, scratch = state.view(np.float32), state[STATE_SCRATCH:].ctypes.data
    current = np.int64(NOTHING)
    while True:
        if current == NOTHING:
            if top == base:
                if inside == 0:
                    state[STATE_TOP] = np.uint32(FINISHED)
                    return count
                inside, base = np.int64(0), np.int64(0)
                ray = _ray_in(shared, floats, lane, inside)
                continue
            top -= 1
            if shared.order == NEAREST_ORDER and entries[STATE_STACK + 2 * top + 1] > limit:
                continue
            current = np.int64(state[STATE_STACK + 2 * top])
        kind, block = current >> KIND_SHIFT, current & BLOCK_MASK
        current = np.int64(NOTHING)
        if count + MOST_WORDS > log.shape[0]:
            return ERROR_LOG_FULL
        if kind == INTERNAL:
            log[count] = block if inside != 0 else shared.top_row[block - shared.top_block]
            count += 1
            mask = hit_children(shared.image + BLOCK_BYTES * block, ray[0], ray[2], t_min, limit, scratch)
            if mask != 0:
                current, top = _push_children(shared, state, block, mask, top)
        elif kind == INSTANCE:
            log[count] = shared.top_row[block - shared.top_block]
            count += 1
            if frame[VISIBILITY, lane] & shared.words[BLOCK_WORDS * block + INSTANCE_MASK]:
                header = _bottom_header(shared, block)
                log[count] = header
                count += 1
                inside, base = block, top
                ray = _ray_in(shared, floats, lane, inside)
                root = shared.words[BLOCK_WORDS * header + HEADER_ROOT] >> np.uint32(6)
                current = np.int64(INTERNAL) << KIND_SHIFT | (header + np.int64(root))
        else:
            log[count] = shared.words[BLOCK_WORDS * block + LEAF_DESCRIPTOR_ROW]
            log[count + 1] = block
            count += 2
            if kind == TRIANGLE:
                action = _visit_triangle(shared, frame, floats, lane, inside, block, ray)
                if action == COMMITTED_HIT:
                    limit = floats[COMMITTED + HIT_T, lane]
                if action > GO_ON:
                    log[count - 1] |= HIT_BIT
            else:
                action = _visit_procedural(shared, frame, floats, lane, inside, block, ray)
            if action < GO_ON:
                return action
            if action >= SUSPENDED:
                state[STATE_TOP], state[STATE_BASE], state[STATE_INSTANCE] = top, base, inside
                return count
            if action == COMMITTED_HIT and frame[FLAGS, lane] & np.uint32(FLAG_FIRST_HIT):
                state[STATE_TOP] = np.uint32(FINISHED)
                return count


@njit(cache=True, error_model="numpy")
def _ray_in(shared: Context, floats: np.ndarray, lane: int, inside: int) -> Ray:
    """The ray in world space, or in the object space of the instance at block ``inside``."""
    origin, direction, _, _ = world_ray(floats, lane)
    if inside != 0:
        matrix = shared.floats[BLOCK_WORDS * inside + INSTANCE_WORLD_TO_OBJECT :]
        origin, direction = (
            transform_point(matrix, origin[0], origin[1], origin[2]),
            transform_vector(matrix, direction[0], direction[1], direction[2]),
        )
    return origin, direction, (safe_inverse(direction[0]), safe_inverse(direction[1]), safe_inverse(direction[2]))


@njit(cache=True, inline="always")
def _bottom_header(shared: Context, block: int) -> int:
    """Block of the header of an instance's bottom level."""
    word = BLOCK_WORDS * block + INSTANCE_CHILD
    address = np.int64(shared.words[word]) | np.int64(shared.words[word + 1]) << 32
    return (address - shared.base_address) >> 6


@njit(cache=True, error_model="numpy")
def _push_children(shared: Context, state: np.ndarray, block: int, mask: int, top: int) -> tuple[int, int]:
    """Push the hit children of a node in the context's order; returns what is next (or NOTHING) and the new top."""
    entries = state.view(np.float32)
    child = block + np.int64(shared.words[BLOCK_WORDS * block + NODE_CHILD_OFFSET])
    codes = BLOCK_BYTES * block + NODE_CHILD_BYTES
    following, first = np.int64(NOTHING), top
    for slot in range(WIDTH):
        code = np.int64(shared.bytes[codes + slot])
        if code == 0:
            break
        if mask >> slot & 1:
            reference = (code >> 4) << KIND_SHIFT | child
            if shared.order != NEAREST_ORDER:
                if following == NOTHING and code >> 4 == INTERNAL:
                    following = reference
                else:
                    push(state, top, reference, entries[STATE_SCRATCH + slot])
                    top += 1
            else:
                _insert(state, first, top, reference, entries[STATE_SCRATCH + slot])
                top += 1
        child += code & 15
    return following, top


@njit(cache=True, error_model="numpy")
def _insert(state: np.ndarray, first: int, top: int, reference: int, entry: np.float32) -> None:
    """Push so that entries from ``first`` stay sorted, the nearest on top; equal ones in slot order from the top."""
    entries = state.view(np.float32)
    slot = top
    while slot > first and entries[STATE_STACK + 2 * slot - 1] <= entry:
        push(state, slot, state[STATE_STACK + 2 * slot - 2], entries[STATE_STACK + 2 * slot - 1])
        slot -= 1
    push(state, slot, reference, entry)


@njit(cache=True, error_model="numpy")
def _visit_triangle(
    shared: Context, frame: np.ndarray, floats: np.ndarray, lane: int, inside: int, block: int, ray: Ray
) -> int:
    """Test a triangle; commits the hit, offers it to an any-hit program, or goes on."""
    at = BLOCK_WORDS * block
    hit = intersect_triangle(shared.floats[at + LEAF_VERTICES : at + LEAF_VERTICES + 9], ray[0], ray[1])
    if hit[0] == NO_HIT:
        return GO_ON
    if not (hit[1] >= floats[T_MIN, lane] and hit[1] < floats[COMMITTED + HIT_T, lane]):
        return GO_ON
    flags = np.int64(frame[FLAGS, lane])
    opaque = shared.words[at + LEAF_GEOMETRY] & np.uint32(LEAF_OPAQUE_BIT) != 0
    opaque = (opaque or flags & FLAG_NO_ANY_HIT != 0) and flags & FLAG_FORCE_ANY_HIT == 0
    culled = flags & (FLAG_CULL_BACK if hit[0] != HIT_FRONT else FLAG_CULL_FRONT)
    culled |= flags & (FLAG_CULL_OPAQUE if opaque else FLAG_CULL_NON_OPAQUE)
    if culled:
        return GO_ON
    place = _place(shared, frame, lane, inside, at)
    if not opaque:
        if place[3] >= shared.hit_records.shape[0]:
            return ERROR_RECORD
        program = shared.hit_records[place[3], 1]
        if program >= 0:
            write_hit(frame, floats, lane, CANDIDATE, hit, place)
            write_suspension(frame, floats, lane, STATUS_ANY_HIT, program, ray[0], ray[1])
            return SUSPENDED_OFFER
    write_hit(frame, floats, lane, COMMITTED, hit, place)
    return COMMITTED_HIT


@njit(cache=True, error_model="numpy")
def _visit_procedural(
    shared: Context, frame: np.ndarray, floats: np.ndarray, lane: int, inside: int, block: int, ray: Ray
) -> int:
    """Offer a procedural primitive to its intersection program, when it has one."""
    place = _place(shared, frame, lane, inside, BLOCK_WORDS * block)
    if place[3] >= shared.hit_records.shape[0]:
        return ERROR_RECORD
    program = shared.hit_records[place[3], 2]
    if program < 0:
        return GO_ON
    nowhere = np.float32(0.0)
    write_hit(frame, floats, lane, CANDIDATE, (NO_HIT, floats[COMMITTED + HIT_T, lane], nowhere, nowhere), place)
    write_suspension(frame, floats, lane, STATUS_INTERSECTION, program, ray[0], ray[1])
    return SUSPENDED


@njit(cache=True, inline="always")
def _place(shared: Context, frame: np.ndarray, lane: int, inside: int, at: int) -> Place:
    instance = np.int64(shared.words[BLOCK_WORDS * inside + INSTANCE_INDEX])
    geometry = np.int64(shared.words[at + LEAF_GEOMETRY]) & ~LEAF_OPAQUE_BIT
    record = np.int64(shared.instance_record[instance]) + geometry * np.int64(frame[SBT_STRIDE, lane])
    return instance, np.int64(shared.words[at + LEAF_PRIMITIVE]), geometry, record + np.int64(frame[SBT_OFFSET, lane])
