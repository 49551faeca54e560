"""The first use of compiled code: numba compiles it, and a line says what and how long.

While it compiles, Python's collector rests: a compiler makes millions of small objects that live until its end, and
looking through them again and again took a seventh of the time.
"""

import gc
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from tqdm import tqdm

ACTIVE: list["Notice"] = []  # the innermost last, which alone is told


class Notice:
    """Shows that something is compiled, once that has taken ``patience`` seconds.

    On a terminal a bar fills while the expected seconds pass; elsewhere one line says what begins, one that it ended.
    """

    def __init__(self, what: str, expected: int, stream: TextIO, patience: float, often: str) -> None:
        self.what, self.expected, self.stream, self.patience, self.often = what, expected, stream, patience, often
        self.process = os.getpid()
        self.functions = self.depth = 0
        self.seconds = self.since = 0.0
        self.shown = self.collects = False
        self.bar: tqdm[None] | None = None
        self.ended = threading.Event()
        self.clock = threading.Thread(target=self._watch, daemon=True)

    def is_told(self) -> bool:
        """Whether it is the innermost, and not in a copy of the process."""
        return ACTIVE[-1] is self and os.getpid() == self.process

    def on_start(self) -> None:
        """A function begins to be compiled."""
        self.functions += 1
        self.depth += 1
        if self.depth == 1:
            self.since, self.collects = time.monotonic(), gc.isenabled()
            gc.disable()
            if self.functions == 1:
                self.clock.start()

    def on_end(self) -> None:
        """A function is compiled."""
        self.depth -= 1
        if self.depth == 0:
            self.seconds += time.monotonic() - self.since
            if self.collects:
                gc.enable()

    def _watch(self) -> None:
        """Tell, from a thread of its own."""
        while not self.ended.wait(self.patience if not self.shown else 0.25):
            elapsed = self.seconds + (time.monotonic() - self.since if self.depth else 0.0)
            if elapsed >= self.patience and not self.shown:
                self.shown = True
                self._begin()
            if self.bar is not None:
                self.bar.set_description(f"compiling {self.what}, {self.functions} functions", refresh=False)
                self.bar.n = min(int(elapsed), self.expected)
                self.bar.refresh()

    def _begin(self) -> None:
        if self.stream.isatty():
            form = "{desc}: {elapsed} of about {total} s |{bar}|"
            self.bar = tqdm(total=self.expected, bar_format=form, file=self.stream, leave=False)
        else:
            text = f"compiling {self.what}, {self.often}: about {self.expected} s"
            tqdm.write(text, file=self.stream)

    def end(self) -> None:
        """Nothing more is compiled."""
        self.ended.set()
        if self.functions:
            self.clock.join()
        if self.bar is not None:
            self.bar.close()
        if self.shown:
            tqdm.write(f"compiled {self.what} in {self.seconds:.1f} s", file=self.stream)


@contextmanager
def first_use(
    what: str, expected: int, stream: TextIO | None = None, patience: float = 1.0,
    often: str = "once after an installation",
) -> Iterator[None]:  # fmt: skip
    """Tell of functions that the block compiles.

    what      of which the functions are part, such as ``the importer``.
    expected  seconds that it takes on two cores.
    often     says when it is compiled.
    """
    from numba.core import event

    notice = Notice(what, expected, stream or sys.stderr, patience, often)

    class Heard(event.Listener):
        def on_start(self, event: Any) -> None:
            if notice.is_told():
                notice.on_start()

        def on_end(self, event: Any) -> None:
            if notice.is_told():
                notice.on_end()

    ACTIVE.append(notice)
    try:
        with event.install_listener("numba:compile", Heard()):
            yield
    finally:
        notice.end()
        ACTIVE.remove(notice)


@contextmanager
def no_linear_algebra() -> Iterator[None]:
    """Keep numba, which looks for BLAS when it compiles or loads its first function, from importing ``scipy.linalg``.

    The import takes a third of a second. Nothing in the block may need it; numba's ``dot`` finds it later all the same.
    """
    name = "scipy.linalg"
    hidden: Any = None  # None makes an import fail
    is_new = sys.modules.setdefault(name, hidden) is None
    try:
        yield
    finally:
        if is_new:
            del sys.modules[name]
