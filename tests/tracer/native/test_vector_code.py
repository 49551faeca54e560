"""No function that numba compiles has an instruction that its LLVM may get wrong (``tracer.native.ternary_logic``)."""

import subprocess
import sys
from pathlib import Path

from rayplay.formats.guard.sealed import sealed_root
from rayplay.tracer.native.ternary_logic import is_suspect_object

ROOT = Path(__file__).resolve().parents[3]
RENDER = ["rayplay.tracer", "render", "cornell", "--size", "16x16", "--samples", "1", "--out", "a.trace"]
REPLAY = ["rayplay.replay", str(ROOT / "traces" / "sample.trace"), "--gpu", "rtx2060", "--out", "a.result"]


def object_in(path: Path) -> bytes:
    """The file from its object on; bitcode is left out of the search, for its bits look like any instruction."""
    _, mark, code = path.read_bytes().partition(b"\x7fELF")
    return mark + code


def test_no_compiled_function_has_a_suspect_instruction(tmp_path: Path) -> None:
    """After a picture and a replay the cache has their functions, each an object file followed by its bitcode."""
    for words in (RENDER, REPLAY):
        subprocess.run([sys.executable, "-m", *words], cwd=tmp_path, check=True, capture_output=True)
    objects = {path: code for path in sorted(sealed_root().glob("numba-*/*/*")) if (code := object_in(path))}
    assert {"tracer", "replay"} <= {path.relative_to(sealed_root()).parts[0].split("-")[1] for path in objects}
    assert [str(path) for path, code in objects.items() if is_suspect_object(code)] == []
