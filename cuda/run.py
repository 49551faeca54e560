"""From a CUDA program to its results and a trace of its kernels: the verb ``run``."""

import contextlib
import os
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rayplay.cuda.card import Card
from rayplay.cuda.device import Device, Ran, code_of
from rayplay.cuda.elf import needed_libraries
from rayplay.cuda.library import build_library
from rayplay.cuda.messages import Error
from rayplay.cuda.session import serve
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.guard.digest import file_digest
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import Gpu

TOOL_VERSION = "0.1.0"
RUNTIME = re.compile(r"libcudart\.so\.(\d+)")
VERSIONS = (11, 12, 13)


class AssertionFailed(Exception):  # noqa: N818 - of a kernel
    """A kernel ended with a failed assertion: its trace is dropped."""


@dataclass
class Summary:
    """Result of a program. ``code`` is its exit code; seconds are in no file."""

    out: Path
    code: int
    ran: Ran
    seconds: float
    outside: dict[str, int] | None
    bytes_on_disk: int = 0
    assertion: str = ""  # of a kernel, that failed: the program may go on, and there is no trace

    def text(self) -> str:
        """A short table for the terminal."""
        ran = self.ran
        if self.assertion:
            return f"no trace: {self.assertion}; exit code {self.code}"
        if not ran.kernels:
            return f"the program launched no kernel; exit code {self.code}"
        rows = [
            ("launches", f"{ran.kernels:,}", ""),
            ("warps", f"{ran.warps:,}", ""),
            (
                "thread instructions",
                f"{ran.thread_instructions:,}",
                f"in {self.seconds:.1f} s, the program's own time included",
            ),
            ("bytes on disk", f"{self.bytes_on_disk:,}", str(self.out)),
            ("exit code", str(self.code), ""),
        ]
        return "\n".join(f"{name:<22}{value:>18}  {note}".rstrip() for name, value, note in rows)

    def record(self) -> dict[str, Any]:
        """The same for a program."""
        ran = self.ran
        counts = {"launches": ran.kernels, "warps": ran.warps, "thread_instructions": ran.thread_instructions}
        failure = {"assertion": self.assertion} if self.assertion else {}
        return {"out": str(self.out)} | counts | {"bytes": self.bytes_on_disk, "exit_code": self.code} | failure


def runtime_version(program: Path) -> int:
    """The version of the CUDA runtime that a program loads. Raises ``UserError`` for one that loads none."""
    found = [RUNTIME.match(name) for name in needed_libraries(program)]
    version = next((int(match[1]) for match in found if match), None)
    if version is None:
        raise UserError(
            f"{program}: must load libcudart.so, and does not: link it with nvcc -cudart shared (else nvcc puts "
            "the runtime into the program, where nothing can take its place)"
        )
    if version not in VERSIONS:
        known = ", ".join(map(str, VERSIONS))
        raise UserError(f"{program}: must load the CUDA runtime of version {known}, found {version}")
    return version


def run_program(
    command: Sequence[str], out: Path, gpu: Gpu, memcheck: bool = True, output: int | None = None
) -> Summary:
    """Run a CUDA program: its kernels execute here, and ``out`` becomes the trace of all of them in order.

    memcheck  whether an access outside buffers is an error (``tracer.memory.arena``).
    output    descriptor for the program's standard output; None: as this process has it.

    The trace appears when the program has ended, whatever its exit code, and only if it launched a kernel. Raises
    ``UserError`` for a program that cannot be run, and for the first kernel that ends with an error; there is no trace
    then. A failed assertion raises nothing: programs expect some, and CUDA too says it and leaves the rest to them.
    """
    program = Path(command[0])
    if not program.is_file():
        raise UserError(f"{program}: must be a program, and is no file")
    version = runtime_version(program)
    provenance = {"command": "cuda run", "tool_version": TOOL_VERSION, "inputs": {program.name: file_digest(program)}}
    out.parent.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="rayplay-") as folder:
        library = build_library(version, Path(folder))
        file = os.memfd_create("device memory")
        try:
            device = Device(program.name, Card(gpu), file, lambda: TraceWriter(out, provenance), memcheck)
            with contextlib.suppress(AssertionFailed), device.tracing():
                code = serve([str(program.absolute()), *command[1:]], library, device, file, output)
                if device.failed is not None:
                    raise AssertionFailed if code_of(str(device.failed)) == Error.ASSERT else device.failed
        finally:
            os.close(file)
    summary = Summary(out, code, device.ran, time.perf_counter() - start, None if memcheck else device.memory.outside)
    if device.failed is not None:
        summary.assertion = str(device.failed)
    elif device.ran.kernels:
        summary.bytes_on_disk = sum(each.stat().st_size for each in out.iterdir())
    return summary
