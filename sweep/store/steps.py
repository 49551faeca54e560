"""Steps of a point's way into the store, which a fault-injecting test can watch and end at.

With ``RAYPLAY_SWEEP_STEPS=FOLDER`` each step appends a line ``STEP KEY PID`` to ``FOLDER/steps``. A file
``FOLDER/STEP``, or ``FOLDER/STEP-KEY``, is an order for the first process that comes by, which takes it away:
``kill`` (SIGKILL), ``full`` (an ``OSError`` of a full disk), ``sleep SECONDS``.
"""

import errno
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

VARIABLE = "RAYPLAY_SWEEP_STEPS"
STEPS = ("started", "computed", "writing", "written", "synced", "renamed", "released")


def reached(step: str, key: str) -> None:
    """Note that the point of ``key`` has come to a step, and follow an order that waits there."""
    named = os.environ.get(VARIABLE)
    if not named:
        return
    folder = Path(named)
    with open(folder / "steps", "ab", buffering=0) as file:
        file.write(f"{step} {key} {os.getpid()}\n".encode())
    for order in (folder / step, folder / f"{step}-{key}"):
        with suppress(FileNotFoundError):
            words = order.read_text().split()
            taken = order.with_name(f".{order.name}-{os.getpid()}")
            os.rename(order, taken)
            _follow(words)


def _follow(words: list[str]) -> None:
    if words[:1] == ["kill"]:
        os.kill(os.getpid(), signal.SIGKILL)
    elif words[:1] == ["full"]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    elif words[:1] == ["sleep"]:
        time.sleep(float(words[1]))
