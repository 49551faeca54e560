"""The L1 driven alone: against its slow twin, and the laws of LRU."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from replay import gpu_description, l1, port
from replay.bits import entry_point
from replay.l1 import L1
from replay.port import Port
from tests.reference.l1_slow import SlowL1

READ, WRITE, FILL = range(3)
ANSWERS = ("hit", "miss", "merged", "fail")
SM = 1  # of two: rows of the other one must stay untouched


@entry_point
def drive(
    cache: L1, ports: Port, sm: int, operation: np.ndarray, argument: np.ndarray, answer: np.ndarray, waiter: np.ndarray
) -> None:
    """Do ``operation`` on ``argument`` (a sector, or for a fill the number of the request that missed), one a cycle.

    answer  int64[n]: read's or write's; a fill's number of waiters.  waiter  int64[n, merges]: a fill's waiters.
    """
    for step in range(operation.size):
        if operation[step] == READ:
            answer[step] = l1.read(cache, ports, sm, step, argument[step], step)
        elif operation[step] == WRITE:
            before = cache.stats[sm, l1.WRITE_HITS]
            l1.write(cache, ports, sm, step, argument[step], 15, 1)
            answer[step] = cache.stats[sm, l1.WRITE_HITS] - before
        else:
            sent = sm * ports.ring + argument[step]
            entry = ports.request[sent, 3] >> 2
            answer[step] = l1.fill(cache, sm, entry)
            for index in range(answer[step]):
                waiter[step, index] = cache.waiter[sm * cache.entries + entry, index]


def make(shape: dict[str, int], requests: int) -> tuple[L1, Port]:
    """Two SMs' caches of a shape, with ports that never refuse."""
    values = [f"l1.{name}={value}" for name, value in shape.items()]
    gpu = gpu_description.load(
        "rtx2060", [*values, f"interconnect.packets_in_flight={requests}", f"interconnect.miss_queue={requests}"]
    )
    return l1.make_state(gpu.l1, 2, requests), port.make_state(gpu.interconnect, 2)


class Script:
    """Operations chosen while the slow twin runs, so that fills are of what is really missing."""

    def __init__(self, twin: SlowL1) -> None:
        self.twin, self.rows = twin, []
        self.sent: dict[int, int] = {}  # missing sector -> number of its request
        self.requests = 0

    def read(self, sector: int) -> str:
        answer = self.twin.read(sector, len(self.rows))
        if answer == "miss":
            self.sent[sector] = self.requests
            self.requests += 1
        self.rows.append((READ, sector, ANSWERS.index(answer), []))
        return answer

    def write(self, sector: int) -> None:
        self.requests += 1
        self.rows.append((WRITE, sector, int(self.twin.write(sector)), []))

    def fill(self, sector: int) -> None:
        waiters = self.twin.fill(sector)
        self.rows.append((FILL, self.sent.pop(sector), len(waiters), waiters))


def replayed(script: Script, shape: dict[str, int]) -> dict[str, Any]:
    """What the L1 makes of the script: answers, waiters, counters."""
    cache, ports = make(shape, max(script.requests, 16))
    operation, argument = (np.array([row[column] for row in script.rows], np.int64) for column in (0, 1))
    answer = np.zeros(len(operation), np.int64)
    waiter = np.full((len(operation), shape["mshr_merges"]), -1, np.int64)
    drive(cache, ports, SM, operation, argument, answer, waiter)
    assert not cache.stats[0].any()
    waiters = [row[row >= 0].tolist() for row in waiter]
    counts = {name: int(values[SM]) for name, values in l1.stats(cache).items()}
    return {"answer": answer.tolist(), "waiters": waiters, "count": counts}


def random_script(twin: SlowL1, rng: np.random.Generator, sectors: int, steps: int) -> Script:
    """Reads, writes and fills in random order; a small range of sectors keeps all paths busy."""
    script = Script(twin)
    for _ in range(steps):
        choice = rng.random()
        sector = int(min(rng.integers(0, sectors), rng.integers(0, sectors)))
        if choice < 0.3 and script.sent:
            script.fill(list(script.sent)[int(rng.integers(0, len(script.sent)))])
        elif choice < 0.4:
            script.write(sector)
        else:
            script.read(sector)
    while script.sent:
        script.fill(next(iter(script.sent)))
    return script


SHAPES = {
    "fully associative": {"bytes": 1024, "line_bytes": 128, "ways": 8, "mshr_entries": 6, "mshr_merges": 3},
    "set associative": {"bytes": 2048, "line_bytes": 128, "ways": 2, "mshr_entries": 16, "mshr_merges": 64},
    "three sets": {"bytes": 768, "line_bytes": 64, "ways": 4, "mshr_entries": 4, "mshr_merges": 2},
    "direct mapped, unsectored": {"bytes": 512, "line_bytes": 32, "ways": 1, "mshr_entries": 2, "mshr_merges": 2},
}


def twin_of(shape: dict[str, int]) -> SlowL1:
    sets = shape["bytes"] // shape["line_bytes"] // shape["ways"]
    return SlowL1(sets, shape["ways"], shape["line_bytes"] // 32, shape["mshr_entries"], shape["mshr_merges"])


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("seed", range(5))
def test_every_answer_is_the_slow_twins(shape: dict[str, int], seed: int) -> None:
    twin = twin_of(shape)
    script = random_script(twin, np.random.default_rng(seed), 200, 4000)
    found = replayed(script, shape)
    assert found["answer"] == [row[2] for row in script.rows]
    assert found["waiters"] == [row[3] for row in script.rows]
    assert found["count"] == {name: twin.count[name] for name in l1.COUNTERS}
    assert min(twin.count[name] for name in l1.COUNTERS if name != "read_sector_misses") > 0


def misses(shape: dict[str, int], sectors: np.ndarray) -> int:
    """Misses of reads in fixed order, each filled at once, in the engine's L1 and (checked equal) in the twin."""
    twin = twin_of(shape)
    script = Script(twin)
    for sector in sectors.tolist():
        if script.read(sector) == "miss":
            script.fill(sector)
    found = replayed(script, shape)
    assert found["count"] == {name: twin.count[name] for name in l1.COUNTERS}
    return found["count"]["read_line_misses"] + found["count"]["read_sector_misses"]


PATTERNS: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "random": lambda rng: rng.integers(0, 300, 3000),
    "zipf": lambda rng: np.minimum(rng.zipf(1.3, 3000), 5000),
    "loop": lambda rng: np.arange(3000) % 144,
    "strides": lambda rng: np.arange(3000) * rng.choice([1, 4, 16, 64], 3000) % 512,
}


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_lru_with_more_ways_never_misses_more(pattern: Callable[[np.random.Generator], np.ndarray]) -> None:
    """Inclusion: with the same sets and order, an LRU cache holds what one with fewer ways holds."""
    sectors = pattern(np.random.default_rng(11))
    sets, line_bytes = 4, 128
    counts = [
        misses({"bytes": sets * line_bytes * ways, "line_bytes": line_bytes, "ways": ways, "mshr_entries": 8,
                "mshr_merges": 4}, sectors)
        for ways in (1, 2, 3, 4, 8, 16, 32)
    ]  # fmt: skip
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < counts[0]
    assert counts[-1] >= len(set(sectors.tolist()))


def test_a_shift_by_whole_sets_keeps_the_counts() -> None:
    shape = SHAPES["set associative"]
    sectors = np.random.default_rng(3).integers(0, 200, 2000)
    sectors_of_all_sets = shape["bytes"] // 32 // shape["ways"]
    assert misses(shape, sectors) == misses(shape, sectors + 17 * sectors_of_all_sets)


def test_a_loop_one_line_larger_than_the_cache_always_misses() -> None:
    """LRU's worst case, and one line less hits every time after the first round."""
    shape = {"bytes": 65536, "line_bytes": 128, "ways": 512, "mshr_entries": 4, "mshr_merges": 4}
    for lines, expected in ((513, 3 * 513), (512, 512)):
        assert misses(shape, np.tile(np.arange(lines) * 4, 3)) == expected
