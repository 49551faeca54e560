"""Write a trace (or any ``Format``) as a folder of Parquet files, complete or not at all."""

import json
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from rayplay.formats.guard.digest import file_digest
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.guard.limits import IMAGE_PIXELS
from rayplay.formats.parquet.arrow import Columns
from rayplay.formats.parquet.encoders import Encoders, default_workers
from rayplay.formats.parquet.groups import GroupBuffer
from rayplay.formats.parquet.shards import Encoder, HashingFile, ShardWriter
from rayplay.formats.place.location import location
from rayplay.formats.place.locks import remove_partial
from rayplay.formats.place.publish import make_partial_folder, publish_folder
from rayplay.formats.place.replaceable import HOST_TIMES, check_replaceable
from rayplay.formats.schema.column import Format
from rayplay.formats.schema.manifest import MANIFEST, MOST_NESTED, Manifest, is_shallow
from rayplay.formats.schema.trace import TRACE


class FolderWriter:
    """Writes tables of ``layout`` into a folder; use it in a ``with`` statement.

    Everything goes into a hidden folder beside ``path``, which takes the name ``path`` in one step at the end, after
    the manifest. On any error, Ctrl-C included, the hidden folder is removed and what stood at ``path`` stays.
    Row groups are encoded by ``workers`` threads (default: the cores that are left, at most 4); the bytes depend on the
    rows only, neither on the threads nor on the calls of ``put``.

    Raises ``FormatError`` when ``path`` is something else than such a folder or a column does not fit the schema, and
    ``OSError`` when the disk is full.
    """

    TIMES = HOST_TIMES
    """Files that differ from run to run, so that the manifest does not vouch for them."""

    def __init__(
        self,
        path: Path | str,
        layout: Format,
        provenance: dict[str, Any] | None = None,
        image_size: tuple[int, int] | None = None,
        workers: int | None = None,
    ) -> None:
        self.path = location(path)
        self.layout = layout
        self.provenance = _as_json(dict(provenance or {}), self.path)
        self.image_size = None if image_size is None else (int(image_size[0]), int(image_size[1]))
        if self.image_size is not None:
            IMAGE_PIXELS.check(self.image_size[0] * self.image_size[1], "image_size", file=self.path)
        check_replaceable(self.path, layout, self.TIMES)
        self._launches: list[dict[str, Any]] = []
        self._buffers: dict[str, GroupBuffer] = {}
        self._shards: dict[str, ShardWriter] = {}
        self._workers = workers or default_workers()
        self.texts: dict[str, str] = {}
        """Further files of the format, by name; written before the manifest."""

    def __enter__(self) -> Self:
        self.folder = self._make_folder()
        self._encoders = Encoders(self._workers)
        try:
            self._begin()
        except BaseException:  # also Ctrl-C: the with statement has not begun, so no other code cleans up
            self._clean_up()
            raise
        return self

    def _make_folder(self) -> Path:
        self._claim = make_partial_folder(self.path)
        return self._claim.path

    def _begin(self) -> None:
        for table in self.layout.tables:
            if not table.optional:
                self.declare(table.name)

    def put(self, table: str, columns: dict[str, Any]) -> None:
        """Append rows to ``table``.

        columns  one array per column, all with the same number of rows, in the schema's dtype or one whose values
                 fit it; a ragged column is ``x`` (the values) and ``x_offset`` (rows + 1, from 0 to ``len(x)``).
        """
        self.declare(table)
        buffer = self._buffers[table]
        for group in buffer.put(columns):
            self._submit(table, group)
        if table == "kernels" and self.layout is TRACE:
            self._launches.extend(launches(columns))

    def declare(self, table: str) -> None:
        """Write ``table`` even when no row follows; tables that are not optional are always written."""
        if table in self._buffers:
            return
        try:
            value = self.layout.table(table)
        except KeyError:
            names = ", ".join(t.name for t in self.layout.tables)
            raise FormatError(f"{self.path}: table must be one of {names}, not {table}") from None
        self._buffers[table] = GroupBuffer(value)
        self._shards[table] = ShardWriter(self.folder, Encoder(self.layout, value))

    def _submit(self, table: str, group: Columns) -> None:
        self._encoders.submit(self._shards[table], group, self._buffers[table].recycle)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._finish()
                publish_folder(self.folder, self.path)
        finally:
            self._clean_up()

    def _finish(self) -> None:
        for name, buffer in self._buffers.items():
            if buffer.rows:
                self._submit(name, buffer.flush())
        self._encoders.finish()
        for shards in self._shards.values():
            shards.close()
        for name, text in self.texts.items():
            write_text(self.folder / name, text)
        order = [table.name for table in self.layout.tables if table.name in self._shards]
        tables = {name: tuple(self._shards[name].entries) for name in order}
        manifest = Manifest(
            self.layout.name, self.layout.version, self.provenance, self.image_size, tuple(self._launches), tables,
            self._extra_digests(),
        )  # fmt: skip
        write_text(self.folder / MANIFEST, manifest.text())

    def _extra_digests(self) -> dict[str, str]:
        """SHA-256 of every file outside the tables; files with times are left out."""
        shards = {entry.file for shards in self._shards.values() for entry in shards.entries}
        files = (path for path in sorted(self.folder.iterdir()) if path.is_file() and path.name[0] != ".")
        return {path.name: file_digest(path) for path in files if path.name not in shards | self.TIMES}

    def _clean_up(self) -> None:
        self._let_go()
        with self._claim:
            remove_partial(self.folder)

    def _let_go(self) -> None:
        """Abandon the folder, at any stage of writing."""
        self._encoders.stop()
        for shards in self._shards.values():
            shards.abort()


class TraceWriter(FolderWriter):
    """Writes a ``NAME.trace`` folder: the tables of ``formats.schema.trace``.

    provenance  how the trace was made (command, tool version, seeds, input hashes): JSON values without clock times.
    image_size  (width, height) of an image launch, else None.
    """

    def __init__(
        self,
        path: Path | str,
        provenance: dict[str, Any] | None = None,
        image_size: tuple[int, int] | None = None,
        workers: int | None = None,
    ) -> None:
        super().__init__(path, TRACE, provenance, image_size, workers)


def write_text(path: Path, text: str) -> None:
    """Write a small file through to the disk."""
    file = HashingFile(path)
    try:
        file.write(text.encode())
    finally:
        file.close()


def _as_json(provenance: dict[str, Any], path: Path) -> dict[str, Any]:
    """The provenance as it will be read back; refused before the work is done when JSON cannot hold it."""
    try:
        if not is_shallow(provenance):
            raise ValueError(f"they must nest at most {MOST_NESTED} deep")
        return json.loads(json.dumps(provenance, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise FormatError(f"{path}: provenance must be JSON values: {error}") from None


def launches(columns: dict[str, Any]) -> list[dict[str, Any]]:
    """Name, stream and geometry of launches, for the manifest."""
    rows = len(columns["kernel_id"])
    return [
        {
            "name": str(columns["name"][row]),
            "stream": int(np.asarray(columns["stream"])[row]),
            "grid": [int(columns[f"grid_{axis}"][row]) for axis in "xyz"],
            "block": [int(columns[f"block_{axis}"][row]) for axis in "xyz"],
        }
        for row in range(rows)
    ]
