"""The fixed-function state of a draw, and the framebuffer that draws share."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.nearest import hint

RULES = ("hardware", "crisp")
CULLED = ("none", "back", "front")
COMPARES = ("never", "less", "equal", "less_equal", "greater", "not_equal", "greater_equal", "always")
"""In Vulkan's order: bit 0 of the position passes a smaller depth, bit 1 an equal one, bit 2 a greater one."""
BLENDS = ("opaque", "alpha", "additive")
LARGEST_SIDE = 16384


@dataclass(frozen=True)
class DrawState:
    """State of the stages between a draw's shaders and after them; ``UserError`` for an unknown word."""

    rules: str = "hardware"
    """"crisp" follows the released code of CRISP (``docs/sources/crisp.md#rasterisation``)."""
    cull: str = "none"
    """The side that is not drawn; a triangle's front is the side from which its vertices run counter-clockwise in the
    picture. CRISP's rules draw both."""
    depth_compare: str = "less"
    depth_write: bool = True
    discards: bool = False
    """The fragment shader may discard: the early test then writes no depth, and ``write_colours`` tests again."""
    blend: str = "opaque"
    """How a fragment's colour meets the one below it: it replaces it, covers it by its alpha, or is added."""

    def __post_init__(self) -> None:
        choices = {"rules": RULES, "cull": CULLED, "depth_compare": COMPARES, "blend": BLENDS}
        for name, known in choices.items():
            found = getattr(self, name)
            if found not in known:
                raise UserError(f"{name} must be one of {', '.join(known)}, found {found!r}; {hint(str(found), known)}")


@dataclass(frozen=True, eq=False)
class Framebuffer:
    """Colour and depth, row 0 at the top; they persist from draw to draw."""

    colour: NDArray[np.float32]
    """float32[height, width, 4], linear RGB and alpha."""
    depth: NDArray[np.float32]
    """float32[height, width], 0 at the near plane and 1 at the far plane."""

    @classmethod
    def cleared(cls, width: int, height: int, depth: float = 1.0) -> "Framebuffer":
        """Transparent black, and ``depth`` everywhere; ``UserError`` for a side beyond 1 to ``LARGEST_SIDE``."""
        for name, side in {"width": width, "height": height}.items():
            if not 1 <= side <= LARGEST_SIDE:
                raise UserError(f"{name} of a framebuffer must be 1 to {LARGEST_SIDE} pixels, found {side}")
        return cls(np.zeros((height, width, 4), np.float32), np.full((height, width), depth, np.float32))

    @property
    def width(self) -> int:
        return self.depth.shape[1]

    @property
    def height(self) -> int:
        return self.depth.shape[0]
