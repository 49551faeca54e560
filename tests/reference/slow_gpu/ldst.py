"""The LD/ST unit of an SM: shared memory, L1 with its latency queues, bypass, write-back.

Source: docs/sources/accel-sim.md#l1-front-end, #shared-memory, #coalescing.
"""

from collections import Counter, deque
from typing import TYPE_CHECKING

from .cache import FAIL, HIT, Cache
from .coalesce import Access
from .collector import Registers
from .request import Request
from .rop import Rop
from .texture import Line, TextureCache
from .texture_unit import TextureUnit, requests
from .warp import Op

if TYPE_CHECKING:
    from .sm import Sm

CLIENTS = ("shared", "texture", "constant", "bypass", "l1")


class LdSt:
    """One for all sub-cores."""

    def __init__(self, sm: "Sm") -> None:
        config = sm.config
        self.sm, self.config = sm, config
        self.dispatch: Op | None = None
        self.stages: list[Op | None] = [None] * config.shared_latency
        self.l1 = Cache(config.l1, lambda address: address)
        self.l1.sm = sm.number
        self.texture = TextureCache(config.texture)
        self.texture_unit = TextureUnit(config.texture)
        self.rop = Rop(config.raster, config.sms)
        self.queues: list[list[Request | None]] = [[None] * config.l1_latency for _ in range(config.l1_banks)]
        self.responses: deque[Request] = deque()
        self.pending: Counter[tuple[int, int]] = Counter()  # accesses under way by (warp, register)
        self.bypassed: Request | None = None
        self.writing: Op | None = None
        self.turn = 0

    def cycle(self) -> None:
        """Cycle in this order: entries under way advance before the dispatch register is served."""
        self._write_back()
        for stage in range(len(self.stages) - 1):
            if self.stages[stage] is None:
                self.stages[stage], self.stages[stage + 1] = self.stages[stage + 1], None
        self._take_response()
        self.l1.cycle(lambda: self.sm.gpu.may_send(self.sm.number), self._send)
        self.texture.cycle(self.sm.gpu.may_send(self.sm.number), self._ask)
        for queue in self.queues:
            self._advance(queue)
        self.texture_unit.cycle(self.sm.gpu.now, self._put)
        if self.dispatch is not None and self._access(self.dispatch):
            self._leave(self.dispatch)

    def take(self, ready: Registers) -> None:
        """The oldest ready memory instruction enters the empty dispatch register."""
        op = ready.oldest("MEM")
        if self.dispatch is not None or op is None:
            return
        ready.slots["MEM"][ready.slots["MEM"].index(op)] = None
        self.dispatch = op
        if op.instruction.is_load and op.instruction.space != "shared":
            for register in op.instruction.written:
                self.pending[op.warp, register] += len(op.accesses) + (op.texels > 0)

    def ask_unit(self, op: Op) -> None:
        """The requests of an instruction of the texture unit."""
        op.requests = requests(op, self.config.texture)
        op.accesses = [access for request in op.requests for access in request]
        op.texels = len(op.accesses)

    def _put(self, op: Op, access: Access) -> bool:
        """Whether an access could enter its bank."""
        queue = self.queues[access.address // self.config.bank_bytes % self.config.l1_banks]
        if queue[-1] is not None:
            return False
        queue[-1] = self._request(op, access)
        return True

    def _write_back(self) -> None:
        """The held result is written if its bank is free; then the next client in turn may hand in one."""
        if self.writing is not None and self.sm.collector.write(self.writing):
            self._written(self.writing)
            self.writing = None
        if self.writing is None:
            self._choose_result()

    def _choose_result(self) -> None:
        first = self.turn
        for step in range(len(CLIENTS)):
            client = (first + step) % len(CLIENTS)
            op = self._result_of(CLIENTS[client])
            if op is not None:
                self.writing, self.turn = op, (client + 1) % len(CLIENTS)
                return

    def _written(self, op: Op) -> None:
        self._copied(op)
        self.texture_unit.texel(op, self.sm.gpu.now)
        is_complete = False
        for register in op.instruction.written:
            key = (op.warp, register)
            if op.instruction.space != "shared":
                self.pending[key] -= 1
                if self.pending[key]:
                    continue
                del self.pending[key]
            self.sm.scoreboard.release(op.warp, (register,), by_load=True)
            is_complete = True
        if is_complete:
            self.sm.complete(op)

    def _copied(self, op: Op) -> None:
        """A part of a copy is done."""
        if op.instruction.is_copy:
            op.under_way -= 1
            if not op.under_way:
                self.sm.warps[op.warp].copy_done(op)

    def _result_of(self, client: str) -> Op | None:
        """The next result of a client, taken from it."""
        warps = self.sm.warps
        if client == "shared" and self.stages[0] is not None:
            op, self.stages[0] = self.stages[0], None
            if op.instruction.is_atomic:
                warps[op.warp].atomics -= op.lanes
            warps[op.warp].under_way -= 1
            return op
        if client == "texture" and self.texture.results:
            return self.texture.results.popleft()
        if client == "texture":
            return self.texture_unit.result(self.sm.gpu.now)
        if client == "bypass" and self.bypassed is not None:
            request, self.bypassed = self.bypassed, None
            if request.is_atomic:
                warps[request.op.warp].atomics -= request.lanes.bit_count()
            return request.op
        if client == "l1" and self.l1.mshrs.ready:
            op = self.l1.mshrs.next_ready().op
            if op is None:  # the fetch of a write
                self.turn = 0
            return op
        return None

    def _take_response(self) -> None:
        """One answer: an acknowledged store, a bypassing load, or a fill of the L1."""
        if not self.responses:
            return
        request = self.responses[0]
        if request.line is not None:
            request.line.missing -= 1
        elif request.first is not None:
            request.first.left -= 1
            if not request.first.left:
                self.l1.fill(request.first)
        elif request.is_write:
            self.sm.warps[request.op.warp].stores -= 1
        elif request.op is None or not self._bypasses(request.op):
            self.l1.fill(request)
        elif self.bypassed is None:
            self.bypassed = request
        else:
            return
        self.responses.popleft()

    def _ask(self, address: int, line: Line) -> None:
        """For a sector of a line of the texture cache."""
        place = self.sm.gpu.mapping.place(address)
        request = Request(address, (1 << 32) - 1 << address % 128, False, self.sm.number, line.op, place)
        request.line = line
        self._send(request)

    def _send(self, request: Request) -> None:
        self.sm.gpu.send(request)

    def _advance(self, queue: list[Request | None]) -> None:
        """The access at the end of a bank's latency looks up its tag; the others move up."""
        request = queue[0]
        if request is not None:
            outcome = self.l1.access(request, self.sm.gpu.now)
            if outcome != FAIL:
                queue[0] = None
            if request.is_write and outcome != FAIL and self.l1.keeps(request, outcome):
                self.sm.warps[request.op.warp].stores -= 1
            if outcome == HIT and request.op.instruction.is_load:
                self._hit(request.op)
        for stage in range(len(queue) - 1):
            if queue[stage] is None:
                queue[stage], queue[stage + 1] = queue[stage + 1], None

    def _hit(self, op: Op) -> None:
        """A hit does not pass through write-back."""
        self._copied(op)
        self.texture_unit.texel(op, self.sm.gpu.now)
        for register in op.instruction.written:
            key = (op.warp, register)
            self.pending[key] -= 1
            if not self.pending[key]:
                del self.pending[key]
                self.sm.scoreboard.release(op.warp, (register,), by_load=True)
                self.sm.complete(op)

    def _access(self, op: Op) -> bool:
        """Serve the dispatch register; whether all its accesses are on their way."""
        instruction = op.instruction
        if instruction.space == "shared":
            if op.mask:
                op.countdown = max(0, op.countdown - 1)
            return not op.mask or op.countdown == 0
        if not op.accesses:
            return True
        if op.has_colours and not self.rop.take(self.sm.gpu.now, sum(a.bytes.bit_count() for a in op.accesses)):
            return False
        op.has_colours = False
        if instruction.space == "texture" and self.config.texture.is_unit:
            return self.texture_unit.enter(op)
        if instruction.space == "texture":
            if self.texture.access(op, op.accesses[-1]):
                op.accesses.pop()
            return not op.accesses
        if self._bypasses(op):
            if self.sm.gpu.may_send(self.sm.number):
                self._send(self._request(op, op.accesses.pop()))
                if instruction.is_store:
                    self.sm.warps[op.warp].stores += 1
        else:
            self._to_l1(op)
        return not op.accesses

    def _bypasses(self, op: Op) -> bool:
        instruction = op.instruction
        skips = self.config.skip_local if instruction.space == "local" else self.config.skip_l1
        return instruction.bypasses or (skips and instruction.space in ("global", "local"))

    def _to_l1(self, op: Op) -> None:
        """Up to one access per bank, highest address first; the first busy bank ends the cycle."""
        for _ in range(self.config.l1_banks):
            if not op.accesses:
                return
            self.sm.gpu.mapping.place(op.accesses[-1].address)  # decoded, even where the bank is taken
            queue = self.queues[op.accesses[-1].address // self.config.bank_bytes % self.config.l1_banks]
            if queue[-1] is not None:
                return
            queue[-1] = self._request(op, op.accesses.pop())
            if op.instruction.is_store:
                self.sm.warps[op.warp].stores += 1

    def _request(self, op: Op, access: Access) -> Request:
        place = self.sm.gpu.mapping.place(access.address)
        request = Request(access.address, access.bytes, op.instruction.is_store, self.sm.number, op, place)
        request.lanes = access.lanes
        return request

    def _leave(self, op: Op) -> None:
        """Shared loads enter their pipeline; stores are complete; loads wait for their accesses."""
        instruction, warp = op.instruction, self.sm.warps[op.warp]
        if instruction.is_load and instruction.space == "shared":
            if self.stages[-1] is None:
                self.stages[-1], self.dispatch = op, None
            return
        self.dispatch = None
        warp.under_way -= 1
        if instruction.is_load:
            keys = [(op.warp, register) for register in instruction.written]
            if any(self.pending[key] for key in keys):
                return
            for key in keys:
                del self.pending[key]
            self.sm.scoreboard.release(op.warp, instruction.written)
        self.sm.complete(op)
