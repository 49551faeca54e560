"""The interpreter defines what a program does; machine code must leave the same trace, byte for byte."""

from pathlib import Path

import pytest

from rayplay.tracer.render import Request, render
from rayplay.tracer.shading.config import BUILT_IN, PROGRAM_FOLDER

SCENES = {"path-tracing": ("wknd", "forest"), "shadows": ("cornell", "forest"), "ambient-occlusion": ("cornell",)}


@pytest.mark.parametrize(("workload", "scene"), [(w, s) for w in BUILT_IN for s in SCENES[w]])
def test_interpreter_equals_machine_code(tmp_path: Path, workload: str, scene: str) -> None:
    program = PROGRAM_FOLDER / f"{workload}.ptx"
    config = program.with_suffix(".toml")
    traces = []
    for backend in ("machine", "interpreter"):
        out = tmp_path / f"{backend}.trace"
        render(Request(scene, program, config, out, 9, 5, samples=1, bounces=4, backend=backend))
        files = [path for path in out.iterdir() if path.name != "manifest.json"]
        traces.append({path.name: path.read_bytes() for path in files})
    assert len(traces[0]) >= 11, "every table is there"
    assert traces[0].keys() == traces[1].keys()
    for name, contents in traces[0].items():
        assert contents == traces[1][name], f"{name} differs"
