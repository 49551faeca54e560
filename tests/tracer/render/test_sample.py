"""The committed sample trace is what its command gives."""

from pathlib import Path

import numpy as np

from rayplay.formats.dataset.reader import open_trace
from rayplay.tracer.__main__ import main

SAMPLE = Path(__file__).resolve().parents[3] / "traces" / "sample.trace"


def test_the_sample_trace_is_reproduced_by_its_command(tmp_path: Path) -> None:
    assert (
        main(["render", "cornell", "--size", "32x32", "--samples", "1", "--out", str(tmp_path / "sample.trace")]) == 0
    )
    kept, made = open_trace(SAMPLE), open_trace(tmp_path / "sample.trace")
    assert kept.manifest.provenance == made.manifest.provenance
    assert kept.tables == made.tables
    for table in kept.tables:
        ours, theirs = kept.read(table), made.read(table)
        for name, column in ours.items():
            assert np.array_equal(column, theirs[name]), f"{table}.{name}: run the command of traces/README.md again"


def test_the_sample_trace_is_small() -> None:
    assert sum(file.stat().st_size for file in SAMPLE.iterdir()) < 600_000
