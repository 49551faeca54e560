"""The full replay in place of a sample, where a sample would save little."""

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.model.instructions import traces_rays
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.sample.estimate import Estimate
from rayplay.zatel.sample.intervals import Interval
from rayplay.zatel.sample.machine import machine_for
from rayplay.zatel.sample.replay import replay_trace

INTERVAL_CYCLES = 10_000
FEW_ROWS = 2_000_000


def is_small(trace: Trace) -> bool:
    """Whether a sample saves too little to be worth its error.

    Counted, not timed: rows of accesses and rays, which all costs follow. With fewer than ``FEW_ROWS`` a tenth of the
    CTAs takes 0.7 to 1.3 times the processor time of the full replay, start included; with 2.9 million 0.4 to 0.6
    (docs/estimate.md, "Small traces"). Without rays it always does: to read the accesses of all warps takes as long as
    to replay them ("Launches without rays").
    """
    if trace.rows("kernels") == 1 and not traces_rays(trace):
        return True
    return sum(trace.rows(table) for table in ("accesses", "rays") if table in trace.tables) < FEW_ROWS


def replay_whole(trace: Trace, gpu: Gpu) -> Estimate:
    """The full replay as an estimate from all warps, whose intervals have no width.

    Several launches, and those without rays, have one too. Raises the errors of ``replay``, and ``UserError`` for a
    trace without warps.
    """
    if not trace.rows("warps"):
        raise UserError(f"{trace.path}: must have warps, to be estimated")
    replayed = replay_trace(trace, gpu, INTERVAL_CYCLES)
    metrics = {name: replayed.summary[name] for name in RULES}
    intervals = {name: None if value is None else Interval(value, value) for name, value in metrics.items()}
    machine = machine_for(gpu, trace, 1.0)
    warps = np.ones(trace.rows("warps"), bool)
    rounds = len(warps) / (machine.sms * machine.places)
    return Estimate(metrics, intervals, warps, 1.0, rounds, np.nan, machine, gpu, replayed, (0.0, 0.0))
