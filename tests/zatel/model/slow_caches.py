"""The functional caches once more, with dicts: the slow twin of ``zatel.model.traffic.traffic``."""

from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.model.accesses import LOCAL_LINES
from rayplay.zatel.model.traffic import Requests
from rayplay.zatel.model.walk import HIT_LINES, TABLE_LINES
from rayplay.zatel.model.windows import WINDOWS

READS, READ_MISSES, WRITES, WRITE_MISSES, WRITE_BACKS, L1_ACCESSES, L1_MISSES = range(7)


class SlowSets:
    """Sets of some lines, the last the most recent: line -> [sectors that can be read, sectors written to]."""

    def __init__(self, sets: int, ways: int) -> None:
        self.ways = ways
        self.sets: list[dict[int, list[int]]] = [{} for _ in range(sets)]

    def use(self, index: int, line: int) -> tuple[list[int], tuple[int, int]]:
        """The line's sectors, now the most recent of its set, and which line went for it with dirty sectors, or 0 0."""
        held, gone = self.sets[index], (0, 0)
        state = held.pop(line, None)
        if state is None and len(held) == self.ways:
            oldest = next(iter(held))
            gone = oldest, held.pop(oldest)[1]
        held[line] = state or [0, 0]
        return held[line], gone


def slow_spread(line: int) -> int:
    mixed = line * 0x9E3779B97F4A7C15 % (1 << 64)
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 % (1 << 64)
    return (mixed ^ (mixed >> 27)) >> 33 >> 6  # without the bits that choose the followed lines


def sum_of(bits: list[list[int]], address: int) -> int:
    return sum((address >> right & mask) << left for right, mask, left in bits)


class SlowCaches:
    """L1s and L2 of a GPU, and counters: ``count`` as above, ``load`` of each window and slice."""

    def __init__(self, gpu: Gpu, l1_sets: int, l2_sets: int) -> None:
        self.addresses, self.l1_sets, self.l2_sets = gpu.addresses, l1_sets, l2_sets
        slices = self.addresses.channels * self.addresses.slices
        self.l1 = SlowSets(gpu.sm.count * l1_sets, gpu.l1.ways)
        self.l2 = SlowSets(slices * l2_sets, gpu.l2.ways)
        self.count, self.load = [0] * 7, [[0] * slices for _ in range(WINDOWS)]

    def place_of(self, address: int) -> tuple[int, int]:
        """Channel, and the address inside it."""
        block, inside = divmod(address, 1 << self.addresses.block_shift)
        channels = self.addresses.channels
        return block % channels, inside + (block // channels << self.addresses.block_shift)

    def slice_of(self, line: int) -> int:
        channel, inside = self.place_of(line * 128)
        return channel * self.addresses.slices + sum_of(self.addresses.bank.tolist(), inside) % self.addresses.slices

    def ask_l2(self, line: int, asked: int, write: bool, full: int, window: int, counted: int = 1) -> None:
        self.load[window][self.slice_of(line)] += asked.bit_count() * counted
        state, (_, dirty) = self.l2.use(self.slice_of(line) * self.l2_sets + slow_spread(line) % self.l2_sets, line)
        missed = asked & ~(state[0] | state[1]) if write else asked & ~state[0]
        at = (WRITES, WRITE_MISSES) if write else (READS, READ_MISSES)
        for counter, number in zip((*at, WRITE_BACKS), (asked, missed, dirty), strict=True):
            self.count[counter] += number.bit_count() * counted
        state[0] |= full if write else asked
        state[1] |= asked if write else 0

    def read(self, index: int, line: int, asked: int, window: int) -> None:
        """Through the set ``index`` of an L1."""
        state, (gone, dirty) = self.l1.use(index, line)
        if dirty:
            self.ask_l2(gone, dirty, True, dirty, window)
        missed = asked & ~state[0]
        self.count[L1_MISSES] += missed.bit_count()
        if missed:
            self.ask_l2(line, missed, False, 0, window)
        state[0] |= asked

    def write(self, index: int, line: int, asked: int, full: int, window: int) -> None:
        """Through the set ``index`` of an L1."""
        kept = 0
        if line in self.l1.sets[index]:
            if LOCAL_LINES <= line < HIT_LINES:
                state = self.l1.use(index, line)[0]
                kept = asked & state[0]
                state[1] |= kept
            else:
                self.l1.sets[index][line][0] &= ~asked
        self.count[L1_MISSES] += (asked & ~kept).bit_count()
        if asked & ~kept:
            self.ask_l2(line, asked & ~kept, True, full & ~kept, window)

    def enter(self, line: int, asked: int, stores: int, window: int) -> None:
        """Stores into a line of an intersection table, one sector each; ``asked`` are all of these."""
        before, there = self.count[WRITES], self.load[window][self.slice_of(line)]
        self.ask_l2(line, asked, True, 0, window)
        self.count[WRITES], self.load[window][self.slice_of(line)] = before + stores, there + stores
        self.count[L1_ACCESSES] += stores
        self.count[L1_MISSES] += stores


def slow_traffic(requests: Requests, gpu: Gpu, l1_sets: int, l2_sets: int) -> tuple[list[int], list[list[int]]]:
    """Counters, and the sectors asked of each slice in each window."""
    caches = SlowCaches(gpu, l1_sets, l2_sets)
    columns = requests.line, requests.sectors, requests.sm, requests.window
    for line, kind, sm, window in zip(*(column.tolist() for column in columns), strict=True):
        asked, full = kind & 15, kind >> 8
        if sm < 0:
            caches.ask_l2(line, asked, False, 0, window, counted=0)
            continue
        if line >= TABLE_LINES:  # in place of sectors written in full the number of stores
            caches.enter(line, asked, full, window)
            continue
        caches.count[L1_ACCESSES] += asked.bit_count()
        index = sm * l1_sets + slow_spread(line) * 7919 % 65521 % l1_sets
        if kind & 16:
            caches.write(index, line, asked, full, window)
        else:
            caches.read(index, line, asked, window)
    return caches.count, caches.load
