"""Draws of CRISP's raster traces: which kernel shades what, its stream and the memory listed before it.

Source: ``docs/sources/crisp.md#raster-traces, #streams``.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rayplay.formats.exchange.accelsim.files import Fill, Header

STAGE = re.compile(r"MESA_SHADER_(VERTEX|FRAGMENT)")
FIRST_STREAM = 1 << 30
"""CRISP's is 0xDEADBEEF; a stream of a trace is below 2^31."""


def stage_of(name: str) -> str:
    """``vertex`` or ``fragment`` by the name of a kernel; nothing for one that shades nothing."""
    match = STAGE.search(name)
    return match[1].lower() if match else ""


@dataclass
class Draws:
    """The draws so far, and the memory of the kernel to come. A vertex kernel begins a draw."""

    draw: int = -1
    fills: list[Fill] = field(default_factory=list)

    def stream(self, header: Header) -> int:
        """The stream of the kernel that begins: the draw's, of other kernels the traced one."""
        stage = stage_of(header.name)
        self.draw += stage == "vertex" or (stage != "" and self.draw < 0)
        return FIRST_STREAM + self.draw if stage else header.stream

    def end(self, header: Header, kernel_id: int, threads: int) -> dict[str, dict[str, np.ndarray]]:
        """The rows of ``stages`` and ``fills`` of the kernel that has been read.

        threads  its threads without those behind the last vertex or fragment.
        """
        stage, fills, self.fills = stage_of(header.name), self.fills, []
        scale = header.threads if stage == "vertex" else 1  # its lines say the bytes of a vertex
        rows: dict[str, list[Any]] = {
            "kernel_id": [kernel_id] * len(fills), "address": [fill.address for fill in fills],
            "bytes": [fill.bytes for fill in fills], "cta_bytes": [fill.per_cta * scale for fill in fills],
        }  # fmt: skip
        columns = {name: np.array(values, np.uint64) for name, values in rows.items()}
        tables = {"fills": {**columns, "kind": np.array([fill.kind for fill in fills], object)}} if fills else {}
        if stage:
            covered = threads if stage == "fragment" else 0
            numbers = {"kernel_id": kernel_id, "draw": self.draw, "triangles": 0, "shaded": threads, "live": threads}
            names = {"stage": np.array([stage], object), "draw_name": np.array([f"draw {self.draw}"], object)}
            counted = {name: np.array([value], np.uint32) for name, value in (numbers | {"covered": covered}).items()}
            tables["stages"] = counted | names
        return tables
