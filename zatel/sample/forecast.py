"""Width and cost of an estimate before anything is replayed, from a trace's counts and the table of errors.

Costs are in full replays of the trace. They count rows, not seconds, so a choice does not depend on the machine.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.model.instructions import traces_rays
from rayplay.zatel.sample.intervals import STRATA
from rayplay.zatel.sample.machine import check_inputs, machine_for
from rayplay.zatel.sample.model_error import Spread, alike, bounds, model_errors, nearest

# Of a full replay: all warps' rows and their functional caches, once, with and without rays (docs/estimate.md, "Cost").
READING, READING_ACCESSES = 0.26, 0.9
FIXED = 0.22  # of a full replay: what an estimate needs besides its sample, when the trace was read before


class Population(NamedTuple):
    """Counts of a trace on a GPU: CTAs, warps, times that all warps fill the GPU, steps of a warp, whether it has rays.

    steps  from the rows alone: an access is one, and the 32 rays of a call fetch about 32 records in lockstep.
    """

    ctas: int
    warps: int
    rounds: float
    steps: float
    is_traced: bool = True


class Forecast(NamedTuple):
    """Expected outcome of a fraction.

    sampling, model  half width of the cycles' interval, as a share of them, from each error alone.
    widths           metric -> half width from both, as a share of the metric.
    cost             in full replays; ``first`` where the trace must be read for the first time.
    """

    fraction: float
    sampling: float
    model: float
    widths: dict[str, float]
    cost: float
    first: float


def population(trace: Trace, gpu: Gpu) -> Population:
    """Count from the manifest and the small tables; no warp is read. Errors as of ``check_inputs``."""
    check_inputs(trace, [gpu])
    warps, whole = trace.rows("warps"), machine_for(gpu, trace, 1.0)
    ctas = len(np.unique(trace.read("warps", ["cta_id"])["cta_id"]))
    rows = sum(trace.rows(name) for name in ("accesses", "rays") if name in trace.tables)
    return Population(ctas, warps, warps / (whole.sms * whole.places), rows / max(warps, 1), traces_rays(trace))


def forecast(trace: Trace, gpu: Gpu, of: Population, fraction: float, table: Sequence[Spread]) -> Forecast:
    """Expected intervals of an estimate from a ``fraction`` of the CTAs.

    The model error is the table's. The sampling error is the root mean square of the table's nearest rows, which falls
    as sqrt((1 - f) / n) with the n warps of a sample.
    """
    if fraction >= 1.0:
        return Forecast(1.0, 0.0, 0.0, dict.fromkeys((row.metric for row in alike(table, of.is_traced)), 0.0), 1.0, 1.0)
    taken = max(1, round(fraction * of.warps))
    known, near = model_errors(table, taken, *of[2:]), alike(table, of.is_traced)
    near = nearest(near, taken, of.rounds, of.steps) if of.is_traced else near
    size = machine_for(gpu, trace, fraction).sms / gpu.sm.count
    left = 1.0 - min(fraction, size, 1.0 / size)
    sampling, both = {}, {}
    for metric, error in known.items():
        rows = [row for row in near if row.metric == metric]
        scaled = [row.sampling_error**2 * row.warps / (1.0 - row.fraction) for row in rows]
        expected = float(np.sqrt(np.mean(scaled) * (1.0 - fraction) / taken))
        sampling[metric] = bounds(1.0, expected, STRATA - 1, error, 0.0).high - 1.0
        both[metric] = bounds(1.0, expected, STRATA - 1, error, left).high - 1.0
    model = float(np.sqrt(max(both["gpu_cycles"] ** 2 - sampling["gpu_cycles"] ** 2, 0.0)))
    reading = READING if of.is_traced else READING_ACCESSES
    return Forecast(fraction, sampling["gpu_cycles"], model, both, FIXED + fraction, FIXED + fraction + reading)
