"""The traces that ``bench/speed/memory.py`` measures with break no law."""

from pathlib import Path

from bench.speed.memory import make_kernels, make_long
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.laws.check import validate


def test_kernels(tmp_path: Path) -> None:
    make_kernels(tmp_path / "kernels.trace", 3)
    assert validate(open_trace(tmp_path / "kernels.trace")) == []


def test_long(tmp_path: Path) -> None:
    make_long(tmp_path / "long.trace", 0.0001)
    assert validate(open_trace(tmp_path / "long.trace")) == []
