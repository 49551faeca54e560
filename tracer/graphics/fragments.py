"""Fragments of a draw in device memory: interpolated varyings, slots of the target, and the colours that come back.

A live fragment writes its colour to the slot of its pixel, row by row, so that stores touch the target as a picture
does. Where a draw covers a pixel more than once, later fragments write to slots behind the picture: every colour comes
back, and the output merger blends them in their order.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.graphics.geometry import CTA_THREADS
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.raster.fragments import Fragments

NOT_LIVE = np.uint32(0xFFFFFFFF)
COLOUR_BYTES = 16
BESIDE = {"slots": 4, "steps": 8, "window": 8}
"""Bytes of a fragment in the buffers beside its varyings."""
_CUT_OUT = np.uint32(0x7FC0CA11)
"""Alpha of a slot that no fragment has written: a NaN that no arithmetic gives."""


class Target:
    """The picture's slots, which all draws share, and slots behind it while a draw needs them."""

    def __init__(self, memory: DeviceMemory, width: int, height: int) -> None:
        self.memory, self.width, self.pixels = memory, width, width * height
        self.address = memory.allocate(COLOUR_BYTES * self.pixels, name="the target of fragments")

    def slots(self, fragments: Fragments) -> tuple[NDArray[np.uint32], list[int]]:
        """Slot of each fragment, ``NOT_LIVE`` for helpers, and the addresses lent for slots behind the picture."""
        slots = np.full(len(fragments), NOT_LIVE)
        live = np.flatnonzero(fragments.live)
        pixel = fragments.y[live].astype(np.int64) * self.width + fragments.x[live]
        order = np.argsort(pixel, kind="stable")
        is_first = np.ones(len(order), bool)
        is_first[1:] = pixel[order[1:]] != pixel[order[:-1]]
        slots[live[order[is_first]]] = pixel[order[is_first]]
        again = np.sort(live[order[~is_first]])
        if not len(again):
            return slots, []
        behind = self.memory.lend(COLOUR_BYTES * len(again), "colours of fragments that are covered again")
        slots[again] = (behind - self.address) // COLOUR_BYTES + np.arange(len(again))
        return slots, [behind]

    def behind(self, fragments: Fragments, slots: NDArray[np.uint32]) -> tuple[int, NDArray[np.int64]]:
        """The first of the slots behind the picture, and the pixel of each."""
        again = np.flatnonzero((slots >= self.pixels) & (slots != NOT_LIVE))
        first = int(slots[again[0]]) if len(again) else self.pixels
        return first, fragments.y[again].astype(np.int64) * self.width + fragments.x[again]

    def clear(self, slots: NDArray[np.uint32]) -> None:
        """Mark the slots as not written."""
        for chosen, rows in self._parts(slots, np.uint32):
            rows[slots[chosen] - slots[chosen].min(), 3] = _CUT_OUT

    def colours(self, slots: NDArray[np.uint32]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Colours float32[n, 4] of all fragments, and bool[n]: which the shader wrote; others have no colour."""
        colours = np.zeros((len(slots), 4), np.float32)
        for chosen, rows in self._parts(slots, np.float32):
            colours[chosen] = rows[slots[chosen] - slots[chosen].min()]
        written = (slots != NOT_LIVE) & (colours[:, 3].view(np.uint32) != _CUT_OUT)
        colours[~written] = 0
        return colours, written

    def _parts(self, slots: NDArray[np.uint32], dtype: type) -> Iterator[tuple[NDArray[np.bool_], NDArray[Any]]]:
        """Fragments of the picture's slots and of those behind it, with the memory from the least slot to the last."""
        for chosen in (slots < self.pixels, (slots >= self.pixels) & (slots != NOT_LIVE)):
            if chosen.any():
                first, last = int(slots[chosen].min()), int(slots[chosen].max())
                yield chosen, self.memory.view(self.address + COLOUR_BYTES * first, dtype, (last - first + 1, 4))


def lend_varyings(
    varyings: NDArray[np.float32], widths: dict[str, int], slots: NDArray[np.uint32], memory: DeviceMemory
) -> dict[str, int]:
    """Varyings, ``widths`` columns of each, and slots in memory, up to whole CTAs, until they are given back."""
    rows = -(-len(slots) // CTA_THREADS) * CTA_THREADS
    lent, first = {"slots": memory.lend(4 * rows, "slots of fragments")}, 0
    held = memory.view(lent["slots"], np.uint32, (rows,))
    held[:] = NOT_LIVE
    held[: len(slots)] = slots
    for name, columns in widths.items():
        lent[name] = memory.lend(4 * columns * rows, f"{name} of fragments")
        view = memory.view(lent[name], np.float32, (rows, columns))
        view[: len(slots)] = varyings[:, first : first + columns]
        first += columns
    return lent


def lend_window(fragments: Fragments, width: int, memory: DeviceMemory) -> int:
    """Address of uint32[n, 2], pixel and bits of the depth of each fragment, until it is given back."""
    rows = -(-len(fragments) // CTA_THREADS) * CTA_THREADS
    address = memory.lend(8 * rows, "places of fragments in the picture")
    held = memory.view(address, np.uint32, (rows, 2))
    held[:] = 0
    held[: len(fragments), 0] = np.where(fragments.live, fragments.y.astype(np.int64) * width + fragments.x, 0)
    held[: len(fragments), 1] = fragments.depth.view(np.uint32)
    return address
