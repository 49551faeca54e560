"""Mutation of every kind of file, guided by coverage: an input that reaches new lines is mutated further.

``python -m tests.reliability.guided --hours 8`` goes round all subjects (``make fuzz HOURS=8``). Inputs that reached
new lines lie in ``build/fuzz/corpus``, for the next night; findings, each a file with its report beside it, in
``build/fuzz/findings``. The suite of mutation has the rule (``tests.reliability.damage``).
"""

import argparse
import hashlib
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from rayplay.formats.guard.digest import PACKAGES
from tests.reliability.damage import backup, outcome
from tests.reliability.mutate import mutated
from tests.reliability.subjects import SUBJECTS, Subject
from tests.reliability.suite import Row
from tests.reliability.worker import Case, run_cases

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "fuzz"
CASES_A_ROUND = 200
CHANGES = (1, 1, 1, 2, 4)
OURS = tuple(str(PACKAGES / name) for name in (
    "formats", "ptx", "replay", "tracer", "hypa", "tuner", "report", "silicon"))  # fmt: skip
Place = tuple[str, int, int]


class Coverage:
    """Pairs of lines of Rayplay's own code that ran one after the other."""

    def __init__(self) -> None:
        self.seen: set[Place] = set()
        self._new: set[Place] = set()
        self._last = 0

    def of(self, action: Callable[[], Any]) -> tuple[Any, int]:
        """Value of the action, and the number of pairs that it was the first to run."""
        self._new = set()
        sys.settrace(self._enter)
        try:
            given = action()
        finally:
            sys.settrace(None)
        self._new -= self.seen
        self.seen |= self._new
        return given, len(self._new)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        self._last = 0
        return self._line if frame.f_code.co_filename.startswith(OURS) else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self._new.add((frame.f_code.co_filename, self._last, frame.f_lineno))
            self._last = frame.f_lineno
        return self._line


def changed(subject: Subject, corpus: list[bytes], chance: random.Random) -> bytes:
    """The whole file or a member of the corpus with some changes, or with the end of another member."""
    data = corpus[0] if chance.random() < 0.5 else chance.choice(corpus)
    if len(corpus) > 1 and not subject.damage and chance.random() < 0.1:
        other = chance.choice(corpus)
        data = data[: chance.randrange(len(data) + 1)] + other[chance.randrange(len(other) + 1) :]
    for _ in range(chance.choice(CHANGES)):
        if data:
            data = subject.damage(data, chance) if subject.damage else mutated(data, subject.is_text, chance)
    return data


def explore(name: str, seed: str, build: Path = BUILD, cases: int = CASES_A_ROUND) -> Row:
    """One round of a subject: its corpus first, then mutations of it."""
    subject, word = SUBJECTS[name], name.replace("/", "-").replace(" ", "-")
    folders = build / "corpus" / word, build / "findings" / word
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    row = run_cases(name, cases, lambda folder: prepared(subject, seed, folder, *folders))
    for failure in row.failures:
        digest = hashlib.sha256(failure.encode()).hexdigest()[:12]
        (folders[1] / f"{digest}.txt").write_text(f"{name}, seed {seed}: {failure}\n", encoding="utf-8")
    return row


def prepared(subject: Subject, seed: str, folder: Path, known: Path, findings: Path) -> Case:
    """The case of a subject: an input is kept from before it is read until it was harmless."""
    files = subject.make(folder)
    wanted = [subject.read(file) for file in files]
    undo, coverage = backup(folder), Coverage()
    corpus = [[file.read_bytes()] for file in files]

    def tried(which: int, data: bytes) -> tuple[tuple[str, str], int]:
        undo()
        return coverage.of(lambda: outcome(subject, files[which], data, wanted[which]))

    for which, members in enumerate(corpus):
        tried(which, members[0])
        for path in sorted(known.glob(f"{which}-*"))[:CASES_A_ROUND]:
            members.append(path.read_bytes())

    def case(number: int) -> tuple[str, str]:
        chance = random.Random(f"{seed}/{number}")
        which = chance.randrange(len(files))
        data = changed(subject, corpus[which], chance)
        name = f"{which}-{hashlib.sha256(data).hexdigest()[:16]}"
        (findings / name).write_bytes(data)
        (found, failure), new = tried(which, data)
        if not failure:
            (findings / name).unlink()
            if new:
                corpus[which].append(data)
                (known / name).write_bytes(data)
        return found, failure and f"{failure} (input {name})"

    return case


def main() -> int:
    """Go round the subjects until the time has passed; exit code 1 when there is a finding."""
    parser = argparse.ArgumentParser("python -m tests.reliability.guided", description=__doc__)
    parser.add_argument("--hours", type=float, default=0.1)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--subject", action="append", choices=[*SUBJECTS])
    arguments = parser.parse_args()
    end, number, failures = time.monotonic() + arguments.hours * 3600, 0, 0
    while time.monotonic() < end:
        for name in arguments.subject or SUBJECTS:
            row = explore(name, f"{arguments.seed}/{name}/{number}")
            counts = ", ".join(f"{count} {what}" for what, count in sorted(row.outcomes.items()))
            print(f"round {number}: {name}: {counts}; {row.note}", *row.failures, sep="\n  ", flush=True)
            failures += len(row.failures)
            if time.monotonic() >= end:
                break
        number += 1
    print(f"{failures} findings in {BUILD / 'findings'}")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
