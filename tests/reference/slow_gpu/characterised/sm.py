"""An SM of the model ``characterised``: warps that stall and wait for slots, their schedulers, barriers and CTAs."""

from collections import Counter, deque
from typing import TYPE_CHECKING

from tests.reference.scheduler_slow import SlowScheduler

from ..request import Request
from .config import CharacterisedConfig
from .lsu import Lsu, Op
from .program import Executed, Kernel
from .rt import RtOp, RtUnit

if TYPE_CHECKING:
    from .gpu import Gpu


class Warp:
    """A warp of the trace in its slot of the SM."""

    def __init__(self, number: int, code: list[Executed], cta: "Cta", now: int) -> None:
        self.number, self.cta = number, cta
        self.residents, self.cta_threads = cta.residents, 32 * cta.kernel.warps
        self.code = deque(code)
        self.issued = 0
        self.started = self.ready_at = now
        self.pending: Counter[int] = Counter()  # results to come, by slot
        self.stores = 0  # sectors that are not acknowledged
        self.is_at_barrier = self.has_rays = False

    @property
    def is_done(self) -> bool:
        """Every instruction has issued."""
        return not self.code

    @property
    def waits(self) -> bool:
        """At a barrier, for its rays, or for what its next instruction names; after the last one for everything."""
        if self.is_at_barrier or self.has_rays:
            return True
        if self.is_done:
            return self.stores > 0 or self.pending.total() > 0
        instruction = self.code[0].instruction
        return any(self.pending[slot] for slot in instruction.waits) or (instruction.is_fence and self.stores > 0)


class Cta:
    """A CTA of a kernel in an SM: its first warp slot, and its warps that run."""

    def __init__(self, kernel: Kernel, first: int, residents: int) -> None:
        self.kernel, self.first, self.residents = kernel, first, residents
        self.live: set[int] = set()
        self.arrived: set[int] = set()


class Sm:
    """One SM. ``cycle`` runs its stages in order."""

    def __init__(self, number: int, config: CharacterisedConfig, gpu: "Gpu") -> None:
        self.number, self.config, self.gpu = number, config, gpu
        self.warps: dict[int, Warp] = {}  # by slot; one that has retired stays until its slot is taken
        self.live: list[int] = []
        self.ldst, self.rt = Lsu(self), RtUnit(self)
        self.schedulers = [SlowScheduler(config.policy, config.active_warps) for _ in range(config.schedulers)]
        self.free_at: Counter[tuple[int, str]] = Counter()  # of a unit of a scheduler
        self.ctas: list[Cta] = []
        self.arrived: deque[Request] = deque()  # responses for the RT unit, or for whom it leads

    @property
    def live_warps(self) -> int:
        """Warps that have not retired."""
        return len(self.live)

    def cycle(self) -> None:
        """Responses, memory, rays; then each scheduler issues a warp that waits for nothing."""
        self.rt.begin()
        while self.arrived:
            request = self.arrived.popleft()
            if self.config.rt.cache == "l1" and not request.is_write:
                self.fill(request)
            else:
                self.rt.receive(request)
        self._park()
        self.ldst.cycle()
        self.rt.cycle()
        self._retire()
        self._issue()

    def _park(self) -> None:
        """Remove a warp that waits for more than its stall from two-level's active warps."""
        for slot in self.live:
            if self.warps[slot].ready_at <= self.gpu.now and self.warps[slot].waits:
                self._scheduler(slot).park(slot)

    def _scheduler(self, slot: int) -> SlowScheduler:
        return self.schedulers[slot % self.config.schedulers]

    def _is_ready(self, slot: int) -> bool:
        warp = self.warps[slot]
        return warp.ready_at <= self.gpu.now and not warp.waits

    def _issue(self) -> None:
        """One instruction of each scheduler, whose unit is free."""
        before = self.gpu.counts["sm.warp_instructions"]
        for number, scheduler in enumerate(self.schedulers):
            ready = {slot for slot in scheduler.by_age if self._is_ready(slot)}
            able = {slot for slot in ready if self._is_unit_free(number, slot)}
            chosen = scheduler.choose(ready, able)
            if chosen is not None:
                self._issue_one(number, chosen)
        self.gpu.count("sm.issue_cycles", self.gpu.counts["sm.warp_instructions"] > before)

    def _is_unit_free(self, scheduler: int, slot: int) -> bool:
        unit = self.warps[slot].code[0].instruction.unit
        return self.free_at[scheduler, unit] <= self.gpu.now and (unit != "lsu" or self.ldst.has_room)

    def _issue_one(self, scheduler: int, slot: int) -> None:
        """The work begins in its unit; the warp stalls."""
        warp, now = self.warps[slot], self.gpu.now
        executed = warp.code.popleft()
        instruction = executed.instruction
        warp.issued += 1
        warp.ready_at = now + instruction.stall
        self.free_at[scheduler, instruction.unit] = now + instruction.initiation
        if instruction.is_barrier:
            self._arrive(slot)
        elif executed.addresses:
            self._access(slot, executed)
        if executed.rays:
            warp.has_rays = True
            self.rt.enter(slot, executed.rays)
        for name in ("warp_instructions", f"issued_{instruction.unit}"):
            self.gpu.count(f"sm.{name}", 1)
        for name in ("thread_instructions", f"threads_{instruction.unit}"):
            self.gpu.count(f"sm.{name}", executed.mask.bit_count())

    def _access(self, slot: int, executed: Executed) -> None:
        """An access of at least one lane holds its slot; each sector that it stores waits for an acknowledgement."""
        warp, instruction = self.warps[slot], executed.instruction
        op = Op(executed, slot, warp.number, self.gpu.now + self.config.issue_cycles)
        self.ldst.enter(op)
        if instruction.slot >= 0:
            warp.pending[instruction.slot] += 1
        if instruction.is_store:
            warp.stores += len(op.accesses)

    def release(self, slot: int, number: int, scoreboard_slot: int) -> None:
        """A result has come."""
        assert self.warps[slot].number == number
        self.warps[slot].pending[scoreboard_slot] -= 1

    def acknowledge(self, op: Op) -> None:
        """A sector that a warp stored is in the L2."""
        assert self.warps[op.warp].number == op.number
        self.warps[op.warp].stores -= 1

    def rays_done(self, slot: int) -> None:
        """The RT unit has completed a warp: it may issue in this cycle."""
        self.warps[slot].has_rays = False

    def fill(self, request: Request) -> None:
        """A sector comes into the L1: rays that wait for it have it at once, loads in their turn."""
        l1, address = self.ldst.l1, request.address
        l1.fill(request)
        waiting = l1.mshrs.waiting[address]
        rays = [other.op.waiter for other in waiting if isinstance(other.op, RtOp)]
        loads = deque(other for other in waiting if not isinstance(other.op, RtOp))
        l1.mshrs.waiting[address] = loads
        if not loads:
            del l1.mshrs.waiting[address]
            l1.mshrs.ready.remove(address)
        if rays:
            self.rt.respond(address // 32, rays)

    def leads(self, request: Request) -> bool:
        """Whether a response is for the RT unit, or for a sector of the L1 that it was the first to ask for."""
        if request.is_write or self.config.rt.cache != "l1":
            return isinstance(request.op, RtOp)
        first = self.ldst.l1.mshrs.waiting.get(request.address) if self.ldst.l1.waits_for(request) else None
        return bool(first) and isinstance(first[0].op, RtOp)

    def _arrive(self, slot: int) -> None:
        """At a barrier a warp waits for every warp of its CTA that has not retired."""
        self.warps[slot].is_at_barrier = True
        cta = self.warps[slot].cta
        cta.arrived.add(slot)
        self._open_gate(cta)

    def _open_gate(self, cta: Cta) -> None:
        """All warps are there: they go on in the next cycle."""
        if cta.arrived != cta.live:
            return
        self.gpu.count("sm.barrier_releases", 1)
        for slot in cta.arrived:
            warp = self.warps[slot]
            warp.is_at_barrier, warp.ready_at = False, max(warp.ready_at, self.gpu.now + 1)
        cta.arrived.clear()

    def _retire(self) -> None:
        """A warp that has issued everything, and waits for nothing, leaves."""
        for slot in [slot for slot in self.live if self.warps[slot].is_done and self._is_ready(slot)]:
            self._leave(slot)

    def _leave(self, slot: int) -> None:
        warp, gpu = self.warps[slot], self.gpu
        self.live.remove(slot)
        self._scheduler(slot).leave(slot)
        gpu.count("sm.retired_warps", 1)
        gpu.count("sm.retired_instructions", warp.issued)
        gpu.count("sm.resident_warp_cycles", gpu.now - warp.started)
        warp.cta.live.remove(slot)
        if not warp.cta.live:
            gpu.count("sm.retired_ctas", 1)
            self.ctas.remove(warp.cta)
            gpu.cta_done(warp.cta.kernel)
        elif warp.cta.arrived:
            self._open_gate(warp.cta)

    def find_slots(self, kernel: Kernel) -> int | None:
        """First warp slot for a CTA: at a multiple of its warps, all of them free."""
        taken = {cta.first + place for cta in self.ctas for place in range(cta.kernel.warps)}
        for first in range(0, self.config.warps - kernel.warps + 1, kernel.warps):
            if taken.isdisjoint(range(first, first + kernel.warps)):
                return first
        return None

    def start_cta(self, kernel: Kernel, warps: list[list[Executed]], residents: int) -> None:
        """Warps with work are the youngest of their schedulers; they may issue in the cycle that begins now."""
        first = self.find_slots(kernel)
        assert first is not None
        cta = Cta(kernel, first, residents)
        self.ctas.append(cta)
        for place, code in enumerate(warps):
            if code:
                slot = first + place
                self.warps[slot] = Warp(self.gpu.next_number(), code, cta, self.gpu.now)
                self.live.append(slot)
                cta.live.add(slot)
                self._scheduler(slot).join(slot)
