"""Import measurements of Nsight Compute as a result to compare with: ``ncu --csv --page raw > FILE.csv``.

Four layouts are read: the raw page has a column per metric, a row of units and a row per launch; the default page of
``--csv`` has a row per launch and metric, and rows of rules, which have no metric; ``--print-summary per-kernel`` a row
per kernel and metric, of which Average counts, once for each of its Invocations; with NVTX more columns, which are not
looked at. Lines before the header are the program's own. Rayplay's metrics are computed from the metrics present;
others are left out.
"""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.dataset.result import ResultWriter
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.guard.limits import LIST_BYTES
from rayplay.formats.guard.text import read_text

PREFIXES = {"": 1.0, "n": 1e-9, "u": 1e-6, "m": 1e-3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
MOST = 1 << 53  # whole numbers up to here are exact
_UNIT = re.compile(r"([numKMGT]?)(byte|s|second|inst|cycle|sector|thread|warp|block|register)(/.*)?")
NAME, ID, STREAM = "Kernel Name", "ID", "Stream"
CYCLES = ("gpc__cycles_elapsed.max", "sm__cycles_elapsed.max", "sm__cycles_elapsed.avg")
WARP_INSTRUCTIONS = ("smsp__inst_executed.sum", "sm__inst_executed.sum")
INVOCATIONS, AVERAGE, MOST_INVOCATIONS = "Invocations", "Average", 100_000
_NAMED = {
    "Elapsed Cycles": "gpc__cycles_elapsed.max", "Duration": "gpu__time_duration.sum",
    "Executed Instructions": "smsp__inst_executed.sum", "L1/TEX Hit Rate": "l1tex__t_sector_hit_rate.pct",
    "L2 Hit Rate": "lts__t_sector_hit_rate.pct",
    "DRAM Throughput": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "Achieved Occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
}  # fmt: skip
"""Labels of the details page, and the metrics behind them."""
THREAD_INSTRUCTIONS = ("smsp__thread_inst_executed_pred_on.sum", "smsp__thread_inst_executed.sum")


@dataclass(frozen=True)
class Source:
    """Formula of a metric from Nsight's.

    names    metrics of Nsight; the first present counts.
    unit     unit of the value.
    kind     ``sum`` over the launches; ``mean`` weighted by ``weights`` (by cycles where that metric is missing).
    scale    factor; a ``miss`` is 1 - scale x value.
    """

    names: tuple[str, ...]
    unit: str
    kind: str = "sum"
    weights: tuple[str, ...] = ()
    scale: float = 1.0
    miss: bool = False

    def all_names(self) -> tuple[str, ...]:
        """Metrics of Nsight that are read."""
        return self.names + self.weights


SOURCES = {
    "gpu_cycles": Source(CYCLES, "cycles"),
    "seconds": Source(("gpu__time_duration.sum", "gpu__time_duration.avg"), "s"),
    "warp_instructions": Source(WARP_INSTRUCTIONS, "count"),
    "thread_instructions": Source(THREAD_INSTRUCTIONS, "count"),
    "l1d_miss_rate": Source(("l1tex__t_sector_hit_rate.pct",), "1", "mean", ("l1tex__t_sectors.sum",), 0.01, True),
    "l2_miss_rate": Source(("lts__t_sector_hit_rate.pct",), "1", "mean", ("lts__t_sectors.sum",), 0.01, True),
    "bandwidth_utilisation": Source(
        ("dram__throughput.avg.pct_of_peak_sustained_elapsed",), "1", "mean", scale=0.01
    ),
    "occupancy": Source(("sm__warps_active.avg.pct_of_peak_sustained_active",), "1", "mean", scale=0.01),
    "dram_bytes": Source(("dram__bytes.sum",), "bytes"),
}  # fmt: skip

Launch = dict[str, str | float]


def import_nsight(path: Path, out: Path) -> None:
    """Write the result ``out`` of the launches in a CSV file of Nsight Compute.

    Raises ``FormatError`` for another kind of file, a file without a launch, or text in place of a number.
    """
    launches = read_launches(path)
    summary = dict(metrics(launches))
    if not summary:
        wanted = ", ".join(sorted({name for source in SOURCES.values() for name in source.names}))
        raise FormatError(f"{path}: must hold at least one of the metrics {wanted}")
    cycles = _first(launches, CYCLES)
    ends = np.cumsum(cycles if cycles is not None else np.zeros(len(launches)), dtype=np.float64).astype(np.int64)
    instructions = _first(launches, WARP_INSTRUCTIONS)
    counts = np.zeros(len(launches), np.int64) if instructions is None else instructions.astype(np.int64)
    provenance = {"command": "formats import", "source": path.name, "measured_by": "Nsight Compute"}
    with ResultWriter(out, provenance) as writer:
        writer.put("kernels", {
            "kernel_id": np.arange(len(launches)), "name": [str(launch[NAME]) for launch in launches],
            "stream": [_stream(launch) for launch in launches],
            "start_cycle": np.concatenate([[0], ends[:-1]]), "end_cycle": ends,
            "warp_instructions": counts,
        })  # fmt: skip
        writer.summary(summary)


def metrics(launches: list[Launch]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Metrics over all launches, with their source metrics of Nsight."""
    cycles = _first(launches, CYCLES)
    found: dict[str, float] = {}
    for metric, source in SOURCES.items():
        values = _first(launches, source.names)
        if values is None:
            continue
        weights = _first(launches, source.weights)
        if source.kind == "sum":
            total = float(values.sum())
        else:
            total = float(np.average(values, weights=weights if weights is not None and weights.any() else cycles))
        scaled = total * source.scale
        found[metric] = 1 - scaled if source.miss else scaled
        yield metric, _entry(found[metric], source.unit, source.kind, " or ".join(source.names))
    if found.get("gpu_cycles") and "thread_instructions" in found:
        ipc = found["thread_instructions"] / found["gpu_cycles"]
        yield "gpu_ipc", _entry(ipc, "thread-instructions/cycle", "ratio", "thread_instructions / gpu_cycles")
    if found.get("warp_instructions") and "thread_instructions" in found:
        lanes = found["thread_instructions"] / found["warp_instructions"] / 32
        yield "simt_efficiency", _entry(lanes, "1", "ratio", "thread_instructions / (32 x warp_instructions)")


def _entry(value: float, unit: str, kind: str, definition: str) -> dict[str, Any]:
    whole = int(value) if kind == "sum" and value == int(value) else value
    return {"value": whole, "unit": unit, "kind": kind, "definition": f"Nsight Compute: {definition}"}


def _first(launches: list[Launch], names: tuple[str, ...]) -> np.ndarray | None:
    """float64[launches]: the first of the metrics that every launch has."""
    for name in names:
        if all(isinstance(launch.get(name), float) for launch in launches):
            return np.array([launch[name] for launch in launches], np.float64)
    return None


def _stream(launch: Launch) -> int:
    text = str(launch.get(STREAM, "0"))
    return int(text) if text.isdigit() and len(text) < 10 else 0


def read_launches(path: Path) -> list[Launch]:
    """Name and metrics, in base units, of each launch in a CSV file."""
    lines = _from_header(read_text(path, "CSV file", LIST_BYTES).splitlines())
    try:
        rows = list(csv.reader(lines, strict=True))
    except csv.Error as error:
        raise FormatError(f"{path}: must be CSV: {error}") from None
    if not rows or NAME not in rows[0]:
        raise FormatError(f"{path}: must be CSV of Nsight Compute with a column {NAME!r} (ncu --csv --page raw)")
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(rows[0]):
            raise FormatError(f"{path}: row {number} must have {len(rows[0])} columns, found {len(row)}")
    if INVOCATIONS in rows[0]:
        launches = _from_summary(path, rows)
    else:
        launches = _from_long(path, rows) if "Metric Name" in rows[0] else _from_wide(path, rows)
    if not launches:
        raise FormatError(f"{path}: must hold at least one launch")
    return launches


def _from_header(lines: list[str]) -> list[str]:
    """Lines from the header on, without Nsight's messages; before it, a program's output may stand."""
    kept = [line for line in lines if line.strip() and not line.startswith("==")]
    header = next((at for at, line in enumerate(kept) if f'"{NAME}"' in line or f",{NAME}," in f",{line},"), 0)
    return kept[header:]


def _from_wide(path: Path, rows: list[list[str]]) -> list[Launch]:
    """The raw page: names, units, then one row a launch."""
    names, units = rows[0], rows[1] if len(rows) > 1 else []
    launches: list[Launch] = []
    for number, row in enumerate(rows[2:], 3):
        launch: Launch = {}
        for name, unit, text in zip(names, units, row, strict=True):
            launch[name] = _number(text, unit, f"{path}: row {number}, {name}") if "__" in name else text
        launches.append(launch)
    return launches


def _from_long(path: Path, rows: list[list[str]]) -> list[Launch]:
    """The default page: one row a launch and metric."""
    place = {name: column for column, name in enumerate(rows[0])}
    if ID not in place or "Metric Value" not in place:
        raise FormatError(f"{path}: must have the columns ID and Metric Value")
    launches: dict[str, Launch] = {}
    for number, row in enumerate(rows[1:], 2):
        launch = launches.setdefault(row[place[ID]], {NAME: row[place[NAME]]})
        if STREAM in place:
            launch[STREAM] = row[place[STREAM]]
        unit = row[place["Metric Unit"]] if "Metric Unit" in place else ""
        metric = _NAMED.get(row[place["Metric Name"]], row[place["Metric Name"]])
        if not metric:  # the row of a rule
            continue
        launch[metric] = _number(row[place["Metric Value"]], unit, f"{path}: row {number}, {metric}")
    return list(launches.values())


def _from_summary(path: Path, rows: list[list[str]]) -> list[Launch]:
    """The summary of ``--print-summary per-kernel``: each kernel's averages, once for each invocation."""
    place = {name: column for column, name in enumerate(rows[0])}
    missing = [name for name in ("Metric Name", "Metric Unit", AVERAGE) if name not in place]
    if missing:
        raise FormatError(f"{path}: must have the column {missing[0]!r}")
    kernels: dict[str, tuple[int, Launch]] = {}
    for number, row in enumerate(rows[1:], 2):
        name, times = row[place[NAME]], row[place[INVOCATIONS]].replace(",", "")
        if not times.isdecimal() or len(times) > 6 or not 1 <= int(times) <= MOST_INVOCATIONS:
            raise FormatError(
                f"{path}: row {number}, {INVOCATIONS}: must be 1 to {MOST_INVOCATIONS}, found {times[:50]!r}"
            )
        metric = _NAMED.get(row[place["Metric Name"]], row[place["Metric Name"]])
        _, launch = kernels.setdefault(name, (int(times), {NAME: name}))
        launch[metric] = _number(row[place[AVERAGE]], row[place["Metric Unit"]], f"{path}: row {number}, {metric}")
    if sum(times for times, _ in kernels.values()) > MOST_INVOCATIONS:
        raise FormatError(f"{path}: must have at most {MOST_INVOCATIONS} invocations")
    return [dict(launch) for times, launch in kernels.values() for _ in range(times)]


def _value(text: str) -> float:
    """A number with separators of thousands, or with a decimal comma: a comma before three digits separates."""
    if text.count(",") == 1 and "." not in text and len(text.partition(",")[2]) != 3:
        return float(text.replace(",", "."))
    return float(text.replace(",", ""))


def _number(text: str, unit: str, place: str) -> str | float:
    """The value in base units; other text stays text where no metric needs it."""
    needed = any(place.endswith(f" {name}") for source in SOURCES.values() for name in source.all_names())
    try:
        value = _value(text)
    except ValueError:
        if needed and text:
            raise FormatError(f"{place}: must be a number, found {text[:50]!r}") from None
        return text
    matched = _UNIT.fullmatch(unit)
    value = value * PREFIXES[matched[1]] if matched else value
    if needed and not 0 <= value <= MOST:
        raise FormatError(f"{place}: must be a finite number from 0 to 2^53, found {text[:50]!r}")
    return value
