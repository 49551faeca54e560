"""Machines of one sample for several designs, in proportion: each has the same part of its GPU.

Whole SMs and controllers, rounded for each design alone, are other parts of the designs, which then seem to change what
the rounding does: a quarter of 30 SMs and of half as many are 7 and 3. So one part is chosen for which the SMs of all
designs are whole. The bandwidth of an SM, whose controllers are seldom whole, is held by the DRAM's clock.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

from rayplay.formats.dataset.reader import Trace
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.sample.machine import ROUNDS, machine_for

LEAST_CONTROLLERS = 2  # of the unchanged GPU's part, before rounding 1.5


class Part(NamedTuple):
    """SMs and memory controllers of the machine that replays a design's sample.

    speed   of the DRAM's clock, relative to the design's.
    misfit  logarithms of its part of the design's SMs / the part of the unchanged GPU's, and of their speeds, added in
            squares; 0 where whole SMs and controllers fit.
    """

    sms: int
    controllers: int
    speed: float = 1.0
    misfit: float = 0.0


def in_proportion(trace: Trace, gpu: Gpu, designs: Sequence[Gpu], fraction: float) -> tuple[float, list[Part]]:
    """Fraction of the CTAs, at least ``fraction``, and the parts of ``designs`` that replay them.

    All warps fill a GPU some number of times; at most ``ROUNDS`` times the sample fills its machine as often. From the
    SMs that the ``fraction`` fills up to twice as many (and enough for ``LEAST_CONTROLLERS``, rounded), the least count
    is taken that splits the designs' SMs best, and of these their controllers.
    """
    if fraction == 1.0:
        return fraction, [Part(one.sm.count, one.memory.count) for one in designs]
    whole, warps = machine_for(gpu, trace, 1.0), trace.rows("warps")
    rounds = warps / (whole.sms * whole.places)
    filled = fraction * warps / (min(ROUNDS, rounds) * whole.places)
    controllers = (LEAST_CONTROLLERS - 0.5) * whole.sms / whole.controllers
    least = min(math.ceil(max(filled, controllers if whole.controllers > 1 else 0.0) - 1e-9), whole.sms)
    tried = range(least, min(2 * least, whole.sms) + 1)
    sms = min(tried, key=lambda count: _largest_misfits(gpu, designs, count))
    share = sms / whole.sms * min(1.0, ROUNDS / rounds)
    base = _split(gpu, gpu, sms)
    return max(fraction, share), [_fitted(gpu, one, base) for one in designs]


def _fitted(gpu: Gpu, design: Gpu, base: Part) -> Part:
    """Part of ``design`` like the part ``base`` of ``gpu``, with its misfit."""
    part = _split(gpu, design, base.sms)
    return part._replace(misfit=math.hypot(*_misfits(gpu, design, part, base)))


def _largest_misfits(gpu: Gpu, designs: Sequence[Gpu], sms: int) -> tuple[float, float]:
    """The largest misfit of the SMs, and of the speeds, of all designs."""
    base = _split(gpu, gpu, sms)
    found = [_misfits(gpu, one, _split(gpu, one, sms), base) for one in designs]
    return max(one for one, _ in found), max(one for _, one in found)


def _misfits(gpu: Gpu, design: Gpu, part: Part, base: Part) -> tuple[float, float]:
    """Logarithms of a part's SMs and speed / those in proportion, without sign; rounded, so that 0 is 0."""
    sms = math.log(part.sms * gpu.sm.count / (base.sms * design.sm.count))
    return round(abs(sms), 9), round(abs(math.log(part.speed / base.speed)), 9)


def _split(gpu: Gpu, design: Gpu, sms: int) -> Part:
    """Part of ``design`` like ``sms`` SMs of ``gpu``, with the bandwidth of an SM that the whole design has."""
    own = min(max(1, round(sms * design.sm.count / gpu.sm.count)), design.sm.count)
    of_gpu = max(1, round(sms * gpu.memory.count / gpu.sm.count))
    controllers = min(max(1, round(of_gpu * design.memory.count / gpu.memory.count)), design.memory.count)
    return Part(own, controllers, own / design.sm.count * design.memory.count / controllers)


def at_speed(gpu: Gpu, speed: float) -> Gpu:
    """The GPU with its DRAM's clock times ``speed``, whose fixed latency makes up for the longer ticks of a read."""
    if speed == 1.0:
        return gpu
    longer = (gpu.dram.rcd + gpu.dram.cl) * gpu.sm.clock_khz / gpu.dram.clock_khz * (1.0 / speed - 1.0)
    clock, latency = round(gpu.dram.clock_khz * speed), max(0, round(gpu.dram.latency_cycles - longer))
    return dataclasses.replace(gpu, dram=dataclasses.replace(gpu.dram, clock_khz=clock, latency_cycles=latency))
