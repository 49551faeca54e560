"""The whole GPU: clock domains, the order of one cycle, CTA dispatch, kernels one after the other.

Source: docs/sources/accel-sim.md#execution-model, #clock-domains, #cta-dispatch.
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from .address import Mapping
from .cache import HIT, HIT_RESERVED, MISS, SECTOR_MISS
from .config import CacheConfig, GpuConfig
from .crossbar import Network
from .partition import Partition, Slice
from .program import Kernel
from .request import Request
from .sm import Sm
from .warp import Warp


@dataclass
class Result:
    """Cost of a kernel. ``retired``: (cycle, SM, warp slot) of every warp."""

    name: str
    cycles: int
    counts: dict[str, int]
    retired: list[tuple[int, int, int]]


class Clocks:
    """The next domains to tick. Times are seconds in floating point, added up, or exact microseconds."""

    def __init__(self, config: GpuConfig) -> None:
        core = config.core_mhz
        clocks = (core, config.crossbar_mhz or core, config.l2_mhz or core, config.dram_mhz)
        self.times: list[float | Fraction] = [0.0] * 4
        self.periods: list[float | Fraction] = [1 / (mhz * 1_000_000) for mhz in clocks]
        if not config.summed_clocks:
            self.times, self.periods = [Fraction(0)] * 4, [1 / Fraction(str(mhz)) for mhz in clocks]

    def next(self) -> list[bool]:
        """Whether core, crossbar, L2 and DRAM tick."""
        smallest = min(self.times)
        ticks = [time == smallest for time in self.times]
        self.times = [time + tick * period for time, tick, period in zip(self.times, ticks, self.periods, strict=True)]
        return ticks


class Gpu:
    """Runs kernels; L2, DRAM and the schedulers' turns live on between them."""

    def __init__(self, config: GpuConfig) -> None:
        self.config, self.mapping, self.clocks = config, Mapping(config), Clocks(config)
        slices = config.channels * config.slices_per_channel
        clusters = config.sms // config.cluster
        nodes = clusters + slices
        self.slices = [Slice(number, config, self.mapping) for number in range(slices)]
        each = config.slices_per_channel
        self.partitions = [
            Partition(n, config, self.slices[n * each : (n + 1) * each]) for n in range(config.channels)
        ]  # fmt: skip
        self.requests = Network(clusters, slices, 0, nodes, config)
        self.replies = Network(slices, clusters, clusters, nodes, config)
        self.ejected: list[list] = [[] for _ in range(clusters)]
        self.sms = [Sm(number, config, self) for number in range(config.sms)]
        self.now = 0  # core cycles since the start
        self.issued = self.opened = 0
        each = config.cluster
        self.clusters = [self.sms[first : first + each] for first in range(0, config.sms, each)]
        self.order = [list(cluster) for cluster in self.clusters]  # in which they run
        self.last_cluster, self.last_core = clusters - 1, [each - 1] * clusters
        self.counts: Counter[str] = Counter()
        self.kernel: Kernel | None = None
        self.next_cta = self.running = 0
        self.results: list[Result] = []
        self.retirements: list[tuple[int, int, int]] = []

    def copy(self, address: int, count: int) -> None:
        """A copy to the GPU makes sectors valid in the L2, with the address cut to 32 bits."""
        for offset in range(0, count, 32):
            where = (address + offset) & 0xFFFFFFFF
            self.slices[self.mapping.place(where).slice].warm(where, self.now)

    def run(self, kernel: Kernel, most_cycles: int | None = None) -> Result:
        """Until the last warp has been given back; ``TimeoutError`` after ``most_cycles``."""
        before, start = Counter(self.totals()), self.now
        self.kernel, self.next_cta, self.running, self.retirements = kernel, 0, 0, []
        self.opened = self.now
        self._configure(kernel)
        while self.next_cta < len(kernel.ctas) or self.running:
            self._tick()
            if most_cycles is not None and self.now - start > most_cycles:
                raise TimeoutError(kernel.name)
        spent = Counter(self.totals())
        spent.subtract(before)
        self.results.append(Result(kernel.name, self.now - start, dict(spent), self.retirements))
        return self.results[-1]

    def _tick(self) -> None:
        """One step of the clock domains."""
        core, crossbar, l2, dram = self.clocks.next()
        if core:
            for number in range(len(self.clusters)):
                self._deliver(number)
        if crossbar:
            for part in self.slices:
                part.reply(self.replies)
        if dram:
            for partition in self.partitions:
                partition.clock(self.now)
        if l2:
            for part in self.slices:
                part.take(self.requests, self.now)
                part.cycle(self.now)
        if crossbar:
            self.requests.advance()
            self.replies.advance()
        if core:
            self._run_sms()
            self.now += 1
            self._dispatch()
            for cluster in self.clusters:
                if not any(sm.live_warps for sm in cluster):
                    for sm in cluster:
                        sm.ldst.l1.tags.invalidate()
            if self.config.flush_l2 and not any(sm.live_warps for sm in self.sms):
                for part in self.slices[: self.config.channels]:
                    part.cache.tags.flush()

    def _run_sms(self) -> None:
        """Clusters with work, or all while CTAs are left; in each the SM that goes first changes every cycle."""
        more = self.next_cta < len(self.kernel.ctas)
        for order in self.order:
            if more or any(sm.live_warps for sm in order):
                for sm in order:
                    sm.cycle()
                if self.config.rotates:
                    order.append(order.pop(0))

    def may_send(self, sm: int) -> bool:
        number = sm // self.config.cluster
        if self.config.perfect:
            return len(self.ejected[number]) < self.config.cluster_fifo
        return self.requests.may_push(number)

    def send(self, request: Request) -> None:
        number = request.sm // self.config.cluster
        if self.config.perfect:
            self.ejected[number].append(request)
        else:
            self.requests.push(number, request.place.slice, request)

    def _deliver(self, number: int) -> None:
        """An answer goes from a cluster's FIFO to the LD/ST unit, and one from the crossbar into the FIFO."""
        waiting = self.ejected[number]
        if waiting and waiting[0].missing is not None:
            request = waiting.pop(0)
            self.sms[request.sm].instructions.fill(request.missing, self.now)
        elif waiting and len(self.sms[waiting[0].sm].ldst.responses) < self.config.response_fifo:
            request = waiting.pop(0)
            self.sms[request.sm].ldst.responses.append(request)
        if len(waiting) < self.config.cluster_fifo:
            request = self.replies.pop(number)
            if request is not None:
                waiting.append(request)

    def _dispatch(self) -> None:
        """One CTA per cluster and cycle, in turn from the one after the last that got one; its SMs likewise."""
        kernel = self.kernel
        assert kernel is not None
        last, each = self.last_cluster, self.config.cluster
        for step in range(len(self.clusters)):
            number = (last + 1 + step) % len(self.clusters)
            for place in range(each):
                core = (self.last_core[number] + 1 + place) % each
                sm = self.clusters[number][core]
                tests = kernel.tests, len(kernel.ctas)
                is_tested = sm.ldst.rop.is_tested(self.now, self.opened, *tests)
                if self.next_cta < len(kernel.ctas) and len(sm.ctas) < sm.residents and is_tested:
                    sm.ldst.rop.start(self.now, tests[0], self.next_cta, tests[1])
                    sm.start_cta(kernel, kernel.ctas[self.next_cta])
                    self.next_cta += 1
                    self.running += 1
                    self.last_cluster, self.last_core[number] = number, core
                    break

    def _configure(self, kernel: Kernel) -> None:
        """How many CTAs an SM takes, and how many ways that leaves to the L1."""
        config = self.config
        threads = -(-kernel.threads // 32) * 32
        fit = [config.warps * 32 // threads, config.ctas]
        if kernel.shared_bytes:
            fit.append(config.shared_bytes // kernel.shared_bytes)
        if kernel.registers:
            fit.append(config.registers // (threads * (-(-kernel.registers // 4) * 4)))
        residents = min(min(fit), -(-len(kernel.ctas) // config.sms))
        ways = l1_ways(config, kernel.shared_bytes * residents)
        for sm in self.sms:
            sm.residents, sm.ldst.l1.tags.ways = residents, ways

    def count(self, name: str, more: int) -> None:
        self.counts[name] += more

    def next_number(self) -> int:
        self.issued += 1
        return self.issued

    def retired(self, sm: Sm, warp: Warp) -> None:
        self.retirements.append((self.now, sm.number, warp.slot))

    def cta_done(self, sm: Sm) -> None:
        self.running -= 1

    def totals(self) -> dict[str, int]:
        """All counters since the start (reference D)."""
        found = dict(self.counts)
        for name, caches in (("l1", [sm.ldst.l1 for sm in self.sms]), ("l2", [part.cache for part in self.slices])):
            counts = sum((cache.counts for cache in caches), Counter())
            both = {
                status: counts["read", status] + counts["write", status]
                for status in (HIT, HIT_RESERVED, MISS, SECTOR_MISS)
            }
            found[f"{name}_accesses"] = sum(both.values())
            found[f"{name}_misses"] = both[MISS] + both[SECTOR_MISS]
            found[f"{name}_pending_hits"] = both[HIT_RESERVED]
        for name in self.sms[0].ldst.rop.counts:
            found[f"rop_{name}"] = sum(sm.ldst.rop.counts[name] for sm in self.sms)
        for name in ("hits", "misses", "fails"):
            found[f"l1i_{name}"] = sum(sm.instructions.counts[name] for sm in self.sms)
        for name in ("reads", "writes", "activates", "clocks", "active_clocks", "bus_clocks"):
            found[f"dram_{name}"] = sum(getattr(partition.dram, name) for partition in self.partitions)
        return found


def l1_ways(config: GpuConfig, shared: int) -> int:
    """The smallest shared memory that holds what the CTAs of an SM need leaves the rest to the L1."""
    cache: CacheConfig = config.l1
    if not config.unified_bytes:
        return cache.ways
    option = min((size for size in config.shared_options if shared <= size), default=max(config.shared_options))
    most = config.unified_bytes // (cache.sets * 128)
    return int(most * (1 - option / config.unified_bytes) + 0.5)
