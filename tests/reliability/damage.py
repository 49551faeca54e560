"""The suites of damage: mutation and truncation of every kind of file, each case in a process that may die of it."""

import shutil
from collections.abc import Callable
from pathlib import Path

from rayplay.formats.guard.errors import UserError
from tests.reliability.mutate import mutated, truncations
from tests.reliability.subjects import SUBJECTS, Subject, chance_of
from tests.reliability.suite import Row, Suite
from tests.reliability.worker import Case, run_cases

LONGEST_MESSAGE = 1500
RULE = (
    "A typed error of one line that names the file, or the same data. A change of a text may mean something else: "
    "accepted content must be valid (an imported trace keeps all laws; a program verifies, and its print parses to the "
    "same print; a scene has indices in range and finite coordinates; a description keeps its own laws). No crash, no "
    "other error, no case above 10 s of processor time, no growth above 64 MB, no wrong value."
)


def mutations(subject: str, seed: int, count: int) -> Row:
    """``count`` mutations of a subject."""

    def damage(data: bytes, number: int) -> bytes:
        value, chance = SUBJECTS[subject], chance_of(seed, subject, number)
        return value.damage(data, chance) if value.damage else mutated(data, value.is_text, chance)

    return run_cases(subject, count, lambda folder: prepared(subject, seed, folder, damage))


def cuts(subject: str, seed: int, count: int) -> Row:
    """Truncation of each file of a subject at ``count`` places (``truncations``)."""
    plan = [
        (number, length)
        for number, size in enumerate(_sizes(subject))
        for length in truncations(size, count, chance_of(seed, subject, number))
    ]

    def prepare(folder: Path) -> Case:
        files = SUBJECTS[subject].make(folder)
        whole = [file.read_bytes() for file in files]
        wanted = [SUBJECTS[subject].read(file) for file in files]
        undo = backup(folder)

        def case(number: int) -> tuple[str, str]:
            which, length = plan[number]
            undo()
            return outcome(SUBJECTS[subject], files[which], whole[which][:length], wanted[which])

        return case

    return run_cases(subject, len(plan), prepare)


def _sizes(subject: str) -> list[int]:
    """Lengths of the files of a subject, made in a process of its own: this one stays free of threads."""
    found: list[int] = []

    def prepare(folder: Path) -> Case:
        sizes = [file.stat().st_size for file in SUBJECTS[subject].make(folder)]
        return lambda number: (" ".join(map(str, sizes)), "")

    for words in run_cases(subject, 1, prepare).outcomes:
        found = [int(word) for word in words.split()]
    return found


def prepared(subject: str, seed: int, folder: Path, damage: Callable[[bytes, int], bytes]) -> Case:
    """The case of a subject in ``folder``: one of its files, damaged, read."""
    value = SUBJECTS[subject]
    files = value.make(folder)
    whole = [file.read_bytes() for file in files]
    wanted = [value.read(file) for file in files]
    undo = backup(folder)

    def case(number: int) -> tuple[str, str]:
        which = chance_of(seed, f"{subject} file", number).randrange(len(files))
        undo()
        return outcome(value, files[which], damage(whole[which], number), wanted[which])

    return case


def backup(folder: Path) -> Callable[[], None]:
    """Function that restores the present files of ``folder`` and removes later ones."""
    kept = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def undo() -> None:
        for path in folder.iterdir():
            if path.is_dir() and not any(path in file.parents for file in kept):
                shutil.rmtree(path)
        for path in [path for path in folder.rglob("*") if path.is_file()]:
            if path not in kept:
                path.unlink()
        for path, data in kept.items():
            path.write_bytes(data)

    return undo


def outcome(subject: Subject, file: Path, data: bytes, wanted: str) -> tuple[str, str]:
    """Read a damaged file: outcome, and the error in the outcome."""
    subject.publish(file, data)
    try:
        found = subject.read(file)
    except UserError as error:
        text = str(error)
        named = "\n" not in text and len(text) <= LONGEST_MESSAGE and str(file.parent) in text
        return ("refused", "") if named else ("unclear error", f"must be a line that names the file: {text!r}")
    if not subject.exact:
        return "valid", ""
    return ("same data", "") if found == wanted else ("wrong data", f"{file.name} was read as something else")


SUITES = (
    Suite("mutation", "Mutation of every kind of file: bits, bytes, blocks, zeros, numbers, lines, words.",
          RULE, tuple(SUBJECTS), mutations),
    Suite("truncation", "Truncation of each file, at every byte up to 4 KiB of length where 500 places or more are "
          "asked for, else at as many places as asked for.", RULE, tuple(SUBJECTS), cuts),
)  # fmt: skip
