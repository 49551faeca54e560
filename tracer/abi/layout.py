"""Records as named words: one declaration for machine code, interpreter, compiled driver and traversal."""

from types import ModuleType
from typing import Any

import numpy as np

LANES = 32


class Words(ModuleType):
    """The words of a record, numbered from 0 in the order of their lines.

    A line of ``fields`` is a name, or ``name[count]`` for ``name_0`` and so on, and the meaning. ``ITEM.kind`` is the
    number of a word, ``ITEM["kind"]`` the same by a computed name, ``len(ITEM)`` the length of the record. numba takes
    the attributes of a module for constants: compiled code that reads ``item[ITEM.kind]`` has the number in it.
    """

    def __init__(self, name: str, dtype: Any, fields: str) -> None:
        super().__init__(name)
        self.dtype = np.dtype(dtype)
        self.numbers: dict[str, int] = {}
        self.length = 0
        for line in fields.strip().splitlines():
            word, _, rest = line.split()[0].partition("[")
            count = int(rest.rstrip("]") or 1)
            self.numbers[word] = self.length
            if count > 1:
                self.numbers.update({f"{word}_{k}": self.length + k for k in range(count)})
            self.length += count
        self.__dict__.update(self.numbers)

    def __getitem__(self, name: str) -> int:
        return self.numbers[name]

    def __len__(self) -> int:
        return self.length

    def zeros(self, *shape: int) -> np.ndarray:
        """That many records, all words 0."""
        return np.zeros((*shape, self.length), self.dtype)
