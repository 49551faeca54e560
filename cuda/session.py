"""A program runs: its process, the connection to it, and its requests until it ends."""

import os
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from rayplay.cuda.device import Device
from rayplay.cuda.messages import receive, reply
from rayplay.tracer.memory.arena import FIRST_ADDRESS, GUARD_BYTES

VARIABLE = "RAYPLAY_CUDA"
SIGNALLED = 128


def serve(command: Sequence[str], library: Path, device: Device, file: int, output: int | None = None) -> int:
    """Run ``command`` with the library and answer its requests: its exit code, 128 + n where signal n ended it.

    ``file`` is the device's memory; ``output`` is where the program's standard output goes, None: where ours does.

    Raises ``UserError`` for bytes that are no request; the program is ended then, as by any error here.
    """
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = start(command, library, device, theirs, file, output)
        try:
            while (request := receive(ours)) is not None:
                reply(ours, *device.answer(*request))
            code = process.wait()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    return code if code >= 0 else SIGNALLED - code


def start(
    command: Sequence[str], library: Path, device: Device, theirs: socket.socket, file: int, output: int | None
) -> subprocess.Popen[bytes]:
    """The process of a program, with the library before any other."""
    place = f"{FIRST_ADDRESS - GUARD_BYTES:x}:{device.memory.reserved_bytes:x}"
    before = [os.environ["LD_PRELOAD"]] if os.environ.get("LD_PRELOAD") else []
    settings = {
        VARIABLE: f"{theirs.fileno()}:{file}:{place}",
        "LD_PRELOAD": ":".join([str(library), *before]),
    }
    return subprocess.Popen(
        list(command), env=os.environ | settings, pass_fds=(theirs.fileno(), file), stdout=output,
    )  # fmt: skip
