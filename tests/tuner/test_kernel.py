"""The tuned program: its tree, its loops, what rays visit against a slow trace, and its look."""

from dataclasses import replace

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.text.parser import parse
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.description import Camera, Instance, Material, Mesh, Scene
from rayplay.tracer.shading.upload import camera_values
from rayplay.tuner.counts import KernelCounts
from rayplay.tuner.kernel import SoftwareRenderer, build_tree
from rayplay.tuner.loops import count_loops
from rayplay.tuner.settings import Settings
from rayplay.tuner.workload import coherence, look_at, workload_of

LOOPS = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, 0;
OUTER:
    add.u32 %r1, %r1, 1;
NODES:
    ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1];
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra NODES;
TRIANGLES:
    ld.global.u32 %r6, [%rd1];
    ld.global.u32 %r7, [%rd1+4];
    setp.lt.u32 %p2, %r6, %r7;
    @%p2 bra TRIANGLES;
    setp.lt.u32 %p3, %r1, 9;
    @%p3 bra OUTER;
    st.global.u32 [%rd1], %r1;
    ret;
}
"""


def test_counts_of_loops_by_hand() -> None:
    assert count_loops(parse(LOOPS, "k.ptx").functions["k"]) == KernelCounts(2, 2, 7, 1, 2, 0)


def test_a_program_of_one_loop_is_refused() -> None:
    text = LOOPS.replace("@%p2 bra TRIANGLES;", "")
    with pytest.raises(UserError, match="kernel k: must have two innermost loops, of nodes and triangles, not 1"):
        count_loops(parse(text, "k.ptx").functions["k"])


@pytest.fixture(scope="module")
def cornell() -> SoftwareRenderer:
    return SoftwareRenderer(load("cornell"))


def test_the_program_loads_a_pair_of_boxes_a_node_and_three_rows_a_triangle(cornell: SoftwareRenderer) -> None:
    assert (cornell.counts.memory_per_traversal, cornell.counts.memory_per_intersection) == (4, 3)


def test_the_tree_holds_every_triangle_once_inside_its_boxes() -> None:
    tree = build_tree(load("cornell"))
    child = tree.boxes.view(np.int32)[:, 3]
    leaves = ~child[child < 0]
    np.testing.assert_array_equal(np.sort(leaves), np.arange(len(tree.triangles)))
    corner = tree.triangles.reshape(-1, 3, 4)[:, :, :3].copy()
    corner[:, 1:] += corner[:, :1]
    boxes = tree.boxes[child < 0]
    assert (corner[leaves].min(axis=1) >= boxes[:, :3] - 1e-3).all()
    assert (corner[leaves].max(axis=1) <= -boxes[:, 4:7] + 1e-3).all()


def test_primary_rays_hit_as_a_search_through_all_triangles_says(cornell: SoftwareRenderer) -> None:
    width, height = 24, 18
    camera = cornell.scene.camera
    seen = cornell.look(camera, width, height, Settings(0, 0.1, 0))[0]
    found = closest(build_tree(cornell.scene).triangles, camera, width, height)
    assert (seen["hit"] == (found >= 0)).mean() > 0.99  # rays along an edge may go either way
    assert 0.3 < seen["hit"].mean() < 1


def closest(triangles: np.ndarray, camera: Camera, width: int, height: int) -> np.ndarray:
    """Number of the closest triangle of each pixel, -1 for none: Moeller and Trumbore in float64."""
    view = {name: np.array(value, np.float64) for name, value in camera_values(camera, width, height).items()}
    x, y = np.meshgrid((np.arange(width) + 0.5) / width, (np.arange(height) + 0.5) / height)
    ray = (
        view["camera_forward"]
        + (2 * x - 1)[..., None] * view["camera_right"]
        + (1 - 2 * y)[..., None] * view["camera_up"]
    )
    corner, one, other = (triangles.reshape(-1, 3, 4)[:, row, :3].astype(np.float64) for row in range(3))
    across = np.cross(ray[:, :, None], other)
    scale = (one * across).sum(-1)
    start = view["camera_eye"] - corner
    along = np.cross(start, one)
    with np.errstate(divide="ignore", invalid="ignore"):
        u, v = (start * across).sum(-1) / scale, (ray[:, :, None] * along).sum(-1) / scale
        t = (other * along).sum(-1) / scale
    t = np.where((u >= 0) & (v >= 0) & (u + v <= 1) & (t > 1e-3), t, np.inf)
    return np.where(np.isfinite(t.min(-1)), t.argmin(-1), -1)


def test_occlusion_darkens_corners_and_shadow_rays_what_the_light_does_not_see(cornell: SoftwareRenderer) -> None:
    camera = cornell.scene.camera
    plain = cornell.render(camera, (32, 24), Settings(0))
    np.testing.assert_array_equal(plain[..., :3], 1)
    dark = cornell.render(camera, (32, 24), Settings(16, 0.3))
    assert 0.2 < (dark[..., 1] < 1).mean() < 0.9
    assert set(np.unique(cornell.render(camera, (32, 24), Settings(0, 0.1, 1))[..., 2])) <= {0.5, 1.0, 0.0}


@pytest.mark.parametrize("settings", [Settings(4, 0.1), Settings(2.25, 0.3, 1.5)])
def test_the_hosts_look_visits_what_the_program_visits(cornell: SoftwareRenderer, settings: Settings) -> None:
    """Except rays along an edge; sines are approximate in the program."""
    camera = cornell.scene.camera
    host, program = (look(camera, 44, 36, settings) for look in (cornell.look, cornell.look_by_program))
    assert host.shape == program.shape
    for name in host.dtype.names or ():
        assert (host[name] == program[name]).mean() > 0.99
    assert host["nodes"].mean() == pytest.approx(program["nodes"].mean(), rel=5e-3)


def test_a_look_counts_what_the_rays_visit(cornell: SoftwareRenderer) -> None:
    """More rays visit more, a longer radius too; the load's averages are the visits'."""
    camera = cornell.scene.camera
    visits = cornell.look(camera, 20, 15, Settings(4, 0.2, 1))
    load = workload_of(visits)
    hit = visits[0]["hit"] > 0
    assert load.primary_traversals == visits[0]["nodes"].mean()
    assert load.hit_share == hit.mean()
    assert load.occlusion_intersections == visits[2:]["triangles"][:, hit].mean()
    assert not visits[1:]["nodes"][:, ~hit].any()
    assert look_at(cornell, camera, 160, 120, Settings(8, 0.2, 3)) == load
    without = look_at(cornell, camera, 160, 120, Settings(8, 0.2))
    assert (without.shadow_traversals, without.primary_traversals) == (0, load.primary_traversals)
    longer = look_at(cornell, camera, 160, 120, Settings(8, 0.9))
    assert longer.occlusion_traversals > load.occlusion_traversals


@pytest.mark.parametrize(
    ("leaf", "share"),
    [
        (np.zeros((8, 8), np.int32), 1.0),
        (np.arange(64, dtype=np.int32).reshape(8, 8), 1 / 64),
        (np.repeat([0, 1], 64).reshape(16, 8).astype(np.int32), 1.0),
        (np.array([[1, 1, 2]], np.int32), 2 / 3),
    ],
)
def test_coherence_of_regions(leaf: np.ndarray, share: float) -> None:
    assert coherence(leaf) == pytest.approx(share)


def test_one_triangle_is_a_tree_and_none_is_refused() -> None:
    vertices = np.array([[-1, -1, 0], [1, -1, 0], [0, 1, 0]], np.float32)
    mesh = Mesh("one", vertices, np.array([[0, 1, 2]], np.uint32), np.zeros(1, np.uint16))
    scene = Scene("one", [mesh], [Instance(0)], [Material("plain")], Camera((0.0, 0.0, 3.0), (0.0, 0.0, 0.0)))
    assert SoftwareRenderer(scene).look(scene.camera, 8, 8, Settings(0))[0]["hit"].any()
    with pytest.raises(UserError, match="scene one: must have triangles"):
        build_tree(replace(scene, instances=[]))
