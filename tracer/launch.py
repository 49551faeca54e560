"""From a launch file to a trace: the verb ``launch``."""

import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rayplay import ptx
from rayplay.formats.dataset.resume import ResumableTraceWriter
from rayplay.formats.guard.digest import file_digest
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import LAUNCHES
from rayplay.formats.guard.strict import check_choice
from rayplay.formats.guard.text import confined
from rayplay.ptx.flow.schedule import scheduled
from rayplay.ptx.ir import Function, Module
from rayplay.tracer.launchfile.buffers import Array, check_expectations, place_resources
from rayplay.tracer.launchfile.file import Launch, LaunchFile, read_launch_file
from rayplay.tracer.link.launches import ComputeLaunch, require_sound, three
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.record.checkpoint import code
from rayplay.tracer.run import Numbering, run_compute_launch
from rayplay.tracer.warp.services import after_printed

TOOL_VERSION = "0.1.0"
POINTER_BYTES = 8
MOST_PLACES = 3


@dataclass
class Summary:
    """Result of the launches of a file. ``buffers`` are their contents at the end; seconds are in no file.

    ``outside`` counts the accesses of lanes outside buffers by the place of their instruction, where memcheck is off.

    ``thread_instructions_before`` belong to the interrupted run that this one resumes.
    """

    out: Path
    kernels: int = 0
    warps: int = 0
    thread_instructions: int = 0
    thread_instructions_before: int = 0
    bytes_on_disk: int = 0
    seconds: float = 0.0
    expectations: int = 0
    buffers: dict[str, Array] = field(default_factory=dict)
    printed: str = ""
    outside: dict[str, int] | None = None

    def text(self) -> str:
        """A short table for the terminal."""
        rate = (self.thread_instructions - self.thread_instructions_before) / max(self.seconds, 1e-9) / 1e6
        rows = [
            ("launches", f"{self.kernels:,}", ""),
            ("warps", f"{self.warps:,}", ""),
            ("thread instructions", f"{self.thread_instructions:,}", f"{rate:.1f} M/s"),
            ("bytes on disk", f"{self.bytes_on_disk:,}", str(self.out)),
            ("expectations met", f"{self.expectations:,}", "" if self.expectations else "the file has none"),
        ]
        table = "\n".join(f"{name:<22}{value:>18}  {note}".rstrip() for name, value, note in rows)
        return after_printed(self.printed, table)

    def record(self) -> dict[str, Any]:
        """The same for a program."""
        counts = {"launches": self.kernels, "warps": self.warps, "thread_instructions": self.thread_instructions}
        return {"out": str(self.out)} | counts | {"bytes": self.bytes_on_disk, "expectations_met": self.expectations}


def run_launch_file(
    path: Path,
    out: Path,
    backend: str = "machine",
    progress: bool = True,
    resume: bool = False,
    memcheck: bool = True,
    schedule: bool = False,
) -> Summary:
    """Run the launches of the launch file ``path`` in order and write their trace to ``out``.

    resume    go on where a killed run of the same files, backend and code was; the trace has the same bytes.
    memcheck  whether an access outside buffers is an error (``tracer.memory.arena``).
    schedule  whether instructions run in the order in which an assembler issues them (``ptx.flow.schedule``).

    The trace appears under its name only when every launch ended and every expectation held. Raises ``UserError`` for
    whatever is wrong with the file, its program or its buffers, and for the first value that is not as expected.
    """
    prepared = prepare(path, memcheck=memcheck, schedule=schedule)
    plan = prepared.plan
    summary = Summary(out, buffers=prepared.buffers, expectations=len(plan.expect))
    out.parent.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    numbering = Numbering()
    with ResumableTraceWriter(
        out, provenance(plan, path, schedule), same=[code(), backend, memcheck, schedule], resume=resume
    ) as writer:
        begin = _go_on(prepared, writer, numbering, summary) if resume else FIRST
        for place, _, launch in prepared.places(begin):
            writer.also = {
                "place": place, "numbering": asdict(numbering), "memory": prepared.memory.mark(),
                "thread_instructions": summary.thread_instructions,
            }  # fmt: skip
            counts = run_compute_launch(launch, writer, backend, progress, numbering)
            summary.thread_instructions += counts.thread_instructions
        check_expectations(plan, path, summary.buffers)
    summary.printed = "".join(prepared.memory.printed)
    summary.outside = None if memcheck else prepared.memory.outside
    summary.seconds = time.perf_counter() - start
    summary.kernels, summary.warps = numbering.kernels, numbering.warps
    summary.bytes_on_disk = sum(file.stat().st_size for file in out.iterdir())
    return summary


def memcheck_note(outside: dict[str, int]) -> str:
    """Accesses of launches without memcheck outside buffers, on one line: the first places and how many more."""
    if not outside:
        return "memcheck is off: no access lay outside buffers"
    places = [f"{place}: {count:,}" for place, count in list(outside.items())[:MOST_PLACES]]
    more = f"; {len(outside) - MOST_PLACES} more places" * (len(outside) > MOST_PLACES)
    lay = (
        f"{sum(outside.values()):,} accesses lay outside buffers, in guard pages that read zero until they are written"
    )
    return f"memcheck is off: {lay} ({'; '.join(places)}{more})"


class Place(NamedTuple):
    """Which launch is next: launches with the same repeat are a group, ``turn`` counts the group's launches."""

    group: int
    rounds: int
    turn: int


FIRST = Place(0, 0, 0)


def _go_on(prepared: "Prepared", writer: ResumableTraceWriter, numbering: Numbering, summary: Summary) -> Place:
    """The launch in which a killed run was, everything before it being as it was when that launch began."""
    was = writer.notes.resumed
    where = f"in launch {was.facts['kernel_id']}, after {was.facts['counts']['visits']:,} visits" if was else ""
    print(writer.notes.standing(where), file=sys.stderr)
    if was is None:
        return FIRST
    prepared.memory.go_back(was.facts["memory"])
    for name, value in was.facts["numbering"].items():
        setattr(numbering, name, value)
    summary.thread_instructions = was.facts["thread_instructions"]
    summary.thread_instructions_before = summary.thread_instructions + was.facts["counts"]["thread_instructions"]
    return Place(*was.facts["place"])


@dataclass(frozen=True)
class Prepared:
    """A launch file with its program parsed and checked, and its buffers in memory."""

    path: Path
    plan: LaunchFile
    module: Module
    memory: DeviceMemory
    buffers: dict[str, Array]
    addresses: dict[str, int]
    """Of buffers, and handles, by name."""

    def schedule(self) -> Iterator[tuple[int, ComputeLaunch]]:
        """Launches in the order they run, each with its number in the file; see ``places``."""
        return ((number, launch) for _, number, launch in self.places(FIRST))

    def places(self, begin: Place) -> Iterator[tuple[Place, int, ComputeLaunch]]:
        """Launches in the order they run, from ``begin`` on: place, number in the file, and launch.

        A repeat looks at its flag when its last launch has been executed.
        """
        groups = [(name, list(group)) for name, group in groupby(enumerate(self.plan.launch), lambda x: x[1].repeat)]
        for at, (name, launches) in enumerate(groups[begin.group :], begin.group):
            repeat = self.plan.repeat[name] if name is not None else None
            rounds, first = (begin.rounds, begin.turn) if at == begin.group else (0, 0)
            while True:
                LAUNCHES.check((rounds + 1) * len(launches), f"launches of repeat.{name}", file=self.path)
                for turn, (number, launch) in enumerate(launches[first:], first):
                    yield Place(at, rounds, turn), number, self.bind(launch, rounds)
                rounds, first = rounds + 1, 0
                if repeat is None or rounds == repeat.times:
                    break
                if repeat.while_nonzero is not None and not self.buffers[repeat.while_nonzero].any():
                    break
                if rounds == repeat.limit:
                    raise UserError(
                        f"{self.path}: repeat.{name}: {repeat.while_nonzero} must be 0 after {rounds} rounds and is not"
                    )

    def bind(self, launch: Launch, rounds: int = 0) -> ComputeLaunch:
        """A launch of the file in round ``rounds`` of its repeat."""
        width = self.module.address_size // 8
        try:
            params = tuple(each.encode(self.addresses, rounds, width) for each in launch.parameters)
        except ValueError as error:  # the step of a value leads out of its type
            raise UserError(f"{self.path}: parameters of {launch.entry} in round {rounds}: {error}") from None
        return ComputeLaunch(
            module=self.module,
            entry=launch.entry,
            grid=three(launch.grid),
            block=three(launch.block),
            params=params,
            memory=self.memory,
            dynamic_shared_bytes=launch.dynamic_shared_bytes,
            stream=launch.stream,
            cooperative=launch.cooperative,
            constants={name: value.encode() for name, value in self.plan.constants.items()},
        )


def prepare(path: Path, program: Path | None = None, memcheck: bool = True, schedule: bool = False) -> Prepared:
    """Read the launch file ``path`` and place its buffers; ``program`` stands for the PTX file that it names.

    schedule  whether its instructions are put into the order of issue.

    Raises ``UserError`` for whatever is wrong with the file, its program or its buffers.
    """
    plan = read_launch_file(path)
    program = program or confined(path, plan.program, "program")
    module = checked_module(program)
    module = scheduled(module) if schedule else module
    _check_launches(plan, module, path)
    memory = DeviceMemory(memcheck=memcheck)
    return Prepared(path, plan, module, memory, *place_resources(plan, path, [module], memory))


def checked_module(program: Path) -> Module:
    """The module of a PTX file; ``UserError`` names the first of its problems."""
    module = ptx.parse_file(program)
    require_sound(module)
    return module


def _check_launches(plan: LaunchFile, module: Module, path: Path) -> None:
    """Every launch names an entry of the program, gives it parameters as wide as it wants, and a block it allows."""
    entries = {name: function for name, function in module.functions.items() if function.is_entry}
    for number, launch in enumerate(plan.launch):
        place = f"{path}: launch[{number}]"
        check_choice(launch.entry, entries, f"{place}.entry")
        function = entries[launch.entry]
        _check_parameters(launch, function, module.address_size // 8, f"{place}.parameters")
        _check_block(launch, function, f"{place}.block")
    constants = {name: each for name, each in module.variables.items() if each.space == "const"}
    for name, value in plan.constants.items():
        place = f"{path}: constants.{name}"
        check_choice(name, constants, place)
        if len(value.encode()) != constants[name].bytes:
            raise UserError(f"{place}: must be {constants[name].bytes} bytes, found {len(value.encode())}")


def _check_parameters(launch: Launch, function: Function, pointer_bytes: int, place: str) -> None:
    declared = function.parameters
    if len(launch.parameters) != len(declared):
        types = ", ".join(f".{each.type}" for each in declared)
        raise UserError(f"{place}: {launch.entry} takes {len(declared)} ({types}), found {len(launch.parameters)}")
    for index, (given, wanted) in enumerate(zip(launch.parameters, declared, strict=True)):
        size = len(given.encode(defaultdict(int), 0, pointer_bytes))
        if size != wanted.bytes:
            named = given.buffer or given.handle
            kind = f"the address of {named}" if named else f"values of type {given.type}"
            kind = "a structure" if given.fields else kind
            raise UserError(f"{place}[{index}]: must be {wanted.bytes} bytes (.{wanted.type}), found {size}: {kind}")


def _check_block(launch: Launch, function: Function, place: str) -> None:
    required = function.directives.get("reqntid")
    if required and three(launch.block) != three(required):
        raise UserError(f"{place}: {launch.entry} requires {list(required)} (.reqntid), found {list(launch.block)}")
    most = function.directives.get("maxntid")
    if most and int(np.prod(launch.block)) > int(np.prod(most)):
        raise UserError(
            f"{place}: {launch.entry} allows {int(np.prod(most))} threads (.maxntid), found {list(launch.block)}"
        )


def provenance(plan: LaunchFile, path: Path, schedule: bool = False) -> dict[str, Any]:
    """How the trace was made; nothing in it depends on the machine or on where files lie."""
    files = [plan.program, *(each.file for each in plan.buffers.values() if each.file)]
    inputs = {path.name: file_digest(path)} | {name: file_digest(path.parent / name) for name in dict.fromkeys(files)}
    return {"command": "tracer launch" + " --schedule" * schedule, "tool_version": TOOL_VERSION, "inputs": inputs}
