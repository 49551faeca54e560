"""Lockstep: memory and SMs go through every cycle together, for GPUs on which an SM feels others within a quantum.

That is so where SMs share a port (``sm.cluster``), buffers of the crossbar may fill up within a quantum, or requests
turn around in the port (``interconnect.perfect_memory``); also where a packet is for several
sectors (``Gpu.packets_of_lines``), where the first request for a block draws its slice (``memory.partition_hash``), and
where an idle GPU's L2 forgets lines (``l2.flush_idle``). A quantum is then one cycle. Before the SMs run it, the
memory catches up: in the order of the clocks' ticks, and of those due together responses reach the SMs, replies enter
the crossbar, DRAM and L2 run, and the crossbar moves packets. Of a cluster each core cycle passes one response on, if
the LSU it is for has room, and takes one out of the crossbar; its SMs go in turn, where ``sm.rotates`` from one that
moves on with each of its cycles. Source: ``docs/sources/accel-sim.md#clock-domains, #crossbar, #clusters``.
"""

from typing import Any

from rayplay.replay.input.rays import Records
from rayplay.replay.jit.bits import compiled, inlined
from rayplay.replay.jit.rows import wrap
from rayplay.replay.lsu.state import Lsu
from rayplay.replay.memory import partition
from rayplay.replay.memory import port as ports
from rayplay.replay.memory.addresses import RANDOM, slice_of
from rayplay.replay.memory.cache.tags import flush
from rayplay.replay.memory.crossbar import crossbar
from rayplay.replay.memory.dram.state import Dram
from rayplay.replay.memory.l1 import L1
from rayplay.replay.memory.l2 import slice as l2
from rayplay.replay.memory.l2 import state as l2_state
from rayplay.replay.rt.state import RtUnit
from rayplay.replay.sm import ctas as dispatch
from rayplay.replay.sm import memory_path
from rayplay.replay.sm.ctas import Dispatch
from rayplay.replay.unit import clocks


@compiled
def begin_cycle(
    core: Any, ctas: Dispatch, lsus: Lsu, caches: L1, rays: RtUnit, port: ports.Port, records: Records,
    net: crossbar.Crossbar, cache: l2_state.L2, memory: Dram, now: int,
) -> None:  # fmt: skip
    """Bring memory and ports to core cycle ``now``; nothing where it is there."""
    if net.lockstep[crossbar.BEGUN] > now:
        return
    if cache.flushed and are_all_idle(ctas):  # in each cycle between, the L2 went on and was flushed
        for cycle in range(net.lockstep[crossbar.BEGUN], now if crossbar.packets_in_flight(port) else 0):
            advance_memory(
                net, port, cache, memory, clocks.after(net.from_core, cycle), clocks.after(cache.from_core, cycle)
            )
            flush_slices(cache)
    if crossbar.packets_in_flight(port) == 0:  # the networks are empty
        net.lockstep[crossbar.NET_CYCLE] = clocks.at_or_after(net.from_core, now)
    advance_memory(
        net, port, cache, memory, clocks.at_or_after(net.from_core, now), clocks.at_or_after(cache.from_core, now)
    )
    for home in range(0, ctas.unit.shape[0], port.cluster):
        deliver(core, ctas, lsus, caches, rays, port, records, home, now)
    advance_memory(net, port, cache, memory, clocks.after(net.from_core, now), clocks.after(cache.from_core, now))
    last = clocks.at_or_before(memory.core, now)
    for controller in range(cache.controllers):
        partition.finish_ticks(cache, memory, controller, last, net.lockstep[crossbar.L2_CYCLE])
    for sm in range(ctas.unit.shape[0]):  # what an L1 writes back is not acknowledged
        port.port[sm, ports.IN_FLIGHT] -= cache.absorbed[sm]
        cache.absorbed[sm] = 0
    begin_clusters(ctas, now - net.lockstep[crossbar.BEGUN])
    net.lockstep[crossbar.BEGUN] = now + 1


@compiled
def end_cycle(ctas: Dispatch, port: ports.Port, cache: l2_state.L2) -> None:
    """After the SMs' cycle: blocks get slices in the order in which the SMs looked for them; an idle L2 is flushed."""
    if cache.addresses.hash == RANDOM:
        for node in range(ctas.unit.shape[0] // ctas.cluster):
            for step in range(ctas.cluster):
                sm = next_in_cluster(ctas, node, step)
                for place in range(port.decodes[sm]):
                    slice_of(cache.addresses, port.decoded[sm, place])
                port.decodes[sm] = 0
    if cache.flushed and are_all_idle(ctas):
        flush_slices(cache)


@compiled
def are_all_idle(ctas: Dispatch) -> bool:
    """Whether no SM holds a CTA."""
    held = 0
    for sm in range(ctas.unit.shape[0]):
        held += ctas.unit[sm, dispatch.HELD]
    return held == 0


@inlined
def flush_slices(cache: l2_state.L2) -> None:
    """The first slices, as many as there are controllers, forget their lines with dirty sectors."""
    for part in range(cache.flushed):
        flush(cache.tags, part)


@compiled
def advance_memory(
    net: crossbar.Crossbar, port: ports.Port, cache: l2_state.L2, memory: Dram, net_end: int, l2_end: int
) -> None:
    """Do the cycles of the crossbar before ``net_end`` and of the L2 before ``l2_end``."""
    while net.lockstep[crossbar.NET_CYCLE] < net_end:
        cycle = net.lockstep[crossbar.NET_CYCLE]
        advance_slices(net, cache, memory, min(clocks.at_or_after(net.to_l2, cycle), l2_end))
        for part in range(cache.slice.shape[0]):
            l2.send_reply(cache, part, cycle, port.in_packets)
        advance_slices(net, cache, memory, min(clocks.after(net.to_l2, cycle), l2_end))
        crossbar.move_requests(net, port, cache, cycle + 1)
        crossbar.move_responses(net, port, cache, cycle + 1)
        net.lockstep[crossbar.NET_CYCLE] = cycle + 1
    advance_slices(net, cache, memory, l2_end)


@inlined
def advance_slices(net: crossbar.Crossbar, cache: l2_state.L2, memory: Dram, end: int) -> None:
    """Run the memory partitions in the L2 cycles before ``end``, in which nothing enters the crossbar's buffers."""
    since = net.lockstep[crossbar.L2_CYCLE]
    if since >= end:
        return
    net.lockstep[crossbar.L2_CYCLE] = end
    for controller in range(cache.controllers):
        partition.advance_until(cache, memory, controller, since, end)


@inlined
def deliver(
    core: Any, ctas: Dispatch, lsus: Lsu, caches: L1, rays: RtUnit, port: ports.Port, records: Records, home: int,
    now: int,
) -> None:  # fmt: skip
    """The ejection buffer of a cluster passes its oldest packet on, then takes one out of the crossbar."""
    own = port.port
    if own[home, ports.EJECT_HEAD] != own[home, ports.EJECT_TAIL]:
        packet = port.eject[home * port.eject_ring + wrap(own[home, ports.EJECT_HEAD], port.eject_ring)]
        if memory_path.take_packet(core, ctas, lsus, caches, rays, port, records, packet, now):
            own[home, ports.EJECT_HEAD] += 1
    room = own[home, ports.EJECT_TAIL] - own[home, ports.EJECT_HEAD] < port.eject_packets
    row = home * port.out_ring + wrap(own[home, ports.OUT_HEAD], port.out_ring)
    if room and own[home, ports.OUT_HEAD] != own[home, ports.OUT_TAIL] and port.out[row, 0] <= now:
        own[home, ports.OUT_HEAD] += 1
        ports.eject(port, home, port.out[row, 1])


@inlined
def begin_clusters(ctas: Dispatch, skipped: int) -> None:
    """Each cluster with CTAs, and all while some are left, moves on to the next of its SMs; so it did before.

    skipped  cycles since the last one, in which nothing happened.
    """
    if not ctas.rotates:
        return
    waits = False
    for row in range(ctas.kernel.shape[0]):
        waits |= ctas.kernel[row, dispatch.NEXT] < ctas.kernel[row, dispatch.END]
    for home in range(0, ctas.unit.shape[0], ctas.cluster):
        active = waits or not dispatch.is_cluster_idle(ctas, home)
        if active:
            ctas.unit[home, dispatch.TURN] = (ctas.unit[home, dispatch.TURN] + skipped + 1) % ctas.cluster


@inlined
def next_in_cluster(ctas: Dispatch, node: int, step: int) -> int:
    """SM of a cluster that runs after ``step`` others in the cycle that was begun."""
    home = node * ctas.cluster
    return home + (ctas.unit[home, dispatch.TURN] + step) % ctas.cluster if ctas.cluster > 1 else home
