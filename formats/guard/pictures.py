"""Pictures from outside (PNG, JPEG, whatever Pillow reads): their size is checked before a pixel is decoded."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from rayplay.formats.guard.errors import FormatError, reason_of
from rayplay.formats.guard.limits import TEXTURE_PIXELS, Limit

if TYPE_CHECKING:
    from PIL.Image import Image as Picture


@contextmanager
def open_picture(
    source: Path | bytes, place: object, formats: tuple[str, ...] | None = None, limit: Limit = TEXTURE_PIXELS
) -> Iterator["Picture"]:
    """Open a picture for the block, which decodes it.

    source   a file, or the bytes of one; ``place``: what an error names.
    formats  names of Pillow's; None: all.

    ``FormatError`` when it is missing, damaged, of another format, or has more pixels than ``limit``.
    """
    from PIL import Image  # few verbs read pictures

    try:
        pillows, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None  # ours has a name, and may be raised
        try:
            opened = Image.open(BytesIO(source) if isinstance(source, bytes) else source, formats=formats)
        finally:
            Image.MAX_IMAGE_PIXELS = pillows
        with opened as image:
            limit.check(image.width * image.height, "its pixels", file=place)
            yield image
    except (OSError, SyntaxError, ValueError) as error:  # whatever its many decoders meet
        raise FormatError(f"must be a picture: {reason_of(error)}", file=place) from None
