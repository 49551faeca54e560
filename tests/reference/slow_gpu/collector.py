"""Operand collector: collector units, register banks and their arbiter.

Source: docs/sources/accel-sim.md#operand-collector.
"""

from collections import deque

from .warp import Op

SETS = ("SP", "SFU", "MEM", "TENSOR", "DP", "INT", "S1", "S2", "S3", "S4")


class CollectorUnit:
    """Holds one instruction until its operands have been read."""

    def __init__(self) -> None:
        self.op: Op | None = None
        self.unread = 0


class Registers:
    """One pipeline register per scheduler for each kind of unit."""

    def __init__(self, schedulers: int) -> None:
        self.slots: dict[str, list[Op | None]] = {name: [None] * schedulers for name in SETS}

    def oldest(self, name: str) -> Op | None:
        held = [op for op in self.slots[name] if op is not None]
        return min(held, key=lambda op: op.number) if held else None


class Collector:
    """Moves instructions from ``issued`` (ID_OC) through collector units to ``ready`` (OC_EX)."""

    def __init__(
        self, schedulers: int, units: int, ports: int, banks: int, owner: str = "scheduler", sub_cores: bool = True
    ) -> None:
        self.issued, self.ready = Registers(schedulers), Registers(schedulers)
        self.per_scheduler = units // schedulers
        self.units = [CollectorUnit() for _ in range(units)]
        self.is_pooled = owner == "sm"
        self.schedulers = schedulers
        self.sub_cores = sub_cores
        self.banks_each = banks // schedulers if sub_cores else banks
        self.queues: list[deque[CollectorUnit]] = [deque() for _ in range(banks)]
        self.written: set[int] = set()
        self.last_sent = [0] * ports

    def bank(self, register: int, op: Op) -> int:
        """Registers are numbered from 1 (R0); warps are skewed."""
        return (register + 1 + op.warp) % self.banks_each + self.banks_each * op.scheduler * self.sub_cores

    def write(self, op: Op) -> bool:
        """Take the write ports of the results; False where one is taken (earlier ones stay taken)."""
        for register in op.instruction.written:
            bank = self.bank(register, op)
            if bank in self.written:
                return False
            self.written.add(bank)
        return True

    def step(self) -> None:
        """Units with all operands leave, banks serve one read each, waiting instructions take units; banks are free."""
        if any(unit.op for unit in self.units):
            for port in range(len(self.last_sent)):
                self._dispatch(port)
            self._read()
        for _ in self.last_sent:
            if not self._allocate():
                break
        self.written.clear()

    def _dispatch(self, port: int) -> None:
        """The first complete unit whose pipeline register is empty sends its instruction.

        The search begins with the units of the scheduler after the one served last, and in each scheduler with its
        first unit: an instruction in the second may wait for long. Units of all schedulers are served in turn.
        """
        last = self.last_sent[port]
        begin = last + 1 if self.is_pooled else last - last % self.per_scheduler + self.per_scheduler
        for step in range(len(self.units)):
            number = (begin + step) % len(self.units)
            unit = self.units[number]
            if unit.op is None or unit.unread:
                continue
            place = self.ready.slots[unit.op.instruction.unit]
            free = self.free_slot(place, unit.op.scheduler)
            if free is not None:
                place[free], unit.op = unit.op, None
                self.last_sent[port] = number
                return

    def free_slot(self, slots: list[Op | None], scheduler: int) -> int | None:
        """The scheduler's own slot; without sub-cores the first free one."""
        mine = [scheduler] if self.sub_cores else range(len(slots))
        return next((number for number in mine if slots[number] is None), None)

    def _read(self) -> None:
        for bank, queue in enumerate(self.queues):
            if queue and bank not in self.written:
                queue.popleft().unread -= 1

    def _allocate(self) -> bool:
        """Of each kind the oldest instruction of all schedulers takes a unit; False when none did."""
        any_taken = False
        for name in SETS:
            op = self.issued.oldest(name)
            if op is None:
                continue
            first = op.scheduler * self.per_scheduler
            mine = self.units if self.is_pooled else self.units[first : first + self.per_scheduler]
            unit = next((u for u in mine if u.op is None), None)
            if unit is None:
                continue
            self.issued.slots[name][self.issued.slots[name].index(op)] = None
            wanted = dict.fromkeys(op.instruction.read)  # a register named twice is read once
            unit.op, unit.unread = op, len(wanted)
            for register in wanted:
                self.queues[self.bank(register, op)].append(unit)
            any_taken = True
        return any_taken
