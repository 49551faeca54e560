"""Map of an address to channel, slice, bank, row; and the hashes of sets and partitions."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from .config import GpuConfig

CHANNEL_BIT = 8
COLUMN_BITS = (0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11)
BANK_BITS = (7, 12, 13, 14)
ROW_BITS = tuple(range(15, 28))

# Which bits of the upper address and of the index make up each bit of the hashed index (IPOLY, Rau 1991).
_IPOLY = {
    16: ((0, 3, 4, 6, 8, 9, 10, 11), (0, 1, 3, 5, 6, 7, 8, 12), (1, 2, 4, 6, 7, 8, 9), (2, 3, 5, 7, 8, 9, 10)),
    32: (
        (0, 3, 5, 6, 9, 10, 11, 12, 13), (1, 4, 6, 7, 10, 11, 12, 13, 14), (0, 2, 3, 6, 7, 8, 9, 10, 14),
        (1, 3, 4, 7, 8, 9, 10, 11), (2, 4, 5, 8, 9, 10, 11, 12),
    ),
    64: (
        (0, 5, 6, 10, 12, 15, 16, 17, 18), (0, 1, 5, 7, 10, 11, 12, 13, 15), (1, 2, 6, 8, 11, 12, 13, 14, 16),
        (2, 3, 7, 9, 12, 13, 14, 15, 17), (3, 4, 8, 10, 13, 14, 15, 16, 18), (4, 5, 9, 11, 14, 15, 16, 17),
    ),
}  # fmt: skip


def ipoly(high: int, index: int, count: int) -> int:
    """The hashed index of ``count`` sets or partitions."""
    hashed = 0
    for bit, taps in enumerate(_IPOLY[count]):
        parity = (index >> bit & 1) ^ (sum(high >> tap & 1 for tap in taps) & 1)
        hashed |= parity << bit
    return hashed


@dataclass(frozen=True)
class Place:
    """Of a request."""

    channel: int
    slice: int  # over all channels
    bank: int
    row: int
    mapping: "Mapping"

    def elsewhere(self, address: int) -> "Place":
        """Bank and row of another address, in this channel and slice."""
        other = self.mapping.place(address)
        return replace(other, channel=self.channel, slice=self.slice)


def numbers() -> Iterator[int]:
    """``rand`` of glibc after ``srand(1)``, by the recurrence of its additive feedback generator."""
    found = [1]
    for _ in range(30):
        found.append(16807 * found[-1] % 2147483647)
    for index in range(31, 34):
        found.append(found[index - 31])
    index = 34
    while True:
        found.append((found[index - 31] + found[index - 3]) % 2**32)
        if index >= 344:
            yield found[index] >> 1
        index += 1


class Mapping:
    """Address map ``dramid@8;...RRRR.RRRRRRRR.RBBBCCCC.BCCSSSSS`` (docs/sources/accel-sim.md#address-map)."""

    def __init__(self, config: GpuConfig) -> None:
        self.channels, self.slices_each = config.channels, config.slices_per_channel
        self.is_hashed, self.is_random = config.ipoly_partitions, config.random_partitions
        self.random, self.drawn = numbers(), dict[int, int]()

    def within_channel(self, address: int) -> int:
        """The address without what chooses the channel."""
        return (address >> CHANNEL_BIT) // self.channels << CHANNEL_BIT | address & (1 << CHANNEL_BIT) - 1

    def place(self, address: int) -> Place:
        inner = self.within_channel(address)
        channel = (address >> CHANNEL_BIT) % self.channels
        bank = sum((inner >> bit & 1) << k for k, bit in enumerate(BANK_BITS))
        row = sum((inner >> bit & 1) << k for k, bit in enumerate(ROW_BITS))
        part = channel * self.slices_each + (bank & self.slices_each - 1)
        if self.is_hashed:
            part = self._hashed(address, part)
        if self.is_random:
            block = (address << self.slices_each.bit_length() - 1) >> CHANNEL_BIT
            if block not in self.drawn:
                self.drawn[block] = next(self.random) % (self.channels * self.slices_each)
            part = self.drawn[block]
        return Place(part // self.slices_each, part, bank, row, self)

    def _hashed(self, address: int, part: int) -> int:
        """IPOLY over the next power of two; a value beyond the last slice wraps around."""
        channels = 1 << (self.channels - 1).bit_length()
        high = (address >> CHANNEL_BIT) // self.channels
        if channels == self.channels:
            high //= self.slices_each
        return ipoly(high, part, channels * self.slices_each) % (self.channels * self.slices_each)

    def within_slice(self, address: int) -> int:
        """The address without what chooses channel and slice: it chooses the set of the L2."""
        inner = self.within_channel(address)
        bits = self.slices_each.bit_length() - 1
        for bit in reversed(BANK_BITS[:bits]):
            inner = inner >> bit + 1 << bit | inner & (1 << bit) - 1
        return inner
