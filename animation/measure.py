"""Figures of a frame: its rays, and its metrics by a replay or an estimate; what is known is not computed again."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rayplay import replay
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.digest import file_digest
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.replays.result_cache import Store, engine_identity
from rayplay.zatel.sample.estimate import estimate, read_work

METHODS = ("none", "replay", "estimate", "look")
Row = dict[str, float | int | str | None]
COLUMNS = [f"{name}{end}" for name in ("ms", *RULES) for end in ("", "_low", "_high")]


@dataclass(frozen=True)
class Method:
    """How frames are measured.

    name      of ``METHODS``; "look" measures no traced frame.
    fraction  of the CTAs that an estimate replays; ``seed`` chooses them.
    """

    name: str
    gpu: Gpu | None = None
    fraction: float = 0.1
    seed: int = 1


def measure(number: int, path: Path, method: Method, store: Store) -> Row:
    """The row of a frame: ``frame``, ``rays``, ``records_per_ray``, then the metrics by name, ``ms``, and of an
    estimate the ends of their 95 % intervals as ``NAME_low`` and ``NAME_high``."""
    manifest = file_digest(path / "manifest.json")
    row: Row = {"frame": number, "trace": path.name}
    counted = _kept(store, {"counted": manifest}, lambda: _rays(path))
    row |= {name: counted[name] for name in ("rays", "records_per_ray")}
    if method.gpu is None:
        return row
    gpu = asdict(method.gpu) | {"name": ""}
    how: dict[str, Any] = {"method": method.name, "gpu": gpu, "engine": engine_identity()}
    if method.name == "estimate":
        how |= {"fraction": method.fraction, "seed": method.seed}
    perform = _estimated if method.name == "estimate" else _replayed
    found = _kept(store, {"measured": manifest} | how, lambda: perform(path, method))
    return row | {name: found[name] for name in COLUMNS if name in found}


def _kept(store: Store, key: dict[str, Any], perform: Any) -> Row:
    found = store.get(key)
    if found is None:
        found = perform()
        store.put(key, found)
    return found


def _rays(path: Path) -> Row:
    trace = open_trace(path)
    records = sum(len(batch["node"]) for batch in trace.batches("rays", ["node"]))
    rays = trace.rows("rays")
    return {"rays": rays, "records_per_ray": records / rays if rays else None}


def _replayed(path: Path, method: Method) -> Row:
    assert method.gpu is not None
    result = replay(path, method.gpu)
    row: Row = {"ms": result.value("gpu_cycles") / method.gpu.sm.clock_khz}
    for name in RULES:
        value = result.value(name)
        row[name] = None if np.isnan(value) else value
    return row


def _estimated(path: Path, method: Method) -> Row:
    assert method.gpu is not None
    trace = open_trace(path)
    drawn = method.fraction, method.seed
    work = read_work(trace, keep=False, drawn=drawn)  # a frame is estimated once, and the store keeps the answer
    found = estimate(trace, method.gpu, method.fraction, method.seed, work)
    khz = method.gpu.sm.clock_khz
    metrics: dict[str, float | None] = {}
    for name, value in found.metrics.items():
        low, high = found.intervals[name] or (None, None)
        metrics |= {name: value, f"{name}_low": low, f"{name}_high": high}
    times = {f"ms{end}": metrics[f"gpu_cycles{end}"] for end in ("", "_low", "_high")}
    return {**{name: None if cycles is None else cycles / khz for name, cycles in times.items()}, **metrics}


def summary(rows: Iterable[Row]) -> list[str]:
    """A line for each figure of the animation: mean, least and most over the frames."""
    rows = list(rows)
    names = [name for name in rows[0] if name not in ("frame", "trace") and not name.endswith(("_low", "_high"))]
    lines = [f"{'over ' + str(len(rows)) + ' frames':<30}{'mean':>14}{'least':>14}{'most':>14}"]
    for name in names:
        values = [float(row[name]) for row in rows if row[name] is not None]  # type: ignore[arg-type]  # a number
        if values:
            shown = "".join(f"{value:>14,.6g}" for value in (sum(values) / len(values), min(values), max(values)))
            lines.append(f"{name:<30}{shown}")
    return lines
