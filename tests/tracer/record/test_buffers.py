"""Recycled record buffers: one launch at a time, nothing of the launch before in the next one's rows."""

import numpy as np
import pytest

from rayplay.tracer.record import buffers
from rayplay.tracer.record.buffers import borrow, give_back
from tests.tracer.harness.execution import assert_same_trace, execute
from tests.tracer.harness.random_bits import BYTES, random_kernel


@pytest.fixture(autouse=True)
def empty_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "_idle", {})


def test_two_launches_at_once_have_buffers_of_their_own() -> None:
    first, second = borrow(False), borrow(False)
    assert not np.shares_memory(first.visits, second.visits)
    give_back(first)
    assert borrow(False) is first


def test_a_launch_that_traces_gets_buffers_with_rays() -> None:
    give_back(borrow(False))
    assert len(borrow(True).rays) == buffers.RAYS


def test_other_sizes_get_other_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    give_back(borrow(False))
    monkeypatch.setattr(buffers, "VISITS", 64)
    assert len(borrow(False).visits) < 1 << 16


def test_rows_of_the_launch_before_do_not_return() -> None:
    def run(seeds: range):
        words = np.random.default_rng(seeds.start).integers(0, 2**32, (64, BYTES // 4), dtype=np.uint32)
        return execute(random_kernel(seeds), [words, np.zeros(64, np.uint32)], "machine", block=(64, 1, 1))

    alone = run(range(3))
    run(range(40, 60))  # more rows, in the same buffers
    assert_same_trace(run(range(3)).sink, alone.sink)
    assert sum(map(len, buffers._idle.values())) == 1
