"""Pictures from outside (PNG, JPEG, whatever Pillow reads): their size is checked before a pixel is decoded."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rayplay.formats.guard.errors import FormatError, reason_of
from rayplay.formats.guard.limits import TEXTURE_PIXELS, Limit

if TYPE_CHECKING:
    from PIL.Image import Image as Picture


@contextmanager
def open_picture(
    path: Path, formats: tuple[str, ...] | None = None, limit: Limit = TEXTURE_PIXELS
) -> Iterator["Picture"]:
    """Open a picture for the block, which decodes it; ``formats``: names of Pillow's, all when None.

    ``FormatError`` when it is missing, damaged, of another format, or has more pixels than ``limit``.
    """
    from PIL import Image  # few verbs read pictures

    try:
        pillows, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None  # ours has a name, and may be raised
        try:
            opened = Image.open(path, formats=formats)
        finally:
            Image.MAX_IMAGE_PIXELS = pillows
        with opened as image:
            limit.check(image.width * image.height, "its pixels", file=path)
            yield image
    except (OSError, SyntaxError, ValueError) as error:  # whatever its many decoders meet
        raise FormatError(f"must be a picture: {reason_of(error)}", file=path) from None
