"""Layouts by name: what a ray hits is the same in each; records have the sizes and places that the name says."""

import numpy as np
import pytest

from rayplay import tracer  # noqa: F401  (names the machine-code cache before numba is imported)
from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.laws.check import validate
from rayplay.replay.gpu.description import load as load_gpu
from rayplay.replay.run.driver import simulate
from rayplay.replay.testing import totals
from rayplay.tracer.bvh.build import Acceleration, build_acceleration
from rayplay.tracer.bvh.layouts import LAYOUTS
from rayplay.tracer.render import Request, render
from rayplay.tracer.shading.config import PROGRAM_FOLDER
from tests.tracer.rays.test_hits import ORDERS, random_rays, random_scene
from tools.ray_batch import trace_rays

BASE = 0x1000_0000
HEADER, INTERNAL, INSTANCE, DESCRIPTOR, TRIANGLE, PROCEDURAL = range(6)
BYTES = {"bvh6": (64, 64, 128, 8, 64, 64), "bvh8": (64, 128, 128, 8, 64, 64), "cwbvh8": (64, 80, 128, 8, 48, 48)}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(3))
def test_every_layout_has_the_same_hits_bit_for_bit(seed: int, order: str) -> None:
    scene = random_scene(seed)
    origins, directions = random_rays(seed + 200, 2000)
    found = [
        trace_rays(build_acceleration(scene, BASE, named=each), origins, directions, 0.01, 50.0, order=order)
        for each in LAYOUTS.values()
    ]
    assert np.isfinite(found[0].t).mean() > 0.3
    for each in found[1:]:
        for name in ("t", "instance", "primitive", "u", "v", "kind"):
            np.testing.assert_array_equal(getattr(each, name), getattr(found[0], name), name)


@pytest.fixture(scope="module", params=LAYOUTS)
def built(request: pytest.FixtureRequest) -> Acceleration:
    return build_acceleration(random_scene(1), BASE, named=LAYOUTS[request.param])


def test_records_have_the_bytes_of_the_layout_and_places_of_their_own(built: Acceleration) -> None:
    table = built.node_table()
    kind, address, size = (table[name].astype(np.int64) for name in ("kind", "address", "bytes"))
    assert (size == np.array(BYTES[built.layout.name])[kind]).all()
    assert set(kind.tolist()) == {0, 1, 2, 4, 5} | ({3} if built.layout.has_descriptors else set())
    own = kind != DESCRIPTOR
    order = np.argsort(address[own])
    assert (np.diff(address[own][order]) >= size[own][order][:-1]).all()
    assert address.min() >= BASE
    assert (address + size).max() <= BASE + built.image.nbytes
    # the RT unit reads as many sectors as the bytes fill, wherever a record begins
    assert ((address % 32 + size + 31) // 32 == (size + 31) // 32).all()


def test_packed_nodes_stand_behind_each_other_and_so_do_leaves() -> None:
    built = build_acceleration(random_scene(1), BASE, named=LAYOUTS["cwbvh8"])
    kind, address = built.node_kind, built.node_address.astype(np.int64)
    header = np.flatnonzero(kind == HEADER)
    for first, end in zip(header, [*header[1:], len(kind)], strict=True):
        rows = np.arange(first, end)
        nodes, leaves = (address[rows[np.isin(kind[rows], kinds)]] for kinds in ((INTERNAL,), (TRIANGLE, PROCEDURAL)))
        assert nodes[0] == address[first] + 64
        assert (np.diff(nodes) == 80).all()
        assert (np.diff(leaves) == 48).all()


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trace]:
    """Path-traced cornell boxes, one pixel: a warp with one ray at a time."""
    folder = tmp_path_factory.mktemp("layouts")
    program, config = (PROGRAM_FOLDER / "path-tracing.ptx", PROGRAM_FOLDER / "path-tracing.toml")
    for name in LAYOUTS:
        render(Request("cornell", program, config, folder / f"{name}.trace", 1, 1, 4, record="culled", bvh=name))
    return {name: open_trace(folder / f"{name}.trace") for name in LAYOUTS}


def test_pictures_are_the_same_and_traces_keep_every_law(traces: dict[str, Trace]) -> None:
    for name, trace in traces.items():
        assert validate(trace) == []
        assert trace.manifest.provenance.get("bvh", "bvh6") == name
        assert (trace.read("image", ["red"])["red"] == traces["bvh6"].read("image", ["red"])["red"]).all()


def test_the_rt_unit_reads_the_bytes_of_the_layout(traces: dict[str, Trace]) -> None:
    for trace in traces.values():
        node = trace.read("rays", ["node"])["node"] & 0x3FFFFFFF
        size = trace.read("nodes", ["bytes"])["bytes"][node].astype(np.int64)
        assert totals(simulate(trace, load_gpu("mobile")))["rt_unit.reads"] == ((size + 31) // 32).sum()
