"""Raster operations of an SM's fragments: the rates at which colours are written and depths are tested.

A GPU's raster units serve all SMs; each SM has an equal share of them, so that no SM waits for another's. Colours, peak
rate: ``colour_pixels_per_cycle`` / SMs. A store of colours leaves the LSU's front once the unit has begun the one
before: one is written while one waits. From there on it is a store like others. Depth, peak rate:
``depth_pixels_per_cycle`` / SMs. Depth is tested before a fragment shader's CTA starts: of every covered pixel of the
draw, dealt out evenly over its CTAs. The tests of an SM's next CTA begin when the one before starts; what they take is
rounded up to cycles.
Source: ``docs/sources/choices.md#raster-operations``.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rayplay.replay.jit.bits import inlined
from rayplay.replay.jit.rows import FixedRows
from rayplay.replay.unit.schema import value
from rayplay.replay.unit.streams import Shares, count_for, make_shares

COLOUR_BYTES, COLOUR_CYCLES, COLOUR_WAIT_CYCLES = range(3)  # columns of the stats of Colour
DEPTH_TESTS, DEPTH_CYCLES = range(2)  # of Depth
FREE, BEGUN = range(2)  # columns of ``unit``: tick in which the last store is written, cycle in which it begins


@dataclass(frozen=True)
class Spec:
    """Raster units of the whole GPU."""

    colour_pixels_per_cycle: int = value(
        "pixels",
        "Colours that fragment shaders may store in a cycle, of all SMs; 0: as fast as the memory takes them",
        0,
    )
    pixel_bytes: int = value("bytes", "What a fragment shader of a trace stores of a pixel", 1)
    depth_pixels_per_cycle: int = value(
        "pixels", "Pixels whose depth is tested in a cycle, of all SMs, before their fragment shaders start; 0: all", 0
    )

    def depth_cycles(self, tests: int, ctas: int, sms: int) -> int:
        """Cycles of an SM's share of the depth unit for a CTA of a draw with that many tests and CTAs, rounded up."""
        return -(-tests * sms // (ctas * self.depth_pixels_per_cycle)) if self.depth_pixels_per_cycle and ctas else 0


class Colour(NamedTuple):
    """All SMs' shares of the units that write colours. A cycle has ``cycle_ticks``, a byte takes ``byte_ticks``."""

    unit: np.ndarray  # int64[sms, 2]
    stats: FixedRows  # int64[sms, 3]
    shares: Shares
    cycle_ticks: int
    byte_ticks: int


class Depth(NamedTuple):
    """All SMs' shares of the units that test depths."""

    started: np.ndarray  # int64[sms]: first cycle of the last CTA of a fragment shader
    stats: FixedRows  # int64[sms, 2]
    shares: Shares


def make_colour(spec: Spec, sms: int, streams: int = 1) -> Colour:
    """Idle units."""
    stats = np.zeros((sms, COLOUR_WAIT_CYCLES + 1), np.int64)
    ticks = max(spec.colour_pixels_per_cycle, 1) * spec.pixel_bytes
    return Colour(np.zeros((sms, 2), np.int64), stats, make_shares(stats, streams), ticks, sms)


def make_depth(sms: int, streams: int = 1) -> Depth:
    """Units that have tested nothing."""
    stats = np.zeros((sms, DEPTH_CYCLES + 1), np.int64)
    return Depth(np.zeros(sms, np.int64), stats, make_shares(stats, streams))


@inlined
def write(state: Colour, sm: int, now: int, size: int, stream: int) -> int:
    """Begin to write a store of ``size`` bytes; returns ``now``, or the cycle in which to try again."""
    unit = state.unit
    count_for(state, sm, stream)
    if unit[sm, BEGUN] > now:
        state.stats[sm, COLOUR_WAIT_CYCLES] += unit[sm, BEGUN] - now
        return int(unit[sm, BEGUN])
    begins = max(unit[sm, FREE], now * state.cycle_ticks)
    ends = begins + size * state.byte_ticks
    unit[sm, FREE], unit[sm, BEGUN] = ends, begins // state.cycle_ticks
    state.stats[sm, COLOUR_BYTES] += size
    state.stats[sm, COLOUR_CYCLES] += ends // state.cycle_ticks - begins // state.cycle_ticks
    return now


@inlined
def test(state: Depth, sm: int, start: int, tests: int, cycles: int, stream: int) -> None:
    """A CTA of a fragment shader starts on an SM: its depths have been tested."""
    count_for(state, sm, stream)
    state.started[sm] = start
    state.stats[sm, DEPTH_TESTS] += tests
    state.stats[sm, DEPTH_CYCLES] += cycles


def stats(colour: Colour, depth: Depth) -> dict[str, np.ndarray]:
    """Every counter per SM."""
    colours = ("colour_bytes", "colour_cycles", "colour_wait_cycles")
    found = {name: colour.stats[:, index] for index, name in enumerate(colours)}
    return found | {name: depth.stats[:, index] for index, name in enumerate(("depth_tests", "depth_cycles"))}
