"""Step 1: work of each pixel, and its temperature colour (Zatel III-B).

The paper profiles the runtime of each pixel with the clock of a real GPU, or with the simulator's functional mode, and
says that the hardware is mostly irrelevant. A trace already knows the work: the thread instructions that the pixel's
lane executed and the BVH records that its rays fetched.
"""

import numpy as np
from scipy.spatial import KDTree

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.edit.pixels import NO_PIXEL, image_size, pixel_map
from rayplay.formats.laws.expect import expect_valid
from rayplay.zatel.paper.work_per_pixel import add_visits

# A thread instruction is the unit. A BVH record costs its lane a fetch and 4 to 8 cycles of the RT unit
# (docs/sources/vulkan-sim.md#record-latencies). On bunny at 128x128 the work of a pixel correlates by 0.95 with its
# replayed cycles for every weight from 1 to 10, and the mean work of a warp best at 10.
INSTRUCTION_WORK = 1.0
RECORD_WORK = 10.0

# NVIDIA's heat gradient, coldest first: "Profiling DXR shaders with timer instrumentation", Zatel reference [24].
HEAT_COLOURS = (
    np.array(
        [
            (0, 2, 91), (0, 108, 251), (0, 221, 221), (51, 221, 0), (255, 252, 0),
            (255, 180, 0), (255, 104, 0), (226, 22, 0), (191, 0, 83), (145, 0, 65),
        ],
        dtype=np.float64,
    )
    / 255.0
)  # fmt: skip
HEAT_BLUR = 0.8
HEAT_STEPS = 8193  # places on the gradient that a colour is compared with


def pixel_work(trace: Trace) -> np.ndarray:
    """float64[height, width]: the work of each pixel in thread instructions, in one pass over visits and rays.

    ``INSTRUCTION_WORK`` per thread instruction plus ``RECORD_WORK`` per BVH record fetched; pixels that no thread
    computed are 0. Zatel III-B. ``FormatError`` for a trace that breaks a law.
    """
    expect_valid(trace)
    pixels = pixel_map(trace)
    width, height = image_size(trace)
    instructions = INSTRUCTION_WORK * trace.read("blocks", ["instruction_count"])["instruction_count"]
    work = np.zeros(width * height, dtype=np.float64)
    for batch in trace.batches("visits", ["warp_id", "block_id", "active_mask"]):
        add_visits(batch["warp_id"], instructions[batch["block_id"]], batch["active_mask"], pixels, work)
    if "rays" in trace.tables:
        for batch in trace.batches("rays", ["warp_id", "lane", "node"]):
            records = np.diff(batch["node_offset"].astype(np.int64))
            pixel = pixels[batch["warp_id"], batch["lane"]]
            inside = pixel != NO_PIXEL
            work += RECORD_WORK * np.bincount(pixel[inside], records[inside], minlength=work.size)
    return work.reshape(height, width)


def normalise(work: np.ndarray, headroom: float = 1.0) -> np.ndarray:
    """The heat of each pixel in [0, 1]: its work divided by the longest (Zatel III-B); all 0 when nothing worked.

    headroom  factor on the longest work; 1.1 in the released code.
    """
    longest = work.max(initial=0.0) * headroom
    return work / longest if longest > 0 else np.zeros_like(work)


def heat_colour(heat: np.ndarray) -> np.ndarray:
    """float64[..., 3] in [0, 1]: NVIDIA's heat gradient of ``heat``, 0 dark blue and 1 dark magenta.

    Ten colours, neighbours mixed by smoothstep with a blur of 0.8: Zatel reference [24], as the released heatmaps have
    it.
    """
    position = np.asarray(heat, dtype=np.float64) * len(HEAT_COLOURS)
    current = np.clip(position.astype(np.int64), 0, len(HEAT_COLOURS) - 1)
    below = np.maximum(current - 1, 0)
    above = np.minimum(current + 1, len(HEAT_COLOURS) - 1)
    into = _smoothstep(current - HEAT_BLUR, current + HEAT_BLUR, position)[..., None]
    beyond = _smoothstep(current + 1 - HEAT_BLUR, current + 1 + HEAT_BLUR, position)[..., None]
    mixed = into * (1 - beyond) * HEAT_COLOURS[current]
    mixed += (1 - into) * HEAT_COLOURS[below]
    mixed += beyond * HEAT_COLOURS[above]
    return np.clip(mixed, 0.0, 1.0)


def colour_heat(colour: np.ndarray) -> np.ndarray:
    """Inverse of ``heat_colour``: the heat in [0, 1] with the nearest colour; ``colour`` is float64[..., 3] in [0, 1].

    Within 0.0002 for colours of the gradient, within 0.025 when they were rounded to 8 bits: near both ends the
    gradient hardly changes. 17 released heatmaps (docs/sources/zatel-code.md#heatmap) lie within 0.8/255 of the
    gradient.
    """
    known = np.linspace(0.0, 1.0, HEAT_STEPS)
    nearest = KDTree(heat_colour(known)).query(colour.reshape(-1, 3))[1]
    return known[nearest].reshape(colour.shape[:-1])


def _smoothstep(low: np.ndarray, high: np.ndarray, value: np.ndarray) -> np.ndarray:
    part = np.clip((value - low) / (high - low), 0.0, 1.0)
    return part * part * (3 - 2 * part)
