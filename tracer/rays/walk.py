"""The loop of a traversal: take a record, log it, test it, push what it leads to."""

import numpy as np

from rayplay.tracer.abi import trace_frame
from rayplay.tracer.abi.trace_frame import FRAME, HIT, HIT_KIND_BACK, HIT_KIND_FRONT, STATUS
from rayplay.tracer.bvh import layout
from rayplay.tracer.native.jit import compiled
from rayplay.tracer.native.memory import load_i32, load_u32, store_f32, store_u32
from rayplay.tracer.rays import geometry
from rayplay.tracer.rays.box import hit_eight, hit_six
from rayplay.tracer.rays.geometry import HIT_FRONT, NO_HIT, ZERO, Triple, safe_inverse
from rayplay.tracer.rays.lane import NO_INSTANCE, Place, get, get_float, get_triple, write_hit, write_suspension
from rayplay.tracer.rays.stack import (
    BLOCK_MASK,
    CULLED,
    KIND_SHIFT,
    NOTHING,
    children_of,
    distance_at,
    pop,
    push_all,
    push_children,
)
from rayplay.tracer.rays.state import MOST_KEPT, STATE, VULKAN_SIM_ORDER, Context

ERROR_LOG_FULL, ERROR_RECORD, ERROR_KEPT_FULL = -1, -2, -4
FINISHED = 0xFFFFFFFF
"""In the state's top: nothing is left to visit."""
HIT_BIT = 1 << 31
CULLED_BIT = 1 << 30
"""In a word of the log: culling removed this visit."""
INFINITY = np.float32(np.inf)
ONE_PLACE = np.float32(1.0 + 2.0**-20)
"""Ratio of distances up to which two triangles lie in one place: some roundings of an intersection."""
GO_ON, COMMITTED_HIT, SUSPENDED, FARTHER_HIT = range(4)
MOST_WORDS = 2
"""Log words that one stack entry may need."""

Ray = tuple[Triple, Triple, Triple]
"""Origin, direction and 1 / direction in the space that is being traversed."""


@compiled
def walk(shared: Context, lane: int, state: int, log: int, count: int, capacity: int) -> int:
    """Visit records until none is left (the state's top is FINISHED) or a program is needed (the frame says which).
    lane: address of the lane's first field; state, log: addresses. ``count`` words of ``capacity`` are written already;
    returns how many are now, or an error."""
    t_min, limit = get_float(lane, FRAME.t_min), get_float(lane, FRAME.committed_t + HIT.t)
    top, base, inside = _word(state, STATE.top), _word(state, STATE.base), _word(state, STATE.instance)
    ray = _ray_in(shared, lane, inside)
    current, distance = NOTHING, t_min
    while True:
        if current == NOTHING:
            current, top = pop(shared.order, shared.culled, state, top, base, limit)
            distance = distance_at(state, top)
        if current == NOTHING:  # this level is done
            if inside == 0:
                _save(state, FINISHED, 0, 0)
                return count
            inside, base = 0, 0
            ray = _ray_in(shared, lane, inside)
            continue
        mark = current & CULLED
        kind, block = (current & ~CULLED) >> KIND_SHIFT, current & BLOCK_MASK
        record, current = shared.image + layout.BLOCK_BYTES * block, NOTHING
        if count + MOST_WORDS > capacity:
            return ERROR_LOG_FULL
        if kind == layout.INTERNAL:
            row = block if inside != 0 and not shared.wide else _row(shared, block)
            count = _write(shared, log, count, row, mark, distance)
            reach = farthest = limit
            if shared.culled:
                farthest = get_float(lane, FRAME.t_max)
            if shared.order == VULKAN_SIM_ORDER:  # boxes that begin at the closest hit are behind it
                reach, farthest = np.nextafter(reach, -INFINITY), np.nextafter(farthest, -INFINITY)
            if shared.wide:
                found = hit_eight(record, ray[0], ray[2], t_min, farthest, state + 4 * STATE.scratch)
            else:
                found = hit_six(record, ray[0], ray[2], t_min, farthest, state + 4 * STATE.scratch)
            children = children_of(shared.wide, record, block)
            if found & 0xFF and shared.culled:
                current, top, distance = push_all(shared.order, children, found, state, top, reach, mark)
            elif found & 0xFF:
                current, top, distance = push_children(shared.order, children, found, state, top, 0)
        elif kind == layout.INSTANCE:
            current, count = _enter_instance(shared, lane, block, record, log, count, mark, distance)
            if current != NOTHING:
                inside, base = block, top
                ray = _ray_in(shared, lane, inside)
        else:
            if shared.descriptors:
                count = _write(shared, log, count, _word(record, layout.LEAF_DESCRIPTOR_ROW), mark, distance)
            count += 1
            if shared.distance_log:
                distance = _leaf_distance(lane, kind, record, ray, distance)
            _write(shared, log, count - 1, _row(shared, block) if shared.wide else block, mark, distance)
            if mark != 0:
                if kind == layout.TRIANGLE and distance < INFINITY:
                    _mark_hit(log, count - 1)
                continue
            action = _offer(shared, lane, inside, block, kind, ray, limit)
            if action > GO_ON and kind == layout.TRIANGLE:
                _mark_hit(log, count - 1)
            if action == FARTHER_HIT:
                action = GO_ON
            if action == SUSPENDED and shared.delayed:
                action = _keep(state, inside, kind << KIND_SHIFT | block)
            if action == COMMITTED_HIT and get(lane, FRAME.flags) & trace_frame.FLAG_FIRST_HIT == 0:
                limit = get_float(lane, FRAME.committed_t + HIT.t)
            elif action != GO_ON:
                _save(state, FINISHED if action == COMMITTED_HIT else top, base, inside)
                return count if action > GO_ON else action


@compiled
def _word(record: int, word: int) -> int:
    return load_u32(record + 4 * word)


@compiled
def _write(shared: Context, log: int, index: int, row: int, mark: int, distance: np.float32) -> int:
    """Log a record, marked where it is CULLED, and its distance; returns the next index."""
    store_u32(log + 4 * index, row | mark >> 1)
    if shared.distance_log:
        store_f32(log + shared.distance_log + 4 * index, distance)
    return index + 1


@compiled
def _mark_hit(log: int, index: int) -> None:
    store_u32(log + 4 * index, load_u32(log + 4 * index) | HIT_BIT)


@compiled
def _leaf_distance(lane: int, kind: int, record: int, ray: Ray, distance: np.float32) -> np.float32:
    """Distance of a triangle's hit, infinity where the ray has none in its interval; of another leaf its box's."""
    if kind != layout.TRIANGLE:
        return distance
    hit = geometry.intersect_triangle(record + 4 * layout.LEAF_VERTICES, ray[0], ray[1])
    if hit[0] == NO_HIT or not get_float(lane, FRAME.t_min) <= hit[1] <= get_float(lane, FRAME.t_max):
        return INFINITY
    return hit[1]


@compiled
def _save(state: int, top: int, base: int, inside: int) -> None:
    store_u32(state + 4 * STATE.top, top)
    store_u32(state + 4 * STATE.base, base)
    store_u32(state + 4 * STATE.instance, inside)


@compiled
def root_of(shared: Context, header: int) -> int:
    """Block of the root of the level whose header is block ``header``."""
    return header + _word(shared.image + layout.BLOCK_BYTES * header, layout.HEADER_ROOT) // layout.BLOCK_BYTES


@compiled
def _row(shared: Context, block: int) -> int:
    return load_u32(shared.block_row + 4 * block)


@compiled
def _enter_instance(
    shared: Context, lane: int, block: int, record: int, log: int, count: int, mark: int, distance: np.float32
) -> tuple[int, int]:
    """Log an instance and its bottom level's header; returns a reference to the root, or NOTHING for an instance that
    the ray does not see, and how many words are logged now."""
    _write(shared, log, count, _row(shared, block), mark, distance)
    if get(lane, FRAME.visibility_mask) & _word(record, layout.INSTANCE_MASK) == 0:
        return NOTHING, count + 1
    address = _word(record, layout.INSTANCE_CHILD) | _word(record, layout.INSTANCE_CHILD + 1) << 32
    header = (address - shared.base_address) // layout.BLOCK_BYTES
    _write(shared, log, count + 1, _row(shared, header), mark, distance)
    return layout.INTERNAL << KIND_SHIFT | root_of(shared, header) | mark, count + 2


@compiled
def _ray_in(shared: Context, lane: int, inside: int) -> Ray:
    """The ray in world space, or in the object space of the instance at block ``inside``."""
    origin, direction = get_triple(lane, FRAME.origin_x), get_triple(lane, FRAME.direction_x)
    if inside != 0:
        matrix = shared.image + layout.BLOCK_BYTES * inside + 4 * layout.INSTANCE_WORLD_TO_OBJECT
        origin, direction = geometry.transform_point(matrix, origin), geometry.transform_vector(matrix, direction)
    return origin, direction, (safe_inverse(direction[0]), safe_inverse(direction[1]), safe_inverse(direction[2]))


@compiled
def offer_kept(shared: Context, lane: int, state: int) -> int:
    """Offer the candidates that were kept, in the order they were met, up to one that needs its program: SUSPENDED.
    GO_ON when none is left, or an error."""
    while _word(state, STATE.kept_first) < _word(state, STATE.kept_last):
        first = _word(state, STATE.kept_first)
        store_u32(state + 4 * STATE.kept_first, first + 1)
        inside, leaf = _word(state, STATE.kept + 2 * first), _word(state, STATE.kept + 2 * first + 1)
        ray, limit = _ray_in(shared, lane, inside), get_float(lane, FRAME.committed_t + HIT.t)
        action = _offer(shared, lane, inside, leaf & BLOCK_MASK, leaf >> KIND_SHIFT, ray, limit)
        if action != GO_ON and action != FARTHER_HIT:
            return action
    return GO_ON


@compiled
def keep_none(state: int) -> None:
    """Forget the candidates that were kept."""
    store_u32(state + 4 * STATE.kept_first, 0)
    store_u32(state + 4 * STATE.kept_last, 0)


@compiled
def _keep(state: int, inside: int, leaf: int) -> int:
    """Keep a candidate for the end of the traversal: GO_ON, or an error when there is no room."""
    last = _word(state, STATE.kept_last)
    if last == MOST_KEPT:
        return ERROR_KEPT_FULL
    store_u32(state + 4 * (STATE.kept + 2 * last), inside)
    store_u32(state + 4 * (STATE.kept + 2 * last + 1), leaf)
    store_u32(state + 4 * STATE.kept_last, last + 1)
    return GO_ON


@compiled
def _offer(shared: Context, lane: int, inside: int, block: int, kind: int, ray: Ray, limit: np.float32) -> int:
    """Test a triangle, or offer a procedural primitive to its program. In Vulkan-Sim's order a triangle that the ray
    meets behind its closest hit is a FARTHER_HIT, which its records say (``docs/sources/vulkan-sim.md#ray-flags``)."""
    record = shared.image + layout.BLOCK_BYTES * block
    if kind != layout.TRIANGLE:
        return _offer_procedural(shared, lane, inside, record, ray, limit)
    hit = geometry.intersect_triangle(record + 4 * layout.LEAF_VERTICES, ray[0], ray[1])
    if hit[0] == NO_HIT or hit[1] < get_float(lane, FRAME.t_min):
        return GO_ON
    if _is_behind(lane, hit[0] == HIT_FRONT, hit[1], limit):
        is_record = shared.order == VULKAN_SIM_ORDER and hit[1] <= get_float(lane, FRAME.t_max)
        return FARTHER_HIT if is_record else GO_ON
    flags = get(lane, FRAME.flags)
    opaque = _word(record, layout.LEAF_GEOMETRY) & layout.LEAF_OPAQUE_BIT != 0
    opaque = (opaque or flags & trace_frame.FLAG_NO_ANY_HIT != 0) and flags & trace_frame.FLAG_FORCE_ANY_HIT == 0
    culled = flags & (trace_frame.FLAG_CULL_FRONT if hit[0] == HIT_FRONT else trace_frame.FLAG_CULL_BACK)
    if culled | flags & (trace_frame.FLAG_CULL_OPAQUE if opaque else trace_frame.FLAG_CULL_NON_OPAQUE):
        return GO_ON
    place = _place(shared, lane, inside, record)
    program = -1
    if not opaque:
        if place[3] >= shared.hit_record_count:
            return ERROR_RECORD
        program = load_i32(shared.hit_records + 12 * place[3] + 4)
    if program < 0:
        write_hit(lane, FRAME.committed_t, hit, place)
        return COMMITTED_HIT
    write_hit(lane, FRAME.candidate_t, hit, place)
    write_suspension(lane, STATUS.any_hit, program, ray[0], ray[1])
    return SUSPENDED


@compiled
def _is_behind(lane: int, is_front: bool, distance: np.float32, limit: np.float32) -> bool:
    """Whether a triangle's hit lies behind the closest one. Of two triangles in one place, such as the two sides of a
    surface, the one that faces the ray is in front."""
    kind = get(lane, FRAME.committed_t + HIT.kind)
    if get(lane, FRAME.committed_t + HIT.instance) != NO_INSTANCE:
        if is_front and kind == HIT_KIND_BACK and distance <= limit * ONE_PLACE:
            return False
        if not is_front and kind == HIT_KIND_FRONT and limit <= distance * ONE_PLACE:
            return True
    return bool(distance >= limit)


@compiled
def _offer_procedural(shared: Context, lane: int, inside: int, record: int, ray: Ray, limit: np.float32) -> int:
    """Suspend the lane for the intersection program of a procedural primitive, when it has one."""
    place = _place(shared, lane, inside, record)
    if place[3] >= shared.hit_record_count:
        return ERROR_RECORD
    program = load_i32(shared.hit_records + 12 * place[3] + 8)
    if program < 0:
        return GO_ON
    write_hit(lane, FRAME.candidate_t, (NO_HIT, limit, ZERO, ZERO), place)
    write_suspension(lane, STATUS.intersection, program, ray[0], ray[1])
    return SUSPENDED


@compiled
def _place(shared: Context, lane: int, inside: int, record: int) -> Place:
    instance = _word(shared.image + layout.BLOCK_BYTES * inside, layout.INSTANCE_INDEX)
    number = _word(record, layout.LEAF_GEOMETRY) & (layout.LEAF_OPAQUE_BIT - 1)
    first = load_u32(shared.instance_record + 4 * instance)
    hit_record = first + number * get(lane, FRAME.sbt_stride) + get(lane, FRAME.sbt_offset)
    return instance, _word(record, layout.LEAF_PRIMITIVE), number, hit_record
