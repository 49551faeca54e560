"""The loop of a traversal: take a record, log it, test it, push what it leads to.

Stack order ``VULKAN_SIM_ORDER``: of a node's hit children, in slot order, the first internal one is next and all others
are pushed; nothing is sorted or dropped when popped. ``NEAREST_ORDER``: children are pushed far to near and popped ones
behind the committed hit are dropped.
"""

import numpy as np
from numba import njit

from tracer.bvh_layout import (
    BLOCK_BYTES,
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
)
from tracer.frame import STATUS_ANY_HIT, STATUS_INTERSECTION
from tracer.geometry import (
    HIT_FRONT,
    NO_HIT,
    ZERO,
    Triple,
    intersect_triangle,
    safe_inverse,
    transform_point,
    transform_vector,
)
from tracer.raw_memory import load_f32, load_i32, load_u8, load_u32, population, store_f32, store_u32, trailing_zeros
from tracer.traversal_box import INSTANCE_SHIFT, INTERNAL_SHIFT, hit_children
from tracer.traversal_lane import (
    CANDIDATE,
    COMMITTED,
    DIRECTION,
    FLAG_CULL_BACK,
    FLAG_CULL_FRONT,
    FLAG_CULL_NON_OPAQUE,
    FLAG_CULL_OPAQUE,
    FLAG_FIRST_HIT,
    FLAG_FORCE_ANY_HIT,
    FLAG_NO_ANY_HIT,
    FLAGS,
    HIT_T,
    ORIGIN,
    SBT_OFFSET,
    SBT_STRIDE,
    T_MIN,
    VISIBILITY,
    Place,
    get,
    get_float,
    get_triple,
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
"""A reference to a record is its kind above this bit and its block below."""
BLOCK_MASK = (1 << KIND_SHIFT) - 1
HIT_BIT = 1 << 31
GO_ON, COMMITTED_HIT, SUSPENDED = range(3)
MOST_WORDS = 2
"""Log words that one stack entry may need."""

Ray = tuple[Triple, Triple, Triple]
"""Origin, direction and 1 / direction in the space that is being traversed."""


@njit(cache=True, error_model="numpy")
def walk(shared: Context, lane: int, state: int, log: int, count: int, capacity: int) -> int:
    """Visit records until none is left (the state's top is FINISHED) or a program is needed (the frame says which).

    lane: address of the lane's first field; state, log: addresses. ``count`` words of ``capacity`` are written already;
    returns how many are now, or an error.
    """
    t_min, limit = get_float(lane, T_MIN), get_float(lane, COMMITTED + HIT_T)
    top, base, inside = _word(state, STATE_TOP), _word(state, STATE_BASE), _word(state, STATE_INSTANCE)
    ray = _ray_in(shared, lane, inside)
    current = NOTHING
    while True:
        if current == NOTHING:
            if top == base:
                if inside == 0:
                    store_u32(state + 4 * STATE_TOP, FINISHED)
                    return count
                inside, base = 0, 0
                ray = _ray_in(shared, lane, inside)
                continue
            top -= 1
            entry = state + 4 * STATE_STACK + 8 * top
            if shared.order == NEAREST_ORDER and load_f32(entry + 4) > limit:
                continue
            current = load_u32(entry)
        kind, block = current >> KIND_SHIFT, current & BLOCK_MASK
        record = shared.image + BLOCK_BYTES * block
        current = NOTHING
        if count + MOST_WORDS > capacity:
            return ERROR_LOG_FULL
        if kind == INTERNAL:
            _write(log, count, block if inside != 0 else _top_row(shared, block))
            count += 1
            found = hit_children(record, ray[0], ray[2], t_min, limit, state + 4 * STATE_SCRATCH)
            if found & 0xFF:
                current, top = _push_children(shared.order, record, block, found, state, top)
        elif kind == INSTANCE:
            _write(log, count, _top_row(shared, block))
            count += 1
            if get(lane, VISIBILITY) & _word(record, INSTANCE_MASK):
                header = _bottom_header(shared, record)
                _write(log, count, header)
                count += 1
                inside, base = block, top
                ray = _ray_in(shared, lane, inside)
                current = INTERNAL << KIND_SHIFT | root_of(shared, header)
        else:
            _write(log, count, _word(record, LEAF_DESCRIPTOR_ROW))
            _write(log, count + 1, block)
            count += 2
            action = _visit_leaf(shared, lane, inside, record, kind, ray, t_min, limit, log + 4 * (count - 1))
            if action != GO_ON:
                if action == SUSPENDED:
                    _save(state, top, base, inside)
                    return count
                if action != COMMITTED_HIT:
                    return action
                if get(lane, FLAGS) & FLAG_FIRST_HIT:
                    store_u32(state + 4 * STATE_TOP, FINISHED)
                    return count
                limit = get_float(lane, COMMITTED + HIT_T)


@njit(cache=True)
def _word(record: int, word: int) -> int:
    return load_u32(record + 4 * word)


@njit(cache=True)
def _write(log: int, index: int, row: int) -> None:
    store_u32(log + 4 * index, row)


@njit(cache=True)
def _save(state: int, top: int, base: int, inside: int) -> None:
    store_u32(state + 4 * STATE_TOP, top)
    store_u32(state + 4 * STATE_BASE, base)
    store_u32(state + 4 * STATE_INSTANCE, inside)


@njit(cache=True)
def push(state: int, top: int, reference: int, entry: np.float32) -> None:
    """Write stack entry ``top``: what to visit, and how far along the ray its box begins."""
    store_u32(state + 4 * STATE_STACK + 8 * top, reference)
    store_f32(state + 4 * STATE_STACK + 8 * top + 4, entry)


@njit(cache=True)
def root_of(shared: Context, header: int) -> int:
    """Block of the root of the level whose header is block ``header``."""
    return header + _word(shared.image + BLOCK_BYTES * header, HEADER_ROOT) // BLOCK_BYTES


@njit(cache=True)
def _top_row(shared: Context, block: int) -> int:
    return load_u32(shared.top_row + 4 * (block - shared.top_block))


@njit(cache=True)
def _bottom_header(shared: Context, record: int) -> int:
    """Block of the header of an instance's bottom level."""
    address = _word(record, INSTANCE_CHILD) | _word(record, INSTANCE_CHILD + 1) << 32
    return (address - shared.base_address) // BLOCK_BYTES


@njit(cache=True, error_model="numpy")
def _ray_in(shared: Context, lane: int, inside: int) -> Ray:
    """The ray in world space, or in the object space of the instance at block ``inside``."""
    origin, direction = get_triple(lane, ORIGIN), get_triple(lane, DIRECTION)
    if inside != 0:
        matrix = shared.image + BLOCK_BYTES * inside + 4 * INSTANCE_WORLD_TO_OBJECT
        origin, direction = transform_point(matrix, origin), transform_vector(matrix, direction)
    return origin, direction, (safe_inverse(direction[0]), safe_inverse(direction[1]), safe_inverse(direction[2]))


@njit(cache=True, error_model="numpy")
def _push_children(order: int, record: int, block: int, found: int, state: int, top: int) -> tuple[int, int]:
    """Push the hit children of a node in the given order; returns what is next (or NOTHING) and the new top."""
    child = block + _word(record, NODE_CHILD_OFFSET)
    hits, following, first = found & 0xFF, NOTHING, top
    inner = hits & found >> INTERNAL_SHIFT
    if order != NEAREST_ORDER and inner != 0:
        slot = trailing_zeros(inner)
        following = INTERNAL << KIND_SHIFT | _child_block(child, found, slot)
        hits &= ~(1 << slot)
    while hits != 0:
        slot = trailing_zeros(hits)
        hits &= hits - 1
        kind = load_u8(record + NODE_CHILD_BYTES + slot) >> 4
        reference = kind << KIND_SHIFT | _child_block(child, found, slot)
        entry = load_f32(state + 4 * (STATE_SCRATCH + slot))
        if order == NEAREST_ORDER:
            _insert(state, first, top, reference, entry)
        else:
            push(state, top, reference, entry)
        top += 1
    return following, top


@njit(cache=True)
def _child_block(child: int, found: int, slot: int) -> int:
    """Children follow each other; an instance takes two blocks."""
    return child + slot + population(found >> INSTANCE_SHIFT & ((1 << slot) - 1))


@njit(cache=True, error_model="numpy")
def _insert(state: int, first: int, top: int, reference: int, entry: np.float32) -> None:
    """Push so that entries from ``first`` stay sorted, the nearest on top; equal ones in slot order from the top."""
    slot = top
    while slot > first and load_f32(state + 4 * STATE_STACK + 8 * slot - 4) <= entry:
        below = state + 4 * STATE_STACK + 8 * slot - 8
        push(state, slot, load_u32(below), load_f32(below + 4))
        slot -= 1
    push(state, slot, reference, entry)


@njit(cache=True, error_model="numpy")
def _visit_leaf(
    shared: Context,
    lane: int,
    inside: int,
    record: int,
    kind: int,
    ray: Ray,
    t_min: np.float32,
    limit: np.float32,
    logged: int,
) -> int:
    """Test a triangle, or offer a procedural primitive to its program. logged: address of the leaf's log word."""
    if kind != TRIANGLE:
        return _offer_procedural(shared, lane, inside, record, ray, limit)
    hit = intersect_triangle(record + 4 * LEAF_VERTICES, ray[0], ray[1])
    if hit[0] == NO_HIT or hit[1] < t_min or hit[1] >= limit:
        return GO_ON
    flags = get(lane, FLAGS)
    opaque = _word(record, LEAF_GEOMETRY) & LEAF_OPAQUE_BIT != 0
    opaque = (opaque or flags & FLAG_NO_ANY_HIT != 0) and flags & FLAG_FORCE_ANY_HIT == 0
    culled = flags & (FLAG_CULL_FRONT if hit[0] == HIT_FRONT else FLAG_CULL_BACK)
    if culled | flags & (FLAG_CULL_OPAQUE if opaque else FLAG_CULL_NON_OPAQUE):
        return GO_ON
    place = _place(shared, lane, inside, record)
    program = -1
    if not opaque:
        if place[3] >= shared.hit_record_count:
            return ERROR_RECORD
        program = load_i32(shared.hit_records + 12 * place[3] + 4)
    store_u32(logged, load_u32(logged) | HIT_BIT)
    if program < 0:
        write_hit(lane, COMMITTED, hit, place)
        return COMMITTED_HIT
    write_hit(lane, CANDIDATE, hit, place)
    write_suspension(lane, STATUS_ANY_HIT, program, ray[0], ray[1])
    return SUSPENDED


@njit(cache=True, error_model="numpy")
def _offer_procedural(shared: Context, lane: int, inside: int, record: int, ray: Ray, limit: np.float32) -> int:
    """Suspend the lane for the intersection program of a procedural primitive, when it has one."""
    place = _place(shared, lane, inside, record)
    if place[3] >= shared.hit_record_count:
        return ERROR_RECORD
    program = load_i32(shared.hit_records + 12 * place[3] + 8)
    if program < 0:
        return GO_ON
    write_hit(lane, CANDIDATE, (NO_HIT, limit, ZERO, ZERO), place)
    write_suspension(lane, STATUS_INTERSECTION, program, ray[0], ray[1])
    return SUSPENDED


@njit(cache=True)
def _place(shared: Context, lane: int, inside: int, record: int) -> Place:
    instance = _word(shared.image + BLOCK_BYTES * inside, INSTANCE_INDEX)
    geometry = _word(record, LEAF_GEOMETRY) & (LEAF_OPAQUE_BIT - 1)
    first = load_u32(shared.instance_record + 4 * instance)
    hit_record = first + geometry * get(lane, SBT_STRIDE) + get(lane, SBT_OFFSET)
    return instance, _word(record, LEAF_PRIMITIVE), geometry, hit_record
