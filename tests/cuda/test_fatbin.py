"""Fatbins: the newest PTX is found however it is packed; a damaged one is refused in one line."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayplay.cuda.elf import needed_libraries
from rayplay.cuda.fatbin import ELF, HEADER, PTX, images_of, newest_ptx
from rayplay.formats.guard.errors import UserError
from tests.cuda.programs import fatbin, image, ptx_fatbin

TEXT = ".version 8.0\n.target sm_75\n.address_size 64\n" + "// words\n" * 100


@pytest.mark.parametrize("codec", ["", "lz4_raw", "zstd"])
def test_ptx_is_found_however_it_is_packed(codec: str) -> None:
    found = newest_ptx(ptx_fatbin(TEXT, codec), "a.ptx")
    assert (found.text("a.ptx"), found.architecture) == (TEXT, 75)


def test_the_newest_architecture_is_taken() -> None:
    images = [image(PTX, architecture, f"// {architecture}".encode()) for architecture in (52, 90, 75)]
    assert newest_ptx(fatbin(*images), "a.ptx").text("a.ptx") == "// 90"


def test_a_program_without_ptx_is_told_how_to_have_it() -> None:
    with pytest.raises(UserError, match=r"must have PTX, found sm_75, sm_90: .*code=compute_75"):
        newest_ptx(fatbin(image(ELF, 75, b"\x7fELF"), image(ELF, 90, b"\x7fELF")), "a.ptx")


def test_a_text_that_does_not_unpack_is_refused() -> None:
    damaged = bytearray(ptx_fatbin(TEXT, "zstd"))
    damaged[-40:] = bytes(40)
    with pytest.raises(UserError, match="does not unpack"):
        newest_ptx(bytes(damaged), "a.ptx").text("a.ptx")


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 200), st.binary(min_size=1, max_size=12), st.integers(0, 400))
def test_damaged_fatbins_are_refused_or_read(at: int, change: bytes, cut: int) -> None:
    whole = ptx_fatbin(TEXT, "lz4_raw")
    damaged = (whole[:at] + change + whole[at + len(change) :])[: len(whole) - cut]
    with contextlib.suppress(UserError):
        for found in images_of(damaged, "a.ptx"):
            assert len(found.data) <= len(damaged) - HEADER.size
            found.text("a.ptx")


def test_a_file_that_is_no_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("#!/bin/sh\n" + "echo\n" * 30)
    with pytest.raises(UserError, match="must be a 64-bit program of Linux"):
        needed_libraries(tmp_path / "text")
