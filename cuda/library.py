"""The runtime library that programs are given in place of CUDA's: C sources, compiled when a program runs."""

import shutil
import subprocess
import sys
from pathlib import Path

from rayplay.formats.guard.errors import UserError

SOURCES = Path(__file__).parent / "shim"
COMPILERS = ("cc", "gcc", "clang")
OPTIONS = ("-std=gnu11", "-O1", "-fPIC", "-shared", "-pthread")
SECONDS = 60


def build_library(version: int, folder: Path) -> Path:
    """Compile the library that stands for ``libcudart.so.VERSION`` into a folder: its path.

    Raises ``UserError`` without a C compiler, and on another system than Linux on a 64-bit machine.
    """
    if sys.platform != "linux" or sys.maxsize < 1 << 62:
        raise UserError("rayplay run must have Linux on a 64-bit machine")
    compiler = next((found for name in COMPILERS if (found := shutil.which(name))), None)
    if compiler is None:
        raise UserError(f"rayplay run must have a C compiler, and finds none of {', '.join(COMPILERS)}")
    name = f"libcudart.so.{version}"
    made, versions = folder / name, folder / "versions"
    versions.write_text(f"{name} {{ global: cuda*; __cuda*; local: *; }};\n")
    words = [
        compiler, *OPTIONS, f"-DCUDART={version}", f"-Wl,-soname,{name}", f"-Wl,--version-script,{versions}",
        *map(str, sorted(SOURCES.glob("*.c"))), "-o", str(made),
    ]  # fmt: skip
    run = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
    if run.returncode:
        raise UserError(f"{compiler} does not compile the runtime library: {run.stderr.strip() or run.returncode}")
    return made
