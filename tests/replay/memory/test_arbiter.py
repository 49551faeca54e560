"""Who wins in one direction of the crossbar: as if every output looked at one input after the other."""

import numpy as np
import pytest

from rayplay.replay.jit.bits import entry_point
from rayplay.replay.memory.crossbar.arbiter import Net, compete, grant, make_net, next_wanted, win


@entry_point
def cycle(net: Net, source: np.ndarray, output: np.ndarray, won: np.ndarray) -> int:
    """Let packets compete, and have every wanted output take one; rows of ``won``: output, input."""
    for place in range(source.size):
        compete(net, source[place], output[place])
    count, wanted = 0, next_wanted(net, 0)
    while wanted >= 0:
        won[count, 0], won[count, 1] = wanted, grant(net, wanted)
        win(net, won[count, 1], wanted)
        count += 1
        wanted = next_wanted(net, wanted + 1)
    return count


@pytest.mark.parametrize(("inputs", "outputs"), [(1, 1), (30, 24), (64, 64), (65, 3), (70, 130), (130, 70)])
def test_outputs_look_at_their_inputs_in_turn(inputs: int, outputs: int) -> None:
    rng = np.random.default_rng(inputs)
    net, wants, pointer = make_net(inputs, outputs), np.full(inputs, -1), [0] * outputs
    won = np.zeros((outputs, 2), np.int64)
    for _ in range(300):
        source = np.flatnonzero((wants < 0) & (rng.random(inputs) < rng.random()))
        wanted = wants[source] = rng.integers(0, outputs, source.size)
        expected = []
        for output in sorted(set(wants[wants >= 0].tolist())):
            turn = [(pointer[output] + step) % inputs for step in range(inputs)]
            winner = next(number for number in turn if wants[number] == output)
            expected.append([output, winner])
            wants[winner], pointer[output] = -1, winner + 1
        count = cycle(net, source, wanted, won)
        assert won[:count].tolist() == expected
