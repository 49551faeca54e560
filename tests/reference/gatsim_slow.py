"""GATSim's Algorithm 1 as the paper writes it, with an occupancy vector counted down. Twin of ``replay.sm.gatsim``.

Everything is a list, a dict or a set; nothing is imported from the engine. One SM after the other runs its
threadblocks; ``l[p]`` is the number of cycles after which warp slot p is ready, ``None`` while a barrier holds it.
"""

from dataclasses import dataclass, field

from tests.reference.scheduler_slow import SlowScheduler


@dataclass(frozen=True)
class Instruction:
    """``unit`` is sfu, lsu or anything else; ``kind`` is load, store, barrier or plain."""

    unit: str
    stall: int
    initiation: int = 1
    kind: str = "plain"
    is_local: bool = False


@dataclass
class Warp:
    """Work of a warp: its blocks with their active threads, and by (visit, instruction in the block) its accesses.

    accesses  line numbers of a global access in ascending order, or ``("shared", cycles)``.
    rays      visit -> records of the longest lane of the trace operation that ends it.
    """

    visits: list[tuple[int, int]]
    accesses: dict[tuple[int, int], list[int] | tuple[str, int]] = field(default_factory=dict)
    rays: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Machine:
    """The GPU: counts, latencies, and the cache's sets and ways (0 sets: perfect)."""

    sms: int
    schedulers: int
    policy: str
    active_warps: int
    places: int
    warps_per_block: int
    load_store_units: int
    special_units: int
    trace_units: int
    hit: int
    miss: int
    shared: int
    record: int
    sets: int
    ways: int


@dataclass
class Running:
    """A warp in a slot: program counter (visit, instruction), threadblock, whether it waits at a barrier."""

    work: Warp
    block: int
    visit: int = 0
    instruction: int = 0
    barrier: int = 0  # latency of the barrier that holds it

    def ended(self) -> bool:
        return self.visit == len(self.work.visits)


class SlowSm:
    """One SM: its threadblocks in order, each a list of warps."""

    def __init__(self, machine: Machine, program: list[list[Instruction]], blocks: list[list[Warp]]) -> None:
        self.machine, self.program, self.blocks = machine, program, blocks
        self.slots: dict[int, Running] = {}
        self.l: dict[int, int | None] = {}
        self.schedulers = [SlowScheduler(machine.policy, machine.active_warps) for _ in range(machine.schedulers)]
        self.units: dict[str, list[int]] = {
            "lsu": [0] * machine.load_store_units, "sfu": [0] * machine.special_units, "rt": [0] * machine.trace_units,
        }  # fmt: skip
        self.tags: list[list[int]] = [[] for _ in range(machine.sets)]
        self.cycles = 0
        self.issued: list[tuple[int, int]] = []  # cycle and slot of every instruction

    def run(self) -> None:
        """Lines 4 to 27, all threadblocks of the SM, ``places`` of them at a time."""
        waiting = list(enumerate(self.blocks))
        while True:
            self.end_warps()
            for place in range(self.machine.places):
                slots = range(place * self.machine.warps_per_block, (place + 1) * self.machine.warps_per_block)
                if waiting and not any(slot in self.slots for slot in slots):
                    number, warps = waiting.pop(0)
                    for slot, warp in zip(slots, warps, strict=False):
                        if warp.visits:
                            self.slots[slot], self.l[slot] = Running(warp, number), 0
                            self.schedulers[slot % self.machine.schedulers].join(slot)
            if not self.slots:
                return
            assert self.cycles < 10**7, "the warps wait for each other"
            self.issue()
            self.cycles += 1
            self.l = {slot: None if left is None else max(left - 1, 0) for slot, left in self.l.items()}
            self.units = {kind: [max(left - 1, 0) for left in units] for kind, units in self.units.items()}

    def end_warps(self) -> None:
        """Warps that are past their last instruction and whose latency has passed, in order of their slots."""
        for slot in sorted(self.slots):
            if self.slots[slot].ended() and self.l[slot] == 0:
                block = self.slots.pop(slot).block
                del self.l[slot]
                self.schedulers[slot % self.machine.schedulers].leave(slot)
                self.open_barrier(block)

    def issue(self) -> None:
        """Lines 7 to 20, once for each scheduler."""
        for number, scheduler in enumerate(self.schedulers):
            ready = {
                slot for slot, left in self.l.items()
                if slot % self.machine.schedulers == number and left == 0 and not self.slots[slot].ended()
            }  # fmt: skip
            slot = scheduler.choose(ready, {slot for slot in ready if self.unit_is_free(slot)})
            if slot is not None:
                self.issued.append((self.cycles, slot))
                self.execute(slot)

    def unit_of(self, slot: int) -> str:
        """The unit that the slot's next instruction needs."""
        warp = self.slots[slot]
        block = self.program[warp.work.visits[warp.visit][0]]
        if warp.instruction + 1 == len(block) and warp.visit in warp.work.rays:
            return "rt"
        unit = block[warp.instruction].unit
        if unit == "lsu":
            return "lsu" if (warp.visit, warp.instruction) in warp.work.accesses else "regular"
        return "sfu" if unit == "sfu" else "regular"

    def unit_is_free(self, slot: int) -> bool:
        """FUFree()."""
        unit = self.unit_of(slot)
        return unit == "regular" or 0 in self.units[unit]

    def execute(self, slot: int) -> None:
        """Lines 9 to 20: set the slot's latency and move its program counter on."""
        warp, unit = self.slots[slot], self.unit_of(slot)
        block, threads = warp.work.visits[warp.visit]
        instruction = self.program[block][warp.instruction]
        latency = max(instruction.stall, 1)
        if unit != "regular":
            taken = max(self.special(warp, unit, instruction, threads), 1)
            self.units[unit][self.units[unit].index(0)] = taken
            latency = max(latency, taken)
            self.schedulers[slot % self.machine.schedulers].park(slot)
        self.l[slot] = latency
        warp.instruction += 1
        if warp.instruction == len(self.program[block]):
            warp.instruction, warp.visit = 0, warp.visit + 1
        if instruction.kind == "barrier":
            warp.barrier, self.l[slot] = latency, None
            self.schedulers[slot % self.machine.schedulers].park(slot)
            self.open_barrier(warp.block)

    def special(self, warp: Running, unit: str, instruction: Instruction, threads: int) -> int:
        """HandleSpecial()."""
        machine = self.machine
        if unit == "sfu":
            return -(-instruction.initiation * threads // 32)
        if unit == "rt":
            return machine.record * warp.work.rays[warp.visit]
        access = warp.work.accesses[warp.visit, warp.instruction]
        if isinstance(access, tuple):
            return machine.shared + access[1] - 1
        hits = [self.is_hit(line, instruction.kind == "load", instruction.is_local) for line in access]
        return sum(machine.hit if hit else machine.miss for hit in hits)

    def is_hit(self, line: int, is_load: bool, is_local: bool) -> bool:
        """GATSim II-E, 3: write-back without write-allocate for local lines, a write hit evicts a global one."""
        if not self.machine.sets:
            return True
        lines = self.tags[line % self.machine.sets]
        hit = line in lines
        if hit:
            lines.remove(line)
        if is_load or (hit and is_local):
            lines.append(line)
        if len(lines) > self.machine.ways:
            lines.pop(0)
        return hit

    def open_barrier(self, block: int) -> None:
        """Let a threadblock go on when all its warps that are not over wait."""
        mine = [slot for slot, warp in self.slots.items() if warp.block == block]
        if mine and all(self.slots[slot].barrier for slot in mine):
            for slot in mine:
                self.l[slot], self.slots[slot].barrier = self.slots[slot].barrier, 0


def run(machine: Machine, program: list[list[Instruction]], blocks: list[list[Warp]]) -> list[SlowSm]:
    """Algorithm 1: threadblock b runs on SM b modulo the SMs; the kernel takes the largest ``cycles``."""
    sms = [SlowSm(machine, program, blocks[first :: machine.sms]) for first in range(machine.sms)]
    for sm in sms:
        sm.run()
    return sms
