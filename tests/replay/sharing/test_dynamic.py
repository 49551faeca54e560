"""Dynamic partitions: what they choose from counts written by hand, and that a replay adopts it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.replay.engine.machine import Machine
from rayplay.replay.gpu.description import load
from rayplay.replay.input.program import read_characterisation
from rayplay.replay.launch.classes import join, parse
from rayplay.replay.launch.shared import Shared
from rayplay.replay.run.driver import Replay
from rayplay.replay.sharing import slicer, tap
from rayplay.replay.sharing.plan import Observed, Plan, Work
from rayplay.replay.sharing.rules import read_partition
from rayplay.replay.sm import ctas as dispatch
from rayplay.tracer.launch import run_launch_file
from tests.replay.conftest import write_micro
from tests.replay.launches import Kernel, write_kernels
from tests.replay.sharing.test_together import digest, together

GPU = ("sm.count=8", "sm.warps=16", "sm.ctas=16", "memory.count=2", "l2.bytes=65536", "sm.kernel_launch_cycles=0")


def work(rule: str, warps: int = 1) -> Work:
    """Two classes whose CTAs take this number of warps."""
    needs = np.zeros((2, dispatch.QUOTA_COLUMNS), np.int64)
    needs[:, dispatch.QUOTA_WARPS], needs[:, dispatch.QUOTA_CTAS] = warps, 1
    return Work(("a", "b"), ("graphics", "compute"), needs, rule)


def observed(cycle: int, instructions: list[list[int]], use: list[list[int]] | None = None) -> Observed:
    """Instructions of each class by SM, and hits by recency."""
    counts = np.array(use or [[0], [0]])
    return Observed(cycle, np.array(instructions).T, np.array([100, 100]), counts.copy(), counts)


@pytest.mark.parametrize(
    ("use", "least", "ways"),
    [
        ([[9, 9, 9, 9], [8, 0, 0, 0]], 1, (3, 1)),  # 27 + 8
        ([[9, 0, 0, 0], [8, 7, 6, 0]], 1, (1, 3)),
        ([[9, 2, 0, 0], [8, 2, 0, 0]], 1, (2, 2)),
        ([[0, 0, 0, 0], [8, 8, 8, 8]], 1, (1, 3)),  # a class without hits has its least
        ([[0, 0, 0, 0], [8, 8, 8, 8]], 2, (2, 2)),
        ([[9, 0, 0, 0], [0, 0, 0, 0]], 1, (3, 1)),  # wherever it stands
        ([[9, 0, 0, 0], [8, 0, 0, 0]], 1, (3, 1)),  # spare ways go to the class with most hits
        ([[8, 0, 0, 0], [9, 0, 0, 0]], 1, (1, 3)),
        ([[0, 0, 0, 0], [0, 0, 0, 0]], 1, (1, 3)),  # the first of several
        ([[5, 5, 0, 0], [5, 0, 0, 0], [5, 0, 0, 0]], 1, (2, 1, 1)),
    ],
)
def test_ways_go_where_they_hit_most(use: list[list[int]], least: int, ways: tuple[int, ...]) -> None:
    assert tap.best_ways(np.array(use), np.array(use), least) == ways


def test_counts_of_a_class_with_many_more_accesses_are_divided() -> None:
    use = np.array([[100, 55], [7, 3]])
    assert tap.normalised(use, np.array([1000, 99]), 10).tolist() == use.tolist()  # 10 times: not more
    assert tap.normalised(use, np.array([1100, 99]), 10).tolist() == [[9, 5], [7, 3]]
    assert tap.normalised(use, np.array([1100, 0]), 10).tolist() == [[0, 0], [7, 3]]


def test_pairs_choose_the_most_instructions_that_fit() -> None:
    rates = np.array([[10, 18, 24, 25], [10, 11, 12, 12]])
    assert slicer.best_together(rates, [1, 1]) == [3, 1]  # 24 + 10; 18 + 11 and 10 + 12 are less
    assert slicer.best_together(rates, [1, 2]) == [2, 2]
    assert slicer.best_together(np.array([[5, 5, 5, 5], [1, 2, 9, 9]]), [1, 1]) == [1, 3]
    assert slicer.best_together(np.array([[5, 5, 5, 5], [5, 5, 5, 5]]), [1, 1]) == [1, 1]  # the first of several
    three = np.array([[1, 2, 2, 2, 2], [1, 1, 9, 9, 9], [4, 5, 5, 5, 5]])
    assert slicer.best_together(three, [1, 1, 1]) == [1, 3, 1]  # 1 + 9 + 4


def test_water_goes_to_the_class_with_least_of_its_best() -> None:
    # 1/4 and 9/10; the first: 2/4, 3/4 until all four parts are held
    assert slicer.fill_water(np.array([[1, 2, 3, 4], [9, 10, 10, 10]]), [1, 1]) == [3, 1]
    assert slicer.fill_water(np.array([[9, 10, 10, 10], [1, 2, 3, 4]]), [1, 1]) == [1, 3]
    assert slicer.fill_water(np.array([[1, 2, 3, 4], [1, 2, 3, 4]]), [1, 1]) == [2, 2]  # one each, in turn
    # 1/5, 1/2 and 9/9: to the first until it has 3/5, then to the second
    three = np.array([[1, 2, 3, 4, 5, 5], [1, 2, 2, 2, 2, 2], [9, 9, 9, 9, 9, 9]])
    assert slicer.fill_water(three, [1, 1, 1]) == [3, 2, 1]


def test_water_does_not_flow_past_the_best_rate() -> None:
    """Parts that raise no rate stay free; parts that raise it together are given together, or not at all."""
    assert slicer.fill_water(np.array([[10, 5, 5, 5], [8, 9, 9, 9]]), [1, 1]) == [1, 2]
    assert slicer.fill_water(np.array([[5, 4, 10, 10], [9, 10, 10, 10]]), [1, 1]) == [3, 1]
    assert slicer.fill_water(np.array([[5, 4, 4, 10], [8, 10, 10, 10]]), [1, 1]) == [1, 2]


def test_a_class_that_would_lose_too_much_has_sms_of_its_own() -> None:
    """With two parts of four a has 5 of its best 20: it loses 75 %."""
    rates = [[1, 5, 10, 20, 0, 0, 0, 0], [0, 0, 0, 0, 1, 5, 10, 20]]
    for most, expected in ((100, [[8, 8]] * 8), (75, [[8, 8]] * 8), (74, [[16, 0]] * 4 + [[0, 16]] * 4)):
        values = ["partition.search=waterfill", f"partition.most_loss_percent={most}"]
        chooser = slicer.Chooser(read_partition("slicer", values), load("mobile", GPU), work("slicer"))
        chosen = chooser.decide(observed(10_000, rates))
        assert isinstance(chosen, Plan)
        assert chosen.quota[:, :, dispatch.QUOTA_WARPS].tolist() == expected


def test_parts_that_raise_no_rate_stay_free_as_published_and_go_to_the_last_as_released() -> None:
    for search, expected in (("waterfill", [4, 4]), ("pairs", [4, 12])):
        spec = read_partition("slicer", [f"partition.search={search}"])
        chooser = slicer.Chooser(spec, load("mobile", GPU), work("slicer"))
        chosen = chooser.decide(observed(10_000, [[9] * 4 + [0] * 4, [0] * 4 + [9] * 4]))
        assert isinstance(chosen, Plan)
        assert chosen.quota[:, :, dispatch.QUOTA_WARPS].tolist() == [expected] * 8


@pytest.mark.parametrize(("restarts", "due"), [("false", 100), ("true", 160)])
def test_the_end_of_any_kernel_puts_a_decision_off_as_released(restarts: str, due: int) -> None:
    values = ["partition.sample_cycles=100", f"partition.restarts={restarts}"]
    chooser = slicer.Chooser(read_partition("slicer", values), load("mobile", GPU), work("slicer"))
    rates = [[9] * 4 + [0] * 4, [0] * 4 + [9] * 4]
    assert chooser.kernel_ended({"graphics"}, observed(60, rates)) is None
    assert chooser.due == due
    assert isinstance(chooser.decide(observed(due, rates)), Plan)
    assert chooser.kernel_ended({"graphics"}, observed(170, rates)) is None
    assert chooser.due == slicer.NEVER, "only events of reset_on begin another sampling"


def test_the_slicer_samples_decides_and_samples_again() -> None:
    gpu, spec = load("mobile", GPU), read_partition("slicer", ["partition.sample_cycles=100"])
    chooser = slicer.Chooser(spec, gpu, work("slicer"))
    warps = chooser.plan.quota[:, :, dispatch.QUOTA_WARPS]
    assert warps.tolist() == [[4, 0], [8, 0], [12, 0], [16, 0], [0, 4], [0, 8], [0, 12], [0, 16]]
    assert chooser.due == 100
    nothing = observed(100, [[10, 18, 24, 25, 0, 0, 0, 0], [0] * 8])
    assert chooser.decide(nothing) is None
    assert chooser.due == 200
    chosen = chooser.decide(observed(200, [[10, 18, 24, 25, 0, 0, 0, 0], [0, 0, 0, 0, 10, 11, 12, 12]]))
    assert isinstance(chosen, Plan)
    assert chosen.quota[:, :, dispatch.QUOTA_WARPS].tolist() == [[12, 4]] * 8
    assert chooser.due == slicer.NEVER
    later = observed(500, [[30] * 8, [40] * 8])
    assert chooser.kernel_ended({"graphics", "draw"}, later) is None
    assert chooser.kernel_ended({"compute"}, later) is chooser.plan
    assert chooser.due == 600


def test_the_slicer_chooses_shares_that_every_cta_fits() -> None:
    gpu, spec = load("mobile", GPU), read_partition("slicer")
    assert slicer.least_levels(gpu, work("slicer", 8)) == [2, 2]
    with pytest.raises(UserError, match=r"^partition slicer: the classes' CTAs never fit into an SM together: they need"
                                        r" 3 of 4 parts for a and 3 of 4 parts for b$"):  # fmt: skip
        slicer.Chooser(spec, gpu, work("slicer", 9))
    with pytest.raises(UserError, match=r"^partition slicer: needs at least 4 SMs to sample 2 classes, not 2$"):
        slicer.Chooser(spec, gpu.with_values(["sm.count=2"]), work("slicer"))


@pytest.mark.parametrize("partition", ["slicer", "tap"])
def test_a_replay_adapts_and_neither_quantum_nor_threads_matter(tmp_path: Path, partition: str) -> None:
    texts = [
        str(write_kernels(tmp_path / f"{number}.trace", [kernel, kernel]))
        for number, kernel in enumerate([Kernel((9, 3, 20) * 40), Kernel((4, 6) * 30, registers=64)])
    ]
    value = "partition.sample_cycles=200" if partition == "slicer" else "partition.period_cycles=150"
    for number, (quantum, threads) in enumerate([(None, 1), (1, 1), (7, 2)]):
        result = together(texts, load("mobile", GPU), partition, value, quantum=quantum, threads=threads)
        result.write(tmp_path / f"{number}.result", {"command": "test"})
        assert digest(tmp_path / f"{number}.result") == digest(tmp_path / "0.result")
    assert result.by_class["classes"][0]["passes"].min() >= 1


def test_the_counts_of_crisps_own_run_give_the_hologram_one_way() -> None:
    """Hits by recency that CRISP's artifact prints for rendering beside the hologram, which has none."""
    graphics = [2013442, 225206, 71632, 44270, 23630, 9482, 3420, 2544, 1704, 2102, 2722, 3340, 4692, 5876, 4840, 4312]
    use = np.array([graphics, [0] * 16])
    assert tap.best_ways(use, use, 1) == (15, 1)


def test_ways_that_divided_counts_do_not_tell_apart_go_by_the_counts() -> None:
    """Counts of monitors of MT beside the hologram, 599,529 accesses for 32,749: divided by 18 the last are 0, and the
    hologram, which hits nowhere beyond its fourth way, has no use of more.
    """
    graphics = [22946, 5058, 1512, 531, 201, 61, 36, 18, 12, 8, 8, 3, 6, 4, 10, 16]
    counted = np.array([graphics, [7012, 204, 414, 818] + [0] * 12])
    divided = tap.normalised(counted, np.array([599529, 32749]), 10)
    assert divided[0].tolist() == [1274, 281, 84, 29, 11, 3, 2, 1] + [0] * 8
    assert tap.best_ways(divided, counted, 1) == (12, 4)


def test_tap_leaves_a_hologram_the_least_ways(
    tmp_path: Path, op: Callable[..., Any], load_op: Callable[..., Any]
) -> None:
    """The partner's kernels, of 128x128 pixels, beside a class that reads the same lines again and again.

    Its phases are lines that it wrote. Later, on so few ways, they are written back, fetched, and count.
    """
    folder = Path(__file__).resolve().parents[3] / "examples" / "partners"
    text = (folder / "hologram.toml").read_text()
    for old, new in (("512", "128"), ("[64, 8]", "[4, 8]"), ("[1024]", "[64]"), ("8, 64, 2", "8, 4, 2"),
                     ("262144", "16384"), ("value = 64 ", "value = 4 "), ("times = 2", "times = 4")):  # fmt: skip
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "hologram.toml").write_text(text)
    (tmp_path / "hologram.ptx").write_bytes((folder / "hologram.ptx").read_bytes())
    run_launch_file(tmp_path / "hologram.toml", tmp_path / "hologram.trace", progress=False)
    write_micro(
        tmp_path / "picture.trace", [load_op(), op()], [200] * 16,
        lambda warp, visit, index, lane: 128 * ((17 * warp + visit) % 300) + 4 * lane,
    )  # fmt: skip
    texts = [f"picture={tmp_path}/picture.trace", f"hologram={tmp_path}/hologram.trace"]
    gpu = load("mobile", [*GPU, "l2.bytes=262144", "l1.bytes=1024", "l1.ways=8"])
    grants = together(texts, gpu, "tap", "partition.period_cycles=20000").by_class["class_grants"]
    ways = [part["value"][part["resource"] == "l2_ways"].tolist() for part in grants]
    assert ways[:2] == [[16, 16], [15, 1]]


def test_hits_on_lines_that_a_class_wrote_are_no_utility(
    tmp_path: Path, op: Callable[..., Any], load_op: Callable[..., Any]
) -> None:
    """As the hologram reads its phases: only lines that were written back and fetched again count."""
    store, lines = op("store", "lsu", 1, 1, -1, 0, "global"), 96

    def address(warp: int, visit: int, index: int, lane: int) -> int:
        return 128 * ((17 * warp + visit) % lines) + 4 * lane

    ops = {"dirty": [store, load_op(), op()], "clean": [load_op(), op()]}
    for name, own in ops.items():
        write_micro(tmp_path / f"{name}.trace", own, [60] * 16, address)
    texts = [f"{name}={tmp_path / name}.trace" for name in ops]
    shared = Shared(join([parse(text) for text in texts]), read_partition("tap", ["partition.period_cycles=400"]))
    gpu = load("mobile", [*GPU, "l1.bytes=1024", "l1.ways=8"])
    machine = Machine(shared.joined.trace, gpu, read_characterisation(shared.joined.trace, None), sharing=shared)
    Replay(machine).run(lambda standing: None)
    dirty, clean = machine.memory.l2.tags.owners.use.reshape(-1, 2, 16).sum(axis=(0, 2))
    assert 20 * dirty < clean
