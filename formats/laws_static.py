"""Laws of a trace's small tables: launches, program, warps, threads, image."""

from collections.abc import Iterator

import numpy as np

from formats.arrow import Columns
from formats.problem import Problem, where
from formats.reader import Trace

MAX_PIXELS_LISTED = 1 << 28


def blocks_partition_instructions(trace: Trace) -> Iterator[Problem]:
    """Blocks hold all instructions, each exactly one, in order, and belong to the launch of their instructions."""
    law = "blocks_partition_instructions"
    blocks = trace.read("blocks", ["kernel_id", "first_instruction", "instruction_count"])
    instructions = trace.read("instructions", ["kernel_id", "block_id"])
    counts = blocks["instruction_count"].astype(np.int64)
    firsts = np.cumsum(counts) - counts
    yield from where(law, "blocks", counts < 1, counts, "instruction_count must be at least 1")
    broken = blocks["first_instruction"] != firsts
    message = "first_instruction must be where the block before ends"
    yield from where(law, "blocks", broken, blocks["first_instruction"], message)
    total, rows = int(counts.sum()), len(instructions["block_id"])
    if total != rows:
        yield Problem(law, "blocks", -1, total, f"the instructions of all blocks must be the {rows} instructions")
        return
    holders = np.repeat(np.arange(len(counts)), np.maximum(counts, 0))
    broken = instructions["block_id"] != holders
    yield from where(law, "instructions", broken, instructions["block_id"], "block_id must be the block that holds it")
    broken = instructions["kernel_id"] != blocks["kernel_id"][holders]
    yield from where(law, "instructions", broken, instructions["kernel_id"], "kernel_id must be that of its block")


def reconvergence_stays_in_the_launch(trace: Trace) -> Iterator[Problem]:
    """A reconvergence block is -1 or a block of the same launch."""
    blocks = trace.read("blocks", ["kernel_id", "reconvergence_block"])
    targets, kernels = blocks["reconvergence_block"].astype(np.int64), blocks["kernel_id"]
    known = (targets >= 0) & (targets < len(kernels))
    broken = (targets != -1) & ~known
    if len(kernels):
        broken |= known & (kernels[np.where(known, targets, 0)] != kernels)
    message = "reconvergence_block must be -1 or a block of its launch"
    yield from where("reconvergence_stays_in_the_launch", "blocks", broken, targets, message)


def warps_are_in_launch_order(trace: Trace) -> Iterator[Problem]:
    """Warps come by launch, CTA and place in the CTA, each once, inside the grid and the CTA, with a lane at least."""
    law = "warps_are_in_launch_order"
    warps, kernels = trace.read("warps"), trace.read("kernels")
    yield from where(law, "warps", warps["launched_mask"] == 0, warps["launched_mask"], "launched_mask must not be 0")
    launches, ctas, places = (warps[name].astype(np.int64) for name in ("kernel_id", "cta_id", "warp_in_cta"))
    known = launches < len(kernels["kernel_id"])
    if not known.all():
        return  # references_exist reports it
    size = {name: kernels[name].astype(np.int64) for name in kernels if name[:5] in ("grid_", "block")}
    grid = size["grid_x"] * size["grid_y"] * size["grid_z"]
    places_per_cta = -(-(size["block_x"] * size["block_y"] * size["block_z"]) // 32)
    yield from where(law, "warps", ctas >= grid[launches], ctas, "cta_id must be below the CTAs of the grid")
    broken = places >= places_per_cta[launches]
    yield from where(law, "warps", broken, places, "warp_in_cta must be below the warps of a CTA")
    same = launches[1:] == launches[:-1]
    forward = (ctas[1:] > ctas[:-1]) | ((ctas[1:] == ctas[:-1]) & (places[1:] > places[:-1]))
    message = "cta_id (then warp_in_cta) must grow from warp to warp of a launch"
    yield from where(law, "warps", same & ~forward, ctas[1:], message, first_row=1)


def threads_have_lanes_and_pixels(trace: Trace) -> Iterator[Problem]:
    """A thread is a launched lane of its warp, listed once and in order, and its pixel is inside the image."""
    law, threads = "threads_have_lanes_and_pixels", trace.read("threads")
    warps, lanes = threads["warp_id"].astype(np.int64), threads["lane"]
    if not len(warps):
        return
    launched = trace.read("warps", ["launched_mask"])["launched_mask"]
    if (warps >= len(launched)).any():
        return  # references_exist reports it
    broken = (lanes > 31) | (launched[warps] >> np.minimum(lanes, 31).astype(np.uint32) & 1 == 0)
    yield from where(law, "threads", broken, lanes, "lane must be a launched lane of its warp")
    keys = warps * 256 + lanes
    yield from where(law, "threads", keys[1:] <= keys[:-1], lanes[1:], "lane must grow inside a warp", first_row=1)
    if trace.image_size is None:
        yield Problem(law, "threads", -1, "none", "a trace with threads must have an image_size")
        return
    yield from _pixels_inside(law, "threads", threads, trace.image_size)


def image_is_complete(trace: Trace) -> Iterator[Problem]:
    """The image, when there is one, has every pixel exactly once."""
    law = "image_is_complete"
    if "image" not in trace.tables:
        return
    if trace.image_size is None:
        yield Problem(law, "image", -1, "none", "a trace with an image must have an image_size")
        return
    pixels = trace.read("image", ["pixel_x", "pixel_y"])
    outside = list(_pixels_inside(law, "image", pixels, trace.image_size))
    yield from outside
    width, height = trace.image_size
    if len(pixels["pixel_x"]) != width * height:
        yield Problem(law, "image", -1, len(pixels["pixel_x"]), f"rows must be {width} x {height}")
    if outside or width * height > MAX_PIXELS_LISTED:
        return
    places = pixels["pixel_y"].astype(np.int64) * width + pixels["pixel_x"]
    times = np.bincount(places, minlength=width * height)
    for place in np.flatnonzero(times != 1)[:20]:
        y, x = divmod(int(place), width)
        yield Problem(law, "image", -1, f"{times[place]} times", f"pixel {x} {y} must be there once")


def characterisation_is_possible(trace: Trace) -> Iterator[Problem]:
    """Characterisation, when there is one, has a row per instruction with possible stalls, slots and masks."""
    law, table = "characterisation_is_possible", "characterisation"
    if table not in trace.tables:
        return
    rows = trace.read(table)
    count = trace.rows("instructions")
    if len(rows["unit"]) != count:
        yield Problem(law, table, -1, len(rows["unit"]), f"rows must be {count}, the number of instructions")
    yield from where(law, table, rows["stall_cycles"] < 1, rows["stall_cycles"], "stall_cycles must be at least 1")
    slots = rows["scoreboard_slot"]
    yield from where(law, table, (slots < -1) | (slots > 5), slots, "scoreboard_slot must be from -1 to 5")
    yield from where(law, table, rows["wait_mask"] > 63, rows["wait_mask"], "wait_mask must have bits 0 to 5 only")


def _pixels_inside(law: str, table: str, rows: Columns, size: tuple[int, int]) -> Iterator[Problem]:
    for name, limit in zip(("pixel_x", "pixel_y"), size, strict=True):
        message = f"{name} must be inside the image of {size[0]}x{size[1]}"
        yield from where(law, table, rows[name] >= limit, rows[name], message)
