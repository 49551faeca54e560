"""PNG files of each step, of the image's size."""

import colorsys
from pathlib import Path

import numpy as np
from PIL import Image

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.edit.pixels import image_size
from rayplay.zatel.paper.heatmap import heat_colour
from rayplay.zatel.paper.quantise import QuantisedHeatmap

DIMMED = 0.15  # brightness of the pixels that were not selected


def write_png(colour: np.ndarray, path: Path) -> None:
    """Write float64[height, width, 3], red, green and blue in [0, 1], as an 8-bit PNG."""
    Image.fromarray(np.round(np.clip(colour, 0.0, 1.0) * 255).astype(np.uint8)).save(path)


def write_heatmap(heat: np.ndarray, path: Path) -> None:
    """Step 1: the heat of each pixel, float64[height, width] in [0, 1], in temperature colours (Zatel Fig. 4, left)."""
    write_png(heat_colour(heat), path)


def write_quantised(heatmap: QuantisedHeatmap, path: Path) -> None:
    """Step 2: the heatmap in its few colours (Zatel Fig. 4, right)."""
    write_png(heatmap.colours[heatmap.labels], path)


def group_colours(groups: np.ndarray) -> np.ndarray:
    """float64[height, width, 3]: one hue for each group of int32[height, width]."""
    count = int(groups.max()) + 1
    return np.array([colorsys.hsv_to_rgb(group / count, 0.6, 0.9) for group in range(count)])[groups]


def write_selected(heatmap: QuantisedHeatmap, selected: np.ndarray, path: Path) -> None:
    """Step 5: the quantised heatmap, bright where ``selected``, bool[height, width], dimmed elsewhere (Fig. 8)."""
    write_png(heatmap.colours[heatmap.labels] * np.where(selected, 1.0, DIMMED)[..., None], path)


def write_picture(trace: Trace, path: Path) -> bool:
    """Write the picture that the traced program computed, gamma corrected; ``False`` when the trace lacks one."""
    if "image" not in trace.tables:
        return False
    width, height = image_size(trace)
    pixels = trace.read("image")
    radiance = np.zeros((height, width, 3))
    radiance[pixels["pixel_y"], pixels["pixel_x"]] = np.stack([pixels[c] for c in ("red", "green", "blue")], axis=1)
    write_png(np.nan_to_num(np.clip(radiance, 0.0, 1.0)) ** (1 / 2.2), path)
    return True
