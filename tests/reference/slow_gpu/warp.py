"""Warp slots, the scoreboard and the CTA barrier of an SM."""

from collections.abc import Iterator
from copy import copy
from typing import Self

from .program import Executed


class Op:
    """An instruction between its fetch and its write-back."""

    def __init__(self, executed: Executed, warp: int) -> None:
        self.instruction = executed.instruction
        self.mask = executed.mask
        self.addresses = executed.addresses
        self.warp = warp
        self.scheduler = -1
        self.number = -1  # order of issue, over all SMs
        self.countdown = self.instruction.initiation
        self.accesses: list = []
        self.requests: list = []  # of the texture unit
        self.has_colours = False  # that the raster units have still to take
        self.texels = 0  # sectors that the texture unit waits for
        self.under_way = 0  # of a copy: accesses that are not done

    @property
    def lanes(self) -> int:
        return self.mask.bit_count()

    def parts(self, count: int) -> list[Self]:
        """The same with the addresses of each part of the warp alone; lanes that are left over are in none."""
        found = [copy(self) for _ in range(count)]
        for number, part in enumerate(found):
            part.addresses = {lane: at for lane, at in self.addresses.items() if lane // (32 // count) == number}
        return found


class Warp:
    """Hardware warp: fetched instructions, instructions under way, and waiting."""

    def __init__(self, slot: int) -> None:
        self.slot = slot
        self.code: list[Executed] = []
        self.next_pc = 0
        self.buffer: list[Op | None] = [None, None]
        self.next = 0
        self.live_lanes = 0
        self.exited = True  # its threads have been given back
        self.under_way = 0  # decoded, not yet written back
        self.stores = 0  # sent, not yet acknowledged
        self.atomics = 0  # lanes of atomics not yet answered
        self.fence = False
        self.waits_for_line = False  # of the instruction cache
        self.groups: list[set[Op]] = [set()]  # copies under way; the last group is still open
        self.awaited: set[Op] = set()
        self.cta = -1
        self.age = -1
        self.finished_at = -1

    def start(self, code: list[Executed], lanes: int, cta: int, age: int) -> None:
        """A new warp of the trace takes the slot."""
        self.code, self.next_pc, self.live_lanes, self.cta, self.age = code, 0, lanes, cta, age
        self.exited, self.fence, self.atomics, self.next = False, False, 0, 0
        self.groups = [set()]
        assert not self.under_way
        assert not self.stores

    def copy_done(self, op: Op) -> None:
        """The last data of a copy was written."""
        for copies in (*self.groups, self.awaited):
            copies.discard(op)

    @property
    def done(self) -> bool:
        """Every lane has executed EXIT."""
        return self.live_lanes == 0

    @property
    def buffer_empty(self) -> bool:
        return self.buffer[0] is None and self.buffer[1] is None

    def fill(self) -> None:
        """Decode: up to two instructions into the buffer."""
        self.next = 0
        for place in range(2):
            if self.next_pc < len(self.code):
                self.buffer[place] = Op(self.code[self.next_pc], self.slot)
                self.next_pc += 1
                self.under_way += 1

    def take(self) -> Op:
        """Issue: the next instruction leaves the buffer."""
        op = self.buffer[self.next]
        assert op is not None
        self.buffer[self.next] = None
        self.next ^= 1
        return op


class Scoreboard:
    """Registers with a result under way, by warp."""

    def __init__(self, warps: int) -> None:
        self.reserved: list[set[int]] = [set() for _ in range(warps)]
        self.by_memory: list[set[int]] = [set() for _ in range(warps)]

    def collides(self, op: Op) -> bool:
        """Read after write, or write after write."""
        reserved = self.reserved[op.warp]
        return bool(reserved) and not reserved.isdisjoint(op.instruction.written + op.instruction.read)

    def reserve(self, op: Op) -> None:
        self.reserved[op.warp].update(op.instruction.written)
        if op.instruction.is_load and op.instruction.space not in ("", "shared"):
            self.by_memory[op.warp].update(op.instruction.written)

    def waits_for_memory(self, op: Op | None) -> bool:
        """The instruction reads a register whose last writer is a load from memory, done or not."""
        return op is not None and not self.by_memory[op.warp].isdisjoint(op.instruction.read)

    def release(self, warp: int, registers: tuple[int, ...], by_load: bool = False) -> None:
        """A load's data leaves the mark of a long operation, even for the slot's next warp."""
        self.reserved[warp].difference_update(registers)
        if not by_load:
            self.by_memory[warp].difference_update(registers)


class Barrier:
    """BAR.SYNC: every live warp of a CTA has to come."""

    def __init__(self) -> None:
        self.members: dict[int, set[int]] = {}
        self.live: set[int] = set()
        self.arrived: set[int] = set()

    def open(self, cta: int, warps: Iterator[int]) -> None:
        self.members[cta] = set(warps)
        self.live |= self.members[cta]

    def close(self, cta: int) -> None:
        del self.members[cta]

    def arrive(self, cta: int, warp: int) -> None:
        self.arrived.add(warp)
        self._open_gate(cta)

    def leave(self, cta: int, warp: int) -> None:
        """A warp has executed its last EXIT: the others do not wait for it."""
        self.live.discard(warp)
        self._open_gate(cta)

    def _open_gate(self, cta: int) -> None:
        members = self.members[cta]
        if members & self.arrived == members & self.live:
            self.arrived -= members
