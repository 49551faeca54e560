"""The suites of injected faults: the nth step of a writer fails, for n = 1, 2, 3 ... until it succeeds."""

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.locks import remove_left_overs
from tests.reliability.full_disk import FILES, files_of
from tests.reliability.suite import Row, Suite
from tests.reliability.worker import Case, run_cases

STEPS = {"os.mkdir", "os.rename", "os.link", "os.truncate", "os.chmod", "tempfile.mkstemp", "tempfile.mkdtemp"}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
FAILURES = (OSError, UserError, MemoryError)
NOT_OURS = (SystemError, RuntimeError)  # as numpy and the threads of Python say that there is no memory


class Faults:
    """Fails the nth step in ``folder`` that Python hears of: a file opened to be written, made, moved or synced."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.left = str(folder), 0
        sys.addaudithook(self._hear)

    def _hear(self, event: str, given: tuple[Any, ...]) -> None:
        if self.left and (event in STEPS or (event == "open" and isinstance(given[2], int) and given[2] & WRITES)):
            self.step(str(given[0]))

    def step(self, path: str) -> None:
        """Count a step; the last one fails."""
        if self.left and path.startswith(self.folder):
            self.left -= 1
            if not self.left:
                raise OSError(errno.EIO, "Input/output error", path)

    def sync(self, handle: int) -> None:
        """In place of ``os.fsync``."""
        self.step(self.folder)


def faulty(subject: str, count: int, fail: Callable[[Path], Callable[[int, Callable[[], object]], None]]) -> Row:
    """Write a new file over an old one, the nth step of which fails as ``fail(folder)`` does: (n, action)."""
    name, make = FILES[subject]

    def prepare(folder: Path) -> Case:
        whole, path = folder / "whole" / name, folder / "old" / name
        for place, number in ((whole, 2), (path, 1)):
            place.parent.mkdir()
            make(place, number)
        before, wanted, run = files_of(path), files_of(whole), fail(path.parent)

        def case(number: int) -> tuple[str, str]:
            try:
                run(number + 1, lambda: make(path, 2))
                outcome, expected = "written", wanted
            except (*FAILURES, *NOT_OURS) as error:
                outcome, expected = "refused", before
                if isinstance(error, FAILURES) and "\n" in str(error):
                    return "unclear error", f"must be one line: {error}"
            found = files_of(path)
            remove_left_overs(path)  # as the next run does: none may be held by what failed
            left = sorted(entry.name for entry in path.parent.iterdir())
            if found not in (expected, wanted) or left != [name]:  # the last step comes after the new name
                return "half-written", f"neither old nor complete, or more than it: {left}"
            if found == wanted:
                make(path, 1)
            return outcome, ""

        return case

    return run_cases(subject, count, prepare)


def steps(subject: str, seed: int, count: int) -> Row:
    """The nth step fails."""

    def fail(folder: Path) -> Callable[[int, Callable[[], object]], None]:
        faults = Faults(folder)

        def run(number: int, action: Callable[[], object]) -> None:
            faults.left = number
            try:
                with patch("os.fsync", faults.sync):
                    action()
            finally:
                faults.left = 0

        return run

    return faulty(subject, min(count, MOST_STEPS), fail)


def allocations(subject: str, seed: int, count: int) -> Row:
    """The nth allocation of Python fails, n at ever larger distances: there are some hundred thousand."""
    memory = pytest.importorskip("_testcapi")

    def run(number: int, action: Callable[[], object]) -> None:
        at = number + number**3 // 50
        memory.set_nomemory(at, at + 1)
        try:
            action()
        finally:
            memory.remove_mem_hooks()

    row = faulty(subject, min(count, MOST_ALLOCATIONS), lambda folder: run)
    # C of the libraries; and Python 3.11's Thread.start, which waits for ever for a thread that had no memory to begin
    row.failures = [line for line in row.failures if not line.endswith(("SIGSEGV", "SIGABRT", "SIGALRM"))]
    return row


MOST_STEPS, MOST_ALLOCATIONS = 100, 120
RULE = "One error; what stood there stays, and nothing else is there; at last the new file."

SUITES = (
    Suite("failed step", "The nth file that is opened, made, moved or synced fails, for n = 1, 2, 3 ...", RULE,
          tuple(FILES), steps),
    Suite("failed allocation", "The nth allocation fails.", RULE, tuple(FILES), allocations),
)  # fmt: skip
