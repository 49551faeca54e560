"""The few lines of a replay: the verdict, a bar whose cells are the cycle stack, six numbers."""

from collections.abc import Callable

import numpy as np
import pytest

import rayplay
from rayplay.replay.terminal import CELLS, LETTERS, bar, short
from rayplay.replay.unit.cycle_stack import REASONS
from rayplay.replay.verdict import SIX, shown, six, warnings


@pytest.mark.parametrize("seed", range(20))
def test_the_bar_is_full_and_each_cell_within_one(seed: int) -> None:
    slots = np.random.default_rng(seed).integers(0, 10 ** (seed % 5 + 1), len(REASONS))
    cells, legend = bar(slots, colour=False)
    assert len(cells) == CELLS
    for letter, reason, part in zip(LETTERS, REASONS, slots, strict=True):
        assert abs(cells.count(letter) - CELLS * part / slots.sum()) <= 1
        assert (f"{letter} {reason} " in legend) == (part > 0)
    coloured = next(iter(bar(slots, colour=True)))
    assert coloured.count("\x1b[0m") == CELLS


def test_a_replay_prints_few_lines(run_replay: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_replay("traces/sample.trace", "--gpu", "mobile") == 0
    few = capsys.readouterr().out.splitlines()
    result = rayplay.replay("sample", "mobile")
    assert few == ["sample.trace on mobile", *short(result)]
    assert few[-len(SIX) :] == [f"{figure.label:<18}{shown(figure)}" for figure in six(result.summary)]
    assert run_replay("traces/sample.trace", "--gpu", "mobile", "--all") == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:4]] == list(result.summary)[:3]


def test_a_model_without_stacks_prints_its_numbers() -> None:
    lines = [
        line for line in short(rayplay.replay("sample", "mobile", model="gatsim")) if not line.startswith("Note: ")
    ]
    assert len(lines) == len(SIX)


@pytest.mark.parametrize(("warps", "cycles", "launches", "notes"), [
    (768, 10**6, 1, ["768 warps on 128 SMs with 48 warp slots each: the work cannot fill the GPU."]),
    (128 * 48, 10**6, 1, []),
    (128 * 48 - 1, 10**6, 1, ["6,143 warps on 128 SMs with 48 warp slots each: the work cannot fill the GPU."]),
    (10**5, 50_000, 1, []),
    (10**5, 49_999, 1, ["Launch latency is up to 10 % of the cycles."]),
    (10**5, 50_000, 4, ["Launch latency is up to 40 % of the cycles."]),
])  # fmt: skip
def test_notes_say_what_is_too_small(warps: int, cycles: int, launches: int, notes: list[str]) -> None:
    summary = {"warps": {"value": warps}, "gpu_cycles": {"value": cycles}}
    gpu = {"sm": {"count": 128, "warps": 48, "kernel_launch_cycles": 5000}}
    assert warnings(summary, {"kernel_id": np.arange(launches)}, gpu) == notes


def test_a_replay_that_cannot_fill_its_gpu_says_so() -> None:
    result = rayplay.replay("sample", "rtx2060")
    warps = result.summary["warps"]["value"]
    assert f"Note: {warps} warps on 30 SMs with 32 warp slots each: the work cannot fill the GPU." in short(result)
