"""The texture unit of an SM: texture instructions in order, their quads in groups, texels from the L1.

Source: docs/sources/crisp.md#textures.
"""

from collections import deque
from collections.abc import Callable

from . import coalesce
from .coalesce import Access
from .config import TextureConfig
from .warp import Op

LANES = 32


def requests(op: Op, config: TextureConfig) -> list[list[Access]]:
    """The whole sectors that the lanes of some quads touch, by address, for each group of quads that touches any.

    Further sectors, numbered from 32 on in the order of lanes, are dealt out evenly over the groups.
    """
    size, lanes = op.instruction.bytes, 4 * quads(op, config)
    groups = [
        {byte // coalesce.SECTOR for lane in active for byte in (op.addresses[lane], op.addresses[lane] + size - 1)}
        for first in range(0, LANES, lanes)
        if (active := [lane for lane in range(first, first + lanes) if lane in op.addresses])
    ]
    further = [address for lane, address in sorted(op.addresses.items()) if lane >= LANES]
    for number, group in enumerate(groups):
        begin, end = (part * len(further) // len(groups) for part in (number, number + 1))
        group |= {address // coalesce.SECTOR for address in further[begin:end]}
    return [[whole(number * coalesce.SECTOR) for number in sorted(group)] for group in groups]


def quads(op: Op, config: TextureConfig) -> int:
    """Quads of a request: fewer of arrays, cubes and volumes, whose coordinates are three or more."""
    geometry = {"a2d", "a2dms", "3d", "cube", "acube"} & set(op.instruction.opcode.split("."))
    return config.quads_per_wide_request if geometry else config.quads_per_request


def whole(address: int) -> Access:
    """All bytes of a sector."""
    return Access(address, (1 << coalesce.SECTOR) - 1 << address % coalesce.LINE, 0)


class TextureUnit:
    """Instructions before the banks, and results that wait out the latency."""

    def __init__(self, config: TextureConfig) -> None:
        self.config = config
        self.waiting: deque[Op] = deque()
        self.results: deque[tuple[int, Op]] = deque()
        self.begun = -1
        self.next_request = 0
        self.counts = {"instructions": 0, "requests": 0, "sectors": 0}

    def enter(self, op: Op) -> bool:
        """Whether the instruction could enter."""
        if len(self.waiting) == self.config.queue_entries:
            return False
        self.waiting.append(op)
        self.counts["instructions"] += 1
        return True

    def cycle(self, now: int, put: Callable[[Op, Access], bool]) -> None:
        """Sectors of the oldest request enter the banks, the highest first, up to the first that cannot."""
        if not self.waiting or self.next_request > now:
            return
        op = self.waiting[0]
        if self.begun < 0:
            self.begun = now
            self.counts["requests"] += 1
        request = op.requests[0]
        while request and put(op, request[-1]):
            request.pop()
            self.counts["sectors"] += 1
        if not request:
            self.next_request = max(now + 1, self.begun + -(-quads(op, self.config) // self.config.quads_per_cycle))
            self.begun = -1
            op.requests.pop(0)
        if not op.requests:
            self.waiting.popleft()

    def texel(self, op: Op, now: int) -> None:
        """A sector of an instruction has come."""
        if op.texels:
            op.texels -= 1
            if not op.texels:
                self.results.append((now + self.config.latency_cycles, op))

    def result(self, now: int) -> Op | None:
        """The oldest result whose latency has passed, taken."""
        return self.results.popleft()[1] if self.results and self.results[0][0] <= now else None
