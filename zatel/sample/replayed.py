"""Replay of a sample alone, without extrapolation: it tells designs apart, not how long the whole takes.

The sample is the estimator's (``estimate``), its machine a part of the GPU in proportion, L2 included. It has no
functional caches of all warps: these cost several times the replay of a small sample, and what they correct is much
the same for all designs.
"""

from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.schema.trace import TRACE
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.sample import estimate
from rayplay.zatel.sample.draw import LEAST_CTAS
from rayplay.zatel.sample.kept import Kept
from rayplay.zatel.sample.machine import ROUNDS, build, check_inputs, machine_for
from rayplay.zatel.sample.rows import Rows, as_source, kept_rows, known_rows


def part_of(trace: Trace, gpu: Gpu) -> float | None:
    """Part of the CTAs that fills one SM as often as the whole launch fills the GPU, at most ``ROUNDS`` times.

    At least ``draw``'s least CTAs. None where there is no sample: several launches, or none with rays.
    """
    if trace.rows("kernels") != 1 or "rays" not in trace.tables or not trace.rows("rays"):
        return None
    whole = machine_for(gpu, trace, 1.0)
    rounds = trace.rows("warps") / (whole.sms * whole.places)
    ctas = len(np.unique(trace.read("warps", ["cta_id"])["cta_id"]))
    return float(max(min(ROUNDS, rounds) / (rounds * whole.sms), LEAST_CTAS / ctas))


def sampled(trace: Trace, fraction: float, seed: int) -> Trace:
    """About ``fraction`` of the CTAs as a trace in memory; raises the errors of ``check_inputs`` and ``draw``."""
    check_inputs(trace)
    rows, chosen = _sampled_rows(trace, fraction, seed)
    return Trace(as_source(trace, rows._replace(line=rows.line[:0], sectors=rows.sectors[:0]), chosen), TRACE)


def replay_sample(trace: Trace, sample: Trace, gpu: Gpu, fraction: float, model: str | None = None) -> Any:
    """Result of replaying a ``sampled`` trace on as large a part of ``gpu``; raises the errors of ``replay``."""
    from rayplay.replay import simulate

    check_inputs(trace, [gpu], is_modelled=False)
    whole, part = machine_for(gpu, trace, 1.0), machine_for(gpu, trace, fraction)
    return simulate(sample, build(gpu, part, part.sms / whole.sms), model=model)


def _sampled_rows(trace: Trace, fraction: float, seed: int) -> tuple[Rows, np.ndarray]:
    """Rows of the sample, and bool[warps] of its warps, from the cache where an earlier replay left them."""
    kept = Kept(trace)
    if arrays := kept.load("chosen", fraction, seed):
        chosen = np.asarray(arrays["chosen"])
        if rows := known_rows(trace, kept, chosen):
            return rows, chosen
    work = estimate.read_work(trace, keep=False, drawn=(fraction, seed))
    chosen = estimate.sample(work, fraction, seed)
    kept.keep({"chosen": chosen}, "chosen", fraction, seed)
    return kept_rows(trace, work.held, kept, chosen, work.stream), chosen
