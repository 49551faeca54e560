"""Step 6, second half: replay each group on the scaled GPU, in parallel processes (paper III-A, step 6).

This file imports nothing compiled: a worker process loads ``replay`` alone, with the machine code that
``python -m replay`` has cached.
"""

import multiprocessing
import os
import time
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from formats.errors import UserError
from zatel.combine import RULES


class Simulated(NamedTuple):
    """What the replay of one group says.

    metrics  the metrics of Table I, ``None`` where one is not defined.
    seconds  wall time of the replay in its process, reading the trace included.
    """

    metrics: dict[str, float | None]
    seconds: float


def simulate_groups(traces: Sequence[Path], gpu: Any, workers: int | None = None) -> list[Simulated]:
    """Replay each trace on ``gpu`` and return what they say, in the order of the traces.

    workers  processes at a time; as many as cores, and not more than traces, when ``None``. The result does not depend
             on it. Raises what ``replay`` raises, and ``UserError`` when a process dies.
    """
    count = min(workers or os.cpu_count() or 1, len(traces))
    before = set(multiprocessing.active_children())
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            futures = [pool.submit(simulate_group, path, gpu) for path in traces]
            return _collect(futures)
        except BaseException as error:
            for child in set(multiprocessing.active_children()) - before:
                child.terminate()
            if isinstance(error, BrokenProcessPool):
                message = (
                    f"a process that replayed a group died, perhaps for lack of memory; try --workers {count // 2 or 1}"
                )
                raise UserError(message) from None
            raise


def _collect(futures: Sequence[Future[Simulated]]) -> list[Simulated]:
    for future in tqdm(
        as_completed(futures), total=len(futures), desc="replay", unit="group", disable=None, leave=False
    ):
        future.result()
    return [future.result() for future in futures]


def simulate_group(path: Path, gpu: Any) -> Simulated:
    """Replay one trace in this process."""
    from replay import simulate

    start = time.perf_counter()
    result = simulate(path, gpu)
    return Simulated({name: result.summary[name]["value"] for name in RULES}, time.perf_counter() - start)
