"""Machine that replays a sample: fewer SMs and memory controllers, and an L2 that misses as the whole GPU's does.

The paper divides SMs, memory partitions and with them the L2 by one K. Here SMs and controllers follow the fraction,
rounded to whole ones. The L2 gets the capacity with which the sampled warps miss in the functional caches
(``model.caches``) as often as all warps in the whole L2: all warps read the BVH's upper levels, which do not shrink.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import UserError
from rayplay.replay.geometry import LawError, expect_no_reorder, places_of
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.model.schedule import Machine
from rayplay.zatel.model.traffic import Requests, Stream, Traffic, after, in_order, traffic
from rayplay.zatel.paper.downscale import sized_l2
from rayplay.zatel.sample.rules import EVERY, Rules

BISECTIONS = 7
LARGEST_L2 = 4.0  # times the whole GPU's
LEAST_CONTROLLERS = 2
CACHES = ("l1", "l2", "rt_cache")  # units of a plug-in that an estimate cannot follow
UNSAMPLED = ("distances", "culled", "rays")  # needs of a plug-in that the rows of a sample lack
ROUNDS = 2.5  # least warps for each warp slot, on more than one SM


def not_sampled(trace: Trace) -> str | None:
    """Demand that a trace fails, without which some of its CTAs cannot stand for all; None where it fails none."""
    if trace.rows("kernels") != 1:
        return f"be one launch, but has {trace.rows('kernels')}"
    if not trace.rows("warps"):
        return "have warps"
    if "cooperative" in trace.tables and trace.rows("cooperative"):
        return "be a launch without barriers of the whole grid, which wait for all CTAs"
    if "fills" in trace.tables and trace.rows("fills"):
        return "be a launch that no unit beside the SMs feeds, as a draw's is"
    return None


def check_inputs(trace: Trace, gpus: Sequence[Gpu] = ()) -> None:
    """Raise ``UserError`` unless the trace is one launch whose CTAs can be sampled; no warp is read.

    Likewise for a GPU that reorders threads, and for a plug-in of caches: an estimate follows all warps through caches
    with the engine's own replacement.
    """
    if problem := not_sampled(trace):
        raise UserError(f"{trace.path}: must {problem}, to be estimated; replay the whole trace (rayplay replay)")
    for gpu in gpus:
        expect_no_reorder(trace, gpu)
        lacking = [need for need in UNSAMPLED if gpu.plugin and need in gpu.plugin.needs]
        if gpu.plugin and lacking:
            raise UserError(
                f"GPU {gpu.name}: its plug-in {gpu.plugin.name} needs {', '.join(lacking)}, which a sample lacks;"
                " replay the whole trace (rayplay replay)"
            )
        caches = [unit for unit in gpu.plugin.units if unit in CACHES] if gpu.plugin else []
        if gpu.plugin and caches:
            raise UserError(
                f"GPU {gpu.name}: its plug-in {gpu.plugin.name} acts on {', '.join(caches)}, whose contents a sample"
                " cannot tell; replay the whole trace (rayplay replay)"
            )


def machine_for(gpu: Gpu, trace: Trace, fraction: float, rules: Rules = EVERY) -> Machine:
    """Machine for a ``fraction`` of the warps of a launch: the part of the GPU that they fill ``ROUNDS`` times.

    Where all warps fill the whole GPU less often, the part is filled as often: with more warps on an SM than the whole
    GPU has, their local memory would not fit into an L1 into which it does fit there.

    A trade-off: a larger machine has a memory nearer to the whole GPU's (SMs that share an L2 slice, requests of a step
    that meet in a DRAM channel). A smaller one spends less of its time in ramp-up and drain. It has at least the SMs of
    ``LEAST_CONTROLLERS``, since one channel alone is 16 % more efficient, and more channels than the SMs' part of the
    GPU's would queue less.
    """
    alone = dataclasses.replace(
        gpu, sm=dataclasses.replace(gpu.sm, count=1)
    )  # else the SM's slots are limited to its part of the launch
    need, ctas = places_of(alone, trace.read("kernels"), 0, gpu.sm.concurrent_kernels == 1)
    places, slots = ctas * need.warps, gpu.rt.cores * gpu.rt.warps
    if fraction == 1.0:
        return Machine(gpu.sm.count, gpu.memory.count, places, slots, need.warps)
    per_controller = gpu.sm.count / gpu.memory.count
    warps = trace.rows("warps")
    rounds = min(ROUNDS, warps / (gpu.sm.count * places))
    filled = int(fraction * warps / (rounds * places) + 1e-9)
    least = round(LEAST_CONTROLLERS * per_controller) if rules.controllers else 1
    sms = min(max(1, filled, least), gpu.sm.count)
    return Machine(sms, max(1, round(sms / per_controller)), places, slots, need.warps)


def build(gpu: Gpu, machine: Machine, l2_share: float) -> Gpu:
    """Description of ``machine`` with about ``l2_share`` of the L2's capacity, rounded to whole sets."""
    l2 = dataclasses.replace(gpu.l2, **sized_l2(gpu, machine.controllers, gpu.l2.bytes * l2_share))
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


class Modelled(NamedTuple):
    """Functional traffic of all warps on the whole GPU, and of the sample on its machine."""

    whole: Traffic
    part: Traffic


def functional_identity(gpu: Gpu, whole: Machine) -> tuple[Any, ...]:
    """Everything of a GPU that its functional caches follow from."""
    addresses = [one.tolist() if isinstance(one, np.ndarray) else one for one in gpu.addresses]
    caches = gpu.l1.bytes, gpu.l1.ways, gpu.l2.bytes, gpu.l2.ways, gpu.l2.slices_per_controller
    return whole, caches, gpu.lsu.local_interleaved, gpu.rt.intersection_table, addresses


def traffic_of_all(gpu: Gpu, whole: Machine, stream: Stream) -> Traffic:
    """Functional traffic of all warps on the whole GPU."""
    return traffic(_ordered(gpu, whole, stream, np.ones(len(stream.steps), bool)), gpu)


def match(
    gpu: Gpu, whole: Machine, part: Machine, stream: Stream, goal: Traffic, chosen: np.ndarray, line: np.ndarray,
    sectors: np.ndarray,
) -> tuple[float, Traffic]:  # fmt: skip
    """Find the L2 share with which reads of the ``chosen`` warps miss as often as reads of all; also their traffic.

    It lies between the share of SMs and ``LARGEST_L2``: lines that other warps would fetch shortly before must stay
    until they are used.

    goal           from ``traffic_of_all``.
    line, sectors  contents of the L2 at the start; see ``rows.held_before``.
    """
    requests = after(_ordered(gpu, part, stream, chosen), line, sectors)
    weight = stream.steps.sum() / max(stream.steps[chosen].sum(), 1)

    def with_share(share: float) -> Traffic:
        return traffic(requests, build(gpu, part, share))

    low, high = part.sms / whole.sms, LARGEST_L2
    found = with_share(low)
    if part == whole or found.read_misses * weight <= goal.read_misses:
        return low, found
    for _ in range(BISECTIONS):
        middle = float(np.sqrt(low * high))
        misses_more = with_share(middle).read_misses * weight > goal.read_misses
        low, high = (middle, high) if misses_more else (low, middle)
    return high, with_share(high)


def in_whole_l2(
    gpu: Gpu, part: Machine, stream: Stream, chosen: np.ndarray, line: np.ndarray, sectors: np.ndarray
) -> tuple[float, Traffic]:
    """As ``match`` without its rule: the whole GPU's L2."""
    return 1.0, traffic(after(_ordered(gpu, part, stream, chosen), line, sectors), build(gpu, part, 1.0))


def _ordered(gpu: Gpu, machine: Machine, stream: Stream, warps: np.ndarray) -> Requests:
    """Requests of the ``warps`` in the order of ``machine``, all of ``gpu`` or a part."""
    return in_order(stream, warps, machine, gpu.lsu.local_interleaved, gpu.rt.intersection_table != "none")
