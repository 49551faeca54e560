"""A streaming multiprocessor: fetch, issue, operand collection, units, write-back, CTAs.

Source: docs/sources/accel-sim.md#execution-model.
"""

from typing import TYPE_CHECKING

from . import coalesce
from .collector import Collector
from .config import GpuConfig
from .instruction_cache import FIRST_ADDRESS, InstructionCache, Missing
from .ldst import LdSt
from .program import Kernel
from .request import Request
from .scheduler import Scheduler
from .units import ResultBuses, Unit
from .warp import Barrier, Op, Scoreboard, Warp

if TYPE_CHECKING:
    from .gpu import Gpu

ORDER = ("SP", "DP", "INT", "SFU", "S1", "S2", "S3", "S4")


class Sm:
    """One SM. ``cycle`` runs its stages from the last to the first."""

    def __init__(self, number: int, config: GpuConfig, gpu: "Gpu") -> None:
        self.number, self.config, self.gpu = number, config, gpu
        self.warps = [Warp(slot) for slot in range(config.warps)]
        self.scoreboard = Scoreboard(config.warps)
        self.collector = Collector(
            config.schedulers, config.collectors, config.collector_ports, config.register_banks, config.collector_owner,
            config.sub_cores,
        )  # fmt: skip
        depth = {name: max(config.latencies[name][0], 2) for name in ORDER}
        self.units = [
            Unit(name, scheduler, depth[name], config.sub_cores)
            for name in ORDER
            for scheduler in range(config.schedulers)
        ]
        self.buses = ResultBuses(config.result_buses)
        self.ldst = LdSt(self)
        self.instructions = InstructionCache(config.instructions)
        self.barrier = Barrier()
        self.schedulers = [Scheduler(number, self) for number in range(config.schedulers)]
        self.first_scheduler = 0
        self.finished: list[Op] = []
        self.fetched: Warp | None = None
        self.last_fetched = 0
        self.ctas: dict[int, int] = {}  # warps left by slot of the CTA
        self.kernel: Kernel | None = None
        self.residents = 0  # CTAs that fit, for the kernel
        self.next_age = 0
        self.live_warps = 0

    def cycle(self) -> None:
        if not self.ctas and not self.live_warps:
            return
        self._write_back()
        self._execute()
        for _ in range(self.config.collector_steps):
            self.collector.step()
        count = self.config.schedulers
        for step in range(count):
            self.schedulers[(self.first_scheduler + step) % count].cycle()
        self.first_scheduler = (self.first_scheduler + 1) % count
        for _ in range(self.config.fetch_width):
            self._decode()
            self._fetch()
            self.instructions.cycle(self.gpu.may_send(self.number), self._ask)

    def _write_back(self) -> None:
        """All results, oldest first; a taken bank does not hold them up."""
        for op in sorted(self.finished, key=lambda op: op.number):
            self.collector.write(op)
            self.scoreboard.release(op.warp, op.instruction.written)
            self.warps[op.warp].under_way -= 1
            self.complete(op)
        self.finished.clear()

    def _execute(self) -> None:
        """Each unit moves on, then takes an instruction."""
        self.buses.cycle()
        for unit in self.units:
            unit.cycle(self.finished)
            unit.take(self.collector.ready, self.buses)
        self.ldst.cycle()
        self.ldst.take(self.collector.ready)

    def complete(self, op: Op) -> None:
        self.gpu.count("warp_instructions", 1)
        self.gpu.count("thread_instructions", op.lanes)

    def waits(self, warp: Warp) -> bool:
        """At a barrier, a fence or for atomics; a completed fence invalidates the L1."""
        if warp.done or warp.slot in self.barrier.arrived:
            return True
        if warp.fence:
            if self.scoreboard.reserved[warp.slot]:
                return True
            warp.fence = False
            self.ldst.l1.tags.invalidate()
        return warp.atomics > 0 or bool(warp.awaited)

    def issue(self, op: Op, warp: Warp) -> None:
        """Immediate effects of issuing an instruction."""
        op.number = self.gpu.next_number()
        instruction = op.instruction
        if instruction.is_atomic:
            warp.atomics += op.lanes
        if instruction.is_exit:
            warp.live_lanes &= ~op.mask
        self._make_accesses(op)
        if warp.done and warp.next_pc == len(warp.code):
            self._flush(warp)
        if instruction.is_barrier:
            self.barrier.arrive(warp.cta, warp.slot)
        if instruction.is_fence:
            warp.fence = True
        self._group(op, warp)
        self.scoreboard.reserve(op)

    def _group(self, op: Op, warp: Warp) -> None:
        """Copies join a group, the group ends, or the warp waits for copies of all groups except the latest."""
        instruction = op.instruction
        if instruction.is_copy and op.accesses:
            op.under_way = len(op.accesses)
            warp.groups[-1].add(op)
        elif instruction.is_commit:
            warp.groups.append(set())
        elif instruction.spared >= 0:
            ended = warp.groups[:-1]
            warp.awaited = set().union(*ended[: max(0, len(ended) - instruction.spared)])

    def _flush(self, warp: Warp) -> None:
        warp.under_way -= sum(op is not None for op in warp.buffer)
        warp.buffer = [None, None]
        self.barrier.leave(warp.cta, warp.slot)

    def _make_accesses(self, op: Op) -> None:
        instruction = op.instruction
        if not op.mask:
            return
        if instruction.space == "shared":
            op.countdown = sum(map(coalesce.bank_cycles, op.parts(self.config.warp_parts)))
        elif instruction.space == "texture" and self.config.texture.is_unit:
            self.ldst.ask_unit(op)
        elif instruction.space == "texture":
            line = self.config.texture.line_bytes
            ends = ((address, address + instruction.bytes - 1) for address in op.addresses.values())
            op.accesses = sorted({byte // line for pair in ends for byte in pair})
        elif instruction.space == "local":
            threads = -(-self.kernel.threads // 32) * 32
            of_cta = self.config.local_by_cta
            where = (
                threads if of_cta else self.config.warps * 32, self.residents if of_cta else 1, self.number,
                self.config.sms, self.config.local_start,
            )  # fmt: skip
            parts = op.parts(self.config.warp_parts)
            op.accesses = [access for part in parts for access in coalesce.local_sectors(part, *where)]
        elif instruction.space:
            of_part = coalesce.atomic_sectors if instruction.is_atomic else coalesce.sectors
            op.accesses = [access for part in op.parts(self.config.warp_parts) for access in of_part(part)]
            op.has_colours = self.kernel.is_fragment and instruction.is_store and instruction.space == "global"

    def _decode(self) -> None:
        if self.fetched is not None:
            self.fetched.fill()
            self.fetched = None

    def _fetch(self) -> None:
        """From the warp after the last fetched on: finished ones are given back; the first empty buffer wins.

        A warp whose line of instructions has come goes before all that.
        """
        if self.instructions.ready:
            self.fetched = self.warps[self.instructions.next_warp()]
            self.fetched.waits_for_line = False
            return
        count = len(self.warps)
        for step in range(count):
            warp = self.warps[(self.last_fetched + 1 + step) % count]
            if warp.exited:
                continue
            waits = warp.stores or warp.under_way or self.scoreboard.reserved[warp.slot] or any(warp.groups)
            if warp.done and not waits:
                self._reclaim(warp)
            if not warp.done and warp.buffer_empty and not warp.waits_for_line:
                self._look_up(warp)
                return

    def _look_up(self, warp: Warp) -> None:
        """A warp's next instruction in the instruction cache; after a failure another warp has its turn."""
        self.last_fetched, outcome = warp.slot, "hits"
        pc = warp.code[warp.next_pc].instruction.pc
        self.gpu.mapping.place(FIRST_ADDRESS + pc)
        if self.config.instructions.used:
            outcome = self.instructions.access(pc, warp.slot, self.gpu.now)
        warp.waits_for_line = outcome == "misses"
        self.fetched = warp if outcome == "hits" else None

    def _ask(self, address: int, missing: Missing) -> None:
        """For a line of instructions."""
        request = Request(address, 0, False, self.number, None, self.gpu.mapping.place(address))
        request.missing = missing
        self.gpu.send(request)

    def _reclaim(self, warp: Warp) -> None:
        """The last warp of a CTA ends it."""
        warp.exited = True
        self.live_warps -= 1
        self.gpu.retired(self, warp)
        self.ctas[warp.cta] -= 1
        if not self.ctas[warp.cta]:
            del self.ctas[warp.cta]
            self.barrier.close(warp.cta)
            self.gpu.cta_done(self)

    def start_cta(self, kernel: Kernel, code: list) -> None:
        """The first free CTA slot and its warps."""
        self.kernel = kernel
        slot = next(slot for slot in range(self.residents) if slot not in self.ctas)
        per_cta = -(-kernel.threads // 32)
        first = slot * per_cta
        self.ctas[slot] = per_cta
        self.barrier.open(slot, range(first, first + per_cta))
        for place in range(per_cta):
            lanes = min(32, kernel.threads - 32 * place)
            self.warps[first + place].start(code[place], (1 << lanes) - 1, slot, self.next_age)
            self.next_age += 1
            self.live_warps += 1
