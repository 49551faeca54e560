"""Laws of a trace's small tables: launches, program, warps, threads, image."""

from collections.abc import Iterator

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.dataset.writer import launches
from rayplay.formats.guard.problem import Problem, where
from rayplay.formats.parquet.arrow import Columns
from rayplay.formats.schema.trace import MOST_NODE_BYTES, NODE_ADDRESS_END

MAX_PIXELS_LISTED = 1 << 28
MOST_ACCESS_BYTES = MOST_LETTERS = 256
MOST_CTAS, MOST_THREADS = 1 << 32, 32 << 16
MOST_REGISTERS = 1 << 20
MOST_COPY_BYTES = 1 << 39  # more memory than any GPU has


def launches_are_possible(trace: Trace) -> Iterator[Problem]:
    """A launch has a stream below 2^31, bases below 2^63, 1 to 2^32 CTAs of 1 to 2^21 threads, as the manifest says."""
    law, kernels = "launches_are_possible", trace.read("kernels")
    for name in ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"):
        yield from where(law, "kernels", kernels[name] < 1, kernels[name], f"{name} must be at least 1")
    for what, most in (("grid", MOST_CTAS), ("block", MOST_THREADS)):
        size = extent(kernels, what)
        message = f"{what}_x * {what}_y * {what}_z must be at most {most}"
        yield from where(law, "kernels", size > most, size, message)
    for name, bits in (("stream", 31), ("shared_base", 63), ("local_base", 63)):
        yield from where(law, "kernels", kernels[name] >> bits != 0, kernels[name], f"{name} must be below 2^{bits}")
    summary, found = list(trace.manifest.launches), launches(kernels)
    for row, (said, launch) in enumerate(zip(summary, found, strict=False)):
        if said != launch:
            yield Problem(law, "kernels", row, launch, f"launches of the manifest must agree, which give {said}")
    if summary and len(summary) != len(found):
        yield Problem(law, "kernels", -1, len(found), f"rows must be {len(summary)}, the launches of the manifest")


def extent(kernels: Columns, what: str) -> np.ndarray:
    """float64[kernels]: product of the three sides of the ``grid`` or ``block``, exact below 2^53."""
    return kernels[f"{what}_x"].astype(np.float64) * kernels[f"{what}_y"] * kernels[f"{what}_z"]


def instructions_are_possible(trace: Trace) -> Iterator[Problem]:
    """An opcode has at most 256 letters, a lane accesses at most 256 bytes, registers have numbers below 1,048,576."""
    law, table = "instructions_are_possible", "instructions"
    rows = trace.read(table, ["opcode", "access_bytes", "destination_registers", "source_registers"])
    lengths = np.array([len(opcode) for opcode in rows["opcode"]], np.int64)
    yield from where(law, table, lengths > MOST_LETTERS, lengths, f"opcode must have at most {MOST_LETTERS} letters")
    message = f"access_bytes must be at most {MOST_ACCESS_BYTES}"
    yield from where(law, table, rows["access_bytes"] > MOST_ACCESS_BYTES, rows["access_bytes"], message)
    for name in ("destination_registers", "source_registers"):
        for place in np.flatnonzero(rows[name] >= MOST_REGISTERS)[:20]:
            row = int(np.searchsorted(rows[f"{name}_offset"], place, side="right")) - 1
            yield Problem(law, table, row, int(rows[name][place]), f"{name} must be below {MOST_REGISTERS}")


def copies_are_possible(trace: Trace) -> Iterator[Problem]:
    """A copy from the host comes before or after a launch; copies and fills have at most 2^39 bytes."""
    law, launches_held = "copies_are_possible", trace.rows("kernels")
    for table in ("copies", "fills"):
        rows = trace.read(table)
        message = f"kernel_id must be at most {launches_held}, the number of launches"
        yield from where(law, table, rows["kernel_id"] > launches_held, rows["kernel_id"], message)
        size, last = rows["bytes"], ~rows["address"]
        yield from where(law, table, size > MOST_COPY_BYTES, size, f"bytes must be at most {MOST_COPY_BYTES}")
        yield from where(law, table, size > last, size, "address + bytes must be below 2^64")


def records_are_possible(trace: Trace) -> Iterator[Problem]:
    """A BVH record has at most 128 bytes and an address below 2^46."""
    law, table = "records_are_possible", "nodes"
    if table not in trace.tables:
        return
    rows = trace.read(table, ["address", "bytes"])
    message = f"address must be below {NODE_ADDRESS_END:#x}"
    yield from where(law, table, rows["address"] >= NODE_ADDRESS_END, rows["address"], message)
    message = f"bytes must be at most {MOST_NODE_BYTES}"
    yield from where(law, table, rows["bytes"] > MOST_NODE_BYTES, rows["bytes"], message)


def blocks_partition_instructions(trace: Trace) -> Iterator[Problem]:
    """Blocks hold all instructions, each exactly one, in order, and belong to the launch of their instructions."""
    law = "blocks_partition_instructions"
    blocks = trace.read("blocks", ["kernel_id", "first_instruction", "instruction_count"])
    instructions = trace.read("instructions", ["kernel_id", "block_id"])
    counts = blocks["instruction_count"].astype(np.int64)
    firsts = blocks["first_instruction"].astype(np.int64)
    yield from where(law, "blocks", counts < 1, counts, "instruction_count must be at least 1")
    broken = firsts != np.concatenate([[0], (firsts + counts)[:-1]])[: len(firsts)]
    message = "first_instruction must be where the block before ends"
    yield from where(law, "blocks", broken, firsts, message)
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
    yield from where(
        law, "warps", warps["launched_mask"] == 0, warps["launched_mask"], "launched_mask must have a lane"
    )
    kernel, ctas, places = (warps[name].astype(np.int64) for name in ("kernel_id", "cta_id", "warp_in_cta"))
    known = kernel < len(kernels["kernel_id"])
    if not known.all():
        return  # references_exist reports it
    grid, threads = (np.minimum(extent(kernels, what), MOST_CTAS).astype(np.int64) for what in ("grid", "block"))
    places_per_cta = -(-threads // 32)
    yield from where(law, "warps", ctas >= grid[kernel], ctas, "cta_id must be below the CTAs of the grid")
    broken = places >= places_per_cta[kernel]
    yield from where(law, "warps", broken, places, "warp_in_cta must be below the warps of a CTA")
    lanes = np.clip(threads[kernel] - 32 * places, 0, 32)
    broken |= warps["launched_mask"].astype(np.int64) >> lanes != 0
    yield from where(
        law, "warps", broken, warps["launched_mask"], "launched_mask must be inside the threads of the CTA"
    )
    same = kernel[1:] == kernel[:-1]
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
