"""Coalescer: the lanes' addresses of a memory instruction to the 32 B sectors, or shared-memory cycles, they take.

It has no timing of its own, so it runs once, while the trace is loaded. Global and local accesses become their
different sectors in ascending order (``reference/accel-sim.md`` B.2); a shared access takes as many cycles as the
worst of 32 banks has different 4 B words.
"""

import numpy as np

from replay.bits import compiled, entry_point

BANKS = 32
SCRATCH_WORDS = BANKS * 33  # the different words of an access, 32 a lane at most, and the load of each bank


@entry_point
def coalesce(
    instruction: np.ndarray, lane_first: np.ndarray, address: np.ndarray, access_bytes: np.ndarray,
    is_store: np.ndarray, space: np.ndarray, shared_base: int, shared_bytes: int, first: np.ndarray,
    conflict: np.ndarray, sector: np.ndarray, byte_mask: np.ndarray, words: np.ndarray,
) -> int:  # fmt: skip
    """Fill ``first`` (int64[rows + 1]), ``conflict`` (uint8[rows]), ``sector`` and ``byte_mask``; returns the sectors.

    space  per static instruction: 0 global or local, 1 shared, 2 generic (shared when the first lane's address lies
           in the window from ``shared_base`` on).
    words  int64[SCRATCH_WORDS]: scratch.
    """
    total = 0
    first[0] = 0
    for row in range(instruction.size):
        number = instruction[row]
        begin, end = np.int64(lane_first[row]), np.int64(lane_first[row + 1])
        size = np.int64(access_bytes[number])
        shared = space[number] == 1
        if space[number] == 2 and end > begin:
            shared = shared_base <= np.int64(address[begin]) < shared_base + shared_bytes
        if shared:
            conflict[row] = bank_cycles(address, begin, end, size, words)
        else:
            conflict[row] = 0
            total = add_sectors(address, begin, end, size, is_store[number], sector, byte_mask, total)
        first[row + 1] = total
    return total


@compiled
def add_sectors(
    address: np.ndarray, begin: int, end: int, size: int, is_store: bool, sector: np.ndarray, byte_mask: np.ndarray,
    start: int,
) -> int:  # fmt: skip
    """Append the different sectors of one instruction in ascending order; returns the new end."""
    stop = start
    for lane in range(begin, end):
        low = int(address[lane])
        high = low + max(size, 1) - 1
        for number in range(low >> 5, (high >> 5) + 1):
            place = stop
            while place > start and sector[place - 1] > number:
                place -= 1
            if place == start or sector[place - 1] != number:
                for moved in range(stop, place, -1):
                    sector[moved] = sector[moved - 1]
                    byte_mask[moved] = byte_mask[moved - 1]
                sector[place] = number
                byte_mask[place] = 0
                stop += 1
                place += 1
            if is_store:
                from_byte: int = max(low - (number << 5), 0)
                to_byte: int = min(high - (number << 5), 31)
                byte_mask[place - 1] |= ((1 << (to_byte - from_byte + 1)) - 1) << from_byte
    return stop


@compiled
def bank_cycles(address: np.ndarray, begin: int, end: int, size: int, words: np.ndarray) -> int:
    """Cycles of a shared access: the most different 4 B words that one of the banks has to give."""
    count = 0
    for lane in range(begin, end):
        low = int(address[lane])
        for word in range(low >> 2, ((low + max(size, 1) - 1) >> 2) + 1):
            known = False
            for place in range(count):
                if words[place] == word:
                    known = True
                    break
            if not known and count < BANKS * 32:
                words[count] = word
                count += 1
    load = words[BANKS * 32 :]
    load[:BANKS] = 0
    worst = 1
    for place in range(count):
        bank = words[place] & (BANKS - 1)
        load[bank] += 1
        worst = max(worst, load[bank])
    return worst


def most_sectors(lanes: int, instruction: np.ndarray, access_bytes: np.ndarray) -> int:
    """Room that surely suffices for the sectors of some rows."""
    widest = int(access_bytes[instruction].max(initial=1)) if instruction.size else 1
    return lanes * ((widest + 30) // 32 + 1)
