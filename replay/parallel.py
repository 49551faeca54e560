"""Threads that share the SMs and the memory partitions of a quantum.

SMs share nothing inside a quantum, and partitions nothing at all, so the results are those of one thread, bit for bit.
Threads wait for each other without spinning, so that more threads than cores do no harm.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise


class Team:
    """``threads`` threads, the caller's among them."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._others = ThreadPoolExecutor(threads - 1) if threads > 1 else None

    def share(self, count: int, job: Callable[[int, int], object]) -> None:
        """Cut ``range(count)`` into a piece per thread, run ``job(first, last)`` on each, and wait for all."""
        bounds = [count * part // self.threads for part in range(self.threads + 1)]
        pieces = list(pairwise(bounds))
        others = [self._others.submit(job, *piece) for piece in pieces[1:]] if self._others else []
        job(*pieces[0])
        for other in others:
            other.result()
