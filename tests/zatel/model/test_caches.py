"""Functional caches against slow twins and by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayplay.formats.dataset.reader import Trace
from rayplay.replay.gpu.description import Gpu, load
from rayplay.zatel.model import traffic as traffic_module
from rayplay.zatel.model.accesses import LOCAL_LINES
from rayplay.zatel.model.follow import MOST_SHIFT, followed
from rayplay.zatel.model.in_order import Entered
from rayplay.zatel.model.schedule import Machine
from rayplay.zatel.model.traffic import (
    WINDOWS,
    Requests,
    after,
    in_order,
    read_stream,
    traffic,
)
from rayplay.zatel.sample.machine import build, machine_for, traffic_of_all, traffic_of_sample
from tests.zatel.model.slow_caches import slow_traffic


@pytest.mark.parametrize(("l1_sets", "l2_sets"), [(1, 1), (2, 3), (4, 5)])
def test_traffic_equals_slow_caches(spheres: Trace, l1_sets: int, l2_sets: int) -> None:
    stream = read_stream(spheres)
    requests = in_order(stream, np.arange(len(stream.steps)) % 3 > 0, Machine(3, 2, 4, 2))
    line, sectors = np.unique(stream.line[stream.line < LOCAL_LINES])[:70], np.full(70, 15, np.uint8)
    requests = after(requests, line, sectors[: len(line)])
    gpu = small(load("rtx2060"), 3, l1_sets, l2_sets)
    found = traffic(requests, gpu)
    count, load_of_slices = slow_traffic(requests, gpu, l1_sets, l2_sets)
    assert list(found[:7]) == count
    assert (found.asked + found.entered).tolist() == load_of_slices
    assert 0 < found.entered.sum() == requests.entered.stores.sum()
    assert min(count) > 0
    assert found.l1_miss_rate == found.l1_misses / found.l1_accesses
    assert found.miss_rate == (found.read_misses + found.write_misses) / (found.reads + found.writes)


def small(gpu: Gpu, sms: int, l1_sets: int, l2_sets: int) -> Gpu:
    """GPU with the given sets of 16 lines in each L1 and in each of the four slices of the L2."""
    controllers = 4 // gpu.l2.slices_per_controller
    found = replace(
        gpu, sm=replace(gpu.sm, count=sms), l1=replace(gpu.l1, bytes=l1_sets * 2048, ways=16),
        memory=replace(gpu.memory, count=controllers),
        l2=replace(gpu.l2, bytes=4 * l2_sets * 2048, set_hash="multiplicative"),
    )  # fmt: skip
    return build(found, Machine(sms, controllers, 1, 1))


def test_a_store_that_fills_no_sector_is_fetched_when_read() -> None:
    line, sm, nothing = np.full(3, 5, np.int64), np.zeros(3, np.int16), np.zeros(0, np.int64)
    partly, whole, reads = 16 + 1, 16 + 1 + 256, 1
    for first, missed in ((partly, 1), (whole, 0)):
        requests = Requests(
            line, np.array([first, reads, reads], np.uint16), 0, sm, sm, Entered(nothing, nothing, nothing)
        )
        found = traffic(requests, small(load("mobile"), 1, 1, 1))
        assert found[:7] == (1, missed, 1, 1, 0, 3, 2)
        assert found.asked.max(axis=1).tolist() == [2, *[0] * (WINDOWS - 1)]


def test_a_half_of_the_sets_stands_for_all(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    stream, gpu = read_stream(trace), small(load("mobile"), 2, 4, 8)
    whole = np.ones(len(stream.steps), bool), Machine(2, 4, 8, 4)
    by_slot = traffic_module.depend_on_slot(stream.line)
    monkeypatch.setattr(traffic_module, "FOLLOWED", int((~by_slot).sum()) - 1)
    half = read_stream(trace)
    assert half.shift == 1
    stay = by_slot | followed(stream.line, 1)
    for column in ("line", "sectors", "step"):
        assert getattr(half, column).tolist() == getattr(stream, column)[stay].tolist()
    assert half.requests.sum() == stay.sum()
    every, few = in_order(stream, *whole), in_order(half, *whole)
    assert few.line.tolist() == every.line[followed(every.line, 1)].tolist()
    for found, wanted in zip(traffic(few, gpu)[:7], traffic(every, gpu)[:7], strict=True):
        assert found == pytest.approx(wanted, rel=0.25)


@given(st.lists(st.integers(0, 400), min_size=1, max_size=12), st.integers(1, 500))
def test_no_more_requests_are_held_than_are_followed(rows: list[int], most: int) -> None:
    line, requests, shift = np.arange(sum(rows)) * 7919, np.array(rows), 0
    pieces, unbound = [], []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(traffic_module, "FOLLOWED", most)
        for number, end in enumerate(np.cumsum(rows)):
            piece = line[end - rows[number] : end]
            piece = piece[followed(piece, shift)]
            counts = np.append(requests[:number], len(piece))
            pieces.append([piece, piece, piece])
            shift = traffic_module.bounded(pieces, unbound, counts, shift, (number + 1) / len(rows))
            requests[: number + 1] = counts
            held = np.concatenate([lines for _, lines, _ in pieces])
            assert held.tolist() == line[:end][followed(line[:end], shift)].tolist()
            assert requests[: number + 1].sum() == len(held) == sum(unbound)
            assert len(held) <= most or shift == MOST_SHIFT


def test_a_sample_finds_the_whole_l2_and_what_it_contains(trace: Trace) -> None:
    gpu, stream = load("mobile", ["l2.bytes=65536"]), read_stream(trace)
    whole, part = machine_for(gpu, trace, 1.0), machine_for(gpu, trace, 0.25)
    nothing, everybody = (np.zeros(0, np.int64), np.zeros(0, np.uint8)), np.ones(len(stream.steps), bool)
    assert ((whole.sms, whole.controllers), (part.sms, part.controllers)) == ((8, 4), (2, 1))
    goal = traffic_of_all(gpu, whole, stream)
    assert goal[:7] == traffic(in_order(stream, everybody, whole), gpu)[:7]
    few = np.arange(len(stream.steps)) % 4 == 0
    built = build(gpu, part)
    assert (built.sm.count, built.memory.count, built.l2.bytes) == (2, 1, 65536)
    held = stream.line[:1], np.full(1, 15, np.uint8)
    without, with_it = (traffic_of_sample(gpu, part, stream, few, *of) for of in (nothing, held))
    assert without[:7] == traffic(in_order(stream, few, part), built)[:7]
    assert 0 < with_it.read_misses <= without.read_misses < goal.read_misses
