"""The device that programs see: figures of a GPU description, and the nominal time of what they launch."""

import struct
from dataclasses import dataclass

from rayplay.formats.guard.limits import CONSTANT_BYTES, SHARED_BYTES
from rayplay.replay.gpu.description import Gpu

MEMORY_BYTES = 8 << 30
"""Device memory: descriptions do not say it."""
CONSTANTS = 64 << 10
NANOSECONDS_PER_KHZ = 1_000_000


@dataclass(frozen=True)
class Card:
    """A GPU as ``cudaGetDeviceProperties`` describes it."""

    gpu: Gpu

    @property
    def shared_bytes(self) -> int:
        """Shared memory of an SM, all of which one CTA may have."""
        most = max(self.gpu.sm.shared_bytes, *self.gpu.l1.shared_options, 0)
        return min(most, SHARED_BYTES.value())

    def words(self, architecture: int) -> bytes:
        """Figures in the order of ``cuda/shim/shim.h``, 64 bits each, and the name."""
        gpu, dram = self.gpu, self.gpu.dram
        bus_bits = 8 * gpu.memory.count * dram.bus_bytes * (2 if dram.dual_bus else 1)
        figures = (
            gpu.sm.count, gpu.sm.clock_khz, gpu.sm.warps, gpu.sm.ctas, gpu.sm.registers, self.shared_bytes,
            gpu.l2.bytes, bus_bits, dram.clock_khz, MEMORY_BYTES, architecture // 10, architecture % 10,
            min(CONSTANTS, CONSTANT_BYTES.value()),
        )  # fmt: skip
        return struct.pack(f"<{len(figures)}Q", *figures) + f"Rayplay {gpu.name}".encode() + b"\0"

    def nominal_ns(self, warp_instructions: int) -> int:
        """Nanoseconds of a launch by which events of a program tell the time: its overhead, and its instructions at
        the peak rate of issue. No replay has run yet; a replay of the trace says the cycles."""
        gpu = self.gpu
        cycles = gpu.sm.kernel_launch_cycles + warp_instructions / (
            gpu.sm.count * gpu.scheduler.count * gpu.scheduler.issues
        )
        return max(int(cycles * NANOSECONDS_PER_KHZ / gpu.sm.clock_khz), 1)
