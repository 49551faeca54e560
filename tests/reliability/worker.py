"""Cases run in a forked process, so that a crash or hang is an outcome; after one, a new process goes on."""

import os
import resource
import signal
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from tests.reliability.suite import Row

CASE_CPU_SECONDS = 10
CASE_WALL_SECONDS = 60
MOST_FAILURES = 20
MOST_GROWTH_BYTES = 64 << 20

Case = Callable[[int], tuple[str, str]]
"""(number of the case) -> (outcome, what is wrong or nothing)."""


def run_cases(subject: str, count: int, prepare: Callable[[Path], Case]) -> Row:
    """Run the cases 0 to ``count`` - 1; ``prepare(folder)`` is called in each new process, and gives the case."""
    row = Row(subject, count)
    growth = number = 0
    while number < count:
        read, write = os.pipe()
        with tempfile.TemporaryDirectory(prefix="reliability-") as folder:
            child = os.fork()
            if child == 0:
                os.close(read)
                _work(number, count, prepare, Path(folder), write)
            os.close(write)
            with os.fdopen(read, encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    outcome, kilobytes, failure = line.rstrip("\n").split("\t", 2)
                    _count(row, outcome, failure)
                    growth, number = max(growth, int(kilobytes)), number + 1
            _, status = os.waitpid(child, 0)
        if number < count:
            code = os.waitstatus_to_exitcode(status)
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            hang = name in ("SIGPROF", "SIGALRM")
            _count(row, "hang" if hang else "crash", f"case {number}: {name}")
            number += 1
            if sum(row.outcomes.get(name, 0) for name in ("crash", "hang")) > MOST_FAILURES:
                raise RuntimeError(f"{subject}: too many processes died, the last at case {number - 1} ({name})")
    row.note = f"peak +{growth / 1024:.0f} MB"
    if growth * 1024 > MOST_GROWTH_BYTES:
        row.failures.append(f"{row.note}: must grow by {MOST_GROWTH_BYTES >> 20} MB at most")
    return row


def _count(row: Row, outcome: str, failure: str) -> None:
    row.outcomes[outcome] = row.outcomes.get(outcome, 0) + 1
    if failure and len(row.failures) < MOST_FAILURES:
        row.failures.append(failure)


def _work(first: int, count: int, prepare: Callable[[Path], Case], folder: Path, write: int) -> None:
    """The life of a forked process: a line per case; it never returns."""
    code = 1
    try:
        os.environ["TQDM_DISABLE"] = "1"
        with os.fdopen(write, "w", encoding="utf-8") as out, patch("os.fsync"):  # nothing here must outlive the machine
            case = prepare(folder)
            start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            for number in range(first, count):
                signal.setitimer(signal.ITIMER_PROF, CASE_CPU_SECONDS)
                signal.setitimer(signal.ITIMER_REAL, CASE_WALL_SECONDS)
                try:
                    outcome, failure = case(number)
                except BaseException as error:  # whatever comes out is the outcome
                    place = traceback.extract_tb(error.__traceback__)[-1]
                    outcome = "other error"
                    failure = f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
                growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start
                text = f"case {number}: {' '.join(failure.split())[:300]}" if failure else ""
                out.write(f"{outcome}\t{growth}\t{text}\n")
                out.flush()
            code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)
