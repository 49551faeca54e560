"""Reorders carried out before a replay, and the latency of their sort in each model of an SM.

``characterised`` and ``gatsim`` give one instruction the whole latency. ``pipeline`` has one latency for all integer
instructions, so that the sort is a chain of them, of the length that comes nearest.
"""

from dataclasses import replace
from typing import Any

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.input.latencies import Spec
from rayplay.replay.input.program import default_characterisation
from rayplay.replay.launch.shared import Shared
from rayplay.replay.reorder.carry_out import carried_out
from rayplay.replay.reorder.paths import code_of
from rayplay.replay.reorder.program import SORT
from rayplay.replay.sm import models

BESIDE_LATENCY_CYCLES = 5
"""From an integer instruction of the model ``pipeline`` to one that waits for it, beyond its latency."""


def with_reorders(
    trace: Trace, gpu: Gpu, latencies: dict[str, Any] | None, model: str | None, shared: Shared | None
) -> tuple[Trace, Gpu, dict[str, Any] | None]:
    """Trace, GPU and characterisation for a machine, with the reorders of a GPU that has a window.

    latencies  columns of the characterisation, or None.

    Raises ``UserError`` for traces whose threads cannot be moved, and for classes of work.
    """
    spec = gpu.reorder
    if not spec.is_on or code_of(trace) is None:
        return trace, gpu, latencies
    if shared is not None:
        raise UserError(f"GPU {gpu.name}: reorder.window_warps must be 0 where classes of work share it")
    of_pipeline = model != "gatsim" and models.choose(model, latencies) == "pipeline"
    if (latencies is None or not len(latencies["unit"])) and not of_pipeline:
        latencies = default_characterisation(trace.read("instructions"))
    each = gpu.pipeline.int_latency_cycles + BESIDE_LATENCY_CYCLES
    trace, latencies = carried_out(trace, spec, latencies, max(1, round(spec.sort_cycles / each)) if of_pipeline else 1)
    rows = gpu.latencies.of_ptx
    if rows and spec.sort_cycles:
        gpu = replace(gpu, latencies=Spec((f"{SORT} int {spec.sort_cycles} 1", *rows)))
    return trace, gpu, latencies
