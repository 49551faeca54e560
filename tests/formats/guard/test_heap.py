"""Free pages go back to the system; C libraries without the call do nothing."""

import ctypes
from types import SimpleNamespace

import pytest

from rayplay.formats.guard.heap import trim_heap


def test_free_pages_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace(malloc_trim=asked.append))
    trim_heap()
    assert asked == [0]


def test_a_library_without_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace())
    trim_heap()


def test_the_heap_is_whole_afterwards() -> None:
    kept = [bytes([value]) * 5_000 for value in range(200)]
    trim_heap()
    assert all(block == bytes([value]) * 5_000 for value, block in enumerate(kept))
