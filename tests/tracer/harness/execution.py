"""Harness of the tests of execution: running a kernel in both backends and comparing everything it leaves."""

import struct
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rayplay import ptx
from rayplay.ptx.ir import Module
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.record.recorder import Counts, MemorySink
from rayplay.tracer.run import run_compute_launch

HEADER = ".version 7.8\n.target sm_75\n.address_size 64\n"
TABLES = ("kernels", "instructions", "blocks", "warps", "visits", "accesses")


@dataclass
class Outcome:
    """Buffers after a launch, and its trace."""

    buffers: list[np.ndarray]
    sink: MemorySink
    counts: Counts


@dataclass
class Handle:
    """A buffer that programs see through a handle; ``make`` takes its address, None where no parameter holds it."""

    array: np.ndarray
    make: Callable[[DeviceMemory, Module, int], int | None]


def execute(
    text: str,
    arguments: list["np.ndarray | int | Handle"],
    backend: str = "machine",
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (32, 1, 1),
    shared: int = 0,
    cooperative: bool = False,
) -> Outcome:
    """Run the first entry of ``text``; arrays become buffers, numbers 32-bit parameters, handles 64-bit ones."""
    module = ptx.parse(HEADER + text, "test.ptx")
    entry = next(f for f in module.functions.values() if f.is_entry)
    memory = DeviceMemory()
    params, places = [], []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            places.append((memory.allocate(argument), argument))
            params.append(struct.pack("<Q", places[-1][0]))
        elif isinstance(argument, Handle):
            places.append((memory.allocate(argument.array), argument.array))
            handle = argument.make(memory, module, places[-1][0])
            params += [] if handle is None else [struct.pack("<Q", handle)]
        else:
            params.append(struct.pack("<I", argument))
    launch = ComputeLaunch(module, entry.name, grid, block, tuple(params), memory, shared, cooperative=cooperative)
    sink = MemorySink()
    counts = run_compute_launch(launch, sink, backend, progress=False)
    return Outcome([memory.view(a, like.dtype, like.shape).copy() for a, like in places], sink, counts)


def both(text: str, arguments: list[np.ndarray | int | Handle], **launch: object) -> Outcome:
    """Run in machine code and in the interpreter; everything must be the same, bit for bit."""
    machine = execute(text, arguments, "machine", **launch)  # type: ignore[arg-type]
    plain = execute(text, arguments, "interpreter", **launch)  # type: ignore[arg-type]
    for number, (ours, theirs) in enumerate(zip(machine.buffers, plain.buffers, strict=True)):
        different = np.flatnonzero(ours.reshape(-1).view(np.uint8) != theirs.reshape(-1).view(np.uint8))
        assert not len(different), f"buffer {number} differs first at byte {different[0]}"
    assert_same_trace(machine.sink, plain.sink)
    return machine


def assert_same_trace(one: MemorySink, other: MemorySink) -> None:
    """Every column of every table is the same."""
    for table in TABLES:
        ours, theirs = one.table(table), other.table(table)
        assert ours.keys() == theirs.keys()
        for column in ours:
            assert np.array_equal(ours[column], theirs[column]), f"{table}.{column}"
