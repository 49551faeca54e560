"""A planned network in device memory: its launches bound to addresses, its weights, and one inference."""

import struct
from collections.abc import Iterator, Mapping
from math import prod

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.hypa.network.plan import Argument, Plan, PlannedLaunch, Tensor
from rayplay.ptx.ir import Module
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.run import run_compute_launch

FLOAT_BYTES = 4
Values = NDArray[np.float32]


class NetworkMemory:
    """Device memory with every tensor of a plan. Its pages are taken when they are first touched, so that a network
    whose values are neither read nor written costs nothing."""

    def __init__(self, plan: Plan) -> None:
        self.memory = DeviceMemory()
        self.addresses: dict[str, int] = {}
        for tensor in (plan.image, *plan.outputs, *(t for each in plan.weights for t in each.values())):
            if tensor.name not in self.addresses:
                self.addresses[tensor.name] = self.memory.allocate(FLOAT_BYTES * prod(tensor.shape))

    def view(self, tensor: Tensor) -> Values:
        """Its values, float32 and writable."""
        return self.memory.view(self.addresses[tensor.name], np.float32, tensor.shape)


def bind(launch: PlannedLaunch, module: Module, addresses: Mapping[str, int], memory: DeviceMemory) -> ComputeLaunch:
    """The launch with the addresses of its tensors in ``memory``."""
    params = tuple(encode(argument, addresses) for argument in launch.arguments)
    return ComputeLaunch(module, launch.entry, launch.grid, launch.block, params, memory)


def encode(argument: Argument, addresses: Mapping[str, int]) -> bytes:
    """A kernel's argument as it lies in its parameter."""
    if isinstance(argument, bytes):
        return argument
    if isinstance(argument, float):
        return struct.pack("<f", argument)
    if isinstance(argument, int):
        return struct.pack("<I", argument)
    return struct.pack("<Q", addresses[argument.name] if argument else 0)


def random_weights(plan: Plan, seed: int = 0) -> Iterator[tuple[Tensor, Values]]:
    """Weights under which values neither vanish nor grow from layer to layer; the same for the same seed.

    Products have the variance 2 / inputs (He et al. 2015); batch normalisation changes little.
    """
    generator = np.random.default_rng(seed)
    for named in plan.weights:
        for name, tensor in named.items():
            if name in ("gamma", "variance"):
                yield tensor, generator.random(tensor.shape, np.float32) + np.float32(0.5)
            else:
                inputs = prod(tensor.shape[:-1]) if name == "weights" else 100
                values = generator.standard_normal(tensor.shape, np.float32)
                values *= np.float32((2 / inputs) ** 0.5)
                yield tensor, values


def infer(
    plan: Plan, module: Module, image: Values, weights: Mapping[str, Values], backend: str = "machine"
) -> NetworkMemory:
    """Execute every launch of a plan on ``image`` (float32[images, height, width, channels]).

    weights   by tensor name, such as "conv1:bias". Returns the memory as the last launch leaves it; the output of a
              layer is ``view(plan.outputs[number])``. Raises ``UserError`` for values of another shape.
    """
    placed = NetworkMemory(plan)
    _fill(placed, plan.image, image)
    for named in plan.weights:
        for tensor in named.values():
            if tensor.name not in weights:
                raise UserError(f"{plan.network.path}: the weights {tensor.name} are missing")
            _fill(placed, tensor, weights[tensor.name])
    for launch in plan.launches:
        run_compute_launch(bind(launch, module, placed.addresses, placed.memory), None, backend, progress=False)
    return placed


def fill_random(placed: NetworkMemory, plan: Plan, seed: int = 0) -> None:
    """Put ``random_weights`` and a random image into the memory of a plan."""
    for tensor, values in random_weights(plan, seed):
        _fill(placed, tensor, values)
    image = np.random.default_rng(seed).normal(0, 1, plan.image.shape)
    _fill(placed, plan.image, image.astype(np.float32))


def _fill(placed: NetworkMemory, tensor: Tensor, values: Values) -> None:
    if values.shape != tensor.shape or values.dtype != np.float32:
        raise UserError(f"{tensor.name}: must be float32{list(tensor.shape)}, found {values.dtype}{list(values.shape)}")
    placed.view(tensor)[...] = values
