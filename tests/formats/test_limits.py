"""Each limit holds at n - 1, n and n + 1, before memory is taken, and its message names what raises it."""

import json
import lzma
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from formats.accelsim_files import read_list
from formats.errors import FormatError, UserError
from formats.limits import LIMITS, Limit
from formats.manifest import MANIFEST
from formats.pixels import read_pixels
from formats.reader import open_trace
from formats.text_file import read_toml
from formats.unpack import open_packed

Case = Callable[[Path, Path], Callable[[], object]]


def one_table(sample: Path, folder: Path) -> Callable[[], object]:
    return lambda: list(open_trace(sample).batches("accesses"))


def whole_table(sample: Path, folder: Path) -> Callable[[], object]:
    return lambda: open_trace(sample).read("accesses")


def manifest(sample: Path, folder: Path) -> Callable[[], object]:
    return lambda: open_trace(sample)


def toml(sample: Path, folder: Path) -> Callable[[], object]:
    (folder / "a.toml").write_text("a = 1\n" * 1 + "# " + "x" * 1000)
    return lambda: read_toml(folder / "a.toml")


def packed(folder: Path, text: bytes) -> Path:
    path = folder / "a.traceg.xz"
    path.write_bytes(lzma.compress(text))
    return path


def unpacked(sample: Path, folder: Path) -> Callable[[], object]:
    path = packed(folder, b"-kernel name = x\n" * 1000)

    def read() -> None:
        with open_packed(path) as file:
            file.read()

    return read


CASES: dict[str, list[Case]] = {
    "RAYPLAY_MAX_FILE_ROWS": [one_table],
    "RAYPLAY_MAX_COLUMNS": [one_table],
    "RAYPLAY_MAX_FOOTER_BYTES": [one_table],
    "RAYPLAY_MAX_GROUP_BYTES": [one_table],
    "RAYPLAY_MAX_TABLE_BYTES": [whole_table],
    "RAYPLAY_MAX_LIST_BYTES": [manifest],
    "RAYPLAY_MAX_TEXT_BYTES": [toml],
    "RAYPLAY_MAX_UNPACKED_BYTES": [unpacked],
}
BOUNDS = [(variable, case) for variable, cases in CASES.items() for case in cases]


def found_size(variable: str, read: Callable[[], object], monkeypatch) -> int:
    """What the file asks for: the largest number that the messages of too low limits give."""
    limit = 0
    for _ in range(30):
        monkeypatch.setenv(variable, str(limit))
        try:
            read()
        except FormatError as error:
            limit = int(re.findall(r"not (\d+)", error.reason)[-1])
        else:
            return limit
    raise AssertionError("no limit is enough")


@pytest.mark.parametrize(("variable", "case"), BOUNDS, ids=[f"{v}-{c.__name__}" for v, c in BOUNDS])
def test_a_limit_is_exact_and_can_be_raised(sample: Path, tmp_path: Path, monkeypatch, variable, case) -> None:
    read = case(sample, tmp_path)
    size = found_size(variable, read, monkeypatch)
    assert size > 1
    for limit in (size + 1, size):
        monkeypatch.setenv(variable, str(limit))
        read()
    monkeypatch.setenv(variable, str(size - 1))
    with pytest.raises(FormatError, match=f"must be at most {size - 1} .*, not {size}; {variable} raises the limit"):
        read()


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.variable)
def test_a_limit_must_be_a_whole_number(limit: Limit, monkeypatch) -> None:
    assert limit.value() == limit.default
    monkeypatch.setenv(limit.variable, "1e9")
    with pytest.raises(UserError, match=f"{limit.variable}: must be a whole number of {limit.unit}"):
        limit.value()


def test_the_error_says_its_place_by_name(sample: Path, monkeypatch) -> None:
    monkeypatch.setenv("RAYPLAY_MAX_GROUP_BYTES", "10")
    with pytest.raises(FormatError) as caught:
        open_trace(sample).read("visits")
    error = caught.value
    assert (Path(error.file or "").name, error.table, error.row_group) == ("visits-00000.parquet", "visits", 0)
    assert str(error).endswith(f"table visits, row group 0: {error.reason}")


def test_lists_are_limited_as_the_manifest_is(sample: Path, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "kernelslist.g").write_text("kernel-1.traceg\n")
    (tmp_path / "some.pixels").write_text("1 1\n" * 10)
    monkeypatch.setenv("RAYPLAY_MAX_LIST_BYTES", "10")
    for read in (
        lambda: read_list(tmp_path / "kernelslist.g"),
        lambda: read_pixels(tmp_path / "some.pixels", (4, 4)),
    ):
        with pytest.raises(FormatError, match="RAYPLAY_MAX_LIST_BYTES raises the limit"):
            read()


def test_pages_are_counted_not_the_footer(sample: Path, monkeypatch) -> None:
    """Reading all columns of a group is limited by what the pages hold; the same column twice is not counted twice."""
    monkeypatch.setenv("RAYPLAY_MAX_GROUP_BYTES", "1")
    with pytest.raises(FormatError) as caught:
        list(open_trace(sample).batches("visits", ["active_mask"]))
    rows = json.loads((sample / MANIFEST).read_text())["tables"]["visits"][0]["rows"]
    assert int(re.findall(r"not (\d+)", caught.value.reason)[-1]) >= 4 * rows


def test_xz_in_several_streams_with_padding(tmp_path: Path) -> None:
    parts = [b"first\n" * 10, b"", b"second\n" * 100_000]
    (tmp_path / "a.xz").write_bytes(b"".join(lzma.compress(part) + b"\0" * 8 for part in parts))
    with open_packed(tmp_path / "a.xz") as file:
        assert file.read() == b"".join(parts)
    whole = (tmp_path / "a.xz").read_bytes()
    for length in np.linspace(0, len(whole) - 9, 40, dtype=int):
        (tmp_path / "a.xz").write_bytes(whole[:length])
        reasons = []
        try:
            with open_packed(tmp_path / "a.xz") as file:
                assert b"".join(parts).startswith(file.read())
        except FormatError as error:
            reasons.append(error.reason)
        assert all("must be whole" in reason for reason in reasons)


def test_damaged_xz_is_one_error(tmp_path: Path) -> None:
    whole = bytearray(lzma.compress(b"one line\n" * 100))
    whole[len(whole) // 2] ^= 1
    (tmp_path / "a.xz").write_bytes(whole)
    with pytest.raises(FormatError, match=r"a\.xz: must be whole"), open_packed(tmp_path / "a.xz") as file:
        file.read()
