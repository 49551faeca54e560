"""Export a trace as Accel-Sim's files (``kernelslist.g`` and ``.traceg``): ``python -m formats export``.

Every instruction that a warp executed keeps its lanes and addresses, so importing the export gives the same stream
again. Instructions of PTX become the SASS opcode of their class (``docs/sources/accel-sim.md#export``). Rays are
refused: Accel-Sim has no RT unit.
"""

import lzma
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from tqdm import tqdm

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.exchange.accelsim.lines import binary_version, kernel_lines
from rayplay.formats.exchange.accelsim.text import LANES, Rows, write_exit, write_warp
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.laws.expect import expect_valid
from rayplay.formats.parquet.arrow import Columns, empty
from rayplay.formats.place.publish import partial_folder, publish_folder
from rayplay.formats.place.replaceable import refuse_strangers
from rayplay.formats.schema.trace import ACCESSES, PREDICATES

LISTING = "kernelslist.g"
EXPORTED = re.compile(r"kernelslist\.g|kernel-\d+\.traceg(\.xz)?")
TRACER_VERSION = 5
WARPS_PER_BATCH = 64
LINE_BYTES, NUMBER_BYTES = 64, 22  # room for a line without addresses and text, and for a number


def export_accelsim(trace: Trace, folder: Path, compress: bool = False) -> None:
    """Write ``kernelslist.g`` and one kernel file a launch into ``folder``, which must be absent or an earlier export.

    compress  write ``.traceg.xz``, which Accel-Sim reads as well.

    A lane whose program ends without an exit gets one, and so does a warp without visits: Accel-Sim refuses such
    traces. A launch without warps becomes one CTA of such warps. CTAs that a selection removed leave a grid of one
    dimension. Raises ``FormatError`` for a trace with rays or without launches, for an opcode that no instruction set
    of Accel-Sim has, and for a folder that holds something else.
    """
    if trace.rows("rays"):
        raise FormatError(f"{trace.path}: must be without rays: Accel-Sim has no RT unit that could play table rays")
    if not trace.rows("kernels"):
        raise FormatError(f"{trace.path}: must have a launch: a kernel list of Accel-Sim names one at least")
    if folder.exists() and not (folder / LISTING).is_file():
        raise FormatError(f"{folder}: must be absent or an earlier export, and is neither: not replaced")
    if folder.exists():
        others = sorted(path.name for path in folder.iterdir() if not EXPORTED.fullmatch(path.name))
        refuse_strangers(folder, others, "an earlier export")
    expect_valid(trace)
    with partial_folder(folder) as partial:
        names = [f"kernel-{number + 1}.traceg{'.xz' if compress else ''}" for number in range(trace.rows("kernels"))]
        write_kernels(trace, [partial / name for name in names])
        (partial / LISTING).write_text("".join(f"{line}\n" for line in commands(trace, names)))
        publish_folder(partial, folder)


def commands(trace: Trace, names: list[str]) -> Iterator[str]:
    """The lines of the kernel list: copies, each before the launch that follows it, and kernel files."""
    copies = trace.read("copies")
    for number in range(len(names) + 1):
        for row in np.flatnonzero(copies["kernel_id"] == number):
            yield f"MemcpyHtoD,{int(copies['address'][row]):#018x},{int(copies['bytes'][row])}"
        if number < len(names):
            yield names[number]


def write_kernels(trace: Trace, paths: list[Path]) -> None:
    """Write the file of each launch, in one pass over the trace."""
    warps = trace.read("warps")
    bounds = np.searchsorted(warps["kernel_id"], np.arange(len(paths) + 1))
    batches = trace.warp_batches(
        WARPS_PER_BATCH, [n for n in ("visits", "accesses", "predicates") if n in trace.tables]
    )
    number = 0
    kernel = KernelFile(trace, 0, paths[0], warps)
    with tqdm(total=len(warps["warp_id"]), desc="export", unit="warp", disable=None, leave=False) as progress:
        for first, last, tables in batches:
            while first < last:
                while bounds[number + 1] <= first:
                    kernel.close()
                    number += 1
                    kernel = KernelFile(trace, number, paths[number], warps)
                end = min(last, int(bounds[number + 1]))
                kernel.put(first, end, tables)
                progress.update(end - first)
                first = end
    kernel.close()
    for empty_launch in range(number + 1, len(paths)):
        KernelFile(trace, empty_launch, paths[empty_launch], warps).close()


class KernelFile:
    """Writer of one launch's file: ``put`` its warps in order, then ``close``."""

    def __init__(self, trace: Trace, number: int, path: Path, warps: Columns) -> None:
        kernels = trace.read("kernels")
        self.kernel = {name: values[number] for name, values in kernels.items()}
        self.lines, self.exact = kernel_lines(trace, number), "predicates" in trace.tables
        self.blocks = trace.read("blocks", ["first_instruction", "instruction_count"])
        self.warps = warps
        own = warps["kernel_id"] == number
        self.ctas = np.unique(warps["cta_id"][own])
        grid = [int(self.kernel[f"grid_{axis}"]) for axis in "xyz"]
        self.grid = grid if len(self.ctas) == grid[0] * grid[1] * grid[2] else [max(len(self.ctas), 1), 1, 1]
        threads = int(self.kernel["block_x"]) * int(self.kernel["block_y"]) * int(self.kernel["block_z"])
        lanes = np.clip(threads - LANES * np.arange(-(-threads // LANES)), 0, LANES)
        self.launched = [(1 << int(count)) - 1 for count in lanes]
        self.cta, self.place = -1, len(lanes)
        self.file = cast(BinaryIO, lzma.open(path, "wb", preset=1) if path.suffix == ".xz" else open(path, "wb"))  # noqa: SIM115
        self.file.write(self._header(binary_version(trace, number)).encode())

    def _header(self, binary: int) -> str:
        kernel, grid = self.kernel, ",".join(map(str, self.grid))
        block = ",".join(str(int(kernel[f"block_{axis}"])) for axis in "xyz")
        return (
            f"-kernel name = {kernel['name']}\n-kernel id = {int(kernel['kernel_id']) + 1}\n-grid dim = ({grid})\n"
            f"-block dim = ({block})\n-shmem = {kernel['shared_bytes']}\n-nregs = {kernel['registers_per_thread']}\n"
            f"-binary version = {binary}\n-cuda stream id = {kernel['stream']}\n"
            f"-shmem base_addr = {int(kernel['shared_base']):#018x}\n"
            f"-local mem base_addr = {int(kernel['local_base']):#018x}\n-nvbit version = none\n"
            f"-accelsim tracer version = {TRACER_VERSION}\n-enable lineinfo = 0\n\n"
            "#traces format = PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [adrrescompress?] "
            "[mem_addresses] immediate\n\n"
        )

    def put(self, first: int, end: int, tables: dict[str, Columns]) -> None:
        """Write the warps ``first`` to ``end`` (exclusive) of the trace; ``tables`` hold their rows."""
        rows = batch_rows(self.blocks, self.warps, first, end, tables, self.exact)
        longest = int(np.diff(self.lines.head).max(initial=0)) + LINE_BYTES + LANES * NUMBER_BYTES
        out = np.empty(_most_instructions(rows) * longest + LINE_BYTES, np.uint8)
        later = np.zeros(int(np.diff(rows.visit_first).max(initial=0)), np.uint32)
        for warp in range(end - first):
            at, count, left = write_warp(out, 0, self.lines, rows, warp, later)
            if left:
                at = write_exit(out, at, self.lines, left)
            place = int(self.warps["warp_in_cta"][first + warp])
            self._begin_warp(int(self.warps["cta_id"][first + warp]), place, count + (left != 0))
            self.file.write(out[:at].tobytes())

    def close(self) -> None:
        """Complete the last CTA and close the file; a launch without warps gets a CTA that exits at once."""
        if not len(self.ctas):
            self._begin_cta(0)
        self._end_cta()
        self.file.close()

    def _begin_warp(self, cta: int, place: int, instructions: int) -> None:
        """The lines before a warp's instructions; warps of the CTA that the trace lacks exit at once."""
        if cta != self.cta:
            self._end_cta()
            self._begin_cta(cta)
        self._skip_to(place)
        self.file.write(f"\nwarp = {place}\ninsts = {instructions}\n".encode())
        self.place = place + 1

    def _begin_cta(self, cta: int) -> None:
        self.cta, self.place = cta, 0
        x, y, z = self._position(cta)
        self.file.write(f"#BEGIN_TB\n\nthread block = {x},{y},{z}\n".encode())

    def _end_cta(self) -> None:
        if self.cta >= 0:
            self._skip_to(len(self.launched))
            self.file.write(b"\n#END_TB\n\n")

    def _skip_to(self, place: int) -> None:
        for missing in range(self.place, place):
            out = np.empty(LINE_BYTES, np.uint8)
            end = write_exit(out, 0, self.lines, self.launched[missing])
            self.file.write(f"\nwarp = {missing}\ninsts = 1\n".encode() + out[:end].tobytes())

    def _position(self, cta: int) -> tuple[int, int, int]:
        place = int(np.searchsorted(self.ctas, cta))
        columns, rows, _ = self.grid
        return place % columns, place // columns % rows, place // (columns * rows)


def _most_instructions(rows: Rows) -> int:
    """Instructions of the longest warp."""
    before = np.concatenate([[0], np.cumsum(rows.block_count)])[rows.visit_first]
    return int(np.diff(before).max(initial=0))


def batch_rows(blocks: Columns, warps: Columns, first: int, end: int, tables: dict[str, Columns], exact: bool) -> Rows:
    """The rows of the warps ``first`` to ``end`` (exclusive) as the writer reads them."""
    visits = tables["visits"]
    accesses = tables.get("accesses", empty(ACCESSES.columns))
    predicates = tables.get("predicates", empty(PREDICATES.columns))
    own = np.arange(first, end + 1)
    block = visits["block_id"]
    return Rows(
        np.searchsorted(visits["warp_id"], own),
        blocks["first_instruction"][block].astype(np.int64), blocks["instruction_count"][block].astype(np.int64),
        visits["active_mask"],
        np.searchsorted(accesses["warp_id"], own), accesses["visit"], accesses["instruction_id"],
        accesses["lane_mask"], accesses["address_offset"].astype(np.int64), accesses["address"].view(np.int64),
        np.searchsorted(predicates["warp_id"], own), predicates["visit"], predicates["instruction_id"],
        predicates["lane_mask"], warps["launched_mask"][first:end], exact,
    )  # fmt: skip
