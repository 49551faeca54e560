"""From the layers of a network to launches of the kernels in its PTX file (``examples/cnn/kernels/kernels.ptx``).

Tensors are [image, y, x, channel]. What follows a convolution or a fully connected layer (batch normalisation,
activation) is a launch of its own that works in place, as frameworks without fusion have it.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from rayplay.formats.guard.errors import UserError
from rayplay.hypa.network.file import IMAGE, IMAGE_NUMBER, Network
from rayplay.hypa.network.layers import Activation, Add, BatchNorm, Convolution, Dense, DepthwiseConvolution, Windowed
from rayplay.hypa.network.shapes import LARGEST_TENSOR, Shaped, infer_shapes
from rayplay.tracer.launchfile.file import LARGEST_GRID

TILE_PIXELS, TILE_FILTERS, TILE_CHANNELS = 64, 64, 16  # of convolution_implicit_gemm
PATCH = (32, 8, 1)
LINE = (256, 1, 1)
SQUARE = (16, 16, 1)
FEWEST_GEMM_CHANNELS = TILE_CHANNELS // 2


@dataclass(frozen=True, slots=True)
class Tensor:
    """Values in device memory: the output of a layer, called as it is, or weights, such as ``conv1:bias``."""

    name: str
    shape: tuple[int, ...]


Argument = Tensor | int | float | bytes | None
"""Of a kernel: the address of a tensor (None: null), a u32, an f32, or the bytes of a structure."""


@dataclass(frozen=True, slots=True)
class PlannedLaunch:
    """One launch: the number of its layer, the kernel, and what it is launched with."""

    layer: int
    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A network ready to run.

    outputs   the tensor of each layer; ``flatten`` has its input's in another shape.
    weights   per layer, name -> tensor.
    """

    network: Network
    layers: tuple[Shaped, ...]
    image: Tensor
    outputs: tuple[Tensor, ...]
    weights: tuple[dict[str, Tensor], ...]
    launches: tuple[PlannedLaunch, ...]


def plan_network(network: Network, images: int = 1) -> Plan:
    """The launches that infer ``images`` images at once; ``UserError`` where a grid or a tensor would be too large."""
    layers = infer_shapes(network)
    image = Tensor(IMAGE, (images, *network.image))
    if prod(image.shape) >= LARGEST_TENSOR:
        raise UserError(f"{network.path}: image: {images} of {list(network.image)} are too many for a launch")
    outputs: list[Tensor] = []
    weights: list[dict[str, Tensor]] = []
    launches: list[PlannedLaunch] = []
    for number, shaped in enumerate(layers):
        inputs = tuple(image if n == IMAGE_NUMBER else outputs[n] for n in shaped.placed.sources)
        output = Tensor(shaped.placed.name, (images, *shaped.shape))
        if shaped.placed.operation == "flatten":
            output = replace(inputs[0], shape=output.shape)
        named = {name: Tensor(f"{shaped.placed.name}:{name}", shape) for name, shape in shaped.weights.items()}
        outputs.append(output)
        weights.append(named)
        layer = _Layer(number, shaped, inputs, output, named)
        for launch in layer.launches():
            is_wide = any(length > most for length, most in zip(launch.grid, LARGEST_GRID, strict=True))
            if is_wide or prod(output.shape) >= LARGEST_TENSOR:
                raise UserError(f"{shaped.placed.place}: {images} images of {shaped.shape} are too many for a launch")
            launches.append(launch)
    if not launches:
        raise UserError(f"{network.path}: layers: must have a layer that computes")
    return Plan(network, layers, image, tuple(outputs), tuple(weights), tuple(launches))


@dataclass(frozen=True, slots=True)
class _Layer:
    """One layer with its tensors."""

    number: int
    shaped: Shaped
    inputs: tuple[Tensor, ...]
    output: Tensor
    weights: dict[str, Tensor]

    def launches(self) -> Iterator[PlannedLaunch]:
        settings, operation = self.shaped.placed.settings, self.shaped.placed.operation
        first = self.inputs[0]
        if isinstance(settings, DepthwiseConvolution):
            yield self.convolution(settings)
            if settings.batch_norm:
                yield self.batch_norm(self.output, settings.epsilon, settings.activation)
            elif settings.activation:
                yield self.elementwise(f"activation_{settings.activation}", self.output)
        elif isinstance(settings, Windowed):
            entry = "pool_maximum" if operation == "max_pool" else "pool_average"
            yield self.patches(entry, first, self.output, self.window(settings))
        elif isinstance(settings, BatchNorm):
            yield self.batch_norm(first, settings.epsilon, settings.activation)
        elif isinstance(settings, Dense):
            yield self.dense()
            if settings.activation:
                yield self.elementwise(f"activation_{settings.activation}", self.output)
        elif isinstance(settings, Activation):
            yield self.elementwise(f"activation_{settings.function}", first)
        elif isinstance(settings, Add):
            yield self.elementwise(f"add_{settings.activation or 'linear'}", *self.inputs)
        elif operation == "concat":
            yield from self.copies()
        elif operation != "flatten":
            yield self.plain(operation)

    def convolution(self, settings: DepthwiseConvolution) -> PlannedLaunch:
        arguments = (self.inputs[0], self.weights["weights"], self.weights.get("bias"), self.output)
        window = self.window(settings)
        if not isinstance(settings, Convolution):
            return self.patches("convolution_depthwise", *arguments, window)
        images, height, width, filters = self.output.shape
        algorithm = settings.algorithm or (
            "direct" if self.inputs[0].shape[3] < FEWEST_GEMM_CHANNELS else "implicit_gemm"
        )
        if algorithm == "direct":
            return self.patches("convolution_direct", *arguments, window)
        grid = (-(-height * width // TILE_PIXELS), -(-filters // TILE_FILTERS), images)
        return self.launch("convolution_implicit_gemm", grid, SQUARE, *arguments, window)

    def window(self, settings: Windowed) -> bytes:
        """``struct Window`` of the kernels."""
        top, _, left, _ = self.shaped.padding
        return struct.pack(
            "<11I", *self.inputs[0].shape[1:], *self.output.shape[1:], *settings.window, settings.stride, top, left
        )

    def patches(self, entry: str, *arguments: Argument) -> PlannedLaunch:
        """A thread per output value, 32 channels of 8 pixels in a CTA."""
        images, height, width, channels = self.output.shape
        grid = (-(-channels // PATCH[0]), -(-height * width // PATCH[1]), images)
        return self.launch(entry, grid, PATCH, *arguments)

    def batch_norm(self, source: Tensor, epsilon: float, activation: str | None) -> PlannedLaunch:
        w = self.weights
        arguments = (source, w.get("gamma"), w["beta"], w["mean"], w["variance"], float(epsilon), self.output)
        count, channels = prod(self.output.shape), self.output.shape[3]
        return self.line(f"batch_norm_{activation or 'linear'}", count, *arguments, count, channels)

    def elementwise(self, entry: str, *inputs: Tensor) -> PlannedLaunch:
        count = prod(self.output.shape)
        return self.line(entry, count, *inputs, self.output, count)

    def copies(self) -> Iterator[PlannedLaunch]:
        """The parts of a concatenation."""
        first = 0
        for part in self.inputs:
            count, channels = prod(part.shape), part.shape[3]
            yield self.line("copy_channels", count, part, self.output, count, channels, self.output.shape[3], first)
            first += channels

    def dense(self) -> PlannedLaunch:
        images, _, _, units = self.output.shape
        arguments = (self.inputs[0], self.weights["weights"], self.weights.get("bias"), self.output)
        grid = (-(-units // PATCH[0]), images, 1)
        return self.launch("dense", grid, PATCH, *arguments, prod(self.inputs[0].shape[1:]), units)

    def plain(self, operation: str) -> PlannedLaunch:
        first = self.inputs[0]
        images, height, width, channels = first.shape
        if operation == "scale":
            count = prod(self.output.shape)
            return self.line("scale_channels", count, *self.inputs, self.output, count, height * width, channels)
        if operation == "softmax":
            return self.launch("softmax", (images, 1, 1), LINE, first, self.output, channels)
        grid = (-(-channels // PATCH[0]), 1, images)
        return self.launch("pool_global_average", grid, PATCH, first, self.output, height * width, channels)

    def line(self, entry: str, count: int, *arguments: Argument) -> PlannedLaunch:
        """A thread per value."""
        return self.launch(entry, (-(-count // LINE[0]), 1, 1), LINE, *arguments)

    def launch(
        self, entry: str, grid: tuple[int, int, int], block: tuple[int, int, int], *arguments: Argument
    ) -> PlannedLaunch:
        return PlannedLaunch(self.number, entry, grid, block, arguments)
