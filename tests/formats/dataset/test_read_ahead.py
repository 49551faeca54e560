"""Reading ahead changes nothing of a stream."""

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayplay.formats.dataset.reader import read_ahead


@given(st.lists(st.integers()), st.integers(1, 9), st.none() | st.integers(0, 9))
def test_same_pieces_and_the_error_in_its_place(pieces: list[int], most: int, broken: int | None) -> None:
    def stream() -> Iterator[int]:
        for number, piece in enumerate(pieces):
            if number == broken:
                raise ValueError("broken")
            yield piece

    taken = []
    ahead = read_ahead(stream(), most)
    if broken is not None and broken < len(pieces):
        with pytest.raises(ValueError, match="broken"):
            taken.extend(ahead)  # list.extend keeps what came before
        assert taken == pieces[:broken]
    else:
        assert list(ahead) == pieces


def test_no_more_than_asked_for_are_made_ahead_and_none_after_the_end() -> None:
    made: list[int] = []
    seen = threading.Event()

    def stream() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            if number == 4:
                seen.set()
            yield number

    ahead = read_ahead(stream(), 4)
    assert next(ahead) == 0
    assert seen.wait(300)
    ahead.close()  # type: ignore[attr-defined]
    assert made == [0, 1, 2, 3, 4]
