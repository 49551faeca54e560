"""Finding of a law: table, row, value and requirement."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Problem:
    """One row that breaks a law; ``row`` counts from 0 in the whole table, -1 where no single row is to blame."""

    law: str
    table: str
    row: int
    value: Any
    message: str

    def __str__(self) -> str:
        place = f"table {self.table}" + (f", row {self.row}" if self.row >= 0 else "")
        is_mask = self.message.partition(" ")[0].endswith("mask") and isinstance(self.value, (int, np.integer))
        return f"{self.law}: {place}: {self.message}, not {f'{self.value:#x}' if is_mask else self.value}"


def where(
    law: str, table: str, broken: np.ndarray, values: np.ndarray, message: str, first_row: int = 0, limit: int = 20
) -> Iterator[Problem]:
    """A problem for each True of ``broken`` (the first ``limit``), with the value of the row."""
    for index in np.flatnonzero(broken)[:limit]:
        yield Problem(law, table, first_row + int(index), values[index], message)
