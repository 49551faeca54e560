"""Statistics of a trace: bytes on disk, instruction mix, divergence and memory footprint, in one pass."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from tqdm import tqdm

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.edit.rows import visit_rows
from rayplay.formats.laws.expect import expect_valid
from rayplay.formats.parquet.arrow import Columns, list_lengths
from rayplay.formats.schema.trace import ACCESSES, MEMORY_SPACES, NODE_HIT_BIT, OPERATION_CLASSES

LANES = 32
SECTOR_SHIFT = 5
TABLES = ("visits", "accesses", "predicates", "rays")


@dataclass
class Statistics:
    """Counts of ``measure``.

    warp_instructions, thread_instructions  int64 per operation class of ``OPERATION_CLASSES``.
    active_lanes   int64[33]: warp instructions of visits with that many active lanes.
    visits, accesses, addresses, rays, records  rows, and items of their lists.
    sectors        different sectors of 32 B that were accessed, per memory space.
    nodes          different BVH records that were fetched.
    """

    warp_instructions: np.ndarray = field(default_factory=lambda: np.zeros(len(OPERATION_CLASSES), np.int64))
    thread_instructions: np.ndarray = field(default_factory=lambda: np.zeros(len(OPERATION_CLASSES), np.int64))
    active_lanes: np.ndarray = field(default_factory=lambda: np.zeros(LANES + 1, np.int64))
    visits: int = 0
    accesses: int = 0
    addresses: int = 0
    rays: int = 0
    records: int = 0
    sectors: dict[str, np.ndarray] = field(default_factory=dict)
    nodes: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))


def measure(trace: Trace) -> Statistics:
    """Count a trace, warp batch by warp batch: memory grows with the footprint alone."""
    expect_valid(trace)
    blocks = trace.read("blocks", ["instruction_count"])["instruction_count"].astype(np.int64)
    instructions = trace.read("instructions", ["block_id", "operation_class", "memory_space", "access_bytes"])
    kinds = _codes(instructions["operation_class"], OPERATION_CLASSES)
    mix = np.zeros((len(blocks), len(OPERATION_CLASSES)), np.int64)
    np.add.at(mix, (instructions["block_id"], kinds), 1)
    found = Statistics()
    names = [name for name in TABLES if name in trace.tables]
    with tqdm(total=trace.rows("warps"), desc="stats", unit="warp", disable=None, leave=False) as progress:
        for first, last, tables in trace.warp_batches(trace.batch_bounds(names), names):
            _count_visits(found, tables["visits"], mix, blocks)
            if "predicates" in tables:
                _count_predicates(found, tables["predicates"], tables["visits"], kinds)
            if "accesses" in tables:
                _count_accesses(found, tables["accesses"], instructions)
            if "rays" in tables:
                _count_rays(found, tables["rays"])
            progress.update(last - first)
    return found


def _codes(names: np.ndarray, values: tuple[str, ...]) -> np.ndarray:
    place = {name: code for code, name in enumerate(values)}
    return np.array([place[name] for name in names], np.int64)


def _count_visits(found: Statistics, visits: Columns, mix: np.ndarray, blocks: np.ndarray) -> None:
    block = visits["block_id"].astype(np.int64)
    lanes = np.bitwise_count(visits["active_mask"]).astype(np.int64)
    found.visits += len(block)
    found.warp_instructions += np.bincount(block, minlength=len(blocks)) @ mix
    found.thread_instructions += np.bincount(block, lanes, len(blocks)).astype(np.int64) @ mix
    found.active_lanes += np.bincount(lanes, blocks[block], LANES + 1).astype(np.int64)


def _count_predicates(found: Statistics, predicates: Columns, visits: Columns, kinds: np.ndarray) -> None:
    """Subtract the lanes that a predicate switched off."""
    active = visits["active_mask"][visit_rows(predicates, visits)]
    idle = np.bitwise_count(active & ~predicates["lane_mask"]).astype(np.int64)
    left_out = np.bincount(kinds[predicates["instruction_id"]], idle, len(OPERATION_CLASSES))
    found.thread_instructions -= left_out.astype(np.int64)


def _count_accesses(found: Statistics, accesses: Columns, instructions: Columns) -> None:
    found.accesses += len(accesses["visit"])
    found.addresses += len(accesses["address"])
    instruction = np.repeat(accesses["instruction_id"], list_lengths(ACCESSES.column("address"), accesses))
    spaces = _codes(instructions["memory_space"], MEMORY_SPACES)[instruction]
    last_byte = np.maximum(instructions["access_bytes"][instruction].astype(np.uint64), 1) - np.uint64(1)
    for code in np.unique(spaces).tolist():
        of_space = spaces == code
        address, end = accesses["address"][of_space], last_byte[of_space]
        touched = [address >> np.uint64(SECTOR_SHIFT), (address + end) >> np.uint64(SECTOR_SHIFT)]
        before = found.sectors.get(MEMORY_SPACES[code], np.zeros(0, np.uint64))
        found.sectors[MEMORY_SPACES[code]] = np.union1d(before, np.unique(np.concatenate(touched)))


def _count_rays(found: Statistics, rays: Columns) -> None:
    found.rays += int((rays["segment"] == 0).sum())
    found.records += len(rays["node"])
    found.nodes = np.union1d(found.nodes, rays["node"] & np.uint32(NODE_HIT_BIT - 1))


def lines(trace: Trace, found: Statistics) -> Iterator[str]:
    """The statistics that ``measure`` found in a trace as text."""
    total = int(found.warp_instructions.sum())
    threads = int(found.thread_instructions.sum())
    disk = sum(trace.manifest.bytes(name) for name in trace.tables)
    yield f"{trace.path}: {trace.rows('kernels'):,} launches, {trace.rows('warps'):,} warps, {disk:,} bytes on disk"
    yield ""
    yield "bytes on disk"
    yield from _density("warp instruction", disk, total)
    yield from _density("block visit", trace.manifest.bytes("visits"), found.visits)
    yield from _density("lane address", trace.manifest.bytes("accesses"), found.addresses)
    yield from _density("ray", trace.manifest.bytes("rays"), found.rays)
    yield ""
    yield f"{'instructions':<14}{'of warps':>16}{'of threads':>18}{'share':>8}{'lanes':>7}"
    for code in np.argsort(-found.warp_instructions, kind="stable").tolist():
        count, lanes = int(found.warp_instructions[code]), int(found.thread_instructions[code])
        if count:
            name = OPERATION_CLASSES[code]
            yield f"  {name:<12}{count:>16,}{lanes:>18,}{count / total:>8.1%}{lanes / count:>7.1f}"
    yield f"  {'all':<12}{total:>16,}{threads:>18,}{'':>8}{threads / max(total, 1):>7.1f}"
    yield ""
    yield from _divergence(found, total)
    yield ""
    yield from _footprint(trace, found)


def _density(what: str, disk: int, count: int) -> Iterator[str]:
    if count:
        yield f"  {disk / count:10.2f} per {what} ({count:,})"


def _divergence(found: Statistics, total: int) -> Iterator[str]:
    yield "divergence: warp instructions by active lanes"
    for low in range(1, LANES, 8):
        count = int(found.active_lanes[low : low + 8].sum())
        yield f"  {low:>2} to {low + 7:>2} lanes {count:>16,}{count / max(total, 1):>8.1%}"


def _footprint(trace: Trace, found: Statistics) -> Iterator[str]:
    yield "footprint: different sectors of 32 B, and BVH records"
    for space in MEMORY_SPACES:
        if space in found.sectors:
            count = len(found.sectors[space])
            yield f"  {space:<10}{count:>14,} sectors{count << SECTOR_SHIFT:>18,} bytes"
    if found.rays:
        nodes = trace.read("nodes", ["bytes"])["bytes"]
        used = int(nodes[found.nodes].astype(np.int64).sum())
        yield f"  {'BVH':<10}{len(found.nodes):>14,} records{used:>18,} bytes"
        yield f"  {found.records / found.rays:.1f} records per ray"
