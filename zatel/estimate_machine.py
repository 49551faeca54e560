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
from zatel.control import Requests, Stream, in_order, misses
from zatel.control_kernels import HIT_LINES, spread_all

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


def match(
    gpu: Gpu, whole: Machine, part: Machine, stream: Stream, chosen: np.ndarray, line: np.ndarray, sectors: np.ndarray
) -> float:
    """The share of the L2 with which the ``chosen`` warps miss as often as all: from its share of SMs to 1.

    line, sectors  what the L2 holds before; see ``estimate_trace``.
    """
    everybody = np.ones(len(chosen), bool)
    target = misses(in_order(stream, everybody, whole.sms * whole.places), gpu.l2.bytes)
    requests, counted = _after(in_order(stream, chosen, part.sms * part.places), line, sectors)
    weight = stream.steps.sum() / max(stream.steps[chosen].sum(), 1)

    def missing(share: float) -> float:
        return misses(requests, gpu.l2.bytes * share, counted) * weight

    low, high = part.sms / whole.sms, 1.0
    goal = max(float(target), 1.01 * missing(high))
    if missing(low) <= goal:
        return low
    for _ in range(BISECTIONS):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if missing(middle) > goal else (low, middle)
    return high


def _after(requests: Requests, line: np.ndarray, sectors: np.ndarray) -> tuple[Requests, np.ndarray]:
    """The requests, with those before them that filled the cache and do not count, and which count."""
    only = (1 << requests.shift) - 1
    before = spread_all(line) & only == 0
    counted = np.concatenate([np.zeros(before.sum(), bool), requests.line < HIT_LINES])
    joined = requests._replace(
        line=np.concatenate([line[before], requests.line]), sectors=np.concatenate([sectors[before], requests.sectors])
    )
    return joined, counted
