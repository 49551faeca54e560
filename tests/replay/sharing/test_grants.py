"""Grants of partitions over time: static ones by hand, dynamic ones as their rule has it."""

import re
from pathlib import Path

import pandas as pd
import pytest

from rayplay.formats.dataset.result import open_result
from rayplay.formats.laws.check import validate
from rayplay.replay.gpu.description import load
from rayplay.replay.results.metrics import Result
from rayplay.replay.run.together import grant_lines
from tests.replay.launches import Kernel, write_kernels
from tests.replay.sharing.test_together import together

GPU = ("sm.count=8", "sm.warps=16", "sm.ctas=16", "memory.count=4", "l2.bytes=131072", "sm.kernel_launch_cycles=0")
WAYS = 16


def shared(folder: Path, partition: str, *values: str) -> Result:
    """Two classes that run long enough for two decisions."""
    kernels = {"a": Kernel((9, 3, 20) * 40), "b": Kernel((4, 6) * 30, registers=64)}
    texts = [f"{name}={write_kernels(folder / f'{name}.trace', [own] * 2)}" for name, own in kernels.items()]
    return together(texts, load("mobile", GPU), partition, *values)


def granted(folder: Path, partition: str, *values: str) -> pd.DataFrame:
    """Values by cycle (rows), class and resource (columns)."""
    shared(folder, partition, *values).write(folder / "x.result", {"command": "test"})
    result = open_result(folder / "x.result")
    assert validate(result) == []
    return result.to_pandas("class_grants").pivot_table(
        index="start_cycle", columns=["resource", "class"], values="value"
    )


@pytest.mark.parametrize(
    ("partition", "values", "sms", "warps", "slices"),
    [
        ("greedy", (), (8, 8), (128, 128), (4, 4)),
        ("mps", ("partition.shares=[3,1]",), (6, 2), (96, 32), (4, 4)),
        ("mig", ("partition.shares=[3,1]",), (6, 2), (96, 32), (3, 1)),
        ("even", (), (8, 8), (64, 64), (4, 4)),
        ("fine", ("partition.shares=[4,2]",), (8, 8), (80, 40), (4, 4)),  # 10 and 5 of 16 warps
    ],
)
def test_a_static_partition_has_one_plan(
    tmp_path: Path, partition: str, values: tuple[str, ...], sms: tuple[int, int], warps: tuple[int, int],
    slices: tuple[int, int],
) -> None:  # fmt: skip
    found = granted(tmp_path, partition, *values)
    assert found.index.tolist() == [0]
    for resource, expected in (("sms", sms), ("warps", warps), ("l2_slices", slices), ("l2_ways", (WAYS, WAYS))):
        assert tuple(found[resource].loc[0]) == expected


def test_the_slicer_samples_on_half_of_the_sms_then_divides_all(tmp_path: Path) -> None:
    found = granted(tmp_path, "slicer", "partition.sample_cycles=200", "partition.reset_on=[]")
    assert found.index.tolist() == [0, 200]
    assert found["sms"].loc[0].tolist() == [4, 4]
    assert found["warps"].loc[0].tolist() == [16 * (1 + 2 + 3 + 4) // 4] * 2
    assert found["sms"].loc[200].tolist() == [8, 8]
    assert int(found["warps"].loc[200].sum()) == 8 * 16, "the last class has what the first leaves"


def test_a_plan_that_is_adopted_again_is_listed_once(tmp_path: Path) -> None:
    """The slicer goes back to its sampling as each kernel ends, here before it ever decides."""
    assert granted(tmp_path, "slicer", "partition.sample_cycles=100000").index.tolist() == [0]


def test_the_terminal_has_the_last_plan_of_a_partition_that_changes(tmp_path: Path) -> None:
    assert grant_lines(shared(tmp_path, "even")) == []
    [line] = grant_lines(shared(tmp_path, "slicer", "partition.sample_cycles=200", "partition.reset_on=[]"))
    found = re.fullmatch(
        r"2 plans, the last from cycle 200 on: a (\d+) warps on 8 SMs and 16 ways of the L2; "
        r"b (\d+) warps on 8 SMs and 16 ways of the L2", line,
    )  # fmt: skip
    assert found
    assert int(found[1]) + int(found[2]) == 8 * 16


def test_one_way_and_one_sm_are_named_so(tmp_path: Path) -> None:
    result = shared(tmp_path, "tap", "partition.period_cycles=150", "partition.shares=[7,1]")
    result.by_class["class_grants"][-1]["value"][result.by_class["class_grants"][-1]["resource"] == "l2_ways"] = 1, 15
    [line] = grant_lines(result)
    assert re.search(r"a 112 warps on 7 SMs and 1 way of the L2; b 16 warps on 1 SM and 15 ways of the L2$", line), line


def test_ways_sum_to_the_sets_from_the_first_period_on(tmp_path: Path) -> None:
    found = granted(tmp_path, "tap", "partition.period_cycles=150")
    ways, cycles = found["l2_ways"], found.index.to_numpy()
    assert ways.iloc[0].tolist() == [WAYS, WAYS]
    assert (cycles % 150 == 0).all()
    assert len(cycles) > 1
    assert (ways.iloc[1:].sum(axis=1) == WAYS).all()
    assert (ways.to_numpy() >= 1).all()
