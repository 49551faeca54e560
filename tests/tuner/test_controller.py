"""The controller on the worked example, on simulated plants, and its choice against a search by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayplay.tuner.controller import Feedback, Policy, choose
from rayplay.tuner.counts import count_instructions
from rayplay.tuner.device import read_device
from rayplay.tuner.model import predict
from tests.tuner import expected

TIMES = st.lists(st.floats(0.1, 100), min_size=1, max_size=30).map(np.array)


@pytest.mark.parametrize("name", expected.CHOSEN)
def test_rays_for_a_target(name: str) -> None:
    device, (nearest, time, below) = read_device(name), expected.CHOSEN[name]
    found = count_instructions(expected.KERNEL, expected.LOAD, np.arange(257))
    times = device.milliseconds(predict(device, expected.LAUNCH, found).cycles)
    rays = choose(times, expected.TARGET_MS[name])
    assert rays == nearest
    assert times[rays] == pytest.approx(time, rel=2e-5)
    assert choose(times, expected.TARGET_MS[name], Policy("below")) == below


@given(TIMES, st.floats(0.1, 100))
def test_no_other_candidate_is_nearer(times: np.ndarray, target: float) -> None:
    assert abs(times[choose(times, target)] - target) == np.abs(times - target).min()


@given(TIMES, st.floats(0.1, 100))
def test_below_is_the_best_quality_within_the_target(times: np.ndarray, target: float) -> None:
    best = choose(times, target, Policy("below"))
    if (times <= target).any():
        assert times[best] <= target
        assert (times[best + 1 :] > target).all()
    else:
        assert times[best] == times.min()


def test_ties_go_below_the_target_then_to_quality() -> None:
    assert choose(np.array([9.0, 11.0]), 10.0) == 0
    assert choose(np.array([11.0, 9.0, 9.0]), 10.0) == 2


def test_a_choice_stays_while_it_is_near_and_the_best_one_is_its_neighbour() -> None:
    times = np.array([9.0, 9.9, 10.0, 11.0])
    assert choose(times, 10.0, before=1) == 1
    assert choose(times, 10.0, before=0) == 2
    assert choose(times, 10.0, Policy(hysteresis=0), before=1) == 2
    assert choose(np.array([9.0, 9.95, 10.1]), 10.0, Policy("below"), before=2) == 1


def test_feedback_on_a_plant_of_a_constant_factor() -> None:
    """Errors of the corrected model by frame, for a plant 1.2 times the model."""
    loop, errors = Feedback(), []
    for _ in range(10):
        errors.append(100 * (loop.bias - 1.2) / 1.2)
        loop.correct(1.0, 1.2)
    assert [errors[frame] for frame in (0, 1, 2, 4, 9)] == pytest.approx(
        [-16.67, -11.67, -8.17, -4.00, -0.673], abs=5e-3
    )


@pytest.mark.parametrize("delay", [0, 2])
def test_feedback_settles_on_a_plant_with_delay_and_noise(delay: int) -> None:
    draw = np.random.default_rng(3)
    loop, waiting = Feedback(), []
    for _ in range(200):
        waiting.append(1.5 * (1 + 0.01 * draw.standard_normal()))
        if len(waiting) > delay:
            loop.correct(1.0, waiting.pop(0))
    assert loop.bias == pytest.approx(1.5, rel=0.02)


def test_feedback_follows_a_jump_of_the_plant() -> None:
    loop = Feedback()
    for frame in range(60):
        loop.correct(2.0, 2.0 if frame < 30 else 3.0)
    assert loop.bias == pytest.approx(1.5, rel=1e-4)


def test_the_first_frames_weigh_alike_when_the_loop_starts() -> None:
    """Their mean, until a frame counts for less than the gain."""
    loop, ratios = Feedback(gain=0.3, starts=True), [1.0, 2.0, 6.0, 3.0]
    seen = []
    for ratio in ratios:
        loop.correct(2.0, 2.0 * ratio)
        seen.append(loop.bias)
    assert seen == pytest.approx([1.0, 1.5, 3.0, 3.0])
