"""The few lines of a replay: the verdict, a bar whose cells are the cycle stack, six numbers."""

from collections.abc import Callable

import numpy as np
import pytest

import rayplay
from rayplay.replay.terminal import CELLS, LETTERS, bar, short
from rayplay.replay.unit.cycle_stack import REASONS
from rayplay.replay.verdict import SIX, shown, six


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
    assert len(list(short(rayplay.replay("sample", "mobile", model="gatsim")))) == len(SIX)
