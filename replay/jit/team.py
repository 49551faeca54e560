"""Threads that share the SMs and the memory partitions of a quantum.

SMs share nothing inside a quantum, and partitions nothing at all, so the results equal one thread's, bit for bit.
The leader, thread 0, does the ordered work alone. For the rest it opens a phase, of whose pieces every thread
takes one after the other, and closes it when all have come back. To wake a sleeping thread takes a tenth of a quantum:
waiters spin, then yield, then sleep, so that more threads than cores, or other processes, do little harm. They wait so
in compiled code only, where nothing can be raised; a thread that does not get there has the others leave.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from typing import Any

import numpy as np

from rayplay.replay.jit.atomics import fetch_and_add, give_way, load, sleep, store
from rayplay.replay.jit.bits import compiled, inlined
from rayplay.replay.jit.rows import CACHE_LINE_WORDS, aligned_rows

# Rows of a team: what the leader says, the times that the others have come back, whether one is missing, and each
# thread's share of the phase. Each is a line of the host's caches, whose first number threads change at the same time.
PHASE, BACK, MISSING, SHARES = range(4)
JOB, ARGUMENT = 1, 2  # columns of PHASE, after the number of phases opened
END = 1  # column of a share, after its next piece
LEAVE = 0  # the job with which all leave compiled code
# A thread that waits looks so often before it gives its core away between two looks, a microsecond, and before it
# sleeps between them: a quarter of a millisecond, longer than the leader is alone unless another process has its core.
LOOKS, LOOKS_AWAKE = 2000, 2600
ENOUGH = 0.65  # of the time, the leader has a core for itself where there are as many cores as threads
LONG_SECONDS = 0.005  # of a run that says so
FEW_ALONE, MOST_ALONE = 4, 512  # runs


def make_team(threads: int) -> np.ndarray:
    """int64[3 + threads, 8]: what threads tell each other in compiled code."""
    return aligned_rows(SHARES + threads, CACHE_LINE_WORDS)


class Team:
    """``threads`` threads, the caller's among them."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._others = ThreadPoolExecutor(max(threads - 1, 1))
        self._alone, self._runs_alone, self._pause = make_team(1), 0, FEW_ALONE

    def run(self, job: Callable[..., int], *arguments: Any) -> int:
        """Run ``job(*arguments, team, rank)`` on every thread; returns what the leader's returns.

        Threads that have to wait for a core make all others wait. So after a run in which the leader waited too much it
        runs alone, for a while that doubles each time, before they try again.
        """
        if self.threads == 1 or self._runs_alone:
            self._runs_alone = max(self._runs_alone - 1, 0)
            return job(*arguments, self._alone, 0)
        begun, begun_cpu = time.perf_counter(), time.thread_time()
        result = self._run_together(job, *arguments)
        seconds = time.perf_counter() - begun
        if seconds > LONG_SECONDS:
            crowded = time.thread_time() - begun_cpu < ENOUGH * seconds
            self._runs_alone = self._pause if crowded else 0
            self._pause = min(2 * self._pause, MOST_ALONE) if crowded else FEW_ALONE
        return result

    def _run_together(self, job: Callable[..., int], *arguments: Any) -> int:
        team, others = make_team(self.threads), []

        def work(rank: int) -> int:
            try:
                return job(*arguments, team, rank)
            except BaseException:
                team[MISSING, 0] = 1
                raise

        try:
            for rank in range(1, self.threads):
                others.append(self._others.submit(work, rank))
            result = work(0)
        except BaseException:  # also one that comes between the jobs
            team[MISSING, 0] = 1
            raise
        finally:
            wait_for(others)
        for other in others:
            other.result()
        return result


@inlined
def open_phase(team: np.ndarray, job: int, argument: int, pieces: int, together: bool = True) -> None:
    """Have all threads do a job, or the leader alone: each begins with pieces side by side."""
    threads = team.shape[0] - SHARES
    for rank in range(threads):
        team[SHARES + rank, 0] = pieces * rank // threads
        team[SHARES + rank, END] = pieces * (rank + 1) // threads
    if together:
        team[PHASE, JOB] = job
        team[PHASE, ARGUMENT] = argument
        store(team, PHASE, team[PHASE, 0] + 1)


@compiled
def take(team: np.ndarray, rank: int) -> int:
    """The next piece for a thread: of its own share, or when that is done of another's; -1 when none is left."""
    threads = team.shape[0] - SHARES
    for turn in range(threads):
        row = SHARES + (rank + turn) % threads
        if load(team, row) < team[row, END]:
            piece = fetch_and_add(team, row)
            if piece < team[row, END]:
                return piece
    return -1


@inlined
def close_phase(team: np.ndarray) -> bool:
    """Wait until the others have come back; False when one is missing."""
    return wait(team, BACK, (team.shape[0] - SHARES - 1) * team[PHASE, 0])


@inlined
def next_job(team: np.ndarray, phase: int) -> int:
    """Wait for a phase to be opened; returns its job."""
    return team[PHASE, JOB] if wait(team, PHASE, phase) else LEAVE


@inlined
def come_back(team: np.ndarray) -> None:
    """Tell the leader that nothing is left to do in a phase."""
    fetch_and_add(team, BACK)


@compiled
def wait(team: np.ndarray, row: int, count: int) -> bool:
    """Wait until a count has been reached; False when a thread is missing."""
    looks = 0
    while load(team, row) < count:
        looks += 1
        if looks > LOOKS:
            if load(team, MISSING):
                return False
            if looks > LOOKS_AWAKE:
                sleep()
            else:
                give_way()
    return True
