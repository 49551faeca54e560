"""Parents, entry distances and culled visits of a trace, against all that a ray can reach, stated in numpy."""

import numpy as np
import pytest

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.laws.check import validate
from rayplay.formats.parquet.arrow import Columns
from rayplay.tracer.bvh.build import Acceleration, build_acceleration
from rayplay.tracer.bvh.decode import Decoded, Level, decode
from rayplay.tracer.bvh.parents import parent_table
from rayplay.tracer.rays.geometry import FAR_SLACK
from rayplay.tracer.render import Request, render
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.description import moved_into_world
from rayplay.tracer.shading.config import PROGRAM_FOLDER

HEADER, INTERNAL, INSTANCE, DESCRIPTOR, TRIANGLE, PROCEDURAL = range(6)
ROW = np.uint32(0x7FFFFFFF)
RAYS_COMPARED = 80


@pytest.fixture(scope="module", params=["nearest", "vulkan-sim"])
def traces(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trace]:
    folder = tmp_path_factory.mktemp("record")
    made = {}
    for record in ("visits", "distances", "culled"):
        program = PROGRAM_FOLDER / "path-tracing.ptx"
        render(
            Request(
                scene="cornell", program=program, config=program.with_suffix(".toml"), out=folder / f"{record}.trace",
                width=24, height=16, samples=1, bounces=3, traversal=request.param, record=record,
            )
        )  # fmt: skip
        made[record] = open_trace(folder / f"{record}.trace")
    return made


def test_what_is_told_beside_changes_nothing_else(traces: dict[str, Trace]) -> None:
    plain = traces["visits"]
    assert not {"parents", "distances", "culled"} & set(plain.tables)
    assert set(traces["distances"].tables) - set(plain.tables) == {"parents", "distances"}
    assert set(traces["culled"].tables) - set(plain.tables) == {"parents", "distances", "culled"}
    for other in ("distances", "culled"):
        assert validate(traces[other]) == []
        for table in plain.tables:
            files = [[entry.sha256 for entry in trace.manifest.tables[table]] for trace in (plain, traces[other])]
            assert files[0] == files[1], (other, table)
    assert np.array_equal(
        traces["distances"].read("distances")["distance"], traces["culled"].read("distances")["distance"]
    )


@pytest.mark.parametrize("scene", ["cornell", "forest"])
def test_parents_are_the_nodes_that_hold_them(scene: str) -> None:
    acceleration = build_acceleration(load(scene, trees=5) if scene == "forest" else load(scene), 1 << 28)
    parent, kind = parent_table(acceleration)["parent"], acceleration.node_kind
    assert ((parent == -1) == (kind == HEADER)).all()
    row_at = {
        (int(a), k == DESCRIPTOR): r
        for r, (a, k) in enumerate(zip(acceleration.node_address, kind.tolist(), strict=True))
    }
    decoded = decode(acceleration)
    for level in (decoded.top, *decoded.bottoms):
        rows = [row_at[acceleration.base_address + 64 * int(block), False] for block in level.block]
        assert kind[parent[rows[0]]] == HEADER
        for at in range(len(rows)):
            for child in range(int(level.first[at]), int(level.first[at] + level.children[at])):
                row = rows[child]
                if level.kind[child] in (TRIANGLE, PROCEDURAL):
                    descriptor = row_at[int(acceleration.node_address[row]), True]
                    assert parent[row] == descriptor
                    row = descriptor
                assert parent[row] == rows[at]


def test_visits_and_culled_ones_are_all_that_a_ray_can_reach(traces: dict[str, Trace]) -> None:
    trace = traces["culled"]
    address = int(trace.read("nodes", ["address"])["address"][0])
    as_embree = trace.manifest.provenance["traversal"] == "vulkan-sim"
    scene = moved_into_world(load("cornell")) if as_embree else load("cornell")
    acceleration = build_acceleration(scene, address, as_embree)
    assert np.array_equal(acceleration.node_address, trace.read("nodes", ["address"])["address"])
    rays, culled, distances = (trace.read(name) for name in ("rays", "culled", "distances"))
    decoded = decode(acceleration)
    whole = np.flatnonzero((rays["kind"] == 0) & (np.diff(culled["node_offset"].astype(np.int64)) > 0))
    chosen = whole[:: max(len(whole) // RAYS_COMPARED, 1)]
    assert len(chosen) >= 20
    compared = 0
    for ray in chosen.tolist():
        told = visits(rays, distances, ray) + visits(culled, culled, ray)
        wanted = reachable(acceleration, decoded, rays, ray)
        if rays["segment"][ray] > 0 or (ray + 1 < len(rays["segment"]) and rays["segment"][ray + 1] > 0):
            continue
        assert sorted(row for row, _ in told) == sorted(row for row, _ in wanted)
        near = {row: sorted(d for r, d in wanted if r == row) for row, _ in wanted}
        for row, distance in told:
            if acceleration.node_kind[row] in (INTERNAL, INSTANCE, DESCRIPTOR):
                assert np.isclose(near[row], distance, rtol=1e-4, atol=1e-4).any(), (ray, row)
        compared += len(told)
    assert compared > 500


def test_a_triangle_has_the_distance_of_its_hit(traces: dict[str, Trace]) -> None:
    trace = traces["culled"]
    rays, distances, culled = (trace.read(name) for name in ("rays", "distances", "culled"))
    kind, hits = trace.read("nodes", ["kind"])["kind"], 0
    for ray in np.flatnonzero(rays["primitive"] >= 0).tolist():
        leaves = [d for row, d in visits(rays, distances, ray) if kind[row] == TRIANGLE]
        behind = [d for row, d in visits(culled, culled, ray) if kind[row] == TRIANGLE]
        if rays["kind"][ray] == 0 and min(leaves, default=np.inf) <= rays["hit_t"][ray]:
            assert min(leaves) == rays["hit_t"][ray]
            hits += 1
        assert all(d >= rays["hit_t"][ray] or np.isclose(d, rays["hit_t"][ray]) for d in behind)
    assert hits > 50


def visits(rows: Columns, distances: Columns, ray: int) -> list[tuple[int, float]]:
    """Records and distances of a ray."""
    begin, end = rows["node_offset"][ray : ray + 2].astype(np.int64).tolist()
    nodes = (rows["node"][begin:end] & ROW).tolist()
    return list(zip(nodes, distances["distance"][begin:end].tolist(), strict=True))


def reachable(acceleration: Acceleration, decoded: Decoded, rays: Columns, ray: int) -> list[tuple[int, float]]:
    """Records that a ray fetches which nothing stops before its end, with the entry distances of their boxes."""
    origin = np.array([rays[f"origin_{axis}"][ray] for axis in "xyz"], np.float32)
    direction = np.array([rays[f"direction_{axis}"][ray] for axis in "xyz"], np.float32)
    interval = np.float32(rays["t_min"][ray]), np.float32(rays["t_max"][ray])
    first = acceleration.block_row[acceleration.top_block]
    found = [(int(first), float(interval[0]))]
    top = decoded.top
    instances = np.flatnonzero(top.is_leaf)
    for at, distance in entered(top, origin, direction, interval):
        row = int(acceleration.block_row[top.block[at]])
        found.append((row, distance))
        if not top.is_leaf[at]:
            continue
        number = int(np.searchsorted(instances, at))
        matrix, below = decoded.to_object[number], decoded.bottoms[decoded.bottom[number]]
        found.append((int(below.block[0]) - 1, distance))
        moved, turned = matrix[:, :3] @ origin + matrix[:, 3], matrix[:, :3] @ direction
        for inner, near in entered(below, moved, turned, interval, distance):
            if below.is_leaf[inner]:
                found.append((int(acceleration.words[below.block[inner], 15]), near))
            found.append((int(below.block[inner]), near))
    return found


def entered(
    level: Level, origin: np.ndarray, direction: np.ndarray, interval: tuple[np.float32, np.float32],
    distance: float | None = None,
) -> list[tuple[int, float]]:  # fmt: skip
    """Rows of a level whose boxes, and all above them, a ray enters; ``distance``: of the instance, of its root."""
    small = np.abs(direction) < np.float32(1e-20)
    inverse = np.float32(1) / np.where(small, np.float32(1e-20), direction)
    slabs = np.stack([(level.low - origin) * inverse, (level.high - origin) * inverse])
    near = np.maximum(slabs.min(axis=0).max(axis=1), interval[0])
    far = np.minimum(slabs.max(axis=0).min(axis=1) * FAR_SLACK, interval[1])
    hit = near <= far
    if distance is not None:
        hit[0], near[0] = True, distance  # below an instance the header's box is not tested
    if not hit[0]:
        return []
    reached = [0]
    for at in reached:
        reached += [c for c in range(int(level.first[at]), int(level.first[at] + level.children[at])) if hit[c]]
    return [(at, float(near[at])) for at in reached]
