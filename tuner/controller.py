"""The controller: a search over all candidates for the one whose predicted time meets the target, and its correction
by measured times (Ganestam and Doggett 4.4, Figures 1 and 2)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

GAIN = 0.3
"""Share of an error that one frame corrects (docs/sources/tuner.md#controllers)."""


@dataclass(frozen=True)
class Policy:
    """Which candidate a target calls for.

    prefer          "nearest": the smallest error; "below": the best quality within the target.
    hysteresis      steps by which a choice may differ from the one before it without being taken,
    tolerance       while the one before it errs by no more than this share of the target.
    """

    prefer: str = "nearest"
    hysteresis: int = 1
    tolerance: float = 0.02


def choose(times: NDArray[np.float64], target: float, policy: Policy | None = None, before: int | None = None) -> int:
    """Index of the candidate to render with.

    times   predicted time of each candidate, in ascending quality; not always in ascending time, so all are searched.
    target  in the unit of ``times``.
    before  index of the candidate of the frame before.

    Nothing within the target: the fastest candidate. Ties go to the time below the target, then to quality.
    """
    policy = policy or Policy()
    within = np.flatnonzero(times <= target)
    if policy.prefer == "below":
        best = int(within[-1]) if len(within) else int(np.argmin(times))
    else:
        error = np.abs(times - target)
        ranked = np.lexsort((-np.arange(len(times)), times > target, error))
        best = int(ranked[0])
    if before is not None and abs(best - before) <= policy.hysteresis and _is_near(times[before], target, policy):
        return before
    return best


def _is_near(time: float, target: float, policy: Policy) -> bool:
    late = time > target and policy.prefer == "below"
    return not late and abs(time - target) <= policy.tolerance * target


@dataclass
class Feedback:
    """The outer loop: a factor of the model that follows measured times.

    ``bias`` is what predictions are multiplied by; 1 at first.

    starts  The first frames weigh alike, so that nothing of that 1 stays, until one counts for less than ``gain``.
    """

    gain: float = GAIN
    bias: float = 1.0
    starts: bool = False
    frames: int = 0

    def correct(self, predicted: float, measured: float) -> None:
        """Take in a frame: its time by the model alone, and as measured, in one unit."""
        self.frames += 1
        gain = max(self.gain, 1 / self.frames) if self.starts else self.gain
        self.bias += gain * (measured / predicted - self.bias)
