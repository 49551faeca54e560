"""Picture files: PNG, JPEG, TGA and BMP as texels."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.pictures import open_picture

FORMATS = ("PNG", "JPEG", "TGA", "BMP")


def read_texels(source: Path | bytes, place: str) -> NDArray[np.uint8]:
    """uint8[height, width, 4], red, green, blue and alpha as the file has them; row 0 is the top.

    source   a file, or the bytes of one.
    place    what an error names.

    Raises ``UserError`` for a file of another format, a damaged one, or one with more pixels than the limit.
    """
    with open_picture(source, place, FORMATS) as image:
        return np.ascontiguousarray(np.asarray(image.convert("RGBA")))
