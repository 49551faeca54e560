"""Coalescer: the lanes' addresses of a memory instruction to the 32 B sectors, or shared-memory cycles, they take.

It has no timing of its own, so it runs once, while the trace is loaded. Global accesses become their different sectors,
the highest first, as Accel-Sim's LD/ST unit takes them; atomics need one access more for each lane that meets a
byte twice. Local memory is interleaved: word w of all threads of an SM lies together. A shared access takes as many
cycles as the worst bank has different 4 B words. Parts of a warp (``lsu.warp_parts``) share none of this. Source:
``docs/sources/accel-sim.md#coalescing, #local-memory, #shared-memory``.
"""

from typing import Any, NamedTuple

import numpy as np

from rayplay.replay.input import work as op
from rayplay.replay.jit.bits import FAR, compiled, count_bits, entry_point, lowest_bit

MOST_WORDS, MOST_BANKS = 32 * 32, 64
SCRATCH_WORDS = (
    2 * MOST_WORDS + MOST_BANKS
)  # different words of an access, the lanes of each, and the load of each bank
GLOBAL, SHARED, GENERIC, LOCAL = range(4)  # spaces of Static
LOCAL_BITS = (1 << 40) - 1
WIDE = {"a2d", "a2dms", "3d", "cube", "acube"}  # geometries
BLOCKS_START = 1 << 48  # above every traced address and what the RT unit stores
SASS_LOCAL_BYTES = 1 << 14  # of all threads, as Accel-Sim tells generic local addresses
# Local memory as Accel-Sim places it: before the heap at 3 GiB, the shared memory of 80 SMs, and the local memory of 80
# SMs of 4,096 threads, in unsigned 64-bit addresses, so at their end.
LOCAL_START_SECTOR = ((1 << 64) + (3 << 30) - 80 * (96 << 10) - 80 * 4096 * SASS_LOCAL_BYTES) >> 5
LOCAL_SECTORS = 1 << 58  # interleaved local memory lies beyond


class Static(NamedTuple):
    """Fields of each static instruction and its launch that the coalescer reads."""

    access_bytes: np.ndarray  # int64[instructions]
    atomic: np.ndarray  # bool[instructions]
    texture: np.ndarray  # bool[instructions]
    colour: np.ndarray  # bool[instructions]: stores that IS_COLOUR marks
    space: np.ndarray  # int64[instructions]: GLOBAL, SHARED, GENERIC or LOCAL
    shared_window: np.ndarray  # int64[instructions, 2]: generic addresses of shared memory, first and end
    local_window: np.ndarray  # int64[instructions, 2]: generic addresses of local memory, first and end
    thread_bytes: np.ndarray  # int64[instructions]: local memory of a thread; 0: addresses are offsets in it
    local_sectors: np.ndarray  # int64[instructions]: sectors of one word of all threads that the GPU holds; 0: as it is
    cta_warps: np.ndarray  # int64[instructions]: warps of a CTA
    request_lanes: np.ndarray  # int64[instructions]: lanes of a request of the texture unit; 0: without one
    wide: np.ndarray  # bool[instructions]: texture accesses that IS_WIDE_TEXTURE marks
    block_bytes: int  # that a thread's local memory of PTX is rounded up to where it is not interleaved; 0: as traced
    wide_conflicts: bool  # every word of a wide shared access counts, not only its first
    shared_banks: int
    one_broadcast: bool  # one word of a shared access is broadcast; lanes read the others one after another
    warp_parts: int  # of a warp, coalesced one after another


class Rows(NamedTuple):
    """Memory instructions as the trace has them, one row each."""

    instruction: np.ndarray  # int64[rows]
    lane_mask: np.ndarray  # uint32[rows]
    lane_first: np.ndarray  # int64[rows + 1]
    address: np.ndarray  # int64[lanes]


class Accesses(NamedTuple):
    """Sectors of the accesses; room for ``most_sectors``."""

    first: np.ndarray  # int64[rows + 1]: first sector
    conflict: np.ndarray  # uint8[rows]: as ``work.Work`` has it
    sector: np.ndarray  # int64[sectors]
    byte_mask: np.ndarray  # uint32[sectors]


@entry_point
def coalesce(rows: Rows, static: Static, accesses: Accesses, words: np.ndarray) -> int:
    """Fill ``accesses``; returns the sectors. ``words`` is int64[SCRATCH_WORDS] of scratch."""
    total = 0
    accesses.first[0] = 0
    for row in range(rows.instruction.size):
        number = rows.instruction[row]
        begin, end = np.int64(rows.lane_first[row]), np.int64(rows.lane_first[row + 1])
        space = space_of(static, number, rows.address[begin] if end > begin else 0)
        size = max(static.access_bytes[number], 1)
        start = total
        accesses.conflict[row] = op.IS_TEXTURE * static.texture[number]
        if static.wide[number]:
            accesses.conflict[row] = op.IS_WIDE_TEXTURE
        if static.colour[number] and space == GLOBAL:
            accesses.conflict[row] = op.IS_COLOUR
        if space == SHARED:
            accesses.conflict[row] = shared_cycles(rows, static, row, size, words)
        elif static.request_lanes[number]:
            total = add_requests(rows, accesses, row, size, static.request_lanes[number], start)
            start = total
        else:
            if space == LOCAL and static.local_sectors[number]:
                accesses.conflict[row] = op.IS_LOCAL + static.cta_warps[number]
            total = add_parts(rows, static, accesses, row, space, start)
        reverse(accesses, start, total)
        accesses.first[row + 1] = total
    return total


@compiled
def space_of(static: Static, number: int, address: int) -> int:
    """Space that a generic access of an instruction means, by its first lane's address."""
    space = static.space[number]
    if space == GENERIC:
        space = GLOBAL
        if static.shared_window[number, 0] <= address < static.shared_window[number, 1]:
            space = SHARED
        elif static.local_window[number, 0] <= address < static.local_window[number, 1]:
            space = LOCAL
    return space


@compiled
def in_block(static: Static, number: int, address: int) -> int:
    """Address of a local access when each thread has blocks of its own for its local memory.

    The first blocks of 32 threads, a warp where CTAs have whole ones, lie side by side, then the second ones: as when
    each block is a variable that all of them allocate at once (``docs/sources/vulkan-sim.md#thread-variables``).
    """
    size = static.thread_bytes[number]
    if size == 0:
        return address
    thread, place = divmod(address - static.local_window[number, 0], size)
    block, rest = divmod(place, static.block_bytes)
    blocks = (size + static.block_bytes - 1) // static.block_bytes
    return int(BLOCKS_START + ((thread // 32 * blocks + block) * 32 + thread % 32) * static.block_bytes + rest)


@compiled
def add_lane(accesses: Accesses, start: int, stop: int, low: int, size: int, atomic: bool) -> int:
    """Note the bytes of a lane in ascending sectors from row ``start`` on; returns the new end."""
    high = low + size - 1
    for number in range(low >> 5, (high >> 5) + 1):
        from_byte: int = max(low - (number << 5), 0)
        to_byte: int = min(high - (number << 5), 31)
        stop = add_bytes(accesses, start, stop, number, ((1 << (to_byte - from_byte + 1)) - 1) << from_byte, atomic)
    return stop


@compiled
def add_requests(rows: Rows, accesses: Accesses, row: int, size: int, lanes: int, start: int) -> int:
    """Add a texture instruction's requests in the order of lanes, each with its sectors; returns the new end.

    Further sectors of the texels lie in the order of lanes: they are dealt out evenly over the requests.
    """
    stop, place, mask = start, np.int64(rows.lane_first[row]), np.int64(rows.lane_mask[row])
    further, requests, number = place, 0, 0
    for lane in range(op.LANES):
        further += (mask >> lane) & 1
    for request in range(op.LANES // lanes):
        requests += (mask >> request * lanes) & ((1 << lanes) - 1) != 0
    behind = np.int64(rows.lane_first[row + 1]) - further
    for request in range(op.LANES // lanes):
        if (mask >> request * lanes) & ((1 << lanes) - 1) == 0:
            continue
        first = stop
        for lane in range(request * lanes, (request + 1) * lanes):
            if (mask >> lane) & 1:
                stop = add_lane(accesses, first, stop, rows.address[place], size, False)
                place += 1
        number += 1
        while further < rows.lane_first[row + 1] - behind + number * behind // requests:
            stop = add_lane(accesses, first, stop, rows.address[further], 1, False)
            further += 1
        reverse(accesses, first, stop)
        accesses.byte_mask[first:stop] = request
    return stop


@compiled
def add_bytes(accesses: Accesses, start: int, stop: int, number: int, mask: int, atomic: bool) -> int:
    """Add bytes to a sector's access, or make one: for atomics too where all of them have one of the bytes."""
    sector, byte_mask = accesses.sector, accesses.byte_mask
    place = stop
    while place > start and sector[place - 1] > number:
        place -= 1
    known, here = -1, place - 1
    while here >= start and sector[here] == number:
        if not atomic or not int(byte_mask[here]) & mask:
            known = here
        here -= 1
    if known >= 0:
        byte_mask[known] |= mask
        return stop
    for moved in range(stop, place, -1):
        sector[moved] = sector[moved - 1]
        byte_mask[moved] = byte_mask[moved - 1]
    sector[place] = number
    byte_mask[place] = mask
    return stop + 1


@compiled
def part_lanes(rows: Rows, row: int, part: int, parts: int) -> int:
    """Active lanes of a part of a warp, as a mask."""
    width = op.LANES // parts
    return int(np.int64(rows.lane_mask[row]) & ((1 << width) - 1) << part * width)


@compiled
def shared_cycles(rows: Rows, static: Static, row: int, size: int, words: np.ndarray) -> int:
    """Cycles of a shared access: of its parts one after another."""
    if static.warp_parts == 1:
        return bank_cycles(static, rows.address, rows.lane_first[row], rows.lane_first[row + 1], size, words)
    begin, cycles = np.int64(rows.lane_first[row]), 0
    for part in range(static.warp_parts):
        end = begin + count_bits(part_lanes(rows, row, part, static.warp_parts))
        if end > begin:
            cycles += bank_cycles(static, rows.address, begin, end, size, words)
        begin = end
    return max(cycles, 1)


@compiled
def add_parts(rows: Rows, static: Static, accesses: Accesses, row: int, space: int, start: int) -> int:
    """Add the sectors of a row, of each part of the warp apart; texels of the whole warp. Returns the new end."""
    number = rows.instruction[row]
    parts = 1 if static.texture[number] else static.warp_parts
    stop, begin = start, np.int64(rows.lane_first[row])
    for part in range(parts):
        lanes = part_lanes(rows, row, part, parts)
        end = begin + count_bits(lanes) if parts > 1 else np.int64(rows.lane_first[row + 1])
        if space == LOCAL and static.local_sectors[number]:
            stop = add_local(rows, static, accesses, number, lanes, begin, stop)
        else:
            stop = add_lanes(rows, static, accesses, number, space, begin, end, stop)
        begin = end
    return stop


@compiled
def add_lanes(
    rows: Rows, static: Static, accesses: Accesses, number: int, space: int, begin: int, end: int, start: int
) -> int:
    """Add the sectors of some lanes' addresses; returns the new end."""
    stop, size = start, max(static.access_bytes[number], 1)
    for lane in range(begin, end):
        address = rows.address[lane]
        if space == LOCAL and static.block_bytes:
            address = in_block(static, number, address)
        stop = add_lane(accesses, start, stop, address, size, static.atomic[number])
    return stop


@compiled
def add_local(rows: Rows, static: Static, accesses: Accesses, number: int, lanes: int, place: int, start: int) -> int:
    """Add words of local memory of some lanes, as of warp 0 of CTA place 0 of SM 0; returns the new end.

    place  of the first lane's address.
    """
    stop = start
    size, thread_bytes = static.access_bytes[number], static.thread_bytes[number]
    while lanes:
        lane = lowest_bit(lanes)
        lanes &= lanes - 1
        offset = rows.address[place]
        if thread_bytes:
            offset = (offset - static.local_window[number, 0]) % thread_bytes
        offset &= LOCAL_BITS
        place += 1
        for word in range(offset >> 2, max((offset >> 2) + 1, (offset + size) >> 2)):
            mask = 15 if size >= 4 else ((1 << size) - 1) << (offset & 3)
            sector = LOCAL_START_SECTOR + word * static.local_sectors[number] + (lane >> 3)
            stop = add_bytes(accesses, start, stop, sector, mask << (4 * (lane & 7)), False)
    return stop


@compiled
def reverse(accesses: Accesses, start: int, stop: int) -> None:
    """Turn the order of some accesses around."""
    for step in range((stop - start) // 2):
        low, high = start + step, stop - 1 - step
        accesses.sector[low], accesses.sector[high] = accesses.sector[high], accesses.sector[low]
        accesses.byte_mask[low], accesses.byte_mask[high] = accesses.byte_mask[high], accesses.byte_mask[low]


@compiled
def bank_cycles(static: Static, address: np.ndarray, begin: int, end: int, size: int, words: np.ndarray) -> int:
    """Cycles of a shared access: the most different 4 B words, or lanes' words, that one of the banks has to give."""
    lanes, load, count = words[MOST_WORDS:], words[2 * MOST_WORDS :], 0
    size = size if static.wide_conflicts else 1
    for lane in range(begin, end):
        for word in range(address[lane] >> 2, ((address[lane] + size - 1) >> 2) + 1):
            known = 0
            while known < count and words[known] != word:
                known += 1
            if known == count and count < MOST_WORDS:
                words[count], lanes[count] = word, 0
                count += 1
            lanes[known] += 1
    broadcast = broadcast_word(static, words, lanes, count) if static.one_broadcast else -1
    load[: static.shared_banks] = 0
    worst = 1
    for place in range(count):
        bank = words[place] % static.shared_banks
        load[bank] += lanes[place] if static.one_broadcast and place != broadcast else 1
        worst = max(worst, load[bank])
    return worst


@compiled
def broadcast_word(static: Static, words: np.ndarray, lanes: np.ndarray, count: int) -> int:
    """Of the words that several lanes want, the lowest of the lowest bank: its place, or -1."""
    best = -1
    for place in range(count):
        bank, of_best = words[place] % static.shared_banks, words[best] % static.shared_banks if best >= 0 else FAR
        if lanes[place] > 1 and (bank < of_best or (bank == of_best and words[place] < words[best])):
            best = place
    return best


def is_wide(opcode: str) -> bool:
    """Whether a texture instruction of PTX has a third coordinate: an array's layer, a cube's or a volume's."""
    return not WIDE.isdisjoint(str(opcode).split("."))


def static_of(
    instructions: dict[str, Any], kernels: dict[str, Any], cta_warps: np.ndarray, held_ctas: np.ndarray,
    lsu: Any, unit: Any = None, draws_colours: np.ndarray | None = None,
) -> Static:  # fmt: skip
    """The coalescer's fields of a trace's columns.

    cta_warps      int64[kernels]: warps of a CTA.
    held_ctas      int64[kernels]: CTAs that all SMs together hold; 0 does not interleave local memory.
    lsu            description of the load/store unit.
    unit           description of the texture unit; None: without one.
    draws_colours  bool[kernels]: fragment shaders whose stores have a rate; None: no kernel.
    """
    kernel, spaces = instructions["kernel_id"], instructions["memory_space"].astype(str)
    shared, local = (kernels[f"{name}_base"].astype(np.int64) for name in ("shared", "local"))
    thread_bytes = kernels["local_bytes"].astype(np.int64)
    threads = np.prod([kernels[f"{of}_{axis}"].astype(np.int64) for of in ("grid", "block") for axis in "xyz"], axis=0)
    sass = kernels["source"].astype(str) == "sass"
    # Accel-Sim: without both bases all generic accesses are shared; else shared memory ends where local memory begins
    unknown = sass & ((shared == 0) | (local == 0))
    shared_end = np.where(unknown, FAR, np.where(sass, local, shared + kernels["shared_bytes"].astype(np.int64)))
    local_end = local + np.where(sass, SASS_LOCAL_BYTES, thread_bytes * threads)
    classes = instructions["operation_class"].astype(str)
    atomic = classes == "atomic"
    spaces = np.where(atomic & sass[kernel] & (spaces == "generic"), "global", spaces)  # as Accel-Sim takes them
    textures = classes == "texture"
    wide = textures & (unit is not None) & np.array([is_wide(opcode) for opcode in instructions["opcode"]], bool)
    lanes = (0, 0) if unit is None else (4 * unit.quads_per_request, 4 * unit.quads_per_wide_request)
    return Static(
        instructions["access_bytes"].astype(np.int64),
        atomic,
        textures,
        (classes == "store") & (False if draws_colours is None else draws_colours[kernel]),
        np.select([spaces == "shared", spaces == "generic", spaces == "local"], [SHARED, GENERIC, LOCAL], GLOBAL),
        np.stack([np.where(unknown, 0, shared), shared_end], axis=1)[kernel],
        np.stack([local, local_end], axis=1)[kernel],
        thread_bytes[kernel],
        (held_ctas * cta_warps * 4)[kernel],
        cta_warps[kernel],
        np.where(wide, lanes[1], lanes[0]) * textures,
        wide,
        lsu.local_block_bytes,
        lsu.wide_conflicts,
        lsu.shared_banks,
        lsu.one_broadcast,
        lsu.warp_parts,
    )


def most_sectors(lanes: int, instruction: np.ndarray, access_bytes: np.ndarray) -> int:
    """Room that surely suffices for the accesses of some rows: a local lane takes one for each of its words."""
    widest = int(access_bytes[instruction].max(initial=1)) if instruction.size else 1
    return lanes * max((widest + 30) // 32 + 1, widest // 4)
