"""Device memory: one flat arena of host memory, addressed as the programs see it."""

import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.formats.place.checkpoint import take_back

FIRST_ADDRESS = 0x1000_0000
FIRST_FUNCTION, FUNCTION_STEP_BYTES = 0x0800_0000, 16
RESERVED_BYTES = 1 << 38
SMALLEST_RESERVATION_BYTES = 1 << 32
SNAPSHOT_BLOCK_BYTES = 1 << 20


class DeviceMemory:
    """The memory of the simulated device.

    Addresses start at ``FIRST_ADDRESS`` and only grow. The host range behind them is reserved once and its pages are
    taken, zeroed, when first touched, so that views stay valid for the life of the object.
    """

    def __init__(self) -> None:
        self._map = _reserve()
        self._bytes = np.frombuffer(self._map, np.uint8)
        self.used_bytes = 0
        self.allocations: list[tuple[int, int]] = []  # first address and bytes, in the order of addresses
        self.variables: dict[tuple[str, str], int] = {}  # address of a module's variable, once it has been placed
        self.functions: dict[tuple[str, str], int] = {}  # address of a module's function, once it has been linked
        self.printed: list[str] = []  # what programs have printed, in order

    @property
    def host_address(self) -> int:
        """Host address of ``FIRST_ADDRESS``."""
        return self._bytes.ctypes.data

    def allocate(self, data: "int | bytes | np.ndarray", align: int = 256) -> int:
        """Take memory for ``data`` (an array or bytes, copied) or for that many zero bytes; returns the address.

        Raises ``UserError`` when the arena is full.
        """
        size = data if isinstance(data, int) else len(data) if isinstance(data, bytes) else data.nbytes
        start = -(-self.used_bytes // align) * align
        if start + size > self._bytes.size:
            raise UserError(f"device memory: {size} bytes do not fit, {self._bytes.size - self.used_bytes} are left")
        self.used_bytes = start + size
        self.allocations.append((FIRST_ADDRESS + start, size))
        if not isinstance(data, int):
            raw = _raw_bytes(np.array(bytearray(data), np.uint8) if isinstance(data, bytes) else data)
            self._bytes[start : start + size] = raw
        return FIRST_ADDRESS + start

    def mark(self) -> dict[str, Any]:
        """Places of everything, for ``go_back``: JSON facts."""
        places = {
            name: [[*key, address] for key, address in of.items()]
            for name, of in (("variables", self.variables), ("functions", self.functions))
        }
        return {"used_bytes": self.used_bytes, "allocations": list(self.allocations), **places}

    def go_back(self, mark: dict[str, Any]) -> None:
        """Let everything lie where it lay at ``mark``; what the memory holds is not changed."""
        self.used_bytes = mark["used_bytes"]
        self.allocations[:] = [(address, size) for address, size in mark["allocations"]]
        for name, of in (("variables", self.variables), ("functions", self.functions)):
            of.clear()
            of.update({(module, key): address for module, key, address in mark[name]})

    def snapshot(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Contents, for ``restore``: JSON facts, and views of the blocks that are not zero."""
        facts = {"used_bytes": self.used_bytes, "allocations": self.allocations, "printed": self.printed}
        blocks = {f"memory{start}": block for start, block in self._blocks() if block.any()}
        return facts, blocks

    def restore(self, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Hold again what ``snapshot`` gave, in a memory whose first allocations were the same."""
        if not 0 <= facts["used_bytes"] <= len(self._bytes):
            raise FormatError(
                f"checkpoint: used_bytes must be at most {len(self._bytes)}, but is {facts['used_bytes']}"
            )
        self.used_bytes = facts["used_bytes"]
        self.allocations[:] = [(address, size) for address, size in facts["allocations"]]
        self.printed[:] = facts["printed"]
        for start, block in self._blocks():
            held = arrays.get(f"memory{start}")
            if held is not None:
                take_back(block, held, f"memory{start}")
            elif block.any():
                block[:] = 0

    def _blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """Memory in use, block after block."""
        for start in range(0, self.used_bytes, SNAPSHOT_BLOCK_BYTES):
            yield start, self._bytes[start : min(start + SNAPSHOT_BLOCK_BYTES, self.used_bytes)]

    def function_address(self, key: tuple[str, str]) -> int:
        """The address of a module's function, the same in every launch; no code lies there."""
        return self.functions.setdefault(key, FIRST_FUNCTION + FUNCTION_STEP_BYTES * len(self.functions))

    def view(self, address: int, dtype: DTypeLike, shape: "int | tuple[int, ...]") -> np.ndarray:
        """``shape`` values of ``dtype`` at ``address``, writable, without a copy; ``UserError`` when outside."""
        dims = (shape,) if isinstance(shape, int) else tuple(shape)
        size = int(np.prod(dims, dtype=np.int64)) * np.dtype(dtype).itemsize
        start = address - FIRST_ADDRESS
        if start < 0 or start + size > self.used_bytes:
            raise UserError(f"device memory: {size} bytes at {address:#x} are not allocated")
        return self._bytes[start : start + size].view(dtype).reshape(dims)


def _raw_bytes(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _reserve() -> mmap.mmap:
    """A private range without backing store; smaller where the system limits address space."""
    size = RESERVED_BYTES
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
    while True:
        try:
            return mmap.mmap(-1, size, flags=flags)
        except OSError:
            size //= 2
            if size < SMALLEST_RESERVATION_BYTES:
                raise
