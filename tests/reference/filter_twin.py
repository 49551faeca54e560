"""The trace filter as plainly as it can be said: lists of rows, one lane at a time. Twin of ``formats.edit.filter``."""

from typing import Any

import numpy as np

Row = dict[str, Any]


def rows_of(columns: dict[str, np.ndarray]) -> list[Row]:
    """A table as a list of rows; a ragged column becomes a list per row."""
    ragged = [name.removesuffix("_offset") for name in columns if name.endswith("_offset")]
    plain = [name for name in columns if name not in ragged and not name.endswith("_offset")]
    count = len(columns[plain[0]])
    rows = []
    for row in range(count):
        values = {name: columns[name][row : row + 1].tolist()[0] for name in plain}
        for name in ragged:
            start, end = (int(columns[f"{name}_offset"][row + k]) for k in (0, 1))
            values[name] = columns[name][start:end].tolist()
        rows.append(values)
    return rows


def lanes_of(mask: int) -> list[int]:
    return [lane for lane in range(32) if mask >> lane & 1]


def mask_of(lanes: list[int]) -> int:
    return sum(1 << lane for lane in lanes)


def filter_rows(
    threads: list[Row],
    visits: list[Row],
    accesses: list[Row],
    rays: list[Row],
    selected: set[tuple[int, int]],
    whole_blocks: set[int],
) -> tuple[list[Row], list[Row], list[Row]]:
    """The visits, accesses and rays that stay when only ``selected`` pixels, as (x, y), are traced."""  # fmt: skip
    dropped = {(t["warp_id"], t["lane"]) for t in threads if (t["pixel_x"], t["pixel_y"]) not in selected}
    kept_visits: list[Row] = []
    old_to_new: dict[tuple[int, int], int] = {}
    whole_visits: set[tuple[int, int]] = set()
    seen: dict[int, int] = {}
    kept: dict[int, int] = {}
    for visit in visits:
        warp = visit["warp_id"]
        ordinal = seen.get(warp, 0)
        seen[warp] = ordinal + 1
        lanes = lanes_of(visit["active_mask"])
        if visit["block_id"] in whole_blocks:
            whole_visits.add((warp, ordinal))
        else:
            lanes = [lane for lane in lanes if (warp, lane) not in dropped]
        if lanes:
            kept[warp] = kept.get(warp, 0) + 1
            kept_visits.append({**visit, "active_mask": mask_of(lanes)})
        old_to_new[warp, ordinal] = kept.get(warp, 0) - 1
    kept_accesses = []
    for access in accesses:
        name = access["warp_id"], access["visit"]
        pairs = list(zip(lanes_of(access["lane_mask"]), access["address"], strict=True))
        if name not in whole_visits:
            pairs = [(lane, address) for lane, address in pairs if (name[0], lane) not in dropped]
        if pairs:
            mask = mask_of([lane for lane, _ in pairs])
            addresses = [address for _, address in pairs]
            kept_accesses.append({**access, "visit": old_to_new[name], "lane_mask": mask, "address": addresses})
    kept_rays = [
        {**ray, "visit": old_to_new[ray["warp_id"], ray["visit"]]}
        for ray in rays
        if (ray["warp_id"], ray["lane"]) not in dropped
    ]
    return kept_visits, kept_accesses, kept_rays
