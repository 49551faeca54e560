"""Write a trace (or any ``Format``) as a folder of Parquet files, complete or not at all."""

import json
import shutil
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from formats.arrow import Columns
from formats.atomic import make_partial_folder, publish_folder
from formats.column import Format
from formats.errors import FormatError
from formats.groups import GroupBuffer
from formats.manifest import MANIFEST, Manifest, format_of
from formats.shards import HashingFile, ShardWriter
from formats.trace import TRACE

QUEUED_GROUPS = 3


class FolderWriter:
    """Writes tables of ``layout`` into a folder; use it in a ``with`` statement.

    Everything goes into a hidden folder beside ``path``, which takes the name ``path`` in one step at the end, after
    the manifest. On any error, Ctrl-C included, the hidden folder is removed and what stood at ``path`` stays.
    Row groups are encoded in a background thread; the bytes depend on the rows only, not on the calls of ``put``.

    Raises ``FormatError`` when ``path`` is something else than such a folder or a column does not fit the schema, and
    ``OSError`` when the disk is full.
    """

    def __init__(
        self,
        path: Path | str,
        layout: Format,
        provenance: dict[str, Any] | None = None,
        image_size: tuple[int, int] | None = None,
    ) -> None:
        self.path = Path(path)
        self.layout = layout
        self.provenance = _as_json(dict(provenance or {}), self.path)
        self.image_size = None if image_size is None else (int(image_size[0]), int(image_size[1]))
        check_replaceable(self.path, layout)
        self._launches: list[dict[str, Any]] = []
        self._buffers: dict[str, GroupBuffer] = {}
        self._shards: dict[str, ShardWriter] = {}
        self._pending: deque[Future[None]] = deque()

    def __enter__(self) -> Self:
        self._encoder = ThreadPoolExecutor(max_workers=1, thread_name_prefix="encoder")
        self.folder = make_partial_folder(self.path)
        try:
            for table in self.layout.tables:
                if not table.optional:
                    self.declare(table.name)
        except BaseException:  # Ctrl-C too: the with statement has not begun, so nobody else cleans up
            self._clean_up()
            raise
        return self

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
            self._launches.extend(_launches(columns))

    def declare(self, table: str) -> None:
        """Have ``table`` in the folder even when no row follows; tables that are not optional always are."""
        if table in self._buffers:
            return
        try:
            value = self.layout.table(table)
        except KeyError:
            names = ", ".join(t.name for t in self.layout.tables)
            raise FormatError(f"{self.path}: table must be one of {names}, not {table}") from None
        self._buffers[table] = GroupBuffer(value)
        self._shards[table] = ShardWriter(self.folder, value)

    def _submit(self, table: str, group: Columns) -> None:
        while len(self._pending) >= QUEUED_GROUPS or (self._pending and self._pending[0].done()):
            self._pending.popleft().result()
        self._pending.append(self._encoder.submit(self._encode, table, group))

    def _encode(self, table: str, group: Columns) -> None:
        self._shards[table].write(group)
        self._buffers[table].recycle(group)

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
        while self._pending:
            self._pending.popleft().result()
        for shards in self._shards.values():
            shards.close()
        self._write_extra()
        order = [table.name for table in self.layout.tables if table.name in self._shards]
        tables = {name: tuple(self._shards[name].entries) for name in order}
        manifest = Manifest(
            self.layout.name, self.layout.version, self.provenance, self.image_size, tuple(self._launches), tables
        )
        write_text(self.folder / MANIFEST, manifest.text())

    def _write_extra(self) -> None:
        """Further files of a format, written before the manifest; a trace has none."""

    def _clean_up(self) -> None:
        self._encoder.shutdown(wait=True, cancel_futures=True)
        for shards in self._shards.values():
            shards.abort()
        shutil.rmtree(self.folder, ignore_errors=True)


class TraceWriter(FolderWriter):
    """Writes a ``NAME.trace`` folder: the tables of ``formats.trace``.

    provenance  how the trace was made (command, tool version, seeds, input hashes): JSON values without clock times.
    image_size  (width, height) of an image launch, else None.
    """

    def __init__(
        self,
        path: Path | str,
        provenance: dict[str, Any] | None = None,
        image_size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(path, TRACE, provenance, image_size)


def check_replaceable(path: Path, layout: Format) -> None:
    """``FormatError`` when something else than such a folder stands at ``path``."""
    if path.exists() and format_of(path) != layout.name:
        raise FormatError(f"{path}: must be absent or an earlier {layout.name}, and is neither: not replaced")


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
        return json.loads(json.dumps(provenance, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise FormatError(f"{path}: provenance must be JSON values: {error}") from None


def _launches(columns: dict[str, Any]) -> list[dict[str, Any]]:
    """Geometry of the launches for the manifest."""
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
