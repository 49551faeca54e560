"""The layers of a neural network as its description states them: one class per kind, strict keys, checked values."""

from dataclasses import dataclass

from rayplay.formats.guard.strict import check_choice

ACTIVATIONS = ("relu", "relu6", "sigmoid", "swish")
ALGORITHMS = ("direct", "implicit_gemm")
LARGEST_LENGTH = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Fields that all layers have, and all that some have: a ``name``, and the layers ``inputs`` names.

    Without ``inputs`` a layer reads the one before it.
    """

    name: str = ""
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Windowed(Layer):
    """A window that moves over the image by ``stride``; a pool takes the largest value in it, or their mean.

    kernel    height and width of the window, or one number for both.
    padding   "valid" for none; "same" for an output of length / stride, rounded up (an odd row or column lies below or
              to the right, as in TensorFlow); or rows and columns: one number, or top, bottom, left and right.
    """

    kernel: int | tuple[int, ...]
    stride: int = 1
    padding: str | int | tuple[int, ...] = "valid"

    def __post_init__(self) -> None:
        window = self.window
        if len(window) != 2 or not 1 <= min(window) <= max(window) <= LARGEST_LENGTH:
            raise ValueError(f"kernel must be one or two lengths from 1 to {LARGEST_LENGTH}, found {self.kernel}")
        _check_length("stride", self.stride)
        if isinstance(self.padding, str):
            check_choice(self.padding, ("same", "valid"), "padding")
            return
        rows = self.padding if isinstance(self.padding, tuple) else (self.padding,) * 4
        if len(rows) != 4 or not 0 <= min(rows) <= max(rows) <= LARGEST_LENGTH:
            raise ValueError(
                f"padding must be 'same', 'valid', one number, or top, bottom, left and right, found {self.padding}"
            )

    @property
    def window(self) -> tuple[int, ...]:
        """Height and width of the window."""
        return self.kernel if isinstance(self.kernel, tuple) else (self.kernel, self.kernel)


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthwiseConvolution(Windowed):
    """A window of its own for each channel, weights [window y, window x, channel].

    ``batch_norm`` adds a batch normalisation behind it, ``gamma = false`` one without a learnt factor.
    """

    bias: bool = False
    batch_norm: bool = False
    gamma: bool = True
    epsilon: float = 1e-3
    activation: str | None = None

    def __post_init__(self) -> None:
        Windowed.__post_init__(self)
        _check_activation(self.activation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Convolution(DepthwiseConvolution):
    """Weights [window y, window x, channel, filter]. ``algorithm`` names the kernel; without, shapes choose it."""

    filters: int
    algorithm: str | None = None

    def __post_init__(self) -> None:
        DepthwiseConvolution.__post_init__(self)
        _check_length("filters", self.filters)
        if self.algorithm is not None:
            check_choice(self.algorithm, ALGORITHMS, "algorithm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Activated(Layer):
    """A layer whose values go through ``activation`` at last."""

    activation: str | None = None

    def __post_init__(self) -> None:
        _check_activation(self.activation)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchNorm(Activated):
    """(input - mean) / sqrt(variance + epsilon) * gamma + beta per channel."""

    gamma: bool = True
    epsilon: float = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Dense(Activated):
    """Fully connected, weights [input, unit]."""

    units: int
    bias: bool = True

    def __post_init__(self) -> None:
        _check_length("units", self.units)
        Activated.__post_init__(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation(Layer):
    """``function`` of every value."""

    function: str

    def __post_init__(self) -> None:
        _check_activation(self.function)


class Add(Activated):
    """The sum of two layers of one shape."""


OPERATIONS: dict[str, type[Layer]] = {
    "convolution": Convolution,
    "depthwise_convolution": DepthwiseConvolution,
    "max_pool": Windowed,
    "average_pool": Windowed,
    "global_average_pool": Layer,
    "batch_norm": BatchNorm,
    "activation": Activation,
    "add": Add,
    "scale": Layer,
    "concat": Layer,
    "flatten": Layer,
    "dense": Dense,
    "softmax": Layer,
}
"""Kinds of layers. ``scale`` multiplies each channel of its first input by its gate, the second input."""

TWO, SEVERAL = (2, 2), (2, 1 << 12)
INPUT_COUNTS = {"add": TWO, "scale": TWO, "concat": SEVERAL}
"""Fewest and most inputs; one for all others."""


def _check_length(name: str, value: int) -> None:
    if not 1 <= value <= LARGEST_LENGTH:
        raise ValueError(f"{name} must be from 1 to {LARGEST_LENGTH}, found {value}")


def _check_activation(name: str | None) -> None:
    if name is not None:
        check_choice(name, ACTIVATIONS, "activation")
