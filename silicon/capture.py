"""A launch file run on a device, and its trace: count, record, rebuild, launch after launch.

memory     what the launch file and the launches before it left goes to the device
count      the instrumented program runs: slots that each thread needs
record     it runs again from the same memory, once for each range of CTAs whose slots fit ``memory_bytes``
rebuild    warps from their threads' notes, into the tables that the executor writes
memory     what the last run left comes back
"""

import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from rayplay.formats.dataset.resume import ResumableTraceWriter
from rayplay.formats.guard.errors import UserError
from rayplay.silicon.addresses import Region, code_of, grid_of, places_of
from rayplay.silicon.devices.device import Device, Loaded
from rayplay.silicon.instrument import (
    COUNT,
    LIMIT,
    PLACES,
    RECORD,
    RECORDS,
    SLOT_BYTES,
    STARTS,
    Instrumented,
    instrument,
)
from rayplay.silicon.plan import Plan, plan_launch
from rayplay.silicon.rebuild import DONE, NO_ROOM, OTHER_PATH, TOO_DEEP, Code, Notes, Places, Room, rebuild
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.words import MACHINE, PROGRESS
from rayplay.tracer.launch import FIRST, Place, Prepared, Summary, check_expectations, prepare, provenance
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.link.link import LinkedLaunch, link_launch
from rayplay.tracer.record.checkpoint import code as source_code
from rayplay.tracer.record.recorder import Recorder, Sink
from rayplay.tracer.record.rows import Rows
from rayplay.tracer.run import Numbering, Running, begin
from rayplay.tracer.warp.shape import compute_shape, entry_of

MEMORY_BYTES = 1 << 30
MOST_SLOTS = 1 << 31
RUNS = 3  # of a program whose threads take other paths each time
ROWS_AT_ONCE = 1 << 20


@dataclass
class CaptureSummary(Summary):
    """Result of a capture; ``runs`` counts the executions of instrumented programs."""

    device: str = ""
    runs: int = 0

    def text(self) -> str:
        """A short table for the terminal."""
        return f"{super().text()}\n{'device':<22}{self.runs:>13} runs  {self.device}"


def capture(path: Path, out: Path, device: Device, memory_bytes: int = MEMORY_BYTES) -> CaptureSummary:
    """Run the launches of a launch file on ``device`` and write the trace that the executor would write.

    memory_bytes  most memory that notes take on the device; launches that need more run more than once.

    The bytes are the executor's for launches without data races, whatever the device. Raises ``UserError`` for what
    cannot be captured, for a program whose threads take other paths each time it runs, and as ``run_launch_file`` does.
    """
    prepared = prepare(path)
    summary = CaptureSummary(out, buffers=prepared.buffers, expectations=len(prepared.plan.expect), device=device.name)
    out.parent.mkdir(parents=True, exist_ok=True)
    start, numbering = time.perf_counter(), Numbering()
    session = Session(prepared, device, memory_bytes)
    same = [source_code(), "capture", device.name, memory_bytes]
    with ResumableTraceWriter(out, provenance(prepared.plan, path), same=same, resume=False) as writer:
        for place, number, launch in prepared.places(FIRST):
            counts = session.run(writer, launch, place, number, numbering)
            summary.thread_instructions += counts
        check_expectations(prepared.plan, path, summary.buffers)
    summary.runs, summary.seconds = session.runs, time.perf_counter() - start
    summary.kernels, summary.warps = numbering.kernels, numbering.warps
    summary.bytes_on_disk = sum(file.stat().st_size for file in out.iterdir())
    return summary


@dataclass
class Variants:
    """The two programs of a launch, loaded."""

    plan: Plan
    code: Code
    count: Loaded
    record: Loaded
    made: Instrumented


class Session:
    """The launches of one file on one device."""

    def __init__(self, prepared: Prepared, device: Device, memory_bytes: int) -> None:
        self.prepared, self.device, self.memory_bytes = prepared, device, memory_bytes
        self.addresses = device.open(prepared)
        self.runs = 0
        self._variants: dict[tuple[object, ...], Variants] = {}

    @cached_property
    def regions(self) -> list[Region]:
        """The buffers."""
        return [
            Region(self.addresses[name], values.nbytes, self.prepared.addresses[name])
            for name, values in self.prepared.buffers.items()
        ]

    def run(self, sink: Sink, launch: ComputeLaunch, place: Place, number: int, numbering: Numbering) -> int:
        """Run one launch and put its tables; returns its thread instructions."""
        linked = link_launch(((launch.module, entry_of(launch.module, launch.entry)),), launch.memory, launch.constants)
        running = begin(linked, launch, compute_shape(linked, launch), sink, "interpreter", numbering)
        assert isinstance(running.recorder, Recorder)
        try:
            one = LaunchCapture(self, linked, launch, running, self._params(number, place.rounds))
            one.run()
        finally:
            launch.memory.give_back(int(running.state.warps.machine[MACHINE.local_base]))
        return running.recorder.counts.thread_instructions

    def _params(self, number: int, rounds: int) -> tuple[bytes, ...]:
        width = self.prepared.module.address_size // 8
        given = self.prepared.plan.launch[number].parameters
        return tuple(each.encode(self.addresses, rounds, width) for each in given)

    def variants(self, linked: LinkedLaunch, launch: ComputeLaunch) -> Variants:
        """The instrumented programs of a launch, made once for each entry, grid and block."""
        key = (launch.entry, launch.grid, launch.block)
        if key not in self._variants:
            plan = plan_launch(linked)
            made = [instrument(linked, plan, launch, variant) for variant in (COUNT, RECORD)]
            count, record = (self.device.load(each.module) for each in made)
            self._variants[key] = Variants(plan, code_of(linked, plan), count, record, made[0])
        return self._variants[key]


class LaunchCapture:
    """One launch: its runs on the device, and its rows."""

    def __init__(
        self, session: Session, linked: LinkedLaunch, launch: ComputeLaunch, running: Running, params: tuple[bytes, ...]
    ) -> None:
        self.session, self.device, self.linked, self.launch = session, session.device, linked, launch
        self.running, self.params, self.state = running, params, running.state
        self.variants = session.variants(linked, launch)
        self.ctas, self.threads = self.state.shape.ctas, self.state.shape.threads
        self.warps = self.state.shape.warps

    def run(self) -> None:
        """Count, then record and rebuild range after range."""
        rows = self._warp_rows(self._count())
        for first, last in self._ranges(rows):
            self._range(rows[first * self.warps : last * self.warps], first)
        self._memory_from_device()

    def _warp_rows(self, counts: np.ndarray) -> np.ndarray:
        """Rows of 32 slots that each warp needs, from the slots of each thread."""
        padded = np.zeros((self.ctas, self.warps * LANES), np.int64)
        padded[:, : self.threads] = counts.reshape(self.ctas, self.threads)
        return padded.reshape(-1, LANES).max(axis=1)

    def _ranges(self, rows: np.ndarray) -> Iterator[tuple[int, int]]:
        """Ranges of CTAs whose slots fit the memory."""
        most = min(self.session.memory_bytes // SLOT_BYTES, MOST_SLOTS) - LANES * (self.variants.plan.most_slots + 2)
        slots = LANES * rows.reshape(-1, self.warps).sum(axis=1)
        if slots.max() > most:
            raise UserError(
                f"{self.launch.entry}: the notes of a CTA take {int(slots.max()) * SLOT_BYTES:,} bytes, which "
                f"--memory must allow, found {self.session.memory_bytes:,}"
            )
        first = total = 0
        for cta, size in enumerate(slots.tolist()):
            if total + size > most:
                yield first, cta
                first, total = cta, 0
            total += size
        yield first, len(slots)

    def _regions(self) -> list[Region]:
        return [
            *self.session.regions,
            *(r for p in (self.variants.count, self.variants.record) for r in self._variables(p)),
        ]

    def _variables(self, program: Loaded) -> list[Region]:
        """The ``.global`` variables of a program, and where the trace has them."""
        name = self.launch.module.source_name
        known = self.launch.memory.variables
        sizes = self.launch.module.variables
        return [
            Region(address, sizes[variable].bytes, known[name, variable])
            for variable, address in program.variables.items() if (name, variable) in known
        ]  # fmt: skip

    def _execute(self, program: Loaded, constants: dict[str, bytes]) -> None:
        """Run a variant from the memory as it was before the launch."""
        memory = self.launch.memory
        for region in (*self.session.regions, *self._variables(program)):
            if region.bytes:
                self.device.write(region.first, memory.view(region.ours, np.uint8, region.bytes))
        self.session.runs += 1
        self.device.launch(program, self.launch, self.params, constants)

    def _memory_from_device(self) -> None:
        memory = self.launch.memory
        for region in (*self.session.regions, *self._variables(self.variants.record)):
            if region.bytes:
                memory.view(region.ours, np.uint8, region.bytes)[:] = self.device.read(region.first, region.bytes)

    def _count(self) -> np.ndarray:
        """Slots that each thread needs."""
        threads = self.ctas * self.threads
        counts = self.device.take(4 * threads)
        try:
            self.device.fill(counts, 4 * threads, 0)
            constants = {RECORDS: _u64(counts), STARTS: _u64(counts), LIMIT: bytes(4), PLACES: bytes(8)}
            self._execute(self.variants.count, constants)
            return self.device.read(counts, 4 * threads).view(np.uint32).astype(np.int64)
        finally:
            self.device.give_back(counts)

    def _range(self, rows: np.ndarray, first_cta: int, run: int = 1) -> None:
        """Record and rebuild the CTAs of a range; other runs may take other paths, and are tried again.

        They then have more than twice the slots, in as many ranges as fit the memory.
        """
        notes, places = self._record(rows, first_cta)
        sent, error = self._send(places, notes, first_cta * self.warps)
        if error is None:
            return
        if sent or run == RUNS:
            raise error
        del notes
        rows = 2 * rows + 16
        for first, last in self._ranges(rows):
            self._range(rows[first * self.warps : last * self.warps], first_cta + first, run + 1)

    def _send(self, places: Places, notes: Notes, first_warp: int) -> tuple[bool, UserError | None]:
        """Put the rows of a range: whether some have been put, and the error that ended it, if any."""
        recorder, sent = self.running.recorder, False
        assert isinstance(recorder, Recorder)
        try:
            for rows in self._rebuild(places, notes, first_warp):
                recorder.send(rows)
                sent = True
        except UserError as error:
            return sent, error
        return sent, None

    def _record(self, rows: np.ndarray, first_cta: int) -> tuple[Notes, Places]:
        """Run the recording program: the slots of a range of CTAs, and where the device's memory lies."""
        starts = LANES * np.concatenate(([0], np.cumsum(rows)))
        limit, spare = int(starts[-1]), LANES * (self.variants.plan.most_slots + 2)
        cursors: np.ndarray = np.full(self.ctas * self.warps, limit, np.uint32)
        cursors[first_cta * self.warps : first_cta * self.warps + len(rows)] = starts[:-1]
        if self.variants.plan.calls:
            cursors = cursors[:, None] + np.arange(LANES, dtype=np.uint32)
            cursors = cursors.reshape(self.ctas, self.warps * LANES)[:, : self.threads]
        slots = self.device.take(SLOT_BYTES * (limit + spare))
        table = self.device.take(cursors.nbytes)
        placed = self.variants.made.places
        noted = self.device.take(16 * len(placed) + 16)
        try:
            self.device.fill(slots, SLOT_BYTES * limit, 0xFF)
            self.device.fill(noted, 16 * len(placed) + 16, 0)
            self.device.write(table, cursors)
            constants = {
                RECORDS: _u64(slots),
                STARTS: _u64(table),
                LIMIT: struct.pack("<I", limit),
                PLACES: _u64(noted),
            }
            self._execute(self.variants.record, constants)
            held = self.device.read(slots, SLOT_BYTES * limit).view(np.uint64).copy()
            found = self.device.read(noted, 16 * len(placed)).view(np.uint64).reshape(-1, 2)
            places = places_of(self.state, self._regions(), placed, found, self.device.apart)
        finally:
            self.device.give_back(noted)
            self.device.give_back(table)
            self.device.give_back(slots)
        return Notes(held, starts[:-1].astype(np.int64), rows.astype(np.int64)), places

    def _rebuild(self, places: Places, notes: Notes, first_warp: int) -> Iterator[Rows]:
        """Rows of the warps of a range, a part at a time. Raises ``UserError`` for notes that make no sense."""
        code, grid, rows = self.variants.code, grid_of(self.state), ROWS_AT_ONCE
        base, begin_at, warps = int(self.state.progress[PROGRESS.first_warp]), 0, len(notes.rows)
        while begin_at < warps:
            room = _room(rows, warps - begin_at)
            ended, reached, *used = rebuild(code, places, grid, notes, room, first_warp, begin_at)
            if ended not in (DONE, NO_ROOM):
                raise self._error(ended, room.error)
            if reached == begin_at:
                rows *= 4
                continue
            warp = base + first_warp + np.arange(begin_at, reached)
            arrays = (room.visits[: used[0]], room.accesses[: used[1]], room.addresses[: used[2]])
            none = np.zeros((0, 1), np.uint32), np.zeros(0, np.uint32)
            yield Rows(warp, room.lengths[: reached - begin_at], (*arrays, *none))
            begin_at = reached

    def _error(self, ended: int, found: np.ndarray) -> UserError:
        warp, place, value, lane = found.tolist()
        entry = f"{self.launch.module.source_name}: {self.launch.entry}: warp {warp}, lane {lane}"
        if ended == OTHER_PATH:
            return UserError(
                f"{entry}: a thread must take the same path each time the launch runs, and did not: it has a data "
                "race, or its path depends on the order of atomics"
            )
        if ended == TOO_DEEP:
            return UserError(f"{entry}: calls are nested too deep to be captured")
        body = [i for f in self.linked.functions for i in f.function.body]
        line, text = body[place].position.line, body[place].full_opcode
        return UserError(
            f"{entry}: line {line}: {text}: the address {value & (1 << 64) - 1:#x} must lie in a buffer or "
            "variable of the launch file's program"
        )


def _room(rows: int, warps: int) -> Room:
    return Room(
        np.empty((rows, 2), np.uint32), np.empty((rows, 4), np.uint32), np.empty(4 * rows, np.uint64),
        np.zeros((warps, 5), np.int64), np.zeros(4, np.int64),
    )  # fmt: skip


def _u64(value: int) -> bytes:
    return struct.pack("<Q", value)
