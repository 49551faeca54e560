"""Output file of the HDF5 library, which the library can close even when the disk is full or the user interrupts."""

import io
import signal
import threading
from pathlib import Path
from typing import Any, Self


class Hdf5Sink(io.FileIO):
    """A file open for reading and writing that never fails in the middle of the library.

    HDF5 cannot close a file whose device refuses writes: it reports every object it could not store and then crashes.
    So the first failure is kept for ``check``, and later writes are discarded. Ctrl-C is kept as well: Python would
    raise it in the next ``write``, before its first statement.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, "w+")
        self.failure: BaseException | None = None
        self._handler: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._handler = signal.signal(signal.SIGINT, self._interrupted)
        return self

    def __exit__(self, *error: object) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
        self.close()
        if error[0] is None:
            self.check()

    def _interrupted(self, *signals: object) -> None:
        self.failure = self.failure or KeyboardInterrupt()

    def check(self) -> None:
        """Raise the first failure, if there was one."""
        if self.failure is not None:
            raise self.failure

    def write(self, data: memoryview) -> int:  # type: ignore[override]
        """Write all of ``data``, or nothing after a failure; its length in bytes either way."""
        left = memoryview(data).cast("B")
        size = len(left)
        try:
            while len(left) and self.failure is None:
                left = left[super().write(left) :]
        except BaseException as failure:
            self.failure = failure
        return size

    def truncate(self, size: int | None = None) -> int:
        """Cut or extend the file to ``size`` bytes, or leave it after a failure; ``size`` either way."""
        wanted = self.tell() if size is None else size
        try:
            if self.failure is None:
                super().truncate(wanted)
        except BaseException as failure:
            self.failure = failure
        return wanted
