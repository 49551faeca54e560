"""The LSU of an SM: a queue of memory instructions before the banks, and the waiters for the data.

Write-back, responses, texture cache, tags and the instruction in front take their turns as in ``ldst``. There are no
register banks to wait for; a slot is released once the last part of its instruction is done.
"""

from collections import deque
from typing import TYPE_CHECKING

from .. import coalesce
from ..cache import FAIL
from ..ldst import LdSt
from ..request import Request
from .program import Executed

if TYPE_CHECKING:
    from .sm import Sm


class Op:
    """A memory instruction in the LSU. ``parts``: of its data, not yet there."""

    def __init__(self, executed: Executed, warp: int, number: int, arrives: int) -> None:
        self.instruction, self.addresses = executed.instruction, executed.addresses
        self.mask = sum(1 << lane for lane in executed.addresses)
        self.warp, self.number, self.arrives = warp, number, arrives
        self.countdown = self.cycles = 0  # that an access to shared memory takes
        self.accesses: list = []
        self.parts = 0
        self.requests: list = []  # of the texture unit
        self.has_colours = False
        self.texels = 0


class Lsu(LdSt):
    """One for all schedulers."""

    def __init__(self, sm: "Sm") -> None:
        super().__init__(sm)
        self.waiting: deque[Op] = deque()
        self.is_blocked = False

    @property
    def has_room(self) -> bool:
        """Whether one more memory instruction may issue; perfect memory takes any number."""
        if self.config.perfect_memory:
            return True
        return len(self.waiting) + (self.dispatch is not None) < self.config.queue_entries

    @property
    def is_idle(self) -> bool:
        """Whether no instruction is in the unit, and no data for one."""
        held = (
            self.dispatch,
            self.writing,
            self.bypassed,
            *self.stages,
            *(one for queue in self.queues for one in queue),
        )
        textures = (self.texture.fragments, self.texture.results, self.texture_unit.waiting, self.texture_unit.results)
        queued = (self.waiting, self.responses, self.l1.miss_queue, *textures)
        return all(one is None for one in held) and not any(queued)

    def enter(self, op: Op) -> None:
        """Issue an instruction with the accesses of its lanes."""
        self.count("instructions", 1)
        if not self.config.perfect_memory:
            self._make_accesses(op)
        self.waiting.append(op)

    def _make_accesses(self, op: Op) -> None:
        instruction, config, sm = op.instruction, self.config, self.sm
        if instruction.space == "shared":
            op.countdown = op.cycles = coalesce.bank_cycles(op)
            return
        if instruction.space == "texture" and config.texture.is_unit:
            self.ask_unit(op)
            op.parts = len(op.accesses) + (op.texels > 0)
            return
        if instruction.space == "texture":
            size = config.texture.line_bytes
            ends = ((address, address + instruction.bytes - 1) for address in op.addresses.values())
            op.accesses = sorted({byte // size for pair in ends for byte in pair})
        elif instruction.space == "local":
            threads, residents = sm.warps[op.warp].cta_threads, sm.warps[op.warp].residents
            op.accesses = coalesce.local_sectors(op, threads, residents, sm.number, config.sms, config.local_start)
        else:
            op.accesses = coalesce.atomic_sectors(op) if instruction.is_atomic else coalesce.sectors(op)
        op.parts = len(op.accesses)

    def cycle(self) -> None:
        if self.config.perfect_memory:
            self._end_perfect()
            self.l1.cycle(
                lambda: self.sm.gpu.requests.may_push(self.sm.number), self._send
            )  # what the RT unit asked for
            return
        if self.dispatch is None and self.waiting and self.waiting[0].arrives <= self.sm.gpu.now:
            self.dispatch = self.waiting.popleft()
        self.is_blocked = False
        before = dict(self.texture_unit.counts)
        super().cycle()
        for name, count in self.texture_unit.counts.items():
            self.count(f"texture_{name}", count - before[name])
        self.count("sectors", self.texture_unit.counts["sectors"] - before["sectors"])
        self.count("blocked_cycles", self.is_blocked)

    def _end_perfect(self) -> None:
        """With perfect memory an instruction is done after the latency of a hit."""
        while self.waiting and self.waiting[0].arrives + self.config.l1_latency <= self.sm.gpu.now:
            self._release(self.waiting.popleft())

    def count(self, name: str, more: int) -> None:
        self.sm.gpu.count(f"lsu.{name}", more)

    def _release(self, op: Op) -> None:
        if op.instruction.slot >= 0:
            self.sm.release(op.warp, op.number, op.instruction.slot)

    def _part_done(self, op: Op) -> None:
        """The last part of a load or of an atomic with a result releases its slot."""
        self.texture_unit.texel(op, self.sm.gpu.now)
        op.parts -= 1
        if op.parts <= 0 and op.instruction.has_result:
            self._release(op)

    def _write_back(self) -> None:
        """The result chosen in the cycle before is written; the next client in turn hands one in."""
        if self.writing is not None:
            self._part_done(self.writing)
        self.writing = None
        self._choose_result()

    def _result_of(self, client: str) -> Op | None:
        """The next result of a client, taken from it."""
        if client == "shared" and self.stages[0] is not None:
            op, self.stages[0] = self.stages[0], None
            return op
        if client == "texture" and self.texture.results:
            return self.texture.results.popleft()
        if client == "texture":
            return self.texture_unit.result(self.sm.gpu.now)
        if client == "bypass" and self.bypassed is not None:
            request, self.bypassed = self.bypassed, None
            return request.op
        if client == "l1" and self.l1.mshrs.ready:
            return self.l1.mshrs.next_ready().op
        return None

    def _send(self, request: Request) -> None:
        self.sm.gpu.count("port.requests", 1)
        super()._send(request)

    def _take_response(self) -> None:
        """One answer: a sector of a texture line, an acknowledged store, data from past the L1, or a fill of the L1."""
        if not self.responses:
            return
        request = self.responses[0]
        if request.line is not None:
            request.line.missing -= 1
        elif request.is_write:
            self.sm.acknowledge(request.op)
        elif not request.op.instruction.bypasses:
            self.sm.fill(request)
        elif self.bypassed is None:
            self.bypassed = request
        else:
            return
        self.responses.popleft()

    def _advance(self, queue: list[Request | None]) -> None:
        fails = self._fails()
        super()._advance(queue)
        self.is_blocked |= self._fails() > fails

    def _fails(self) -> int:
        return self.l1.counts["read", FAIL] + self.l1.counts["write", FAIL]

    def _hit(self, op: Op) -> None:
        """A hit does not pass through write-back."""
        self._part_done(op)

    def _access(self, op: Op) -> bool:
        before, begins = len(op.accesses), 0 < op.countdown == op.cycles
        is_done = super()._access(op)
        if begins:
            self.count("shared_cycles", op.cycles - 1)
            self.count("bank_conflict_cycles", op.cycles - 1)
        taken = before - len(op.accesses)
        if op.instruction.space != "texture":
            self.count("sectors", taken)
        elif taken:
            self.count("texture_misses" if self.texture.fragments[-1][1] else "texture_hits", 1)
        return is_done

    def _to_l1(self, op: Op) -> None:
        """Up to one access per bank, highest address first; the first busy bank ends the cycle."""
        for _ in range(self.config.l1_banks):
            if not op.accesses:
                return
            queue = self.queues[op.accesses[-1].address // 32 % self.config.l1_banks]
            if queue[-1] is not None:
                return
            queue[-1] = self._request(op, op.accesses.pop())

    def _leave(self, op: Op) -> None:
        """Loads from shared memory enter their pipeline; stores and reductions release their slot; others wait."""
        instruction = op.instruction
        if instruction.space == "shared":
            if instruction.is_load and self.stages[-1] is not None:
                return
            self.count("shared_cycles", 1)
            if instruction.is_load:
                self.stages[-1] = op
        self.dispatch = None
        if not instruction.has_result:
            self._release(op)
