"""Kernels side by side: what each is told to have added, against itself alone, the units beyond, and the totals."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.result import open_result
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.edit.merge import PIXEL_TABLES, merge
from rayplay.formats.testing.generate import make_trace
from rayplay.replay.gpu.description import load
from rayplay.replay.launch.launches import Launch
from rayplay.replay.launch.selection import Selection
from rayplay.replay.launch.streams import Streams
from rayplay.replay.picture import draw_roofline, draw_units
from rayplay.replay.results.ledger import APART
from rayplay.replay.results.metrics import Result
from rayplay.replay.run.driver import simulate
from rayplay.replay.sm.ctas import Needs
from rayplay.replay.unit.streams import NOT_SHARED
from tests.replay.engine.test_laws import digest
from tests.replay.launches import Kernel, write_kernels

GPU = ("sm.count=3", "memory.count=2", "l2.bytes=65536", "sm.kernel_launch_cycles=50", "sm.concurrent_kernels=4")
OPTIONS: dict[str, tuple[str, ...]] = {
    "as it is": (), "private": ("rt.cache=private",), "past caches": ("rt.cache=none",),
    "textures": ("texture.path=cache",), "texture unit": ("texture.path=unit",),
    "raster": ("rop.colour_pixels_per_cycle=2", "rop.depth_pixels_per_cycle=8"),
    "two-level": ("scheduler.policy=two-level",),
}  # fmt: skip
ACCESSES = [f"{kind}_{what}" for kind in ("read", "write") for what in ("hits", "pending_hits")]
ACCESSES += [f"{kind}_{what}_misses" for kind in ("read", "write") for what in ("line", "sector")]
# counters of what a kernel does, whatever happens beside it
OWN = {
    "sm": ("warp_instructions", "thread_instructions", "retired_instructions", "retired_warps", "retired_ctas",
           "barrier_releases", "issued_lsu", "threads_sp"),
    "lsu": ("instructions", "sectors", "shared_cycles", "bank_conflict_cycles"),
    "rt_unit": ("warps", "lanes", "rays", "early_out_rays", "nodes", "records", "stores", "intersection_lane_cycles"),
}  # fmt: skip
Counts = dict[tuple[int, str, str], int]  # kernel, unit, counter


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two streams of two kernels each, of which the first traces rays."""
    folder = tmp_path_factory.mktemp("shares")
    streams = []
    for seed in (1, 2):
        made = open_trace(make_trace(folder / f"made{seed}.trace", seed, (40, 16), ctas=12))
        with TraceWriter(folder / f"{seed}.trace", {"command": "test"}) as writer:
            for name in made.tables:
                if name not in PIXEL_TABLES:  # only one image launch may be merged
                    writer.put(name, made.read(name))
        streams.append(open_trace(folder / f"{seed}.trace"))
    merge(streams, folder / "streams.trace")
    return folder / "streams.trace"


def counts(result: Result) -> Counts:
    """Every counter, over the instances of its unit."""
    table, found = result.counters, defaultdict(int)
    columns = (table[name].tolist() for name in ("kernel_id", "unit", "counter", "value"))
    for kernel, unit, counter, value in zip(*columns, strict=True):
        found[kernel, unit, counter] += value
    return found


@pytest.mark.parametrize("model", ["characterised", "pipeline"])
@pytest.mark.parametrize("option", OPTIONS)
def test_each_kernel_has_what_it_did(trace: Path, model: str, option: str) -> None:
    gpu = load("mobile", [*GPU, *OPTIONS[option]])
    result = simulate(trace, gpu, model=model)
    kernels, found = result.kernels["kernel_id"].tolist(), counts(result)
    first = result.kernels["start_cycle"] == 0
    assert first.sum() == 2  # they do run side by side
    for kernel in kernels:
        alone = counts(simulate(trace, gpu, model=model, selection=Selection((kernel,))))
        for unit, names in OWN.items():
            for name in names:
                assert found[kernel, unit, name] == alone[kernel, unit, name], (unit, name)
        accesses = sum(found[kernel, "l2", name] for name in ACCESSES)
        assert accesses == found[kernel, "port", "requests"] > 0
        columns = -(-32 // gpu.dram.atom_bytes)
        assert found[kernel, "dram", "reads"] == found[kernel, "l2", "fills"] * columns
        assert found[kernel, "dram", "data_ticks"] == gpu.dram.burst_ticks * sum(
            found[kernel, "dram", name] for name in ("reads", "writes")
        )
    left = {(unit, name) for (kernel, unit, name), value in found.items() if kernel == APART and value}
    assert left <= {(unit, name) for unit, names in NOT_SHARED.items() for name in names}


@pytest.mark.parametrize("model", ["characterised", "pipeline"])
def test_stacks_of_kernels_side_by_side(trace: Path, model: str) -> None:
    """Every slot counts once; a kernel's issue slots are its instructions, idle ones have no kernel."""
    result = simulate(trace, load("mobile", GPU), model=model)
    table, found = result.table("stack"), counts(result)
    assert table["slots"].min() >= 0
    assert table["slots"].sum() == result.value("gpu_cycles") * result.gpu.sm.count * result.gpu.scheduler.count
    for kernel, start in zip(result.kernels["kernel_id"].tolist(), result.kernels["start_cycle"].tolist(), strict=True):
        slots = {reason: int(table["slots"][(table["kernel_id"] == kernel) & (table["reason"] == reason)].sum())
                 for reason in ("issue", "idle")}  # fmt: skip
        assert slots["issue"] == found[kernel, "sm", "warp_instructions"] > 0
        assert start > 0 or slots["idle"] == 0
    rest = table["kernel_id"] == APART
    waits = table["slots"][rest & (table["reason"] != "idle")]
    assert waits.max() <= len(result.kernels["name"])  # what each kernel's whole slots leave of a reason


def test_kernels_with_schedulers_of_their_own_have_the_stacks_they_have_alone(tmp_path: Path) -> None:
    """Two kernels of one CTA each, on an SM of their own: nothing is shared, and all is as if each were alone."""
    kernels = [Kernel((9,), 0, warps=2), Kernel((5,), 1, warps=3)]
    path = write_kernels(tmp_path / "apart.trace", kernels)
    gpu = load("mobile", ["sm.count=2", "sm.kernel_launch_cycles=0", "sm.concurrent_kernels=2"])
    both = simulate(path, gpu).table("stack")
    for kernel in (0, 1):
        alone = simulate(path, gpu, selection=Selection((kernel,))).table("stack")
        for reason in ("issue", "data", "memory", "fetch"):
            mine = (both["kernel_id"] == kernel) & (both["reason"] == reason)
            assert both["slots"][mine].sum() == alone["slots"][alone["reason"] == reason].sum()


def test_resident_warps_sum_to_the_total(trace: Path) -> None:
    result = simulate(trace, load("mobile", GPU))
    found = counts(result)
    kernels = [found[kernel, "sm", "resident_warp_cycles"] for kernel in result.kernels["kernel_id"].tolist()]
    total = result.value("occupancy") * result.gpu.sm.count * result.gpu.sm.warps * result.value("gpu_cycles")
    assert min(kernels) > 0
    assert sum(kernels) == pytest.approx(total)


def test_quantum_and_threads_change_no_share(trace: Path, tmp_path: Path) -> None:
    gpu = load("mobile", GPU)
    for number, (quantum, threads) in enumerate([(None, 1), (1, 1), (7, 2), (None, 3)]):
        simulate(trace, gpu, quantum=quantum, threads=threads).write(tmp_path / f"{number}.result", {"command": "test"})
        assert digest(tmp_path / f"{number}.result") == digest(tmp_path / "0.result")


def test_more_streams_than_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that was launched long ago makes place for another; what kernels did is told apart all the same."""
    monkeypatch.setattr("rayplay.replay.launch.streams.PLACES", 3)
    kernels = [Kernel((number % 5 + 1,) * 3, number % 7) for number in range(20)]
    path = write_kernels(tmp_path / "many.trace", kernels)
    result = simulate(path, load("mobile", ["sm.count=2", "sm.kernel_launch_cycles=3", "sm.concurrent_kernels=2"]))
    found = counts(result)
    for number, kernel in enumerate(kernels):
        assert found[number, "sm", "warp_instructions"] == sum(kernel.visits)


def test_a_stream_keeps_its_place() -> None:
    streams = Streams([], 2)
    streams.places = 2
    need = Needs(1, 0, 0)
    launches = [Launch(0, "", stream, need, 1, 1, (0, 1), 1) for stream in (5, 3, 5, 8, 3, 5)]
    assert [streams.take_place(launch) for launch in launches] == [0, 1, 0, 1, 0, 1]


def test_pictures_count_every_cycle_once(trace: Path, tmp_path: Path) -> None:
    """Bars and points of the whole replay, whose launches have some of their cycles more than once."""
    simulate(trace, load("mobile", GPU)).write(tmp_path / "x.result", {"command": "test"})
    result = open_result(tmp_path / "x.result")
    figure = Figure()
    units, roofline = figure.subplots(2)
    draw_units(units, result)
    draw_roofline(roofline, result)
    summary = {name: entry["value"] for name, entry in result.summary.items()}
    shares = dict(
        zip(
            [text.get_text() for text in units.get_yticklabels()],
            [bar.get_width() for bar in units.patches],
            strict=True,
        )
    )
    assert shares["warps"] == pytest.approx(summary["occupancy"])
    points = [line.get_ydata()[0] for line in roofline.lines if line.get_marker() == "o"]
    assert points == pytest.approx([summary["thread_instructions"] / summary["seconds"] / 1e9] * len(points))


def test_what_a_copy_drives_away_is_its_kernels(tmp_path: Path) -> None:
    """A copy before kernel 2, while kernel 0 runs: the L2's lines are driven away for kernel 2."""
    kernels = [Kernel((200,) * 4, 0), Kernel((1,), 1), Kernel((1,), 1)]
    plain = open_trace(write_kernels(tmp_path / "plain.trace", kernels))
    sizes = np.array([65536, 3 * 65536])  # once what the L2 holds, before kernel 0; then three times that
    with TraceWriter(tmp_path / "copies.trace", {"command": "test"}) as writer:
        for name in plain.tables:
            writer.put(name, plain.read(name))
        writer.put("copies", {"kernel_id": [0, 2], "address": [1 << 20, 1 << 24], "bytes": sizes})
    result = simulate(tmp_path / "copies.trace", load("mobile", [*GPU, "memory.copies=whole"]))
    found = counts(result)
    first, none, second, left = (found[kernel, "l2", "evictions"] for kernel in (0, 1, 2, APART))
    assert first + second == sizes[1] // 128
    assert first < 20  # where the hash fills a set twice
    assert none == left == 0
