"""Accel-Sim's files: the kernel list, and a kernel's header and lines.

Source: ``docs/sources/accel-sim.md#kernel-list, #kernel-header``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from rayplay.formats.guard.errors import FormatError
from rayplay.formats.guard.limits import LIST_BYTES
from rayplay.formats.guard.text import read_text

KERNEL_SUFFIXES = (".traceg", ".traceg.xz")
MEMORY_WORDS = {"MemcpyHtoD": "copy", "MemcpyVulkan": "buffer", "dumpTextures": "texture"}
CHUNK_BYTES = 4 << 20
HEADER_LINES = 64
LONGEST_LINE = 1 << 16
OLD_LAYOUT_TOKENS = 4
"""Before version 3 each instruction begins with its CTA and warp."""


@dataclass(frozen=True)
class Copy:
    """A copy from the host to device memory."""

    address: int
    bytes: int


@dataclass(frozen=True)
class Fill:
    """Memory of the next kernel, a stage of a draw (``docs/sources/crisp.md#raster-traces``).

    per_cta  its last number: bytes of a CTA (fragments) or of a thread (vertices), 0 for what all of them read
    """

    address: int
    bytes: int
    per_cta: int
    kind: str


@dataclass(frozen=True)
class Header:
    """Header of a kernel file, before its instructions; addresses are generic."""

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    registers: int
    binary: int
    stream: int
    shared_base: int
    local_base: int
    version: int
    has_line: bool

    @property
    def skipped_tokens(self) -> int:
        """Tokens before the PC of an instruction."""
        return OLD_LAYOUT_TOKENS if self.version < 3 else 0

    @property
    def threads(self) -> int:
        """Threads of a CTA."""
        return self.block[0] * self.block[1] * self.block[2]


def read_list(path: Path) -> list[Copy | Fill | Path]:
    """The commands of a ``kernelslist.g`` in order: copies, memory of draws, kernel files beside the list.

    Other commands (copies back, empty lines) do nothing, as in Accel-Sim. Raises ``FormatError`` naming the line.
    """
    commands: list[Copy | Fill | Path] = []
    for number, line in enumerate(read_text(path, "kernel list", LIST_BYTES).splitlines(), 1):
        place = f"{path}:{number}"
        if line.startswith(tuple(MEMORY_WORDS)):
            commands.append(read_memory(line, place))
        elif line.startswith("kernel"):
            commands.append(_kernel_path(path, line.strip(), place))
    if not any(isinstance(command, Path) for command in commands):
        raise FormatError(f"{path}: must name at least one kernel (a line that begins with 'kernel')")
    return commands


def read_memory(line: str, place: str) -> Copy | Fill:
    """A line that begins with one of ``MEMORY_WORDS``."""
    word = next(word for word in MEMORY_WORDS if line.startswith(word))
    counts = 1 if word == "MemcpyHtoD" else 2
    match = re.fullmatch(rf"{word},(0x[0-9a-fA-F]{{1,16}}){r',([0-9]{1,18})' * counts}\s*", line)
    if match is None:
        form = f"{word},0xADDRESS,BYTES{',BYTES_OF_A_CTA' * (counts - 1)}"
        raise FormatError(f"{place}: must be {form}, found {line[:200]!r}")
    address, size, *rest = int(match[1], 16), *map(int, match.groups()[1:])
    return Fill(address, size, rest[0], MEMORY_WORDS[word]) if rest else Copy(address, size)


def _kernel_path(path: Path, name: str, place: str) -> Path:
    if "/" in name or "\\" in name or not name.endswith(KERNEL_SUFFIXES):
        raise FormatError(
            f"{place}: must be the name of a .traceg or .traceg.xz file beside the list, found {name[:200]!r}"
        )
    found = path.parent / name
    try:
        found = found if found.is_file() else found.with_name(f"{name}.xz")
        beside = found.is_file() and found.resolve().parent == path.parent.resolve()
    except (OSError, ValueError):  # a name that is too long or holds a NUL
        beside = False
    if not beside:
        raise FormatError(
            f"{place}: names {name[:200]!r}, which is not a file beside the list, nor is it packed there as .xz"
        )
    return found


def read_header(path: Path, file: BinaryIO) -> tuple[Header, int]:
    """Read the header; return it and its number of lines, with ``file`` at the line after it."""
    fields: dict[str, str] = {}
    for number in range(1, HEADER_LINES + 1):
        line = file.readline(LONGEST_LINE).decode("utf-8", "replace").strip()
        if line.startswith("#"):
            return _header(path, fields), number
        key, separator, value = line.removeprefix("-").partition("=")
        if line and not (line.startswith("-") and separator):
            raise FormatError(f"{path}:{number}: a header line must be '-key = value', found {line[:60]!r}")
        fields[key.strip()] = value.strip()
    raise FormatError(f"{path}: must have a header of at most {HEADER_LINES} lines that ends with '#traces format ...'")


def _header(path: Path, fields: dict[str, str]) -> Header:
    def number(text: str) -> int:
        return int(text, 16 if text[:2] in ("0x", "0X") else 10)

    def whole(key: str, default: int | None = None, most: int = 1 << 64) -> int:
        text = fields.get(key)
        if text is None and default is not None:
            return default
        if (
            text is None
            or not re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,19}", text)
            or (value := number(text)) >= most
        ):
            raise FormatError(f"{path}: '-{key} =' must be a whole number below {most}, found {text!r}")
        return value

    def triple(key: str) -> tuple[int, int, int]:
        match = re.fullmatch(r"\(([0-9]{1,10}),([0-9]{1,10}),([0-9]{1,10})\)", fields.get(key, "").replace(" ", ""))
        sizes = tuple(map(int, match.groups())) if match else (0,)
        if min(sizes) < 1 or max(sizes) >= 1 << 32:
            found = fields.get(key)
            raise FormatError(f"{path}: '-{key} =' must be (x,y,z), each at least 1 and below 2**32, found {found!r}")
        return cast(tuple[int, int, int], sizes)

    header = Header(
        name=fields.get("kernel name", path.name), grid=triple("grid dim"), block=triple("block dim"),
        shared_bytes=whole("shmem", 0, 1 << 32), registers=whole("nregs", 0, 1 << 16),
        binary=whole("binary version", most=1000), stream=whole("cuda stream id", 0, 1 << 32),
        shared_base=whole("shmem base_addr", 0), local_base=whole("local mem base_addr", 0),
        version=whole("accelsim tracer version", 0, 1000), has_line=whole("enable lineinfo", 0) != 0,
    )  # fmt: skip
    if header.threads > 1024:
        raise FormatError(f"{path}: '-block dim =' must have at most 1024 threads, found {header.threads}")
    return header


def text_chunks(path: Path, file: BinaryIO) -> Iterator[bytes]:
    """The rest of a kernel file in pieces of whole lines; the last line gets a newline when it lacks one.

    Raises ``FormatError`` for a line that is longer than a piece.
    """
    rest = b""
    while True:
        data = file.read(CHUNK_BYTES)
        if not data:
            break
        data = rest + data
        end = data.rfind(b"\n") + 1
        if end == 0 and len(data) > CHUNK_BYTES:
            raise FormatError(f"{path}: a line must be shorter than {CHUNK_BYTES} bytes")
        if end:
            yield data[:end]
        rest = data[end:]
    if rest.strip():
        yield rest + b"\n"
