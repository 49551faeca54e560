"""The DRAM channel: gates at t - 1 and t, order of events, and equality with the slow twin on random requests."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rayplay.replay.jit.bits import FAR, entry_point
from rayplay.replay.memory.dram import channel as dram
from rayplay.replay.memory.dram import state as dram_state
from rayplay.replay.memory.dram.spec import GAPS, Spec
from rayplay.replay.memory.dram.state import NEXT_TICK, Dram
from rayplay.replay.unit import clocks
from rayplay.replay.unit.schema import LawError
from tests.reference.dram_slow import Channel, Request

SPEC = Spec(
    clock_khz=3500500, bus_bytes=2, burst_length=16, data_ratio=4, banks=16, bank_hash="linear", bank_groups=4,
    bank_group_bits="lower", dual_bus=False, free_turnaround=False, scheduler="frfcfs",
    queue_entries=64, write_queue_entries=0,
    write_high=0, write_low=0,
    return_entries=192, latency_cycles=96, ccd=4, ccd_long=6, rrd=12, rcd=24, ras=55, rp=24, rc=78, cl=24, wl=8,
    cdlr=10, wr=24, rtpl=4, refi=0, rfc=0, refresh_banks=16,
)  # fmt: skip
CORE = 1365000
AHEAD = 200
COMMANDS = ("reads", "writes", "activates", "precharges", "active_ticks")


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
                dram.push(state, part, now, requests[row, 2], requests[row, 3], requests[row, 4], 0, row)
                head[part] += 1
    return filled


def engine(
    spec: Spec, slices: int, requests: np.ndarray, closed: np.ndarray, cycles: int, read_at: int = FAR
) -> tuple[list, dict]:
    """Fills (cycle, slice, token) and counters of the engine, these as of cycle ``read_at``."""
    state = dram_state.make_state(spec, 1, slices, 64, 8, AHEAD, CORE, CORE)
    log = np.zeros((len(requests), 3), np.int64)
    count = run_engine(state, requests, np.zeros(slices, np.int64), closed, cycles, log)
    return log[:count].tolist(), {name: int(found[0]) for name, found in dram_state.stats(state, read_at).items()}


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


def random_spec(rng: np.random.Generator, scheduler: str) -> Spec:
    """The RTX 2060's DRAM with some other rules."""
    write_queue = int(rng.choice([0, 0, 32]))
    return replace(
        SPEC,
        bank_group_bits=str(rng.choice(["lower", "higher"])),
        dual_bus=bool(rng.random() < 0.2),
        free_turnaround=bool(rng.random() < 0.2),
        scheduler=scheduler,
        queue_entries=int(rng.choice([4, 64])),
        return_entries=int(rng.choice([2, 192])),
        write_queue_entries=write_queue,
        write_high=write_queue * 3 // 4,
        write_low=write_queue // 4,
        burst_length=int(rng.choice([8, 16])),
        latency_cycles=int(rng.choice([0, 96])),
        rrd=int(rng.choice([1, 12])),
    )


def fills_of_both(spec: Spec, slices: int, requests: np.ndarray, closed: np.ndarray, cycles: int) -> Any:
    """The engine's fills, which are the slow twin's, as its counters are."""
    fills, counters = engine(spec, slices, requests, closed, cycles)
    slow_fills, slow_counters = slow(spec, slices, requests, closed, cycles)
    assert fills == slow_fills
    assert {name: counters[name] for name in slow_counters} == slow_counters
    return fills


@pytest.mark.parametrize("scheduler", ["frfcfs", "fifo"])
@pytest.mark.parametrize("seed", range(60))
def test_every_event_is_that_of_the_slow_twin(seed: int, scheduler: str) -> None:
    rng = np.random.default_rng(seed)
    spec, slices = random_spec(rng, scheduler), int(rng.choice([1, 2]))
    requests = random_requests(rng, 300, slices, spec)
    closed = rng.random((997, slices)) < rng.choice([0.0, 0.9])
    cycles = int(requests[-1, 0]) + 12000
    fills = fills_of_both(spec, slices, requests, closed, cycles)
    assert spec.write_queue_entries or len(fills) == np.count_nonzero(requests[:, 4] == 0)


@pytest.mark.parametrize("scheduler", ["frfcfs", "fifo"])
@pytest.mark.parametrize("seed", range(7))
def test_every_event_is_that_of_the_slow_twin_between_refreshes(seed: int, scheduler: str) -> None:
    rng = np.random.default_rng(1000 + seed)
    spec, slices = random_spec(rng, scheduler), int(rng.choice([1, 2]))
    spec = replace(spec, rfc=int(rng.choice([0, 1, 40, 150])), refresh_banks=int(rng.choice([1, 4, 16])))
    least = spec.longest_refresh_ticks * spec.refresh_banks // spec.banks
    spec = replace(spec, refi=least + int(rng.choice([1, 17, 400])))
    requests = random_requests(rng, 150, slices, spec)
    closed = rng.random((997, slices)) < rng.choice([0.0, 0.9])
    cycles = int(requests[-1, 0]) + 12000
    fills = fills_of_both(spec, slices, requests, closed, cycles)
    without = engine(replace(spec, refi=0), slices, requests, closed, cycles)[0]
    assert len(fills) < len(without) or fills != without


def test_a_row_that_a_refresh_closed_is_opened_again_after_it() -> None:
    """Reads of one row: the first opens it, the second hits it, the third comes while all banks refresh.

    At equal clocks a tick is a cycle. The refresh of tick 1000 closes the row at once, for it was opened long ago, so
    that an activate may follow in tick 1000 + RP + RFC; data come RCD + CL later, a cycle after which the L2 has them.
    """
    spec = replace(SPEC, clock_khz=CORE, latency_cycles=0, refi=1000, rfc=200)
    requests = np.array([[0, 0, 5 * 16, 1, 0], [500, 0, 5 * 16, 1, 0], [1010, 0, 5 * 16, 1, 0]], np.int64)
    fills, counters = engine(spec, 1, requests, np.zeros((1, 1), bool), 3000)
    hit = fills[1][0] - 500
    assert fills[0][0] == hit + spec.rcd
    assert fills[2][0] == 1000 + spec.rp + spec.rfc + spec.rcd + spec.cl + 1
    assert (counters["activates"], counters["row_hits"]) == (2, 1)


@pytest.mark.parametrize(
    ("change", "law"),
    [({"refi": 122, "rfc": 20}, "refi must be 0 or above 122"), ({"refresh_banks": 32}, "at most banks"),
     ({"refi": 30, "rfc": 20, "refresh_banks": 4}, "refi must be 0 or above 30"),
     ({"refresh_banks": 3}, "power of two")],
)  # fmt: skip
def test_refreshes_of_a_bank_must_not_meet(change: dict[str, int], law: str) -> None:
    with pytest.raises(LawError, match=law):
        replace(SPEC, **change)


@pytest.mark.parametrize("seed", range(6))
def test_counters_can_be_read_as_of_an_earlier_cycle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    spec, slices = random_spec(rng, "frfcfs"), int(rng.choice([1, 2]))
    requests, closed = random_requests(rng, 40, slices, spec), np.zeros((1, slices), bool)
    for cycle in rng.integers(1, int(requests[-1, 0]) + 1000, 12).tolist():
        _, counters = engine(spec, slices, requests, closed, cycle + AHEAD, cycle)
        _, expected = slow(spec, slices, requests, closed, cycle)
        assert {name: counters[name] for name in COMMANDS} == {name: expected[name] for name in COMMANDS}


@entry_point
def step(state: Dram) -> None:
    dram.advance(state, 0)


@entry_point
def push(state: Dram, place: int, is_write: int, token: int) -> None:
    dram.push(state, 0, 0, place, 1, is_write, 0, token)


def commands(spec: Spec, requests: list[tuple[int, int, int]]) -> list[tuple[str, int]]:
    """Name and tick, from the first one on, of the commands for (bank, row, is write) that arrive one a tick."""
    state = dram_state.make_state(replace(spec, latency_cycles=0), 1, 1, 64, 64, AHEAD, CORE, CORE)
    for number, (bank, row, is_write) in enumerate(requests):
        push(state, row * spec.banks + bank, is_write, number)
    issued: list[tuple[str, int]] = []
    before = state.stats[0, :4].copy()
    while (tick := int(state.channel[0, NEXT_TICK])) < FAR:
        step(state)
        added = np.flatnonzero(state.stats[0, :4] - before).tolist()
        issued += [(("RD", "WR", "ACT", "PRE")[index], tick) for index in added]
        before = state.stats[0, :4].copy()
    return [(name, tick - issued[0][1]) for name, tick in issued]


READ, WRITE = 0, 1
SHORT = replace(SPEC, ccd=1, ccd_long=1, rrd=1, rcd=9, ras=1, rp=1, rc=1, cl=8, wl=1, cdlr=0, wr=0, rtpl=1)
# gap -> option that sets it, requests, which command it holds back, its tick where nothing else does
GATES = {
    "tRCD": ("rcd", [(0, 7, READ)], 1, lambda s: s.rcd),
    "tRCDWR": ("rcd", [(0, 7, WRITE)], 1, lambda s: s.rcd - (s.wl + 1)),
    "tRRD": ("rrd", [(0, 7, READ), (1, 7, READ)], 2, lambda s: s.rrd),
    "tRAS": ("ras", [(0, 7, READ), (0, 8, READ)], 2, lambda s: s.ras),
    "tRP": ("rp", [(0, 7, READ), (0, 8, READ)], 3, lambda s: s.rcd + s.burst_ticks + s.rp),
    "tRC": ("rc", [(0, 7, READ), (0, 8, READ)], 3, lambda s: s.rc),
    "tCCD": ("ccd", [(0, 7, READ), (1, 7, READ)], 3, lambda s: s.rcd + s.ccd),
    "tCCDL": ("ccd_long", [(0, 7, READ), (4, 7, READ)], 3, lambda s: s.rcd + s.ccd_long),
    "tRTPL": ("rtpl", [(0, 7, READ), (0, 8, READ)], 2, lambda s: s.rcd + s.rtpl),
    "tWTR": ("cdlr", [(0, 7, WRITE), (0, 7, READ)], 2, lambda s: s.rcd - s.wl - 1 + s.write_to_read_ticks),
    "tRTW": ("cl", [(0, 7, READ), (0, 7, WRITE)], 2, lambda s: s.rcd + s.read_to_write_ticks),
    "tWTP": (
        "wr", [(0, 7, WRITE), (0, 8, READ)], 2, lambda s: s.rcd - s.wl - 1 + s.wl + s.burst_ticks + s.wr,
    ),
}  # fmt: skip


def test_every_gap_has_a_gate() -> None:
    """CL and WL say when data ends; a burst holds a precharge back in the gate of tRP."""
    assert {*GATES, "CL", "WL", "burst"} == {gap.name for gap in GAPS.values()}


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("ticks", [60, 61, 97])
def test_a_command_comes_at_the_first_tick_its_gap_allows(gate: str, ticks: int) -> None:
    """Not a tick before, since a gap one tick longer holds it back by one."""
    name, requests, index, first = GATES[gate]
    spec = replace(SHORT, **({"rc": ticks} if name == "ras" else {}) | {name: ticks})
    assert commands(spec, requests)[index][1] == first(spec)


def test_the_data_of_a_read_returns_cl_and_a_tick_after_its_command() -> None:
    state = dram_state.make_state(replace(SPEC, latency_cycles=0), 1, 1, 64, 64, AHEAD, CORE, CORE)
    push(state, 7 * SPEC.banks, READ, 5)
    ticks = []
    while (tick := int(state.channel[0, NEXT_TICK])) < FAR:
        before = state.slice[0, dram_state.FROM_TAIL] + state.stats[0, dram_state.READS]
        step(state)
        if state.slice[0, dram_state.FROM_TAIL] + state.stats[0, dram_state.READS] > before:
            ticks.append(tick)
    assert ticks[1] - ticks[0] == SPEC.cl + 1


def test_row_hits_go_first() -> None:
    """The oldest request opens row 7; of two waiting ones the younger hits that row and is served first."""
    order = commands(SPEC, [(0, 7, READ), (0, 8, READ), (0, 7, READ)])
    assert [name for name, _ in order] == ["ACT", "RD", "RD", "PRE", "ACT", "RD"]


def test_only_one_row_may_be_activated_a_gap() -> None:
    """Random rows of many banks: an activate each, tRRD apart; the gap of the whole channel limits them."""
    ticks = [tick for name, tick in commands(SPEC, [(bank, 3, READ) for bank in range(16)]) if name == "ACT"]
    assert np.diff(ticks).tolist() == [SPEC.rrd] * 15
