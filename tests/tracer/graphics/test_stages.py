"""Draws: colours of surfaces that face the camera, cut-outs, blending, overdraw, and the trace of the stages."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.laws.check import validate
from rayplay.tracer.graphics.environment import COSINE, TABLE_SIDE, brdf_table, legendre, lobe
from rayplay.tracer.graphics.frame import AMBIENT, LIGHT, SUN
from rayplay.tracer.graphics.stages import BACKGROUND, Rules
from rayplay.tracer.scenes.description import Camera
from rayplay.tracer.scenes.gltf.surfaces import Surface
from rayplay.tracer.scenes.textured import INSTANCE, Draw
from tests.tracer.graphics.scenes import CAMERA, IDENTITY, SIZE, drawn, joined, middle, scene, square

RED, GREEN = Surface("red", (0.8, 0.1, 0.05, 1.0)), Surface("green", (0.1, 0.7, 0.2, 1.0))
NONE = (-1,) * 5
TO_LIGHT = np.array(SUN) / np.linalg.norm(SUN)
FACING = float(TO_LIGHT[2])


def lit(surface: Surface) -> np.ndarray:
    """Lambert's law for a surface that faces the camera."""
    return np.array(surface.base_color[:3]) * (np.array(AMBIENT) + FACING / np.pi * np.array(LIGHT))


def test_a_square_is_lit_and_the_rest_is_background() -> None:
    picture = drawn(scene([square(0)], [RED]))
    np.testing.assert_allclose(middle(picture), lit(RED), rtol=1e-5)
    assert (picture.framebuffer.colour[0, 0] == np.float32(BACKGROUND)).all()


def test_a_surface_without_normals_is_as_flat_as_its_triangles() -> None:
    flat = square(0)
    flat.normals[:] = 0
    np.testing.assert_allclose(middle(drawn(scene([flat], [RED]))), lit(RED), rtol=1e-4)


def test_crisps_rules_turn_the_picture_over_and_have_no_quads() -> None:
    """A flat triangle below the middle, without normals: one shade in the lower rows, some in the upper ones."""
    flat = square(0)
    flat.normals[:] = 0
    flat.positions[:, :2] *= 0.8, 0.3
    flat.positions[:, 1] -= 0.4
    flat.positions[2, 0] += 0.13
    found = []
    for rules in ("hardware", "crisp"):
        picture = drawn(scene([flat], [RED]), rules=Rules(rules=rules))
        is_drawn = (picture.framebuffer.colour[..., :3] != picture.framebuffer.colour[0, 0, :3]).any(axis=-1)
        shades = np.unique(picture.framebuffer.colour[is_drawn][:, 0].round(3))
        found.append((np.flatnonzero(is_drawn.any(axis=1)).mean() > SIZE[1] / 2, len(shades) == 1))
    assert found == [(True, True), (False, False)]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("is_joined", [False, True])
def test_the_nearer_of_two_is_seen_whatever_their_order(order: tuple[int, int], is_joined: bool) -> None:
    """In one draw the same pixel is shaded twice when the farther comes first."""
    red, green = square(0), square(1, surface=0 if is_joined else 1)
    draws = [[red, green][which] for which in order]
    if is_joined:
        draws = [joined(*draws)]
    picture = drawn(scene(draws, [RED, GREEN]))
    np.testing.assert_allclose(middle(picture), lit(RED if is_joined else GREEN), rtol=1e-5)
    shaded = [stage for stage in picture.stages if stage.stage == "fragment"]
    if is_joined:
        assert (shaded[0].live == shaded[0].covered) == (order == (0, 1)), "the farther is shaded if it comes first"
    else:
        assert len(shaded) == (2 if order == (0, 1) else 1)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_cut_out_shows_what_is_behind(is_first: bool) -> None:
    """The left half of the picture is cut out; depth is written only where a fragment is kept."""
    texels = np.full((2, 2, 4), 255, np.uint8)
    texels[:, 0, 3] = 10
    leaf = Surface("leaf", (0.5, 0.5, 0.5, 1.0), alpha="MASK", cutoff=0.5, pictures=(0, *NONE))
    draws = [square(1, surface=0), square(0, surface=1)]
    picture = drawn(scene(draws if is_first else draws[::-1], [leaf, RED], (texels,)))
    row = picture.framebuffer.colour[SIZE[1] // 2, :, :3]
    np.testing.assert_allclose(row[SIZE[0] // 2 - 1], lit(RED), rtol=1e-5)
    np.testing.assert_allclose(row[SIZE[0] // 2], lit(leaf), rtol=1e-5)


def test_glass_is_blended_in_the_order_of_its_fragments() -> None:
    glass = Surface("glass", (0.1, 0.2, 0.9, 0.25), alpha="BLEND")
    twice = joined(square(1, surface=1), square(2, surface=1))
    picture = drawn(scene([square(0), twice], [RED, glass]))
    once = 0.25 * lit(glass) + 0.75 * lit(RED)
    np.testing.assert_allclose(middle(picture), 0.25 * lit(glass) + 0.75 * once, rtol=1e-5)


def test_the_back_of_a_surface_is_culled_unless_it_is_double_sided() -> None:
    behind = Camera(eye=(0, 0, -10), look_at=(0, 0, 0), vfov_deg=40)
    both = Surface("both", RED.base_color, is_double_sided=True)
    assert (middle(drawn(scene([square(0)], [RED]), camera=behind)) == np.float32(BACKGROUND[:3])).all()
    seen = np.array(both.base_color[:3]) * np.array(AMBIENT)
    np.testing.assert_allclose(middle(drawn(scene([square(0)], [both]), camera=behind)), seen, rtol=1e-5)


def test_the_physically_based_shader_is_gltfs_brdf() -> None:
    """Appendix B of the specification, for a surface that faces the eye."""
    gold = Surface("gold", (0.9, 0.6, 0.2, 1.0), metallic=0.6, roughness=0.5, emissive=(0.01, 0.02, 0.03))
    found = middle(drawn(scene([square(0, half=0.3)], [gold]), "pbr"))
    view = np.array([0.0, 0, 1])
    half = (TO_LIGHT + view) / np.linalg.norm(TO_LIGHT + view)
    squared, color = (0.5**2) ** 2, np.array(gold.base_color[:3])
    spread = squared / (np.pi * (half[2] ** 2 * (squared - 1) + 1) ** 2)
    visible = 0.5 / (FACING * 1.0 + np.sqrt(FACING**2 * (1 - squared) + squared))
    straight = 0.4 * 0.04 + 0.6 * color
    fresnel = straight + (1 - view @ half) ** 5 * (1 - straight)
    reflected = (1 - fresnel) * 0.4 * color / np.pi + spread * visible * fresnel
    scale, offset = brdf_table()[TABLE_SIDE // 2 - 1 : TABLE_SIDE // 2 + 1, -1].astype(float).mean(axis=0)
    horizon = np.array([1, 0, -0.5])
    diffuse = (horizon * COSINE) @ legendre() * 0.4 * color * (1 - straight * scale - offset)
    around = diffuse + (horizon * lobe(0.5)) @ legendre() * (straight * scale + offset)
    np.testing.assert_allclose(found, FACING * np.array(LIGHT) * reflected + around + gold.emissive, rtol=8e-3)


def test_mirrored_instances_show_their_fronts() -> None:
    """As glTF has it: a place of negative determinant turns the winding. So do records of a negative scale."""
    front = Surface("front", RED.base_color, pictures=(0, *NONE))
    mirror, aside = IDENTITY.copy(), IDENTITY.copy()
    mirror[0, 0, 0], aside[0, 0, 3] = -1, 100
    records = np.zeros(1, INSTANCE)
    white = (np.full((1, 1, 4), 255, np.uint8),)
    seen, unseen = lit(RED), np.float32(BACKGROUND[:3])
    for places in (mirror, np.concatenate([aside, mirror])):
        found = drawn(scene([replace(square(0), places=places)], [front], white))
        np.testing.assert_allclose(middle(found), seen, rtol=1e-5)
    for place, scale, expected in (
        (IDENTITY, 1, seen),
        (IDENTITY, -1, unseen),
        (mirror, 1, seen),
        (mirror, -1, unseen),
    ):
        records["scale"] = scale
        draw = replace(square(0), places=place, instances=records, layers=(0,))
        np.testing.assert_allclose(middle(drawn(scene([draw], [front], white))), expected, rtol=1e-5)


@pytest.mark.parametrize("normal", [(128, 128, 255), (230, 128, 200)])
def test_a_normal_map_bends_the_normal_along_u(normal: tuple[int, int, int]) -> None:
    texels = np.full((2, 2, 4), (*normal, 255), np.uint8)
    plain = Surface("plain", (0.5, 0.5, 0.5, 1.0), metallic=0, pictures=(-1, -1, 0, -1, -1, -1))
    found = middle(drawn(scene([square(0)], [plain], (texels,)), "pbr"))
    flat = middle(drawn(scene([square(0)], [Surface("flat", plain.base_color, metallic=0)]), "pbr"))
    if normal[0] == 128:
        np.testing.assert_allclose(found, flat, rtol=0.02)
    else:
        assert (found > 1.1 * flat).all(), "u runs to the right, as the light's x does"


def test_both_backends_draw_the_same_trace_and_its_laws_hold(tmp_path: Path) -> None:
    made = scene([square(0), square(1, 0.4, 1), square(50)], [RED, GREEN])
    pictures = []
    for backend in ("machine", "interpreter"):
        with TraceWriter(tmp_path / f"{backend}.trace", {}) as writer:
            pictures.append(drawn(made, sink=writer, backend=backend))
    same = [picture.framebuffer.colour.tobytes() for picture in pictures]
    assert same[0] == same[1]
    first, second = (open_trace(tmp_path / f"{backend}.trace") for backend in ("machine", "interpreter"))
    assert not list(validate(first))
    for table in ("visits", "accesses", "kernels"):
        for name, column in first.read(table).items():
            assert np.array_equal(column, second.read(table)[name]), (table, name)


def test_stages_are_launches_on_the_stream_of_their_draw(tmp_path: Path) -> None:
    """A square behind the camera has no fragments, and so no launch for them."""
    with TraceWriter(tmp_path / "a.trace", {}) as writer:
        picture = drawn(scene([square(0), square(50), square(1, 0.4, 1)], [RED, GREEN]), sink=writer)
    kernels = open_trace(tmp_path / "a.trace").read("kernels")
    assert [(each.stage, each.draw) for each in picture.stages] == [
        ("vertex", 0), ("fragment", 0), ("vertex", 1), ("vertex", 2), ("fragment", 2),
    ]  # fmt: skip
    assert kernels["stream"].tolist() == [0, 0, 1, 2, 2]
    assert kernels["name"].tolist() == [
        f"{'vertex_main' if s.stage == 'vertex' else 'fragment_lit'}" for s in picture.stages
    ]
    for stage, ctas in zip(picture.stages, kernels["grid_x"], strict=True):
        assert ctas == -(-stage.shaded // 64)
        assert stage.live <= stage.shaded


def test_output_traffic_is_a_read_of_depth_a_write_and_what_blends_reads(tmp_path: Path) -> None:
    """Of every live fragment at its pixel; the picture stays. Cut-outs write no depth where they are cut."""
    glass = Surface("glass", (0.1, 0.2, 0.9, 0.25), alpha="BLEND")
    texels = np.full((2, 2, 4), 255, np.uint8)
    texels[:, 0, 3] = 10
    leaf = Surface("leaf", (0.5, 0.5, 0.5, 1.0), alpha="MASK", cutoff=0.5, pictures=(0, *NONE))
    made = scene([square(0), square(1, surface=2), square(2, surface=1)], [RED, glass, leaf], (texels,))
    with TraceWriter(tmp_path / "on.trace", {}) as writer:
        picture = drawn(made, sink=writer, rules=Rules(merges=True))
    np.testing.assert_array_equal(picture.framebuffer.colour, drawn(made).framebuffer.colour)
    trace = open_trace(tmp_path / "on.trace")
    instructions, rows = trace.read("instructions"), trace.read("accesses")
    counts = np.diff(rows["address_offset"].astype(int))
    fragments = [stage for stage in picture.stages if stage.stage == "fragment"]
    names, pixels = ("ld.volatile.global.f32", "st.volatile.global.u32", "ld.volatile.v4.f32"), []
    for stage, shares in zip(fragments, [(1, 1, 0), (1, 0.5, 0), (1, 0, 1)], strict=True):
        own = instructions["kernel_id"] == stage.kernel_id
        for name, share in zip(names, shares, strict=True):
            chosen = (own & (instructions["opcode"] == name))[rows["instruction_id"]]
            assert counts[chosen].sum() == share * stage.live, (stage.draw, name)
            found = rows["address"][np.repeat(chosen, counts)].astype(int)
            pixels.append((found - min(found, default=0)) // 4)
    live = np.flatnonzero(drawn(scene([square(0)], [RED])).framebuffer.depth.ravel() < 1)
    assert sorted(pixels[0]) == sorted(pixels[1]) == (live - live[0]).tolist()


def test_by_crisps_rules_stages_find_their_data_in_the_l2(tmp_path: Path) -> None:
    """Every buffer of a vertex kernel, and varyings of the whole CTAs of a fragment kernel."""
    with TraceWriter(tmp_path / "a.trace", {}) as writer:
        picture = drawn(scene([square(0, 3.0)], [RED]), sink=writer, rules=Rules("crisp"))
    trace = open_trace(tmp_path / "a.trace")
    assert not list(validate(trace))
    fills, accesses = trace.read("fills"), trace.read("accesses")
    vertex, fragment = (fills["kernel_id"] == kernel for kernel in (0, 1))
    shaded = picture.stages[1].shaded
    assert shaded
    assert sorted(fills["bytes"][fragment].tolist()) == [8 * shaded, 12 * shaded, 12 * shaded]
    assert sorted(fills["cta_bytes"][fragment].tolist()) == [8 * 64, 12 * 64, 12 * 64]
    assert not fills["cta_bytes"][vertex].any()
    assert not trace.rows("copies")
    warps = trace.read("warps")["kernel_id"][accesses["warp_id"]]
    spaces = trace.read("instructions")["memory_space"][accesses["instruction_id"]]
    for row in np.flatnonzero((warps == 0) & (spaces == "global")):
        first = accesses["address"][accesses["address_offset"][row]]
        inside = (fills["address"][vertex] <= first) & (first < fills["address"][vertex] + fills["bytes"][vertex])
        assert inside.sum() == 1, "each access of a vertex kernel is to one of them"


@pytest.mark.parametrize("merges", [False, True])
def test_what_the_rasteriser_writes_is_in_the_l2_and_no_vertices_are(tmp_path: Path, merges: bool) -> None:
    """Fragments load from nothing else, except the depth of pixels."""
    with TraceWriter(tmp_path / "a.trace", {}) as writer:
        picture = drawn(scene([square(0, 3.0)], [RED]), sink=writer, rules=Rules(merges=merges))
    trace = open_trace(tmp_path / "a.trace")
    assert not list(validate(trace))
    assert not trace.rows("copies")
    fills, rows = trace.read("fills"), -(-picture.stages[1].shaded // 64) * 64
    assert set(fills["kernel_id"].tolist()) == {1}
    widths = sorted([4, 8, 12, 12, *([8] if merges else [])])  # slots, coordinates, world and normal, places
    assert sorted((fills["bytes"] // rows).tolist()) == widths
    assert sorted((fills["cta_bytes"] // 64).tolist()) == widths
    accesses, instructions = trace.read("accesses"), trace.read("instructions")
    of_fragments = trace.read("warps")["kernel_id"][accesses["warp_id"]] == 1
    is_load = instructions["operation_class"][accesses["instruction_id"]] == "load"
    is_global = instructions["memory_space"][accesses["instruction_id"]] == "global"
    reads, others = set(), 0
    for row in np.flatnonzero(of_fragments & is_load & is_global):
        first = accesses["address"][accesses["address_offset"][row]]
        inside = np.flatnonzero((fills["address"] <= first) & (first < fills["address"] + fills["bytes"]))
        reads |= set(inside.tolist())
        others += not len(inside)
    assert reads == set(range(len(widths)))
    assert bool(others) == merges, "the depth of pixels is another unit's"


PLANE = np.array([[0.2, -0.1, 0.05, 0.02], [0.1, 0.15, -0.2, 0.01], [0.5, 0.6, 0.7, 0.8]])
"""Colours of vertices as a linear function of x, y and 1, so that each pixel's follows by hand."""


def painted(z: float, surface: int = 0) -> Draw:
    """A square whose vertices have the colours of ``PLANE``."""
    draw = square(z, 1.5, surface)
    corners = np.column_stack([draw.positions[:, :2], np.ones(4)])
    return replace(draw, colors=(corners @ PLANE).astype(np.float32))


def colors_seen(z: float) -> tuple[np.ndarray, np.ndarray]:
    """Whether a pixel sees ``painted(z)``, bool[h, w], and the colour there, float64[h, w, 4]."""
    width, height = SIZE
    reach = (CAMERA.eye[2] - z) * np.tan(np.deg2rad(CAMERA.vfov_deg) / 2)
    x = ((np.arange(width) + 0.5) * 2 / width - 1) * reach * width / height
    y = (1 - (np.arange(height) + 0.5) * 2 / height) * reach
    place = np.stack(np.broadcast_arrays(x, y[:, None], 1.0), axis=2)
    return (np.abs(place[..., :2]) < 1.5).all(axis=2), place @ PLANE


@pytest.mark.parametrize("merges", [False, True])
@pytest.mark.parametrize("shader", ["lit", "pbr", "ball"])
def test_colours_of_vertices_multiply_the_base_colour(shader: str, merges: bool) -> None:
    """At every pixel. The physically based shaders: as the surface of that colour, which is the middle's."""
    seen, colors = colors_seen(0)
    picture = drawn(scene([painted(0)], [RED]), shader, rules=Rules(merges=merges))
    found = picture.framebuffer.colour[..., :3]
    if shader == "lit":
        np.testing.assert_allclose(found[seen], colors[seen][:, :3] * lit(RED), rtol=1e-4)
    else:
        middle_color = colors[SIZE[1] // 2, SIZE[0] // 2]
        plain = Surface("plain", tuple(middle_color * RED.base_color))
        expected = middle(drawn(scene([square(0, 1.5)], [plain]), shader))
        np.testing.assert_allclose(middle(picture), expected, rtol=1e-4)
    assert np.isclose(found[~seen], np.float32(BACKGROUND[:3])).all()


def test_the_alpha_of_a_vertex_blends_and_cuts() -> None:
    """Nothing is drawn below the cutoff."""
    seen, colors = colors_seen(0)
    glass, leaf = replace(GREEN, alpha="BLEND"), replace(GREEN, alpha="MASK", cutoff=0.8)
    behind = drawn(scene([square(-1, 9.0, 1)], [GREEN, RED])).framebuffer.colour[..., :3]
    own = colors[..., :3] * lit(GREEN)
    for surface, share in ((glass, colors[..., 3:]), (leaf, colors[..., 3:] >= 0.8)):
        found = drawn(scene([square(-1, 9.0, 1), painted(0)], [surface, RED])).framebuffer.colour[..., :3]
        expected = share * own + (1 - share) * behind
        np.testing.assert_allclose(found[seen], expected[seen], rtol=1e-4)


def test_instances_share_the_colours_of_their_vertices() -> None:
    white = (np.full((1, 1, 4), 255, np.uint8),)
    seen, colors = colors_seen(0)
    records = np.zeros(1, INSTANCE)
    records["scale"] = 1
    draw = replace(painted(0), instances=records, layers=(0,))
    found = drawn(scene([draw], [Surface("front", RED.base_color, pictures=(0, *NONE))], white))
    np.testing.assert_allclose(found.framebuffer.colour[seen][:, :3], colors[seen][:, :3] * lit(RED), rtol=1e-4)


def test_colours_of_vertices_are_read_from_memory_and_go_through_the_l2(tmp_path: Path) -> None:
    """16 bytes a vertex in, 16 a fragment; a draw without colours has neither, and other entries."""
    with TraceWriter(tmp_path / "a.trace", {}) as writer:
        picture = drawn(scene([painted(0), square(1)], [RED]), sink=writer)
    trace = open_trace(tmp_path / "a.trace")
    assert not list(validate(trace))
    names = trace.read("kernels")["name"].tolist()
    assert names == ["vertex_colored", "fragment_lit_colored", "vertex_main", "fragment_lit"]
    fills = trace.read("fills")
    for kernel, widths in ((1, [4, 8, 12, 12, 16]), (3, [4, 8, 12, 12])):
        rows = -(-picture.stages[kernel].shaded // 64) * 64
        assert sorted((fills["bytes"][fills["kernel_id"] == kernel] // rows).tolist()) == widths


def test_records_place_turn_and_scale_instances_and_choose_their_layer() -> None:
    """A small square twice: turned by 90 degrees about z to the left, half as large to the right; other layers."""
    layers = [np.full((2, 2, 4), color, np.uint8) for color in ((255, 0, 0, 255), (0, 255, 0, 255))]
    records = np.zeros(2, INSTANCE)
    records["position"], records["scale"] = [[-2, 0, 0], [2, 0, 0]], [1, 0.5]
    records["rotation"], records["layer"] = [[0, 0, np.pi / 2], [0, 0, 0]], [0, 1]
    wide = square(0)
    wide.positions[:, 0] *= 0.5
    rock = replace(wide, instances=records, layers=(0, 1))
    picture = drawn(scene([rock], [Surface("rock")], tuple(layers)))
    vertex = picture.stages[0]
    assert (vertex.shaded, vertex.triangles) == (2 * 4, 2 * 2)
    places = np.zeros((2, 3, 4), np.float32)
    places[0, :, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    places[1, :, :3] = np.diag([0.5, 0.5, 0.5])
    places[:, :, 3] = records["position"]
    for number, color in enumerate((Surface("red", (1.0, 0, 0, 1)), Surface("green", (0, 1.0, 0, 1)))):
        alone = drawn(scene([replace(wide, places=places[number : number + 1])], [color]))
        half = np.s_[:, : SIZE[0] // 2] if number == 0 else np.s_[:, SIZE[0] // 2 :]
        found, expected = (each.framebuffer.colour[half] for each in (picture, alone))
        np.testing.assert_allclose(found, expected, atol=2e-3)
        assert (expected[..., number] > expected[..., 2] + 0.2).any()
