"""Classes of work together: one alone is a solo replay, classes sum to the counters, nothing depends on the host."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayplay.formats.dataset.result import RESULT, open_result
from rayplay.formats.guard.errors import UserError
from rayplay.formats.laws.check import validate
from rayplay.formats.testing.generate import make_trace
from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.launch.classes import join, parse
from rayplay.replay.results.metrics import Result
from rayplay.replay.run.driver import simulate
from rayplay.replay.run.together import How, class_lines, replay_together
from rayplay.replay.sharing.rules import read_partition
from tests.replay.conftest import write_micro
from tests.replay.engine.test_laws import digest
from tests.replay.launches import Kernel, write_kernels

GPU = ("sm.count=4", "memory.count=2", "l2.bytes=65536", "sm.kernel_launch_cycles=50")


def together(texts: list[str], gpu: Gpu, partition: str = "mps", *values: str, **how: Any) -> Result:
    """Classes replayed together, with values of the partition."""
    given = [parse(text) for text in texts]
    return replay_together(join(given), gpu, How(read_partition(partition, values), **{"alone": False} | how))


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """An image with rays, and one with another seed."""
    folder = tmp_path_factory.mktemp("classes")
    return [str(make_trace(folder / f"made{seed}.trace", seed, (40, 16), ctas=12)) for seed in (1, 2)]


@pytest.mark.parametrize("partition", ["greedy", "mps", "mig", "even", "tap"])
@pytest.mark.parametrize("window", [1, 4])
def test_one_class_alone_is_a_solo_replay(traces: list[str], tmp_path: Path, partition: str, window: int) -> None:
    gpu = load("mobile", [*GPU, f"sm.concurrent_kernels={window}"])
    solo = simulate(traces[0], gpu)
    solo.by_class = {}
    solo.write(tmp_path / "solo.result", {"command": "test"})
    result = together([f"all={traces[0]}"], gpu, partition)
    result.by_class = {}
    result.write(tmp_path / "class.result", {"command": "test"})
    assert digest(tmp_path / "class.result") == digest(tmp_path / "solo.result")


@pytest.mark.parametrize("model", ["characterised", "pipeline"])
@pytest.mark.parametrize("repeats", [True, False])
def test_classes_sum_to_every_counter(traces: list[str], tmp_path: Path, model: str, repeats: bool) -> None:
    result = together(traces, load("mobile", GPU), model=model, repeats=repeats, interval=1000)
    result.write(tmp_path / "x.result", {"command": "test"})
    written = open_result(tmp_path / "x.result")
    assert validate(written) == []
    total: dict[tuple[str, int, str], int] = defaultdict(int)
    classes: dict[tuple[str, int, str], int] = defaultdict(int)
    for table, sums in (("counters", total), ("class_counters", classes)):
        found = written.read(table)
        keys = zip(found["unit"], found["instance"].tolist(), found["counter"], strict=True)
        for key, value in zip(keys, found["value"].tolist(), strict=True):
            sums[key] += value
    assert classes == total
    timeline = written.read("class_timeline")
    for counter in ("warp_instructions", "resident_warp_cycles"):
        mine = (timeline["unit"] == "sm") & (timeline["counter"] == counter)
        assert timeline["value"][mine].sum() == sum(v for (_, _, name), v in total.items() if name == counter)
    held = timeline["unit"] == "l2_lines"
    for start in np.unique(timeline["start_cycle"]):
        assert timeline["value"][held & (timeline["start_cycle"] == start)].sum() == 65536 // 128


def test_quantum_and_threads_change_nothing(traces: list[str], tmp_path: Path) -> None:
    for number, (quantum, threads) in enumerate([(None, 1), (1, 1), (7, 2), (None, 3)]):
        result = together(traces, load("mobile", GPU), quantum=quantum, threads=threads)
        result.write(tmp_path / f"{number}.result", {"command": "test"})
        assert digest(tmp_path / f"{number}.result") == digest(tmp_path / "0.result")


def test_the_replay_ends_when_every_class_has_ended_once(tmp_path: Path) -> None:
    """The class of 30 cycles is done 7 times; each once it ends earlier, and the longer one ends no later."""
    short = str(write_kernels(tmp_path / "short.trace", [Kernel((4,))]))
    long = str(write_kernels(tmp_path / "long.trace", [Kernel((10,)), Kernel((18,))]))
    gpu = load("mobile", ["sm.count=2", "sm.warps=4", "sm.kernel_launch_cycles=0"])
    result = together([long, f"other={short}"], gpu)
    table = result.by_class["classes"][0]
    assert table["cycles"].tolist() == [(1 + 70 + 1) + (1 + 126 + 1), 1 + 28 + 1]
    assert table["passes"].tolist() == [1, 200 // 30]
    assert result.value("gpu_cycles") == 200
    kernels = result.kernels
    repeated = kernels["stream"] == 1
    assert kernels["kernel_id"][repeated].tolist() == [2 + 3 * number for number in range(7)]
    assert kernels["warp_instructions"][repeated].tolist() == [4] * 6 + [3]  # one visit each 7 cycles, cut at cycle 200
    once = together([long, f"other={short}"], gpu, repeats=False)
    assert once.by_class["classes"][0]["passes"].tolist() == [1, 1]
    assert once.value("warp_instructions") == 32


def test_slowdowns_are_of_the_whole_gpu(tmp_path: Path) -> None:
    """Four equal CTAs on 4 SMs take 30 cycles; on 2 SMs the second CTA of each begins a cycle later."""
    names = [str(write_kernels(tmp_path / f"{name}.trace", [Kernel((4,) * 4)])) for name in "ab"]
    result = together(names, load("mobile", ["sm.count=4", "sm.warps=4", "sm.kernel_launch_cycles=0"]), alone=True)
    table = result.by_class["classes"][0]
    assert table["alone_cycles"].tolist() == [30, 30]
    assert table["cycles"].tolist() == [31, 31]
    assert result.value("weighted_speedup") == 2 * 30 / 31
    assert result.value("fairness") == 1
    assert class_lines(result)[-1] == "weighted speed-up 1.935, fairness 1"
    assert len(class_lines(together(names, load("mobile", GPU)))) == 2, "no speed-up without each class alone"


def test_traces_have_address_spaces_of_their_own(tmp_path: Path, op: Any, load_op: Callable[..., Any]) -> None:
    """Two traces with equal addresses fetch them twice, two streams of one trace once."""
    ops = [load_op(), op()]
    paths = [
        write_micro(tmp_path / f"{name}.trace", ops, [1] * 4, lambda warp, visit, index, lane: 4 * lane + 128 * warp)
        for name in "ab"
    ]
    gpu = load("mobile", GPU)
    alone = total(simulate(paths[0], gpu), "l2", "fills")
    both = together([str(path) for path in paths], gpu, repeats=False)
    assert total(both, "l2", "fills") == 2 * alone == 2 * 16


def total(result: Result, unit: str, counter: str) -> int:
    """A counter over instances and kernels."""
    mine = (result.counters["unit"] == unit) & (result.counters["counter"] == counter)
    return int(result.counters["value"][mine].sum())


def test_streams_of_one_trace_are_classes(tmp_path: Path) -> None:
    path = str(write_kernels(tmp_path / "streams.trace", [Kernel((4,), 0), Kernel((6,), 5), Kernel((8,), 0)]))
    gpu = load("mobile", ["sm.count=2", "sm.warps=4", "sm.kernel_launch_cycles=0"])
    result = together([f"{path}:0", f"second={path}:5"], gpu, repeats=False, alone=True)
    table = result.by_class["classes"][0]
    assert table["cycles"].tolist() == table["alone_cycles"].tolist() == [30 + 58, 44]


def test_what_does_not_go_together_is_one_line(tmp_path: Path) -> None:
    a, b, c = (str(write_kernels(tmp_path / f"{name}.trace", [Kernel((4,))])) for name in "abc")
    gpu = load("mobile", ["sm.count=2"])
    cases = [
        ([a, b], ("partition.shares=[1,0]",), "partition mps: shares must give class compute2 at least 1, not 0"),
        (
            [a, b],
            ("partition.shares=[1,9]",),
            "partition mps: class compute would get none of 2 SMs; give it more shares",
        ),
        ([a, b, f"z={c}"], (), "partition mps: class compute would get none of 2 SMs; give it more shares"),
        ([a, b], ("partition.shares=[1]",), "partition mps: shares must be one for each of 2 classes, not 1"),
        ([a, b], ("partition.share=[1]",), r"--set partition.share: unknown key share.*"),
        (
            [a, b],
            ("partition.shares=3,2",),
            "--set partition.shares: shares: must be a list, such as .3, 2., found '3,2'",
        ),
        ([a, b], ("partition.shares=4",), "--set partition.shares: shares: must be a list, such as .4., found 4"),
        ([a, a], (), f"{a}: a launch must belong to one class, not to compute and compute2"),
        ([f"x={a}", f"x={b}"], (), f"class x: must have a name of its own, but {a} has it"),
        ([f"{a}:3"], (), f"{a}: stream 3 must be one of its streams, 0"),
        ([f"a-b={a}"], (), "a-b=.*: the name of a class must be letters, digits and underscores, not 'a-b'"),
    ]
    for texts, values, message in cases:
        with pytest.raises(UserError, match=f"^(?:{message})$"):
            together(texts, gpu, "mps", *values)
    with pytest.raises(UserError, match="model gatsim: cannot replay classes"):
        together([a, b], gpu, model="gatsim")


def test_every_table_of_classes_is_of_the_format() -> None:
    names = {table.name for table in RESULT.tables if table.name.startswith("class")}
    assert names == {"classes", "class_metrics", "class_counters", "class_timeline", "class_grants"}
