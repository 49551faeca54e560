"""Clock domains: which ticks of one come before another's, in exact integers.

Tick n of a clock of f kHz falls at n / f ms, every clock having started at 0. A ``Ratio`` holds two clocks; its
functions count the ticks of the second. In one instant the domains act in the order of ``step``: what a domain that
acts earlier in the instant hands on counts in the same instant, the other way round one tick later.
Source: ``docs/sources/accel-sim.md#clock-domains``.
"""

from math import gcd
from typing import NamedTuple

from rayplay.replay.jit.bits import high_product, inlined, shift_right


class Ratio(NamedTuple):
    """Ticks of the second clock per tick of the first: ``up`` / ``down``, in lowest terms."""

    up: int
    down: int
    inverse: int  # 2^(63 + shift) / down, rounded up, as a signed number
    shift: int


def ratio(first_khz: int, second_khz: int) -> Ratio:
    """The ratio of two clocks."""
    divisor = gcd(first_khz, second_khz)
    up, down = second_khz // divisor, first_khz // divisor
    shift = down.bit_length() - 1
    inverse = (1 << (63 + shift)) // down + 1
    return Ratio(up, down, inverse if inverse < 1 << 63 else inverse - (1 << 64), shift)


@inlined
def quotient(clock: Ratio, number: int) -> int:
    """A number from 0 to 2^62 by ``down``, rounded down, exactly: without the host's division, which takes long.

    ``inverse`` is too large by less than 1, hence the product by less than 2^63 / down, which is no whole quotient.
    """
    return shift_right(high_product(2 * number, clock.inverse), clock.shift)


@inlined
def at_or_before(clock: Ratio, tick: int) -> int:
    """The last tick of the second clock that is not after a tick of the first."""
    return tick if clock.up == clock.down else quotient(clock, tick * clock.up)


@inlined
def at_or_after(clock: Ratio, tick: int) -> int:
    """The first tick of the second clock that is not before a tick of the first."""
    return tick if clock.up == clock.down else quotient(clock, tick * clock.up + clock.down - 1)


@inlined
def after(clock: Ratio, tick: int) -> int:
    """The first tick of the second clock that is after a tick of the first."""
    return at_or_before(clock, tick) + 1
