"""Pictures as PNG data URIs: rendered image, heat map, and values that the page's script reads back."""

import base64
from io import BytesIO

import numpy as np
from PIL import Image

# Dark to bright, each brighter than the one before, so that a print in grey can be read as well.
RAMP = ((20, 11, 52), (59, 15, 112), (140, 41, 129), (222, 73, 104), (254, 159, 109), (252, 253, 191))
LEVELS = 256
MOST_VALUE = (1 << 24) - 1  # that three channels hold


def ramp() -> np.ndarray:
    """uint8[256, 3]: the colours of the heat maps."""
    stops = np.linspace(0, LEVELS - 1, len(RAMP))
    channels = [np.interp(np.arange(LEVELS), stops, [colour[channel] for colour in RAMP]) for channel in range(3)]
    return np.round(np.stack(channels, axis=1)).astype(np.uint8)


def uri(image: Image.Image) -> str:
    """The picture as a PNG in a data URI; no time and no name of a tool in it."""
    held = BytesIO()
    image.save(held, format="PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(held.getvalue()).decode()}"


def heat(values: np.ndarray, most: float) -> str:
    """Data URI of float[height, width] in the colours of ``ramp``; ``most`` and above is the brightest."""
    level = np.clip(values * ((LEVELS - 1) / most if most else 0.0), 0, LEVELS - 1)
    image = Image.fromarray(level.astype(np.uint8))
    image.putpalette(ramp().tobytes())
    return uri(image)


def values(found: np.ndarray) -> str:
    """Data URI of int[height, width], 24 bits in red, green and blue; larger values are cut to the largest."""
    cut = np.clip(found, 0, MOST_VALUE).astype(np.uint32)
    return uri(Image.fromarray(np.stack([cut >> 16, cut >> 8 & 255, cut & 255], axis=-1).astype(np.uint8)))


def photograph(radiance: np.ndarray) -> str:
    """Data URI of linear radiance, float[height, width, 3]: cut at 1, in the sRGB curve."""
    linear = np.clip(np.nan_to_num(radiance, nan=0.0, posinf=1.0, neginf=0.0), 0, 1)
    curve = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return uri(Image.fromarray(np.round(curve * 255).astype(np.uint8)))


def grid(columns: dict[str, np.ndarray], name: str) -> np.ndarray:
    """A column of a table by pixel, as [height, width] of the same type; a pixel without a row is 0."""
    found = np.zeros((int(columns["pixel_y"].max()) + 1, int(columns["pixel_x"].max()) + 1), columns[name].dtype)
    found[columns["pixel_y"], columns["pixel_x"]] = columns[name]
    return found


def diverging(difference: np.ndarray) -> str:
    """Data URI of int[height, width]: grey at 0, blue below, red above, full at the largest absolute value."""
    most = int(np.abs(difference).max(initial=0))
    strength = np.abs(difference)[..., None] / (most or 1)
    end = np.where(difference[..., None] < 0, np.array((33, 102, 172)), np.array((178, 24, 43)))
    colour = (1 - strength) * np.array((235, 235, 235)) + strength * end
    return uri(Image.fromarray(np.round(colour).astype(np.uint8)))
