"""A memory partition: slices of the L2 before a DRAM channel (docs/sources/accel-sim.md#l2, #dram)."""

from collections import deque

from .address import Mapping
from .cache import FAIL, HIT, Cache
from .config import GpuConfig
from .crossbar import Network
from .dram import Dram
from .request import Request

POPPED_AT_ONCE = 4  # most sectors of a request


class Slice:
    """A slice of the L2 with its queues."""

    def __init__(self, number: int, config: GpuConfig, mapping: Mapping) -> None:
        self.number, self.config = number, config
        self.cache = Cache(config.l2, mapping.within_slice)
        self.rop: deque[Request] = deque()
        self.to_l2: deque[Request] = deque()
        self.to_dram: deque[Request] = deque()
        self.from_dram: deque[Request] = deque()
        self.to_crossbar: deque[Request] = deque()
        self.warmed = 0  # copied sectors so far: they advance the clock of the LRU

    def reply(self, replies: Network) -> None:
        """The first answer goes into the crossbar."""
        if self.to_crossbar and replies.may_push(self.number):
            request = self.to_crossbar.popleft()
            replies.push(self.number, request.sm // self.config.cluster, request)

    def take(self, requests: Network, now: int) -> None:
        """A request comes out of the crossbar and waits for the ROP's latency."""
        if len(self.to_l2) + POPPED_AT_ONCE - 1 >= self.config.slice_input:
            return
        request = requests.pop(self.number)
        if request is not None:
            for part in self._sectors(request):
                part.ready = now + self.config.rop_latency
                self.rop.append(part)

    def _sectors(self, request: Request) -> list[Request]:
        """The request, or where it is for a line, or writes an L1's line back, one for each sector."""
        parts = []
        for number in range(4) if request.missing is not None else request.sectors:
            address, place = request.address + 32 * number, request.place.elsewhere(request.address + 32 * number)
            written = request.byte_mask & ((1 << 32) - 1) << 32 * number
            op = request.op if request.first is not None else None
            parts.append(Request(address, written, request.is_write, request.sm, op, place))
            parts[-1].missing, parts[-1].first = request.missing, request.first
        if not parts:
            return [request]
        return parts

    def cycle(self, now: int) -> None:
        """Filled requests answer; DRAM fills; misses go to DRAM; one request accesses; one leaves the ROP."""
        config, cache = self.config, self.cache
        may_reply = len(self.to_crossbar) < config.slice_replies
        if cache.mshrs.ready and may_reply:
            request = cache.mshrs.next_ready()
            if request.sm < 0 and request.parked is not None:
                self.to_crossbar.append(request.parked)
            elif request.sm >= 0:  # else the fetch of a write
                self.to_crossbar.append(request)
        if self.from_dram and cache.waits_for(self.from_dram[0]):
            cache.fill(self.from_dram.popleft())
        elif self.from_dram and len(self.to_crossbar) < config.slice_replies:
            self.to_crossbar.append(self.from_dram.popleft())
        cache.cycle(lambda: len(self.to_dram) < config.slice_to_dram, self.to_dram.append)
        may_reply = len(self.to_crossbar) < config.slice_replies
        if self.to_l2 and len(self.to_dram) < config.slice_to_dram and may_reply and not cache.data_port_busy:
            self._access(now)
        if self.rop and now >= self.rop[0].ready and len(self.to_l2) < config.slice_input:
            self.to_l2.append(self.rop.popleft())

    def _access(self, now: int) -> None:
        """Hits and writes are answered at once."""
        request = self.to_l2[0]
        outcome = self.cache.access(request, now + self.warmed)
        if outcome == FAIL:
            return
        self.to_l2.popleft()
        if request.is_write and self.cache.goes_on(request, outcome):
            return
        if (outcome == HIT or request.is_write) and not request.is_write_back:
            self.to_crossbar.append(request)

    def warm(self, address: int, now: int) -> None:
        self.cache.tags.warm(address, now + self.warmed)
        self.warmed += 1


class Partition:
    """The slices of a channel share its DRAM by credits."""

    def __init__(self, number: int, config: GpuConfig, slices: list[Slice]) -> None:
        self.config, self.slices = config, slices
        self.dram = Dram(config.dram)
        self.delayed: deque[Request] = deque()
        self.last = len(slices) - 1
        self.own_credit = [0] * len(slices)
        self.shared_credit = 0
        self.shared_limit = config.dram.queue + config.dram.return_queue - (len(slices) - 1)

    def clock(self, now: int) -> None:
        """A command clock; ``now`` counts core cycles."""
        self._return()
        for request in self.dram.clock():
            self._give_credit(request)
        self._send(now)
        if self.delayed and now >= self.delayed[0].ready and not self.dram.is_full:
            self.dram.push(self.delayed.popleft())

    def _return(self) -> None:
        if not self.dram.answers:
            return
        target = self._local(self.dram.answers[0])
        if len(self.slices[target].from_dram) < self.config.slice_from_dram:
            request = self.dram.answers.popleft()
            self.slices[target].from_dram.append(request)
            self._give_credit(request)

    def _local(self, request: Request) -> int:
        return request.place.slice % len(self.slices)

    def _give_credit(self, request: Request) -> None:
        target = self._local(request)
        if self.own_credit[target] > 0:
            self.own_credit[target] -= 1
        else:
            self.shared_credit -= 1

    def _may_send(self, number: int) -> bool:
        has_credit = self.own_credit[number] < 1 or self.shared_credit < self.shared_limit
        return has_credit and len(self.slices[number].from_dram) < self.config.slice_from_dram

    def _send(self, now: int) -> None:
        """One request of one slice, in turn, starts on its way to the DRAM."""
        count = len(self.slices)
        for step in range(count):
            number = (step + self.last + 1) % count
            queue = self.slices[number].to_dram
            if not queue or not self._may_send(number):
                continue
            if self.dram.is_full:
                return
            request = queue.popleft()
            request.ready = now + self.config.dram_latency
            self.delayed.append(request)
            if self.own_credit[number] < 1:
                self.own_credit[number] += 1
            else:
                self.shared_credit += 1
            self.last = number
            return
