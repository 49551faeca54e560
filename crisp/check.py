"""A study's numbers made again by this engine, and compared with the numbers that its folder holds.

A study names the engine that made it. A later engine may give the same numbers: whether it does is a question for
replays, not for a digest of sources. A point is what an experiment needs of one picture, beside one partner.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rayplay.crisp.experiment import Experiment
from rayplay.crisp.study import Study
from rayplay.crisp.tasks import Task
from rayplay.crisp.values import Case, Value, stored_values
from rayplay.formats.dataset.reader import Dataset, open_source
from rayplay.formats.guard.errors import UserError
from rayplay.formats.schema.study import CRISP_STUDY

COMMAND = ["python", "-m", "crisp"]
SHOWN = 5  # numbers of a point that differ, at most
Part = tuple[str, str, str]  # experiment, picture, partner
Key = tuple[str, Case, str, bytes]


@dataclass(frozen=True)
class Point:
    """A part of an experiment that yields values by itself, and its tasks."""

    experiment: Experiment
    tasks: Mapping[Case, Task]

    @property
    def part(self) -> Part:
        """Experiment, picture and partner of its values."""
        case = next(iter(self.tasks))
        return self.experiment.name, case.graphics, case.partner

    @property
    def name(self) -> str:
        """A name for people."""
        experiment, graphics, partner = self.part
        return f"{experiment} {graphics}{'+' * bool(partner)}{partner}"


def words_of(folder: Path) -> list[str]:
    """Options of the command that made a study, but ``--out``; ``UserError`` for a folder without the command."""
    command = str(Dataset(open_source(folder, CRISP_STUDY), CRISP_STUDY).manifest.provenance.get("command", ""))
    words = command.partition(" --out ")[0].split()  # no option before it has a space in its value
    if words[: len(COMMAND)] != COMMAND:
        raise UserError(f"{folder}: the manifest must name the command that made it, found {command!r}")
    return words[len(COMMAND) :]


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


def check(study: Study, folder: Path, chosen: Sequence[Point], is_whole: bool = False) -> bool:
    """Make the points, and say of each on standard output whether its numbers are the folder's; whether all are.

    A number that the folder has of a point and that is not made differs too; of a whole study also one of no point.

    Raises ``UserError`` for a point of an experiment that the folder has no number of.
    """
    stored: dict[Part, list[Value]] = {}
    for one in stored_values(folder):
        stored.setdefault((one.experiment, one.case.graphics, one.case.partner), []).append(one)
    for point in chosen:
        if point.experiment.name not in {experiment for experiment, *_ in stored}:
            raise UserError(f"{folder}: has no numbers of the experiment {point.experiment.name}")
    study.prepare([task for point in chosen for task in point.tasks.values()])
    off = 0
    for point in chosen:
        made = point.experiment.values({case: study.value(task) for case, task in point.tasks.items()})
        off += _compared(point.name, made, stored.pop(point.part, []))
    if is_whole and stored:
        off += _compared("of no point", [], [one for values in stored.values() for one in values])
    print(f"{folder}: {off or 'none'} of the numbers of {len(chosen)} points {'differs' if off == 1 else 'differ'}")
    return not off


def _compared(name: str, made: Iterable[Value], stored: Iterable[Value]) -> int:
    """Say how many numbers are equal, and some that are not; returns how many are not."""
    now, known = ({_key(one): float(one.value) for one in values} for values in (made, stored))
    keys = list(dict.fromkeys([*now, *known]))
    off = [key for key in keys if key not in now or key not in known or _bits(now[key]) != _bits(known[key])]
    print(f"{name}: {len(keys) - len(off)} of {len(keys)} numbers are equal")
    for key in off[:SHOWN]:
        print(f"  {_difference(key, now.get(key), known.get(key))}")
    return len(off)


def _key(one: Value) -> Key:
    return one.experiment, one.case, one.quantity, _bits(one.at)


def _bits(number: float) -> bytes:
    """A number as a key: NaN equals itself."""
    return struct.pack("<d", number)


def _difference(key: Key, now: float | None, known: float | None) -> str:
    _, case, quantity, bits = key
    (at,) = struct.unpack("<d", bits)
    if known is None:
        said = "is not in the study"
    elif now is None:
        said = "is not made now"
    else:
        said = f"{known!r} in the study, {now!r} now"
    return f"{' '.join(filter(None, case))}, {quantity}{'' if at != at else f' at {at:,.0f}'}: {said}"
