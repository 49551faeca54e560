"""Map of lanes to pixels, and sets of pixels as text: one ``x y`` per line, ``#`` starts a comment.

Pixel (0, 0) is the top left."""

from pathlib import Path

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.formats.guard.limits import LIST_BYTES
from rayplay.formats.guard.text import read_text
from rayplay.formats.place.location import location
from rayplay.formats.place.publish import atomic_file

WARP_LANES = 32
NO_PIXEL = -1


def read_pixels(path: Path | str, image_size: tuple[int, int]) -> np.ndarray:
    """The pixels named in ``path`` as bool[height, width]; naming one twice is the same as once.

    image_size  (width, height). A pixel outside, or a line that is not two whole numbers, is a ``FormatError`` with
    file and line.
    """
    width, height = image_size
    selected = np.zeros((height, width), bool)
    for number, line in enumerate(read_text(location(path), "pixel list", LIST_BYTES).splitlines(), start=1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        if len(words) != 2 or not all(word.isascii() and word.isdigit() and len(word) < 19 for word in words):
            raise FormatError(f"{path}:{number}: must be a pixel as two whole numbers 'x y', not {line.strip()[:99]!r}")
        x, y = (int(word) for word in words)
        if x >= width or y >= height:
            raise FormatError(f"{path}:{number}: pixel must be inside the image of {width}x{height}, not at {x} {y}")
        selected[y, x] = True
    return selected


def write_pixels(path: Path | str, selected: np.ndarray) -> None:
    """Write the pixels that are True in bool[height, width], row after row, for ``read_pixels``."""
    height, width = selected.shape
    rows, columns = np.nonzero(selected)
    text = "".join(f"{x} {y}\n" for x, y in zip(columns.tolist(), rows.tolist(), strict=True))
    with atomic_file(location(path)) as partial:
        partial.write_text(f"# x y of {len(rows)} pixels of an image of {width}x{height}\n{text}", encoding="utf-8")


def image_size(trace: Trace) -> tuple[int, int]:
    """(width, height); ``UserError`` for a trace that is not of an image launch."""
    if trace.image_size is None or "threads" not in trace.tables:
        raise UserError(f"{trace.path}: must be the trace of an image launch, but says no pixel of any thread")
    return trace.image_size


def pixel_map(trace: Trace) -> np.ndarray:
    """int32[warps, 32]: ``y * width + x`` of the pixel each lane computes, -1 for a lane without one.

    Raises ``UserError`` for a trace without an image, and for a thread outside it.
    """
    width, height = image_size(trace)
    threads = trace.read("threads")
    outside = np.flatnonzero((threads["pixel_x"] >= width) | (threads["pixel_y"] >= height))
    if outside.size:
        row = int(outside[0])
        place = f"{threads['pixel_x'][row]} {threads['pixel_y'][row]}"
        raise UserError(f"{trace.path}: threads row {row}: pixels must lie inside {width}x{height}, found {place}")
    pixels = np.full((trace.rows("warps"), WARP_LANES), NO_PIXEL, dtype=np.int32)
    pixels[threads["warp_id"], threads["lane"]] = threads["pixel_y"].astype(np.int32) * width + threads["pixel_x"]
    return pixels
