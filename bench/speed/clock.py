"""Measuring for the benches: the least of a few runs, the cost of the work when nothing disturbs it."""

import time
from collections.abc import Callable


def seconds(
    work: Callable[[], object], runs: int = 5, warm: bool = False, clock: Callable[[], float] = time.process_time
) -> float:
    """The least process CPU time of ``runs`` runs; ``warm``: after one that compiles and touches memory."""
    if warm:
        work()
    taken = []
    for _ in range(runs):
        start = clock()
        work()
        taken.append(clock() - start)
    return min(taken)
