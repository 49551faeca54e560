"""Vulkan-Sim's dump of its RT unit as a trace of rays: ``python -m formats import``.

Source: ``docs/sources/vulkan-sim.md#golden-dumps``.

Each ``A`` line, a warp that enters the RT unit of an SM, becomes a visit of a block that holds one trace instruction;
the warps of a dump are the warp slots of its SMs. A dump has neither shader
instructions nor hits: rays have their records and no ``hit_t``. Times (lines ``M``, ``R`` and ``D``) are results and
are left out.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.guard.xz import open_packed
from rayplay.formats.schema.trace import NODE_HIT_BIT, NODE_KINDS

LANES = 32
TRIANGLE_HIT = 5
KINDS = tuple(
    NODE_KINDS.index(name)
    for name in ("header", "internal", "instance", "descriptor", "triangle", "triangle", "procedural")
)
"""Vulkan-Sim's record type -> kind of ``formats.schema.trace``; type 5 is a triangle that was hit."""
LINES = ("A", "T", "M", "R", "D")
COORDINATES = tuple(f"{name}_{axis}" for name in ("origin", "direction") for axis in "xyz")
MOST_BYTES = 128
LONGEST_LINE = 1 << 20
LARGEST = float(np.finfo(np.float32).max)

Record = tuple[int, int, int]
"""Address, bytes and Vulkan-Sim's type of a record."""


@dataclass
class Call:
    """One trace call of a warp: lane -> (eight numbers of the ray, its records), and lane -> its stores into the
    intersection table, which are work of the RT unit and no records."""

    sm: int
    slot: int
    uid: int
    cycle: int
    rays: dict[int, tuple[list[float], list[Record]]] = field(default_factory=dict)
    stores: dict[int, list[Record]] = field(default_factory=dict)


@dataclass
class Nodes:
    """Every different (address, bytes, kind), in the order of first use."""

    numbers: dict[Record, int] = field(default_factory=dict)

    def add(self, record: Record) -> int:
        """The number of a record, with the hit bit where the triangle was hit."""
        address, size, kind = record
        number = self.numbers.setdefault((address, size, KINDS[kind]), len(self.numbers))
        return number | (NODE_HIT_BIT if kind == TRIANGLE_HIT else 0)

    def table(self) -> dict[str, Any]:
        """The columns of ``nodes``."""
        address, size, kind = np.array(list(self.numbers), np.uint64).reshape(-1, 3).T
        return {"node_id": range(len(self.numbers)), "address": address, "bytes": size, "kind": kind}


def import_vulkan_sim(path: Path, out: Path) -> None:
    """Write the trace of a dump, ``NAME.txt`` or ``NAME.txt.xz``. ``FormatError`` names the line that does not fit."""
    nodes = Nodes()
    warps: dict[tuple[int, int], list[Call]] = {}
    for call in tqdm(read_calls(path), desc="import", unit="call", disable=None):
        warps.setdefault((call.sm, call.slot), []).append(call)
        for _, records in call.rays.values():
            for record in records:
                nodes.add(record)
    if not warps:
        raise FormatError(f"{path}: must hold at least one line 'A sm warp uid cycle'")
    with TraceWriter(out, {"command": "formats import", "source": path.name}) as writer:
        for name, columns in static_tables(len(warps)).items():
            writer.put(name, columns)
        writer.put("nodes", nodes.table())
        for number, slot in enumerate(sorted(warps)):
            put_warp(writer, number, warps[slot], nodes)


def read_lines(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Place and words of each line of a dump; ``FormatError`` for a line of another kind."""
    try:
        with io.TextIOWrapper(open_packed(path), encoding="utf-8") as file:
            for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), ""), 1):
                words, place = line.split(), f"{path}:{number}"
                if len(line) == LONGEST_LINE:
                    raise FormatError(f"{place}: a line must be shorter than {LONGEST_LINE} characters")
                if words and words[0] not in LINES:
                    raise FormatError(f"{place}: must begin with A, T, M, R or D, found {words[0]!r}")
                if words:
                    yield place, words
    except UnicodeDecodeError as error:
        raise FormatError(f"cannot be read: {error}", file=path) from None


def read_calls(path: Path) -> Iterator[Call]:
    """The trace calls of a dump in the order of its ``A`` lines."""
    call: Call | None = None
    for place, words in read_lines(path):
        if words[0] == "A":
            if call is not None:
                yield call
            call = _call(words, place)
        elif words[0] == "T":
            if call is None:
                raise FormatError(f"{place}: a ray must follow a line 'A sm warp uid cycle'")
            lane, ray, stores = _ray(words, place)
            call.rays[lane], call.stores[lane] = ray, stores
    if call is not None:
        yield call


def _call(words: list[str], place: str) -> Call:
    if len(words) != 5 or not all(word.isascii() and word.isdigit() and len(word) < 19 for word in words[1:]):
        raise FormatError(f"{place}: must be 'A sm warp uid cycle', found {' '.join(words)[:60]!r}")
    sm, slot, uid, cycle = map(int, words[1:])
    return Call(sm, slot, uid, cycle)


def _ray(words: list[str], place: str) -> tuple[int, tuple[list[float], list[Record]], list[Record]]:
    try:
        lane, numbers = int(words[1]), [float(word) for word in words[2:10]]
    except (ValueError, IndexError):
        raise FormatError(f"{place}: must be 'T lane ox oy oz tmin dx dy dz tmax' and records") from None
    if not 0 <= lane < LANES or len(numbers) != 8:
        raise FormatError(f"{place}: must be a lane below {LANES} and eight numbers, found lane {lane}")
    if any(LARGEST < abs(number) < float("inf") for number in numbers):
        raise FormatError(f"{place}: the numbers of a ray must fit 32 bits, found {max(numbers, key=abs)}")
    records = [_record(word, place) for word in words[10:] if not word.startswith("S")]
    return lane, (numbers, records), [_record(word[1:], place) for word in words[10:] if word.startswith("S")]


def _record(text: str, place: str) -> Record:
    """A record that is written ``address:bytes:type``."""
    words = text.split(":")
    try:
        address, size, kind = int(words[0], 16), int(words[1]), int(words[2])
    except (ValueError, IndexError):
        raise FormatError(f"{place}: a record must be address:bytes:type, found {text!r}") from None
    if not (0 <= kind < len(KINDS) and 0 < size <= MOST_BYTES and 0 <= address < 1 << 64 and len(words) == 3):
        known = f"a type below {len(KINDS)} and at most {MOST_BYTES} bytes"
        raise FormatError(f"{place}: a record must have {known}, found {text!r}")
    return address, size, kind


def static_tables(warps: int) -> dict[str, dict[str, Any]]:
    """One launch of one warp a CTA, and its program of two blocks: a trace call, and the exit."""
    kernel = {
        "kernel_id": 0, "name": "vulkan_sim", "stream": 0, "grid_x": warps, "grid_y": 1, "grid_z": 1, "block_x": LANES,
        "block_y": 1, "block_z": 1, "registers_per_thread": 32, "shared_bytes": 0, "shared_base": 0, "local_base": 0,
        "local_bytes": 0, "source": "ptx",
    }  # fmt: skip
    opcodes = ["trace_ray", "exit"]
    none: dict[str, list[int]] = {}
    for name in ("destination_registers", "source_registers"):
        none |= {name: [], f"{name}_offset": [0, 0, 0]}
    return {
        "kernels": {name: [value] for name, value in kernel.items()},
        "instructions": {
            "kernel_id": [0, 0], "instruction_id": [0, 1], "block_id": [0, 1], "opcode": opcodes,
            "operation_class": ["trace", "exit"], "memory_space": ["none"] * 2, "access_bytes": [0, 0], **none,
            "line": [0, 0], "text": opcodes,
        },
        "blocks": {
            "kernel_id": [0, 0], "block_id": [0, 1], "first_instruction": [0, 1], "instruction_count": [1, 1],
            "reconvergence_block": [-1, -1], "program": ["vulkan_sim"] * 2,
        },
        "warps": {
            "kernel_id": [0] * warps, "warp_id": range(warps), "cta_id": range(warps), "warp_in_cta": [0] * warps,
            "launched_mask": [0xFFFF_FFFF] * warps,
        },
    }  # fmt: skip


def put_warp(writer: TraceWriter, warp: int, calls: list[Call], nodes: Nodes) -> None:
    """The visits and rays of one warp slot."""
    masks = [sum(1 << lane for lane in call.rays) for call in calls]
    visits = [(0, mask) for mask in masks if mask] + [(1, 0xFFFF_FFFF)]
    writer.put("visits", {
        "warp_id": [warp] * len(visits), "block_id": [block for block, _ in visits],
        "active_mask": np.array([mask for _, mask in visits], np.uint32),
    })  # fmt: skip
    rows = [
        (visit, lane, *call.rays[lane])
        for visit, call in enumerate(call for call in calls if call.rays)
        for lane in sorted(call.rays)
    ]
    numbers = np.array([numbers for _, _, numbers, _ in rows], np.float32).reshape(-1, 8)
    lists = [[nodes.add(record) for record in records] for *_, records in rows]
    count = len(rows)
    writer.put("rays", {
        "warp_id": [warp] * count, "visit": [row[0] for row in rows], "instruction_id": [0] * count,
        "lane": [row[1] for row in rows], "segment": [0] * count, "kind": [0] * count,
        **dict(zip(COORDINATES, numbers[:, [0, 1, 2, 4, 5, 6]].T, strict=True)),
        "t_min": numbers[:, 3], "t_max": numbers[:, 7], "hit_t": np.full(count, np.inf, np.float32),
        "instance": [-1] * count, "primitive": [-1] * count,
        "node": np.array([record for records in lists for record in records], np.uint32),
        "node_offset": np.cumsum([0, *map(len, lists)]),
    })  # fmt: skip
