"""The suite of the full disk: files that may not grow fail in Python and in libraries, at any byte."""

import random
import resource
import signal
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rayplay.formats.dataset.energy import ENERGY_FORMAT
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.result import ResultWriter
from rayplay.formats.dataset.writer import FolderWriter
from rayplay.formats.edit.convert import convert
from rayplay.formats.exchange.accelsim.export import export_accelsim
from rayplay.formats.guard.errors import UserError
from rayplay.formats.testing.generate import make_trace
from rayplay.silicon.__main__ import write_csv
from tests.reliability.interruption import contents
from tests.reliability.suite import Row, Suite

MOST_SIZES = 200


def make_export(path: Path, seed: int) -> None:
    """A trace as Accel-Sim's files."""
    with tempfile.TemporaryDirectory() as folder:
        export_accelsim(open_trace(make_trace(Path(folder) / "a.trace", seed, image_size=None)), path)


def make_hdf5(path: Path, seed: int) -> None:
    """A trace in HDF5."""
    with tempfile.TemporaryDirectory() as folder:
        convert(open_trace(make_trace(Path(folder) / "a.trace", seed)), path)


def make_result(path: Path, seed: int) -> None:
    """A result whose counters depend on ``seed``."""
    with ResultWriter(path, {"command": "reliability"}) as writer:
        writer.put("counters", {
            "unit": ["l1d"] * 50, "instance": np.arange(50), "stream": np.zeros(50, np.int32), "measure": ["1"] * 50,
            "kernel_id": np.zeros(50, np.int32), "counter": ["hits"] * 50, "value": np.arange(50) ** 3 + seed,
        })  # fmt: skip
        writer.summary({"gpu_cycles": {"value": seed, "unit": "cycles", "kind": "max", "definition": "Last cycle."}})
        writer.host({"seconds": 1.5})


def make_energy(path: Path, seed: int) -> None:
    """The energy of a result, its totals alone."""
    with FolderWriter(path, ENERGY_FORMAT, {"command": "reliability"}) as writer:
        for table in ENERGY_FORMAT.tables:
            if table.name != "totals":
                writer.declare(table.name)
        columns = {name: np.arange(200) * float(seed) for name in ("low", "value", "high")}
        writer.put("totals", {"metric": [f"m{row}" for row in range(200)], "unit": ["J"] * 200, **columns})


def make_comparison(path: Path, seed: int) -> None:
    """A comparison as ``rayplay correlate --out`` writes it."""
    write_csv(path, [{"quantity": f"q{row}", "measured": seed, "simulated": row / 7} for row in range(200)])


FILES: dict[str, tuple[str, Callable[[Path, int], object]]] = {
    "trace": ("a.trace", make_trace), "trace in HDF5": ("a.trace.h5", make_hdf5),
    "result": ("a.result", make_result), "Accel-Sim's files": ("a", make_export),
    "energy": ("a.energy", make_energy), "comparison with a card": ("a.csv", make_comparison),
}  # fmt: skip


def files_of(path: Path) -> dict[str, bytes]:
    """``contents`` of a folder, or of a single file."""
    return contents(path) if path.is_dir() else {path.name: path.read_bytes()}


def full_disk(subject: str, seed: int, count: int) -> Row:
    """No file may grow beyond n bytes, for many n: whatever writes fails there, in Python or in a library."""
    name, make = FILES[subject]
    row, outcomes = Row(subject, 0), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        whole, path = Path(folder) / "whole" / name, Path(folder) / "old" / name
        for place, number in ((whole, seed + 1), (path, seed)):
            place.parent.mkdir()
            make(place, number)
        before, wanted = files_of(path), files_of(whole)
        most = max(map(len, wanted.values()))
        sizes = sorted({*random.Random(f"{seed} {subject}").sample(range(most), min(count, MOST_SIZES, most)), most})
        ignored, (soft, hard) = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.getrlimit(resource.RLIMIT_FSIZE)
        for size in sizes:
            row.cases += 1
            try:
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
                make(path, seed + 1)
                outcomes["written"] += 1
            except (OSError, UserError):
                outcomes["refused"] += 1
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            if files_of(path) != (wanted if size >= most else before) or len(list(path.parent.iterdir())) != 1:
                row.failures.append(f"{size} bytes: neither what was there nor complete")
        signal.signal(signal.SIGXFSZ, ignored)
    row.outcomes = dict(outcomes)
    return row


SUITES = (
    Suite("full disk", "No file may become longer than n bytes, at up to 200 random n.",
          "One error; what stood there stays, and nothing else is there.", tuple(FILES), full_disk),
)  # fmt: skip
