"""The whole GPU of the model ``characterised``: kernels of several streams side by side, CTAs, counters."""

from collections import Counter
from dataclasses import dataclass

from ..cache import FAIL, HIT, HIT_RESERVED, MISS, SECTOR_MISS
from ..gpu import Gpu as SlowGpu
from ..gpu import l1_ways
from .config import CharacterisedConfig
from .program import Kernel
from .sm import Sm

COUNTED = {HIT: "hits", HIT_RESERVED: "pending_hits", MISS: "line_misses", SECTOR_MISS: "sector_misses", FAIL: "fails"}
MOST_CYCLES = 1_000_000  # of a trace
DRAM = {"reads": "reads", "writes": "writes", "activates": "activates", "bus_clocks": "data_ticks",
        "active_clocks": "active_ticks"}  # fmt: skip


@dataclass
class Resident:
    """A launched kernel: its next CTA, the running CTAs, and the most that an SM takes."""

    kernel: Kernel
    started: int
    opens: int
    places: int
    next: int = 0
    running: int = 0

    def is_over(self, now: int) -> bool:
        """Whether all its CTAs retired before a cycle."""
        return self.next == len(self.kernel.ctas) and not self.running and self.opens <= now


class Gpu(SlowGpu):
    """Runs the kernels of a trace. ``spans``: first cycle and first cycle after it, by kernel."""

    def __init__(self, config: CharacterisedConfig) -> None:
        super().__init__(config)
        self.config: CharacterisedConfig = config
        self.sms = [Sm(number, config, self) for number in range(config.sms)]
        self.clusters = [[sm] for sm in self.sms]
        self.last_sm = config.sms - 1
        self.places: list[Resident | None] = [None]
        self.last_kernel = 0
        self.spans: dict[int, tuple[int, int]] = {}
        self.added: list[Counter[str]] = []  # what happened until the GPU was empty again

    def run_all(self, kernels: list[Kernel]) -> None:
        """Tick until the last kernel ends."""
        waiting, looked_at = list(kernels), []
        self.places = [None] * min(self.config.kernels, len({kernel.stream for kernel in kernels}))
        before = self.totals()
        while waiting or looked_at:
            while waiting and len(looked_at) < self.config.kernels:
                looked_at.append(waiting.pop(0))
            for kernel in looked_at:
                if (
                    kernel.stream not in {one.kernel.stream for one in self._resident}
                    and kernel.number not in self.spans
                ):
                    self._launch(kernel)
            over = [one for one in self._resident if one.is_over(self.now)]
            for one in over:
                self.spans[one.kernel.number] = (one.started, self.now)
                self.places[self.places.index(one)] = None
                looked_at.remove(one.kernel)
            if over and not self._resident:
                total = self.totals()
                self.added.append(Counter(total) - Counter(before))
                before = total
            if not over:
                self._tick()
            assert self.now < MOST_CYCLES, "the twin is stuck"
        self._drain(before)

    def _drain(self, before: dict[str, int]) -> None:
        """Count the last kernels' requests still under way as theirs; DRAM counts end with the kernels."""
        while self.counts["port.requests"] > self.counts["port.responses"] or not all(
            sm.ldst.is_idle for sm in self.sms
        ):
            self._tick()
        late = Counter(self.totals()) - Counter(before)
        self.added[-1].update({name: count for name, count in late.items() if not name.startswith("dram.")})

    @property
    def _resident(self) -> list[Resident]:
        return [one for one in self.places if one is not None]

    def _launch(self, kernel: Kernel) -> None:
        """The kernel hands out its first CTA launch_cycles later. Alone it also chooses the ways of the L1."""
        config, is_alone = self.config, len(self.places) == 1
        places = self._even_share(kernel) if config.kernels == 1 else config.ctas
        if is_alone or not self.spans:
            ways = l1_ways(config, kernel.shared_bytes * places)
            for sm in self.sms:
                tags = sm.ldst.l1.tags
                if ways != tags.ways:
                    tags.lines.clear()
                tags.ways = ways
        for address, count in kernel.copies:
            self.copy(address, count)
        self.places[self.places.index(None)] = Resident(kernel, self.now, self.now + config.launch_cycles, places)
        self.spans[kernel.number] = (self.now, self.now)

    def _even_share(self, kernel: Kernel) -> int:
        """CTAs of a kernel that an SM takes where kernels run one by one."""
        config = self.config
        fit = [config.warps // kernel.warps, config.ctas, -(-kernel.grid // config.sms)]
        if kernel.shared_bytes:
            fit.append(config.shared_bytes // kernel.shared_bytes)
        if kernel.registers:
            fit.append(config.registers // registers(kernel))
        return min(fit)

    def _run_sms(self) -> None:
        for sm in self.sms:
            sm.cycle()

    def _dispatch(self) -> None:
        """One CTA per SM and cycle, in turn from the SM after the last that got one, of the kernel whose turn it is."""
        cycle, last = self.now - 1, self.last_sm
        for step in range(len(self.sms)):
            sm = self.sms[(last + 1 + step) % len(self.sms)]
            chosen = self._choose(cycle)
            if chosen is not None and self._has_room(sm, chosen):
                sm.start_cta(chosen.kernel, chosen.kernel.ctas[chosen.next], chosen.places)
                chosen.next += 1
                chosen.running += 1
                self.last_sm = sm.number

    def _choose(self, cycle: int) -> Resident | None:
        """The last kernel while it has CTAs left, else the next in turn."""
        for step in range(len(self.places)):
            number = (self.last_kernel + step) % len(self.places)
            one = self.places[number]
            if one is not None and one.next < len(one.kernel.ctas) and one.opens <= cycle:
                self.last_kernel = number
                return one
        return None

    def _has_room(self, sm: Sm, one: Resident) -> bool:
        """Whether an SM takes one more CTA of a kernel: places, warp slots, registers, shared memory."""
        held = [cta.kernel for cta in sm.ctas] + [one.kernel]
        return (
            len(sm.ctas) < one.places
            and sm.find_slots(one.kernel) is not None
            and sum(registers(kernel) for kernel in held) <= self.config.registers
            and sum(kernel.shared_bytes for kernel in held) <= self.config.shared_bytes
        )

    def _deliver(self, number: int) -> None:
        """A response comes out of the crossbar: the RT unit has its own at once, all else waits for the LSU."""
        sm, waiting = self.sms[number], self.ejected[number]
        sm.ldst.responses.extend(waiting)
        waiting.clear()
        request = self.replies.pop(sm.number)
        if request is not None:
            self.count("port.responses", 1)
            (sm.arrived if sm.leads(request) else waiting).append(request)

    def cta_done(self, kernel: Kernel) -> None:
        """The last warp of a CTA has retired."""
        next(one for one in self._resident if one.kernel is kernel).running -= 1

    def totals(self) -> dict[str, int]:
        """All counters since the start, named as the engine's: unit, then counter."""
        found = Counter(self.counts)
        for level, caches in (("l1d", [sm.ldst.l1 for sm in self.sms]), ("l2", [part.cache for part in self.slices])):
            for cache in caches:
                for (way, status), count in cache.counts.items():
                    found[f"{level}.{way}_{COUNTED[status]}"] += count
        for sm in self.sms:
            for name, count in sm.rt.log.count.items():
                found[f"rt_unit.{name}"] += count
        for name, theirs in DRAM.items():
            found[f"dram.{theirs}"] = sum(getattr(partition.dram, name) for partition in self.partitions)
        return dict(found)


def registers(kernel: Kernel) -> int:
    """32-bit registers of a CTA: given out in fours for each thread."""
    return -(-kernel.registers // 4) * 4 * 32 * kernel.warps
