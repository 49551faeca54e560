"""Places of data between stages in a trace: rewrites what launches recorded, which the picture does not see.

Shaders always read and write rows of device memory, one for each thread, and colours of 16 bytes. With ``on_chip`` the
trace has such rows in the shared memory of the CTA, with ``pixel_bytes`` 4 it has colours of four bytes, every fragment
of a pixel at the same place. Source: ``docs/sources/choices.md#data-between-stages``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.graphics.fragments import COLOUR_BYTES
from rayplay.tracer.graphics.geometry import CTA_THREADS
from rayplay.tracer.record.recorder import Sink

CTA_WARPS = CTA_THREADS // 32
WINDOW = 1 << 40
"""Generic address at which a trace has the shared memory of every CTA: behind device memory."""
ELSEWHERE = np.uint64(np.iinfo(np.uint64).max)


@dataclass(frozen=True, eq=False)
class OnChip:
    """Buffers of a launch with a row for each thread, which lie in the shared memory of the thread's CTA."""

    addresses: NDArray[np.uint64]
    row_bytes: NDArray[np.uint64]
    ends: NDArray[np.uint64]
    starts: NDArray[np.uint64]
    """Of each buffer in the shared memory."""

    @classmethod
    def of(cls, buffers: Mapping[str, int], row_bytes: Mapping[str, int], threads: int) -> "OnChip":
        """Buffers with these addresses and bytes of a row, in a launch of that many threads."""
        names = sorted(buffers, key=lambda name: buffers[name])
        addresses = np.array([buffers[name] for name in names], np.uint64)
        rows = np.array([row_bytes[name] for name in names], np.uint64)
        ctas = -(-threads // CTA_THREADS)
        starts = np.concatenate([[0], np.cumsum(rows * np.uint64(CTA_THREADS))]).astype(np.uint64)
        return cls(addresses, rows, addresses + rows * np.uint64(CTA_THREADS * ctas), starts)

    @property
    def cta_bytes(self) -> int:
        """Shared memory of a CTA."""
        return int(self.starts[-1])

    def moved(self, address: NDArray[np.uint64], cta: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Generic addresses of what lies in rows of the CTA that accesses it, ``ELSEWHERE`` for others."""
        if not len(self.addresses):
            return np.full(len(address), ELSEWHERE)
        buffer = np.maximum(np.searchsorted(self.addresses, address, side="right"), 1) - 1
        slice_bytes = self.row_bytes[buffer] * np.uint64(CTA_THREADS)
        first = self.addresses[buffer] + cta * slice_bytes
        inside = (first <= address) & (address < first + slice_bytes) & (address < self.ends[buffer])
        return np.where(inside, np.uint64(WINDOW) + self.starts[buffer] + (address - first), ELSEWHERE)


@dataclass(frozen=True, eq=False)
class Packed:
    """A target whose pixels have fewer bytes than the colours that fragments store.

    address     of the target, before and after.
    pixels      of the picture.
    behind      pixel of each slot behind the picture, where fragments of pixels that are covered again store.
    behind_from first of these slots.
    """

    address: int
    pixels: int
    pixel_bytes: int
    behind: NDArray[np.int64]
    behind_from: int

    @property
    def scale(self) -> int:
        """Bytes of a colour that become one."""
        return COLOUR_BYTES // self.pixel_bytes

    def moved(self, address: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Addresses of colours, ``ELSEWHERE`` for others."""
        offset = address.astype(np.int64) - self.address
        slot, byte = offset // COLOUR_BYTES, offset % COLOUR_BYTES
        again = slot - self.behind_from
        is_behind = (again >= 0) & (again < len(self.behind))
        pixel = slot
        if len(self.behind):
            pixel = np.where(is_behind, self.behind[np.where(is_behind, again, 0)], slot)
        found = (self.address + pixel * self.pixel_bytes + byte // self.scale).astype(np.uint64)
        return np.where(((slot >= 0) & (slot < self.pixels)) | is_behind, found, ELSEWHERE)


class StageSink:
    """A launch's rows on their way to ``sink``, with the data between stages where the trace is to have them.

    Instructions wait for ``finish``: which of them store colours is known only then.
    """

    def __init__(
        self, sink: Sink, shader: str, first_warp: int, on_chip: OnChip | None = None, target: Packed | None = None
    ) -> None:
        self._sink, self._shader, self._first_warp, self._on_chip, self._target = (
            sink, shader, first_warp, on_chip, target,
        )  # fmt: skip
        self._instructions: dict[str, Any] = {}
        self._colours: NDArray[np.bool_] = np.zeros(0, bool)
        self._others: NDArray[np.bool_] = np.zeros(0, bool)

    def put(self, table: str, columns: dict[str, Any]) -> None:
        """As ``Sink.put``."""
        if table == "kernels" and self._on_chip is not None:
            columns = self._with_shared(columns, self._on_chip)
        if table == "instructions":
            self._instructions = {name: np.array(values) for name, values in columns.items()}
            self._colours, self._others = (np.zeros(len(self._instructions["opcode"]), bool) for _ in range(2))
            return
        self._sink.put(table, self._moved(columns) if table == "accesses" else columns)

    def finish(self) -> None:
        """Put what waits. Raises ``UserError`` for an instruction that stores colours and something else."""
        rows = self._instructions
        if self._on_chip is not None:
            spaces = rows["memory_space"]
            rows["memory_space"] = np.where(spaces.astype(str) == "global", "generic", spaces).astype(spaces.dtype)
        if self._target is not None:
            both = np.flatnonzero(self._colours & self._others)
            if len(both):
                raise UserError(
                    f"{self._shader}: --target rgba8: an instruction must access the target alone, and "
                    f"{str(rows['text'][both[0]]).strip()!r} also accesses other memory"
                )
            small = np.maximum(rows["access_bytes"] // self._target.scale, 1)
            rows["access_bytes"] = np.where(self._colours, small, rows["access_bytes"]).astype(
                rows["access_bytes"].dtype
            )
        self._sink.put("instructions", rows)

    def _with_shared(self, columns: dict[str, Any], on_chip: OnChip) -> dict[str, Any]:
        if int(columns["shared_bytes"][0]):
            raise UserError(f"{self._shader}: --varyings chip: a shader must have no shared memory of its own")
        made = {"shared_bytes": np.array([on_chip.cta_bytes], np.uint32)}
        return columns | made | {"shared_base": np.array([WINDOW], np.uint64)}

    def _moved(self, columns: dict[str, Any]) -> dict[str, Any]:
        """Columns of accesses with the addresses that the trace is to have."""
        counts = np.diff(columns["address_offset"].astype(np.int64))
        address = columns["address"]
        found = np.full(len(address), ELSEWHERE)
        if self._on_chip is not None:
            cta = (columns["warp_id"].astype(np.int64) - self._first_warp) // CTA_WARPS
            found = self._on_chip.moved(address, np.repeat(cta.astype(np.uint64), counts))
            # lanes of an instruction lie in one kind of memory
            row = np.repeat(np.arange(len(counts)), counts)
            apart = np.bincount(row, found == ELSEWHERE, len(counts)) > 0
            found[apart[row]] = ELSEWHERE
        if self._target is not None:
            colours = self._target.moved(address)
            row = np.repeat(columns["instruction_id"].astype(np.int64), counts) - self._first_instruction
            is_colour = (colours != ELSEWHERE) & (found == ELSEWHERE)
            self._colours[row[is_colour]] = True
            self._others[row[~is_colour]] = True
            found = np.where(is_colour, colours, found)
        return columns | {"address": np.where(found == ELSEWHERE, address, found)}

    @property
    def _first_instruction(self) -> int:
        return int(self._instructions["instruction_id"][0])
