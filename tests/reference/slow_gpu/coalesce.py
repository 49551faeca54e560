"""From the addresses of a warp's lanes to 32 B accesses, and the bank conflicts of shared memory."""

from dataclasses import dataclass

from .warp import Op

SECTOR = 32
LINE = 128


@dataclass
class Access:
    """One sector of one instruction: its address and the bytes of its line that are meant (bit k: byte k)."""

    address: int
    bytes: int
    lanes: int


def _bytes(address: int, size: int) -> int:
    first = address % LINE
    return sum(1 << byte for byte in range(first, min(first + size, LINE)))


def sectors(op: Op) -> list[Access]:
    """The sectors that the lanes touch, by address."""
    found: dict[int, Access] = {}
    size = op.instruction.bytes
    for lane, address in sorted(op.addresses.items()):
        last = address + size - 1
        for begin in (address,) if last // SECTOR == address // SECTOR else (address, last):
            sector = begin // SECTOR * SECTOR
            access = found.setdefault(sector, Access(sector, 0, 0))
            access.bytes |= _bytes(begin, size)
            access.lanes |= 1 << lane
    return [found[sector] for sector in sorted(found)]


def atomic_sectors(op: Op) -> list[Access]:
    """As ``sectors``, but lanes that mean the same bytes go apart."""
    found: dict[int, list[Access]] = {}
    for lane, address in sorted(op.addresses.items()):
        sector = address // SECTOR * SECTOR
        wanted = _bytes(address, op.instruction.bytes)
        group = found.setdefault(sector, [])
        access = next((a for a in group if not a.bytes & wanted), None)
        if access is None:
            access = Access(sector, 0, 0)
            group.append(access)
        access.bytes |= wanted
        access.lanes |= 1 << lane
    return [access for sector in sorted(found) for access in found[sector]]


def local_sectors(op: Op, threads: int, residents: int, sm: int, sms: int, start: int) -> list[Access]:
    """Local memory: equal offsets of consecutive threads lie beside each other, 4 B each.

    threads  of a CTA, padded to warps; residents: CTAs that an SM can hold. Legacy order: of an SM, and 1.
    """
    found: dict[int, Access] = {}
    all_threads = threads * residents * sms
    size = op.instruction.bytes
    for lane, offset in sorted(op.addresses.items()):
        thread = op.warp * 32 + lane
        base = 4 * (threads * (sm + sms * (thread // threads)) + thread % threads)
        for word in range(max(1, size // 4)):
            address = (offset // 4 + word) * all_threads * 4 + base + start + (offset % 4 if size < 4 else 0)
            sector = address // SECTOR * SECTOR
            access = found.setdefault(sector, Access(sector, 0, 0))
            access.bytes |= _bytes(address, min(size, 4))
            access.lanes |= 1 << lane
    return [found[sector] for sector in sorted(found)]


def bank_cycles(op: Op) -> int:
    """Most distinct words that one of 32 banks of shared memory has to give."""
    banks: dict[int, set[int]] = {}
    for address in op.addresses.values():
        banks.setdefault(address // 4 % 32, set()).add(address // 4)
    return max((len(words) for words in banks.values()), default=0)
