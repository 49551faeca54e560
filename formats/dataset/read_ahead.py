"""Read-ahead: a thread of its own produces the next pieces of a stream while the present one is used."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Piece = TypeVar("Piece")


def read_ahead(pieces: Iterator[Piece], most: int) -> Iterator[Piece]:
    """The same pieces in order, and the same error in its place; at most ``most`` are produced ahead."""
    end: Any = object()
    reader = ThreadPoolExecutor(1)
    waiting = deque(reader.submit(next, pieces, end) for _ in range(most))
    try:
        while (piece := waiting.popleft().result()) is not end:
            waiting.append(reader.submit(next, pieces, end))
            yield piece
    finally:
        reader.shutdown(cancel_futures=True)
