"""Small valid traces from a seed that use every table: test data without a scene or compiler.

An image launch walks a loop with a divergent branch, predicated loads, trace calls and any-hit code; a compute launch
has shared memory and barriers. The walk obeys every law of ``formats.laws.check``.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.schema.trace import NODE_HIT_BIT, NODE_KINDS, REORDER_CALL
from rayplay.formats.testing.program import Program, columns_of, make_programs
from rayplay.formats.testing.traversal import walked

FULL_MASK = (1 << 32) - 1
GLOBAL_BASE = 0x1000_0000
LOCAL_BASE = 0x4000_0000
SHARED_BASE = 0x7F00_0000
LOCAL_BYTES = 64
SHARED_BYTES = 4096
NODES = 64
MAX_TRIPS = 4

Tables = dict[str, dict[str, Any]]


def make_trace(
    path: Path | str,
    seed: int = 0,
    image_size: tuple[int, int] | None = (40, 6),
    ctas: int = 4,
    traversals: bool = False,
    cooperative: bool = False,
    hints: bool = False,
) -> Path:
    """Write a valid trace to ``path`` and return the path.

    image_size   (width, height) of the image launch; None leaves it out, and with it rays, threads, nodes and image.
    ctas         CTAs of 64 threads of the compute launch; 0 leaves it out.
    traversals   whether rays walk a tree, and the tables ``parents``, ``distances`` and ``culled`` tell how.
    cooperative  whether the CTAs of the last launch wait for each other.
    hints        whether a block of the image launch calls a reorder.
    """
    tables = make_tables(seed, image_size, ctas)
    if cooperative:
        tables["cooperative"] = {"kernel_id": tables["kernels"]["kernel_id"][-1:]}
    if traversals and image_size is not None:
        tables |= walked(np.random.default_rng(seed), tables["rays"])
    if hints and image_size is not None:
        tables |= reordering(np.random.default_rng(seed), tables)
    with TraceWriter(path, {"command": "formats.generate", "seed": seed}, image_size) as writer:
        for name, columns in tables.items():
            writer.put(name, columns)
    return Path(path)


def make_tables(seed: int = 0, image_size: tuple[int, int] | None = (40, 6), ctas: int = 4) -> Tables:
    """The tables of ``make_trace`` as columns; a ragged column is ``x`` and ``x_offset``."""
    rng = np.random.default_rng(seed)
    programs = make_programs(rng, image_size is not None, ctas > 0)
    walk = _Walk(rng)
    kernels: list[dict[str, Any]] = []
    for program in programs.programs:
        kernel = len(kernels)
        if program.name == "image":
            assert image_size is not None
            kernels.append(_kernel(kernel, program, (-(-image_size[0] // 32), image_size[1], 1), 32))
            _launch_image(walk, program, kernel, image_size)
        else:
            kernels.append(_kernel(kernel, program, (ctas, 1, 1), 64))
            walk.rows["stages"].append(_stage(kernel, ctas))
            walk.rows["copies"].append({"kernel_id": kernel, "address": GLOBAL_BASE, "bytes": 1 << 16})
            walk.rows["fills"].append(_fill(kernel))
            _launch_compute(walk, program, kernel, ctas)
    tables: Tables = {"kernels": columns_of(kernels), **programs.tables()}
    tables |= {name: columns_of(rows) for name, rows in walk.rows.items()}
    if image_size is not None:
        tables |= {"nodes": _nodes(), "image": _image(rng, image_size)}
    return {name: columns for name, columns in tables.items() if columns}


def reordering(rng: np.random.Generator, tables: Tables) -> Tables:
    """Tables in which the square root of the image launch is a reorder, with a hint for each lane."""
    text, visits = list(tables["instructions"]["text"]), tables["visits"]
    number = next(k for k, opcode in enumerate(tables["instructions"]["opcode"]) if opcode.startswith("sqrt"))
    text[number] = f"call(),{REORDER_CALL},(%r1,%r2);"
    block, ordinal = tables["instructions"]["block_id"][number], Counter[int]()
    rows: list[dict[str, Any]] = []
    for warp, visited, mask in zip(*(visits[name] for name in ("warp_id", "block_id", "active_mask")), strict=True):
        if visited == block:
            given = rng.integers(0, 8, mask.bit_count()).tolist()
            rows.append(
                {"warp_id": warp, "visit": ordinal[warp], "instruction_id": number, "lane_mask": mask, "hint": given}
            )
        ordinal[warp] += 1
    return {"instructions": tables["instructions"] | {"text": text}, "hints": columns_of(rows)}


def _kernel(kernel: int, program: Program, grid: tuple[int, int, int], threads: int) -> dict[str, Any]:
    return {
        "kernel_id": kernel, "name": program.name, "stream": 0, "grid_x": grid[0], "grid_y": grid[1],
        "grid_z": grid[2], "block_x": threads, "block_y": 1, "block_z": 1, "registers_per_thread": 32,
        "shared_bytes": SHARED_BYTES, "shared_base": SHARED_BASE, "local_base": LOCAL_BASE,
        "local_bytes": LOCAL_BYTES, "source": "ptx",
    }  # fmt: skip


def _stage(kernel: int, ctas: int) -> dict[str, Any]:
    row = {"kernel_id": kernel, "stage": "fragment", "draw": 0, "draw_name": "quad", "triangles": 2}
    return row | {"shaded": 64 * ctas, "live": 60 * ctas, "covered": 62 * ctas}


def _fill(kernel: int) -> dict[str, Any]:
    return {"kernel_id": kernel, "address": GLOBAL_BASE, "bytes": 1 << 12, "cta_bytes": 256, "kind": "buffer"}


class _Walk:
    """Rows produced by the warps."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        names = ("warps", "threads", "visits", "accesses", "predicates", "copies", "rays", "stages", "fills")
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        self.visits = 0

    def begin(self, kernel: int, cta: int, warp_in_cta: int, mask: int) -> None:
        """Start the next warp."""
        self.warp, self.visits = len(self.rows["warps"]), 0
        self.thread_base = (cta * 2 + warp_in_cta) * 32
        row = {"kernel_id": kernel, "warp_id": self.warp, "cta_id": cta, "warp_in_cta": warp_in_cta}
        self.rows["warps"].append(row | {"launched_mask": mask})

    def visit(self, program: Program, block: str, mask: int) -> None:
        """Let the warp execute a block with the lanes of ``mask``; nothing for an empty mask."""
        if not mask:
            return
        number = program.first_block + program.order.index(block)
        self.rows["visits"].append({"warp_id": self.warp, "block_id": number, "active_mask": mask})
        self.visits += 1
        for instruction in program.recorded[block]:
            lanes = mask & int(self.rng.integers(0, FULL_MASK + 1)) if instruction.predicated else mask
            row = self._key(instruction.number) | {"lane_mask": lanes}
            if lanes != mask:
                self.rows["predicates"].append(row)
            if lanes:
                addresses = [self._address(instruction.space, lane) for lane in lanes_of(lanes)]
                self.rows["accesses"].append(row | {"address": addresses})

    def trace(self, instruction: int, mask: int, segment: int) -> int:
        """Let the lanes trace a segment after the last visit; return the lanes that stop at any-hit code."""
        suspended = 0
        for lane in lanes_of(mask):
            again = segment < 2 and self.rng.random() < 0.3
            suspended |= again << lane
            self.rows["rays"].append(self._ray(instruction, lane, segment, again))
        return suspended

    def _key(self, instruction: int) -> dict[str, Any]:
        return {"warp_id": self.warp, "visit": self.visits - 1, "instruction_id": instruction}

    def _address(self, space: str, lane: int) -> int:
        if space == "shared":
            return int(self.rng.integers(0, SHARED_BYTES // 4)) * 4
        if space == "local":
            return LOCAL_BASE + (self.thread_base + lane) * LOCAL_BYTES + 4
        return GLOBAL_BASE + int(self.rng.integers(0, 1 << 14)) * 4

    def _ray(self, instruction: int, lane: int, segment: int, suspended: bool) -> dict[str, Any]:
        numbers = self.rng.standard_normal(6).astype(np.float32)
        hit = not suspended and bool(self.rng.random() < 0.6)
        nodes = [0, *self.rng.integers(0, NODES, int(self.rng.integers(0, 12))).tolist()]
        ray = self._key(instruction) | {"lane": lane, "segment": segment, "kind": self.warp % 2}
        ray |= dict(zip(("origin_x", "origin_y", "origin_z"), numbers[:3], strict=True))
        ray |= dict(zip(("direction_x", "direction_y", "direction_z"), numbers[3:], strict=True))
        ray |= {"t_min": 0.0, "t_max": 1e30, "hit_t": 1.5 if hit else np.inf}
        ray |= {"instance": 0 if hit else -1, "primitive": lane if hit else -1}
        return ray | {"node": [*nodes, *[NODES - 1 | NODE_HIT_BIT] * (hit or suspended)]}


def _launch_image(walk: _Walk, program: Program, kernel: int, image_size: tuple[int, int]) -> None:
    width, height = image_size
    across = -(-width // 32)
    for y in range(height):
        for column in range(across):
            lanes = min(32, width - 32 * column)
            walk.begin(kernel, y * across + column, 0, (1 << lanes) - 1)
            pixels = [{"warp_id": walk.warp, "lane": k, "pixel_x": 32 * column + k, "pixel_y": y} for k in range(lanes)]
            walk.rows["threads"].extend(pixels)
            _walk_image(walk, program, (1 << lanes) - 1)


def _walk_image(walk: _Walk, program: Program, launched: int) -> None:
    walk.visit(program, "entry", launched)
    trips = walk.rng.integers(0, MAX_TRIPS, 32)
    for trip in range(MAX_TRIPS):
        mask = launched & sum(1 << lane for lane in range(32) if trips[lane] > trip)
        if not mask:
            break
        taken = mask & int(walk.rng.integers(0, FULL_MASK + 1))
        for block, lanes in (("head", mask), ("then", taken), ("else", mask & ~taken), ("call", mask)):
            walk.visit(program, block, lanes)
        _trace_call(walk, program, mask)
        walk.visit(program, "latch", mask)
    walk.visit(program, "exit", launched)


def _trace_call(walk: _Walk, program: Program, mask: int) -> None:
    assert program.trace_instruction is not None
    segment = 0
    while mask:
        mask = walk.trace(program.trace_instruction, mask, segment)
        walk.visit(program, "any_hit", mask)
        segment += 1


def _launch_compute(walk: _Walk, program: Program, kernel: int, ctas: int) -> None:
    for cta in range(ctas):
        trips = int(walk.rng.integers(1, MAX_TRIPS))  # all warps of a CTA pass the same barriers
        for warp in range(2):
            walk.begin(kernel, cta, warp, FULL_MASK)
            walk.visit(program, "entry", FULL_MASK)
            for _ in range(trips):
                for block in ("body", "after"):
                    walk.visit(program, block, FULL_MASK)
            walk.visit(program, "exit", FULL_MASK)


def lanes_of(mask: int) -> list[int]:
    """Lanes whose bit is set, lowest first."""
    return [lane for lane in range(32) if mask >> lane & 1]


def _nodes() -> dict[str, Any]:
    kinds = np.array([0, *[1 + k % 4 for k in range(NODES - 2)], NODE_KINDS.index("triangle")])
    lengths = np.array([128, 64, 128, 8, 64, 64])[kinds]
    addresses = GLOBAL_BASE + (1 << 20) + np.cumsum([0, *lengths[:-1]])
    return {"node_id": np.arange(NODES), "address": addresses, "bytes": lengths, "kind": kinds}


def _image(rng: np.random.Generator, image_size: tuple[int, int]) -> dict[str, Any]:
    width, height = image_size
    y, x = np.divmod(np.arange(width * height), width)
    colours = rng.random((3, width * height)).astype(np.float32)
    return {"pixel_x": x, "pixel_y": y, "red": colours[0], "green": colours[1], "blue": colours[2]}
