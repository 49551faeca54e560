"""Laws of execution: visits, accesses and rays, checked one batch of warps at a time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.problem import Problem, where
from rayplay.formats.parquet.arrow import Columns
from rayplay.formats.schema.trace import MEMORY_CLASSES, RECORDED_SPACES, REORDER_CALL

WARPS_TABLES = ("visits", "accesses", "rays", "predicates", "hints")
"""Tables of what the warps did."""


@dataclass(frozen=True, slots=True)
class Statics:
    """Facts from the small tables, as arrays by block, instruction and warp.

    Recorded instructions are the memory instructions whose addresses a trace holds, numbered in program order;
    ``recorded_start[b]`` is the first of block b, ``recorded_rank[i]`` the number of instruction i or -1,
    ``recorded_always[b]`` how many of block b no predicate can skip.
    """

    block_kernel: np.ndarray
    block_trace: np.ndarray  # the block's trace instruction, -1 for none
    instruction_block: np.ndarray
    predicated: np.ndarray
    is_trace: np.ndarray
    is_texture: np.ndarray
    is_reorder: np.ndarray
    block_reorders: np.ndarray  # reorders of the block that no predicate can skip
    recorded: np.ndarray
    recorded_start: np.ndarray
    recorded_rank: np.ndarray
    recorded_always: np.ndarray
    warp_kernel: np.ndarray
    launched_mask: np.ndarray


@dataclass(frozen=True, slots=True)
class Batch:
    """The rows of some warps. ``*_row`` is the row number in the table of the batch's first row.

    ``*_visit`` are positions in ``visits``, -1 where the named visit does not exist; ``access_fits`` says which
    accesses name a visit and a recorded instruction of the block visited; ``tells_hints`` whether ``hints`` was read.
    """

    statics: Statics
    visits: Columns
    accesses: Columns
    rays: Columns
    predicates: Columns
    hints: Columns
    access_visit: np.ndarray
    access_fits: np.ndarray
    ray_visit: np.ndarray
    predicate_visit: np.ndarray
    hint_visit: np.ndarray
    tells_hints: bool
    visit_row: int
    access_row: int
    ray_row: int
    predicate_row: int
    hint_row: int


def read_statics(trace: Trace) -> Statics:
    """The small tables as ``Statics``."""
    names = ["block_id", "operation_class", "memory_space", "text"]
    instructions = trace.read("instructions", names)
    blocks = trace.read("blocks", ["kernel_id"])
    warps = trace.read("warps", ["kernel_id", "launched_mask"])
    holder = instructions["block_id"].astype(np.int64)
    memory = np.isin(instructions["operation_class"], MEMORY_CLASSES)
    recorded = np.flatnonzero(memory & np.isin(instructions["memory_space"], RECORDED_SPACES))
    rank = np.full(len(holder), -1, np.int64)
    rank[recorded] = np.arange(len(recorded))
    is_trace = instructions["operation_class"] == "trace"
    block_trace = np.full(len(blocks["kernel_id"]), -1, np.int64)
    block_trace[holder[is_trace]] = np.flatnonzero(is_trace)
    per_block = np.bincount(holder[recorded], minlength=len(block_trace))
    start = np.concatenate([[0], np.cumsum(per_block)])
    predicated = np.array([text.startswith("@") for text in instructions["text"]], bool)
    always = np.bincount(holder[recorded], ~predicated[recorded], len(block_trace)).astype(np.int64)
    is_reorder = np.array([REORDER_CALL in text for text in instructions["text"]], bool)
    reorders = np.bincount(holder, is_reorder & ~predicated, len(block_trace)).astype(np.int64)
    return Statics(
        blocks["kernel_id"], block_trace, holder, predicated, is_trace.astype(bool),
        np.asarray(instructions["operation_class"] == "texture", bool), is_reorder, reorders,
        recorded, start, rank, always, warps["kernel_id"], warps["launched_mask"],
    )  # fmt: skip


class Batches:
    """Makes batches of the rows of successive warps, and counts the rows before them."""

    def __init__(self, trace: Trace) -> None:
        self.statics = read_statics(trace)
        self.rows = dict.fromkeys(WARPS_TABLES, 0)

    def of(self, first: int, last: int, tables: Mapping[str, Columns], tells_hints: bool) -> Batch:
        """Batch of the warps ``first`` to ``last`` (exclusive), whose rows follow the previous call's."""
        visits, accesses, rays, predicates, hints = (tables[name] for name in WARPS_TABLES)
        count = np.bincount(visits["warp_id"].astype(np.int64) - first, minlength=last - first)
        start = np.cumsum(count) - count
        of_access, of_ray, of_predicate, of_hint = (
            _visit_position(rows, first, start, count) for rows in (accesses, rays, predicates, hints)
        )
        batch = Batch(
            self.statics, visits, accesses, rays, predicates, hints, of_access,
            _fits_block(self.statics, visits, accesses, of_access), of_ray, of_predicate, of_hint,
            tells_hints, *self.rows.values(),
        )  # fmt: skip
        for name in WARPS_TABLES:
            self.rows[name] += len(tables[name]["warp_id"])
        return batch


def _visit_position(rows: Columns, first: int, start: np.ndarray, count: np.ndarray) -> np.ndarray:
    warp = rows["warp_id"].astype(np.int64) - first
    return np.where(rows["visit"] < count[warp], start[warp] + rows["visit"], -1)


def active_masks_are_launched(batch: Batch) -> Iterator[Problem]:
    """The active mask of a visit is not 0 and names launched lanes only."""
    law, masks = "active_masks_are_launched", batch.visits["active_mask"]
    launched = batch.statics.launched_mask[batch.visits["warp_id"]]
    yield from where(law, "visits", masks == 0, masks, "active_mask must have a lane", batch.visit_row)
    message = "active_mask must be inside the warp's launched_mask"
    yield from where(law, "visits", (masks & ~launched) != 0, masks, message, batch.visit_row)


def visits_run_their_launch(batch: Batch) -> Iterator[Problem]:
    """A warp visits blocks of its own launch only."""
    blocks = batch.visits["block_id"]
    broken = batch.statics.block_kernel[blocks] != batch.statics.warp_kernel[batch.visits["warp_id"]]
    message = "block_id must be a block of the warp's launch"
    yield from where("visits_run_their_launch", "visits", broken, blocks, message, batch.visit_row)


def accesses_belong_to_visits(batch: Batch) -> Iterator[Problem]:
    """An access names a visit of its warp and a memory instruction of the block visited."""
    law, rows = "accesses_belong_to_visits", batch.accesses
    missing = batch.access_visit < 0
    yield from where(law, "accesses", missing, rows["visit"], "visit must be one of the warp", batch.access_row)
    message = "instruction_id must be a load, store, atomic or texture access of recorded memory in the block visited"
    broken = ~missing & ~batch.access_fits
    yield from where(law, "accesses", broken, rows["instruction_id"], message, batch.access_row)


def accesses_are_complete(batch: Batch) -> Iterator[Problem]:
    """A memory instruction of a visit has one access in instruction order, or none where a predicate can skip it."""
    law, statics, fits = "accesses_are_complete", batch.statics, batch.access_fits
    blocks = batch.visits["block_id"]
    first, last = (statics.recorded_start[blocks + step] for step in (np.uint32(0), np.uint32(1)))
    expected = last - first
    slot_start = np.cumsum(expected) - expected
    rows = slice(None) if fits.all() else fits
    position, instruction = batch.access_visit[rows], batch.accesses["instruction_id"][rows]
    slots = (slot_start - first)[position] + statics.recorded_rank[instruction]
    broken = slots[1:] <= slots[:-1]
    always = len(instruction) - np.count_nonzero(statics.predicated[instruction])
    if not broken.any() and always == statics.recorded_always[blocks].sum():
        return  # no slot twice, and none of the needed ones is missing
    message = "instruction_id must come after that of the access before in its visit"
    numbers = np.flatnonzero(fits)
    for index in np.flatnonzero(broken)[:20] + 1:
        yield Problem(law, "accesses", batch.access_row + int(numbers[index]), instruction[index], message)
    seen = np.zeros(int(expected.sum()), bool)
    seen[slots] = True
    visit_of_slot = np.repeat(np.arange(len(expected)), expected)
    number = np.arange(len(seen)) - slot_start[visit_of_slot] + first[visit_of_slot]
    missing = ~seen & ~statics.predicated[statics.recorded[number]]
    for index in np.flatnonzero(missing)[:20]:
        message = f"instruction {statics.recorded[number[index]]} must have an access in this visit"
        yield Problem(law, "visits", batch.visit_row + int(visit_of_slot[index]), "none", message)


def lane_masks_are_active(batch: Batch) -> Iterator[Problem]:
    """The lanes of an access are active in its visit: some of them under a predicate, else all."""
    law, rows = "lane_masks_are_active", batch.accesses
    known = batch.access_visit >= 0
    active = np.zeros(len(known), np.uint32)
    active[known] = batch.visits["active_mask"][batch.access_visit[known]]
    masks, predicated = rows["lane_mask"], batch.statics.predicated[rows["instruction_id"]]
    yield from where(law, "accesses", masks == 0, masks, "lane_mask must have a lane", batch.access_row)
    broken = known & ((masks & ~active) != 0)
    yield from where(law, "accesses", broken, masks, "lane_mask must be inside its visit's mask", batch.access_row)
    broken = known & ~predicated & (masks != active) & ((masks & ~active) == 0)
    message = "lane_mask of an instruction without predicate must be its visit's mask"
    yield from where(law, "accesses", broken, masks, message, batch.access_row)


def one_address_per_lane(batch: Batch) -> Iterator[Problem]:
    """An access has as many addresses as its lane mask has bits; one of a texture may have more."""
    counts = np.diff(batch.accesses["address_offset"].astype(np.int64))
    lanes = np.bitwise_count(batch.accesses["lane_mask"])
    broken = (counts < lanes) | (counts > lanes) & ~batch.statics.is_texture[batch.accesses["instruction_id"]]
    message = "addresses must be as many as the bits of lane_mask, or more for a texture"
    yield from where("one_address_per_lane", "accesses", broken, counts, message, batch.access_row)


def rays_belong_to_visits(batch: Batch) -> Iterator[Problem]:
    """A ray names a visit of its warp and a trace instruction; a new one is of the block visited and an active lane."""
    law, rows, statics = "rays_belong_to_visits", batch.rays, batch.statics
    lanes, instructions = rows["lane"], rows["instruction_id"]
    known = batch.ray_visit >= 0
    yield from where(law, "rays", ~known, rows["visit"], "visit must be one of the warp", batch.ray_row)
    yield from where(law, "rays", lanes > 31, lanes, "lane must be below 32", batch.ray_row)
    message = "instruction_id must be a trace instruction"
    yield from where(law, "rays", ~statics.is_trace[instructions], instructions, message, batch.ray_row)
    new = np.flatnonzero(known & (rows["segment"] == 0) & (lanes < 32))
    position = batch.ray_visit[new]
    broken = np.zeros(len(known), bool)
    broken[new] = statics.instruction_block[instructions[new]] != batch.visits["block_id"][position]
    message = "instruction_id of segment 0 must be in the block visited"
    yield from where(law, "rays", broken, instructions, message, batch.ray_row)
    broken[:] = False
    broken[new] = batch.visits["active_mask"][position] >> lanes[new].astype(np.uint32) & 1 == 0
    yield from where(law, "rays", broken, lanes, "lane of segment 0 must be active in the visit", batch.ray_row)


def rays_are_complete(batch: Batch) -> Iterator[Problem]:
    """A trace instruction of a visit has a new ray for every active lane, unless a predicate can skip it."""
    statics, rows = batch.statics, batch.rays
    calls = statics.block_trace[batch.visits["block_id"]]
    new = (batch.ray_visit >= 0) & (rows["segment"] == 0) & (rows["lane"] < 32)
    traced = np.zeros(len(calls), np.uint32)
    np.bitwise_or.at(traced, batch.ray_visit[new], np.uint32(1) << rows["lane"][new].astype(np.uint32))
    missing = batch.visits["active_mask"] & ~traced
    broken = (calls >= 0) & (missing != 0)
    broken &= ~statics.predicated[np.maximum(calls, 0)]
    message = "every active lane must have a ray of segment 0; missing lanes must be 0"
    yield from where("rays_are_complete", "visits", broken, missing, message, batch.visit_row)


def rays_are_in_order(batch: Batch) -> Iterator[Problem]:
    """The rays of a warp come by visit, and the rays of a visit by lane, each lane once."""
    rows = batch.rays
    keys = (rows["warp_id"].astype(np.int64) << 40) + (rows["visit"].astype(np.int64) << 8) + rows["lane"]
    message = "visit (then lane) must grow from ray to ray of a warp"
    yield from where(
        "rays_are_in_order", "rays", keys[1:] <= keys[:-1], rows["lane"][1:], message, batch.ray_row + 1
    )  # fmt: skip


def segments_continue(batch: Batch) -> Iterator[Problem]:
    """Segment s of a ray follows segment s - 1 of the same lane and trace instruction."""
    rows = batch.rays
    if not rows["segment"].any():
        return
    lane = (rows["warp_id"].astype(np.int64) << 8) + rows["lane"]
    order = np.argsort(lane, kind="stable")
    before = np.full(len(order), -1)
    same = lane[order][1:] == lane[order][:-1]
    before[order[1:][same]] = order[:-1][same]
    known = before >= 0
    segment = rows["segment"].astype(np.int64)
    follows = known & (segment[before] == segment - 1)
    follows &= rows["instruction_id"][before] == rows["instruction_id"]
    broken = (segment > 0) & ~follows
    message = "segment must follow the segment before of the same lane and instruction"
    yield from where("segments_continue", "rays", broken, segment, message, batch.ray_row)


def hits_are_whole(batch: Batch) -> Iterator[Problem]:
    """A stretch without a hit has instance -1, primitive -1 and infinite hit_t; with one, none of them."""
    rows = batch.rays
    none = np.isinf(rows["hit_t"]) & (rows["hit_t"] > 0)
    broken = ((rows["instance"] == -1) != none) | ((rows["primitive"] == -1) != none)
    message = "hit_t must be infinite exactly where instance and primitive are -1"
    yield from where("hits_are_whole", "rays", broken, rows["hit_t"], message, batch.ray_row)


def _fits_block(statics: Statics, visits: Columns, accesses: Columns, access_visit: np.ndarray) -> np.ndarray:
    """Accesses whose visit exists and whose instruction is a recorded one of the block visited."""
    instruction = accesses["instruction_id"]
    if not len(visits["block_id"]):
        return np.zeros(len(access_visit), bool)
    fits = statics.instruction_block[instruction] == visits["block_id"][np.maximum(access_visit, 0)]
    fits &= (access_visit >= 0) & (statics.recorded_rank[instruction] >= 0)
    return np.asarray(fits)


def predicates_leave_out_lanes(batch: Batch) -> Iterator[Problem]:
    """A predicate names an instruction of a visit of its warp, once and in order, and fewer lanes than were active."""
    law, rows, holder = "predicates_leave_out_lanes", batch.predicates, batch.statics.instruction_block
    known, position = batch.predicate_visit >= 0, np.maximum(batch.predicate_visit, 0)
    if not len(known):
        return
    instruction, first_row = rows["instruction_id"], batch.predicate_row
    yield from where(law, "predicates", ~known, rows["visit"], "visit must be one of the warp", first_row)
    if not len(batch.visits["block_id"]):
        return
    broken = known & (holder[instruction] != batch.visits["block_id"][position])
    message = "instruction_id must be in the block visited"
    yield from where(law, "predicates", broken, instruction, message, first_row)
    mask, active = rows["lane_mask"], batch.visits["active_mask"][position]
    broken = known & (((mask & ~active) != 0) | (mask == active))
    message = "lane_mask must be some of its visit's active_mask, not all"
    yield from where(law, "predicates", broken, mask, message, first_row)
    order = position * len(holder) + instruction
    broken = np.zeros(len(order), bool)
    broken[1:] = order[1:] <= order[:-1]
    message = "instruction_id must come after that of the row before in its visit"
    yield from where(law, "predicates", broken & known, instruction, message, first_row)


def hints_belong_to_calls(batch: Batch) -> Iterator[Problem]:
    """A hint names a reorder of the block visited, once and in order, and active lanes, with a value for each."""
    law, rows, statics = "hints_belong_to_calls", batch.hints, batch.statics
    known, calls, position = batch.hint_visit >= 0, rows["instruction_id"], np.maximum(batch.hint_visit, 0)
    yield from where(law, "hints", ~known, rows["visit"], "visit must be one of the warp", batch.hint_row)
    here, active = statics.is_reorder[calls], np.full(len(known), 0xFFFFFFFF, np.uint32)
    here[known] &= statics.instruction_block[calls[known]] == batch.visits["block_id"][position[known]]
    active[known] = batch.visits["active_mask"][position[known]]
    message = "instruction_id must be a reorder of the block visited"
    yield from where(law, "hints", ~here, calls, message, batch.hint_row)
    order = position * len(statics.is_reorder) + calls
    broken = np.zeros(len(order), bool)
    broken[1:] = known[1:] & known[:-1] & (order[1:] <= order[:-1])
    message = "visit (then instruction_id) must grow from row to row of a warp"
    yield from where(law, "hints", broken, rows["visit"], message, batch.hint_row)
    masks = rows["lane_mask"]
    broken = (masks == 0) | ((masks & ~active) != 0)
    yield from where(law, "hints", broken, masks, "lane_mask must have lanes, inside its visit's mask", batch.hint_row)
    broken = known & here & ~statics.predicated[calls] & (masks != active)
    message = "lane_mask of a reorder without predicate must be its visit's mask"
    yield from where(law, "hints", broken, masks, message, batch.hint_row)
    counts = np.diff(rows["hint_offset"].astype(np.int64))
    broken = counts != np.bitwise_count(masks)
    yield from where(law, "hints", broken, counts, "hints must be as many as the bits of lane_mask", batch.hint_row)


def hints_are_complete(batch: Batch) -> Iterator[Problem]:
    """In a trace with the table, a reorder of a visit has a row of hints, or none where a predicate can skip it."""
    statics, calls = batch.statics, batch.hints["instruction_id"]
    if not batch.tells_hints or not statics.block_reorders.any():
        return
    needed = statics.block_reorders[batch.visits["block_id"]]
    always = (batch.hint_visit >= 0) & statics.is_reorder[calls] & ~statics.predicated[calls]
    found = np.bincount(batch.hint_visit[always], minlength=len(needed))
    message = "every reorder without predicate must have hints; rows of this visit must be as many"
    yield from where("hints_are_complete", "visits", found < needed, found, message, batch.visit_row)
