"""Scale models: a GPU predicted from machines with fewer, or more, SMs and memory controllers than it has.

K times fewer of them (K from 1 to 6), or the counts of another GPU: RTX 2060 from Mobile-sized groups, and the
reverse. Each machine replays its share of the CTAs, a stratified sample, from which ``sample.estimate`` estimates.
A difference between two machines below the noise floor says nothing about their size.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.changes.noise import Metrics, noise_floor, perturbed
from rayplay.zatel.replays.simulate import simulate_all
from rayplay.zatel.sample.estimate import Estimate, Work, estimate_many, read_work
from rayplay.zatel.sample.proportion import Part

FACTORS = (1, 2, 3, 4, 5, 6)


class Model(NamedTuple):
    """A machine: name, SMs, memory controllers, and the fraction of the CTAs that it replays."""

    name: str
    sms: int
    controllers: int
    fraction: float


class Scaled(NamedTuple):
    """Estimate from a machine, and its noise floor: metric -> relative difference (``noise.noise_floor``)."""

    model: Model
    estimate: Estimate
    floor: dict[str, float]


def divided(gpu: Gpu, factors: Sequence[int]) -> list[Model]:
    """Machines with 1/K of the GPU's SMs and controllers, rounded down as in the paper's sweep."""
    found = []
    for factor in factors:
        if factor < 1 or gpu.sm.count < factor or gpu.memory.count < factor:
            most = min(gpu.sm.count, gpu.memory.count)
            raise UserError(f"GPU {gpu.name}: --factor must be 1 to {most}, but is {factor}")
        found.append(_model(f"1/{factor}", gpu, gpu.sm.count // factor, gpu.memory.count // factor))
    return found


def sized_as(gpu: Gpu, other: Gpu) -> Model:
    """Machine of this GPU's SMs and controllers, as many as ``other`` has."""
    return _model(f"as {other.name}", gpu, other.sm.count, other.memory.count)


def _model(name: str, gpu: Gpu, sms: int, controllers: int) -> Model:
    return Model(name, sms, controllers, min(1.0, sms / gpu.sm.count))


def scale(
    trace: Trace, gpu: Gpu, models: Sequence[Model], seed: int = 1, workers: int = 1, work: Work | None = None
) -> list[Scaled]:
    """Estimate the whole ``gpu`` from each of ``models``; ``UserError`` as in ``estimate``.

    workers  as in ``estimate_many``.
    """
    work = work or read_work(trace, drawn=(models[0].fraction, seed))
    found = []
    for model in models:
        gpus = [gpu, *perturbed(gpu)]
        parts = [Part(model.sms, model.controllers)] * len(gpus)
        runs = estimate_many(trace, gpus, model.fraction, seed, work, workers, parts)
        found.append(Scaled(model, runs[0], noise_floor([one.metrics for one in runs])))
    return found


def full_replays(trace: Trace, gpu: Gpu, workers: int = 1) -> tuple[Metrics, dict[str, float]]:
    """Replay the whole trace on the whole GPU: metrics, and their noise floor."""
    replays = simulate_all([(trace.path, one) for one in [gpu, *perturbed(gpu)]], workers)
    return replays[0].metrics, noise_floor([one.metrics for one in replays])
