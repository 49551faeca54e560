"""Copies from the host: what a trace may ask for, before a kernel begins."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.testing.generate import make_tables
from rayplay.replay.launch import host_copies
from rayplay.replay.launch.host_copies import Copies


def test_copies_of_more_than_the_limit_are_refused_before_the_replay(tmp_path: Path, monkeypatch) -> None:
    with TraceWriter(tmp_path / "a.trace", image_size=(40, 6)) as writer:
        rows = {"kernel_id": [0, 0], "address": [0, 1 << 32], "bytes": [0, 1 << 34]}
        for name, columns in (make_tables(5) | {"copies": rows}).items():
            writer.put(name, {key: np.asarray(values) for key, values in columns.items()})
    trace = open_trace(tmp_path / "a.trace")
    assert Copies(trace, "whole").count.tolist() == [0, 1 << 29]
    assert not len(Copies(trace, "none").count)
    monkeypatch.setenv("RAYPLAY_MAX_COPIED_BYTES", str((1 << 34) - 1))
    with pytest.raises(FormatError, match=r"table copies: bytes must be at most .* raises the limit"):
        Copies(trace, "whole")


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 12)), max_size=20), st.integers(1, 7))
def test_portions_hold_the_same_sectors_in_order(copies: list[tuple[int, int]], most: int) -> None:
    first, count = (np.array([copy[column] for copy in copies], np.int64) for column in (0, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host_copies, "SECTORS_AT_ONCE", most)
        portions = list(host_copies._portions(first, count))
    found = [[n for at, many in zip(*one, strict=True) for n in range(at, at + many)] for one in portions]
    assert [n for one in found for n in one] == [n for at, many in copies for n in range(at, at + many)]
    assert all(len(one) <= 2 * most for one in found)
