"""Traces and pictures of the sample scenes: the same bytes from machine code of every level of x86-64."""

import hashlib
from pathlib import Path

import pytest

from rayplay.tracer.__main__ import main
from rayplay.tracer.native import cpu
from tests.tracer.harness.processors import LEVELS, use

SIZES = {"cornell": "24x16", "wknd": "24x16", "forest": "16x16"}


def recorded(scene: str, folder: Path) -> dict[str, str]:
    """Digests of the picture and all files of a path-traced scene's trace."""
    out = folder / f"{scene}.trace"
    size = ["--size", SIZES[scene], "--samples", "2"]
    assert main(["render", scene, "--workload", "path-tracing", *size, "--out", str(out)]) == 0
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("scene", SIZES)
def test_levels_record_the_same_bytes(scene: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(cpu.VARIABLE, raising=False)
    host = recorded(scene, tmp_path / "host")
    assert {f"{scene}.png", f"{scene}.trace/manifest.json"} < host.keys()
    for level in LEVELS:
        use(level, monkeypatch)
        assert recorded(scene, tmp_path / level) == host, level
