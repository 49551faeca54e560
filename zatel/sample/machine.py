"""Machine that replays a sample: fewer SMs and memory controllers, and the whole GPU's L2.

The paper divides SMs, memory partitions and with them the L2 by one K. Here SMs and controllers follow the fraction,
rounded to whole ones. The L2 keeps its capacity: all warps read the BVH's upper levels, which do not shrink.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import UserError
from rayplay.replay.geometry import LawError, expect_no_reorder, places_of
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.model.instructions import traces_rays
from rayplay.zatel.model.schedule import Machine
from rayplay.zatel.model.traffic import Requests, Stream, Traffic, after, in_order, traffic
from rayplay.zatel.paper.downscale import sized_l2

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


def check_inputs(trace: Trace, gpus: Sequence[Gpu] = (), is_modelled: bool = True) -> None:
    """Raise ``UserError`` unless the trace is one launch whose CTAs can be sampled; no warp is read.

    Likewise for a GPU that reorders threads, and for a plug-in of caches: an estimate follows all warps through caches
    with the engine's own replacement. ``is_modelled``: likewise for a GPU whose rays go past the L1.
    """
    if problem := not_sampled(trace):
        raise UserError(f"{trace.path}: must {problem}, to be estimated; replay the whole trace (rayplay replay)")
    is_traced = is_modelled and traces_rays(trace)
    for gpu in gpus:
        expect_no_reorder(trace, gpu)
        if problem := not_modelled(gpu, is_traced):
            raise UserError(f"GPU {gpu.name}: {problem}; replay the whole trace (rayplay replay)")


def not_modelled(gpu: Gpu, is_traced: bool) -> str | None:
    """Demand that a GPU fails, without which an estimate cannot follow its caches; None where it fails none.

    is_traced  whether rays are among their users.
    """
    if is_traced and (gpu.rt.cache != "l1" or gpu.rt.perfect_memory):
        return (
            "rt.cache must be l1 and rt.perfect_memory false, since an estimate follows all rays' records through L1s,"
            f" not {gpu.rt.cache} and {str(gpu.rt.perfect_memory).lower()}"
        )
    if gpu.plugin is None:
        return None
    if lacking := [need for need in UNSAMPLED if need in gpu.plugin.needs]:
        return f"its plug-in {gpu.plugin.name} needs {', '.join(lacking)}, which a sample lacks"
    if caches := [unit for unit in gpu.plugin.units if unit in CACHES]:
        return f"its plug-in {gpu.plugin.name} acts on {', '.join(caches)}, whose contents a sample cannot tell"
    return None


def machine_for(gpu: Gpu, trace: Trace, fraction: float) -> Machine:
    """Machine for a ``fraction`` of the warps of a launch: the part of the GPU that they fill ``ROUNDS`` times.

    Where all warps fill the whole GPU less often, the part is filled as often: with more warps on an SM than the whole
    GPU has, their local memory would not fit into an L1 into which it does fit there.

    A trade-off: a larger machine has a memory nearer to the whole GPU's (SMs that share an L2 slice, requests of a step
    that meet in a DRAM channel). A smaller one spends less of its time in ramp-up and drain. With more channels than
    the SMs' part of the GPU's, requests would queue less.
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
    sms = min(max(1, filled), gpu.sm.count)
    return Machine(sms, max(1, round(sms / per_controller)), places, slots, need.warps)


def build(gpu: Gpu, machine: Machine, l2_share: float = 1.0) -> Gpu:
    """Description of ``machine`` with the whole GPU's L2, or about a share of it, rounded to whole sets.

    A hash of the L2 slices that is illegal for so few (``ipoly`` needs 16, 32 or 64) is left out.
    """
    l2 = dataclasses.replace(gpu.l2, **sized_l2(gpu, machine.controllers, gpu.l2.bytes * l2_share))
    sm = dataclasses.replace(gpu.sm, count=machine.sms)
    for partition_hash in (gpu.memory.partition_hash, "consecutive"):
        memory = dataclasses.replace(
            gpu.memory, count=machine.controllers, copies="whole", partition_hash=partition_hash
        )
        try:
            return dataclasses.replace(gpu, name=f"{gpu.name}, {machine.sms} SMs", sm=sm, memory=memory, l2=l2)
        except LawError as error:
            refused = error
    raise UserError(f"GPU {gpu.name} with {machine.sms} SMs: {refused}")


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


def traffic_of_sample(
    gpu: Gpu, part: Machine, stream: Stream, chosen: np.ndarray, line: np.ndarray, sectors: np.ndarray
) -> Traffic:
    """Functional traffic of the ``chosen`` warps on their machine.

    line, sectors  contents of the L2 at the start; see ``rows.held_before``.
    """
    return traffic(after(_ordered(gpu, part, stream, chosen), line, sectors), build(gpu, part))


def _ordered(gpu: Gpu, machine: Machine, stream: Stream, warps: np.ndarray) -> Requests:
    """Requests of the ``warps`` in the order of ``machine``, all of ``gpu`` or a part."""
    return in_order(stream, warps, machine, gpu.lsu.local_interleaved, gpu.rt.intersection_table != "none")
