"""The undivided text of CRISP's tracer: lines of all warps of a draw's stages, each stage ended by its name.

Source: ``docs/sources/crisp.md#raster-traces``. The lines of a stage wait in a file without a name and are read in the
order of their warps; an error still names the line of the text.
"""

import mmap
import re
import tempfile
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rayplay.formats.exchange.accelsim.draws import stage_of
from rayplay.formats.exchange.accelsim.files import (
    CHUNK_BYTES,
    MEMORY_WORDS,
    Copy,
    Fill,
    Header,
    read_memory,
    text_chunks,
)
from rayplay.formats.exchange.accelsim.reader import KernelReader
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.guard.xz import open_packed

INSTRUCTION = re.compile(rb"([0-9]{1,9}), +[0-9a-fA-F]")
BLOCK, END = re.compile(r"block_dim, *([0-9]{1,4})\s*"), re.compile(r"graphics kernel end: *(\S{1,200})\s*")
REGISTERS = {"vertex": 48, "fragment": 52}
WARP_LANES, MOST_THREADS = 32, 1024
MEMORY = tuple(word.encode() for word in MEMORY_WORDS)


@dataclass
class Lines:
    """Instructions of one stage as the text has them, with blanks for the number of the warp."""

    path: Path
    file: Any
    first_warp: int
    starts: "array[int]" = field(default_factory=lambda: array("q", [0]))
    warps: "array[int]" = field(default_factory=lambda: array("q"))
    numbers: "array[int]" = field(default_factory=lambda: array("q"))

    def add(self, line: bytes, digits: int, number: int) -> None:
        """Add the line ``number`` of the text, whose warp has ``digits`` digits."""
        warp = int(line[:digits])
        if warp < self.first_warp:
            raise FormatError(f"{self.path}:{number}: the warp must be {self.first_warp} or later, found {warp}")
        self.warps.append(warp)
        self.numbers.append(number)
        self.starts.append(self.starts[-1] + self.file.write(b" " * (digits + 1) + line[digits + 1 :] + b"\n"))


class StreamKernel(KernelReader):
    """A stage of the text, in the place of its own kernel file."""

    def __init__(self, lines: Lines, header: Header) -> None:
        super().__init__(lines.path)
        self.header = header
        self._lines, self._numbers = lines, list[int]()
        warps = np.array(lines.warps) - lines.first_warp
        self._order = np.argsort(warps, kind="stable")
        self._bounds = np.searchsorted(warps[self._order], np.arange(header.grid[0] * header.threads // WARP_LANES + 1))

    def texts(self) -> Iterator[bytes]:
        """The text of a kernel file behind its header, some CTAs at a time."""
        self._lines.file.flush()
        self.lines, self._numbers, parts, size = 0, [], list[bytes](), 0
        with mmap.mmap(self._lines.file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            for cta in range(self.header.grid[0]):
                parts.append(self._cta(cta, text))
                size += len(parts[-1])
                if size >= CHUNK_BYTES or cta + 1 == self.header.grid[0]:
                    yield b"".join(parts)
                    parts, size, self._numbers = [], 0, []

    def _cta(self, cta: int, text: mmap.mmap) -> bytes:
        warps, starts = self.header.threads // WARP_LANES, self._lines.starts
        parts = [b"thread block = %d,0,0\n" % cta]
        self._numbers.append(0)
        for warp in range(warps):
            first, end = self._bounds[cta * warps + warp : cta * warps + warp + 2]
            rows = self._order[first:end].tolist()
            parts.append(b"warp = %d\ninsts = %d\n" % (warp, len(rows)))
            parts += [text[starts[row] : starts[row + 1]] for row in rows]
            self._numbers += [0, 0, *(self._lines.numbers[row] for row in rows)]
        return b"".join(parts)

    def line_of(self, number: int) -> int:
        """The line of the whole text that stands at a line of the kernel's."""
        return self._numbers[number - self.lines - 1]

    def place_of(self, opcode: str) -> str:
        """Path and line of the first instruction with an opcode."""
        self._lines.file.seek(0)
        word = opcode.encode()
        found = (
            number for number, line in zip(self._lines.numbers, self._lines.file, strict=True) if word in line.split()
        )
        return f"{self.path}:{next(found)}"


def read_stream(path: Path) -> Iterator[Copy | Fill | KernelReader]:
    """The commands of the text in order; a stage is to be read before the next command is asked for.

    Raises ``FormatError`` naming the line of what does not fit.
    """
    with open_packed(path) as file:
        numbered, first_warp, stages = _numbered(path, file), 0, 0
        block = 0
        more = True
        while more:
            with tempfile.TemporaryFile() as held:
                lines = Lines(path, held, first_warp)
                more = False
                for number, line in numbered:
                    place = f"{path}:{number}"
                    if match := INSTRUCTION.match(line):
                        lines.add(line, match.end(1), number)
                    elif line.startswith(MEMORY):
                        yield read_memory(line.decode("utf-8", "replace"), place)
                    elif line.startswith(b"graphics kernel end"):
                        yield StreamKernel(lines, _header(lines, line, block, place))
                        first_warp, stages, more = max(lines.warps) + 1, stages + 1, True
                        break
                    elif line.strip():
                        block = _block(line, place)
                if not more and lines.warps:
                    raise FormatError(f"{path}: must end with 'graphics kernel end: NAME', so the file was cut")
    if stages == 0:
        raise FormatError(f"{path}: must have a stage of a draw, ended by a line 'graphics kernel end: NAME'")


def _numbered(path: Path, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines, numbered from 1."""
    lines = (line for text in text_chunks(path, file) for line in text.split(b"\n")[:-1])
    return enumerate(lines, 1)


def _block(line: bytes, place: str) -> int:
    """The threads of a CTA, of a line ``block_dim, N``."""
    match = BLOCK.fullmatch(text := line.decode("utf-8", "replace"))
    threads = int(match[1]) if match else 0
    if line.startswith(b"-kernel"):
        raise FormatError(f"{place}: is one kernel of a list; give the kernel list beside it")
    if not match:
        words = "'WARP, PC MASK ...', 'block_dim, THREADS', 'MemcpyVulkan,...', 'dumpTextures,...'"
        raise FormatError(f"{place}: must be {words} or 'graphics kernel end: NAME', found {text[:80]!r}")
    if threads == 0 or threads > MOST_THREADS or threads % WARP_LANES:
        raise FormatError(
            f"{place}: block_dim must be a multiple of {WARP_LANES} up to {MOST_THREADS}, found {threads}"
        )
    return threads


def _header(lines: Lines, line: bytes, block: int, place: str) -> Header:
    """The header that CRISP's script writes for a stage, of its last line."""
    match = END.fullmatch(text := line.decode("utf-8", "replace"))
    stage = stage_of(match[1]) if match else ""
    if not match or not stage:
        form = "'graphics kernel end: NAME' with MESA_SHADER_VERTEX or MESA_SHADER_FRAGMENT in NAME"
        raise FormatError(f"{place}: must be {form}, found {text[:80]!r}")
    if not lines.warps:
        raise FormatError(f"{place}: must follow instructions of the stage")
    if block == 0:
        raise FormatError(f"{place}: must follow a line 'block_dim, THREADS'")
    found, expected = len(set(lines.warps)), max(lines.warps) + 1 - lines.first_warp
    if found != expected:
        raise FormatError(
            f"{place}: must follow the instructions of {expected} warps from {lines.first_warp} on, found {found}"
        )
    if found * WARP_LANES % block:
        raise FormatError(f"{place}: must follow whole CTAs of {block // WARP_LANES} warps, found {found} warps")
    none = 0xFFFF_FFFF
    return Header(
        name=match[1], grid=(found * WARP_LANES // block, 1, 1), block=(block, 1, 1), shared_bytes=0,
        registers=REGISTERS[stage], binary=80, stream=0, shared_base=none, local_base=none, version=3, has_line=False,
    )  # fmt: skip
