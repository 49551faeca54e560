"""Arithmetic units: a dispatch register that is held for the initiation interval, then a pipeline."""

from .collector import Registers
from .warp import Op


class Unit:
    """One unit of one sub-core."""

    def __init__(self, name: str, scheduler: int, depth: int, sub_cores: bool = True) -> None:
        self.name, self.scheduler, self.sub_cores = name, scheduler, sub_cores
        self.dispatch: Op | None = None
        self.stages: list[Op | None] = [None] * depth
        self.occupied = 0  # bit k: an instruction of latency k may not start
        self.in_stages = 0

    def cycle(self, finished: list[Op]) -> None:
        """The last stage goes to write-back, the others move on, the dispatch register counts down."""
        if self.in_stages:
            if self.stages[0] is not None:
                finished.append(self.stages[0])
                self.in_stages -= 1
            self.stages = [*self.stages[1:], None]
        op = self.dispatch
        if op is not None:
            op.countdown -= 1
            if op.countdown <= 0:
                start = op.instruction.latency - op.instruction.initiation
                assert self.stages[start] is None
                self.stages[start], self.dispatch = op, None
                self.in_stages += 1
        self.occupied >>= 1

    def take(self, ready: Registers, buses: "ResultBuses") -> None:
        """A ready instruction enters the empty dispatch register if it can have a result bus."""
        slots = ready.slots[self.name]
        op = slots[self.scheduler] if self.sub_cores else ready.oldest(self.name)
        if op is None or self.dispatch is not None or self.occupied >> op.instruction.latency & 1:
            return
        if buses.reserve(op.instruction.latency):
            self.dispatch, slots[slots.index(op)] = op, None
            self.occupied |= 1 << op.instruction.latency


class ResultBuses:
    """Each can take one result in a cycle."""

    def __init__(self, count: int) -> None:
        self.taken = [0] * count

    def cycle(self) -> None:
        self.taken = [bits >> 1 for bits in self.taken]

    def reserve(self, latency: int) -> bool:
        for number, bits in enumerate(self.taken):
            if not bits >> latency & 1:
                self.taken[number] |= 1 << latency
                return True
        return False
