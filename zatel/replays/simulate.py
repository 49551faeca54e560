"""Step 6, second half: replay each group on the scaled GPU, in parallel processes (Zatel III-A, step 6).

This file imports nothing compiled: a worker process loads ``replay`` alone, with the machine code that
``python -m replay`` has cached.
"""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.replays.pool import processes


class Simulated(NamedTuple):
    """Outcome of the replay of one group.

    metrics      the metrics of Table I, ``None`` where one is not defined.
    seconds      wall time of the replay in its process, reading the trace included.
    summary      every metric of the result's ``summary.json``.
    cpu_seconds  processor time of the replay once its machine code is loaded: a busy machine hardly changes it.
    """

    metrics: dict[str, float | None]
    seconds: float
    summary: dict[str, float | None]
    cpu_seconds: float


def simulate_all(
    replays: Sequence[tuple[Path, Any]],
    workers: int | None = None,
    arrived: Callable[[int, Simulated], None] | None = None,
) -> list[Simulated]:
    """Replay traces on GPUs, started in this order; return the outcomes in the same order.

    workers  processes at a time; as many as cores, and not more than replays, when ``None``. The result does not depend
             on it.
    arrived  called in this process with the number and the outcome of each replay as soon as it ends.

    Raises the errors of ``replay``, and ``UserError`` when a process dies.
    """
    count = min(workers or os.cpu_count() or 1, len(replays))
    with processes(count, "a group") as pool:
        futures = {pool.submit(simulate_group, *replay): number for number, replay in enumerate(replays)}
        for future in tqdm(
            as_completed(futures), total=len(futures), desc="replay", unit="group", disable=None, leave=False
        ):
            outcome = future.result()
            if arrived:
                arrived(futures[future], outcome)
        return [future.result() for future in futures]


def simulate_group(path: Path, gpu: Any) -> Simulated:
    """Replay one trace in this process."""
    from rayplay.replay import simulate

    start = time.perf_counter()
    result = simulate(path, gpu)
    summary = {name: metric["value"] for name, metric in result.summary.items()}
    seconds = time.perf_counter() - start
    return Simulated({name: summary[name] for name in RULES}, seconds, summary, result.host["replay_cpu_seconds"])
