"""A study's numbers made again by this engine, and compared with the numbers that its folder holds.

A study names the engine that made it. A later engine may give the same numbers: whether it does is a question for
replays, not for a digest of sources. A point is what an experiment needs of one picture, beside one partner.
"""

import shlex
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rayplay.crisp.experiment import Experiment
from rayplay.crisp.study import Study
from rayplay.crisp.tasks import Task
from rayplay.crisp.values import Case, Value, stored_values
from rayplay.formats.dataset.reader import Dataset, open_source
from rayplay.formats.guard.errors import UserError
from rayplay.formats.schema.study import CRISP_STUDY

COMMAND = "python -m crisp "
SHOWN = 5  # numbers of a point that differ, at most
Key = tuple[str, Case, str, bytes]


@dataclass(frozen=True)
class Point:
    """A part of an experiment that yields values by itself, and its tasks."""

    experiment: Experiment
    tasks: Mapping[Case, Task]

    @property
    def name(self) -> str:
        """A name for people."""
        case = next(iter(self.tasks))
        return f"{self.experiment.name} {case.graphics}{'+' * bool(case.partner)}{case.partner}"


def words_of(folder: Path) -> list[str]:
    """Options of the command that made a study; ``UserError`` for a folder without it."""
    command = str(Dataset(open_source(folder, CRISP_STUDY), CRISP_STUDY).manifest.provenance.get("command", ""))
    if not command.startswith(COMMAND):
        raise UserError(f"{folder}: the manifest must name the command that made it, found {command!r}")
    return shlex.split(command.removeprefix(COMMAND))


def points(
    work: Mapping[Experiment, Mapping[Case, Task]], count: int | None, pictures: Sequence[str] = ()
) -> list[Point]:
    """Every point of the work, or ``count`` of them, spread evenly; with ``pictures`` of these alone."""
    found = []
    for experiment, tasks in work.items():
        parts: dict[tuple[str, str], dict[Case, Task]] = {}
        for case, task in tasks.items():
            if not pictures or case.graphics in pictures:
                parts.setdefault((case.graphics, case.partner), {})[case] = task
        found += [Point(experiment, part) for part in parts.values()]
    if count is None or count >= len(found):
        return found
    return [found[(2 * number + 1) * len(found) // (2 * count)] for number in range(count)]


def check(study: Study, folder: Path, chosen: Sequence[Point]) -> bool:
    """Make the points, and say of each on standard output whether its numbers are the folder's; whether all are.

    Raises ``UserError`` for a point that the folder has no number of.
    """
    stored = {(one.experiment, one.case, one.quantity, _bits(one.at)): one.value for one in stored_values(folder)}
    for point in chosen:
        if not any(key[0] == point.experiment.name for key in stored):
            raise UserError(f"{folder}: has no numbers of the experiment {point.experiment.name}")
    study.prepare([task for point in chosen for task in point.tasks.values()])
    off = 0
    for point in chosen:
        made = list(point.experiment.values({case: study.value(task) for case, task in point.tasks.items()}))
        differing = list(_differing(made, stored))
        off += len(differing)
        print(f"{point.name}: {len(made) - len(differing)} of {len(made)} numbers are equal")
        for line in differing[:SHOWN]:
            print(f"  {line}")
    print(f"{folder}: {off or 'none'} of the numbers of {len(chosen)} points {'differs' if off == 1 else 'differ'}")
    return not off


def _bits(number: float) -> bytes:
    """A number as a key: NaN equals itself."""
    return struct.pack("<d", number)


def _differing(made: Sequence[Value], stored: Mapping[Key, float]) -> Iterator[str]:
    for one in made:
        known = stored.get((one.experiment, one.case, one.quantity, _bits(one.at)))
        if known is None or _bits(known) != _bits(float(one.value)):
            case = " ".join(word for word in one.case if word)
            place = "" if one.at != one.at else f" at {one.at:,.0f}"
            said = "is not in the study" if known is None else f"{known!r} in the study, {float(one.value)!r} now"
            yield f"{case}, {one.quantity}{place}: {said}"
