"""Import Accel-Sim's and CRISP's traces (``kernelslist.g`` and ``.traceg``): ``python -m formats import``.

Every instruction that a warp executed keeps its lanes and addresses. A kernel file is read twice: once to find its
instructions and basic blocks, once to write the rows of its warps. CTAs are numbered in the order of the file, as
Accel-Sim launches them.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.exchange.accelsim.draws import Draws
from rayplay.formats.exchange.accelsim.files import KERNEL_SUFFIXES, Copy, Fill, Header, read_list
from rayplay.formats.exchange.accelsim.first_import import compile_importer
from rayplay.formats.exchange.accelsim.flow import Placed, collect, make_flow, visit_rows, with_room
from rayplay.formats.exchange.accelsim.program import Program
from rayplay.formats.exchange.accelsim.raster_stream import read_stream
from rayplay.formats.exchange.accelsim.reader import KernelReader, Piece, Pieces
from rayplay.formats.exchange.accelsim.static import (
    Opcodes,
    Policy,
    block_rows,
    check_pcs,
    describe,
    instruction_rows,
    place_instructions,
)
from rayplay.formats.guard.errors import FormatError

MOST_PCS = 1 << 21
WARP_LANES = 32


@dataclass
class Counts:
    """Rows written so far; a launch's numbers continue the previous launch's."""

    kernels: int = 0
    instructions: int = 0
    blocks: int = 0
    warps: int = 0


def import_accelsim(listing: Path, out: Path, unknown: str = "error") -> None:
    """Write the trace of all kernels in a ``kernelslist.g``, or in the undivided text of CRISP's tracer (``.traceg``).

    unknown  what to do with an opcode that is not in ``formats.exchange.accelsim.sass_classes``: ``error``, ``warn``
    (it is ``other``), or ``class=CLASS``. Raises ``FormatError`` naming file, line and place of what does not fit.
    """
    policy, counts, draws = Policy(unknown), Counts(), Draws()
    commands = read_stream(listing) if listing.name.endswith(KERNEL_SUFFIXES) else read_list(listing)
    provenance = {"command": "formats import", "source": listing.name, "unknown": unknown}
    compile_importer()
    with TraceWriter(out, provenance) as writer, np.errstate(over="ignore"):  # hashes wrap, in plain Python too
        for command in tqdm(commands, desc="import", unit="kernel", disable=None):
            if isinstance(command, Copy):
                row = {"kernel_id": [counts.kernels], "address": [command.address], "bytes": [command.bytes]}
                writer.put("copies", {name: np.array(value, np.uint64) for name, value in row.items()})
            elif isinstance(command, Fill):
                draws.fills.append(command)
            else:
                reader = command if isinstance(command, KernelReader) else KernelReader(command)
                import_kernel(reader, writer, counts, policy, draws)


def import_kernel(reader: KernelReader, writer: TraceWriter, counts: Counts, policy: Policy, draws: Draws) -> None:
    """Append one kernel and advance ``counts``."""
    path = reader.path
    pieces, program, flow, opcodes = Pieces(reader), Program(str(path)), make_flow(0), Opcodes()
    last, ctas, threads = np.full(2, -1, np.int64), 0, 0
    for piece in pieces:
        check_pcs(piece.pc, str(path), MOST_PCS)
        opcodes = describe(reader.opcode_names(), policy, reader.place_of, opcodes, reader.header.binary)
        number = program.numbers(piece, opcodes.keeps_width)
        flow = with_room(flow, program.count)
        collect(flow, piece.first_warp, piece.warp, number, last)
        ctas = int(piece.cta[-1]) + 1
    if last[0] < 0:
        raise FormatError(f"{path}: must have at least one instruction")
    expect_ctas(reader.header, ctas, path)
    placed = place_instructions(flow, program, opcodes, counts.instructions, counts.blocks)
    writer.put("kernels", _kernel_row(reader.header, counts.kernels, draws.stream(reader.header)))
    skips = np.zeros(program.count, bool)
    for piece in pieces:
        number = program.numbers(piece, opcodes.keeps_width)
        threads += _write_piece(writer, piece, number, placed, counts, reader, skips)
    instructions = instruction_rows(program, placed, opcodes, counts.kernels, skips, reader.header.binary)
    blocks = block_rows(placed, counts.kernels, reader.header.name)
    writer.put("instructions", instructions)
    writer.put("blocks", blocks)
    for table, rows in draws.end(reader.header, counts.kernels, threads).items():
        writer.put(table, rows)
    counts.kernels += 1
    counts.instructions += len(instructions["opcode"])
    counts.blocks += len(blocks["program"])


def expect_ctas(header: Header, found: int, path: Path) -> None:
    """Raises ``FormatError`` unless the file has as many CTAs as its grid: Accel-Sim launches all of them."""
    grid = ",".join(map(str, header.grid))
    if (expected := math.prod(header.grid)) != found:
        raise FormatError(
            f"{path}: must have as many 'thread block =' sections as '-grid dim = ({grid})' has CTAs, {expected}, "
            f"but has {found}: the file was cut, or its grid is another"
        )


def _kernel_row(header: Header, kernel_id: int, stream: int) -> dict[str, Any]:
    """The launch's row of ``kernels``."""
    numbers = {
        "kernel_id": kernel_id, "stream": stream & 0xFFFF_FFFF,
        **{f"grid_{axis}": size for axis, size in zip("xyz", header.grid, strict=True)},
        **{f"block_{axis}": size for axis, size in zip("xyz", header.block, strict=True)},
        "registers_per_thread": header.registers, "shared_bytes": header.shared_bytes,
        "shared_base": header.shared_base, "local_base": header.local_base, "local_bytes": 0,
    }  # fmt: skip
    words = {name: np.array([value], np.uint64) for name, value in numbers.items()}
    return {**words, "name": np.array([header.name], object), "source": np.array(["sass"], object)}


def _write_piece(
    writer: TraceWriter, piece: Piece, number: np.ndarray, placed: Placed, counts: Counts, reader: KernelReader,
    skips: np.ndarray,
) -> int:  # fmt: skip
    """Warps, visits, predicates and accesses of some CTAs; ``number`` is the instruction of each executed one.

    ``skips`` marks instructions at which a predicate was at work, or a lane made no access. Returns how many threads
    made every access of theirs.
    """
    launched = _launched_masks(piece, reader)
    writer.put("warps", _warp_rows(piece, launched, counts))
    count = len(piece.pc)
    visit = np.zeros(count, np.int64)
    block, owner, mask = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.uint32)
    visits = visit_rows(placed, piece.warp, number, piece.mask, visit, block, owner, mask)
    block, owner, mask = block[:visits], owner[:visits], mask[:visits]
    mask = np.where(mask == 0, launched[owner], mask)
    writer.put("visits", {"warp_id": owner + counts.warps, "block_id": block, "active_mask": mask})
    first = np.searchsorted(owner, np.arange(len(piece.cta)))
    key = {
        "warp_id": piece.warp + counts.warps,
        "visit": visit - first[piece.warp],
        "instruction_id": placed.instruction[number],
        "lane_mask": piece.mask,
    }
    fewer = piece.mask != mask[visit]
    skips[number[fewer]] = True
    writer.put("predicates", {name: values[fewer] for name, values in key.items()})
    made = _write_accesses(writer, piece, number, key, placed)
    skips[number[placed.is_memory[number] & (made != mask[visit])]] = True
    counts.warps += len(piece.cta)
    idle, missed = np.zeros(len(launched), np.uint32), np.where(placed.is_memory[number], piece.mask & ~made, 0)
    np.bitwise_or.at(idle, piece.warp, missed.astype(np.uint32))
    return int(np.bitwise_count(launched & ~idle).sum())


def _warp_rows(piece: Piece, launched: np.ndarray, counts: Counts) -> dict[str, np.ndarray]:
    return {
        "kernel_id": np.full(len(piece.cta), counts.kernels, np.uint32),
        "warp_id": counts.warps + np.arange(len(piece.cta)),
        "cta_id": piece.cta, "warp_in_cta": piece.warp_in_cta, "launched_mask": launched,
    }  # fmt: skip


def _launched_masks(piece: Piece, reader: KernelReader) -> np.ndarray:
    """uint32[warps]; raises ``FormatError`` for a warp or lane outside the CTA."""
    threads = reader.header.threads
    most = -(-threads // WARP_LANES)
    if (beyond := piece.warp_in_cta >= most).any():
        found = int(piece.warp_in_cta[beyond][0])
        raise FormatError(f"{reader.path}: 'warp =' must be below {most}, found {found}")
    again = (np.diff(piece.cta) == 0) & (np.diff(piece.warp_in_cta) == 0)
    if again.any():
        warp, cta = (int(values[1:][again][0]) for values in (piece.warp_in_cta, piece.cta))
        raise FormatError(f"{reader.path}: 'warp = {warp}' must stand once in a CTA, but is twice in CTA {cta}")
    lanes = np.clip(threads - WARP_LANES * piece.warp_in_cta, 0, WARP_LANES)
    launched = ((np.uint64(1) << lanes.astype(np.uint64)) - np.uint64(1)).astype(np.uint32)
    outside = piece.mask & ~launched[piece.warp]
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        place = f"CTA {piece.cta[piece.warp[row]]}, warp {piece.warp_in_cta[piece.warp[row]]}, PC {piece.pc[row]:#x}"
        raise FormatError(f"{reader.path}: {place}: the mask must name threads of the CTA, found {piece.mask[row]:#x}")
    return launched


def _write_accesses(
    writer: TraceWriter, piece: Piece, number: np.ndarray, key: dict[str, np.ndarray], placed: Placed
) -> np.ndarray:
    """Rows of ``accesses``; outside shared memory address 0 means that a lane made none. The lanes that made one."""
    row = np.repeat(np.arange(len(piece.pc)), piece.lanes)
    index = number[row]
    made = placed.is_memory[index] & ((piece.address != 0) | placed.is_shared[index])
    lane = lanes_of(piece.mask, piece.lanes)
    mask = np.zeros(len(piece.pc), np.uint32)
    np.bitwise_or.at(mask, row[made], np.uint32(1) << lane[made])
    kept = mask != 0
    offsets = np.concatenate([[0], np.cumsum(np.bitwise_count(mask[kept]), dtype=np.int64)])
    columns = {name: values[kept] for name, values in key.items()}
    columns.update({"lane_mask": mask[kept], "address": piece.address[made], "address_offset": offsets})
    writer.put("accesses", columns)
    return mask


def lanes_of(mask: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    """uint32[sum of lanes]: the numbers of the set lanes of each mask that has addresses, lowest first."""
    with_addresses = mask[lanes > 0]
    return np.nonzero(with_addresses[:, None] >> np.arange(WARP_LANES, dtype=np.uint32) & 1)[1].astype(np.uint32)
