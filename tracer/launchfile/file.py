"""A launch file: which kernels of a PTX program run, on which grid and buffers, and what must come out.

The frozen dataclasses are the schema and TOML is its syntax; a field without a default is a required key.
``tracer/kernels/*.toml`` are examples.
"""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import LAUNCHES
from rayplay.formats.guard.strict import build, check_choice
from rayplay.formats.guard.text import read_toml
from rayplay.tracer.launchfile.images import HANDLE_BYTES, ImageTables
from rayplay.tracer.memory.arena import RESERVED_BYTES

TYPES = {
    "u8": "<u1", "s8": "<i1", "u16": "<u2", "s16": "<i2", "u32": "<u4", "s32": "<i4", "u64": "<u8", "s64": "<i8",
    "f16": "<f2", "f32": "<f4", "f64": "<f8",
}  # fmt: skip
TYPE_OF = {str(np.dtype(code)): name for name, code in TYPES.items()}
DTYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64")
GENERATORS: dict[str, frozenset[str]] = {
    "zeros": frozenset(),
    "ones": frozenset(),
    "arange": frozenset(),
    "random": frozenset({"low", "high", "seed"}),
    "graph_offsets": frozenset({"degree", "seed"}),
    "graph_neighbours": frozenset({"offsets", "seed"}),
}
"""Generators of buffers and the keys that each needs (``tracer.launchfile.buffers`` says what they make)."""

LARGEST_GRID = (2**31 - 1, 65535, 65535)
LARGEST_BLOCK = (1024, 1024, 64)
LARGEST_CTA = 1024
LARGEST_SHARED_BYTES = 227 << 10  # of a CTA, as on sm_90
MOST_AXES = 32
WIDEST_INTEGER = 1 << 1023
LARGEST_NUMBER = 1e300
LARGEST_STREAM = 2**32 - 1  # as wide as the column of a trace
LARGEST_DEGREE = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """``shape`` values of ``dtype`` in device memory, C order: written out as ``values`` (whose number is the shape
    where none is given), from a .npy ``file``, or made by a ``generator``."""

    dtype: str
    shape: tuple[int, ...] = ()
    values: tuple[float, ...] | None = None
    file: str | None = None
    generator: str | None = None
    low: float | None = None
    high: float | None = None
    seed: int | None = None
    degree: int | None = None
    offsets: str | None = None

    def __post_init__(self) -> None:
        check_choice(self.dtype, DTYPES, "dtype")
        if any(length < 1 for length in self.shape):
            raise ValueError(f"shape must be of positive lengths, found {list(self.shape)}")
        if len(self.shape) > MOST_AXES:
            raise ValueError(f"shape must be of at most {MOST_AXES} lengths, found {len(self.shape)}")
        if math.prod(self.shape) * np.dtype(self.dtype).itemsize > RESERVED_BYTES:
            raise ValueError(f"shape must be of at most {RESERVED_BYTES} bytes, found {list(self.shape)}")
        if sum(each is not None for each in (self.values, self.file, self.generator)) > 1:
            raise ValueError("must have one of values, a file and a generator, found more")
        if self.values is not None:
            Value(type=TYPE_OF[self.dtype], value=self.values)
            if not self.values or (self.shape and len(self.values) != int(np.prod(self.shape))):
                raise ValueError(f"values must be {list(self.shape) or 'some'}, found {len(self.values)}")
        check_choice(self.generator or "zeros", GENERATORS, "generator")
        needed = GENERATORS[self.generator or "zeros"]
        given = {key for key in ("low", "high", "seed", "degree", "offsets") if getattr(self, key) is not None}
        for verb, keys in (("needs", sorted(needed - given)), ("has no use for", sorted(given - needed))):
            if keys:
                named = f"the key{'s' * (len(keys) > 1)} {', '.join(map(repr, keys))}"
                raise ValueError(f"{'a file' if self.file else self.generator or 'zeros'} {verb} {named}")
        if bool(self.shape) == (self.generator == "graph_neighbours") and not (self.file or self.values):
            raise ValueError("graph_neighbours gets its shape from offsets" if self.shape else "needs the key 'shape'")
        self._check_numbers()

    def _check_numbers(self) -> None:
        dtype = np.dtype(self.dtype)
        if self.low is not None and self.high is not None:
            if dtype.kind != "f" and not (_holds(dtype, self.low) and _holds(dtype, self.high - 1)):
                raise ValueError(f"low and high must be whole numbers that fit {dtype}, found {self.low}, {self.high}")
            if not -LARGEST_NUMBER < self.low < self.high < LARGEST_NUMBER:
                raise ValueError(f"low must be below high, found {self.low} and {self.high}")
        if (self.generator or "").startswith("graph") and (dtype.kind == "f" or dtype.itemsize < 4):
            raise ValueError(f"{self.generator} must be whole numbers of 4 or 8 bytes, found {dtype}")
        if (self.seed or 0) < 0 or (self.degree is not None and not 1 <= self.degree <= LARGEST_DEGREE):
            raise ValueError(f"seed must be at least 0 and degree at least 1 and at most {LARGEST_DEGREE}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """Numbers of a PTX ``type``: one, or the members of a structure or array in order."""

    type: str
    value: float | tuple[float, ...]

    def __post_init__(self) -> None:
        check_choice(self.type, TYPES, "type")
        self.encode()

    def encode(self, added: float = 0) -> bytes:
        """As they lie in memory, ``added`` to each. Raises ``ValueError`` when one does not fit the type."""
        numbers: list[float] = [
            number + added for number in (self.value if isinstance(self.value, tuple) else (self.value,))
        ]
        dtype = np.dtype(TYPES[self.type])
        for number in numbers:
            if dtype.kind != "f" and not _holds(dtype, number):
                raise ValueError(f"value must be a whole number that fits {self.type}, found {number!r}")
        if any(isinstance(number, int) and abs(number) > WIDEST_INTEGER for number in numbers):
            raise ValueError(f"value must fit {self.type}, found a whole number of more than 1024 bits")
        with np.errstate(over="ignore"):
            encoded = np.array(numbers, dtype)
        if np.any(np.isinf(encoded) != np.isinf(numbers)):
            raise ValueError(f"value must fit {self.type}, found {self.value!r}")
        return encoded.tobytes()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a kernel: the address of a ``buffer`` (of its byte ``offset_bytes``), the ``handle`` of a texture,
    sampler or surface, a ``value`` of a ``type``, or a structure of such ``fields``, each aligned to its own size as C
    does it.

    ``step`` is added to the value in every further round of the launch's repeat.
    """

    buffer: str | None = None
    offset_bytes: int = 0
    type: str | None = None
    value: float | tuple[float, ...] | None = None
    step: float = 0
    fields: "tuple[Parameter, ...] | None" = None
    handle: str | None = None

    def __post_init__(self) -> None:
        given = sum(each is not None for each in (self.buffer, self.handle, self.value, self.fields))
        if given != 1 or (self.type is None) != (self.value is None):
            raise ValueError("must have either a buffer or a type and a value, or a handle, or fields")
        if not 0 <= self.offset_bytes <= RESERVED_BYTES or (self.offset_bytes and self.buffer is None):
            raise ValueError(f"offset_bytes must be at least 0, at most {RESERVED_BYTES} and goes with a buffer")
        self.encode(defaultdict(int), 0)

    @property
    def buffers(self) -> tuple[str, ...]:
        """Names of the buffers whose addresses it holds."""
        inner = tuple(name for each in self.fields or () for name in each.buffers)
        return inner if self.buffer is None else (self.buffer,)

    @property
    def handles(self) -> tuple[str, ...]:
        """Names of the textures, samplers and surfaces whose handles it holds."""
        inner = tuple(name for each in self.fields or () for name in each.handles)
        return inner if self.handle is None else (self.handle,)

    def align(self, pointer_bytes: int) -> int:
        """Alignment inside a structure, bytes."""
        if self.handle is not None:
            return HANDLE_BYTES
        if self.fields is not None:
            return max((each.align(pointer_bytes) for each in self.fields), default=1)
        return pointer_bytes if self.type is None else np.dtype(TYPES[self.type]).itemsize

    def encode(self, addresses: Mapping[str, int], rounds: int, pointer_bytes: int = 8) -> bytes:
        """Bytes of the parameter in round ``rounds``; ``addresses`` hold buffers' addresses and handles by name."""
        if self.handle is not None:
            return addresses[self.handle].to_bytes(HANDLE_BYTES, "little")
        if self.fields is not None:
            made = b""
            for each in self.fields:
                made += b"\0" * (-len(made) % each.align(pointer_bytes)) + each.encode(addresses, rounds, pointer_bytes)
            return made + b"\0" * (-len(made) % self.align(pointer_bytes))
        if self.type is None or self.value is None:
            return (addresses[self.buffer or ""] + self.offset_bytes).to_bytes(pointer_bytes, "little")
        return Value(type=self.type, value=self.value).encode(self.step * rounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One launch of the kernel ``entry``. Missing lengths of ``grid`` (CTAs) and ``block`` (threads) are 1.

    ``cooperative``: all CTAs make progress together, so that they can wait for each other.
    ``repeat`` names the repeat it belongs to; launches that follow each other in one are repeated together.
    """

    entry: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    parameters: tuple[Parameter, ...] = ()
    dynamic_shared_bytes: int = 0
    stream: int = 0
    cooperative: bool = False
    repeat: str | None = None

    def __post_init__(self) -> None:
        _check_lengths("grid", self.grid, LARGEST_GRID)
        _check_lengths("block", self.block, LARGEST_BLOCK)
        if int(np.prod(self.block)) > LARGEST_CTA:
            raise ValueError(f"block must have at most {LARGEST_CTA} threads, found {int(np.prod(self.block))}")
        if not 0 <= self.dynamic_shared_bytes <= LARGEST_SHARED_BYTES or self.stream < 0:
            limits = f"at least 0 and dynamic_shared_bytes at most {LARGEST_SHARED_BYTES}"
            raise ValueError(f"dynamic_shared_bytes and stream must be {limits}, found {self.dynamic_shared_bytes}")
        if self.stream > LARGEST_STREAM:
            raise ValueError(f"stream must be at most {LARGEST_STREAM}, found {self.stream}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """How often a group of launches runs: ``times``, or until the buffer ``while_nonzero`` holds only zeros after a
    round, which more than ``limit`` rounds may not take."""

    times: int | None = None
    while_nonzero: str | None = None
    limit: int | None = None

    def __post_init__(self) -> None:
        if (self.times is None) == (self.while_nonzero is None) or (self.limit is None) != (self.while_nonzero is None):
            raise ValueError("must have either times, or while_nonzero and limit")
        if (self.times or self.limit or 0) < 1:
            raise ValueError("times and limit must be at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """After the last launch ``buffer`` must equal ``values``, a .npy ``file`` or another buffer, within
    ``absolute + relative * |expected|``."""

    buffer: str
    values: tuple[float, ...] | None = None
    file: str | None = None
    equals: str | None = None
    absolute: float = 0.0
    relative: float = 0.0

    def __post_init__(self) -> None:
        if sum(each is not None for each in (self.values, self.file, self.equals)) != 1:
            raise ValueError("must have either a file or a buffer that it equals, or values")
        if not (self.absolute >= 0 and self.relative >= 0):
            raise ValueError("absolute and relative must be at least 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources(ImageTables):
    """Buffers of a file, and the textures, samplers and surfaces that are made of them."""

    buffers: dict[str, Buffer] = field(default_factory=dict)

    def check_names(self, place: str) -> None:
        """Every buffer that is named is there, and no name stands for two things (``UserError``)."""
        self.check(self.buffers, place)
        for name, buffer in self.buffers.items():
            if buffer.offsets is not None:
                check_choice(buffer.offsets, self.buffers, f"{place}: buffers.{name}.offsets")


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFile(Resources):
    """A whole file. ``program`` is the PTX file; ``constants`` replace the contents of its ``.const`` variables."""

    program: str
    launch: tuple[Launch, ...]
    constants: dict[str, Value] = field(default_factory=dict)
    repeat: dict[str, Repeat] = field(default_factory=dict)
    expect: tuple[Expectation, ...] = ()

    def rounds(self, launch: Launch) -> int:
        """How often a launch runs at least."""
        return self.repeat[launch.repeat].times or 1 if launch.repeat in self.repeat else 1


def read_launch_file(path: Path) -> LaunchFile:
    """Read and check a launch file; ``UserError`` names the file, the key, the rule and the value."""
    raw = read_toml(path)
    found: LaunchFile = build(LaunchFile, raw, str(path))
    if not found.launch:
        raise UserError(f"{path}: launch: must have at least one launch")
    found.check_names(str(path))
    LAUNCHES.check(sum(found.rounds(launch) for launch in found.launch), "its launches, in all rounds", file=path)
    for number, launch in enumerate(found.launch):
        place = f"{path}: launch[{number}]"
        if launch.repeat is not None:
            check_choice(launch.repeat, found.repeat, f"{place}.repeat")
        for index, parameter in enumerate(launch.parameters):
            for name in parameter.buffers:
                check_choice(name, found.buffers, f"{place}.parameters[{index}].buffer")
            for name in parameter.handles:
                check_choice(name, found.handle_names(), f"{place}.parameters[{index}].handle")
    for name, repeat in found.repeat.items():
        if repeat.while_nonzero is not None:
            check_choice(repeat.while_nonzero, found.buffers, f"{path}: repeat.{name}.while_nonzero")
    for number, expectation in enumerate(found.expect):
        for named in filter(None, (expectation.buffer, expectation.equals)):
            check_choice(named, found.buffers, f"{path}: expect[{number}]")
    return found


def _check_lengths(name: str, lengths: tuple[int, ...], largest: tuple[int, ...]) -> None:
    if not 1 <= len(lengths) <= 3 or any(not 1 <= each <= most for each, most in zip(lengths, largest, strict=False)):
        limits = ", ".join(map(str, largest))
        raise ValueError(f"{name} must be one to three lengths from 1 to {limits}, found {list(lengths)}")


def _holds(dtype: np.dtype, number: float) -> bool:
    bits, signed = 8 * dtype.itemsize, dtype.kind == "i"
    return isinstance(number, int) and -(signed << bits - 1) <= number < 1 << bits - signed
