"""What can be estimated: one launch that traces rays, on GPUs whose caches replace as the engine's do."""

from collections.abc import Sequence

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import Gpu

CACHES = ("l1", "l2", "rt_cache")


def check_inputs(trace: Trace, gpus: Sequence[Gpu] = ()) -> None:
    """Raise ``UserError`` unless the trace is one launch that traces rays; no warp is read.

    Likewise for a plug-in of caches: an estimate follows all warps through caches with the engine's own replacement.
    """
    if trace.rows("kernels") != 1:
        raise UserError(f"{trace.path}: must be one launch, to be estimated, but has {trace.rows('kernels')}")
    if "rays" not in trace.tables or not trace.rows("rays") or not trace.rows("warps"):
        raise UserError(f"{trace.path}: must trace rays, to be estimated")
    for gpu in gpus:
        caches = [unit for unit in gpu.plugin.units if unit in CACHES] if gpu.plugin else []
        if gpu.plugin and caches:
            raise UserError(
                f"GPU {gpu.name}: its plug-in {gpu.plugin.name} acts on {', '.join(caches)}, whose contents a sample"
                " cannot tell; replay the whole trace (rayplay replay)"
            )
