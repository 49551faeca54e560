"""The recorded lists: order and kinds, against the rules walked with Python lists; and the suspension protocol."""

import ctypes
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from rayplay import tracer  # noqa: F401
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.trace_frame import FRAME, NO_PROGRAM, STATUS, VERDICT
from rayplay.tracer.abi.words import LOG_WORDS
from rayplay.tracer.bvh.build import Acceleration, build_acceleration
from rayplay.tracer.bvh.layouts import LAYOUTS
from rayplay.tracer.rays.state import STATE_WORDS, TraversalContext, make_context
from rayplay.tracer.rays.traverse import ERROR_MISS_INDEX, traverse_lane, traverse_lane_address
from rayplay.tracer.rays.walk import ERROR_LOG_FULL, ERROR_RECORD
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.description import Scene, Spheres
from tests.reference.bvh_slow import Image, records_of_ray
from tests.tracer.rays.test_hits import random_rays, random_scene
from tools.ray_batch import trace_rays

BASE = 0x1000_0000
HEADER, INTERNAL, INSTANCE, DESCRIPTOR, TRIANGLE, PROCEDURAL = range(6)
NO_ANY_HIT, FORCE_ANY_HIT, FIRST_HIT, NO_CLOSEST_HIT, CULL_BACK, CULL_FRONT = 1, 2, 4, 8, 0x10, 0x20
ROW = np.uint32(0x7FFFFFFF)
CLOSEST, ANY, MISS = 5, 6, 7


class Lane:
    """One ray in lane 3 of a frame, driven as a launch drives it."""

    def __init__(self, context: TraversalContext, origin: np.ndarray, direction: np.ndarray, **fields: int) -> None:
        self.context, self.lane = context, 3
        self.frame = np.zeros((len(FRAME), LANES), np.uint32)
        self.state = np.full(STATE_WORDS, 0xDEADBEEF, np.uint32)
        self.log = np.zeros(LOG_WORDS, np.uint32)
        values = {"visibility_mask": 0xFF, "sbt_stride": 1} | fields
        for axis in range(3):
            self.set_float(f"origin_{'xyz'[axis]}", origin[axis])
            self.set_float(f"direction_{'xyz'[axis]}", direction[axis])
        for name in ("t_max", "committed_t"):
            self.set_float(name, 1e4)
        for name, value in values.items():
            self.frame[FRAME[name], self.lane] = value

    def set_float(self, name: str, value: float) -> None:
        self.frame.view(np.float32)[FRAME[name], self.lane] = value

    def get(self, name: str) -> int:
        return int(self.frame[FRAME[name], self.lane])

    def get_float(self, name: str) -> float:
        return float(self.frame.view(np.float32)[FRAME[name], self.lane])

    def ray(self, name: str) -> np.ndarray:
        first = FRAME[f"{name}_x"]
        return self.frame.view(np.float32)[first : first + 3, self.lane].astype(np.float64)

    def step(self) -> np.ndarray:
        count = traverse_lane(self.context.words, self.frame, self.state, self.lane, self.log)
        assert count >= 0
        return self.log[:count].copy()

    def run(self, decide: Callable[["Lane"], int]) -> list[np.ndarray]:
        """Records of every stretch; ``decide`` plays the programs and returns their verdict."""
        stretches = [self.step()]
        while self.get("status") in (STATUS.any_hit, STATUS.intersection):
            self.frame[FRAME.verdict, self.lane] = decide(self)
            stretches.append(self.step())
        return stretches


def triangles_only(seed: int) -> Scene:
    return replace(random_scene(seed), spheres=Spheres.none())


def context_of(
    acceleration: Acceleration, any_hit: int = -1, intersection: int = -1, delayed: bool = False
) -> TraversalContext:
    records = np.tile(np.array([[CLOSEST, any_hit, intersection]], np.int32), (len(acceleration.geometries), 1))
    return make_context(acceleration, records, [MISS], "vulkan-sim", delayed=delayed)


@pytest.mark.parametrize("named", LAYOUTS)
@pytest.mark.parametrize("seed", range(3))
def test_records_are_those_of_the_rules(seed: int, named: str) -> None:
    acceleration = build_acceleration(triangles_only(seed), BASE, named=LAYOUTS[named])
    origins, directions = random_rays(seed + 50, 250)
    hits = trace_rays(acceleration, origins, directions, 0.0, 100.0, flags=NO_ANY_HIT)
    image = Image(acceleration)
    for ray in range(len(origins)):
        expected = records_of_ray(image, acceleration.top_address, origins[ray], directions[ray], 100.0)
        found = hits.node[hits.node_offset[ray] : hits.node_offset[ray + 1]]
        assert found.tolist() == expected, f"ray {ray}"


def test_records_of_two_levels_follow_each_other_as_in_vulkan_sim() -> None:
    acceleration = build_acceleration(load("forest", trees=20), BASE)
    origins, directions = random_rays(1, 500, spread=30.0)
    hits = trace_rays(acceleration, origins, directions, 1e-3, 100.0, flags=NO_ANY_HIT)
    address, kind = acceleration.node_address, acceleration.node_kind
    for ray in range(len(origins)):
        rows = hits.node[hits.node_offset[ray] : hits.node_offset[ray + 1]]
        marked, rows = rows > ROW, rows & ROW
        kinds = kind[rows]
        assert address[rows[0]] == acceleration.top_address
        assert set(kinds[1:2]) <= {INTERNAL}
        after_instance = kinds[np.flatnonzero(kinds == INSTANCE) + 1]
        assert set(after_instance) <= {HEADER}
        assert (kinds == HEADER).sum() == 1 + (kinds == INSTANCE).sum()
        leaf = np.flatnonzero(kinds == TRIANGLE)
        assert (kinds[leaf - 1] == DESCRIPTOR).all()
        assert (address[rows[leaf]] == address[rows[leaf - 1]]).all()
        assert (kinds == DESCRIPTOR).sum() == len(leaf)
        assert not marked[kinds != TRIANGLE].any()
        assert marked.any() == np.isfinite(hits.t[ray])


def test_any_hit_that_accepts_changes_nothing() -> None:
    acceleration = build_acceleration(triangles_only(1), BASE)
    origins, directions = random_rays(9, 400)
    plain, tested = context_of(acceleration), context_of(acceleration, any_hit=ANY)
    suspended = 0
    for origin, direction in zip(origins, directions, strict=True):
        one, two = Lane(plain, origin, direction), Lane(tested, origin, direction)
        whole = one.run(lambda lane: VERDICT.accepted)
        parts = two.run(lambda lane: VERDICT.accepted)
        suspended += len(parts) - 1
        assert len(whole) == 1
        np.testing.assert_array_equal(np.concatenate(parts), whole[0])
        for name in ("status", "program", "committed_t", "committed_instance", "committed_primitive", "committed_u"):
            assert one.get(name) == two.get(name), name
    assert suspended > 50


def test_any_hit_that_ignores_lets_the_ray_pass() -> None:
    scene = triangles_only(2)
    solid = scene.meshes[0].material == 0
    mesh = replace(
        scene.meshes[0], triangles=scene.meshes[0].triangles[solid], material=scene.meshes[0].material[solid]
    )
    without = build_acceleration(replace(scene, meshes=[mesh]), BASE)
    acceleration = build_acceleration(scene, BASE)
    origins, directions = random_rays(12, 300)
    expected = trace_rays(without, origins, directions, 0.0, 1e4)
    context = context_of(acceleration, any_hit=ANY)
    for row in range(len(origins)):
        lane = Lane(context, origins[row], directions[row])
        lane.run(lambda lane: VERDICT.ignored)
        hit = lane.get("status") == STATUS.hit
        assert hit == np.isfinite(expected.t[row])
        assert lane.get("program") == (CLOSEST if hit else MISS)
        if hit:
            assert lane.get_float("committed_t") == expected.t[row]


def test_candidate_is_described_in_world_and_object_space() -> None:
    scene = triangles_only(3)
    acceleration = build_acceleration(scene, BASE)
    context = context_of(acceleration, any_hit=ANY)
    origins, directions = random_rays(4, 300)
    seen = 0

    def decide(lane: Lane) -> int:
        nonlocal seen
        seen += 1
        assert lane.get("program") == ANY
        assert lane.get("candidate_record") == lane.get("candidate_geometry") == 1
        matrix = scene.instances[lane.get("candidate_instance")].object_to_world.astype(np.float64)
        point = lane.ray("object_origin") + lane.get_float("candidate_t") * lane.ray("object_direction")
        world = lane.ray("origin") + lane.get_float("candidate_t") * lane.ray("direction")
        np.testing.assert_allclose(matrix[:, :3] @ point + matrix[:, 3], world, atol=1e-3)
        face = scene.meshes[0].triangles[30 + lane.get("candidate_primitive")]
        u, v = lane.get_float("candidate_u"), lane.get_float("candidate_v")
        corners = scene.meshes[0].vertices[face].astype(np.float64)
        np.testing.assert_allclose((1 - u - v) * corners[0] + u * corners[1] + v * corners[2], point, atol=1e-3)
        return VERDICT.ignored

    for origin, direction in zip(origins, directions, strict=True):
        Lane(context, origin, direction).run(decide)
    assert seen > 50


@pytest.mark.parametrize("order", ["vulkan-sim", "nearest"])
def test_early_out_stops_at_the_first_hit(order: str) -> None:
    acceleration = build_acceleration(random_scene(0), BASE)
    origins, directions = random_rays(2, 800)
    closest = trace_rays(acceleration, origins, directions, 0.01, 50.0, order=order)
    first = trace_rays(acceleration, origins, directions, 0.01, 50.0, flags=FIRST_HIT, order=order)
    np.testing.assert_array_equal(np.isfinite(first.t), np.isfinite(closest.t))
    hit = np.isfinite(first.t)
    assert (first.t[hit] >= closest.t[hit]).all()
    assert np.diff(first.node_offset)[hit].sum() < np.diff(closest.node_offset)[hit].sum()
    last = first.node[first.node_offset[1:][hit] - 1]
    kinds = acceleration.node_kind[last & ROW]
    assert ((last > ROW) == (kinds == TRIANGLE)).all(), "nothing is fetched after the hit"
    assert set(kinds) == {TRIANGLE, PROCEDURAL}


def test_terminate_ends_the_ray_with_its_candidate() -> None:
    acceleration = build_acceleration(triangles_only(1), BASE)
    origins, directions = random_rays(9, 200)
    for origin, direction in zip(origins, directions, strict=True):
        lane = Lane(context_of(acceleration, any_hit=ANY), origin, direction, flags=FORCE_ANY_HIT)
        stretches = lane.run(lambda lane: VERDICT.terminated)
        if len(stretches) == 2:
            assert len(stretches[1]) == 0
            assert lane.get("status") == STATUS.hit
            assert lane.get("committed_primitive") == lane.get("candidate_primitive")
            assert stretches[0][-1] > ROW


def test_flags_choose_programs_and_faces() -> None:
    acceleration = build_acceleration(triangles_only(0), BASE)
    origins, directions = random_rays(7, 600)
    both = trace_rays(acceleration, origins, directions, 0.0, 1e4, flags=NO_ANY_HIT)
    front = trace_rays(acceleration, origins, directions, 0.0, 1e4, flags=NO_ANY_HIT | CULL_BACK)
    back = trace_rays(acceleration, origins, directions, 0.0, 1e4, flags=NO_ANY_HIT | CULL_FRONT)
    assert set(front.kind) == {-1, 0xFE}
    assert set(back.kind) == {-1, 0xFF}
    np.testing.assert_array_equal(np.minimum(front.t, back.t), both.t)
    row = int(np.argmax(np.isfinite(both.t)))
    lane = Lane(context_of(acceleration), origins[row], directions[row], flags=NO_ANY_HIT | NO_CLOSEST_HIT)
    lane.step()
    assert (lane.get("status"), lane.get("program")) == (STATUS.hit, NO_PROGRAM)
    lane = Lane(context_of(acceleration), origins[row], directions[row], visibility_mask=0)
    records = lane.step()
    assert lane.get("status") == STATUS.miss
    assert INSTANCE in acceleration.node_kind[records]
    assert TRIANGLE not in acceleration.node_kind[records]


def test_hit_record_follows_offset_and_stride() -> None:
    acceleration = build_acceleration(triangles_only(3), BASE)
    records = np.arange(12, dtype=np.int32).reshape(4, 3)
    records[:, 1] = -1
    context = make_context(acceleration, records, [0, MISS], "vulkan-sim")
    origins, directions = random_rays(4, 200)
    programs = set()
    for origin, direction in zip(origins, directions, strict=True):
        lane = Lane(context, origin, direction, sbt_stride=2, sbt_offset=1, miss_index=1)
        lane.step()
        if lane.get("status") == STATUS.hit:
            assert lane.get("committed_record") == 2 * lane.get("committed_geometry") + 1
            assert lane.get("program") == records[lane.get("committed_record"), 0]
        programs.add(lane.get("program"))
    assert programs == {3, 9, MISS}


def test_records_beyond_the_table_and_a_full_log_are_errors() -> None:
    acceleration = build_acceleration(triangles_only(0), BASE)
    origins, directions = random_rays(7, 300)
    closest = trace_rays(acceleration, origins, directions, 0.0, 1e4, flags=NO_ANY_HIT)
    hit, miss = int(np.argmax(np.isfinite(closest.t))), int(np.argmax(np.isinf(closest.t)))
    lane = Lane(context_of(acceleration), origins[hit], directions[hit], sbt_offset=99)
    assert traverse_lane(lane.context.words, lane.frame, lane.state, 3, lane.log) == ERROR_RECORD
    lane = Lane(context_of(acceleration), origins[miss], directions[miss], miss_index=1)
    assert traverse_lane(lane.context.words, lane.frame, lane.state, 3, lane.log) == ERROR_MISS_INDEX
    lane = Lane(context_of(acceleration), origins[hit], directions[hit])
    assert traverse_lane(lane.context.words, lane.frame, lane.state, 3, lane.log[:3]) == ERROR_LOG_FULL


def test_machine_code_entry_equals_the_function() -> None:
    acceleration = build_acceleration(random_scene(2), BASE)
    context = context_of(acceleration, any_hit=ANY, intersection=ANY)
    raw = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 5)(traverse_lane_address())
    origins, directions = random_rays(21, 100)
    for origin, direction in zip(origins, directions, strict=True):
        one, two = Lane(context, origin, direction), Lane(context, origin, direction)
        records = one.step()
        pointers = (two.frame.ctypes.data, two.state.ctypes.data, two.lane, two.log.ctypes.data)
        assert raw(context.address, *pointers) == len(records)
        np.testing.assert_array_equal(two.log[: len(records)], records)
        np.testing.assert_array_equal(one.frame, two.frame)
