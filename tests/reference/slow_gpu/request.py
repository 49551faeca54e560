"""A memory request on its way between an SM, a slice of the L2 and DRAM."""

from .address import Place
from .instruction_cache import Missing
from .texture import Line
from .warp import Op


class Request:
    """32 B of one instruction (``op``), or what a cache writes back (``op`` None)."""

    def __init__(self, address: int, byte_mask: int, is_write: bool, sm: int, op: Op | None, place: Place) -> None:
        self.address, self.byte_mask, self.is_write = address, byte_mask, is_write
        self.sm, self.op, self.place = sm, op, place
        self.lanes = 0
        self.size = 32
        self.moved = 0  # bytes that have left the DRAM's bus
        self.is_answer = False
        self.ready = 0
        self.sectors: list[int] = []  # of a line that is written back
        self.line: Line | None = None  # of the texture cache
        self.missing: Missing | None = None  # of the instruction cache
        self.first: Request | None = None  # the miss of an L1 of whole lines that this brings a sector for
        self.left = 0  # sectors that have not come
        self.parked: Request | None = None  # the write that waits for this fetch in the same cache

    @property
    def sector(self) -> int:
        """Which of the four of its line."""
        return self.address % 128 // 32

    @property
    def is_atomic(self) -> bool:
        return self.op is not None and self.op.instruction.is_atomic

    @property
    def is_texture(self) -> bool:
        """Whether it reads texels, where instructions say so."""
        return bool(getattr(getattr(self.op, "instruction", None), "is_texture", False))

    @property
    def is_write_back(self) -> bool:
        return self.op is None and self.is_write
