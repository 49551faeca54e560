"""Rows of the study, and a folder of results that lets an interrupted study go on."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rayplay.formats.guard.digest import canonical, json_digest
from rayplay.formats.place.publish import atomic_file

LATENCY, BANDWIDTH, TIME, THROUGHPUT = "latency", "bandwidth", "kernel time", "ray throughput"
KINDS = (LATENCY, BANDWIDTH, TIME, THROUGHPUT)
COLUMNS = ("description", "card", "kind", "what", "unit", "measured", "modelled", "error", "use", "reason", "source")


@dataclass(frozen=True)
class Compared:
    """One measured value beside the model's, None where it has no value and ``reason`` says why.

    use     ``calibration`` or ``check`` (``silicon/split.toml``).
    reason  why it was not compared, or the known reason of its error.
    """

    description: str
    card: str
    kind: str
    what: str
    unit: str
    measured: float
    modelled: float | None
    use: str
    reason: str
    source: str

    @property
    def error(self) -> float | None:
        """(modelled - measured) / measured."""
        return None if self.modelled is None else self.modelled / self.measured - 1

    def record(self) -> dict[str, Any]:
        """The columns of the table; numbers of six digits."""
        values = {**asdict(self), "error": self.error}
        return {
            name: float(f"{values[name]:.6g}") if isinstance(values[name], float) else values[name] for name in COLUMNS
        }


class Results:
    """A folder of JSON files, one for each finished task by the digest of what decides its result.

    folder  None: nothing is kept.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def of(self, key: dict[str, Any], compute: Callable[[], Any]) -> Any:
        """The result of ``key``: read, or computed and kept."""
        if self.folder is None:
            return compute()
        path = self.folder / f"{json_digest(key)}.json"
        if path.exists():
            kept = json.loads(path.read_text())
            if canonical(kept["key"]) == canonical(key):
                return kept["value"]
        value = compute()
        with atomic_file(path) as partial:
            partial.write_text(json.dumps({"key": key, "value": value}) + "\n")
        return value


def compared(rows: list[Compared]) -> Iterator[tuple[float, float]]:
    """Measured and modelled values where both are there."""
    for row in rows:
        if row.modelled is not None:
            yield row.measured, row.modelled
