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

Work = Callable[[], None]


class Helper:
    """A process that compiles."""

    def __init__(self, works: Sequence[Work]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # its one thread compiles, and asks for no other's lock
            self.process: int | None = os.fork()
        if self.process == 0:
            self._compile(works)

    def _compile(self, works: Sequence[Work]) -> None:
        try:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            gc.disable()
            for work in works:
                work()
        finally:
            os._exit(0)  # whatever went wrong: the caller finds nothing in the cache, and compiles

    def wait(self) -> None:
        """Wait until all is compiled."""
        if self.process is not None:
            os.waitpid(self.process, 0)
            self.process = None

    def stop(self) -> None:
        """End the process, if it has not."""
        if self.process is not None:
            os.kill(self.process, signal.SIGKILL)
            self.wait()


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def beside(works: Sequence[Work]) -> Iterator[Callable[[], None]]:
    """Have works done by a second process while the block runs; yields what waits for their end."""
    if not works or cores() < 2 or not hasattr(os, "fork"):
        yield lambda: None
        return
    helper = Helper(works)
    try:
        yield helper.wait
    finally:
        helper.stop()
