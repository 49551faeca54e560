"""How a model's surfaces look to rays: its materials, their pictures, and a count of the rest.

A file's materials have more than the four models of ``Material``; what has no counterpart is counted by name, so that
who renders the file is told.
"""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.scenes.description import Material, Picture, Texture

GREY = Material("grey")
"""Of faces that name no material."""


@dataclass
class Look:
    """Materials by number, with the pictures and cut-outs that they index; ``unused`` counts the rest."""

    materials: list[Material] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    textures: list[Texture] = field(default_factory=list)
    unused: Counter[str] = field(default_factory=Counter)

    def picture(self, made: Picture) -> int:
        """Number of a picture, which is kept."""
        self.pictures.append(made)
        return len(self.pictures) - 1

    def cut_out(self, name: str, alpha: NDArray[np.uint8]) -> int:
        """Number of a cut-out, uint8[height, width], which is kept."""
        self.textures.append(Texture(name, np.ascontiguousarray(alpha)))
        return len(self.textures) - 1

    def left_out(self) -> tuple[str, ...]:
        """Features that programs do not use, each with the number of places that have it."""
        return tuple(f"{name} ({count})" if count > 1 else name for name, count in sorted(self.unused.items()) if count)
