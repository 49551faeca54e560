"""Many replays of parts of one trace, each done once, with one decoding of the trace for all.

A run is a set of pixels on a GPU. Runs in the store are looked up. The others share one pass over the trace that
filters it for every set of pixels at once (a few dozen at a time, to bound disk and open files). They are replayed on
all cores, longest first, and stored as they end.
"""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.edit.filter import filter_to_many
from rayplay.formats.guard.digest import bytes_digest
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.replays.result_cache import Store, engine_identity, trace_identity
from rayplay.zatel.replays.simulate import Simulated, simulate_all

SELECTIONS_AT_A_TIME = 48


class Run(NamedTuple):
    """One replay: on ``gpu``, of ``pixels``, bool[height, width], or of the whole trace when ``None``."""

    gpu: Gpu
    pixels: np.ndarray | None = None


def run_key(trace: str, run: Run) -> dict[str, Any]:
    """Key of a run's outcome: the trace's identity, pixels, GPU without its name, and the engine."""
    gpu = asdict(run.gpu)
    del gpu["name"]
    pixels = None if run.pixels is None else bytes_digest(np.packbits(run.pixels).tobytes())
    return {"trace": trace, "pixels": pixels, "gpu": gpu, "engine": engine_identity()}


def simulate_runs(
    trace: Trace,
    runs: Sequence[Run],
    store: Store | None = None,
    workers: int | None = None,
    folder: Path | None = None,
) -> list[Simulated]:
    """Outcome of each run, in order. Without a ``store`` equal runs are still done once.

    workers  processes at a time; one per core when ``None``.
    folder   for filtered temporary traces; the system's temporary folder when ``None``.

    Raises ``UserError`` as ``filter_to_many`` and ``simulate_all`` do. A stored run keeps the times of the machine that
    made it.
    """
    with tempfile.TemporaryDirectory(prefix="rayplay-runs-", dir=folder) as temporary:
        place = Path(temporary)
        known = Store(place / "store") if store is None else store
        identity = trace_identity(trace)
        keys = [run_key(identity, run) for run in runs]
        missing = {_mark(key): (key, run) for key, run in zip(keys, runs, strict=True) if known.get(key) is None}
        ordered = sorted(missing.values(), key=_size)
        for first in range(0, len(ordered), SELECTIONS_AT_A_TIME):
            _make(trace, ordered[first : first + SELECTIONS_AT_A_TIME], known, workers, place)
        found = [_read(known, key) for key in keys]
        if None in found:
            raise UserError(f"{known.folder}: the store must keep its entries while it is used, but one is gone")
        return [outcome for outcome in found if outcome is not None]


def known_runs(trace: Trace, runs: Sequence[Run], store: Store) -> list[Simulated | None]:
    """Stored outcome of each run; ``None`` where it must be replayed."""
    identity = trace_identity(trace)
    return [_read(store, run_key(identity, run)) for run in runs]


def missing_runs(trace: Trace, runs: Sequence[Run], store: Store) -> list[Run]:
    """Runs missing from the store, each once."""
    identity, known = trace_identity(trace), known_runs(trace, runs, store)
    missing = [run for run, outcome in zip(runs, known, strict=True) if outcome is None]
    return list({_mark(run_key(identity, run)): run for run in missing}.values())


def _mark(key: dict[str, Any]) -> str:
    return f"{key['pixels']} {key['gpu']}"


def _size(item: tuple[dict[str, Any], Run]) -> int:
    """Sort key: the longest runs first; a whole trace is the longest."""
    pixels = item[1].pixels
    return -(1 << 62) if pixels is None else -int(pixels.sum())


def _make(
    trace: Trace, part: Sequence[tuple[dict[str, Any], Run]], store: Store, workers: int | None, folder: Path
) -> None:
    """Filter the trace for the runs of ``part`` in one pass, replay them, and store the outcomes."""
    selections = {key["pixels"]: run.pixels for key, run in part if run.pixels is not None}
    paths = {pixels: folder / f"{number}.trace" for number, pixels in enumerate(selections)}
    if selections:
        filter_to_many(trace, list(selections.values()), list(paths.values()))
    replays = [(paths.get(key["pixels"], trace.path), run.gpu) for key, run in part]
    simulate_all(replays, workers, lambda number, outcome: store.put(part[number][0], _entry(outcome)))
    for path in paths.values():
        shutil.rmtree(path)


def _entry(outcome: Simulated) -> dict[str, Any]:
    return {"summary": outcome.summary, "seconds": outcome.seconds, "cpu_seconds": outcome.cpu_seconds}


def _read(store: Store, key: dict[str, Any]) -> Simulated | None:
    value = store.get(key)
    if value is None:
        return None
    summary = value["summary"]
    return Simulated({name: summary[name] for name in RULES}, value["seconds"], summary, value["cpu_seconds"])
