"""Consequences of a network's description: the shape of every layer, its weights, and its multiply-accumulates."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from rayplay.formats.guard.errors import UserError
from rayplay.hypa.network.file import IMAGE_NUMBER, Network, Placed
from rayplay.hypa.network.layers import BatchNorm, Convolution, Dense, DepthwiseConvolution, Windowed

Shape = tuple[int, int, int]
"""Height, width and channels; a vector has height and width 1."""
LARGEST_TENSOR = 1 << 31
"""Kernels index with 32 bits, addresses in bytes with more."""


@dataclass(frozen=True, slots=True)
class Shaped:
    """A layer with all that its kernels need to know.

    inputs    shapes of the layers it reads.
    shape     of its output.
    padding   rows and columns of zeros at the top, bottom, left and right of its input.
    weights   name -> shape; all that inference reads, batch normalisation's mean and variance among them.
    multiply_accumulates   of convolutions and fully connected layers; 0 for all others.
    """

    placed: Placed
    inputs: tuple[Shape, ...]
    shape: Shape
    padding: tuple[int, int, int, int]
    weights: dict[str, tuple[int, ...]]
    multiply_accumulates: int

    @property
    def parameters(self) -> int:
        """How many numbers the weights are."""
        return sum(prod(shape) for shape in self.weights.values())


def infer_shapes(network: Network) -> tuple[Shaped, ...]:
    """Every layer with its shape; ``UserError`` names the place of the first layer whose inputs do not fit."""
    if prod(network.image) >= LARGEST_TENSOR:
        raise UserError(f"{network.path}: image: must have less than 2^31 values, found {list(network.image)}")
    made: list[Shaped] = []
    for placed in network.layers:
        inputs = tuple(network.image if n == IMAGE_NUMBER else made[n].shape for n in placed.sources)
        shaped = _shaped(placed, inputs)
        if prod(shaped.shape) >= LARGEST_TENSOR or shaped.parameters >= LARGEST_TENSOR:
            raise UserError(f"{placed.place}: tensors must have less than 2^31 values, found {shaped.shape}")
        made.append(shaped)
    return tuple(made)


def _shaped(placed: Placed, inputs: tuple[Shape, ...]) -> Shaped:
    settings, first = placed.settings, inputs[0]
    padding = (0, 0, 0, 0)
    if isinstance(settings, Windowed):
        (padding, (height, width)) = _window(placed, settings, first)
        shape = (height, width, settings.filters if isinstance(settings, Convolution) else first[2])
    else:
        shape = SHAPES[placed.operation](placed, inputs)
    weights = _weights(placed, first, shape)
    products = prod(weights.get("weights", (0,)))
    is_convolution = isinstance(settings, DepthwiseConvolution)
    return Shaped(
        placed, inputs, shape, padding, weights, products * shape[0] * shape[1] if is_convolution else products
    )


def _window(placed: Placed, settings: Windowed, image: Shape) -> tuple[tuple[int, int, int, int], tuple[int, int]]:
    """Padding, and height and width of the output."""
    before, after, out = [0, 0], [0, 0], [0, 0]
    for axis, (length, window) in enumerate(zip(image[:2], settings.window, strict=True)):
        if settings.padding == "same":
            total = max((-(-length // settings.stride) - 1) * settings.stride + window - length, 0)
            before[axis], after[axis] = total // 2, total - total // 2
        elif isinstance(settings.padding, tuple):
            before[axis], after[axis] = settings.padding[2 * axis : 2 * axis + 2]
        elif isinstance(settings.padding, int):
            before[axis] = after[axis] = settings.padding
        padded = before[axis] + length + after[axis]
        if window > padded:
            raise UserError(f"{placed.place}: the window must fit into the padded input, found {window} and {padded}")
        if max(before[axis], after[axis]) >= window:
            raise UserError(f"{placed.place}.padding: must be smaller than the window, so that none lies outside")
        out[axis] = (padded - window) // settings.stride + 1
    return (before[0], after[0], before[1], after[1]), (out[0], out[1])


def _same(placed: Placed, inputs: tuple[Shape, ...]) -> Shape:
    """The shape that all inputs have."""
    for other in inputs[1:]:
        if other != inputs[0]:
            raise UserError(f"{placed.place}.inputs: must have one shape, found {inputs[0]} and {other}")
    return inputs[0]


def _vector(placed: Placed, inputs: tuple[Shape, ...]) -> Shape:
    if inputs[0][:2] != (1, 1):
        raise UserError(
            f"{placed.place}: its input must be a vector (flatten and global_average_pool make one), found {inputs[0]}"
        )
    return (1, 1, placed.settings.units if isinstance(placed.settings, Dense) else inputs[0][2])


def _concat(placed: Placed, inputs: tuple[Shape, ...]) -> Shape:
    _same(placed, tuple((height, width, 0) for height, width, _ in inputs))
    return (*inputs[0][:2], sum(shape[2] for shape in inputs))


def _scale(placed: Placed, inputs: tuple[Shape, ...]) -> Shape:
    if inputs[1] != (1, 1, inputs[0][2]):
        raise UserError(
            f"{placed.place}.inputs: the second must be a vector with a gate for each of the {inputs[0][2]} channels "
            f"of the first, found {inputs[1]}"
        )
    return inputs[0]


SHAPES: dict[str, Callable[[Placed, tuple[Shape, ...]], Shape]] = {
    "batch_norm": _same,
    "activation": _same,
    "add": _same,
    "scale": _scale,
    "concat": _concat,
    "flatten": lambda _, inputs: (1, 1, prod(inputs[0])),
    "global_average_pool": lambda _, inputs: (1, 1, inputs[0][2]),
    "dense": _vector,
    "softmax": _vector,
}
"""Shape of the output from those of the inputs, for what has no window."""


def _weights(placed: Placed, image: Shape, shape: Shape) -> dict[str, tuple[int, ...]]:
    settings, channels = placed.settings, shape[2]
    weights: dict[str, tuple[int, ...]] = {}
    if isinstance(settings, Convolution):
        weights["weights"] = (*settings.window, image[2], channels)
    elif isinstance(settings, DepthwiseConvolution):
        weights["weights"] = (*settings.window, channels)
    elif isinstance(settings, Dense):
        weights["weights"] = (image[2], channels)
    if isinstance(settings, DepthwiseConvolution | Dense) and settings.bias:
        weights["bias"] = (channels,)
    if isinstance(settings, BatchNorm) or (isinstance(settings, DepthwiseConvolution) and settings.batch_norm):
        names = ("gamma", "beta", "mean", "variance")
        weights |= dict.fromkeys(names[0 if settings.gamma else 1 :], (channels,))
    return weights
