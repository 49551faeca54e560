"""Slow, obvious twins of the replay's small rules: lists and dicts, no numba."""

from collections import Counter

Sectors = dict[int, int]


def pick(ready: set[int], last: int | None, policy: str) -> int:
    """Age rank of the warp to issue from: 0 is the oldest. ``two-level`` picks as lrr from the warps it admits."""
    if policy == "oldest":
        return min(ready)
    if policy in ("gto", "limited"):
        return last if last is not None and last in ready else min(ready)
    if policy == "gty":
        return last if last is not None and last in ready else max(ready)
    if policy == "gtlrr" and last is not None and last in ready:
        return last
    after = -1 if last is None else last
    later = [rank for rank in sorted(ready) if rank > after]
    return later[0] if later else min(ready)


def sectors(addresses: list[int], size: int) -> Sectors:
    """Sector -> mask of the bytes the lanes touch in it."""
    touched: Sectors = {}
    for address in addresses:
        for byte in range(address, address + size):
            touched[byte // 32] = touched.get(byte // 32, 0) | 1 << byte % 32
    return dict(sorted(touched.items()))


def atomic_accesses(addresses: list[int], size: int) -> list[tuple[int, int]]:
    """(sector, mask of bytes) of each access, the highest sector first: meeting a byte twice takes another."""
    found: dict[int, list[int]] = {}
    for address in addresses:
        mask = ((1 << size) - 1) << address % 32
        masks = found.setdefault(address // 32, [])
        free = next((place for place, known in enumerate(masks) if not known & mask), None)
        if free is None:
            masks.append(mask)
        else:
            masks[free] |= mask
    return [(sector, mask) for sector in sorted(found, reverse=True) for mask in reversed(found[sector])]


def local_sectors(lanes: dict[int, int], size: int, threads: int) -> Sectors:
    """Sectors of the lanes' offsets in local memory, where a word of all ``threads`` lies together.

    It begins where Accel-Sim has it: 80 SMs' shared memory and their 4,096 threads' local memory before the heap.
    """
    start = 2**64 + 0xC0000000 - 80 * 96 * 1024 - 80 * 4096 * 16384
    bytes_of = [
        start + (offset // 4 * threads + lane) * 4 + offset % 4
        for lane, first in lanes.items()
        for offset in range(first, first + size)
    ]
    return sectors(bytes_of, 1)


def bank_cycles(addresses: list[int], size: int, banks: int = 32) -> int:
    """Most different 4 B words that one of the banks has to give."""
    words = {word for address in addresses for word in range(address // 4, (address + size - 1) // 4 + 1)}
    return max(sum(word % banks == bank for word in words) for bank in range(banks))


def broadcast_cycles(addresses: list[int], banks: int) -> int:
    """Most lanes that one of the banks has to serve, where the lanes of one word only count as one.

    That word is the lowest in the lowest bank from which several lanes want the same one.
    """
    wanted = Counter(address // 4 for address in addresses)
    shared = min(((word % banks, word) for word, lanes in wanted.items() if lanes > 1), default=(0, -1))[1]
    load = Counter[int]()
    for word, lanes in wanted.items():
        load[word % banks] += 1 if word == shared else lanes
    return max(load.values())
