"""Getters, transform lists and the choice of records against a numpy statement of OptiX's rules, on random scenes.

Instances stand inside others; each mesh has two geometries. Source of the rules: ``docs/sources/optix.md#handles,
#shader-binding-table``.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rayplay import ptx
from rayplay.formats.guard.errors import UserError
from rayplay.ptx.isa.optix import INTRINSICS
from rayplay.tracer.scenes.description import Material, Scene, Texture
from tests.tracer.harness.optix_programs import (
    HEAD,
    SET_RAY,
    both,
    prepare,
    program,
    scene,
    store,
    trace,
    words_of,
)

MOST_LEVELS = 3
LEVEL_WORD, LEVEL_WORDS = 20, 8


def level(k: int) -> str:
    """Type, id, column of the matrix and of its inverse, child, of entry ``k`` of the transform list."""
    at, handle = LEVEL_WORD + LEVEL_WORDS * k, f"%l{10 + k}"
    return (
        f"    call ({handle}), _optix_get_transform_list_handle, ({k});\n"
        f"    call (%r20), _optix_get_transform_type_from_handle, ({handle});\n"
        f"    call (%r21), _optix_get_instance_id_from_handle, ({handle});\n"
        f"    call (%l20), _optix_get_instance_transform_from_handle, ({handle});\n"
        f"    call (%l21), _optix_get_instance_inverse_transform_from_handle, ({handle});\n"
        f"    call (%l22), _optix_get_instance_child_from_handle, ({handle});\n"
        f"    setp.lt.u32 %p1, {k}, %r10;\n"
        "    @%p1 ld.global.b32 %r22, [%l20+12]; @%p1 ld.global.b32 %r23, [%l20+20];\n"
        "    @%p1 ld.global.b32 %r24, [%l21+12]; @%p1 ld.global.b32 %r25, [%l21+20];\n"
        + store(at, "%r20") + store(at + 1, "%r21") + "".join(store(at + 2 + j, f"%r{22 + j}") for j in range(4))
        + store(at + 6, "%l22") + "    mov.b32 %r22, 0; mov.b32 %r23, 0; mov.b32 %r24, 0; mov.b32 %r25, 0;\n"
    )  # fmt: skip


HIT = program(
    "closesthit",
    "".join(
        f"    call (%r{10 + k}), _optix_{name}, ();\n" + store(k, f"%r{10 + k}")
        for k, name in enumerate((
            "get_transform_list_size", "read_instance_idx", "read_instance_id", "read_primitive_idx",
            "read_sbt_gas_idx", "get_hit_kind",
        ))
    )
    + "    call (%f6), _optix_get_ray_tmax, (); call (%l4), _optix_get_gas_traversable_handle, ();\n"
    + "    call (%l5), _optix_get_sbt_data_ptr_64, (); ld.u32 %r30, [%l5]; ld.u32 %r31, [%l5+4];\n"
    + store(6, "%f6") + store(8, "%l4") + store(10, "%r30") + store(11, "%r31")
    + "    call (%r32), _optix_read_instance_idx, ();\n"
    + "    call (%l6), _optix_get_instance_traversable_from_ias, (%l2, %r32);\n" + store(12, "%l6")
    + "".join(level(k) for k in range(MOST_LEVELS)) + store(14, "%l10")
    + f"    call ({', '.join(f'%f{10 + k}' for k in range(9))}), _optix_get_triangle_vertex_data_current_hit, ();\n"
    + "".join(store(48 + k, f"%f{10 + k}") for k in range(9))
    + "    call (%f7), _optix_get_ray_time, ();\n" + store(57, "%f7"),
)  # fmt: skip
RECORDS = "".join(
    f"""
[[hit_group]]
geometry = "triangles"
closest_hit = "__closesthit__test"
record = [{{ name = "number", type = "u32", source = "geometry_number" }}, {{ name = "t", type = "u32", value = {k} }}]
"""
    for k in range(2)
)


@st.composite
def maps(draw: st.DrawFn) -> np.ndarray:
    """A scaled turn about z, and a translation of some units, float32[3, 4]."""
    angle, scale = draw(st.floats(0, 6)), draw(st.sampled_from([0.5, 1.0, 1.5, -1.0]))
    cos, sin = scale * np.cos(angle), scale * np.sin(angle)
    x, y, z = (draw(st.floats(-1, 1)) for _ in range(3))
    return np.array([[cos, -sin, 0, x], [sin, cos, 0, y], [0, 0, abs(scale), z]], np.float32)


def product(matrices: list[np.ndarray]) -> np.ndarray:
    """Maps one after the other, the last first, float32[3, 4]."""
    square = np.eye(4)
    for matrix in matrices:
        square = square @ np.vstack([matrix, (0, 0, 0, 1)])
    return square[:3].astype(np.float32)


def two_kinds(what: Scene) -> Scene:
    """The same with the second triangle of each mesh alpha-tested: a geometry of its own."""
    materials = [Material("opaque"), Material("tested", alpha_texture=0)]
    meshes = [replace(mesh, material=np.array([0, 1], np.uint16)) for mesh in what.meshes]
    return replace(what, meshes=meshes, materials=materials, textures=[Texture("full", np.full((1, 1), 255, np.uint8))])


def nearest(what: Scene, x: int) -> float:
    """The distance of the closest hit of pixel ``x``, infinity without one."""
    found = np.inf
    for item in what.instances:
        matrix = np.linalg.inv(np.vstack([item.object_to_world, (0, 0, 0, 1)]).astype(np.float64))
        origin, direction = matrix[:3] @ (x / 8, 0, -5, 1), matrix[:3] @ (0, 0, 1, 0)
        for a, b, c in what.meshes[item.mesh].vertices[what.meshes[item.mesh].triangles].astype(np.float64):
            u, v, t = np.linalg.solve(np.column_stack([b - a, c - a, -direction]), origin - a)
            if u >= 0 and v >= 0 and u + v <= 1 and t > 0:
                found = min(found, t)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("getters")


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.lists(maps(), min_size=1, max_size=MOST_LEVELS), min_size=2, max_size=4),
    st.integers(0, 1), st.integers(0, 2),
)  # fmt: skip
def test_getters_follow_the_rules(folder: Path, chains: list[list[np.ndarray]], offset: int, stride: int) -> None:
    what = two_kinds(scene([product(chain) for chain in chains], [tuple(chain[:-1]) for chain in chains]))
    raygen = program("raygen", SET_RAY + trace(offset=str(offset), stride=str(stride), time="0f3f400000", miss="0"))
    miss = program("miss", "    mov.u32 %r4, 1;\n" + store(63, "%r4"))
    bound = '[[miss]]\nprogram = "__miss__test"\n' + RECORDS
    words = both(prepare(folder, raygen + HIT + miss, bound, what))
    floats = words.view(np.float32)
    memory_handles = words.view(np.uint64)
    for x, row in enumerate(words):
        t = nearest(what, x)
        if row[63]:
            continue  # a miss stores nothing else; where a ray grazes an edge either answer is right
        assert abs(floats[x, 6] - t) < 1e-3 or not np.isfinite(t)
        instance = int(row[1])
        item, chain = what.instances[instance], chains[instance]
        assert row[0] == len(chain)
        assert (row[2], row[3]) == (instance, 0)
        geometry = 2 * item.mesh + int(row[4])
        record = 2 * 2 * item.mesh + int(row[4]) * stride + offset
        assert (row[10], row[11]) == divmod(record, 2), "record by instance, geometry and ray type"
        assert memory_handles[x, 4] == item.mesh + 1
        assert memory_handles[x, 6] == memory_handles[x, 7], "the first of the list stands in the top level"
        mirrored = np.linalg.det(item.object_to_world[:, :3].astype(np.float64)) < 0
        assert row[5] in (0xFE, 0xFF)
        assert not mirrored
        triangle = what.meshes[item.mesh].vertices[what.meshes[item.mesh].triangles[geometry % 2]]
        assert np.array_equal(floats[x, 48:57], triangle.ravel())
        assert floats[x, 57] == 0.75
        own = [*chain[:-1], item.own]
        for k in range(MOST_LEVELS):
            at = LEVEL_WORD + LEVEL_WORDS * k
            if k >= len(chain):
                assert not row[at : at + LEVEL_WORDS].any()
                continue
            inverse = np.linalg.inv(np.vstack([own[k], (0, 0, 0, 1)]).astype(np.float64)).astype(np.float32)
            assert tuple(row[at : at + 2]) == (4, instance)
            assert np.array_equal(floats[x, at + 2 : at + 4], [own[k][0, 3], own[k][1, 1]])
            assert np.array_equal(floats[x, at + 4 : at + 6], [inverse[0, 3], inverse[1, 1]])
            below = words[x, at + 6 : at + 8].copy().view(np.uint64)[0]
            assert (below == item.mesh + 1) == (k == len(chain) - 1)
    assert (words[:, 63] == 0).any() or not any(np.isfinite(nearest(what, x)) for x in range(32))


NO_PROGRAM = '[[hit_group]]\ngeometry = "triangles"\n'
REFUSED = sorted(name for name, intrinsic in INTRINSICS.items() if intrinsic.is_refused)


@pytest.mark.parametrize("name", [
    "_optix_get_gas_ptr_from_handle", "_optix_get_microtriangle_vertex_data", "_optix_get_gas_motion_step_count",
    "_optix_get_gas_motion_time_begin", "_optix_get_gas_motion_time_end",
])  # fmt: skip
def test_a_refused_call_is_named_with_line_and_tier(folder: Path, name: str) -> None:
    intrinsic = INTRINSICS[name]
    assert name in REFUSED
    letters = {"u": "r", "l": "l", "f": "f"}
    results = ", ".join(f"%{letters[letter]}{k + 1}" for k, letter in enumerate(intrinsic.outputs))
    hit = program("closesthit", f"    call ({results}), {name}, ({'%l1' if intrinsic.inputs else ''});")
    text = program("raygen", SET_RAY + trace()) + program("miss", "") + hit
    bound = '[[miss]]\nprogram = "__miss__test"\n' + RECORDS
    line = 1 + (HEAD + text).split(name)[0].count("\n")
    prepared = prepare(folder, text, bound, scene([np.eye(3, 4, dtype=np.float32)], [()]))
    with pytest.raises(UserError, match=rf"test\.ptx:{line}:\d+: {name} \(tier T{intrinsic.tier}\) is refused: "):
        both(prepared)


@pytest.mark.parametrize("name", ["_optix_trace_typed_32", "_optix_hitobject_traverse"])
@pytest.mark.parametrize("flags", ["1024", "%r9"])
def test_a_constant_flag_that_is_not_built_is_refused_before_anything_runs(folder: Path, name: str, flags: str) -> None:
    text = program("raygen", SET_RAY + "mov.u32 %r9, 0x404;\n" + trace(name, flags=flags)) + program("miss", "")
    what = scene([np.eye(3, 4, dtype=np.float32)], [()])
    prepared = prepare(folder, text, '[[miss]]\nprogram = "__miss__test"\n' + NO_PROGRAM, what)
    line = 1 + (HEAD + text).split(name)[0].count("\n")
    message = rf"test\.ptx:{line}:\d+: {name} with the ray flag 0x400 is refused: opacity micromaps \(0x400\)"
    with pytest.raises(UserError, match=message):
        both(prepared)


@pytest.mark.parametrize("backend", ["machine", "interpreter"])
@pytest.mark.parametrize("flag", [0x100, 0x400])
def test_a_ray_with_a_flag_that_is_not_built_ends_the_launch(folder: Path, backend: str, flag: int) -> None:
    by_lane = f"setp.eq.u32 %p1, %r1, 5; selp.b32 %r9, {flag}, 5, %p1;\n"
    text = program("raygen", SET_RAY + by_lane + trace(flags="%r9")) + program("miss", "")
    what = scene([np.eye(3, 4, dtype=np.float32)], [()])
    prepared = prepare(folder, text, '[[miss]]\nprogram = "__miss__test"\n' + NO_PROGRAM, what)
    line = 1 + (HEAD + text).split("_optix_trace_typed_32")[0].count("\n")
    message = rf"test\.ptx:{line}: call _optix_trace_typed_32: lane 5: a ray has a flag beyond 0xff"
    with pytest.raises(UserError, match=message):
        words_of(prepared, backend)


def test_the_handle_of_an_instance_is_no_other_transform(folder: Path) -> None:
    names = ("static_transform", "matrix_motion_transform", "srt_motion_transform")
    body = "call (%l3), _optix_get_transform_list_handle, (0);\n" + "".join(
        f"call (%l4), _optix_get_{name}_from_handle, (%l3);\n{store(4 + 2 * k, '%l4')}" for k, name in enumerate(names)
    )
    hit = program("closesthit", store(0, "%l3") + body + store(2, "%l3"))
    text = program("raygen", SET_RAY + trace()) + program("miss", "") + hit
    what = scene([np.eye(3, 4, dtype=np.float32)], [()])
    words = both(prepare(folder, text, '[[miss]]\nprogram = "__miss__test"\n' + RECORDS, what))
    met = words[:, 2:4].any(axis=1)
    assert met.any()
    assert not words[met, 4:10].any()


def test_every_traversable_handle_stands_for_the_whole_scene(folder: Path) -> None:  # DEVIATIONS T41
    hit = program("closesthit", "    mov.u32 %r4, 7;\n" + store(0, "%r4"))
    what = scene([np.eye(3, 4, dtype=np.float32)], [()])
    found = []
    for handle in ("", "mov.u64 %l2, 12345;\n", "mov.u64 %l2, 0;\n"):
        text = program("raygen", SET_RAY + handle + trace()) + program("miss", "") + hit
        found.append(both(prepare(folder, text, '[[miss]]\nprogram = "__miss__test"\n' + RECORDS, what)))
    assert found[0].any()
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_a_call_in_a_program_of_another_kind_is_a_problem() -> None:
    helper = ".func helper()\n{\n    .reg .b32 %r<4>;\n    call (%r1), _optix_get_hit_kind, ();\n    ret;\n}\n"
    module = ptx.parse(HEAD + helper + program("miss", "    call helper, ();"), "test.ptx")
    line = 1 + (HEAD + helper).split("_optix_get_hit_kind")[0].count("\n")
    problems = [str(problem) for problem in ptx.verify(module)]
    assert problems == [
        f"test.ptx:{line}:5: '_optix_get_hit_kind' can be called in anyhit, closesthit programs, not in '__miss__test'"
    ]
