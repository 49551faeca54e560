"""The RT unit of an SM, ``rt_unit_slow``, behind its SM's L1, a private cache, or none."""

from collections import deque
from types import SimpleNamespace
from typing import TYPE_CHECKING

from tests.reference import rt_unit_slow
from tests.reference.rt_unit_slow_parts import FAIL, HIT, MISS, Warp

from .. import cache
from ..cache import Cache
from ..request import Request
from .program import Ray

if TYPE_CHECKING:
    from .sm import Sm

STATUS = {cache.HIT: HIT, cache.FAIL: FAIL}
ALL_BYTES = (1 << 32) - 1
TABLES, TABLE_BYTES, WARPS_OF_AN_SM = 1 << 47, 1 << 19, 256  # intersection tables: first address, of a warp


class RtOp:
    """Originator of an RT core's request. ``waiter``: (core, warp, address of the record, chunk) of a read."""

    instruction = SimpleNamespace(is_atomic=False)

    def __init__(self, core: int, warp: int) -> None:
        self.core, self.warp = core, warp
        self.waiter: tuple[int, int, int, int] | None = None


class Log(rt_unit_slow.Log):
    """As the unit's own; a completed warp goes on."""

    def __init__(self, sm: "Sm") -> None:
        super().__init__()
        self.sm = sm

    def done(self, warp: Warp, now: int) -> None:
        super().done(warp, now)
        self.sm.rays_done(warp.number)


class Memory:
    """Memory behind a core: target of its reads and stores."""

    def __init__(self, sm: "Sm", core: int) -> None:
        self.sm, self.core, self.where = sm, core, sm.config.rt.cache
        self.unit: rt_unit_slow.Unit | None = None
        self.private = Cache(sm.config.rt.private, lambda address: address)
        self.asked: RtOp | None = None

    def read(self, now: int, sector: int) -> int:
        """HIT, FAIL, or MISS where a response will come."""
        assert self.unit
        self.asked = RtOp(self.core, -1)
        request = self._request(32 * sector, False, self.asked)
        if self.where == "none":
            return MISS if self._send(request) else FAIL
        used = self.private if self.where == "private" else self.sm.ldst.l1
        return STATUS.get(used.access(request, now), MISS)

    def wait(self, now: int, sector: int, waiter: tuple[int, int, int, int]) -> None:
        """Who asked last."""
        assert self.asked
        self.asked.waiter = (self.core, *waiter[1:])

    def write(self, now: int, warp: int) -> int:
        """The oldest store of the unit; past all caches without one."""
        assert self.unit
        request = self._request(self.unit.stores[0][1], True, RtOp(self.core, warp))
        if self.where == "none":
            return MISS if self._send(request) else FAIL
        status = STATUS.get(self.sm.ldst.l1.access(request, now), MISS)
        if status != FAIL:
            self.unit.log.count["write_hits" if status == HIT else "write_misses"] += 1
        return status

    def send_missing(self) -> None:
        """The private cache sends one request."""
        gpu = self.sm.gpu
        self.private.cycle(lambda: gpu.requests.may_push(self.sm.number), self._send)

    def _send(self, request: Request) -> bool:
        requests = self.sm.gpu.requests
        if not requests.may_push(self.sm.number):
            return False
        self.sm.gpu.count("port.requests", 1)
        requests.push(self.sm.number, request.place.slice, request)
        return True

    def _request(self, address: int, is_write: bool, op: RtOp) -> Request:
        sector = address // 32 * 32
        mask = ALL_BYTES << sector % 128
        return Request(sector, mask, is_write, self.sm.number, op, self.sm.gpu.mapping.place(sector))


class RtUnit:
    """The RT cores of an SM, and the warps that wait for a place."""

    def __init__(self, sm: "Sm") -> None:
        self.sm, self.options, self.log = sm, sm.config.rt.options, Log(sm)
        first = sm.number * self.options.cores
        self.units = [rt_unit_slow.Unit(self.options, first + core, self.log) for core in range(self.options.cores)]
        self.memory = [Memory(sm, core) for core in range(self.options.cores)]
        for memory, unit in zip(self.memory, self.units, strict=True):
            memory.unit = unit
        self.waiting: deque[tuple[int, Warp]] = deque()
        self.operations = 0

    def enter(self, warp: int, rays: dict[int, Ray]) -> None:
        """The rays of a warp wait for a place, from the next cycle on."""
        table = TABLES + (self.sm.number * WARPS_OF_AN_SM + warp) * TABLE_BYTES
        lanes = {lane: ray.lane(table) for lane, ray in rays.items()}
        self.waiting.append((self.sm.gpu.now + 1, Warp(warp, self.operations, lanes)))
        self.operations += 1

    def begin(self) -> None:
        """Before the responses of a cycle: delays end, and the warp that waits longest takes a free place."""
        now = self.sm.gpu.now
        for unit in self.units:
            unit.tick_delays()
            if self.waiting and self.waiting[0][0] <= now and len(unit.warps) < self.options.warps:
                rt_unit_slow.accept(unit, self.waiting.popleft()[1], now)
            unit.serve_late_hits(now)

    def respond(self, sector: int, waiters: list) -> None:
        """A sector has come for its waiters; below 0: the acknowledgement of a store of a warp."""
        rt_unit_slow.respond(self.units, self.options, self.log, self.sm.gpu.now, sector, waiters)

    def receive(self, request: Request) -> None:
        """A response to a request of a core, unless the L1 waits for it."""
        op, sector = request.op, request.address // 32
        if request.is_write:
            self.respond(-1, [op.warp])
        elif self.memory[op.core].where == "none":
            self.respond(sector, [op.waiter])
        else:
            mshrs = self.memory[op.core].private.mshrs
            self.memory[op.core].private.fill(request)
            self.respond(sector, [mshrs.next_ready().op.waiter for _ in list(mshrs.waiting[request.address])])

    def cycle(self) -> None:
        """Each core sends at most one request, and completes at most one warp."""
        now = self.sm.gpu.now
        for unit, memory in zip(self.units, self.memory, strict=True):
            memory.send_missing()
            self.log.count["busy_cycles"] += bool(unit.warps)
            chosen = unit.choose()
            unit.watch(chosen)
            unit.send(chosen, now, memory)
            unit.complete(now)
