"""The machine that a sample is replayed on: fewer SMs and memory controllers, and an L2 that misses as the whole does.

The paper divides SMs, memory partitions and with them the L2 by one K. Here SMs and controllers follow the fraction as
far as whole ones go, and the L2 gets the capacity with which the sampled warps miss as often in the functional cache of
``control`` as all warps do in the whole L2: the BVH's upper levels are read by all of them and do not shrink.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from formats.errors import UserError
from formats.reader import Trace
from replay.config import LawError
from replay.gpu_description import Gpu
from replay.launch import places_of
from zatel.control import Stream, Traffic, after, in_order, traffic

BISECTIONS = 7


class Machine(NamedTuple):
    """How many SMs and memory controllers of a GPU, and how many warps an SM holds at a time."""

    sms: int
    controllers: int
    places: int


def machine_for(gpu: Gpu, trace: Trace, fraction: float) -> Machine:
    """The machine for a ``fraction`` of the warps of the trace's launch; at least one of each part."""
    need, ctas = places_of(gpu, trace.read("kernels"), 0)
    sms, controllers = (max(1, round(fraction * count)) for count in (gpu.sm.count, gpu.memory.count))
    return Machine(sms, controllers, ctas * need.warps)


def build(gpu: Gpu, machine: Machine, l2_share: float) -> Gpu:
    """The description of ``machine`` with about ``l2_share`` of the capacity of the L2, in whole sets."""
    slices = machine.controllers * gpu.l2.slices_per_controller
    whole_set = slices * gpu.l2.ways * gpu.l2.line_bytes
    sets = max(1, round(gpu.l2.bytes * l2_share / whole_set))
    as_is = sets == gpu.l2_sets_per_slice
    l2 = dataclasses.replace(
        gpu.l2, bytes=sets * whole_set, set_hash=gpu.l2.set_hash if as_is else "multiplicative"
    )  # other hashes need a power of two of sets
    try:
        return dataclasses.replace(
            gpu,
            name=f"{gpu.name}, {machine.sms} SMs",
            sm=dataclasses.replace(gpu.sm, count=machine.sms),
            memory=dataclasses.replace(gpu.memory, count=machine.controllers, copies="whole"),
            l2=l2,
        )
    except LawError as error:
        raise UserError(f"GPU {gpu.name} with {machine.sms} SMs: {error}") from None


class Matched(NamedTuple):
    """The share of the L2 for a sample, and what all warps on the whole GPU and the sample on its part do to it."""

    share: float
    whole: Traffic
    part: Traffic


def match(
    gpu: Gpu, whole: Machine, part: Machine, stream: Stream, chosen: np.ndarray, line: np.ndarray, sectors: np.ndarray
) -> Matched:
    """The share of the L2 with which reads of the ``chosen`` warps miss as often as those of all.

    It lies between the share of SMs and 1. line, sectors  what the L2 holds before; see ``estimate_trace``.
    """
    everybody, local = np.ones(len(chosen), bool), gpu.lsu.local_interleaved
    goal = traffic(in_order(stream, everybody, whole.sms, whole.places, local), whole.sms, gpu.l1.bytes, gpu.l2.bytes)
    requests = after(in_order(stream, chosen, part.sms, part.places, local), line, sectors)
    weight = stream.steps.sum() / max(stream.steps[chosen].sum(), 1)

    def sampled(share: float) -> Traffic:
        return traffic(requests, part.sms, gpu.l1.bytes, build(gpu, part, share).l2.bytes)

    low, high = part.sms / whole.sms, 1.0
    found = sampled(low)
    if found.read_misses * weight <= goal.read_misses:
        return Matched(low, goal, found)
    found = sampled(high)
    for _ in range(BISECTIONS):
        middle = float(np.sqrt(low * high))
        tried = sampled(middle)
        if tried.read_misses * weight > goal.read_misses:
            low = middle
        else:
            high, found = middle, tried
    return Matched(high, goal, found)
