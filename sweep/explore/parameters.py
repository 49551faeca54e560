"""Designs as places on axes: what the surrogate compares them by."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rayplay.replay.gpu.description import Gpu
from rayplay.sweep.explore.surrogate import Axis

WIDE = 4.0  # ratio of the ends from which positive numbers stand on a log scale


def setting(gpu: Gpu, key: str) -> Any:
    """The value of a key of a GPU's description."""
    found: Any = gpu
    for part in key.split("."):
        found = getattr(found, part)
    return found


def axes_of(rows: Sequence[Mapping[str, Any]]) -> list[Axis]:
    """An axis for each parameter that varies; parameters that move together, as the axes of a zip do, share one.

    rows  the parameters of each design, all with the same names.
    """
    found, levels = list[Axis](), list[np.ndarray]()
    for name in rows[0]:
        axis = _axis([row[name] for row in rows])
        level = np.unique(axis.at, return_inverse=True)[1]
        if level.max() > 0 and not any(_are_alike(level, other) for other in levels):
            levels.append(level)
            found.append(axis)
    return found


def _axis(values: Sequence[Any]) -> Axis:
    if not all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        names = sorted({str(value) for value in values})
        return Axis(np.array([float(names.index(str(value))) for value in values]), False)
    at = np.array(values, np.float64)
    if at.min() > 0 and at.max() / at.min() >= WIDE:
        at = np.array([math.log(value) for value in values])
    reach = float(at.max() - at.min())
    return Axis((at - at.min()) / (reach or 1.0), True)


def _are_alike(one: np.ndarray, other: np.ndarray) -> bool:
    return np.array_equal(one, other) or np.array_equal(one, other.max() - other)


def spread(axes: Sequence[Axis], first: int, count: int) -> list[int]:
    """``count`` designs far from each other, ``first`` the first: each next is the farthest from all before it."""
    designs = len(axes[0].at) if axes else 1
    gaps = np.zeros((designs, designs))
    for axis in axes:
        gap = np.abs(axis.at[:, None] - axis.at[None, :])
        gaps += gap if axis.is_number else gap > 0
    chosen = [first]
    while len(chosen) < min(count, designs):
        near = gaps[:, chosen].min(axis=1)
        near[chosen] = -1.0
        chosen.append(int(near.argmax()))
    return chosen
