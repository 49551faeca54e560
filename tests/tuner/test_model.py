"""The simplified model against values computed apart, its cases by hand, and the model that it shortens."""

from dataclasses import replace

import numpy as np
import pytest

from rayplay.tuner import hong_kim
from rayplay.tuner.counts import Instructions, Readings, count_instructions
from rayplay.tuner.device import Device, read_device
from rayplay.tuner.model import CASES, Launch, predict
from tests.tuner import expected

SHORT = {"rtol": 1e-4}  # values of five digits


def instructions(compute: float, uncoalesced: float, coalesced: float) -> Instructions:
    return Instructions(*(np.array(value, np.float64) for value in (compute, uncoalesced, coalesced)))


def milliseconds(device: Device, found: Instructions) -> np.ndarray:
    return device.milliseconds(predict(device, expected.LAUNCH, found).cycles)


@pytest.mark.parametrize("name", expected.SWEEP_MS)
def test_a_sweep_is_one_call(name: str) -> None:
    device = read_device(name)
    swept = count_instructions(expected.KERNEL, expected.LOAD, expected.RAYS_SWEPT)
    np.testing.assert_allclose(milliseconds(device, swept), expected.SWEEP_MS[name], **SHORT)
    literal = count_instructions(expected.KERNEL, expected.LOAD, expected.RAYS, readings=Readings("literal"))
    np.testing.assert_allclose(milliseconds(device, literal), expected.LITERAL_MS[name], **SHORT)


def test_without_memory_instructions_arithmetic_bounds() -> None:
    device = read_device("geforce-8800")
    made = predict(device, Launch(64, 128), instructions(100, 0, 0))
    assert CASES[int(made.case)] == "arithmetic"
    assert (
        float(made.cycles) == 16 * 4 * 100
    )  # one block a core resident eight times over: 16 warps of 100 instructions


def test_resources_of_the_kernel_bound_the_resident_blocks() -> None:
    device, found = read_device("geforce-580"), instructions(1000, 10, 10)
    few = predict(device, Launch(64, 4800, resident_blocks=2), found)
    assert few.warps == 4
    assert predict(device, Launch(64, 4800, resident_blocks=99), found).warps == 16


def test_more_instructions_cost_more_within_a_case() -> None:
    """Not across cases: from memory to arithmetic the time jumps down."""
    device = read_device("geforce-8800")
    rays = np.arange(0, 257)
    found = count_instructions(expected.KERNEL, replace(expected.LOAD, coherence=0.8, occlusion_traversals=5.0), rays)
    made = predict(device, expected.LAUNCH, found)
    steps, same = np.diff(made.cycles), np.diff(made.case) == 0
    assert (steps[same] > 0).all()
    times = device.milliseconds(made.cycles)
    np.testing.assert_allclose(times[1:3], (3.598, 3.329), rtol=2e-4)


def test_the_short_form_is_hong_and_kims() -> None:
    """Of 20,000 random launches only those differ whose clause "or computing takes longer" the paper leaves out."""
    draw = np.random.default_rng(7)
    left_out = 0
    for _ in range(20_000):
        device, launch, counted = random_launch(draw)
        long = hong_kim.evaluate(*as_hong_and_kim(device, launch, counted))
        short = predict(device, launch, counted)
        if long.case == CASES[int(short.case)]:
            np.testing.assert_allclose(short.cycles, long.cycles, rtol=1e-12)
        else:
            left_out += 1
            assert long.compute_cycles > long.memory_cycles
            assert long.compute_parallelism < long.memory_parallelism
    assert 0 < left_out < 2_000


def random_launch(draw: np.random.Generator) -> tuple[Device, Launch, Instructions]:
    device = Device(
        "drawn", draw.uniform(20, 900), int(draw.integers(1, 100)), 32, draw.uniform(0.25, 8),
        int(draw.integers(1, 33)),
        draw.uniform(0.5, 2.5), draw.uniform(100, 900), draw.uniform(0.05, 40), draw.uniform(0.05, 40), True,
    )  # fmt: skip
    counted = instructions(*(10 ** draw.uniform(0, 3, 3)).round())
    return device, Launch(32 * int(draw.integers(1, 9)), int(draw.integers(1, 10_000))), counted


def as_hong_and_kim(device: Device, launch: Launch, counted: Instructions) -> tuple[hong_kim.Gpu, hong_kim.Kernel]:
    gpu = hong_kim.Gpu(
        device.cores, device.clock_ghz, device.bandwidth_gbytes_per_s, device.latency_cycles,
        device.uncoalesced_delay_cycles, device.coalesced_delay_cycles, device.issue_cycles,
    )  # fmt: skip
    values = (float(counted.compute), float(counted.uncoalesced), float(counted.coalesced))
    return gpu, hong_kim.Kernel(launch.threads_per_block, launch.blocks, device.max_blocks, *values)


@pytest.mark.parametrize(("name", "value"), [("accesses", -1), ("accesses", 1025), ("region", 1025), ("probes", 2000)])
def test_a_reading_has_a_sensible_number(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{name} must be at most 1024 and not negative, not {value}"):
        Readings(**{name: value})
