"""Picture files: PNG, JPEG, TGA and BMP as texels."""

from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import TEXTURE_PIXELS

FORMATS = ("PNG", "JPEG", "TGA", "BMP")


def read_texels(source: Path | bytes, place: str) -> NDArray[np.uint8]:
    """uint8[height, width, 4], red, green, blue and alpha as the file has them; row 0 is the top.

    source   a file, or the bytes of one.
    place    what an error names.

    Raises ``UserError`` for a file of another format, a damaged one, or one with more pixels than the limit.
    """
    from PIL import Image, UnidentifiedImageError  # only scenes with pictures pay for this import

    try:
        with Image.open(BytesIO(source) if isinstance(source, bytes) else source, formats=FORMATS) as image:
            TEXTURE_PIXELS.check(image.width * image.height, "its pixels", file=place)
            return np.ascontiguousarray(np.asarray(image.convert("RGBA")))
    except (UnidentifiedImageError, OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise UserError(f"{place}: texture cannot be read: {error}") from error
