"""Structures of animations: a rebuilt one equals its frame's alone, a refitted one finds the same hits."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rayplay import tracer  # noqa: F401  (names the machine-code cache before numba is imported)
from rayplay.tracer.bvh.build import Structure, build_acceleration
from rayplay.tracer.scenes.description import Instance, Scene
from tests.tracer.rays.test_hits import random_scene
from tools.ray_batch import trace_rays

BASE = 0x1000_0000


def frames(seed: int, count: int) -> list[Scene]:
    """Some instances of triangle soup on the move."""
    random, scene = np.random.default_rng(seed), random_scene(seed)
    first = [*scene.instances, *(Instance(0, scene.instances[0].object_to_world.copy()) for _ in range(5))]
    made = []
    for _ in range(count):
        moved = [each.object_to_world.copy() for each in first]
        for matrix in moved:
            matrix[:, 3] += random.uniform(-8, 8, 3).astype(np.float32)
        made.append(replace(scene, instances=[Instance(0, matrix) for matrix in moved]))
    return made


@given(st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_a_rebuilt_frame_is_a_scene_of_its_own(seed: int) -> None:
    structure = Structure()
    for scene in frames(seed, 3):
        own, alone = build_acceleration(scene, BASE, structure=structure), build_acceleration(scene, BASE)
        assert (own.words == alone.words).all()


@given(st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_a_refitted_frame_keeps_its_shape_and_finds_the_same_hits(seed: int) -> None:
    random, structure = np.random.default_rng(seed), Structure(refit=True)
    origins = random.uniform(-12, 12, (200, 3)).astype(np.float32)
    directions = random.normal(size=(200, 3)).astype(np.float32)
    for number, scene in enumerate(frames(seed, 3)):
        refitted, alone = build_acceleration(scene, BASE, structure=structure), build_acceleration(scene, BASE)
        if number == 0:
            assert (refitted.words == alone.words).all()
            shape = refitted.node_kind
        assert (refitted.node_kind == shape).all()
        found, expected = (trace_rays(each, origins, directions, 0.01, 50.0) for each in (refitted, alone))
        assert np.array_equal(found.t, expected.t)
