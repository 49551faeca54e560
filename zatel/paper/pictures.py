"""PNG files of each step, of the image's size."""

import colorsys
from pathlib import Path

import numpy as np
from PIL import Image

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.edit.pixels import image_size
from rayplay.zatel.paper.heatmap import heat_colour, normalise
from rayplay.zatel.paper.predict import Plan

DIMMED = 0.15  # brightness of the pixels that were not selected


def write_png(colour: np.ndarray, path: Path) -> None:
    """Write float64[height, width, 3], red, green and blue in [0, 1], as an 8-bit PNG."""
    Image.fromarray(np.round(np.clip(colour, 0.0, 1.0) * 255).astype(np.uint8)).save(path)


def write_heatmap(heat: np.ndarray, path: Path) -> None:
    """Step 1: the heat of each pixel, float64[height, width] in [0, 1], in temperature colours (Zatel Fig. 4, left)."""
    write_png(heat_colour(heat), path)


def step_colours(work: np.ndarray, plan: Plan) -> dict[str, np.ndarray]:
    """Colours of each step's picture by its name, float64[height, width, 3].

    Temperature (Zatel Fig. 4, left), few colours (right), a hue for each group, and the few colours, dimmed where no
    group selected the pixel (Fig. 8).
    """
    few, count = plan.heatmap.colours[plan.heatmap.labels], int(plan.groups.max()) + 1
    hues = np.array([colorsys.hsv_to_rgb(group / count, 0.6, 0.9) for group in range(count)])
    selected = few * np.where(plan.selected, 1.0, DIMMED)[..., None]
    heat = heat_colour(normalise(work))
    return {"heatmap": heat, "quantised": few, "groups": hues[plan.groups], "selected": selected}


def write_picture(trace: Trace, path: Path) -> None:
    """Write the picture that the traced program computed, gamma corrected; none when the trace lacks one."""
    if "image" not in trace.tables:
        return
    width, height = image_size(trace)
    pixels = trace.read("image")
    radiance = np.zeros((height, width, 3))
    radiance[pixels["pixel_y"], pixels["pixel_x"]] = np.stack([pixels[c] for c in ("red", "green", "blue")], axis=1)
    write_png(np.nan_to_num(np.clip(radiance, 0.0, 1.0)) ** (1 / 2.2), path)
