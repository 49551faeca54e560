"""Step 1 from other sources: the heat of each pixel from replayed cycles or a picture (Zatel III-B)."""

from pathlib import Path

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.dataset.result import open_result
from rayplay.formats.edit.pixels import image_size
from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.formats.guard.limits import IMAGE_PIXELS
from rayplay.formats.guard.pictures import open_picture
from rayplay.formats.laws.expect import expect_valid
from rayplay.zatel.paper.heatmap import colour_heat, pixel_work

EXR = ".exr"


def pixel_measure(trace: Trace, source: str) -> np.ndarray:
    """Measure of each pixel's heat, float64[height, width].

    source  ``work``: thread instructions and BVH records of the trace; a ``.result`` of the whole trace: the cycles of
            each pixel's thread; else a picture (PNG, PPM, EXR, whatever Pillow reads) of the image's size, grey or in
            the colours of NVIDIA's gradient: its heat in [0, 1].

    ``UserError`` when it cannot be read or is of another size.
    """
    if source == "work":
        return pixel_work(trace)
    expect_valid(trace)
    path = Path(source)
    measure = replayed_cycles(path) if path.is_dir() else picture_heat(path)
    width, height = image_size(trace)
    if measure.shape != (height, width):
        found = f"{measure.shape[1]}x{measure.shape[0]}"
        raise UserError(f"--heatmap {path}: must be of the image's {width}x{height} pixels, not {found}")
    return measure


def replayed_cycles(path: Path) -> np.ndarray:
    """float64[height, width]: the cycles of each pixel's thread in a result; ``UserError`` when it has no pixels."""
    result = open_result(path)
    if "pixels" not in result.tables or not result.rows("pixels"):
        raise UserError(f"--heatmap {path}: must be the result of an image launch, but has no pixels")
    pixels = result.read("pixels")
    x, y = pixels["pixel_x"].astype(np.int64), pixels["pixel_y"].astype(np.int64)
    width, height = int(x.max()) + 1, int(y.max()) + 1
    return np.bincount(y * width + x, pixels["cycles"], minlength=width * height).reshape(height, width)


def picture_heat(path: Path) -> np.ndarray:
    """float64[height, width] in [0, 1]: a grey picture's brightness; otherwise the heat whose colour is nearest."""
    colour = _read_exr(path) if path.suffix.lower() == EXR else _read_picture(path)
    if (colour == colour[..., :1]).all():
        return np.clip(colour[..., 0], 0.0, 1.0)
    return colour_heat(colour)


def _read_picture(path: Path) -> np.ndarray:
    try:
        with open_picture(path, path, limit=IMAGE_PIXELS) as image:
            if image.mode.startswith(("I", "F")):  # 16 bits and more of grey
                grey = np.asarray(image, np.float64)
                grey = grey if image.mode == "F" else grey / 65535.0
                return np.repeat(grey[..., None], 3, axis=2)
            return np.asarray(image.convert("RGB"), np.float64) / 255.0
    except FormatError as error:
        raise UserError(f"--heatmap {path}: must be a picture or a .result: {error.reason}") from None


def _read_exr(path: Path) -> np.ndarray:
    """float64[height, width, 3] of the channels R, G and B, or thrice the only channel."""
    import OpenEXR

    if not path.is_file():
        raise UserError(f"--heatmap {path}: must be a picture or a .result: No such file or directory")
    try:
        with OpenEXR.File(str(path), header_only=True) as file:
            low, high = np.array(file.header()["dataWindow"], np.int64)
        IMAGE_PIXELS.check(int(np.prod(high - low + 1)), "its pixels", file=path)
        with OpenEXR.File(str(path), separate_channels=True) as file:
            channels = {name: np.asarray(channel.pixels, np.float64) for name, channel in file.channels().items()}
    except RuntimeError:
        raise UserError(f"--heatmap {path}: must be an OpenEXR picture") from None
    names = ("R", "G", "B") if {"R", "G", "B"} <= channels.keys() else tuple(channels)[:1] * 3
    colour = np.stack([channels[name] for name in names], axis=2)
    if not np.isfinite(colour).all():
        raise UserError(f"--heatmap {path}: must hold finite numbers")
    return colour
