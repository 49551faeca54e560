"""The kernels of ``examples/``: what they compute equals numpy, and their profiles by slice equal full execution."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rayplay.hypa.session import FileProfile, profile_file
from rayplay.tracer.launch import Prepared, prepare
from rayplay.tracer.launchfile.file import read_launch_file
from rayplay.tracer.run import run_compute_launch
from tests.tracer.launchfile.partners import hologram, odometry, segmentation  # noqa: F401 (by their names)

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "examples"
FILES = {path.stem: path for path in sorted(FOLDER.glob("[!cs]*/*.toml")) if path.parent.name != "gallery"}
NAMES = list(FILES)
KERNELS = sorted((ROOT / "tracer" / "kernels").glob("*.toml"))
Buffers = dict[str, np.ndarray]


def run(name: str) -> tuple[Buffers, Buffers]:
    """Buffers before and after all launches of an example."""
    prepared: Prepared = prepare(FILES[name])
    before = {key: view.copy() for key, view in prepared.buffers.items()}
    for _, launch in prepared.schedule():
        run_compute_launch(launch, None, progress=False)
    return before, prepared.buffers


def backprop_layer(before: Buffers, after: Buffers) -> None:
    products = (before["input"][:, None] * before["weight"]).reshape(64, 16, 256)
    np.testing.assert_allclose(after["partial"], products.sum(1, np.float64), rtol=1e-5, atol=1e-5)
    change = 0.3 * before["delta"][None] * before["input"][:, None]
    np.testing.assert_allclose(after["weight"], before["weight"] + change, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(after["previous"], change, rtol=1e-5, atol=1e-6)


def bfs_step(before: Buffers, after: Buffers) -> None:
    offsets, neighbours = before["offsets"], before["neighbours"]
    distance = np.full(len(offsets) - 1, -1)
    distance[0], level = 0, np.array([0])
    while len(level):
        reached = np.unique(np.concatenate([neighbours[offsets[v] : offsets[v + 1]] for v in level]))
        reached = reached[distance[reached] < 0]
        distance[reached] = distance[level[0]] + 1
        level = reached
    assert (after["distance"] == distance).all()
    assert distance.max() > 3


def bitonic_sort(before: Buffers, after: Buffers) -> None:
    assert (after["keys"] == np.sort(before["keys"], axis=1)).all()


def histogram(before: Buffers, after: Buffers) -> None:
    assert (after["counts"] == np.bincount(before["values"], minlength=256)).all()


def hotspot(before: Buffers, after: Buffers) -> None:
    heat = before["temperature"].astype(np.float64)
    for _ in range(4):
        wide = np.pad(heat, 1, "edge")
        vertical = wide[2:, 1:-1] + wide[:-2, 1:-1] - 2 * heat
        horizontal = wide[1:-1, 2:] + wide[1:-1, :-2] - 2 * heat
        heat = heat + 0.05 * (before["power"] + 0.4 * vertical + 0.5 * horizontal + 0.1 * (80 - heat))
    np.testing.assert_allclose(after["result"], heat, rtol=1e-5)


def hotspot_3d(before: Buffers, after: Buffers) -> None:
    heat = before["temperature"].astype(np.float64)
    wide = np.pad(heat, ((0, 0), (1, 1), (1, 1)), "edge")
    expected = 0.5 * heat + 0.01 * before["power"] + 0.05 * 80
    expected += 0.1 * (wide[:, :-2, 1:-1] + wide[:, 2:, 1:-1] + wide[:, 1:-1, :-2] + wide[:, 1:-1, 2:])
    deep = np.concatenate((heat[:1], heat, heat[-1:]))
    expected += 0.05 * (deep[:-2] + deep[2:])
    np.testing.assert_allclose(after["result"], expected, rtol=1e-5)


def kmeans_assign(before: Buffers, after: Buffers) -> None:
    difference = before["features"].T[:, None] - before["centres"][None]
    nearest = (difference.astype(np.float64) ** 2).sum(2).argmin(1)
    assert (after["membership"] == nearest).mean() > 0.9999
    assert after["changed"][0] == np.count_nonzero(after["membership"])


def mandelbrot(before: Buffers, after: Buffers) -> None:
    x, y = np.meshgrid(np.arange(250), np.arange(250))
    c = (-2.0 + 0.01 * x) + 1j * (1.25 - 0.01 * y)
    z, rounds = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(128):
        inside = np.abs(z) <= 2
        rounds += inside
        z[inside] = z[inside] ** 2 + c[inside]
    assert (after["rounds"] == rounds).mean() > 0.98  # single precision differs at the rim
    assert after["rounds"].max() == 128


def nearest_neighbour(before: Buffers, after: Buffers) -> None:
    expected = np.hypot(*(np.array([30.0, 45.0]) - before["places"]).T)
    np.testing.assert_allclose(after["distances"], expected, rtol=1e-5)


def needle(before: Buffers, after: Buffers) -> None:
    size = len(after["score"])
    score = np.zeros((size, size), int)
    score[0] = score[:, 0] = -10 * np.arange(size)
    for j in range(1, size):
        for i in range(1, size):
            like = score[j - 1, i - 1] + before["similarity"][j - 1, i - 1]
            score[j, i] = max(like, score[j - 1, i] - 10, score[j, i - 1] - 10)
    assert (after["score"] == score).all()


def particle_filter(before: Buffers, after: Buffers) -> None:
    index = np.minimum(np.searchsorted(before["cumulative"], before["draws"]), 999)
    assert (after["new_x"] == before["x"][index]).all()
    assert (after["new_y"] == before["y"][index]).all()
    dy, dx = np.mgrid[-4:5, -4:5]
    for k in range(0, 1000, 50):
        px, py = int(before["x"][k]) + dx, int(before["y"][k]) + dy
        chosen = (dx**2 + dy**2 <= 16) & (px >= 0) & (py >= 0) & (px < 128) & (py < 128)
        value = before["image"][py[chosen], px[chosen]].astype(float)
        expected = np.exp((((value - 100) ** 2 - (value - 228) ** 2) / 50).mean() / 1000)
        np.testing.assert_allclose(after["weights"][k], expected, rtol=1e-12)


def particle_forces(before: Buffers, after: Buffers) -> None:
    particles = before["particles"].reshape(4, 4, 4, 64, 4).astype(np.float64)
    for z, y, x in ((0, 0, 0), (1, 2, 3), (2, 1, 1)):
        low = [max(k - 1, 0) for k in (z, y, x)]
        near = particles[low[0] : z + 2, low[1] : y + 2, low[2] : x + 2].reshape(-1, 4)
        away = particles[z, y, x][:, None, :3] - near[None, :, :3]
        squared = (away**2).sum(2)
        potential = np.where(squared <= 0.36, near[:, 3] * np.exp(-0.5 * squared), 0)
        expected = np.dstack((potential[..., None] * away, potential)).sum(1)
        found = after["forces"].reshape(4, 4, 4, 64, 4)[z, y, x]
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)


def pathfinder(before: Buffers, after: Buffers) -> None:
    cheapest = np.zeros(10000, int)
    for row in before["wall"]:
        wide = np.pad(cheapest, 1, constant_values=1 << 30)
        cheapest = row + np.minimum(np.minimum(wide[:-2], wide[2:]), cheapest)
    assert (after["cheapest"] == cheapest).all()


def prefix_scan(before: Buffers, after: Buffers) -> None:
    assert (after["sums"] == np.cumsum(before["values"])).all()


def spmv(before: Buffers, after: Buffers) -> None:
    offsets = before["offsets"].astype(int)
    products = before["values"][: offsets[-1]].astype(np.float64) * before["x"][before["columns"]]
    sums = np.concatenate(([0], np.cumsum(products)))
    expected = sums[offsets[1:]] - sums[offsets[:-1]]
    for result in ("by_thread", "by_warp"):
        np.testing.assert_allclose(after[result], expected, rtol=1e-4, atol=1e-4)


def stream_cluster(before: Buffers, after: Buffers) -> None:
    points = before["coordinates"].astype(np.float64)
    cost = ((points - points[:, 17:18]) ** 2).sum(0) * before["weights"]
    clear = np.abs(cost - before["costs"]) > 1e-4
    moves = cost < before["costs"]
    assert (after["switches"][clear] == moves[clear]).all()
    gain = np.where(moves, after["lower"][:, 8], -after["lower"][np.arange(8192), before["assigned"]])
    np.testing.assert_allclose(gain[clear], (cost - before["costs"])[clear], rtol=1e-4, atol=1e-4)


def tree_search(before: Buffers, after: Buffers) -> None:
    assert (after["found"] == np.where(before["queries"] < 20000, before["queries"], -1)).all()
    assert 300 < np.count_nonzero(after["found"] < 0) < 500


@pytest.mark.parametrize("name", NAMES)
def test_an_example_computes_what_numpy_does(name: str) -> None:
    check: Callable[[Buffers, Buffers], None] = globals()[name]
    check(*run(name))


@pytest.mark.parametrize(("name", "repeated"), [("hologram", 4), ("odometry", 13), ("segmentation", 16)])
def test_a_partner_is_as_long_as_its_repeat_says(name: str, repeated: int) -> None:
    file = read_launch_file(FILES[name])
    [(key, repeat)] = file.repeat.items()
    longer = replace(file, repeat={key: replace(repeat, times=repeat.times + 5)})
    more = [longer.rounds(launch) - file.rounds(launch) for launch in file.launch]
    assert more == [5 * (launch.repeat == key) for launch in file.launch]
    assert sum(more) == 5 * repeated


def same_counts(path: Path) -> tuple[FileProfile, FileProfile]:
    sliced, full = (
        profile_file(path.with_suffix(".ptx"), path, method, progress=False) for method in ("slice", "full")
    )
    assert len(sliced.launches) == len(full.launches)
    for one, other in zip(sliced.launches, full.launches, strict=True):
        assert one.profile.visits == other.profile.visits
        assert one.profile.dynamic_instructions == other.profile.dynamic_instructions
        assert (one.profile.instructions_by_class == other.profile.instructions_by_class).all()
        assert one.profile.executed_instructions <= other.profile.executed_instructions
    return sliced, full


@pytest.mark.parametrize("path", [*FILES.values(), *KERNELS], ids=lambda path: path.stem)
def test_the_slices_of_a_file_count_as_full_execution(path: Path) -> None:
    same_counts(path)


@pytest.mark.parametrize(("name", "kernel", "share"), [
    ("backprop_layer", "adjust_weights", 0.03), ("hotspot_3d", "hotspot_3d", 0.18), ("spmv", "spmv_thread", 0.18),
    ("needle", "needle", 0.24), ("prefix_scan", "scan_tiles", 0.30), ("kmeans_assign", "kmeans_assign", 1.0),
])  # fmt: skip
def test_a_slice_is_as_small_as_its_jumps_allow(name: str, kernel: str, share: float) -> None:
    """Arithmetic on data is left out where no jump depends on it; k-means decides by what it computes."""
    path = FILES[name]
    found = profile_file(path.with_suffix(".ptx"), path, kernel=kernel, progress=False).launches[0].profile
    assert share - 0.05 < found.executed_instructions / found.dynamic_instructions <= share
