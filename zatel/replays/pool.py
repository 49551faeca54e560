"""Worker processes of a verb: they end with it, however it ends, and the death of one is one clear error.

Like ``simulate``, this file imports nothing compiled.
"""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType
from typing import Any

from tqdm import tqdm

from rayplay.formats.guard.errors import UserError


@contextmanager
def processes(count: int, replayed: str) -> Iterator[ProcessPoolExecutor]:
    """Pool of ``count`` processes, which are terminated when the block ends early.

    replayed  name of a process's work, for the message.

    Work is given by ``submit`` and never cancelled, as ``map`` does after an error: Python 3.11's pool cannot tell
    cancelled work that its processes ended, and its queue then holds this process up for ever.

    Ctrl-C ends the processes, and then the block as soon as it asks for a future that they did not finish.

    Raises ``UserError`` when a process dies.
    """
    before = set(multiprocessing.active_children())
    interrupts: list[int] = []

    def terminate() -> None:
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()

    def keep(number: int, _frame: object) -> None:
        interrupts.append(number)
        terminate()

    try:
        with _kept(keep), _Pool(count, interrupts) as pool:
            try:
                yield pool
            except BaseException:
                terminate()
                raise
    except BrokenProcessPool:
        if not interrupts:
            raise UserError(
                f"a process that replayed {replayed} died, perhaps for lack of memory; try --workers {count // 2 or 1}"
            ) from None
    finally:
        if interrupts:
            raise KeyboardInterrupt from None


@contextmanager
def _kept(handler: Callable[[int, object], None]) -> Iterator[None]:
    """Ctrl-C runs ``handler`` where it would raise.

    Raised in the middle of ``concurrent.futures`` it would leave a future locked, for which the pool's own thread
    would wait for ever.
    """
    raises = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not raises or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class _Pool(ProcessPoolExecutor):
    """A pool that starts nothing more once ``interrupts`` has an entry."""

    def __init__(self, count: int, interrupts: list[int]) -> None:
        super().__init__(count, mp_context=_Context(), initializer=_begin)
        self._interrupts = interrupts

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        future = super().submit(call, *arguments, **named)
        if self._interrupts:
            raise KeyboardInterrupt
        return future


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
