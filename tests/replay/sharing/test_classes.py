"""Launches become classes of work by what they do, and every counter is the sum over classes, streams and draws."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rayplay.formats.dataset.result import Result, open_result
from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.formats.laws.check import validate
from rayplay.formats.testing.generate import make_trace
from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.launch.classes import join, parse
from rayplay.replay.run.driver import simulate
from tests.replay.conftest import write_micro
from tests.replay.launches import Kernel, write_kernels
from tests.replay.sharing.test_together import together

GPU = ("sm.count=6", "memory.count=2", "l2.bytes=65536", "sm.kernel_launch_cycles=50", "sm.concurrent_kernels=4")
BLOCK = ["unit", "instance", "counter"]


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """An image with rays beside draws, and plain kernels in two streams."""
    folder = tmp_path_factory.mktemp("kinds")
    plain = [Kernel((4, 9) * 6, 0), Kernel((30,), 3), Kernel((2,) * 9, 0)]
    return [make_trace(folder / "picture.trace", 1, (40, 16), ctas=12), write_kernels(folder / "net.trace", plain)]


@pytest.fixture(scope="module")
def result(traces: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Result:
    """All three kinds at once."""
    out = tmp_path_factory.mktemp("result") / "x.result"
    together([str(trace) for trace in traces], gpu(), "mps", interval=1000).write(out, {"command": "test"})
    return open_result(out)


def gpu() -> Gpu:
    return load("mobile", GPU)


def draws(*rows: tuple[int, str, int]) -> dict[str, Any]:
    """A table of stages: launch, stage and draw of each row."""
    kernel, stage, draw = zip(*rows, strict=True)
    counts = {name: np.zeros(len(rows), np.uint32) for name in ("triangles", "shaded", "live", "covered")}
    return {"kernel_id": kernel, "stage": stage, "draw": draw, "draw_name": [f"mesh{each}" for each in draw]} | counts


def test_launches_are_classes_by_what_they_do(traces: list[Path]) -> None:
    joined = join([parse(str(trace)) for trace in traces])
    found = {each.name: (each.kind, each.trace.name, each.own_kernels) for each in joined.classes}
    assert found == {
        "graphics": ("graphics", "picture.trace", (1,)),
        "raytracing": ("raytracing", "picture.trace", (0,)),
        "compute": ("compute", "net.trace", (0, 1, 2)),
    }
    named = join([parse(f"frame={traces[0]}"), parse(f"raytracing={traces[1]}:0")]).classes
    assert [(each.name, each.kind, each.own_kernels) for each in named] == [
        ("frame", "graphics", (0, 1)), ("raytracing", "raytracing", (0, 2)),
    ]  # fmt: skip
    with pytest.raises(UserError, match="a launch must belong to one class, not to graphics and mine"):
        join([parse(str(traces[0])), parse(f"mine={traces[0]}")])


def test_all_draws_of_a_trace_are_one_class(tmp_path: Path) -> None:
    stages = draws((0, "vertex", 0), (1, "fragment", 0), (3, "vertex", 1))
    path = write_kernels(tmp_path / "a.trace", [Kernel((4,), stream) for stream in (0, 0, 5, 1)], {"stages": stages})
    classes = join([parse(str(path))]).classes
    assert [(each.name, each.own_kernels) for each in classes] == [("graphics", (0, 1, 3)), ("compute", (2,))]


def test_a_stage_of_no_launch_is_one_line(tmp_path: Path) -> None:
    path = write_kernels(tmp_path / "a.trace", [Kernel((4,))], {"stages": draws((7, "vertex", 0))})
    with pytest.raises(FormatError, match=r"table stages, row 0: kernel_id must be a row of kernels, below 1, not 7$"):
        join([parse(str(path))])


@pytest.mark.parametrize("partition", ["greedy", "mps", "even"])
def test_a_stream_of_two_classes_keeps_its_order(tmp_path: Path, partition: str) -> None:
    """Draw, compute and draw of a stream follow each other; the compute kernel of another stream does not wait."""
    kernels = [Kernel((10,)), Kernel((6,)), Kernel((4,)), Kernel((3,), 1)]
    stages = draws((0, "vertex", 0), (2, "vertex", 1))
    path = str(write_kernels(tmp_path / "a.trace", kernels, {"stages": stages}))
    small = load("mobile", ["sm.count=2", "sm.kernel_launch_cycles=0", "sm.concurrent_kernels=4"])
    result = together([path], small, partition, repeats=False)
    spans = {int(kernel): (int(start), int(end)) for kernel, start, end in zip(
        *(result.kernels[name] for name in ("kernel_id", "start_cycle", "end_cycle")), strict=True
    )}  # fmt: skip
    assert [spans[kernel][0] for kernel in range(4)] == [0, spans[0][1], spans[1][1], 0]
    assert [end - start for start, end in (spans[kernel] for kernel in range(3))] == [72, 44, 30]


def test_every_counter_is_the_sum_over_classes_streams_and_draws(result: Result) -> None:
    counters, launches = result.to_pandas("counters"), result.to_pandas("launches")
    total = counters.groupby(BLOCK)["value"].sum()
    classes = result.to_pandas("class_counters").groupby(BLOCK)["value"].sum()
    pd.testing.assert_series_equal(classes, total)
    marked = counters.merge(launches, on="kernel_id", how="left").fillna({"class": "", "kind": "", "draw": -1})
    assert set(marked["kind"]) == {"graphics", "raytracing", "compute", ""}
    for column in ("class", "stream", "draw", "kind"):
        parts = marked.groupby([column, *BLOCK])["value"].sum().groupby(BLOCK).sum()
        pd.testing.assert_series_equal(parts, total)
    assert (marked[marked["unit"] != "stack"]["value"] >= 0).all()


def test_counters_of_a_class_sum_over_its_launches(result: Result) -> None:
    """Of the SMs: what a stream writes after its last launch is the class's alone."""
    counters, launches = result.to_pandas("counters"), result.to_pandas("launches")
    own = counters.merge(launches, on="kernel_id")
    own = own[own["unit"] == "sm"].groupby(["class", "counter"])["value"].sum()
    classes = result.to_pandas("class_counters")
    classes = classes[(classes["unit"] == "sm") & (classes["class"] != "")].groupby(["class", "counter"])["value"].sum()
    pd.testing.assert_series_equal(own, classes)


def test_launches_say_what_they_are_part_of(result: Result) -> None:
    assert validate(result) == []
    launches, kernels = result.to_pandas("launches"), result.to_pandas("kernels")
    assert launches["kernel_id"].tolist() == kernels["kernel_id"].tolist()
    assert (launches["kernel_id"] == launches["repeat"] * 5 + launches["trace_kernel_id"]
            + 2 * (launches["trace"] == "net.trace")).all()  # fmt: skip
    stage = launches[launches["kind"] == "graphics"][["stage", "draw", "draw_name"]].drop_duplicates()
    assert stage.to_numpy().tolist() == [["fragment", 0, "quad"]]
    rest = launches[launches["kind"] != "graphics"][["stage", "draw", "draw_name"]].drop_duplicates()
    assert rest.to_numpy().tolist() == [["", -1, ""]]


def test_metrics_of_classes_follow_from_their_counters(result: Result) -> None:
    metrics = result.to_pandas("class_metrics").set_index(["class", "metric"])["value"]
    counters = result.to_pandas("class_counters").groupby(["class", "unit", "counter"])["value"].sum()
    cycles = result.value("gpu_cycles")
    for name in ("graphics", "raytracing", "compute"):
        assert metrics[name, "gpu_ipc"] == counters[name, "sm", "thread_instructions"] / cycles
        assert metrics[name, "occupancy"] == counters[name, "sm", "resident_warp_cycles"] / (cycles * 6 * 32)
    for metric in ("gpu_ipc", "occupancy", "thread_instructions", "dram_bytes"):
        assert metrics[:, metric].sum() == pytest.approx(result.value(metric), rel=1e-12)


def test_the_timeline_of_classes_sums_to_the_timeline(result: Result) -> None:
    """Issue, occupancy and cache accesses of every interval; and all lines of the L2."""
    block = ["start_cycle", "unit", "counter"]
    classes = result.to_pandas("class_timeline").groupby(block)["value"].sum()
    total = result.to_pandas("timeline").groupby(block)["value"].sum()
    lines = classes.xs("l2_lines", level="unit").groupby("start_cycle").sum()
    assert set(lines) == {65536 // 128}
    units = classes.index.get_level_values("unit").unique().drop("l2_lines")
    both = total[total.index.get_level_values("unit").isin(units)]
    pd.testing.assert_series_equal(classes.drop("l2_lines", level="unit"), both)


def test_a_trace_with_draws_lists_its_launches_alone_too(traces: list[Path], tmp_path: Path) -> None:
    simulate(traces[0], gpu()).write(tmp_path / "a.result", {"command": "test"})
    launches = open_result(tmp_path / "a.result").to_pandas("launches")
    assert launches[["class", "kind", "draw"]].to_numpy().tolist() == [["", "raytracing", -1], ["", "graphics", 0]]
    simulate(traces[1], gpu()).write(tmp_path / "b.result", {"command": "test"})
    assert "launches" not in open_result(tmp_path / "b.result").tables


def test_texture_lines_of_every_cta(tmp_path: Path, op: Callable[..., Any], load_op: Callable[..., Any]) -> None:
    texture = op("texture", "lsu", 1, 1, 0, 1, "texture")
    visits = [3, 1, 2]  # of three CTAs of a warp
    path = write_micro(
        tmp_path / "t.trace", [texture, load_op(), op()], visits,
        lambda warp, visit, index, lane: 4096 * index + 128 * (visit * 2 + lane // 16) * (warp != 1) + lane,
    )  # fmt: skip
    result = together([str(path)], load("mobile", GPU), "mps")
    table = result.to_pandas("texture_lines")
    assert table[["kernel_id", "lines", "ctas"]].to_numpy().tolist() == [[0, 1, 1], [0, 4, 1], [0, 6, 1]]
