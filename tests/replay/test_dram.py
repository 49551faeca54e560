"""The DRAM channel: gates at t - 1 and t, order of events, and equality with the slow twin on random requests."""

from dataclasses import replace

import numpy as np
import pytest

from replay import clocks, dram, dram_state
from replay.bits import FAR, entry_point
from replay.dram_state import NEXT_TICK, Dram, Spec
from tests.reference.dram_slow import Channel, Request

SPEC = Spec(
    clock_khz=3500500, bus_bytes=2, burst_length=16, data_ratio=4, banks=16, bank_hash="linear", bank_groups=4,
    bank_group_bits="lower", dual_bus=False, queue_entries=64, write_queue_entries=0, write_high=0, write_low=0,
    return_entries=192, latency_cycles=96, ccd=4, ccd_long=6, rrd=12, rcd=24, ras=55, rp=24, rc=78, cl=24, wl=8,
    cdlr=10, wr=24, rtpl=4,
)  # fmt: skip
CORE = 1365000


@entry_point
def run_engine(
    state: Dram, requests: np.ndarray, head: np.ndarray, closed: np.ndarray, cycles: int, log: np.ndarray
) -> int:
    """Drive one channel: rows of ``requests`` are cycle, slice, place, columns, is write; returns fills logged."""
    filled, ticks = 0, state.channel
    for now in range(cycles):
        while ticks[0, NEXT_TICK] < FAR and clocks.at_or_after(state.to_l2, ticks[0, NEXT_TICK]) <= now:
            dram.advance(state, 0)
        for part in range(state.slices):
            if dram.has_fill(state, part) and not closed[now % closed.shape[0], part]:
                log[filled, 0], log[filled, 1], log[filled, 2] = now, part, dram.take_fill(state, part, now)
                filled += 1
            while head[part] < requests.shape[0] and requests[head[part], 1] != part:
                head[part] += 1
            row = head[part]
            if row < requests.shape[0] and requests[row, 0] <= now and dram.has_room(state, part):
                dram.push(state, part, now, requests[row, 2], requests[row, 3], requests[row, 4], row)
                head[part] += 1
    return filled


def engine(spec: Spec, slices: int, requests: np.ndarray, closed: np.ndarray, cycles: int) -> tuple[list, dict]:
    """Fills (cycle, slice, token) and counters of the engine."""
    state = dram_state.make_state(spec, 1, slices, 64, 8, CORE, CORE)
    log = np.zeros((len(requests), 3), np.int64)
    count = run_engine(state, requests, np.zeros(slices, np.int64), closed, cycles, log)
    return log[:count].tolist(), {name: int(found[0]) for name, found in dram_state.stats(state).items()}


def slow(spec: Spec, slices: int, requests: np.ndarray, closed: np.ndarray, cycles: int) -> tuple[list, dict]:
    """The same of the slow twin."""
    channel = Channel(spec, slices, 64, 8)
    queue = [[row for row in range(len(requests)) if requests[row, 1] == part] for part in range(slices)]
    log, tick = [], 0
    for now in range(cycles):
        while -(-tick * CORE // spec.clock_khz) <= now:
            channel.cycle(now)
            tick += 1
        for part in range(slices):
            if channel.fills[part] and not closed[now % len(closed), part]:
                log.append([now, part, channel.fills[part].popleft()])
            if queue[part] and requests[queue[part][0], 0] <= now and len(channel.to[part]) < 64:
                row = queue[part].pop(0)
                _, _, place, columns, is_write = requests[row].tolist()
                request = Request(part, place % spec.banks, place // spec.banks, columns, bool(is_write), row)
                channel.to[part].append(request)
    return log, channel.count


def random_requests(rng: np.random.Generator, count: int, slices: int, spec: Spec) -> np.ndarray:
    """Requests in bursts, of a few rows or many, with some writes of several sectors."""
    rows = rng.choice([1, 2, 5, 1000])
    write = rng.random(count) < rng.choice([0.0, 0.2, 0.7])
    place = rng.integers(rows, size=count) * spec.banks + rng.integers(rng.choice([1, 4, spec.banks]), size=count)
    columns = np.where(write, rng.integers(1, 5, count), 1) * (32 // spec.atom_bytes)
    gaps = rng.integers(0, rng.choice([1, 3, 40]) + 1, count)
    return np.stack([np.cumsum(gaps), rng.integers(slices, size=count), place, columns, write], axis=1).astype(np.int64)


def random_spec(rng: np.random.Generator) -> Spec:
    """The RTX 2060's DRAM with some other rules."""
    write_queue = int(rng.choice([0, 0, 32]))
    return replace(
        SPEC,
        bank_group_bits=str(rng.choice(["lower", "higher"])),
        dual_bus=bool(rng.random() < 0.2),
        queue_entries=int(rng.choice([4, 64])),
        return_entries=int(rng.choice([2, 192])),
        write_queue_entries=write_queue,
        write_high=write_queue * 3 // 4,
        write_low=write_queue // 4,
        burst_length=int(rng.choice([8, 16])),
        latency_cycles=int(rng.choice([0, 96])),
        rrd=int(rng.choice([1, 12])),
    )


@pytest.mark.parametrize("seed", range(60))
def test_every_event_is_that_of_the_slow_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    spec, slices = random_spec(rng), int(rng.choice([1, 2]))
    requests = random_requests(rng, 300, slices, spec)
    closed = rng.random((997, slices)) < rng.choice([0.0, 0.9])
    cycles = int(requests[-1, 0]) + 12000
    fills, counters = engine(spec, slices, requests, closed, cycles)
    slow_fills, slow_counters = slow(spec, slices, requests, closed, cycles)
    assert fills == slow_fills
    assert {name: counters[name] for name in slow_counters} == slow_counters
    assert spec.write_queue_entries or len(fills) == np.count_nonzero(requests[:, 4] == 0)
