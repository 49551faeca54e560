"""Clock domains: which ticks of one come before another's, exactly, however late.

Every clock starts at 0. Tick n of a clock of f kHz falls at n / f ms, or (``summed``) where the sum of n periods in
double precision lies, as GPGPU-Sim adds them up: there clocks drift, so that ticks that coincide by their fractions
come in either order. A ``Ratio`` holds two clocks; its functions count the ticks of the second. In one instant the
domains act in the order of ``step``: what a domain that acts earlier in the instant hands on counts in the same
instant, the other way round one tick later. Source: ``docs/sources/accel-sim.md#clock-domains``.
"""

from math import frexp, gcd
from typing import NamedTuple

import numpy as np

from rayplay.replay.jit.bits import entry_point, exponent, high_product, inlined, shift_right
from rayplay.replay.jit.rows import FixedRows

TICK, TIME, STEP, BY_TICK, BY_TIME = range(5)  # columns of ``sums``
SUMMED_TICKS = 1 << 52  # from here on sums are not exact
EXPONENTS = 64


class Ratio(NamedTuple):
    """Ticks of the second clock per tick of the first: ``up`` / ``down``, in lowest terms."""

    up: int
    down: int
    inverse: int  # 2^(63 + shift) / down, rounded up, as a signed number
    shift: int
    summed: bool
    first: FixedRows  # float64[rows, 5]: ``sums`` of either clock; none unless summed
    second: FixedRows


def ratio(first_khz: int, second_khz: int, summed: bool = False) -> Ratio:
    """The ratio of two clocks. summed: ticks fall at sums of periods in double precision."""
    divisor = gcd(first_khz, second_khz)
    up, down = second_khz // divisor, first_khz // divisor
    shift = down.bit_length() - 1
    inverse = (1 << (63 + shift)) // down + 1
    summed &= up != down  # equal clocks drift alike
    periods = [1 / (khz / 1000 * 1e6) for khz in (first_khz, second_khz)]
    scale = 2.0 ** (1 - frexp(min(periods))[1])
    first, second = (sums(period * scale) if summed else np.empty((0, 5)) for period in periods)
    return Ratio(up, down, inverse if inverse < 1 << 63 else inverse - (1 << 64), shift, summed, first, second)


def sums(period: float) -> np.ndarray:
    """The sums 0, period, period + period ... in double precision, as stretches with a constant step.

    Below the next power of two every addition rounds alike, after the first one even where the period lies half-way
    between two sums. period: at least 1; a power of two as a common factor changes no comparison.

    Returns float64[rows, 5]: first tick of a stretch, its time and the step from there; and for each exponent of two
    the row from which to look for a tick, and for a time, of that exponent.
    """
    rows, tick, time = [], 0, 0.0
    while tick < SUMMED_TICKS:
        step, steps = time + period - time, 1
        if tick and time + step + period - (time + step) == step:
            steps = max(int((2.0 ** frexp(time)[1] - time) // step), 1)
        rows.append((tick, time, step))
        tick, time = tick + steps, time + steps * step
    table = np.full((max(len(rows), EXPONENTS) + 1, 5), np.inf)
    table[: len(rows), : STEP + 1] = rows
    powers = 2.0 ** np.arange(EXPONENTS)
    for column, key in ((BY_TICK, TICK), (BY_TIME, TIME)):
        table[:EXPONENTS, column] = np.searchsorted(table[: len(rows), key], powers, "right") - 1
        table[0, column] = 0  # of numbers below 1 as well
    return table


@inlined
def row_of(table: np.ndarray, number: float, key: int, hint: int) -> int:
    """The stretch that holds a tick (key TICK, hint BY_TICK) or a time."""
    row = int(table[max(exponent(number), 0), hint])
    while table[row + 1, key] <= number:
        row += 1
    return row


@inlined
def summed_tick(clock: Ratio, tick: int, after: bool) -> int:
    """The last tick of the second clock not after a tick of the first, or the first one not before it.

    No operation rounds: times of a stretch are multiples of one power of two, fewer than 2^53.
    """
    first, second = clock.first, clock.second
    row = row_of(first, float(tick), TICK, BY_TICK)
    time = first[row, TIME] + (float(tick) - first[row, TICK]) * first[row, STEP]
    row = row_of(second, time, TIME, BY_TIME)
    steps = int((time - second[row, TIME]) / second[row, STEP])
    reached = second[row, TIME] + float(steps) * second[row, STEP]
    return int(second[row, TICK]) + steps + int(after and reached < time)


@inlined
def quotient(clock: Ratio, number: int) -> int:
    """A number from 0 to 2^62 by ``down``, rounded down, exactly: without the host's division, which takes long.

    ``inverse`` is too large by less than 1, hence the product by less than 2^63 / down, which is no whole quotient.
    """
    return shift_right(high_product(2 * number, clock.inverse), clock.shift)


@inlined
def at_or_before(clock: Ratio, tick: int) -> int:
    """The last tick of the second clock that is not after a tick of the first."""
    if clock.up == clock.down:
        return tick
    return summed_tick(clock, tick, False) if clock.summed else quotient(clock, tick * clock.up)


@inlined
def at_or_after(clock: Ratio, tick: int) -> int:
    """The first tick of the second clock that is not before a tick of the first."""
    if clock.up == clock.down:
        return tick
    return summed_tick(clock, tick, True) if clock.summed else quotient(clock, tick * clock.up + clock.down - 1)


@inlined
def after(clock: Ratio, tick: int) -> int:
    """The first tick of the second clock that is after a tick of the first."""
    return at_or_before(clock, tick) + 1


@entry_point
def tick_after(clock: Ratio, tick: int) -> int:
    """``after``, for Python."""
    return after(clock, tick)
