"""Kernels, CTAs and warps of a trace with a characterisation, as lists of executed instructions."""

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.schema.trace import NODE_KINDS
from tests.reference.rt_unit_slow_parts import TRIANGLE_HIT, Lane

from .config import UNITS, CharacterisedConfig

RECORDED = ("global", "shared", "local", "generic", "texture")
NODE_NUMBER = (1 << 31) - 1
TABLE_ROW, TABLE_DATA = 384, 128  # bytes of a row of an intersection table; where its primitives begin


@dataclass(frozen=True)
class Instruction:
    """Static facts of an instruction.

    unit, stall, initiation, slot, waits  as the characterisation has them; slot -1 for none.
    space       global, shared, local, texture; '' where it accesses no memory.
    is_load     a load, an atomic or a texture access: data comes back for it.
    has_result  a load, or an atomic whose result is used: its slot waits for the data.
    bypasses    goes to the L2 past the L1.
    """

    unit: str
    stall: int
    initiation: int
    slot: int
    waits: frozenset[int]
    space: str = ""
    bytes: int = 0
    is_load: bool = False
    has_result: bool = False
    is_store: bool = False
    is_atomic: bool = False
    bypasses: bool = False
    is_barrier: bool = False
    is_fence: bool = False
    is_texture: bool = False
    opcode: str = ""


@dataclass
class Executed:
    """One execution: active lanes, addresses of the lanes that accessed memory, rays traced after it by lane."""

    instruction: Instruction
    mask: int
    addresses: dict[int, int] = field(default_factory=dict)
    rays: dict[int, "Ray"] = field(default_factory=dict)


@dataclass(frozen=True)
class Ray:
    """A stretch of a ray: records (address, bytes, kind), offsets of its stores in its warp's intersection table."""

    records: tuple[tuple[int, int, int], ...]
    stores: tuple[int, ...]
    begins: bool
    early_out: bool

    def lane(self, table: int) -> Lane:
        """The lane of the RT unit that follows it. table: address of the warp's intersection table."""
        return Lane(deque(self.records), [table + offset for offset in self.stores], self.begins, self.early_out)


@dataclass
class Kernel:
    """A launch. ``ctas``: those with work; of each warp of a CTA what it executes, maybe nothing."""

    number: int
    stream: int
    threads: int
    grid: int
    registers: int
    shared_bytes: int
    copies: list[tuple[int, int]]
    ctas: list[list[list[Executed]]]

    @property
    def warps(self) -> int:
        """Of a CTA."""
        return max(1, -(-self.threads // 32))


def load(path: Path, config: CharacterisedConfig) -> list[Kernel]:
    """The launches of a trace in order, with the copies from the host before each."""
    trace = open_trace(path)
    table = trace.read("kernels")
    ctas: dict[int, dict[int, list[list[Executed]]]] = defaultdict(dict)
    for kernel, cta, executed in _warps(trace, table, config):
        ctas[kernel].setdefault(cta, []).append(executed)
    copies = defaultdict(list)
    if "copies" in trace.tables:
        rows = trace.read("copies")
        for kernel, address, count in zip(rows["kernel_id"], rows["address"], rows["bytes"], strict=True):
            copies[int(kernel)].append((int(address), int(count)))
    return [
        Kernel(
            number, int(table["stream"][number]), _product(table, "block", number), _product(table, "grid", number),
            int(table["registers_per_thread"][number]), int(table["shared_bytes"][number]), copies[number],
            [warps for _, warps in sorted(ctas[number].items()) if any(warps)],
        )
        for number in range(len(table["name"]))
    ]  # fmt: skip


def _product(table: dict, name: str, row: int) -> int:
    return int(table[f"{name}_x"][row]) * int(table[f"{name}_y"][row]) * int(table[f"{name}_z"][row])


def _warps(trace: Trace, kernels: dict, config: CharacterisedConfig) -> Iterator[tuple[int, int, list[Executed]]]:
    """(kernel, CTA, what it executes) of each warp."""
    instructions = _instructions(trace, config)
    blocks = _columns(trace, "blocks", "first_instruction", "instruction_count")
    visits, accesses, rays = _visits(trace), _accesses(trace), _rays(trace, config)
    for warp, (kernel, cta) in enumerate(_columns(trace, "warps", "kernel_id", "cta_id")):
        found = []
        for visit, (block, mask) in enumerate(visits[warp]):
            first, count = blocks[block]
            for number in range(first, first + count):
                addresses = accesses.get((warp, visit, number), {})
                found.append(resolved(Executed(instructions[number], mask, addresses), kernels, kernel))
            found[-1].rays = rays[warp, visit]
        yield kernel, cta, found


def resolved(executed: Executed, kernels: dict, kernel: int) -> Executed:
    """A generic access is to the space that holds its first address; local addresses are those in a thread's own."""
    instruction, addresses = executed.instruction, executed.addresses
    if not addresses or instruction.space not in ("generic", "local"):
        return executed
    base, size = int(kernels["local_base"][kernel]), int(kernels["local_bytes"][kernel])
    threads, shared = _product(kernels, "block", kernel) * _product(kernels, "grid", kernel), kernels["shared_base"]
    space, address = instruction.space, next(iter(addresses.values()))
    if space == "generic":
        is_shared = 0 <= address - int(shared[kernel]) < int(kernels["shared_bytes"][kernel])
        space = "shared" if is_shared else "local" if 0 <= address - base < size * threads else "global"
    if space == "local" and size:
        addresses = {lane: (address - base) % size for lane, address in addresses.items()}
    changed = Instruction(**{**vars(instruction), "space": space})
    return Executed(changed, executed.mask, addresses)


def _columns(trace: Trace, table: str, *names: str) -> list[tuple[int, ...]]:
    columns = trace.read(table)
    return list(zip(*(columns[name].tolist() for name in names), strict=True))


def _visits(trace: Trace) -> dict[int, list[tuple[int, int]]]:
    """(block, active lanes) in order, by warp."""
    found = defaultdict(list)
    for warp, block, mask in _columns(trace, "visits", "warp_id", "block_id", "active_mask"):
        found[warp].append((block, mask))
    return found


def _accesses(trace: Trace) -> dict[tuple[int, int, int], dict[int, int]]:
    """Address by lane, by warp, visit and instruction; further sectors of a texture have numbers from 32 on."""
    found = {}
    keys = _columns(trace, "accesses", "warp_id", "visit", "instruction_id", "lane_mask")
    for (*key, mask), addresses in zip(keys, _ragged(trace.read("accesses"), "address"), strict=True):
        lanes = [lane for lane in range(32) if mask >> lane & 1]
        further = range(32, 32 + len(addresses) - len(lanes))
        found[tuple(key)] = dict(zip((*lanes, *further), addresses, strict=True))
    return found


def _ragged(table: dict, name: str) -> Iterator[list[int]]:
    values, offsets = table[name].tolist(), table[f"{name}_offset"].tolist()
    for first, end in pairwise(offsets):
        yield values[first:end]


def _rays(trace: Trace, config: CharacterisedConfig) -> dict[tuple[int, int], dict[int, Ray]]:
    """The stretches that start after a visit, by warp and visit, then by lane."""
    found: dict[tuple[int, int], dict[int, Ray]] = defaultdict(dict)
    if "rays" not in trace.tables:
        return found
    nodes = _columns(trace, "nodes", "address", "bytes", "kind")
    rows = _columns(trace, "rays", "warp_id", "visit", "lane", "segment", "kind")
    for (warp, visit, lane, segment, kind), path in zip(rows, _ragged(trace.read("rays"), "node"), strict=True):
        records = tuple(
            (*nodes[node & NODE_NUMBER][:2], TRIANGLE_HIT if node > NODE_NUMBER else nodes[node][2]) for node in path
        )
        entries = sum(kind == NODE_KINDS.index("procedural") for *_, kind in records) * config.rt.table
        stores = [
            row * TABLE_ROW + part for row in range(entries) for part in (4 * lane, TABLE_DATA + 8 * lane)
        ]  # fmt: skip
        found[warp, visit][lane] = Ray(records, tuple(stores), segment == 0, kind != 0)
    return found


def _instructions(trace: Trace, config: CharacterisedConfig) -> list[Instruction]:
    static, timing = trace.read("instructions"), trace.read("characterisation")
    names = ("unit", "stall_cycles", "initiation_cycles", "scoreboard_slot", "wait_mask")
    rows = zip(*(timing[name].tolist() for name in names), strict=True)
    words = zip(*(static[name] for name in ("opcode", "operation_class", "memory_space", "access_bytes")), strict=True)
    return [
        decode(str(opcode), str(kind), str(space), int(size), row, config)
        for (opcode, kind, space, size), row in zip(words, rows, strict=True)
    ]


def decode(
    opcode: str, kind: str, space: str, size: int, row: tuple[int, ...], config: CharacterisedConfig
) -> Instruction:
    """An instruction of PTX. row: unit, stall, initiation, slot and wait mask of its characterisation."""
    unit, stall, initiation, slot, mask = row
    waits = frozenset(number for number in range(6) if mask >> number & 1)
    timing = (UNITS[unit], max(stall, 1), initiation, slot, waits)
    parts = opcode.split(".")
    if kind not in ("load", "store", "atomic", "texture") or space not in RECORDED:
        is_barrier = kind == "barrier" and parts[:2] != ["bar", "warp"] and "arrive" not in parts
        return Instruction(*timing, is_barrier=is_barrier, is_fence=kind == "fence")
    if space == "texture" and not config.textures:
        space = "global"
    if kind in ("load", "texture"):
        timing = ("lsu", *timing[1:])
    is_reduction, is_store, is_atomic = parts[0] == "red", kind == "store", kind == "atomic"
    bypasses = is_atomic or (kind == "load" and passes_l1(parts))
    return Instruction(
        *timing,
        space,
        size,
        not is_store,
        not is_store and not is_reduction,
        is_store,
        is_atomic,
        bypasses,
        is_texture=kind == "texture",
        opcode=opcode,
    )


def passes_l1(parts: list[str]) -> bool:
    """Whether a load must see what other SMs wrote: volatile, cached in the L2 alone, or ordered for the whole GPU."""
    is_ordered = not {"relaxed", "acquire"}.isdisjoint(parts) and not {"gpu", "sys"}.isdisjoint(parts)
    return is_ordered or not {"volatile", "cg", "cv"}.isdisjoint(parts[1:])
