"""Launch files are read strictly, and buffers hold what the file says."""

import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.launchfile.buffers import check_expectations, place_buffers
from rayplay.tracer.launchfile.file import GENERATORS, read_launch_file
from rayplay.tracer.memory.arena import FIRST_ADDRESS, GUARD_BYTES, DeviceMemory

GOOD = """
program = "double.ptx"
[buffers.values]
dtype = "uint32"
shape = [100]
generator = "arange"
[buffers.flag]
dtype = "uint32"
shape = [1]
[repeat.rounds]
while_nonzero = "flag"
limit = 5
[[launch]]
entry = "double_values"
grid = [4]
block = [32]
repeat = "rounds"
parameters = [{ buffer = "values" }, { type = "u32", value = 100 }]
[[expect]]
buffer = "values"
equals = "values"
"""
ONE_LAUNCH = '[[launch]]\nentry = "e"\ngrid = [1]\nblock = [32]\n'


def write(folder: Path, text: str) -> Path:
    path = folder / "test.toml"
    path.write_text(text)
    return path


def one_buffer(folder: Path, text: str) -> np.ndarray:
    path = write(folder, f'program = "a.ptx"\n{ONE_LAUNCH}[buffers.a]\n{text}')
    return place_buffers(read_launch_file(path), path, DeviceMemory())["a"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("program =", "programme =", "test.toml: unknown name 'programme'; did you mean 'program'"),
        ('program = "double.ptx"', "", "test.toml: needs the key 'program'"),
        ('"double.ptx"', "3", "test.toml: program: must be a text, found 3"),
        ('"double.ptx"', '"double.ptx', "test.toml: must be TOML: .* line 2"),
        ("shape = [100]", "shape = 100", r"buffers.values.shape: must be a list, such as \[100\], found 100"),
        ("shape = [100]", "shape = [1.5]", r"buffers.values.shape\[0\]: must be a whole number, found 1.5"),
        ("shape = [100]", "shape = [0]", r"buffers.values: shape must be of positive lengths, found \[0\]"),
        ("shape = [100]", f"shape = [{10**23 - 1}]", "buffers.values: shape must be of at most 274877906944 bytes"),
        ("shape = [100]", f"shape = [{10**14 - 1}]", "buffers.values: shape must be of at most 274877906944 bytes"),
        ("shape = [100]", f"shape = {[1] * 33}", "buffers.values: shape must be of at most 32 lengths, found 33"),
        ("grid = [4]", "grid = [4]\ndynamic_shared_bytes = 232449", "at most 232448, found 232449"),
        ('while_nonzero = "flag"\nlimit = 5', "times = 4097", "its launches, in all rounds must be at most 4096"),
        ('"u32", value = 100', f'"f64", value = {10**400}', r"parameters\[1\]: value must fit f64"),
        ("shape = [100]", "", "buffers.values: needs the key 'shape'"),
        ("shape = [100]", "shpe = [100]", "buffers.values: unknown name 'shpe'; did you mean 'shape'"),
        ('"arange"', '"arrange"', "buffers.values: generator: unknown name 'arrange'; did you mean 'arange'"),
        ('"arange"', '"random"', "buffers.values: random needs the keys 'high', 'low', 'seed'"),
        ('"arange"', '"arange"\nseed = 1', "buffers.values: arange has no use for the key 'seed'"),
        ('"arange"', '"random"\nlow = 0\nhigh = 5000000000\nseed = 1', "whole numbers that fit uint32, found 0"),
        ('"arange"', '"random"\nlow = 9\nhigh = 9\nseed = 1', "low must be below high, found 9 and 9"),
        ('"uint32"', '"unit32"', "buffers.values: dtype: unknown name 'unit32'; did you mean 'uint32'"),
        ("limit = 5", "", "repeat.rounds: must have either times, or while_nonzero and limit"),
        ("limit = 5", "limit = 0", "repeat.rounds: times and limit must be at least 1"),
        ('while_nonzero = "flag"', 'while_nonzero = "flags"', "rounds.while_nonzero: .*did you mean 'flag'"),
        ('repeat = "rounds"', 'repeat = "round"', r"launch\[0\].repeat: .* did you mean 'rounds'"),
        ("grid = [4]", "grid = []", r"launch\[0\]: grid must be one to three lengths .* found \[\]"),
        ("grid = [4]", "grid = [1, 70000]", r"launch\[0\]: grid must be .* from 1 to 2147483647, 65535, 65535"),
        ("block = [32]", "block = [32]\nstream = 99999999999", r"launch\[0\]: stream must be at most 4294967295"),
        ('{ buffer = "values" }', f'{{ buffer = "values", offset_bytes = {10**20} }}', "offset_bytes must be"),
        ("block = [32]", "block = [64, 32]", r"launch\[0\]: block must have at most 1024 threads, found 2048"),
        ('{ buffer = "values" }', '{ buffer = "value" }', r"parameters\[0\].buffer: .* did you mean 'values'"),
        ("value = 100 }", "value = true }", r"parameters\[1\].value: must be a number, found True"),
        ("value = 100 }", "value = -1 }", r"parameters\[1\]: value must be a whole number that fits u32, found -1"),
        ("value = 100 }", "value = 0.5 }", r"parameters\[1\]: value must be a whole number that fits u32, found 0.5"),
        (", value = 100 }", " }", r"parameters\[1\]: must have either a buffer or a type and a value"),
        ('type = "u32", value = 100', 'type = "f32", value = 1e300', r"parameters\[1\]: value must fit f32"),
        ('type = "u32"', 'type = "i32"', r"parameters\[1\]: type: unknown name 'i32'; did you mean"),
        ('equals = "values"', "", r"expect\[0\]: must have either a file or a buffer that it equals"),
        ('equals = "values"', 'equals = "valuess"', r"expect\[0\]: unknown name 'valuess'; did you mean 'values'"),
        ('equals = "values"', 'equals = "flag"\nabsolute = -1.0', r"expect\[0\]: absolute and relative must be"),
    ],
)  # fmt: skip
def test_bad_file_is_one_clear_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(UserError, match=message) as caught:
        read_launch_file(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_good_file_is_read(tmp_path: Path) -> None:
    plan = read_launch_file(write(tmp_path, GOOD))
    launch = plan.launch[0]
    assert (launch.grid, launch.block, launch.repeat, launch.stream) == ((4,), (32,), "rounds", 0)
    assert plan.repeat["rounds"].limit == 5
    assert launch.parameters[1].encode({}, 0) == (100).to_bytes(4, "little")


def test_structures_are_aligned_as_in_c_and_pointers_as_wide_as_the_program_says(tmp_path: Path) -> None:
    new = (
        '{ fields = [{ type = "u8", value = 7 }, { buffer = "flag", offset_bytes = 4 }, { type = "u16", value = 9 }, '
        '{ fields = [{ type = "u8", value = 1 }, { type = "u32", value = 2 }] }] }'
    )
    launch = read_launch_file(write(tmp_path, GOOD.replace('{ type = "u32", value = 100 }', new))).launch[0]
    assert launch.parameters[1].buffers == ("flag",)
    wide = launch.parameters[1].encode({"flag": 0x1000}, 0)
    assert wide == bytes([7, *[0] * 7, 4, 0x10, *[0] * 6, 9, 0, 0, 0, 1, 0, 0, 0, 2, *[0] * 7])
    narrow = launch.parameters[1].encode({"flag": 0x1000}, 0, pointer_bytes=4)
    assert narrow == bytes([7, 0, 0, 0, 4, 0x10, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0])


def test_values_stand_in_the_file(tmp_path: Path) -> None:
    assert one_buffer(tmp_path, 'dtype = "int16"\nvalues = [1, -2, 3]').tolist() == [1, -2, 3]
    assert one_buffer(tmp_path, 'dtype = "float32"\nshape = [2, 1]\nvalues = [0.5, 2]').tolist() == [[0.5], [2]]
    for text, message in (
        ('dtype = "uint8"\nvalues = [256]', "value must be a whole number that fits u8, found 256"),
        ('dtype = "uint8"\nshape = [3]\nvalues = [1]', r"values must be \[3\], found 1"),
        ('dtype = "uint8"\ngenerator = "ones"\nvalues = [1]', "must have one of values, a file and a generator"),
    ):
        with pytest.raises(UserError, match=message):
            one_buffer(tmp_path, text)


def test_a_buffer_that_memory_does_not_hold_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = 'dtype = "uint32"\nshape = [1000]\n'
    monkeypatch.setattr("os.sysconf", {"SC_PHYS_PAGES": 2, "SC_PAGE_SIZE": 1000}.get)
    with pytest.raises(UserError, match=r"test\.toml: buffers\.a: must fit the 2000 bytes of this .*, but has 4000$"):
        one_buffer(tmp_path, whole)
    monkeypatch.undo()

    def full(buffer: object) -> np.ndarray:
        raise MemoryError

    monkeypatch.setattr("rayplay.tracer.launchfile.buffers._generate", full)
    with pytest.raises(UserError, match=r"test\.toml: buffers\.a: must fit the memory that is free, and does not$"):
        one_buffer(tmp_path, whole)


def test_a_graph_needs_offsets_that_count_edges(tmp_path: Path) -> None:
    for values, message in (("[7]", "two whole numbers at least"), ("[7, -5]", "at least 0, found -5")):
        text = (
            'dtype = "int64"\ngenerator = "graph_neighbours"\noffsets = "b"\nseed = 1\n[buffers.b]\ndtype = "int64"\n'
        )
        with pytest.raises(UserError, match=rf"test\.toml: buffers\.a\.offsets: .*{message}"):
            one_buffer(tmp_path, f"{text}values = {values}")


def test_all_buffers_together_keep_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made as 8 bytes a value where a generator draws or counts, from a file as long as it is."""
    np.save(tmp_path / "x.npy", np.zeros(100, np.uint8))
    text = 'dtype = "uint8"\nfile = "x.npy"\n[buffers.b]\ndtype = "uint8"\nshape = [10]\ngenerator = "arange"\n'
    size = (tmp_path / "x.npy").stat().st_size + 80
    monkeypatch.setenv("RAYPLAY_MAX_BUFFER_BYTES", str(size))
    one_buffer(tmp_path, text)
    monkeypatch.setenv("RAYPLAY_MAX_BUFFER_BYTES", str(size - 1))
    with pytest.raises(UserError, match=rf"buffers\.b: .*not {size}; --limit buffer-bytes={size}"):
        one_buffer(tmp_path, text)


def test_parameter_steps_with_the_round_and_may_be_a_structure(tmp_path: Path) -> None:
    new = '{ type = "s16", value = -3, step = 2 }, { type = "f32", value = [1, 2.5] }'
    launch = read_launch_file(write(tmp_path, GOOD.replace('{ type = "u32", value = 100 }', new))).launch[0]
    assert [launch.parameters[1].encode({}, each) for each in range(3)] == [b"\xfd\xff", b"\xff\xff", b"\x01\x00"]
    assert launch.parameters[2].encode({}, 7) == np.array([1, 2.5], "<f4").tobytes()
    assert launch.parameters[0].encode({"values": 0x1234_5678_9ABC}, 7) == (0x1234_5678_9ABC).to_bytes(8, "little")


def test_launch_needs_one_launch(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="launch: must have at least one launch"):
        read_launch_file(write(tmp_path, 'program = "a.ptx"\nlaunch = []'))


def test_generators(tmp_path: Path) -> None:
    assert (one_buffer(tmp_path, 'dtype = "int8"\nshape = [2, 3]') == np.zeros((2, 3))).all()
    assert (one_buffer(tmp_path, 'dtype = "float64"\nshape = [5]\ngenerator = "ones"') == 1.0).all()
    counted = one_buffer(tmp_path, 'dtype = "uint16"\nshape = [2, 3]\ngenerator = "arange"')
    assert counted.dtype == np.uint16
    assert counted.tolist() == [[0, 1, 2], [3, 4, 5]]
    text = 'dtype = "int32"\nshape = [4000]\ngenerator = "random"\nlow = -3\nhigh = 5\nseed = '
    drawn = one_buffer(tmp_path, text + "1")
    assert set(drawn.tolist()) == set(range(-3, 5))
    assert (drawn == one_buffer(tmp_path, text + "1")).all()
    assert (drawn != one_buffer(tmp_path, text + "2")).any()


def test_graph_is_a_valid_compressed_sparse_row_graph(tmp_path: Path) -> None:
    text = 'dtype = "uint32"\nshape = [501]\ngenerator = "graph_offsets"\ndegree = 4\nseed = 3\n'
    neighbours = '[buffers.b]\ndtype = "uint32"\ngenerator = "graph_neighbours"\noffsets = "a"\nseed = 4\n'
    path = write(tmp_path, f'program = "a.ptx"\n{ONE_LAUNCH}{neighbours}[buffers.a]\n{text}')
    buffers = place_buffers(read_launch_file(path), path, DeviceMemory())
    degrees = np.diff(buffers["a"].astype(np.int64))
    assert buffers["a"][0] == 0
    assert (degrees.min(), degrees.max()) == (0, 8)
    assert degrees.mean() == pytest.approx(4, rel=0.1)
    assert buffers["b"].shape == (buffers["a"][-1],)
    assert buffers["b"].max() < 500


def test_buffers_lie_in_device_memory_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    memory = DeviceMemory()
    place_buffers(read_launch_file(path), path, memory)
    assert memory.view(FIRST_ADDRESS, np.uint32, 100).tolist() == list(range(100))
    assert memory.used_bytes == 512 + GUARD_BYTES + 4


def test_buffer_from_npy_file(tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(size=(7, 3)).astype(np.float32)
    np.save(tmp_path / "values.npy", np.asfortranarray(values))
    assert (one_buffer(tmp_path, 'dtype = "float32"\nfile = "values.npy"') == values).all()
    with pytest.raises(UserError, match=r"buffers.a.file: must be float32\[21\], found float32\[7, 3\]"):
        one_buffer(tmp_path, 'dtype = "float32"\nshape = [21]\nfile = "values.npy"')
    with pytest.raises(UserError, match=r"buffers.a.file: must be int32\[7, 3\], found float32\[7, 3\]"):
        one_buffer(tmp_path, 'dtype = "int32"\nfile = "values.npy"')


def test_npy_file_of_more_values_than_there_are_bytes_is_refused_without_a_warning(tmp_path: Path) -> None:
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({(1 << 63) - 1}, 4), }}".ljust(117) + "\n"
    (tmp_path / "values.npy").write_bytes(b"\x93NUMPY\1\0v\0" + head.encode())
    with pytest.raises(UserError, match=r"must be a \.npy file of numbers: array is too big"):
        one_buffer(tmp_path, 'dtype = "float32"\nfile = "values.npy"')


def test_file_must_lie_in_the_folder_and_hold_plain_numbers(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    np.save(tmp_path / "outside.npy", np.zeros(3, np.float32))
    (inner / "link.npy").symlink_to(tmp_path / "outside.npy")
    for name in ("../outside.npy", "link.npy", str(tmp_path / "outside.npy")):
        with pytest.raises(
            UserError, match=re.escape(f"must be a file in the folder of the launch file, found {name!r}")
        ):
            one_buffer(inner, f'dtype = "float32"\nfile = "{name}"')
    with pytest.raises(UserError, match="there is no file"):
        one_buffer(inner, 'dtype = "float32"\nfile = "absent.npy"')
    np.save(inner / "objects.npy", np.array([{}], object))
    (inner / "text.npy").write_text("1 2 3")
    (inner / "empty.npy").write_bytes(b"")
    for name in ("objects.npy", "text.npy", "empty.npy"):
        with pytest.raises(UserError, match=f"{name}: must be a .npy file of numbers"):
            one_buffer(inner, f'dtype = "float32"\nfile = "{name}"')


def check(folder: Path, found: np.ndarray, expected: np.ndarray, limits: str = "") -> None:
    np.save(folder / "found.npy", found)
    np.save(folder / "expected.npy", expected)
    buffer = f'[buffers.result]\ndtype = "{found.dtype}"\nfile = "found.npy"\n'
    expect = f'[[expect]]\nbuffer = "result"\nfile = "expected.npy"\n{limits}'
    path = write(folder, f'program = "a.ptx"\n{ONE_LAUNCH}{buffer}{expect}')
    plan = read_launch_file(path)
    check_expectations(plan, path, place_buffers(plan, path, DeviceMemory()))


def test_expectation_names_buffer_index_expected_and_found(tmp_path: Path) -> None:
    found = np.arange(12, dtype=np.int64).reshape(3, 4)
    check(tmp_path, found, found)
    other = found.copy()
    other[1, 2], other[2, 0] = 2**60, 5
    with pytest.raises(UserError, match=rf"result\[1, 2\] must be {2**60} .*, found 6; 2 of 12 values differ"):
        check(tmp_path, found, other)
    with pytest.raises(UserError, match=r"expect\[0\]: buffer result must be int64\[2, 4\], found int64\[3, 4\]"):
        check(tmp_path, found, found[:2])


def test_expectation_tolerances(tmp_path: Path) -> None:
    expected = np.array([1.0, 100.0, np.nan, np.inf], np.float32)
    check(tmp_path, expected, expected)
    near = expected * np.float32(1.001)
    check(tmp_path, near, expected, "relative = 2e-3")
    with pytest.raises(UserError, match=r"result\[1\] must be 100.0"):
        check(tmp_path, near, expected, "absolute = 0.05")
    with pytest.raises(UserError, match=r"result\[0\]"):
        check(tmp_path, near, expected)
    large = np.array([2**62], np.int64)
    check(tmp_path, large + 1, large, "absolute = 1")
    with pytest.raises(UserError, match="1 of 1 values differ"):
        check(tmp_path, large + 2, large, "absolute = 1")


def test_documented_file_is_valid(tmp_path: Path) -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "kernels.md").read_text()
    example, _, generators = text.partition("```toml\n")[2].partition("```\n")
    plan = read_launch_file(write(tmp_path, example))
    assert [len(each.encode(defaultdict(int), 2)) for each in plan.launch[0].parameters] == [8, 8, 8, 8, 4, 4, 8, 16]
    assert all(f"`{name}`" in generators for name in GENERATORS)
