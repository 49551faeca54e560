"""Pixel lists: round trip, and each mistake names file and line."""

from pathlib import Path

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings

from rayplay.formats.edit.pixels import read_pixels, write_pixels
from rayplay.formats.guard.errors import FormatError


@settings(max_examples=30, deadline=None, derandomize=True)
@given(selected=hnp.arrays(bool, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9)))
def test_what_is_written_is_read(tmp_path_factory, selected) -> None:
    path = tmp_path_factory.mktemp("pixels") / "a.pixels"
    write_pixels(path, selected)
    height, width = selected.shape
    np.testing.assert_array_equal(read_pixels(path, (width, height)), selected)


def test_comments_and_blank_lines_and_twice_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.pixels"
    path.write_text("# two pixels\n\n3 1 # the first\n  0\t0\n3 1\n")
    found = read_pixels(path, (4, 2))
    assert found.shape == (2, 4)
    assert sorted(zip(*np.nonzero(found), strict=True)) == [(0, 0), (1, 3)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 0\n4 1\n", r"a\.pixels:2: pixel must be inside the image of 4x2, not at 4 1"),
        ("0 2\n", r"a\.pixels:1: pixel must be inside the image of 4x2, not at 0 2"),
        ("-1 0\n", r"a\.pixels:1: must be a pixel as two whole numbers 'x y', not '-1 0'"),
        ("1\n", r"a\.pixels:1: must be a pixel"),
        ("1 1 1\n", r"a\.pixels:1: must be a pixel"),
        ("1.0 1\n", r"a\.pixels:1: must be a pixel"),
        ("\u00b2 1\n", r"a\.pixels:1: must be a pixel"),
    ],
)
def test_a_mistake_names_file_and_line(tmp_path: Path, text, message) -> None:
    path = tmp_path / "a.pixels"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        read_pixels(path, (4, 2))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"absent\.pixels: no such pixel list"):
        read_pixels(tmp_path / "absent.pixels", (4, 2))
    (tmp_path / "binary.pixels").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FormatError, match=r"binary\.pixels: cannot be read"):
        read_pixels(tmp_path / "binary.pixels", (4, 2))
