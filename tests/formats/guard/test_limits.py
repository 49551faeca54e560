"""Each limit holds at n - 1, n and n + 1, before memory is taken, and its message names what raises it."""

import argparse
import json
import lzma
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.__main__ import main
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.edit.convert import convert
from rayplay.formats.edit.pixels import read_pixels
from rayplay.formats.exchange.accelsim.files import read_list
from rayplay.formats.guard.command import add_instructions, run
from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.formats.guard.limits import LIMITS, Limit
from rayplay.formats.guard.text import read_toml
from rayplay.formats.guard.xz import RATIO_COUNTS_FROM, open_packed
from rayplay.formats.schema.manifest import MANIFEST
from rayplay.replay.launch.host_copies import Copies
from rayplay.tracer.launch import run_launch_file
from tests.tracer.execution.test_limits import ALL as EXECUTED
from tests.tracer.scenes.test_limits import BOUNDS as SCENES

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


def key_parts(sample: Path, folder: Path) -> Callable[[], object]:
    (folder / "a.toml").write_text("a = 0.5\n[b.'c.d'.\"e.f\" . g]\nh.i = 'j'\n")
    return lambda: read_toml(folder / "a.toml")


def copies(sample: Path, folder: Path) -> Callable[[], object]:
    return lambda: Copies(open_trace(sample), "whole")


LAUNCH = """
program = "k.ptx"
[repeat.r]
times = 3
[[launch]]
entry = "k"
grid = [4]
block = [33]
repeat = "r"
[[launch]]
entry = "k"
grid = [1]
block = [32]
[buffers.a]
dtype = "uint32"
shape = [5]
"""


def launch_file(sample: Path, folder: Path) -> Callable[[], object]:
    (folder / "k.ptx").write_text(".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n")
    (folder / "k.toml").write_text(LAUNCH)
    return lambda: run_launch_file(folder / "k.toml", folder / "k.trace", backend="interpreter", progress=False)


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


def program(sample: Path, folder: Path) -> Callable[[], object]:
    return lambda: open_trace(sample).read("instructions")


def pixel_list(sample: Path, folder: Path) -> Callable[[], object]:
    (folder / "a.pixels").write_text("1 2\n3 4\n")
    return lambda: read_pixels(folder / "a.pixels", (40, 6))


def hdf5(sample: Path, folder: Path) -> Callable[[], object]:
    convert(open_trace(sample), folder / "a.trace.h5")
    return lambda: open_trace(folder / "a.trace.h5").read("instructions")


def ratio(sample: Path, folder: Path) -> Callable[[], object]:
    path = packed(folder, b"x" * (RATIO_COUNTS_FROM + 1))
    return lambda: open_packed(path).read()


CASES: dict[str, list[Case]] = {
    "RAYPLAY_MAX_FILE_ROWS": [one_table],
    "RAYPLAY_MAX_COLUMNS": [one_table],
    "RAYPLAY_MAX_FOOTER_BYTES": [one_table],
    "RAYPLAY_MAX_GROUP_BYTES": [one_table],
    "RAYPLAY_MAX_TABLE_BYTES": [whole_table],
    "RAYPLAY_MAX_LIST_BYTES": [pixel_list],
    "RAYPLAY_MAX_MANIFEST_BYTES": [manifest],
    "RAYPLAY_MAX_WARPS": [manifest, launch_file],
    "RAYPLAY_MAX_IMAGE_PIXELS": [manifest],
    "RAYPLAY_MAX_STRING_BYTES": [hdf5, program],
    "RAYPLAY_MAX_TEXT_BYTES": [toml],
    "RAYPLAY_MAX_KEY_PARTS": [key_parts],
    "RAYPLAY_MAX_COPIED_BYTES": [copies],
    "RAYPLAY_MAX_BUFFER_BYTES": [launch_file],
    "RAYPLAY_MAX_LAUNCHES": [launch_file],
    "RAYPLAY_MAX_UNPACKED_BYTES": [unpacked],
    "RAYPLAY_MAX_RATIO": [ratio],
}
BOUNDS = [(variable, case) for variable, cases in CASES.items() for case in cases]


def found_size(variable: str, read: Callable[[], object], monkeypatch) -> int:
    """Demand of the file: the largest number in the messages of too low limits."""
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
    with pytest.raises(
        FormatError, match=f"must be at most {size - 1} .*, not {size}; --limit .*={size} or {variable} raises"
    ):
        read()


def test_memory_of_unpacking_is_exact_and_can_be_raised(tmp_path: Path, monkeypatch) -> None:
    """The library says that a dictionary is too large, not how large it is: that is found by trying."""
    path = packed(tmp_path, b"-kernel name = x\n" * 1000)
    variable, low, high = "RAYPLAY_MAX_DICTIONARY_BYTES", 0, 1 << 30

    def is_enough(limit: int) -> bool:
        monkeypatch.setenv(variable, str(limit))
        wanted = f"at most {limit} bytes of memory; --limit dictionary-bytes=N or {variable} raises the limit"
        try:
            return len(open_packed(path).read()) == 17_000
        except FormatError as error:
            return wanted not in error.reason and pytest.fail(error.reason)

    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    assert high > 1 << 20
    assert [is_enough(limit) for limit in (high - 1, high, high + 1)] == [False, True, True]


def test_every_limit_is_tried_at_its_edge() -> None:
    tried = {
        *CASES,
        "RAYPLAY_MAX_DICTIONARY_BYTES",
        "RAYPLAY_MAX_GPU_BYTES",
        *(variable for variable, _, _ in SCENES),
        *EXECUTED,
    }
    assert tried == {limit.variable for limit in LIMITS}


def run_to_the_end(monkeypatch, *arguments: str) -> int:
    """Exit code of ``python -m formats``."""
    monkeypatch.setattr("sys.argv", ["formats", *arguments])
    with pytest.raises(SystemExit) as left:
        run("formats", main)
    return left.value.code


@pytest.mark.parametrize("container", ["folder", "HDF5"])
def test_the_flag_that_a_message_names_raises_the_limit(sample, tmp_path, monkeypatch, capsys, container) -> None:
    """Also in the child process that reads HDF5."""
    path = sample
    if container == "HDF5":
        path = tmp_path / "a.trace.h5"
        convert(open_trace(sample), path)
    for limit in LIMITS:
        monkeypatch.setenv(limit.variable, str(limit.default))  # restored when the test ends
    monkeypatch.setenv("RAYPLAY_MAX_GROUP_BYTES", "100")
    monkeypatch.setenv("RAYPLAY_MAX_FILE_ROWS", "30")
    given: list[str] = []
    for _ in range(99):
        code = run_to_the_end(monkeypatch, "verify", str(path), *given)
        text = capsys.readouterr()
        if code == 0:
            break
        named = re.findall(r"; (--limit) ([a-z]+-[a-z]+=[0-9]+) or RAYPLAY", text.out + text.err)
        given += [word for pair in named for word in pair]
    assert code == 0
    assert {text.partition("=")[0] for text in given[1::2]} == {"file-rows", "group-bytes"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("rows=5", "must be NAME=N with one of the names file-rows, columns, .*, not 'rows=5'"),
        ("file-rows", "--limit file-rows: must be a whole number of rows, not ''"),
        ("file-rows=-1", "--limit file-rows: must be a whole number of rows, not '-1'"),
    ],
)
def test_a_limit_that_is_none(sample: Path, monkeypatch, capsys, given: str, message: str) -> None:
    assert run_to_the_end(monkeypatch, "show", str(sample), "--limit", given) == 2
    assert re.search(message, capsys.readouterr().err)


def test_the_option_that_was_given_is_the_one_that_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_instructions(parser)
    with pytest.raises(SystemExit):
        parser.parse_args(["--max-instructions", "nan"])
    assert "error: --max-instructions: must be a whole number of " in capsys.readouterr().err


@pytest.mark.parametrize("package", ["formats", "ptx", "replay", "tracer", "zatel"])
def test_every_verb_has_the_flag(package: str) -> None:
    files = [Path(__file__).parents[3] / package / name for name in ("__main__.py", "arguments.py")]
    text = "".join(file.read_text() for file in files if file.exists())
    assert "add_limits(made)" in text or "add_limits(*verbs.choices.values())" in text


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
