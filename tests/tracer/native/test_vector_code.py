"""No function that numba compiles has an instruction that its LLVM may get wrong (``tracer.native.ternary_logic``)."""

import subprocess
import sys
from pathlib import Path

from rayplay.formats.guard.sealed import sealed_root
from rayplay.tracer.native.ternary_logic import is_suspect

ROOT = Path(__file__).resolve().parents[3]
RENDER = ["rayplay.tracer", "render", "cornell", "--size", "16x16", "--samples", "1", "--out", "a.trace"]
REPLAY = ["rayplay.replay", str(ROOT / "traces" / "sample.trace"), "--gpu", "rtx2060", "--out", "a.result"]


def test_no_compiled_function_has_a_suspect_instruction(tmp_path: Path) -> None:
    """After a picture and a replay the cache has their functions; machine code lies in its files as it is."""
    for words in (RENDER, REPLAY):
        subprocess.run([sys.executable, "-m", *words], cwd=tmp_path, check=True, capture_output=True)
    files = sorted(sealed_root().glob("numba-*/*/*"))
    packages = {path.relative_to(sealed_root()).parts[0].split("-")[1] for path in files}
    assert {"tracer", "replay"} <= packages
    assert [path.name for path in files if is_suspect(path.read_bytes())] == []
