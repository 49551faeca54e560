"""Step 6, first half: filter a trace to some pixels, as the program with ``filter_shader`` would run (Zatel III-F).

The paper injects an instruction at the start of the ray generation shader that sends the lanes of unwanted pixels to
its exit (Listing 1). Every traced program carries that instruction already, so the trace for fewer pixels need not be
executed: it is the given one with the other lanes removed. Every warp is still launched. Its first block, which asks
``filter_shader``, and the exit block where its lanes reconverge keep all their lanes. Every other visit, access and ray
keeps only the selected lanes; rows without lanes are dropped.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from rayplay.formats.dataset.reader import Trace, WarpStream, open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.edit.pixels import NO_PIXEL, image_size, pixel_map
from rayplay.formats.edit.rows import (
    Columns,
    as_accesses,
    check_addresses,
    filter_accesses,
    filter_hints,
    filter_predicates,
    filter_rays,
    filter_visits,
    ray_stays,
    visit_rows,
)
from rayplay.formats.edit.select import take
from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.formats.laws.expect import expect_valid, valid_trace

FILTER_OPCODE = "filter_shader"
WITH_RAYS = ("distances", "culled")
"""Tables with a row for each ray; after ``rays``."""
FILTERED_TABLES = ("visits", "accesses", "predicates", "hints", "rays", *WITH_RAYS)
EVERY_LANE = np.uint32(0xFFFFFFFF)


class Lanes(NamedTuple):
    """Lanes that one filter keeps.

    selected   uint32[warps], the lanes that stay: selected pixels, and lanes without a pixel.
    whole      bool[blocks], blocks whose visits keep all their lanes: the prologue and its exit.
    entered    bool[instructions], the instructions of these blocks.
    textures   bool[instructions], texture accesses, which may have more addresses than lanes.
    """

    selected: np.ndarray
    whole: np.ndarray
    entered: np.ndarray
    textures: np.ndarray


def filter_trace(trace_path: Path, selected: np.ndarray, out_path: Path) -> None:
    """Write to ``out_path`` the trace of the ``selected`` pixels, bool[height, width], of the trace ``trace_path``.

    Keeps every law. Equal in every table, byte for byte, to what tracing with that filter writes. A trace whose program
    has no ``filter_shader`` loses the other lanes everywhere, with one warning. Streams: memory does not grow with the
    trace. Raises ``UserError`` when the shapes of picture and selection differ or the trace has no pixels,
    ``FormatError`` where rows contradict each other.
    """
    trace = open_trace(trace_path)
    expect_valid(trace)
    with valid_trace(out_path) as unchecked:
        filter_to_many(trace, [selected], [unchecked])


def filter_to_many(trace: Trace, selections: Sequence[np.ndarray], out_paths: Sequence[Path]) -> None:
    """``filter_trace`` for several selections in one pass over ``trace``: one output each."""
    whole = prologue_and_exit(trace)
    pixels = pixel_map(trace)
    launched = trace.read("warps", ["launched_mask"])["launched_mask"]
    instructions = trace.read("instructions", ["block_id", "operation_class"])
    entered = whole[instructions["block_id"]]
    textures = np.asarray(instructions["operation_class"] == "texture", bool)
    keeps = [Lanes(_selected_lanes(trace, pixels, launched, chosen), whole, entered, textures) for chosen in selections]
    with ExitStack() as stack:
        writers = [
            stack.enter_context(TraceWriter(path, provenance=_provenance(trace, chosen), image_size=trace.image_size))
            for path, chosen in zip(out_paths, selections, strict=True)
        ]
        _copy_unchanged(trace, writers)
        for batch in _batches(trace):
            _filter_batch(trace, *batch, keeps, writers)
        if "image" in trace.tables:
            _filter_image(trace, selections, writers)


def prologue_and_exit(trace: Trace) -> np.ndarray:
    """bool[blocks]: the blocks that hold ``filter_shader``, and the blocks where their two sides reconverge.

    All ``False``, with a warning, for a program without it.
    """
    opcodes = trace.read("instructions", ["opcode", "block_id"])
    asks = np.array([str(opcode).split(".")[0] == FILTER_OPCODE for opcode in opcodes["opcode"]], dtype=bool)
    whole = np.zeros(trace.rows("blocks"), dtype=bool)
    if not asks.any():
        message = f"{trace.path}: no instruction {FILTER_OPCODE}; unselected lanes are removed from every block"
        warnings.warn(message, stacklevel=3)
        return whole
    prologues = np.unique(opcodes["block_id"][asks])
    exits = trace.read("blocks", ["reconvergence_block"])["reconvergence_block"][prologues]
    whole[prologues] = True
    whole[exits[exits >= 0]] = True
    return whole


def _selected_lanes(trace: Trace, pixels: np.ndarray, launched: np.ndarray, selected: np.ndarray) -> np.ndarray:
    """uint32[warps]: launched lanes whose pixel is selected, and lanes without a pixel."""
    width, height = image_size(trace)
    if selected.shape != (height, width):
        found = f"{selected.shape[1]}x{selected.shape[0]}"
        raise UserError(f"{trace.path}: the selection must be {width}x{height} pixels, found {found}")
    stays = (pixels == NO_PIXEL) | selected.reshape(-1)[np.maximum(pixels, 0)]
    masks = np.packbits(stays, axis=1, bitorder="little").view(np.uint32).reshape(-1)
    return masks & launched


def _provenance(trace: Trace, selected: np.ndarray) -> dict[str, object]:
    """Provenance of the input, and the number of pixels that stay."""
    given = {"name": trace.path.name, "provenance": trace.manifest.provenance}
    return {"command": "zatel filter", "input": given, "pixels": int(selected.sum())}


def _copy_unchanged(trace: Trace, writers: Sequence[TraceWriter]) -> None:
    for name in trace.tables:
        for writer in writers:
            writer.declare(name)
        if name in FILTERED_TABLES or name == "image":
            continue
        for columns in trace.batches(name):
            for writer in writers:
                writer.put(name, columns)


def _filter_image(trace: Trace, selections: Sequence[np.ndarray], writers: Sequence[TraceWriter]) -> None:
    """Pixels that are not traced stay black."""
    for columns in trace.batches("image"):
        for selected, writer in zip(selections, writers, strict=True):
            traced = selected[columns["pixel_y"], columns["pixel_x"]]
            colours = {name: np.where(traced, columns[name], np.float32(0)) for name in ("red", "green", "blue")}
            writer.put("image", {**columns, **colours})


def _batches(trace: Trace) -> Iterator[tuple[Columns, Iterator[tuple[str, Columns]]]]:
    """Visits of some warps, and their rows of the other filtered tables, piece after piece.

    A warp may have more rows than fit into memory: only its visits are loaded at once. Shows a progress bar.
    """
    streams = {name: WarpStream(trace, name) for name in FILTERED_TABLES if name in trace.tables}
    with tqdm(total=trace.rows("warps"), desc="filter", unit="warp", disable=None, leave=False) as bar:
        for first, last in pairwise(trace.batch_bounds(tuple(streams))):
            others = (
                (name, rows) for name in streams if name != "visits" for rows in streams[name].pieces(first, last)
            )
            yield streams["visits"].take(first, last), others
            bar.update(last - first)
    for stream in streams.values():
        stream.expect_end(trace.rows("warps"))


def _filter_batch(
    trace: Trace,
    visits: Columns,
    others: Iterator[tuple[str, Columns]],
    keeps: Sequence[Lanes],
    writers: Sequence[TraceWriter],
) -> None:
    """Write the rows of some whole warps that stay, table by table."""
    ordinals = []
    for keep, writer in zip(keeps, writers, strict=True):
        kept, numbers = filter_visits(visits, keep.selected, keep.whole)
        writer.put("visits", kept)
        ordinals.append(numbers)
    rays: list[list[np.ndarray]] = [[] for _ in keeps]
    taken = dict.fromkeys(WITH_RAYS, 0)
    for name, rows in others:
        if name in WITH_RAYS:
            first, taken[name] = taken[name], taken[name] + len(rows["warp_id"])
            for stay, writer in zip(rays, writers, strict=True):
                writer.put(name, _with_rays(trace, name, rows, stay, first))
            continue
        place = _places(trace, name, rows, visits, keeps[0].textures)
        for keep, writer, numbers, stay in zip(keeps, writers, ordinals, rays, strict=True):
            lanes = _kept_lanes(name, rows, visits, place, keep)
            if name == "rays":
                stay.append(ray_stays(rows, lanes))
            writer.put(name, _filter_rows(name, rows, visits, place, lanes, numbers))


def _with_rays(trace: Trace, name: str, rows: Columns, stay: list[np.ndarray], first: int) -> Columns:
    """The rows whose ray stays; ``first``: the ray, of this batch, of the first row."""
    rays = np.concatenate([*stay, np.zeros(0, bool)])[first : first + len(rows["warp_id"])]
    if len(rays) != len(rows["warp_id"]):
        raise FormatError(f"{trace.path}: table {name}: must have a row for each row of rays")
    return take(trace.layout.table(name), rows, rays)


def _kept_lanes(name: str, rows: Columns, visits: Columns, place: np.ndarray, keep: Lanes) -> np.ndarray:
    """uint32[rows]: the lanes that the rows of a table keep; ``place`` are their rows in ``visits``."""
    stays = keep.entered[rows["instruction_id"]] if name == "rays" else keep.whole[visits["block_id"][place]]
    return np.where(stays, EVERY_LANE, keep.selected[rows["warp_id"]])


def _filter_rows(
    name: str, rows: Columns, visits: Columns, place: np.ndarray, lanes: np.ndarray, ordinals: np.ndarray
) -> Columns:
    """The ``rows`` of a table that keep one of their ``lanes``; ``place`` are their rows in ``visits``."""
    if name == "rays":
        return filter_rays(rows, lanes, ordinals[place])
    if name == "accesses":
        return filter_accesses(rows, lanes, ordinals[place])
    if name == "hints":
        return filter_hints(rows, lanes, ordinals[place])
    return filter_predicates(rows, lanes, visits["active_mask"][place], ordinals[place])


def _places(trace: Trace, name: str, rows: Columns, visits: Columns, textures: np.ndarray) -> np.ndarray:
    """The row in ``visits`` of each row of a table; ``FormatError`` when rows of different tables disagree."""
    try:
        if name == "accesses":
            check_addresses(rows, textures)
        if name == "hints":
            check_addresses(as_accesses(rows), textures, "hints")
        return visit_rows(rows, visits)
    except ValueError as error:
        raise FormatError(f"{trace.path}: table {name}, {error}") from None
