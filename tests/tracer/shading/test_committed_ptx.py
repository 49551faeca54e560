"""The PTX beside each CUDA file of ours is what nvcc makes of that file; clang's example has another maker."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FOLDERS = ("examples/*", "examples/cnn/kernels", "tracer/kernels", "tests/tracer/data")
CLANGS = ROOT / "tests/tracer/data/gradient.cu"
HEADERS = ["-I", str(ROOT / "tracer" / "programs")]
MORE = {"twin.cu": ["-fmad=false", *HEADERS], "callables.cu": ["-rdc=true", *HEADERS]}
"""Options of a file of its own."""
SOURCES = sorted({path for folder in FOLDERS for path in ROOT.glob(f"{folder}/*.cu")} - {CLANGS})


@pytest.mark.skipif(not shutil.which("nvcc"), reason="nvcc is not installed")
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_committed_ptx_is_what_the_source_gives(source: Path, tmp_path: Path) -> None:
    committed = source.with_suffix(".ptx").read_text()
    head = re.search(r"release (13\.0, V\S+).*?^\.target sm_(\d+)", committed, re.DOTALL | re.MULTILINE)
    assert head is not None
    if head[1] not in subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout:
        pytest.skip(f"the file was made by nvcc {head[1]}")
    made = tmp_path / "made.ptx"
    command = ["nvcc", "-ptx", f"-arch=compute_{head[2]}", "-O3", "-std=c++17"]
    command += MORE.get(source.name, HEADERS if source.parent.name == "gallery" else [])
    command += [source.name, "-o", str(made)]
    subprocess.run(command, cwd=source.parent, check=True)
    assert made.read_text() == committed
