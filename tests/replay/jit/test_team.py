"""Threads share a replay: they change nothing of its results, take every piece once, wait for no thread that left."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.testing.generate import make_trace
from rayplay.replay.gpu.description import load
from rayplay.replay.jit import team as parallel
from rayplay.replay.jit.bits import compiled, entry_point
from rayplay.replay.run.driver import simulate
from tests.replay.engine.test_laws import digest
from tests.replay.launches import write_kernels
from tests.replay.sm.test_ctas import random_kernel, small

THREADS = (1, 2, 3, 4, 8)


@pytest.mark.parametrize("seed", range(4))
def test_any_number_of_threads_gives_the_same_bytes(tmp_path: Path, seed: int) -> None:
    trace = make_trace(tmp_path / "all.trace", seed=seed, image_size=(40 + 10 * seed, 24), ctas=16)
    gpu = load("mobile", ["sm.kernel_launch_cycles=0", f"sm.concurrent_kernels={1 + seed % 2}"])
    for threads in THREADS:
        simulate(trace, gpu, threads=threads).write(tmp_path / f"{threads}.result", {"command": "test"})
        assert digest(tmp_path / f"{threads}.result") == digest(tmp_path / "1.result")


@pytest.mark.parametrize("window", [1, 2, 4])
def test_several_kernels_end_at_the_same_cycles(tmp_path: Path, window: int) -> None:
    rng = np.random.default_rng(window)
    trace = write_kernels(tmp_path / "kernels.trace", [random_kernel(rng, 3) for _ in range(6)])
    found = {
        tuple(simulate(trace, small(5, 20, window), threads=threads).kernels["end_cycle"].tolist())
        for threads in THREADS
    }
    assert len(found) == 1


@compiled
def count_up(pieces: np.ndarray, team: np.ndarray, rank: int) -> None:
    """Take pieces until none is left."""
    piece = parallel.take(team, rank)
    while piece >= 0:
        pieces[piece] += 1
        piece = parallel.take(team, rank)


@compiled
def lead(pieces: np.ndarray, team: np.ndarray) -> int:
    """Returns the phases done, fewer than all when a thread is missing."""
    for phase in range(len(pieces)):
        parallel.open_phase(team, 1, phase, pieces.shape[1], phase % 3 != 0)
        count_up(pieces[phase], team, 0)
        if not parallel.close_phase(team):
            return phase
    parallel.open_phase(team, parallel.LEAVE, 0, 0)
    return len(pieces)


@compiled
def follow(pieces: np.ndarray, team: np.ndarray, rank: int) -> int:
    """Returns the phases in which it took part."""
    phase = 1
    while parallel.next_job(team, phase) != parallel.LEAVE:
        count_up(pieces[team[parallel.PHASE, parallel.ARGUMENT]], team, rank)
        parallel.come_back(team)
        phase += 1
    return phase - 1


@entry_point
def count(pieces: np.ndarray, team: np.ndarray, rank: int) -> int:
    """Count up every piece of every phase once; in every third phase the leader is alone."""
    return follow(pieces, team, rank) if rank else lead(pieces, team)


@pytest.mark.parametrize("threads", THREADS)
def test_every_piece_is_taken_once(threads: int) -> None:
    for many in (0, 1, 7, 1000):
        pieces = np.zeros((50, many), np.int64)
        assert parallel.Team(threads).run(count, pieces) == 50
        assert (pieces == 1).all()


@pytest.mark.parametrize(("threads", "culprit"), [(2, 1), (3, 2), (4, 1), (2, 0), (4, 0)])
def test_nobody_waits_for_a_thread_that_raised(threads: int, culprit: int) -> None:
    """Its exception comes out, all threads have left, and the team works again."""
    team, pieces = parallel.Team(threads), np.zeros((50, 100), np.int64)

    def broken(rows: np.ndarray, words: np.ndarray, rank: int) -> int:
        if rank == culprit:
            raise KeyboardInterrupt
        return int(count(rows, words, rank))

    with pytest.raises(KeyboardInterrupt):
        team.run(broken, pieces)
    pieces[:] = 0
    assert team.run(count, pieces) == 50
    assert (pieces == 1).all()
