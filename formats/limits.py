"""How much a file may ask for: counts of rows, widths and unpacked bytes, all checked before the memory is taken.

What a file declares about its own size is never believed: a Parquet file of 0.8 MB can decode to gigabytes, an HDF5
file of 1,400 bytes can declare 8 TB (``reference/users-libraries-reliability.md`` 0.5). Each limit is raised by the
environment variable that its message names.
"""

import os
from dataclasses import dataclass

from formats.errors import FormatError, UserError

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit.

    variable    environment variable that replaces ``default``.
    unit        of what is limited.
    what        what it holds for, as one sentence for the documentation.
    """

    variable: str
    default: int
    unit: str
    what: str

    def value(self) -> int:
        """The limit in force; ``UserError`` when the variable holds no whole number."""
        text = os.environ.get(self.variable)
        if text is None:
            return self.default
        if not (text.isascii() and text.isdigit() and len(text) < 19):
            raise UserError(f"{self.variable}: must be a whole number of {self.unit}, not {text!r}")
        return int(text)

    def check(
        self,
        found: int,
        what: str,
        *,
        file: object,
        table: str | None = None,
        row_group: int | None = None,
        column: str | None = None,
    ) -> None:
        """``FormatError`` naming the variable when ``what`` is ``found``, more than the limit."""
        most = self.value()
        if found > most:
            reason = f"{what} must be at most {most} {self.unit}, not {found}; {self.variable} raises the limit"
            raise FormatError(reason, file=file, table=table, row_group=row_group, column=column)


FILE_ROWS = Limit("RAYPLAY_MAX_FILE_ROWS", 1 << 31, "rows", "Rows of a Parquet file, or of a table in HDF5.")
COLUMNS = Limit("RAYPLAY_MAX_COLUMNS", 1024, "columns", "Columns of a Parquet file.")
FOOTER_BYTES = Limit("RAYPLAY_MAX_FOOTER_BYTES", 16 * MIB, "bytes", "Description at the end of a Parquet file.")
GROUP_BYTES = Limit(
    "RAYPLAY_MAX_GROUP_BYTES", 512 * MIB, "bytes",
    "Rows x width of the columns read from a row group, or of a chunk of HDF5, unpacked.",
)  # fmt: skip
TABLE_BYTES = Limit(
    "RAYPLAY_MAX_TABLE_BYTES", 1024 * MIB, "bytes",
    "Rows x width of what is read of a table at once (kernels, warps, threads, nodes, image); large ones are streamed.",
)  # fmt: skip
LIST_BYTES = Limit(
    "RAYPLAY_MAX_LIST_BYTES", 64 * MIB, "bytes", "A manifest, a kernel list, a pixel list, a CSV of Nsight Compute.",
)  # fmt: skip
STRING_BYTES = Limit("RAYPLAY_MAX_STRING_BYTES", MIB, "bytes", "A text of fixed length in HDF5.")
TEXT_BYTES = Limit(
    "RAYPLAY_MAX_TEXT_BYTES", 4 * MIB, "bytes",
    "A TOML file, a gpgpusim.config, a scene's JSON.",
)  # fmt: skip
UNPACKED_BYTES = Limit("RAYPLAY_MAX_UNPACKED_BYTES", 1 << 40, "bytes", "What a .xz file unpacks to.")
RATIO = Limit(
    "RAYPLAY_MAX_RATIO", 1000, "bytes for each byte of the file",
    "What a .xz file unpacks to, counted after its first 16 MiB.",
)  # fmt: skip
DICTIONARY_BYTES = Limit("RAYPLAY_MAX_DICTIONARY_BYTES", 128 * MIB, "bytes", "Memory that unpacking a .xz file needs.")
MESH_BYTES = Limit("RAYPLAY_MAX_MESH_BYTES", 2048 * MIB, "bytes", "A GLB, OBJ, PLY or STL file.")
MESH_ELEMENTS = Limit(
    "RAYPLAY_MAX_MESH_ELEMENTS", 1 << 27, "elements",
    "Elements of all accessors of a GLB file as its meshes use them, and instances of a scene.",
)  # fmt: skip
TEXTURE_PIXELS = Limit("RAYPLAY_MAX_TEXTURE_PIXELS", 1 << 26, "pixels", "A texture of a scene.")

LIMITS = (
    FILE_ROWS, COLUMNS, FOOTER_BYTES, GROUP_BYTES, TABLE_BYTES, LIST_BYTES, STRING_BYTES, TEXT_BYTES,
    UNPACKED_BYTES, RATIO, DICTIONARY_BYTES, MESH_BYTES, MESH_ELEMENTS, TEXTURE_PIXELS,
)  # fmt: skip
