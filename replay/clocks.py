"""Clock domains: which ticks of one come before those of another, in exact integers.

Tick n of a clock of f kHz falls at n / f ms, every clock having started at 0. A ``Ratio`` holds two clocks; its
functions count the ticks of the second. In one instant the domains act in the order of ``step``: what a domain that
acts earlier in the instant hands on counts in the same instant, the other way round one tick later.
Source: ``reference/accel-sim.md`` C (core, interconnect, L2 and DRAM clocks).
"""

from math import gcd
from typing import NamedTuple

from replay.bits import inlined, quotient


class Ratio(NamedTuple):
    """Ticks of the second clock per tick of the first: ``up`` / ``down``, in lowest terms."""

    up: int
    down: int


def ratio(first_khz: int, second_khz: int) -> Ratio:
    """The ratio of two clocks."""
    divisor = gcd(first_khz, second_khz)
    return Ratio(second_khz // divisor, first_khz // divisor)


@inlined
def at_or_before(clock: Ratio, tick: int) -> int:
    """The last tick of the second clock that is not after a tick of the first."""
    return tick if clock.up == clock.down else quotient(tick * clock.up, clock.down)


@inlined
def at_or_after(clock: Ratio, tick: int) -> int:
    """The first tick of the second clock that is not before a tick of the first."""
    return tick if clock.up == clock.down else quotient(tick * clock.up + clock.down - 1, clock.down)


@inlined
def after(clock: Ratio, tick: int) -> int:
    """The first tick of the second clock that is after a tick of the first."""
    return at_or_before(clock, tick) + 1
