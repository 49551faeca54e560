"""The result of a replay: metrics, counters, timeline and per-pixel work, and the host's times apart from them.

``NAME.result/`` holds ``summary.json`` (metric -> value, unit, kind, definition), the tables below as Parquet,
``host.json`` (times of the machine that ran the replay, the one file that differs from run to run) and a manifest.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rayplay.formats.dataset.reader import Dataset, open_source
from rayplay.formats.dataset.writer import FolderWriter
from rayplay.formats.guard.digest import file_digest
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.guard.limits import LIST_BYTES
from rayplay.formats.guard.strict import check_choice
from rayplay.formats.guard.text import parse_json, read_text
from rayplay.formats.place.location import location
from rayplay.formats.schema.column import STRING, Column, Format, Table

COUNTERS = Table(
    "counters", "counter of one unit instance", columns=(
        Column("unit", STRING, "name", "Kind of hardware unit, such as l1d, rt_unit, dram."),
        Column("instance", "uint32", "id", "Which of the units of this kind."),
        Column("stream", "int32", "id", "Stream the events belong to, -1 as in kernel_id."),
        Column("kernel_id", "int32", "id", "Launch they belong to; -1: shared by launches that ran side by side."),
        Column("counter", STRING, "name", "Counted event."),
        Column("value", "int64", "see measure", "The count at the end of the run."),
        Column("measure", STRING, "name", "Unit of the value, such as cycles, requests, bytes."),
    ),
)  # fmt: skip

KERNELS = Table(
    "kernels", "launch that was replayed, in the order in which they began", optional=True, columns=(
        Column("kernel_id", "int32", "id", "Launch of the trace."),
        Column("name", STRING, "name", "Name of the kernel."),
        Column("stream", "int32", "id", "Stream of the launch."),
        Column("start_cycle", "int64", "cycles", "Cycle of its launch; the launch latency follows.", sorted=True),
        Column("end_cycle", "int64", "cycles", "First cycle after the one in which its last CTA retired."),
        Column("warp_instructions", "int64", "count", "Instructions its warps executed."),
    ),
)  # fmt: skip

TIMELINE = Table(
    "timeline", "interval, unit and counter", optional=True, columns=(
        Column("start_cycle", "int64", "cycles", "First cycle of the interval.", sorted=True),
        Column("unit", STRING, "name", "Kind of hardware unit, as in counters."),
        Column("counter", STRING, "name", "Counted event, as in counters."),
        Column("value", "int64", "see counters", "Events in this interval, over all instances of the unit."),
    ),
)  # fmt: skip

PIXELS = Table(
    "pixels", "pixel of an image launch", optional=True, columns=(
        Column("pixel_x", "uint16", "count", "Column, 0 at the left."),
        Column("pixel_y", "uint16", "count", "Row, 0 at the top."),
        Column("cycles", "int64", "cycles", "Cycles the pixel's own thread was active, waits and rays included."),
        Column("rays", "uint32", "count", "Rays the pixel traced, continuations not counted again."),
        Column("node_visits", "uint32", "count", "BVH records its rays fetched."),
    ),
)  # fmt: skip

STACK = Table(
    "stack", "SM and reason of a launch", optional=True, columns=(
        Column("kernel_id", "int32", "id", "Launch; -1: shared by launches that ran side by side."),
        Column("sm", "uint32", "id", "Streaming multiprocessor."),
        Column("reason", STRING, "name", "What the issue slots went to; docs/replay.md defines each."),
        Column("slots", "int64", "scheduler-cycles",
               "Issue slots. The sum of an SM is the launch's cycles x schedulers, launch latency included. Launches"
               " side by side have the slots of their warps, and only all together sum to the cycles x schedulers."),
    ),
)  # fmt: skip

UTILISATION = Table(
    "utilisation", "kind of hardware unit of a launch", optional=True, columns=(
        Column("kernel_id", "int32", "id", "Launch; -1: shared by launches that ran side by side."),
        Column("unit", STRING, "name", "Kind of hardware unit; docs/replay.md says what it uses and how much it has."),
        Column("used", "int64", "see measure", "What all units of this kind used."),
        Column("capacity", "float64", "see measure", "The most that they could have used in the launch's cycles."),
        Column("measure", STRING, "name", "Unit of use, such as scheduler-cycles, sectors, DRAM ticks."),
    ),
)  # fmt: skip

ROOFLINE = Table(
    "roofline", "level of memory of a launch", optional=True, columns=(
        Column("kernel_id", "int32", "id", "Launch; -1: shared by launches that ran side by side."),
        Column("level", STRING, "name", "l1, l2 or dram."),
        Column("bytes", "int64", "bytes", "Bytes moved there: 32 a sector accessed; for dram, by column commands."),
        Column("thread_instructions", "int64", "count",
               "Instructions of active threads; over bytes, the intensity. By class: the sm's counters threads_*."),
        Column("seconds", "float64", "s", "The launch's cycles / core clock."),
        Column("peak_bytes_per_second", "float64", "bytes/s", "The level's peak, from the GPU description."),
        Column("peak_instructions_per_second", "float64", "1/s", "Schedulers of the GPU x 32 x core clock."),
    ),
)  # fmt: skip

CLASSES = Table(
    "classes", "class of work that shared the GPU with others", optional=True, columns=(
        Column("class", STRING, "name", "Name of the class."),
        Column("kind", STRING, "name", "Kind of work.", values=("graphics", "raytracing", "compute")),
        Column("trace", STRING, "name", "File of its trace."),
        Column("cycles", "int64", "cycles", "First cycle after its last launch had ended once."),
        Column("passes", "int64", "count", "How often all its launches had ended when the replay did."),
        Column("warp_instructions", "int64", "count", "Instructions that its warps executed, repeats included."),
        Column("resident_warp_cycles", "int64", "warp-cycles", "Cycles that its warps were on SMs, over all warps."),
        Column("alone_cycles", "int64", "cycles", "Cycles of its own trace alone on the whole GPU; 0: not known."),
        Column("slowdown", "float64", "1", "cycles / alone_cycles; 0: not known."),
    ),
)  # fmt: skip

CLASS_METRICS = Table(
    "class_metrics", "metric of a class of work", optional=True, columns=(
        Column("class", STRING, "name", "Name of the class."),
        Column("metric", STRING, "name", "Metric as in summary.json, of the class's counters; undefined ones lack."),
        Column("value", "float64", "see unit", "Its value, with the cycles of the replay and all units of the GPU."),
        Column("unit", STRING, "name", "Unit of the value, 1 without."),
    ),
)  # fmt: skip

CLASS_COUNTERS = Table(
    "class_counters", "counter of one unit instance of a class of work", optional=True, columns=(
        Column("class", STRING, "name", "Class that the events belong to; empty: none. All sum to the table counters."),
        *(column for column in COUNTERS.columns if column.name not in ("stream", "kernel_id")),
    ),
)  # fmt: skip

CLASS_TIMELINE = Table(
    "class_timeline", "interval, class of work, unit and counter", optional=True, columns=(
        Column("start_cycle", "int64", "cycles", "First cycle of the interval.", sorted=True),
        Column("class", STRING, "name", "Class that the events belong to; empty: none."),
        Column("unit", STRING, "name", "As in timeline; l2_lines: lines that the L2 holds at the end of the interval."),
        Column("counter", STRING, "name",
               "As in timeline; of l2_lines: texture or other, by the access that allocated the line, and invalid."),
        Column("value", "int64", "see counters", "Events in this interval, over all instances; or lines."),
    ),
)  # fmt: skip

CLASS_GRANTS = Table(
    "class_grants", "plan of the partition, class of work and resource", optional=True, columns=(
        Column("start_cycle", "int64", "cycles", "First cycle in which the plan holds.", sorted=True),
        Column("class", STRING, "name", "Class of work."),
        Column("resource", STRING, "name", "The resource: SMs on which the class may run; warps, CTAs, registers and"
               " bytes of shared memory of all SMs; slices of the L2; lines of a set of it.",
               values=("sms", "warps", "ctas", "registers", "shared_bytes", "l2_slices", "l2_ways")),
        Column("value", "int64", "see resource", "The most that the class may hold."),
    ),
)  # fmt: skip

LAUNCHES = Table(
    "launches", "launch of the table kernels, where there are draws or classes of work", optional=True, columns=(
        Column("kernel_id", "int32", "id", "Launch, as in kernels and counters."),
        Column("class", STRING, "name", "Class of work that it belongs to; empty: the trace has the GPU to itself."),
        Column("kind", STRING, "name", "Kind of work.", values=("graphics", "raytracing", "compute")),
        Column("stage", STRING, "name", "vertex or fragment; empty: no stage of a draw."),
        Column("draw", "int32", "id", "Draw of the trace; -1: of no draw."),
        Column("draw_name", STRING, "name", "Mesh of the draw; empty: of no draw."),
        Column("repeat", "uint32", "count", "0: the class's first pass."),
        Column("trace", STRING, "name", "File of its trace."),
        Column("trace_kernel_id", "uint32", "id", "Launch of that trace."),
    ),
)  # fmt: skip

TEXTURE_LINES = Table(
    "texture_lines", "launch with texture instructions and number of lines", optional=True, columns=(
        Column("kernel_id", "int32", "id", "Launch, in its first pass."),
        Column("lines", "uint32", "lines", "Different lines of 128 B that the texture instructions of a CTA read."),
        Column("ctas", "uint32", "count", "CTAs of the launch with this many."),
    ),
)  # fmt: skip

STALLS = Table(
    "stalls", "instruction and state of the warps that were seen at it", optional=True, columns=(
        Column("instruction_id", "uint32", "id", "Instruction of the trace that the warps issue next; of rt_unit,"
               " the call that traced the rays.", sorted=True),
        Column("state", STRING, "name", "What the warps do there: ready ones may issue, or find their unit busy; others"
               " wait, as reasons of stack.", values=("ready", "data", "memory", "rt_unit", "barrier", "fetch")),
        Column("warp_cycles", "int64", "warp-cycles", "Cycles of warps, from looks at all warps in regular intervals."),
    ),
)  # fmt: skip

RESULT = Format(
    "rayplay result", (1, 1),
    (COUNTERS, KERNELS, STACK, STALLS, UTILISATION, ROOFLINE, TIMELINE, PIXELS, LAUNCHES, TEXTURE_LINES, CLASSES,
     CLASS_METRICS, CLASS_COUNTERS, CLASS_TIMELINE, CLASS_GRANTS),
)  # fmt: skip
METRIC_KINDS = ("sum", "max", "mean", "ratio")
SUMMARY, HOST = "summary.json", "host.json"


def check_summary(summary: dict[str, Any], place: str) -> None:
    """Every metric has a finite number (or null where it is not defined), a unit, a kind and a definition."""
    for metric, entry in summary.items():
        where = f"{place}: metric {metric}"
        if not isinstance(entry, dict) or set(entry) != {"value", "unit", "kind", "definition"}:
            raise FormatError(f"{where}: must have value, unit, kind and definition, not {entry!r}")
        if not isinstance(entry["kind"], str) or entry["kind"] not in METRIC_KINDS:
            raise FormatError(f"{where}: kind must be one of {', '.join(METRIC_KINDS)}, not {entry['kind']!r}")
        for name in ("unit", "definition"):
            if not isinstance(entry[name], str):
                raise FormatError(f"{where}: {name} must be a text, not {entry[name]!r}")
        value = entry["value"]
        finite = isinstance(value, (int, float)) and abs(value) < float("inf")
        if value is not None and (isinstance(value, bool) or not finite):
            raise FormatError(f"{where}: value must be a finite number or null, not {value!r}")


def read_json_object(path: Path, digest: str | None = None) -> dict[str, Any]:
    """Read a JSON object; ``FormatError`` when the file is missing, no object, or its SHA-256 is not ``digest``."""
    text = read_text(path, "JSON file", LIST_BYTES)
    if digest is not None and file_digest(path) != digest:
        raise FormatError(f"SHA-256 must be {digest}, as the manifest says: it was changed", file=path)
    document = parse_json(text, path)
    if not isinstance(document, dict):
        raise FormatError(f"must be a JSON object, not {type(document).__name__}", file=path)
    return document


class ResultWriter(FolderWriter):
    """Writes a ``NAME.result`` folder; use it in a ``with`` statement, and call ``summary`` once.

    ``put(table, columns)`` appends rows to a table of ``RESULT`` as ``FolderWriter`` does.
    """

    def __init__(self, path: Path | str, provenance: dict[str, Any] | None = None) -> None:
        super().__init__(path, RESULT, provenance)
        self.host({})

    def summary(self, metrics: dict[str, Any]) -> None:
        """The metrics, in order: ``{name: {"value": number or None, "unit": str, "kind": str, "definition": str}}``."""
        check_summary(metrics, str(self.path))
        self.texts[SUMMARY] = json.dumps(metrics, indent=1, allow_nan=False) + "\n"

    def host(self, facts: dict[str, Any]) -> None:
        """Times and facts of the machine that ran the replay."""
        self.texts[HOST] = json.dumps(facts, indent=1, allow_nan=False) + "\n"

    def _finish(self) -> None:
        if SUMMARY not in self.texts:
            raise FormatError(f"{self.path}: a result must have a summary, but none was given")
        super()._finish()


class Result(Dataset):
    """A result, opened for reading; tables as in ``Dataset``."""

    @property
    def summary(self) -> dict[str, Any]:
        """Metric -> value, unit, kind, definition."""
        path = self.path / SUMMARY
        metrics = read_json_object(path, self.manifest.files.get(SUMMARY))
        check_summary(metrics, str(path))
        return metrics

    def value(self, metric: str) -> float:
        """Value of a metric; NaN where it is not defined. ``UserError`` suggests the nearest name."""
        summary = self.summary
        check_choice(metric, summary, str(self.path))
        found = summary[metric]["value"]
        return float("nan") if found is None else found

    def _repr_html_(self) -> str:
        from rayplay.formats.dataset.frames import metric_table

        return metric_table(self.path.name, self.summary)

    def to_pandas(self, table: str | None = None, columns: Sequence[str] | None = None) -> Any:
        """A table as a ``pandas.DataFrame``; the metrics, a row each, unless one is named."""
        from rayplay.formats.dataset.frames import metric_frame

        return metric_frame(self.summary) if table is None else super().to_pandas(table, columns)

    @property
    def host(self) -> dict[str, Any]:
        """Times and facts of the machine that ran the replay; ``FormatError`` for a time that is no number."""
        facts = read_json_object(self.path / HOST)
        for name, value in facts.items():
            if name.endswith("_seconds") and not (type(value) in (int, float) and value >= 0):
                raise FormatError(f"{name} must be a number of seconds, not {value!r}", file=self.path / HOST)
        return facts


def open_result(path: Path | str) -> Result:
    """Open a ``NAME.result`` folder; ``FormatError`` when it is missing, damaged or of another version."""
    return Result(open_source(location(path), RESULT), RESULT)
