"""Machine code against the interpreter and against correctly rounded values, for one function."""

import os
from dataclasses import dataclass, field

import numpy as np

from rayplay.tracer.api import Device
from rayplay.tracer.native.cpu import VARIABLE
from tests.tracer.cuda_math.functions import Function
from tests.tracer.cuda_math.inputs import inputs
from tests.tracer.cuda_math.program import kernel_name
from tests.tracer.cuda_math.reference import expected

TYPES = {"float": np.float32, "double": np.float64}
INTEGERS = {"n": np.int32, "l": np.int64}
WARP = 32


@dataclass
class Outcome:
    """Results of the runs of a function.

    ``worst``: the largest difference in ulps where the bound counts ulps, or holds nowhere; ``worst_absolute``: the
    largest error where the bound is absolute; ``different``: for each processor, inputs on which machine code and
    interpreter differ; ``outside``: results beyond the bound, as text.
    """

    worst: int = 0
    worst_absolute: float = 0.0
    different: dict[str, int] = field(default_factory=dict)
    outside: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether all agree and nothing is beyond its bound."""
        return not self.outside and not any(self.different.values())


def launch(
    device: Device, function: Function, kind: str, arguments: list[np.ndarray], backend: str
) -> list[np.ndarray]:
    """The results for all inputs; the last warp is filled with the first inputs again."""
    count = len(arguments[0])
    filled = [np.resize(values, -(-count // WARP) * WARP) for values in arguments]
    results = [np.zeros(len(filled[0]), INTEGERS.get(each, TYPES[kind])) for each in function.gives]
    name, grid = kernel_name(function, kind), len(filled[0]) // WARP
    return [each[:count] for each in device.launch(name, filled + results, grid, WARP, backend=backend)[len(filled) :]]


def compare(
    device: Device, function: Function, kind: str, count: int, interpreted: int, seed: int, processors: tuple[str, ...]
) -> Outcome:
    """Run ``count`` inputs in machine code for each processor, the first ``interpreted`` in the interpreter as well.

    What the interpreter gives stands for the first inputs, machine code of the first processor for the others;
    these are compared with the correctly rounded values.
    """
    arguments = inputs(function, TYPES[kind], count, seed)
    plain = launch(device, function, kind, [a[:interpreted] for a in arguments], "interpreter")
    outcome, judged = Outcome(), None
    for processor in processors:
        os.environ[VARIABLE] = processor
        found = launch(device, function, kind, arguments, "machine")
        judged = judged or [np.concatenate([p, f[interpreted:]]) for p, f in zip(plain, found, strict=True)]
        differs = [bits(f) != bits(j) for f, j in zip(found, judged, strict=True)]
        outcome.different[processor] = int(np.logical_or.reduce(differs).sum())
    assert judged is not None
    for number, (ours, right) in enumerate(zip(judged, expected(function, TYPES[kind], arguments), strict=True)):
        judge(outcome, function, kind, number, arguments, ours, right)
    return outcome


def bits(values: np.ndarray) -> np.ndarray:
    """The values as unsigned integers."""
    return values.view(f"u{values.dtype.itemsize}")


def ulps_between(ours: np.ndarray, right: np.ndarray) -> np.ndarray:
    """How many floats lie from one to the other, int64; two NaNs are equal, one, and zeros of two signs, are not."""
    unsigned = [bits(values) for values in (ours, right)]
    sign = unsigned[0].dtype.type(1) << unsigned[0].dtype.type(8 * ours.dtype.itemsize - 1)
    ordered = [np.where(u & sign, sign - (u ^ sign), u | sign) for u in unsigned]
    distance = np.minimum(np.maximum(*ordered) - np.minimum(*ordered), 1 << 30).astype(np.int64)
    nan = np.isnan(ours), np.isnan(right)
    zeros = (ours == 0) & (right == 0) & (np.signbit(ours) != np.signbit(right))
    return np.where(nan[0] & nan[1], 0, np.where(nan[0] | nan[1] | zeros, 1 << 30, distance))


def judge(
    outcome: Outcome, function: Function, kind: str, number: int, arguments: list[np.ndarray], ours: np.ndarray,
    right: np.ndarray,
) -> None:  # fmt: skip
    """Compare one result of all inputs with its correctly rounded values and add to the outcome."""
    bound = function.bounds[kind == "double"]
    assert bound is not None
    if ours.dtype.kind == "i":
        wrong = (_promised(function, ours) != right) & _is_defined(function, arguments, ours)
        distance, error = wrong.astype(np.int64), np.zeros(len(ours))
    else:
        distance, error = ulps_between(ours, right), _absolute_error(ours, right)
    wide = [_wide(a) for a in arguments]
    counted = np.ones(len(ours), bool) if bound.where is None else bound.where(wide)
    limit = bound.ulps(wide) if callable(bound.ulps) else np.inf if bound.ulps is None else bound.ulps
    beyond = np.where(counted, distance > limit, error > (np.inf if bound.absolute is None else bound.absolute))
    outcome.worst = max(outcome.worst, int(distance[counted].max(initial=0)))
    if bound.absolute is not None:
        outcome.worst_absolute = max(outcome.worst_absolute, float(error[~counted].max(initial=0)))
    for i in np.flatnonzero(beyond):
        given = ", ".join(repr(a[i]) for a in arguments)
        outcome.outside.append(f"{function.name}({given}): {ours[i]!r} (result {number}), not {right[i]!r}")


def _absolute_error(ours: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Infinite where one is NaN or infinite and the other is not."""
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(_wide(ours) - _wide(right))
    same = (ours == right) | (np.isnan(ours) & np.isnan(right))
    return np.where(same, 0, np.where(np.isnan(error), np.inf, error))


def _wide(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float64) if values.dtype.kind == "f" else values


def _promised(function: Function, found: np.ndarray) -> np.ndarray:
    """The part of an integer result that C defines: of remquo's quotient its sign and last three bits."""
    wide = found.astype(np.int64)
    return np.where(wide < 0, -(-wide & 7), wide & 7) if function.name == "remquo" else wide


def _is_defined(function: Function, arguments: list[np.ndarray], found: np.ndarray) -> np.ndarray:
    """Lanes for which C defines an integer result: the value fits, and the arguments are finite."""
    values = [_wide(a) for a in arguments]
    if function.gives == "l":
        return np.abs(values[0]) < 2.0 ** (8 * found.dtype.itemsize - 1)
    if function.name in ("frexp", "remquo"):
        return np.logical_and.reduce([np.isfinite(v) & (v != 0) for v in values])
    return np.ones(len(found), bool)
