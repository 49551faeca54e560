"""Contents of a launch's buffers: made before it, compared with the file's expectations after it."""

import math
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import BUFFER_BYTES
from rayplay.formats.guard.text import confined
from rayplay.ptx.ir import Module
from rayplay.tracer.launchfile.file import Buffer, Expectation, LaunchFile, Resources
from rayplay.tracer.launchfile.images import place_images
from rayplay.tracer.memory.arena import FIRST_ADDRESS, DeviceMemory

Array = NDArray[np.generic]
WIDEST_BYTES = 8
VALUES_AT_ONCE = 1 << 20


def place_resources(
    plan: Resources, path: Path, modules: Sequence[Module], memory: DeviceMemory
) -> tuple[dict[str, Array], dict[str, int]]:
    """Place buffers, textures, samplers and surfaces: views of the buffers by name; addresses and handles by name.

    Variables of the modules that have the name of a texture, sampler or surface stand for it.
    """
    views = place_buffers(plan, path, memory)
    addresses = {name: FIRST_ADDRESS + view.ctypes.data - memory.host_address for name, view in views.items()}
    placed = {name: (addresses[name], values) for name, values in views.items()}
    return views, addresses | place_images(plan, str(path), modules, memory, placed)


def place_buffers(plan: Resources, path: Path, memory: DeviceMemory) -> dict[str, Array]:
    """Allocate and fill every buffer of ``plan`` in the order of the file: name -> view of its values in ``memory``.

    Raises ``UserError`` naming the file and the buffer when a .npy file does not fit, or memory is too small.
    """
    views: dict[str, Array] = {}
    offsets_first = sorted(plan.buffers, key=lambda name: plan.buffers[name].offsets is not None)
    contents: dict[str, Array] = {}
    total = 0
    for name in offsets_first:
        buffer, place = plan.buffers[name], f"{path}: buffers.{name}"
        needed = _bytes_needed(buffer, path, name, contents)
        total += needed
        _check_memory(needed, place)
        BUFFER_BYTES.check(total, "bytes of the buffers so far", file=place)
        try:
            contents[name] = _contents(buffer, path, name, contents)
        except MemoryError:
            raise UserError(f"{place}: must fit the memory that is free, and does not") from None
    for name in plan.buffers:
        values = contents.pop(name)
        address = memory.allocate(values, name=f"buffer {name!r}")
        views[name] = memory.view(address, values.dtype, values.shape)
    return views


def _bytes_needed(buffer: Buffer, path: Path, name: str, others: dict[str, Array]) -> int:
    """Bytes that making the contents takes: of generators that draw or count, as 8 bytes a value."""
    size = np.dtype(buffer.dtype).itemsize
    if buffer.file is not None:
        return confined(path, buffer.file, f"buffers.{name}.file").stat().st_size
    if buffer.generator == "graph_neighbours":
        return WIDEST_BYTES * _edges(others.get(buffer.offsets or ""), f"{path}: buffers.{name}")
    if buffer.values is not None:
        return size * len(buffer.values)
    return math.prod(buffer.shape) * (size if buffer.generator in (None, "zeros", "ones") else WIDEST_BYTES)


def check_expectations(plan: LaunchFile, path: Path, buffers: dict[str, Array]) -> None:
    """Compare what the launches made with what the file expects; ``UserError`` at the first value that differs."""
    for number, expectation in enumerate(plan.expect):
        place = f"expect[{number}]"
        found = buffers[expectation.buffer]
        expected = buffers[expectation.equals] if expectation.equals else None
        if expectation.values is not None:
            expected = _expected_values(expectation, found, f"{path}: {place}.values")
        if expectation.file is not None:
            expected = read_npy(confined(path, expectation.file, f"{place}.file"))
        assert expected is not None
        if expected.shape != found.shape or (expected.dtype.kind == "f") != (found.dtype.kind == "f"):
            raise UserError(
                f"{path}: {place}: buffer {expectation.buffer} must be {expected.dtype}{list(expected.shape)}, "
                f"found {found.dtype}{list(found.shape)}"
            )
        _compare(found, expected, expectation, f"{path}: {place}")


def _expected_values(expectation: Expectation, found: Array, place: str) -> Array:
    values = expectation.values or ()
    if len(values) != found.size:
        raise UserError(f"{place}: must be {found.size} numbers, found {len(values)}")
    try:
        return np.array(values, found.dtype).reshape(found.shape)
    except (OverflowError, ValueError) as error:
        raise UserError(f"{place}: must fit {found.dtype}: {error}") from None


def read_npy(file: Path) -> Array:
    """Values of a .npy file without objects; ``UserError`` when it is something else."""
    BUFFER_BYTES.check(file.stat().st_size, "its length", file=file)
    try:
        with np.errstate(over="ignore"):  # of a shape that is refused
            mapped = np.load(file, mmap_mode="r", allow_pickle=False)  # refuses more values than the file has
        values = np.array(mapped) if isinstance(mapped, np.ndarray) else None
    except (ValueError, EOFError, OverflowError) as error:
        raise UserError(f"{file}: must be a .npy file of numbers: {error}") from None
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf":
        raise UserError(f"{file}: must be a .npy file of numbers")
    return values


def _contents(buffer: Buffer, path: Path, name: str, others: dict[str, Array]) -> Array:
    place = f"buffers.{name}"
    if buffer.values is not None:
        return np.array(buffer.values, buffer.dtype).reshape(buffer.shape or -1)
    if buffer.file is not None:
        values = read_npy(confined(path, buffer.file, f"{place}.file"))
        if values.dtype != np.dtype(buffer.dtype) or (buffer.shape and values.shape != buffer.shape):
            wanted = f"{buffer.dtype}{list(buffer.shape or values.shape)}"
            raise UserError(f"{path}: {place}.file: must be {wanted}, found {values.dtype}{list(values.shape)}")
        return np.ascontiguousarray(values)
    if buffer.generator == "graph_neighbours":
        return _graph_neighbours(buffer, others.get(buffer.offsets or ""), f"{path}: {place}")
    return _generate(buffer)


def _check_memory(size: int, place: str) -> None:
    """``UserError`` for more bytes than this machine has: asking for them may end the process instead of failing."""
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if size > most:
        raise UserError(f"{place}: must fit the {most} bytes of this machine's memory, but has {size}")


def _generate(buffer: Buffer) -> Array:
    """``arange`` counts from 0 in C order; ``random`` is uniform in low <= x < high. Values are cast to the dtype."""
    dtype = np.dtype(buffer.dtype)
    if buffer.generator == "ones":
        return np.ones(buffer.shape, dtype)
    if buffer.generator == "arange":
        return np.arange(np.prod(buffer.shape)).astype(dtype).reshape(buffer.shape)
    if buffer.generator == "random":
        assert buffer.low is not None
        assert buffer.high is not None
        random = np.random.default_rng(buffer.seed)
        if dtype.kind == "f":
            return random.uniform(buffer.low, buffer.high, buffer.shape).astype(dtype)
        return random.integers(int(buffer.low), int(buffer.high), buffer.shape, dtype)
    if buffer.generator == "graph_offsets":
        assert buffer.degree is not None
        degrees = np.random.default_rng(buffer.seed).integers(0, 2 * buffer.degree + 1, buffer.shape[0] - 1)
        return np.concatenate([[0], np.cumsum(degrees)]).astype(dtype)
    return np.zeros(buffer.shape, dtype)


def _edges(offsets: Array | None, place: str) -> int:
    """Edges of the graph whose offsets a buffer holds."""
    if offsets is None or offsets.ndim != 1 or offsets.dtype.kind not in "iu" or offsets.size < 2:
        raise UserError(f"{place}.offsets: must be a buffer of two whole numbers at least, with one dimension")
    if offsets[-1] < 0:
        raise UserError(f"{place}.offsets: the last one must be at least 0, found {offsets[-1]}")
    return int(offsets[-1])


def _graph_neighbours(buffer: Buffer, offsets: Array | None, place: str) -> Array:
    """Targets of the edges of a random directed graph: ``offsets[-1]`` edges to vertices, each equally likely."""
    edges = _edges(offsets, place)
    assert offsets is not None
    return np.random.default_rng(buffer.seed).integers(0, offsets.size - 1, edges).astype(buffer.dtype)


def _compare(found: Array, expected: Array, expectation: Expectation, place: str) -> None:
    ours, theirs = found.reshape(-1), expected.reshape(-1)
    different, first = 0, -1
    for start in range(0, ours.size, VALUES_AT_ONCE):
        piece = slice(start, start + VALUES_AT_ONCE)
        away = np.flatnonzero(~_close(ours[piece], theirs[piece], expectation))
        different += len(away)
        if first < 0 and len(away):
            first = start + int(away[0])
    if first < 0:
        return
    index = tuple(int(each) for each in np.unravel_index(first, found.shape))
    raise UserError(
        f"{place}: buffer {expectation.buffer}{list(index)} must be {expected[index]} "
        f"(absolute {expectation.absolute:g}, relative {expectation.relative:g}), found {found[index]}; "
        f"{different} of {found.size} values differ"
    )


def _close(found: Array, expected: Array, expectation: Expectation) -> NDArray[np.bool_]:
    """Which values are as expected; NaN is NaN."""
    if expectation.absolute == 0 and expectation.relative == 0:
        return (found == expected) | ((found != found) & (expected != expected))
    wide = np.float64 if found.dtype.kind == "f" else np.longdouble
    values, wanted = found.astype(wide), expected.astype(wide)
    return np.isclose(values, wanted, expectation.relative, expectation.absolute, equal_nan=True)
