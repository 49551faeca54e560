"""Inference of a planned network in numpy, float64: slow and obvious."""

from collections.abc import Mapping

import numpy as np

from rayplay.hypa.network.layers import Activation, Add, BatchNorm, Convolution, Dense, DepthwiseConvolution, Windowed
from rayplay.hypa.network.plan import Plan
from rayplay.hypa.network.shapes import Shaped


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


FUNCTIONS = {
    None: lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "sigmoid": sigmoid,
    "swish": lambda x: x * sigmoid(x),
}


def infer(plan: Plan, image: np.ndarray, weights: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The output of every layer, [images, height, width, channels]."""
    outputs: list[np.ndarray] = []
    for shaped, named in zip(plan.layers, plan.weights, strict=True):
        inputs = [image.astype(np.float64) if n == -1 else outputs[n] for n in shaped.placed.sources]
        outputs.append(layer(shaped, inputs, {k: weights[t.name].astype(np.float64) for k, t in named.items()}))
    return outputs


def layer(shaped: Shaped, inputs: list[np.ndarray], w: dict[str, np.ndarray]) -> np.ndarray:
    settings, operation, x = shaped.placed.settings, shaped.placed.operation, inputs[0]
    if isinstance(settings, DepthwiseConvolution):
        y = convolve(shaped, settings, x, w["weights"]) + w.get("bias", 0)
        return FUNCTIONS[settings.activation](normalise(y, w, settings.epsilon) if settings.batch_norm else y)
    if isinstance(settings, Windowed):
        return pool(shaped, settings, x, operation)
    if isinstance(settings, BatchNorm):
        return FUNCTIONS[settings.activation](normalise(x, w, settings.epsilon))
    if isinstance(settings, Dense):
        return FUNCTIONS[settings.activation](x @ w["weights"] + w.get("bias", 0))
    if isinstance(settings, Activation):
        return FUNCTIONS[settings.function](x)
    if isinstance(settings, Add):
        return FUNCTIONS[settings.activation](inputs[0] + inputs[1])
    if operation == "softmax":
        e = np.exp(x - x.max(axis=3, keepdims=True))
        return e / e.sum(axis=3, keepdims=True)
    return {
        "global_average_pool": lambda: x.mean(axis=(1, 2), keepdims=True),
        "scale": lambda: x * inputs[1],
        "concat": lambda: np.concatenate(inputs, axis=3),
        "flatten": lambda: x.reshape(len(x), 1, 1, -1),
    }[operation]()


def normalise(x: np.ndarray, w: dict[str, np.ndarray], epsilon: float) -> np.ndarray:
    return (x - w["mean"]) / np.sqrt(w["variance"] + epsilon) * w.get("gamma", 1) + w["beta"]


def patches(shaped: Shaped, settings: Windowed, x: np.ndarray, outside: float) -> list[np.ndarray]:
    """For each place of the window the values below it, one for every output pixel."""
    top, bottom, left, right = shaped.padding
    padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=outside)
    height, width, _ = shaped.shape
    rows, columns = settings.window
    last = settings.stride
    return [
        padded[:, dy : dy + last * (height - 1) + 1 : last, dx : dx + last * (width - 1) + 1 : last]
        for dy in range(rows)
        for dx in range(columns)
    ]


def convolve(shaped: Shaped, settings: Windowed, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    flat = weights.reshape(-1, *weights.shape[2:])
    below = patches(shaped, settings, x, 0)
    if isinstance(settings, Convolution):
        return sum(patch @ each for patch, each in zip(below, flat, strict=True))
    return sum(patch * each for patch, each in zip(below, flat, strict=True))


def pool(shaped: Shaped, settings: Windowed, x: np.ndarray, operation: str) -> np.ndarray:
    """Padding counts neither for the maximum nor for the mean."""
    below = np.stack(patches(shaped, settings, x, np.nan))
    return np.nanmax(below, axis=0) if operation == "max_pool" else np.nanmean(below, axis=0)
