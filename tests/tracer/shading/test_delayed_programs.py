"""Any-hit and intersection programs after the traversal: one stretch a ray, the same hits, and when they do not run."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rayplay import ptx
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.schema.trace import NODE_KINDS
from rayplay.tracer.__main__ import main
from rayplay.tracer.abi.trace_frame import STATUS, VERDICT
from rayplay.tracer.bvh.build import build_acceleration
from rayplay.tracer.link.launches import ImageLaunch
from rayplay.tracer.rays.state import MOST_KEPT, make_context
from rayplay.tracer.rays.traverse import traverse_lane
from rayplay.tracer.rays.walk import ERROR_KEPT_FULL
from rayplay.tracer.record import buffers
from rayplay.tracer.scenes.description import Scene, Spheres
from rayplay.tracer.shading.config import read_config
from rayplay.tracer.shading.prepare import Sampling, prepare_image
from tests.reference.traversal_slow import closest_hits
from tests.tracer.execution.test_trace_calls import CONFIG, PROGRAM, expected, planes, run
from tests.tracer.rays.test_hits import ORDERS, assert_same_hits, random_rays, random_scene
from tests.tracer.rays.test_records import ANY, BASE, CLOSEST, FIRST_HIT, PROCEDURAL, ROW, Lane, context_of
from tools.ray_batch import trace_rays


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_hits_are_those_of_brute_force(seed: int, apart: bool, order: str) -> None:
    scene = random_scene(seed)
    scene = replace(scene, spheres=replace(scene.spheres, apart=apart))
    origins, directions = random_rays(seed + 300, 2000)
    acceleration = build_acceleration(scene, BASE)
    hits = trace_rays(acceleration, origins, directions, 0.01, 50.0, order=order, delayed=True)
    waiting = trace_rays(acceleration, origins, directions, 0.01, 50.0, order=order)
    t, _ = closest_hits(scene, origins, directions, 0.01, 50.0)
    assert_same_hits(hits.t, t)
    for column in ("t", "instance", "primitive", "kind"):
        np.testing.assert_array_equal(getattr(hits, column), getattr(waiting, column))
    assert len(hits.node) > len(waiting.node), "what lies behind the hits of programs is visited, too"


def test_the_traversal_does_not_know_of_programs() -> None:
    """Its one stretch has the records of spheres that are never hit, and offers each sphere in the order met."""
    acceleration = build_acceleration(random_scene(3), BASE)
    blind, delayed = context_of(acceleration), context_of(acceleration, intersection=ANY, delayed=True)
    origins, directions = random_rays(9, 600)
    offered_all = 0
    for origin, direction in zip(origins, directions, strict=True):
        lane, offered = Lane(delayed, origin, direction), []

        def decide(lane: Lane, offered: list[int] = offered) -> int:
            offered.append(lane.get("candidate_primitive"))
            return VERDICT.none

        first, *later = lane.run(decide)
        np.testing.assert_array_equal(first, Lane(blind, origin, direction).step())
        assert all(len(stretch) == 0 for stretch in later)
        rows = first[acceleration.node_kind[first & ROW] == PROCEDURAL] & ROW
        leaves = (acceleration.node_address[rows].astype(np.int64) - BASE) // 64
        assert offered == acceleration.words[leaves, 2].tolist()
        offered_all += len(offered)
    assert offered_all > 50


def test_any_hit_runs_for_candidates_before_the_committed_hit() -> None:
    scene = replace(random_scene(1), spheres=Spheres.none())
    acceleration = build_acceleration(scene, BASE)
    context = context_of(acceleration, any_hit=ANY, delayed=True)
    origins, directions = random_rays(5, 300)
    plain = trace_rays(acceleration, origins, directions, 0.0, 1e4, flags=1)
    for verdict in (VERDICT.accepted, VERDICT.ignored):
        asked = 0
        for row in range(len(origins)):
            lane, limits = Lane(context, origins[row], directions[row]), [1e4]

            def decide(lane: Lane, limits: list[float] = limits, verdict: int = verdict) -> int:
                assert lane.get_float("candidate_t") < lane.get_float("committed_t") <= limits[-1]
                limits.append(lane.get_float("committed_t"))
                return verdict

            assert len(lane.run(decide)) == len(limits)
            asked += len(limits) - 1
            if verdict == VERDICT.accepted:
                assert (lane.get("status") == STATUS.hit) == np.isfinite(plain.t[row])
                assert lane.get("status") != STATUS.hit or lane.get_float("committed_t") == plain.t[row]
        assert asked > 50


def test_a_ray_that_ends_with_its_first_hit_asks_no_program_after_it() -> None:
    acceleration = build_acceleration(random_scene(0), BASE)
    records = np.array([[CLOSEST, -1, -1], [CLOSEST, ANY, -1], [CLOSEST, -1, ANY]], np.int32)
    context = make_context(acceleration, records, [-1], "vulkan-sim", delayed=True)
    origins, directions = random_rays(2, 400)
    ended = 0
    for origin, direction in zip(origins, directions, strict=True):
        lane = Lane(context, origin, direction, flags=FIRST_HIT)
        rows = lane.step()
        if (rows > ROW).any() and lane.get("status") == STATUS.hit:
            ended += (acceleration.node_kind[rows & ROW] == PROCEDURAL).any()
    assert ended > 0, "a sphere was met before the triangle that ended the ray"


def test_more_candidates_than_there_is_room_for() -> None:
    count = MOST_KEPT + 1
    centers = np.zeros((count, 3), np.float32)
    centers[:, 2] = np.arange(count)
    scene = random_scene(0)
    row = Spheres(centers, np.full(count, 0.4, np.float32), np.zeros(count, np.uint16))
    for spheres, error in ((row, ERROR_KEPT_FULL), (Spheres(centers[1:], row.radius[1:], row.material[1:]), None)):
        acceleration = build_acceleration(replace(scene, meshes=[], instances=[], spheres=spheres), BASE)
        lane = Lane(
            context_of(acceleration, intersection=ANY, delayed=True), np.array([0, 0, -5.0]), np.array([0, 0, 1.0])
        )
        found = traverse_lane(lane.context.words, lane.frame, lane.state, lane.lane, lane.log)
        assert found == error if error else found > MOST_KEPT


def launch_of(folder: Path, scene: Scene, delayed: bool) -> tuple[ImageLaunch, int]:
    """The launch of ``test_execution_trace_calls``, whose closest-hit programs trace again."""
    config = folder / "rays.toml"
    config.write_text(CONFIG)
    module = ptx.parse(PROGRAM, "rays.ptx")
    prepared = prepare_image(scene, module, read_config(config), Sampling(40, 2), delayed=delayed)
    return prepared.launch, prepared.image_address


def test_a_ray_has_one_row_with_what_it_hit_in_the_end(tmp_path: Path) -> None:
    after, results = run(*launch_of(tmp_path, planes(), True), "machine")
    plain, same = run(*launch_of(tmp_path, planes(), True), "interpreter")
    assert np.array_equal(results, same)
    rays, theirs = after.table("rays"), plain.table("rays")
    assert all(np.array_equal(rays[column], theirs[column]) for column in rays)
    assert rays["segment"].max() == 0
    lanes = [lane for lane in range(40) if lane % 8 != 7 and lane % 4 != 2]
    totals = results[0, :, 2].copy().view(np.float32)
    assert [(float(totals[lane]), int(results[0, lane, 3])) for lane in lanes] == [expected(lane) for lane in lanes]

    during, _ = run(*launch_of(tmp_path, planes(), False), "machine")
    rows = during.table("rays")
    lane, old_lane = (table["warp_id"].astype(int) * 32 + table["lane"] for table in (rays, rows))
    for each in lanes:
        ours, stretches = rays["hit_t"][lane == each], np.flatnonzero(old_lane == each)
        ends = np.append(rows["segment"][stretches][1:] == 0, True)
        assert np.array_equal(ours, rows["hit_t"][stretches][ends])


@pytest.mark.parametrize("backend", ["machine", "interpreter"])
def test_full_buffers_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
    """They are emptied in the middle of trace calls, before it is known what their rays hit."""
    whole = run(*launch_of(tmp_path, planes(), True), "machine")[0].table("rays")
    for name, size in (("VISITS", 16), ("ACCESSES", 16), ("RUNS", 8), ("RAYS", 64)):
        monkeypatch.setattr(buffers, name, size)
    part = run(*launch_of(tmp_path, planes(), True), backend)[0].table("rays")
    assert all(np.array_equal(part[column], whole[column]) for column in whole)


def test_scenes_render_to_the_same_picture(tmp_path: Path) -> None:
    made = {}
    for name, options in (
        ("usual", []),
        ("after", ["--hit-programs", "after"]),
        ("apart", ["--spheres", "apart"]),
        ("both", ["--hit-programs", "after", "--spheres", "apart"]),
    ):
        out = tmp_path / f"{name}.trace"
        assert main(["render", "wknd", "--size", "40x24", "--samples", "1", *options, "--out", str(out)]) == 0
        made[name] = open_trace(out)
        assert out.with_suffix(".png").read_bytes() == (tmp_path / "usual.png").read_bytes()
        chosen = {key: made[name].manifest.provenance.get(key) for key in ("hit_programs", "spheres")}
        assert chosen == {"hit_programs": None, "spheres": None} | {
            option.removeprefix("--").replace("-", "_"): value
            for option, value in zip(options[::2], options[1::2], strict=True)
        }
    kinds = {name: trace.read("nodes", ["kind"])["kind"] for name, trace in made.items()}
    instances = {name: int((kind == NODE_KINDS.index("instance")).sum()) for name, kind in kinds.items()}
    assert instances == {"usual": 1, "after": 1, "apart": 487, "both": 487}
    ends = {name: trace.read("rays", ["segment"])["segment"].max() for name, trace in made.items()}
    assert ends["after"] == ends["both"] == 0 < min(ends["usual"], ends["apart"])
