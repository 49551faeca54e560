"""Sectors of a texture access: what a warp's look-ups touch beside the first texel of each lane.

A look-up notes the sector of each texel that it reads (``note``). At the end (``finish``) the list holds each sector
once, in the order of lanes, samples, levels and texels, without the sectors of the lanes' first texels.
"""

from rayplay.tracer.native.jit import compiled
from rayplay.tracer.native.memory import load_i32, load_i64, store_i64, store_u32
from rayplay.tracer.units.call import ADDRESS_SLOT, SECTORS_SLOT, SLOT_BYTES

ADDRESSES = ADDRESS_SLOT * SLOT_BYTES
SECTOR_SHIFT = 5
MOST = 4096
"""Sectors at most: 32 lanes, 16 samples, two levels, four texels."""
COUNT = SECTORS_SLOT * SLOT_BYTES
LIST = COUNT + 8
HASH_SLOTS = 2 * MOST
HASH = LIST + 8 * MOST
"""int32[HASH_SLOTS]: 1 and the place in the list, 0 where nothing is; all 0 between calls."""
PLACES = HASH + 4 * HASH_SLOTS
"""int32[MOST]: the slot of each sector of the list."""


@compiled
def slot_of(rows: int, sector: int) -> int:
    """The slot that holds a sector, or would."""
    slot = sector * 0x9E3779B1 >> 8 & HASH_SLOTS - 1
    while True:
        place = load_i32(rows + HASH + 4 * slot)
        if place == 0 or load_i64(rows + LIST + 8 * (place - 1)) == sector:
            return slot
        slot = slot + 1 & HASH_SLOTS - 1


@compiled
def note(rows: int, address: int) -> None:
    """Put the sector of an address into the list."""
    sector, count = address >> SECTOR_SHIFT, load_i64(rows + COUNT)
    slot = slot_of(rows, sector)
    if load_i32(rows + HASH + 4 * slot) or count == MOST:
        return
    store_i64(rows + LIST + 8 * count, sector)
    store_u32(rows + HASH + 4 * slot, count + 1)
    store_u32(rows + PLACES + 4 * count, slot)
    store_i64(rows + COUNT, count + 1)


@compiled
def finish(rows: int, mask: int) -> None:
    """Turn the list into addresses of sectors that no lane's first texel is in."""
    for lane in range(32):
        if mask >> lane & 1:
            sector = load_i64(rows + ADDRESSES + 8 * lane) >> SECTOR_SHIFT
            place = load_i32(rows + HASH + 4 * slot_of(rows, sector))
            if place:
                store_i64(rows + LIST + 8 * (place - 1), -1 - sector)
    kept = 0
    for place in range(load_i64(rows + COUNT)):
        sector = load_i64(rows + LIST + 8 * place)
        store_u32(rows + HASH + 4 * load_i32(rows + PLACES + 4 * place), 0)
        if sector >= 0:
            store_i64(rows + LIST + 8 * kept, sector << SECTOR_SHIFT)
            kept += 1
    store_i64(rows + COUNT, kept)
