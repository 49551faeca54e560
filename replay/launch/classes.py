"""Classes of work that share a GPU: the launches of a trace, or of some streams of it, by what they do.

A launch is ``graphics`` where the table ``stages`` names it, ``raytracing`` where its program traces rays, else
``compute``. ``TRACE[:STREAM[,STREAM...]]`` makes a class of each kind that it has; ``NAME=TRACE[...]`` makes one class,
of the kind that is its name, else of its first kind in this order. Each trace has an address space of its own: its
number stands above the ``SPACE_SHIFT`` bits of an address, so that equal addresses of two traces are other memory.
Classes of one trace share its memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.edit.joined import PIXEL_TABLES, JoinedSource
from rayplay.formats.guard.errors import UserError
from rayplay.formats.laws.expect import expect_program
from rayplay.formats.place.names import trace_name
from rayplay.replay.input.window import MOST_SPACES

KINDS = ("graphics", "raytracing", "compute")


@dataclass(frozen=True)
class WorkClass:
    """A class of work.

    trace    its file.
    streams  of its trace; empty: all.
    kernels  its launches, by number in the joined trace; ``own_kernels`` in its own trace.
    space    number of its address space.
    """

    name: str
    kind: str
    trace: Path
    streams: tuple[int, ...]
    kernels: tuple[int, ...]
    own_kernels: tuple[int, ...]
    space: int


@dataclass(frozen=True)
class Joined:
    """Traces that are replayed together: ``trace`` holds the launches of all.

    spaces  first row of each trace in the tables ``warps``, ``kernels`` and ``nodes``, and the end.
    """

    trace: Trace
    traces: tuple[Trace, ...]
    classes: tuple[WorkClass, ...]
    spaces: dict[str, list[int]]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the classes."""
        return tuple(each.name for each in self.classes)


@dataclass(frozen=True)
class Given:
    """A class as it was written."""

    name: str | None
    path: Path
    streams: tuple[int, ...]


def parse(text: str) -> Given:
    """``[NAME=]TRACE[:STREAM[,STREAM...]]``; a file that exists under the whole text is that file."""
    if Path(text).exists():
        return Given(None, Path(text), ())
    name, equals, rest = text.rpartition("=")
    path, colon, streams = rest.rpartition(":")
    if not colon or not streams.replace(",", "").isdigit():
        path, streams = rest, ""
    if equals and not name.isidentifier():
        raise UserError(f"{text}: the name of a class must be letters, digits and underscores, not {name!r}")
    return Given(name if equals else None, trace_name(path), tuple(int(one) for one in streams.split(",") if one))


def join(given: Sequence[Given]) -> Joined:
    """Open the traces and join them; ``UserError`` for classes that do not go together."""
    paths = list(dict.fromkeys(each.path for each in given))
    traces = [open_trace(path) for path in paths]
    for trace in traces:
        expect_program(trace)
    if len(traces) > MOST_SPACES:
        raise UserError(f"at most {MOST_SPACES} traces can be replayed together, not {len(traces)}")
    source = None
    if len(traces) > 1:
        uncharacterised = any("characterisation" not in trace.tables for trace in traces)
        source = JoinedSource(traces, (*PIXEL_TABLES, *(("characterisation",) if uncharacterised else ())))
    joined = Trace(source, traces[0].layout) if source else traces[0]
    spaces = {
        table: source.first_rows(table) if source else [0, joined.rows(table)]
        for table in ("warps", "kernels", "nodes")
    }
    classes: list[WorkClass] = []
    for each in given:
        number = paths.index(each.path)
        _add_classes(classes, each, traces[number], number, spaces["kernels"][number])
    return Joined(joined, tuple(traces), tuple(classes), spaces)


def kinds_of(trace: Trace) -> np.ndarray:
    """Kind of every launch of a trace: int64[launches], places in ``KINDS``."""
    kinds = np.full(trace.rows("kernels"), KINDS.index("compute"))
    instructions = trace.read("instructions", ["kernel_id", "operation_class"])
    kinds[instructions["kernel_id"][instructions["operation_class"] == "trace"]] = KINDS.index("raytracing")
    if "stages" in trace.tables:
        kinds[trace.read("stages", ["kernel_id"])["kernel_id"]] = KINDS.index("graphics")
    return kinds


def _add_classes(classes: list[WorkClass], given: Given, trace: Trace, space: int, first_kernel: int) -> None:
    """Add the classes of a trace whose launches begin at ``first_kernel`` of the joined trace."""
    streams = trace.read("kernels", ["stream"])["stream"]
    for stream in given.streams:
        if stream not in streams:
            raise UserError(f"{trace.path}: stream {stream} must be one of its streams, {_listed(streams)}")
    own = np.flatnonzero(np.isin(streams, given.streams)) if given.streams else np.arange(len(streams))
    if not len(own):
        raise UserError(f"{trace.path}: must have a launch to be a class of work")
    kinds = kinds_of(trace)[own]
    groups = [(KINDS[number], own[kinds == number]) for number in np.unique(kinds)]
    if given.name is not None:
        groups = [(given.name if given.name in KINDS else groups[0][0], own)]
    for kind, launches in groups:
        alike = sum(each.name.rstrip("0123456789") == kind for each in classes)
        name = given.name or kind + (str(alike + 1) if alike else "")
        for each in classes:
            if each.name == name:
                raise UserError(f"class {name}: must have a name of its own, but {each.trace} has it")
            if each.trace == trace.path and set(each.own_kernels) & set(launches.tolist()):
                raise UserError(f"{trace.path}: a launch must belong to one class, not to {each.name} and {name}")
        numbers = tuple((launches + first_kernel).tolist()), tuple(launches.tolist())
        classes.append(WorkClass(name, kind, trace.path, given.streams, *numbers, space))


def _listed(streams: np.ndarray) -> str:
    return ", ".join(map(str, np.unique(streams).tolist()[:16]))
