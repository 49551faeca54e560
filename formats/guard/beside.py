"""Compiling in a second process: machine code of its own is made beside the code that calls it, and handed on by cache.

A copy of this process compiles, so that it knows all that is known here. Without a second core, or where the cache
cannot be written, nothing is lost: the caller compiles everything by itself.
"""

import gc
import os
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

Work = Callable[[], None]


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def beside(works: Sequence[Work]) -> Iterator[Callable[[], None]]:
    """Have works done by a second process while the block runs; yields a function that waits for their end."""
    if not works or cores() < 2 or not hasattr(os, "fork"):
        yield lambda: None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # its one thread compiles, and asks for no other's lock
        process = os.fork()
    if process == 0:
        _compile(works)
    ended: list[int] = []

    def wait() -> None:
        if not ended:
            ended.append(os.waitpid(process, 0)[1])

    try:
        yield wait
    finally:
        if not ended:
            os.kill(process, signal.SIGKILL)
        wait()


def _compile(works: Sequence[Work]) -> NoReturn:
    """Do the works and end the process."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the caller, who comes to the same, says it
        gc.disable()
        for work in works:
            work()
    finally:
        os._exit(0)  # whatever went wrong: the caller finds nothing in the cache, and compiles
