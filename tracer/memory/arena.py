"""Device memory: one flat arena of host memory, addressed as the programs see it."""

import mmap
import os
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.formats.guard.limits import PRINTED_BYTES
from rayplay.formats.place.checkpoint import take_back
from rayplay.tracer.memory.image_record import HANDLE, HANDLE_ALIGN, HANDLE_BYTES, RECORD_WORDS

FIRST_ADDRESS = 0x1000_0000
FIRST_FUNCTION, FUNCTION_STEP_BYTES = 0x0800_0000, 16
RESERVED_BYTES = 1 << 38
SMALLEST_RESERVATION_BYTES = 1 << 32
SNAPSHOT_BLOCK_BYTES = 1 << 20
GUARD_BYTES = 1 << 20
"""Never allocated: before the first buffer, after the last, and between two. As a power of two it leaves the low bits
of addresses, which choose sectors, sets, banks and channels, as they are in a memory without gaps."""

Allocation = tuple[int, int, str]


class DeviceMemory:
    """The memory of the simulated device.

    Addresses start at ``FIRST_ADDRESS`` and grow; only what a launch takes for itself is given back. The host range
    behind them is reserved once and its pages are taken, zeroed, when first touched, so that views stay valid for the
    life of the object.
    """

    def __init__(self, guard_bytes: int = GUARD_BYTES, memcheck: bool = True, file: int | None = None) -> None:
        """``guard_bytes``: gap around each guarded allocation, 0 or ``GUARD_BYTES``. Without ``memcheck`` an access
        outside allocations, ``GUARD_BYTES`` around them at most, is counted in ``outside`` in place of an error.
        ``file``: a file in memory, empty, that backs it, for other processes to map as a whole."""
        self._map, self._discard = _reserve(file), mmap.MADV_DONTNEED if file is None else mmap.MADV_REMOVE
        self._bytes = np.frombuffer(self._map, np.uint8)[GUARD_BYTES:]
        self.guard_bytes, self.memcheck = guard_bytes, memcheck
        self.outside: dict[str, int] = {}  # accesses of lanes outside allocations, by the place of their instruction
        self.used_bytes = 0
        self._gap = 0  # what follows the last allocation
        self.allocations: list[Allocation] = []  # first address, bytes and name, in the order of addresses
        self._table = np.zeros((64, 2), np.int64)  # the same for compiled code: first address, end
        self._rows = 0
        self.holes: list[Allocation] = []  # given back, with allocations behind them
        self._lent: dict[int, tuple[Allocation, int, int]] = {}  # by address; where memory ended before, and its gap
        self._records = np.zeros((1, RECORD_WORDS), np.int64)  # by handle, behind a row without one
        self.variables: dict[tuple[str, str], int] = {}  # address of a module's variable, once it has been placed
        self.functions: dict[tuple[str, str], int] = {}  # address of a module's function, once it has been linked
        self.printed: list[str] = []  # what programs have printed, in order
        self.printed_bytes = 0

    @property
    def reserved_bytes(self) -> int:
        """Bytes of addresses from ``GUARD_BYTES`` before the first one on: the size of the file behind them."""
        return len(self._map)

    @property
    def host_address(self) -> int:
        """Host address of ``FIRST_ADDRESS``."""
        return self._bytes.ctypes.data

    def allocate(
        self, data: "int | bytes | np.ndarray", align: int = 256, name: str = "", gap: int | None = None
    ) -> int:
        """Take memory for ``data`` (an array or bytes, copied) or for that many zero bytes; returns the address.

        name  as messages about accesses call it, such as "buffer 'x'".
        gap   bytes at least between it and its neighbours; None: the guard of the memory.

        Raises ``UserError`` when the arena is full.
        """
        size = data if isinstance(data, int) else len(data) if isinstance(data, bytes) else data.nbytes
        gap = self.guard_bytes if gap is None else gap
        start = -(-self.used_bytes // align) * align + (max(gap, self._gap) if self.allocations else 0)
        if start + size > self._bytes.size - GUARD_BYTES:
            left = max(self._bytes.size - GUARD_BYTES - start, 0)
            raise UserError(f"device memory: {size} bytes do not fit, {left} are left")
        self.used_bytes, self._gap = start + size, gap
        self._note((FIRST_ADDRESS + start, size, name))
        if not isinstance(data, int):
            raw = _raw_bytes(np.array(bytearray(data), np.uint8) if isinstance(data, bytes) else data)
            self._bytes[start : start + size] = raw
        return FIRST_ADDRESS + start

    def keep_record(self, words: np.ndarray) -> int:
        """Keep rows of ``tracer.memory.image_record`` beside the memory, one or a level each; returns their handle."""
        handle = self.allocate(HANDLE_BYTES, HANDLE_ALIGN, "a texture's or sampler's record", 0)
        rows = words.reshape(-1, RECORD_WORDS).copy()
        rows[:, HANDLE] = np.arange(handle, handle + len(rows))
        self._records = np.vstack([self._records[self._records[:, HANDLE] < handle], rows])
        return handle

    def _note(self, allocation: Allocation) -> None:
        address, size, _ = allocation
        insort(self.allocations, allocation)
        if not size:
            return
        if self._rows == len(self._table):
            self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        at = int(np.searchsorted(self.table()[:, 0], address))
        self._table[at + 1 : self._rows + 1] = self._table[at : self._rows]
        self._table[at] = address, address + size
        self._rows += 1

    def _forget(self, allocation: Allocation) -> None:
        address, size, _ = allocation
        del self.allocations[bisect_left(self.allocations, allocation)]
        if not size:
            return
        at = int(np.searchsorted(self.table()[:, 0], address))
        self._table[at : self._rows - 1] = self._table[at + 1 : self._rows]
        self._rows -= 1

    def table(self) -> np.ndarray:
        """int64[allocations with bytes, 2]: first address and end, in the order of addresses."""
        return self._table[: self._rows]

    def machine_words(self) -> dict[str, int]:
        """Words of the machine that change when memory is taken (``tracer.abi.words``)."""
        return {
            "arena_bytes": self.used_bytes + 2 * GUARD_BYTES,
            "allocations": self._table.ctypes.data, "allocation_count": self._rows,
            "records": self._records.ctypes.data, "record_count": len(self._records),
        }  # fmt: skip

    def whole(self) -> np.ndarray:
        """uint8[bytes]: everything from ``GUARD_BYTES`` before the first address to ``GUARD_BYTES`` after the last."""
        return np.frombuffer(self._map, np.uint8)[: self.used_bytes + 2 * GUARD_BYTES]

    def standing(self, address: int, size: int) -> str:
        """Position of such bytes from the nearest one: "end 4 bytes past the end of buffer 'x' (...)"."""
        held = [each for each in self.allocations if each[1]]
        at = bisect_right(held, (address, 1 << 62)) - 1
        before = address - sum(held[at][:2]) if at >= 0 else 1 << 62
        after = held[at + 1][0] - address if at + 1 < len(held) else 1 << 62
        if not held:
            return "lie where nothing is allocated"
        first, length, name = held[at] if before <= after else held[at + 1]
        place = f"{name or 'an allocation'} ({length:,} bytes at {first:#x})"
        if before <= after:
            return f"end {before + size:,} bytes past the end of {place}"
        return f"begin {after:,} bytes before {place}"

    def print_text(self, text: str, place: str) -> None:
        """Keep what a program prints. Raises ``UserError`` naming ``place`` for more than may be kept."""
        self.printed_bytes += len(text)
        PRINTED_BYTES.check(self.printed_bytes, f"{place}: printed text")
        self.printed.append(text)

    def lend(self, size: int, name: str) -> int:
        """Take zero bytes until ``give_back``, from a hole that is large enough if there is one: their address."""
        before = self.used_bytes, self._gap
        fitting = next((hole for hole in self.holes if 0 < size <= hole[1]), None)
        if fitting is None:
            address = self.allocate(size, name=name, gap=0)
            self._lent[address] = ((address, size, name), *before)
            return address
        self.holes.remove(fitting)
        self._note(fitting)
        self._lent[fitting[0]] = (fitting, *before)
        return fitting[0]

    def give_back(self, address: int) -> None:
        """Return what ``lend`` gave: its pages go back to the system and read as zero when it is lent again."""
        held, used_before, gap_before = self._lent.pop(address)
        self._forget(held)
        self._clear(held)
        if address - FIRST_ADDRESS + held[1] == self.used_bytes:
            self.used_bytes, self._gap = used_before, gap_before
        elif held[1]:
            self.holes.append(held)

    def free(self, address: int) -> None:
        """End an allocation for good: its pages go back to the system, and no other one takes its addresses.

        Raises ``UserError`` when none begins there.
        """
        at = bisect_left(self.allocations, (address, 0, ""))
        if at == len(self.allocations) or self.allocations[at][0] != address:
            raise UserError(f"device memory: no allocation begins at {address:#x}")
        held = self.allocations[at]
        self._forget(held)
        self._clear(held)

    def _clear(self, held: Allocation) -> None:
        """Let an allocation's pages read as zero."""
        start = held[0] - FIRST_ADDRESS
        end = start + held[1]
        first, last = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE, end // mmap.PAGESIZE * mmap.PAGESIZE
        if first < last:
            self._map.madvise(self._discard, GUARD_BYTES + first, last - first)
            self._bytes[start:first] = 0
            self._bytes[last:end] = 0
        else:
            self._bytes[start:end] = 0

    def mark(self) -> dict[str, Any]:
        """Places of everything, for ``go_back``: JSON facts."""
        places = {
            name: [[*key, address] for key, address in of.items()]
            for name, of in (("variables", self.variables), ("functions", self.functions))
        }
        return self._places() | places

    def go_back(self, mark: dict[str, Any]) -> None:
        """Let everything lie where it lay at ``mark``; what the memory holds is not changed."""
        self._lie(mark)
        for name, of in (("variables", self.variables), ("functions", self.functions)):
            of.clear()
            of.update({(module, key): address for module, key, address in mark[name]})

    def snapshot(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Contents, for ``restore``: JSON facts, and views of the blocks that are not zero."""
        facts = self._places() | {"printed": self.printed, "outside": self.outside}
        facts["records"] = self._records.tolist()
        blocks = {f"memory{start}": block for start, block in self._blocks() if block.any()}
        return facts, blocks

    def restore(self, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Hold again what ``snapshot`` gave, in a memory whose first allocations were the same."""
        if not 0 <= facts["used_bytes"] <= len(self._bytes):
            raise FormatError(
                f"checkpoint: used_bytes must be at most {len(self._bytes)}, but is {facts['used_bytes']}"
            )
        self._lie(facts)
        self._records = np.array(facts["records"], np.int64).reshape(-1, RECORD_WORDS)
        self.printed[:], self.outside = facts["printed"], dict(facts["outside"])
        self.printed_bytes = sum(map(len, self.printed))
        for start, block in self._blocks():
            held = arrays.get(f"memory{start}")
            if held is not None:
                take_back(block, held, f"memory{start}")
            elif block.any():
                block[:] = 0

    def _places(self) -> dict[str, Any]:
        return {"used_bytes": self.used_bytes, "gap": self._gap, "allocations": list(self.allocations),
                "holes": list(self.holes)}  # fmt: skip

    def _lie(self, places: dict[str, Any]) -> None:
        self.used_bytes, self._gap, self._rows = places["used_bytes"], places["gap"], 0
        self.allocations.clear()
        for address, size, name in places["allocations"]:
            self._note((address, size, name))
        self.holes[:] = [(address, size, name) for address, size, name in places["holes"]]

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
        row = int(np.searchsorted(self.table()[:, 0], address, "right")) - 1
        if size and (row < 0 or address + size > self.table()[row, 1]):
            raise UserError(f"device memory: {size} bytes at {address:#x} are not allocated")
        return self._bytes[start : start + size].view(dtype).reshape(dims)


def _raw_bytes(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _reserve(file: int | None) -> mmap.mmap:
    """A range whose pages come when touched, private or of a ``file``; smaller where the system limits addresses."""
    size = RESERVED_BYTES + 2 * GUARD_BYTES
    shared = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS if file is None else mmap.MAP_SHARED
    flags = shared | getattr(mmap, "MAP_NORESERVE", 0x4000)
    while True:
        try:
            if file is not None:
                os.ftruncate(file, size)
            return mmap.mmap(-1 if file is None else file, size, flags=flags)
        except OSError:
            size //= 2
            if size < SMALLEST_RESERVATION_BYTES:
                raise MemoryError(f"device memory takes {SMALLEST_RESERVATION_BYTES} bytes of addresses") from None
