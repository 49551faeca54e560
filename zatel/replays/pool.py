"""Worker processes of a verb: they end with it, however it ends, and the death of one is one clear error.

Like ``simulate``, this file imports nothing compiled.
"""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType

from tqdm import tqdm

from rayplay.formats.guard.errors import UserError


@contextmanager
def processes(count: int, replayed: str) -> Iterator[ProcessPoolExecutor]:
    """Pool of ``count`` processes, which are terminated when the block ends early.

    replayed  name of a process's work, for the message.

    Raises ``UserError`` when a process dies.
    """
    before = set(multiprocessing.active_children())
    with ProcessPoolExecutor(count, mp_context=_Context(), initializer=_begin) as pool:
        try:
            yield pool
        except BaseException as error:
            for child in set(multiprocessing.active_children()) - before:
                child.terminate()
            if isinstance(error, BrokenProcessPool):
                raise UserError(
                    f"a process that replayed {replayed} died, perhaps for lack of memory;"
                    f" try --workers {count // 2 or 1}"
                ) from None
            raise


class _Process(SpawnProcess):
    """A process that does not run the main module of the one that starts it again.

    Nothing that is replayed is defined there, and a script without a main guard would replay again in each process.
    """

    def start(self) -> None:
        """Start while an empty module stands for the main module, of which the new process learns the file."""
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            super().start()
        finally:
            sys.modules["__main__"] = main


class _Context(SpawnContext):
    Process = _Process


def _begin() -> None:
    """Initialise a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes: the parent ends this one
    end_with_parent()
    # A bar's own lock is a semaphore of the system, which a process that is terminated would leave behind.
    tqdm.set_lock(threading.RLock())


def end_with_parent() -> None:
    """End this process when its parent has ended, even in the middle of a replay."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)  # no parent is left to report to, and a replay in another thread would run on for long
