"""Device memory of the interpreter: checked places, loads and stores lane by lane, and recorded accesses."""

from typing import Any

import numpy as np

from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.words import ACCESS_BYTES, ADDRESS_BYTES, MACHINE, STOP, VISIT_BYTES
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.record.buffers import Buffers

LOCAL_ALIGN = 16  # of a thread's local memory
UNSIGNED: dict[int, Any] = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64, 128: object}


def mask_of(lanes: np.ndarray) -> int:
    """bool[32] as a lane mask."""
    return int(np.packbits(lanes, bitorder="little").view(np.uint32)[0])


class IllegalAddressError(Exception):
    """An access outside memory, or not aligned; the machine's words say where."""

    code = STOP.illegal_address


class Arena:
    """The machine's words, device memory, and the record of accesses to it.

    memory   uint8[bytes in use], from the guard before the first address on.
    table    int64[allocations, 2]: their first addresses and ends.
    outside  int64[instructions]: accesses of lanes near allocations, where those are legal.
    """

    def __init__(self, machine: np.ndarray, device: DeviceMemory, buffers: Buffers, outside: np.ndarray) -> None:
        self.machine_words, self.outside = machine, outside
        self.hold(device)
        self.buffers = buffers
        self.instruction_id = 0

    def hold(self, device: DeviceMemory) -> None:
        """See all that has been allocated."""
        self.memory, self.table = device.whole(), device.table()

    def machine(self, name: str) -> int:
        """The machine's word ``name``."""
        return int(self.machine_words[MACHINE[name]])

    def record(self, address: np.ndarray, lanes: np.ndarray, further: np.ndarray | None = None) -> None:
        """Append an access, with ``further`` addresses behind the lanes'."""
        if not lanes.any():
            return
        b, m = self.buffers, self.machine_words
        row = (m[MACHINE.access_next] - b.starts[1]) // ACCESS_BYTES
        visit = (self.machine("visit_next") - self.machine("visit_origin")) // VISIT_BYTES - 1
        more = 0 if further is None else len(further)
        b.accesses[row] = (self.instruction_id, visit, mask_of(lanes), more)
        place = (m[MACHINE.address_next] - b.starts[2]) // ADDRESS_BYTES
        count = int(lanes.sum())
        b.addresses[place : place + count] = address[lanes]
        if further is not None:
            b.addresses[place + count : place + count + more] = further
        m[MACHINE.access_next] += ACCESS_BYTES
        m[MACHINE.address_next] += ADDRESS_BYTES * (count + more)

    def places(self, address: np.ndarray, space: str, size: int, lanes: np.ndarray) -> np.ndarray:
        """First byte of each lane in the arena. Raises IllegalAddressError."""
        base = self.machine("arena_first") - (self.machine("shared_base") if space == "shared" else 0)
        bad = lanes & ((address % np.uint64(size) != 0) | ~self._inside(address, space, size, lanes))
        if bad.any():
            lane = int(np.flatnonzero(bad)[0])
            m = self.machine_words
            m[MACHINE.error_lane], m[MACHINE.error_address] = lane, address.view(np.int64)[lane]
            m[MACHINE.suspend_instruction] = self.instruction_id
            raise IllegalAddressError
        return address - np.array(base).astype(np.uint64)

    def _inside(self, address: np.ndarray, space: str, size: int, lanes: np.ndarray) -> np.ndarray:
        """Which lanes access what they may: the CTA's shared memory, the thread's local memory, or one allocation."""
        if space == "shared":
            return (address < self.machine("shared_bytes")) & (
                address + np.uint64(size) <= self.machine("shared_bytes")
            )
        if space == "local" and size <= LOCAL_ALIGN:
            length = self.machine("local_bytes")
            thread = self.machine("local_base") + (self.machine("first_thread") + np.arange(LANES)) * length
            offset = address - thread.astype(np.uint64)
            return (offset < length) & (offset + np.uint64(size) <= length)
        table = self.table.view(np.uint64)
        row = np.searchsorted(table[:, 0], address, "right") - 1
        end = table[row, 1] if len(table) else np.zeros(LANES, np.uint64)
        held = (row >= 0) & (address < end) & (end - address >= np.uint64(size))
        offset, most = address - np.uint64(self.machine("arena_first")), self.machine("arena_bytes")
        near = (self.machine("memcheck") == 0) & (offset < most) & (offset + np.uint64(size) <= most)
        aligned = address % np.uint64(size) == 0
        self.outside[self.instruction_id] += np.count_nonzero(lanes & near & ~held & aligned)
        return held | near

    def load(self, places: np.ndarray, lanes: np.ndarray, width: int) -> np.ndarray:
        """``width`` bits per set lane, 0 elsewhere."""
        made = np.zeros(LANES, UNSIGNED[width])
        for lane in np.flatnonzero(lanes):
            at = int(places[lane])
            made[lane] = int.from_bytes(self.memory[at : at + width // 8].tobytes(), "little")
        return made

    def store(self, places: np.ndarray, lanes: np.ndarray, values: np.ndarray) -> None:
        """Write each set lane's value, lowest lane first."""
        data = as_bytes(values)
        for lane in np.flatnonzero(lanes):
            at = int(places[lane])
            self.memory[at : at + data.shape[1]] = data[lane]


def as_bytes(values: np.ndarray) -> np.ndarray:
    """The bits of every lane as uint8[32, bytes]; 128 bits are Python's integers."""
    if values.dtype == object:
        return np.array([list(int(value).to_bytes(16, "little")) for value in values], np.uint8)
    return values.reshape(LANES, 1).view(np.uint8).reshape(LANES, -1)


def from_bytes(data: np.ndarray) -> np.ndarray:
    """Bits of every lane from uint8[32, bytes]."""
    width = 8 * data.shape[1]
    if width == 128:
        return np.array([int.from_bytes(row.tobytes(), "little") for row in data], object)
    return np.ascontiguousarray(data).view(UNSIGNED[width]).reshape(LANES)
