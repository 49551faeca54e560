"""The arrays that running warps read and write, for machine code, interpreter and compiled driver alike."""

from typing import NamedTuple

import numpy as np

from rayplay.tracer.native.calls import borrowed
from rayplay.tracer.native.jit import compiled


class Warps(NamedTuple):
    """Everything that running warps read and write; raw addresses are int64."""

    machine: np.ndarray  # int64[MACHINE_WORDS]
    # per function of the launch
    addresses: np.ndarray  # int64[functions], machine code
    words: np.ndarray  # int64[functions], length of an activation
    zero: np.ndarray  # int64[functions, 2], words of an activation that start as 0
    local_bytes: np.ndarray  # int64[functions]
    turns: np.ndarray  # int64[functions, 2], first byte of the reconvergence stack and its ``parted`` entries
    signatures: np.ndarray  # int64[functions and external functions]
    # per warp of a CTA, or of all CTAs of a cooperative launch
    stacks: np.ndarray  # int64[warps, words], activations; starts at a multiple of 64 bytes
    items: np.ndarray  # int64[warps, items, ITEM_WORDS]
    depth: np.ndarray  # int64[warps], items in use
    left: np.ndarray  # int64[warps, calls, len(LEFT)], calls that some of their lanes have left (``turns_of_calls``)
    left_items: np.ndarray  # int64[warps, calls, items, ITEM_WORDS]
    left_stacks: np.ndarray  # int64[warps, calls, words]
    views: np.ndarray  # int64[items, V_SBT + 32]
    barriers: np.ndarray  # int64[CTAs that run in turns, BARRIERS, BARRIER_WORDS]
    # trace calls
    frames: np.ndarray  # uint32[trace depth + 1, len(FRAME), 32]
    report: np.ndarray  # uint32[REPORT_ROWS, 32]
    objects: np.ndarray  # uint32[trace depth + 1, len(FRAME), 32], hit objects of the programs at each depth
    exception: np.ndarray  # uint32[len(EXCEPTION), 32]
    states: np.ndarray  # uint32[trace depth + 1, 32, words]
    scene: (
        np.ndarray
    )  # int64[3]: SCENE_CODE and SCENE_CONTEXT, addresses; SCENE_DELAYED, programs run after the traversal
    sbt_hit: np.ndarray  # uint64[records], addresses of the records' data
    sbt_miss: np.ndarray  # uint64[records]
    hit_programs: np.ndarray  # int32[records, 3]
    miss_programs: np.ndarray  # int32[records]
    outgoing: np.ndarray  # int64[functions], word of an activation where the addresses of an indirect call begin
    callable_data: (
        np.ndarray
    )  # int64[functions by address], address of a callable record's data, 0 for another function
    thrown: np.ndarray  # int64[2]: number of the exception program, -1 for none, and address of its record's data
    opaque: np.ndarray  # uint8[geometries]
    first_geometry: np.ndarray  # int64[instances]
    # records
    rays: np.ndarray  # uint32[rows, RAY_WORDS]
    nodes: np.ndarray  # uint32[words]
    counts: np.ndarray  # int64[COUNTS], in use of rays, nodes and runs
    runs: np.ndarray  # int64[rows, RUN_WORDS]


@compiled
def borrow(w: Warps) -> Warps:
    """All arrays without their owners (``borrowed``)."""
    return Warps(
        borrowed(w.machine),
        borrowed(w.addresses),
        borrowed(w.words),
        borrowed(w.zero),
        borrowed(w.local_bytes),
        borrowed(w.turns),
        borrowed(w.signatures),
        borrowed(w.stacks),
        borrowed(w.items),
        borrowed(w.depth),
        borrowed(w.left),
        borrowed(w.left_items),
        borrowed(w.left_stacks),
        borrowed(w.views),
        borrowed(w.barriers),
        borrowed(w.frames),
        borrowed(w.report),
        borrowed(w.objects),
        borrowed(w.exception),
        borrowed(w.states),
        borrowed(w.scene),
        borrowed(w.sbt_hit),
        borrowed(w.sbt_miss),
        borrowed(w.hit_programs),
        borrowed(w.miss_programs),
        borrowed(w.outgoing),
        borrowed(w.callable_data),
        borrowed(w.thrown),
        borrowed(w.opaque),
        borrowed(w.first_geometry),
        borrowed(w.rays),
        borrowed(w.nodes),
        borrowed(w.counts),
        borrowed(w.runs),
    )
