"""Plans of a study, and the outcome of an animation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rayplay.tuner.report import SETTLED, Row


@dataclass(frozen=True)
class Plan:
    """The animations of a study: each scene's orbit, and a turn in the first, on each GPU.

    frames   of an orbit; ``first`` of them are rendered, which are all of a turn.
    rays     of ambient occlusion, with which the first frame's time is the target.
    tracing  "software" or "rt-unit".
    oracle   whether the controller that tries all candidates runs.
    part     of the GPUs: their SMs and memory partitions are divided by it, so that a small frame keeps them busy.
    turn     whether the first scene's turn runs.
    others   first frames of an orbit that the controllers besides feedback render.
    """

    scenes: Sequence[str]
    gpus: Sequence[str]
    frames: int
    first: int
    size: tuple[int, int]
    rays: int
    tracing: str = "software"
    oracle: bool = True
    part: int = 1
    others: int | None = None
    turn: bool = True


@dataclass(frozen=True)
class Animation:
    """Frames of an animation.

    rows           a row for each frame under each controller.
    model_errors   model -> mean distance of its prediction from the time, of frames with the first one's rays.
    """

    stem: str
    path: str
    target_ms: float
    rows: list[Row]
    model_errors: dict[str, float]


@dataclass(frozen=True)
class Distances:
    """Of one controller on one animation, parts of 1: from the target, mean and worst after the first frames, and the
    longest frame above it; and of the prediction from the time, mean. ``frames``: how many."""

    frames: int
    mean: float
    settled: float
    above: float
    prediction: float


def distances(rows: Sequence[Row], controller: str, target: float, first: int | None = None) -> Distances:
    """Distances of the rows of a controller, of its ``first`` frames alone where they are compared with fewer."""
    own = [row for row in rows if row["controller"] == controller][:first]
    measured, predicted = (np.array([row[key] for row in own]) for key in ("measured_ms", "predicted_ms"))
    away = np.abs(measured / target - 1)
    return Distances(
        len(own),
        float(away.mean()),
        float(away[min(SETTLED, len(away) - 1) :].max()),
        float(measured.max() / target - 1),
        float(np.abs(predicted / measured - 1).mean()),
    )
