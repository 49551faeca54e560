"""The machine that a sample is replayed on: fewer SMs and memory controllers, and an L2 that misses as the whole does.

The paper divides SMs, memory partitions and with them the L2 by one K. Here SMs and controllers follow the fraction as
far as whole ones go, and the L2 gets the capacity with which the sampled warps miss as often in the functional cache of
``control`` as all warps do in the whole L2: the BVH's upper levels are read by all of them and do not shrink.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import UserError
from rayplay.replay.geometry import LawError, places_of
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.model.schedule import Machine
from rayplay.zatel.model.traffic import Requests, Stream, Traffic, after, in_order, thinned, traffic

BISECTIONS = 7
LEAST_CONTROLLERS = 2
ROUNDS = 2.5  # warps for each place, at least, where there is more than one SM
LARGEST_L2 = 4.0  # times that of the whole GPU
SEARCHED = 500_000  # about so many of a sample's requests are followed to find the size of its L2


def machine_for(gpu: Gpu, trace: Trace, fraction: float) -> Machine:
    """The machine for a ``fraction`` of the warps of a launch: as much of the GPU as they fill ``ROUNDS`` times.

    The less a machine is scaled, the nearer its memory is to the whole GPU's: SMs that share an L2 slice, requests of a
    warp's step that meet in a DRAM channel (with one channel its efficiency is 16 % higher, so two at least). The fewer
    warps an SM gets, the more of its time is ramp-up and drain.
    """
    alone = dataclasses.replace(
        gpu, sm=dataclasses.replace(gpu.sm, count=1)
    )  # else no more than its part of the launch
    need, ctas = places_of(alone, trace.read("kernels"), 0)
    places, slots = ctas * need.warps, gpu.rt.cores * gpu.rt.warps
    if fraction == 1.0:
        return Machine(gpu.sm.count, gpu.memory.count, places, slots)
    sms = min(max(1, int(fraction * trace.rows("warps") / (ROUNDS * places))), gpu.sm.count)
    controllers = max(min(LEAST_CONTROLLERS, gpu.memory.count), round(gpu.memory.count * sms / gpu.sm.count))
    return Machine(sms, controllers, places, slots)


def comparable(part: Machine, whole: Machine, first_part: Machine, first_whole: Machine) -> Machine:
    """``part`` of ``whole``, to be compared with ``first_part`` of ``first_whole``.

    It has more or fewer controllers for an SM than the first part as its GPU has than the first GPU: were both rounded
    up to ``LEAST_CONTROLLERS``, half of a GPU's controllers or twice its SMs would leave the part as it is.
    """
    more = whole.controllers / first_whole.controllers * first_whole.sms / whole.sms
    controllers = round(first_part.controllers * more * part.sms / first_part.sms)
    return part._replace(controllers=min(max(1, controllers), whole.controllers))


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


def traffic_of_all(gpu: Gpu, whole: Machine, stream: Stream) -> Traffic:
    """What all warps do to the functional caches of the whole GPU."""
    everybody = np.ones(len(stream.steps), bool)
    return traffic(_ordered(gpu, whole, stream, everybody), gpu)


def _ordered(gpu: Gpu, machine: Machine, stream: Stream, warps: np.ndarray) -> Requests:
    """The requests of the ``warps`` as ``machine``, a part of ``gpu``, makes them."""
    return in_order(stream, warps, machine, gpu.lsu.local_interleaved, gpu.rt.intersection_table != "none")


def match(
    gpu: Gpu, whole: Machine, part: Machine, stream: Stream, goal: Traffic, chosen: np.ndarray, line: np.ndarray,
    sectors: np.ndarray,
) -> Matched:  # fmt: skip
    """The share of the L2 with which reads of the ``chosen`` warps miss as often as those of all.

    It lies between the share of SMs and ``LARGEST_L2``: lines that the other warps would fetch shortly before must stay
    until they are used. goal  of ``traffic_of_all``. line, sectors  what the L2 holds before; see ``estimate_trace``.
    """
    requests = after(_ordered(gpu, part, stream, chosen), line, sectors)
    weight = stream.steps.sum() / max(stream.steps[chosen].sum(), 1)
    few = thinned(requests, SEARCHED)

    def misses_more(share: float) -> bool:
        return traffic(few, build(gpu, part, share)).read_misses * weight > goal.read_misses

    low = part.sms / whole.sms
    high = max(low, LARGEST_L2)
    if part == whole or not misses_more(low):
        high = low
    else:
        for _ in range(BISECTIONS):
            middle = float(np.sqrt(low * high))
            low, high = (middle, high) if misses_more(middle) else (low, middle)
    return Matched(high, goal, traffic(requests, build(gpu, part, high)))
