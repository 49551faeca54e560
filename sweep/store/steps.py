"""Steps of a point's way into the store, which a fault-injecting test can watch and end at.

With ``RAYPLAY_SWEEP_STEPS=FOLDER`` each step appends a line ``STEP KEY PID`` to ``FOLDER/steps``. A file
``FOLDER/STEP``, or ``FOLDER/STEP-KEY``, is an order for the first process that comes by, which takes it away, or with
``always`` before it for every one: ``kill`` (SIGKILL), ``crash`` (SIGSEGV), ``full`` (a full disk), ``memory`` (ask for
memory until the limit), ``sleep SECONDS``.
"""

import errno
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

VARIABLE = "RAYPLAY_SWEEP_STEPS"
SIGNALS = {"kill": signal.SIGKILL, "crash": signal.SIGSEGV}
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
            if words[0] == "always":
                words = words[1:]
            else:
                os.rename(order, order.with_name(f".{order.name}-{os.getpid()}"))
            _follow(*words)


def _follow(what: str, seconds: str = "0") -> None:
    if what in SIGNALS:
        os.kill(os.getpid(), SIGNALS[what])
    elif what == "full":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    elif what == "memory":
        held = []
        while True:
            held.append(bytearray(1 << 24))
    elif what == "sleep":
        time.sleep(float(seconds))
