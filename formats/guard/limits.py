"""Limits on the demands of a file: rows, widths and unpacked bytes, checked before memory is allocated.

A file's claims about its own size are never trusted: a Parquet file of 0.8 MB can decode to gigabytes, an HDF5
file of 1,400 bytes can declare 8 TB (``docs/sources/measurements.md#bombs``). Each limit is raised by the
flag ``--limit NAME=N`` of every verb that reads files, which its message names, or by an environment variable: the flag
sets the variable, so that child processes and workers follow it.
"""

import contextlib
import os
import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rayplay.formats.guard.errors import FormatError, UserError

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit.

    name        as ``--limit`` takes it.
    unit        of the limited quantity.
    what        what it holds for, as one sentence for the documentation.
    """

    name: str
    default: int
    unit: str
    what: str

    @property
    def variable(self) -> str:
        """The environment variable that replaces ``default``."""
        return f"RAYPLAY_MAX_{self.name.upper().replace('-', '_')}"

    def value(self) -> int:
        """The limit in force; ``UserError`` when the variable holds no whole number."""
        text = os.environ.get(self.variable)
        return self.default if text is None else self._number(text, self.variable)

    def put_in_force(self, text: str, option: str = "") -> None:
        """Replace the limit in this process and its children; ``UserError``, which names the option, unless it is a
        whole number."""
        os.environ[self.variable] = str(self._number(text, option or f"--limit {self.name}"))

    def _number(self, text: str, place: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 19):
            raise UserError(f"{place}: must be a whole number of {self.unit}, not {text!r}")
        return int(text)

    def raised_by(self, needed: int | str) -> str:
        """Flag that raises the limit to ``needed``, for messages."""
        return f"--limit {self.name}={needed} or {self.variable} raises the limit"

    def check(self, found: int, what: str, **place: Any) -> None:
        """``FormatError`` naming the flag when ``what`` is ``found``, more than the limit; ``place``: its keywords."""
        most = self.value()
        if found > most:
            reason = f"{what} must be at most {most} {self.unit}, not {found}; {self.raised_by(found)}"
            raise FormatError(reason, **place)

    @contextlib.contextmanager
    def bound(self, what: str) -> Iterator[None]:
        """Let the block map that many bytes more than are mapped now; ``FormatError`` when it asks for more."""
        before = resource.getrlimit(resource.RLIMIT_AS)
        most = min((each for each in before if each != resource.RLIM_INFINITY), default=sys.maxsize)
        try:
            if mapped := mapped_bytes():
                resource.setrlimit(resource.RLIMIT_AS, (min(most, mapped + self.value()), before[1]))
            yield
        except (MemoryError, OverflowError, OSError):
            reason = f"{what} must fit {self.value()} {self.unit}; {self.raised_by('N')}"
            raise FormatError(reason) from None
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)


def mapped_bytes() -> int:
    """Bytes that this process has mapped; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


FILE_ROWS = Limit("file-rows", 1 << 31, "rows", "Rows of a Parquet file, or of a table in HDF5.")
COLUMNS = Limit("columns", 1024, "columns", "Columns of a Parquet file.")
FOOTER_BYTES = Limit("footer-bytes", 16 * MIB, "bytes", "Description at the end of a Parquet file.")
GROUP_BYTES = Limit(
    "group-bytes", 512 * MIB, "bytes",
    "Rows x width of the columns read from a row group, or of a chunk of HDF5, unpacked.",
)  # fmt: skip
TABLE_BYTES = Limit(
    "table-bytes", 1024 * MIB, "bytes",
    "Rows x width of a table's part that is read at once (kernels, warps, threads, nodes, image); others are streamed.",
)  # fmt: skip
LIST_BYTES = Limit(
    "list-bytes", 64 * MIB, "bytes",
    "A kernel list, a pixel list, a CSV of Nsight Compute, a program in PTX or SASS.",
)  # fmt: skip
MANIFEST_BYTES = Limit("manifest-bytes", 16 * MIB, "bytes", "A manifest.")
WARPS = Limit("warps", 1 << 23, "warps", "Warps of a trace, of each of which most verbs keep some numbers.")
IMAGE_PIXELS = Limit("image-pixels", 1 << 24, "pixels", "Width x height of the image of a trace.")
STRING_BYTES = Limit("string-bytes", 1 << 16, "bytes", "A text in a table.")
TEXT_BYTES = Limit(
    "text-bytes", 4 * MIB, "bytes",
    "A TOML file, a gpgpusim.config, a scene's JSON, a prediction.",
)  # fmt: skip
KEY_PARTS = Limit("key-parts", 16, "parts", "A dotted key of a TOML file.")
UNPACKED_BYTES = Limit("unpacked-bytes", 1 << 40, "bytes", "What a .xz file unpacks to.")
RATIO = Limit(
    "ratio", 1000, "bytes for each byte of the file",
    "What a .xz file unpacks to, counted after its first 16 MiB.",
)  # fmt: skip
DICTIONARY_BYTES = Limit("dictionary-bytes", 128 * MIB, "bytes", "Memory that unpacking a .xz file needs.")
MESH_BYTES = Limit("mesh-bytes", 512 * MIB, "bytes", "A GLB, PLY or STL file, or a buffer of a .gltf file.")
OBJ_BYTES = Limit("obj-bytes", 32 * MIB, "bytes", "An OBJ file.")
MESH_TEXT_BYTES = Limit(
    "mesh-text-bytes", 16 * MIB, "bytes", "A PLY or STL file that is text; reading takes sixty times as much."
)  # fmt: skip
MESH_ELEMENTS = Limit(
    "mesh-elements", 1 << 27, "elements",
    "Elements of all accessors of a GLB file as its meshes use them, and instances of a scene; vertices that instances "
    "of a mesh file place.",
)  # fmt: skip
GLTF_BYTES = Limit("gltf-bytes", 32 * MIB, "bytes", "A .gltf file, or the JSON chunk of a GLB file.")
INSTANCES = Limit("instances", 1 << 20, "instances", "Nodes of a GLB file.")
COPIED_BYTES = Limit("copied-bytes", 1 << 34, "bytes", "What the host copies of a trace warm in the L2, together.")
BUFFER_BYTES = Limit(
    "buffer-bytes", 512 * MIB, "bytes", "All buffers of a launch file as they are made; they take twice as much."
)  # fmt: skip
LAUNCHES = Limit("launches", 1 << 12, "launches", "Launches of a launch file, each round of a repeat counted.")
TEXTURE_PIXELS = Limit("texture-pixels", 1 << 26, "pixels", "A texture of a scene, a picture of a prediction or study.")
INSTRUCTIONS = Limit(
    "instructions", 1 << 27, "instructions",
    "Block visits of a warp that is executed, each an instruction at least; `--max-instructions` sets it too.",
)  # fmt: skip
CTA_BYTES = Limit("cta-bytes", 1024 * MIB, "bytes", "Records of a CTA of several warps, held until all have ended.")
SHARED_BYTES = Limit("shared-bytes", 227 << 10, "bytes", "Shared memory of a CTA, dynamic included (227 KiB on sm_90).")
CONSTANT_BYTES = Limit("constant-bytes", 640 << 10, "bytes", "Constants of a program (ten banks of 64 KiB).")
VARIABLE_BYTES = Limit("variable-bytes", 1 << 32, "bytes", "A variable in global memory.")
GPU_BYTES = Limit("gpu-bytes", 1 << 30, "bytes", "Memory that the units of a GPU description take.")
PRINTED_BYTES = Limit("printed-bytes", 16 * MIB, "bytes", "Text that the launches of a memory print, together.")

LIMITS = (
    FILE_ROWS, COLUMNS, FOOTER_BYTES, GROUP_BYTES, TABLE_BYTES, WARPS, IMAGE_PIXELS, MANIFEST_BYTES, STRING_BYTES,
    LIST_BYTES, TEXT_BYTES, KEY_PARTS, UNPACKED_BYTES, RATIO, DICTIONARY_BYTES, MESH_BYTES, OBJ_BYTES, MESH_TEXT_BYTES,
    MESH_ELEMENTS, GLTF_BYTES, INSTANCES, COPIED_BYTES, BUFFER_BYTES, LAUNCHES, TEXTURE_PIXELS, INSTRUCTIONS, CTA_BYTES,
    SHARED_BYTES, CONSTANT_BYTES, VARIABLE_BYTES, PRINTED_BYTES, GPU_BYTES,
)  # fmt: skip


def set_limit(assignment: str) -> None:
    """Follow ``NAME=N`` as ``--limit`` takes it; ``UserError`` lists the names when there is no such limit."""
    name, _, number = assignment.partition("=")
    known = {limit.name: limit for limit in LIMITS}
    if name not in known:
        raise UserError(f"--limit: must be NAME=N with one of the names {', '.join(known)}, not {assignment!r}")
    known[name].put_in_force(number)
