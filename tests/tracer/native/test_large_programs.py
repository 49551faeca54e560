"""A program too large to optimise is translated in pieces: the same results, and one object in the cache."""

import numpy as np
import pytest

from rayplay import ptx
from rayplay.tracer.lower import compile as machine_code
from rayplay.tracer.lower import program
from rayplay.tracer.record.recorder import MemorySink
from rayplay.tracer.run import run_image_launch
from rayplay.tracer.scenes import load
from rayplay.tracer.shading.config import PROGRAM_FOLDER, read_config
from rayplay.tracer.shading.prepare import Sampling, prepare_image
from tests.tracer.harness.processors import translate_anew


def trace() -> MemorySink:
    """The trace of a program of five functions."""
    file, sink = PROGRAM_FOLDER / "path-tracing.ptx", MemorySink()
    made = prepare_image(load("cornell"), ptx.parse_file(file), read_config(file.with_suffix(".toml")), Sampling(8, 4))
    run_image_launch(made.launch, sink, progress=False)
    return sink


def test_pieces_without_optimisation_are_the_same_program(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = trace()
    monkeypatch.setattr(machine_code, "MOST_OPTIMISED", 0)
    monkeypatch.setattr(program, "PIECE_LETTERS", 1000)
    monkeypatch.setattr(machine_code, "content_key", lambda *_: "0" * 32)  # not the object of the whole
    kept = translate_anew(monkeypatch)
    machine_code._compiled.cache_clear()
    try:
        pieces = trace()
    finally:
        machine_code._compiled.cache_clear()
    assert len(machine_code._split(kept[f"machine-code/{'0' * 32}.o"])) > 4
    for table in ("visits", "accesses", "rays"):
        mine, other = pieces.table(table), whole.table(table)
        assert all(np.array_equal(mine[column], other[column]) for column in mine), table
