"""Write and read a ``NAME.result`` folder."""

import json
from pathlib import Path
from typing import Any

from formats.errors import FormatError
from formats.reader import Dataset, open_source
from formats.result import HOST, RESULT, SUMMARY, check_summary, read_json_object
from formats.writer import FolderWriter, write_text


class ResultWriter(FolderWriter):
    """Writes a ``NAME.result`` folder; use it in a ``with`` statement, and call ``summary`` once.

    ``put(table, columns)`` appends rows to ``counters``, ``timeline`` or ``pixels`` as ``FolderWriter`` does.
    """

    def __init__(self, path: Path | str, provenance: dict[str, Any] | None = None) -> None:
        super().__init__(path, RESULT, provenance)
        self._summary: dict[str, Any] | None = None
        self._host: dict[str, Any] = {}

    def summary(self, metrics: dict[str, Any]) -> None:
        """The metrics, in order: ``{name: {"value": number or None, "unit": str, "kind": str, "definition": str}}``."""
        check_summary(metrics, str(self.path))
        self._summary = metrics

    def host(self, facts: dict[str, Any]) -> None:
        """Times and facts of the machine that ran the replay."""
        self._host = facts

    def _write_extra(self) -> None:
        if self._summary is None:
            raise FormatError(f"{self.path}: a result must have a summary, but none was given")
        write_text(self.folder / SUMMARY, json.dumps(self._summary, indent=1, allow_nan=False) + "\n")
        write_text(self.folder / HOST, json.dumps(self._host, indent=1, allow_nan=False) + "\n")


class Result(Dataset):
    """A result, opened for reading; tables as in ``Dataset``."""

    @property
    def summary(self) -> dict[str, Any]:
        """Metric -> value, unit, kind, definition."""
        path = self.path / SUMMARY
        metrics = read_json_object(path)
        check_summary(metrics, str(path))
        return metrics

    @property
    def host(self) -> dict[str, Any]:
        """Times and facts of the machine that ran the replay."""
        return read_json_object(self.path / HOST)


def open_result(path: Path | str) -> Result:
    """Open a ``NAME.result`` folder; ``FormatError`` when it is missing, damaged or of another version."""
    return Result(open_source(Path(path), RESULT), RESULT)
