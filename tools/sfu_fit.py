"""Find the special function unit's tables in results of hardware: ``python -m tools.sfu_fit CSV > sfu_tables.csv``.

CSV has ``function,input_f32_hex,output_f32_hex`` (``docs/sources/measurements.md#approximate-functions``). Each result
of a piece bounds ``c0 + c1 x + c2 x^2`` from both sides; few whole numbers of the unit's widths satisfy all bounds,
often one triple. Of several the one with the least squared error over the piece is taken: that is what the unit's
makers looked for.
"""

import csv
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rayplay.formats.guard.command import run
from rayplay.formats.guard.errors import UserError
from rayplay.tracer.meaning import sfu

Triple = tuple[int, int, int]
FIRST_SPREAD, SECOND_SPREAD = 10, 24
"""How far c1 and c2 may lie from the derivatives of the function."""
NORMAL = np.arange(1, 254)


class Samples(NamedTuple):
    """Arguments inside [0, 1) as ``fraction``, and where the polynomial's value lies: ``low <= value < high``."""

    fraction: np.ndarray
    low: np.ndarray
    high: np.ndarray


def read_results(path: Path) -> dict[str, np.ndarray]:
    """int64[n, 2] of each function: bits of argument and result. Raises ``UserError`` when a function is missing."""
    found: dict[str, list[tuple[int, int]]] = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            pair = int(row["input_f32_hex"], 16), int(row["output_f32_hex"], 16)
            found.setdefault(row["function"].split(".")[0], []).append(pair)
    if missing := {*sfu.POLYNOMIALS, "cos"} - found.keys():
        raise UserError(f"{path}: must have results of {', '.join(sorted(missing))}")
    return {name: np.array(pairs, np.int64) for name, pairs in found.items()}


def _rounded(p: sfu.Polynomial, significand: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    low = (significand << p.result_shift) - p.constant
    return low, low + (1 << p.result_shift)


def _significand(result: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Of a result whose biased exponent is ``exponent``, or one more when the significand is 2^24."""
    return (result & sfu.FRACTION) + sfu.ONE + ((result >> 23) - exponent << 23)


def reciprocal_samples(results: np.ndarray) -> Samples:
    """Of rcp."""
    bits, result = (results & ~sfu.SIGN).T
    exponent = bits >> 23
    used = np.isin(exponent, NORMAL) & np.isin(result >> 23, NORMAL) & (exponent < 253)
    significand = _significand(result[used], 253 - exponent[used])
    return Samples(bits[used] & sfu.FRACTION, *_rounded(sfu.POLYNOMIALS["rcp"], significand))


def root_samples(results: np.ndarray, name: str) -> Samples:
    """Of sqrt or rsqrt; powers of 4 do not go through the polynomial."""
    bits, result = _scaled_up(results, 12 if name == "sqrt" else -12).T
    power = (bits >> 23) - 127
    fraction = bits & sfu.FRACTION | (power & 1) << 23
    used = np.isin(bits >> 23, NORMAL) & (fraction != 0)
    exponent = 127 + (power >> 1) if name == "sqrt" else 126 - (power >> 1)
    significand = _significand(result, exponent)
    return Samples(fraction[used], *_rounded(sfu.POLYNOMIALS[name], significand[used]))


def _scaled_up(results: np.ndarray, exponent: int) -> np.ndarray:
    """Results with subnormal arguments as the unit sees them: 2^24 times as large, the root 2^12 times."""
    bits, result = results.T
    small = (bits > 0) & (bits >> 23 == 0)
    scaled = sfu.multiply(bits, sfu.SCALE_UP)
    return np.stack([np.where(small, scaled, bits), np.where(small, result + (exponent << 23), result)], axis=1)


def logarithm_samples(results: np.ndarray) -> Samples:
    """Of lg2: the whole part is the exponent of the argument."""
    bits, result = results.T
    used = np.isin(bits >> 23, NORMAL) & (bits != 127 << 23)
    bits, result = bits[used], result[used]
    low, high = _cut_off(result & ~sfu.SIGN, 36)
    low, high = np.where(result >= sfu.SIGN, -high, low), np.where(result >= sfu.SIGN, -low, high)
    whole = (bits >> 23) - 127 << 36
    p = sfu.POLYNOMIALS["lg2"]
    return Samples(
        bits & sfu.FRACTION, (low - whole << p.result_shift) - p.constant, (high - whole << p.result_shift) - p.constant
    )


def power_samples(results: np.ndarray) -> Samples:
    """Of ex2 where neither argument nor result is scaled."""
    bits, result = results.T
    value = bits.astype(np.uint32).view(np.float32)
    used = (np.abs(value) < 126) & np.isin(bits >> 23 & 0xFF, NORMAL)
    bits, result = bits[used], result[used]
    fixed = sfu.fixed_of_float(bits, 23)
    turned = np.where((bits >= sfu.SIGN) & (fixed & sfu.FRACTION != 0), ~fixed, fixed)
    whole = np.where(
        bits >= sfu.SIGN, np.where(fixed & sfu.FRACTION != 0, -(fixed >> 23) - 1, -(fixed >> 23)), fixed >> 23
    )
    significand = _significand(result, 127 + whole)
    return Samples(turned & sfu.FRACTION, *_rounded(sfu.POLYNOMIALS["ex2"], significand))


def sine_samples(sines: np.ndarray, cosines: np.ndarray) -> Samples:
    """Of sin and cos, which share the table of a quarter turn."""
    parts = []
    for results, quarters in ((sines, 0), (cosines, 1)):
        used = (results[:, 0] >> 23 & 0xFF < 254) & (results[:, 1] & ~sfu.SIGN != 0)
        bits, result = results[used].T
        fixed = sfu.fixed_of_float(sfu.turns(bits), 25)
        odd = (fixed >> 23) + quarters & 1 != 0
        parts.append(Samples(np.where(odd, ~fixed, fixed) & sfu.FRACTION, *_cut_off(result & ~sfu.SIGN, 37)))
    return Samples(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _cut_off(bits: np.ndarray, point: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers that are cut off to these floats, counted in units of 2^-point."""
    significand, shift = bits & sfu.FRACTION | sfu.ONE, (bits >> 23) - 150 + point
    low = significand << np.maximum(shift, 0) >> np.maximum(-shift, 0)
    return low, np.where(shift > 0, significand + 1 << np.maximum(shift, 0), low + 1)


TARGETS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], int]] = {
    "rcp": (lambda t: 2 / (1 + t), 38),
    "sqrt": (lambda t: np.where(t < 1, np.sqrt(1 + t), np.sqrt(2 * np.maximum(t, 1))), 39),
    "rsqrt": (lambda t: 2 / np.where(t < 1, np.sqrt(1 + t), np.sqrt(2 * np.maximum(t, 1))), 39),
    "sin": (lambda t: np.sin(t * np.pi / 2), 37),
    "lg2": (lambda t: np.log2(1 + t), 38),
    "ex2": (lambda t: 2.0**t, 38),
}
"""What each polynomial approximates, and the bits behind its point. Roots: t below 1 is 1 + t, from 1 on 2 t."""


def fit_piece(p: sfu.Polynomial, exact: np.ndarray, samples: Samples) -> Triple:
    """The triple for a piece. exact: float64[2^bits], the function times the weight of the polynomial."""
    x = np.arange(len(exact))
    candidates = list(_candidates(p, exact, samples))
    if not candidates:
        raise UserError("the results do not fit this unit: no table satisfies them")
    second = sfu.square(x << p.square_shift) << p.c2_shift
    errors = [(((c0 << p.c0_shift) + c1 * x + c2 * second - exact) ** 2).sum() for c0, c1, c2 in candidates]
    return candidates[int(np.argmin(errors))]


def _candidates(p: sfu.Polynomial, exact: np.ndarray, samples: Samples) -> Iterator[Triple]:
    """All triples near the function that satisfy every sample."""
    x = samples.fraction & ((1 << p.bits) - 1)
    second = sfu.square(x << p.square_shift) << p.c2_shift
    whole = np.arange(len(exact))
    c2_near, c1_near, _ = np.polyfit(whole, exact, 2)
    scale = (sfu.square(whole[-1:] << p.square_shift)[0] << p.c2_shift) / float(whole[-1]) ** 2
    middle = round(c2_near / scale)
    for c2 in range(middle - SECOND_SPREAD, middle + SECOND_SPREAD + 1):
        for c1 in range(round(c1_near) - FIRST_SPREAD, round(c1_near) + FIRST_SPREAD + 1):
            rest = c1 * x + c2 * second
            least = -(-int((samples.low - rest).max()) // (1 << p.c0_shift))
            most = int((samples.high - rest).min() - 1) >> p.c0_shift
            for c0 in range(least, most + 1):
                if _fits(p, c0, c1, c2):
                    yield c0, c1, c2


def _fits(p: sfu.Polynomial, c0: int, c1: int, c2: int) -> bool:
    """Whether the numbers have the table's widths, signs implied."""
    return all(abs(c) < 1 << width for c, width in zip((c0, c1, c2), p.widths, strict=True))


def fit(results: dict[str, np.ndarray]) -> dict[str, list[Triple]]:
    """The tables of all functions."""
    samples = {
        "rcp": reciprocal_samples(results["rcp"]),
        "sqrt": root_samples(results["sqrt"], "sqrt"),
        "rsqrt": root_samples(results["rsqrt"], "rsqrt"),
        "sin": sine_samples(results["sin"], results["cos"]),
        "lg2": logarithm_samples(results["lg2"]),
        "ex2": power_samples(results["ex2"]),
    }
    return {name: _fit_function(name, samples[name]) for name in sfu.POLYNOMIALS}


def _fit_function(name: str, samples: Samples) -> list[Triple]:
    p, (target, point) = sfu.POLYNOMIALS[name], TARGETS[name]
    table = []
    for piece in range(p.pieces):
        here = samples.fraction >> p.bits == piece
        t = (np.arange(1 << p.bits) + (piece << p.bits)) / sfu.ONE
        exact = target(t) * 2.0**point - p.constant + (1 << p.result_shift >> 1)
        table.append(fit_piece(p, exact, Samples(*(column[here] for column in samples))))
    return table


def main(arguments: list[str]) -> int:
    """Print the tables that fit the results in the file named on the command line."""
    if len(arguments) != 1:
        raise UserError("one argument is needed: the CSV file with results of hardware")
    print("function,c0,c1,c2")
    for name, table in fit(read_results(Path(arguments[0]))).items():
        for triple in table:
            print(name, *triple, sep=",")
    return 0


if __name__ == "__main__":
    run("tools.sfu_fit", lambda: main(sys.argv[1:]))
