"""Counters that Nsight Compute measured beside a replay of the same launches: rows like all others.

Cycles of each launch, then the metrics of all of them that the file has: times, instructions, miss rates, DRAM bytes.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.exchange.nsight import CYCLES, NAME, metrics, read_launches
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import LIST_BYTES
from rayplay.formats.guard.text import read_text
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.run.driver import simulate
from rayplay.silicon.correlate import CHECK, Row


def is_nsight(path: Path) -> bool:
    """Whether a file of measurements has a header of Nsight Compute. Raises ``UserError`` where it cannot be read."""
    return f'"{NAME}"' in read_text(path, "CSV file of measurements", LIST_BYTES)


def compare_counters(path: Path, trace: Path, gpu: Gpu, card: str | None, least_us: float) -> list[Row]:
    """Rows of a CSV file of Nsight Compute beside a replay of ``trace``; a launch below ``least_us`` is not compared.

    Nsight empties the caches before each launch and takes the base clock, unless told otherwise: cycles compare.
    Raises ``UserError`` where the launches are not the trace's.
    """
    measured = read_launches(path)
    opened = open_trace(trace)
    known = opened.read("kernels", ["kernel_id", "name"])
    order = np.argsort(known["kernel_id"])
    names = [known["name"][at] for at in order.tolist()]
    theirs = [str(launch[NAME]).partition("(")[0] for launch in measured]
    if theirs != names:
        raise UserError(
            f"{path}: must have the launches of the trace, {len(names)} from {names[0] if names else 'none'} on; found "
            f"{len(theirs)} from {theirs[0]} on"
        )
    result = simulate(opened, gpu)
    place = np.argsort(result.kernels["kernel_id"])
    cycles = (result.kernels["end_cycle"] - result.kernels["start_cycle"])[place] - gpu.sm.kernel_launch_cycles
    label = card or "Nsight Compute"
    rows = list(_launches(label, measured, names, cycles, 1e-6 * least_us * 1e3 * gpu.sm.clock_khz, path.name))
    ours = result.summary
    for name, entry in metrics(measured):
        value: dict[str, float] | None = ours.get(name)
        if name == "gpu_cycles":
            value = {"value": int(cycles.sum())}
        reason = "" if value is not None and value["value"] is not None else "a replay has no such metric"
        if not entry["value"] > 0:
            reason = "the measured value must be above 0"
        modelled = None if reason or value is None else float(value["value"])
        rows.append(Row(label, name, entry["unit"], float(entry["value"]), modelled, CHECK, reason, path.name))
    return rows


def _launches(
    card: str, measured: list[dict[str, str | float]], names: list[str], cycles: np.ndarray, least: float, source: str
) -> Iterator[Row]:
    """Cycles of each launch."""
    for number, (launch, name, ours) in enumerate(zip(measured, names, cycles.tolist(), strict=True)):
        found = next((launch[each] for each in CYCLES if isinstance(launch.get(each), float)), None)
        if found is None:
            continue  # no metric of cycles in the file: its other metrics are compared
        value = float(found)
        reason = "" if value >= max(least, 1) else f"below {least:,.0f} cycles, where the launch itself counts"
        yield Row(card, f"{number} {name}", "cycles", value, None if reason else float(ours), CHECK, reason, source)
