"""Traces of several kernels of plain instructions, whose cycles a slow twin of the dispatcher foretells."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.writer import TraceWriter

FULL = 0xFFFFFFFF
STALL = 7
SLOTS = 4  # warps an SM holds, as many as schedulers, so that no warp ever waits for another's issue


@dataclass(frozen=True)
class Kernel:
    """A launch whose CTAs make ``visits`` visits of ``STALL`` cycles, all warps of a CTA alike."""

    visits: tuple[int, ...]
    stream: int = 0
    warps: int = 1
    registers: int = 16
    shared_bytes: int = 0
    name: str = "plain"


def write_kernels(path: Path, kernels: list[Kernel], others: dict[str, dict[str, Any]] | None = None) -> Path:
    """A trace of these launches; each has one block of one instruction. others: further tables."""
    count, ids = len(kernels), np.arange(len(kernels))
    none = {"destination_registers": np.zeros(0, np.uint32), "destination_registers_offset": np.zeros(count + 1, int)}
    none |= {"source_registers": np.zeros(0, np.uint32), "source_registers_offset": np.zeros(count + 1, int)}
    ones, zeros = ids * 0 + 1, ids * 0
    tables: dict[str, dict[str, Any]] = {
        "kernels": {
            "kernel_id": ids, "name": [kernel.name for kernel in kernels],
            "stream": [kernel.stream for kernel in kernels], "grid_x": [len(kernel.visits) for kernel in kernels],
            "grid_y": ones, "grid_z": ones, "block_x": [32 * kernel.warps for kernel in kernels], "block_y": ones,
            "block_z": ones, "registers_per_thread": [kernel.registers for kernel in kernels],
            "shared_bytes": [kernel.shared_bytes for kernel in kernels], "shared_base": ones << 40,
            "local_base": ones << 41, "local_bytes": zeros, "source": ["ptx"] * count,
        },
        "instructions": none | {
            "kernel_id": ids, "instruction_id": ids, "block_id": ids, "opcode": ["int"] * count,
            "operation_class": ["int"] * count, "memory_space": ["none"] * count, "access_bytes": zeros, "line": ids,
            "text": ["int"] * count,
        },
        "blocks": {
            "kernel_id": ids, "block_id": ids, "first_instruction": ids, "instruction_count": ones,
            "reconvergence_block": zeros - 1, "program": ["plain"] * count,
        },
        "characterisation": {
            "instruction_id": ids, "unit": zeros, "stall_cycles": zeros + STALL, "initiation_cycles": ones,
            "scoreboard_slot": zeros - 1, "wait_mask": zeros,
        },
    }  # fmt: skip
    with TraceWriter(path, {"command": "test"}) as writer:
        for name, columns in (tables | (others or {})).items():
            writer.put(name, columns)
        first = 0
        for kernel, launch in enumerate(kernels):
            visits = np.repeat(np.array(launch.visits, np.int64), launch.warps)
            number = np.arange(len(visits))
            writer.put("warps", {
                "kernel_id": number * 0 + kernel, "warp_id": first + number, "cta_id": number // launch.warps,
                "warp_in_cta": number % launch.warps, "launched_mask": np.full(len(number), FULL),
            })  # fmt: skip
            warp = first + np.repeat(number, visits)
            writer.put(
                "visits", {"warp_id": warp, "block_id": warp * 0 + kernel, "active_mask": np.full(len(warp), FULL)}
            )
            first += len(number)
    return path


def with_tables(path: Path, out: Path, tables: dict[str, dict[str, Any]]) -> Path:
    """A copy of a trace with some tables more."""
    trace = open_trace(path)
    with TraceWriter(out, {"command": "test"}, trace.image_size) as writer:
        for name in trace.tables:
            writer.put(name, trace.read(name))
        for name, columns in tables.items():
            writer.put(name, columns)
    return out


def stages(covered: list[int], stage: str = "fragment") -> dict[str, dict[str, Any]]:
    """Kernels of a stage with these covered pixels; -1: another kernel."""
    of = [number for number, pixels in enumerate(covered) if pixels >= 0]
    zeros = {name: np.zeros(len(of), np.uint32) for name in ("draw", "triangles", "shaded", "live")}
    rows = {"kernel_id": np.array(of), "stage": [stage] * len(of), "draw_name": ["mesh"] * len(of)}
    return {"stages": rows | zeros | {"covered": np.array([covered[number] for number in of])}}


@dataclass
class Resident:
    """A kernel that has been launched: CTAs to hand out, and running ones."""

    kernel: Kernel
    number: int
    opens: int
    waiting: list[int]
    running: int = 0


@dataclass
class SlowSm:
    """Contents of an SM: (end cycle, kernel, first warp slot) of its CTAs."""

    ctas: list[tuple[int, Resident, int]] = field(default_factory=list)
    ran: int = 0

    def slot(self, kernel: Kernel) -> int | None:
        """First free warp slot for a CTA, at a multiple of its warps."""
        used = {first + warp for _, held, first in self.ctas for warp in range(held.kernel.warps)}
        for first in range(0, SLOTS - kernel.warps + 1, kernel.warps):
            if not used & set(range(first, first + kernel.warps)):
                return first
        return None

    def fits(self, kernel: Kernel, registers: int, shared_bytes: int) -> bool:
        """Whether one more CTA finds warp slots, registers and shared memory."""
        taken = sum(held.kernel.registers * 32 * held.kernel.warps for _, held, _ in self.ctas)
        shared = sum(held.kernel.shared_bytes for _, held, _ in self.ctas)
        return (
            self.slot(kernel) is not None
            and taken + kernel.registers * 32 * kernel.warps <= registers
            and shared + kernel.shared_bytes <= shared_bytes
        )


@dataclass
class SlowGpu:
    """The dispatcher cycle by cycle. ``window``: kernels that may share it.

    Source: ``docs/sources/accel-sim.md#cta-dispatch``.
    """

    sms: int
    latency: int
    window: int = 1
    registers: int = 65536
    shared_bytes: int = 65536
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sm = [SlowSm() for _ in range(self.sms)]
        self.slots: list[Resident | None] = [None] * self.window
        self.last_sm, self.last_kernel, self.cycle = self.sms - 1, 0, 0

    def run(self, kernels: list[Kernel]) -> None:
        """Run a list of kernels to their end."""
        todo = list(enumerate(kernels))
        seen: list[tuple[int, Kernel]] = []
        while todo or any(self.slots) or seen:
            while len(seen) + sum(slot is not None for slot in self.slots) < self.window and todo:
                seen.append(todo.pop(0))
            for number, kernel in list(seen):
                if kernel.stream not in {slot.kernel.stream for slot in self.slots if slot}:
                    seen.remove((number, kernel))
                    self.slots[self.slots.index(None)] = Resident(
                        kernel, number, self.cycle + self.latency, list(kernel.visits)
                    )
                    self.spans[number] = (self.cycle, -1)
            self.step()

    def step(self) -> None:
        """One cycle: CTAs end, CTAs are handed out, kernels end."""
        for sm in self.sm:
            for end, held, _ in sm.ctas:
                held.running -= end == self.cycle
            sm.ctas = [cta for cta in sm.ctas if cta[0] != self.cycle]
        first = self.last_sm + 1
        for turn in range(self.sms):
            sm, chosen = self.sm[(first + turn) % self.sms], self.choose()
            if chosen and self.has_room(sm, chosen.kernel):
                visits = chosen.waiting.pop(0)
                slot = sm.slot(chosen.kernel)
                assert slot is not None
                sm.ctas.append((self.cycle + 1 + visits * STALL, chosen, slot))
                sm.ran += visits * chosen.kernel.warps
                chosen.running += 1
                self.last_sm = (first + turn) % self.sms
        self.cycle += 1
        for index, held in enumerate(self.slots):
            if held and not held.waiting and not held.running:
                self.spans[held.number] = (self.spans[held.number][0], self.cycle)
                self.slots[index] = None

    def choose(self) -> Resident | None:
        """The kernel that hands out CTAs: the last one while it has some, else the next in turn."""
        for turn in range(self.window):
            index = (self.last_kernel + turn) % self.window
            held = self.slots[index]
            if held and held.waiting and self.cycle >= held.opens:
                self.last_kernel = index
                return held
        return None

    def has_room(self, sm: SlowSm, kernel: Kernel) -> bool:
        """Whether an SM may take one more CTA; a kernel alone gets no more than its even share."""
        if self.window == 1 and len(sm.ctas) >= -(-len(kernel.visits) // self.sms):
            return False
        return sm.fits(kernel, self.registers, self.shared_bytes)
