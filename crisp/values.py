"""Values of a study and the published ones beside them, by what they are of."""

import csv
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from rayplay.formats.dataset.reader import Dataset, open_source
from rayplay.formats.schema.study import CRISP_STUDY

NAN = float("nan")
PUBLISHED = Path(__file__).with_name("published.csv")


class Case(NamedTuple):
    """Subject of a value; a field is empty where it does not apply.

    size       of the picture, WxH.
    graphics   picture of the suite; a mesh in the experiment ``batches``.
    partner    compute kernels beside it.
    variant    what differs from the rest: no levels of detail, a class alone.
    """

    gpu: str = ""
    size: str = ""
    graphics: str = ""
    partner: str = ""
    partition: str = ""
    variant: str = ""


class Value(NamedTuple):
    """One number. ``at``: the place along a series (cycle, batch, lines), NaN for a single number."""

    experiment: str
    case: Case
    quantity: str
    value: float
    at: float = NAN


class Published(NamedTuple):
    """A value with who said it (paper, hardware, artifact, meshes) and where it stands."""

    value: Value
    who: str
    source: str


class Finding(NamedTuple):
    """A sentence of the paper, whether its direction holds here (None: not to be said here), the values, the limits."""

    figure: str
    paper: str
    holds: bool | None
    theirs: str
    here: str
    limits: str


def stored_values(folder: Path) -> list[Value]:
    """Values of a study's folder, in order."""
    table = Dataset(open_source(folder, CRISP_STUDY), CRISP_STUDY).read("values")
    columns = (table[name].tolist() for name in ("experiment", *Case._fields, "quantity", "value", "at"))
    return [
        Value(name, Case(*case), quantity, value, at) for name, *case, quantity, value, at in zip(*columns, strict=True)
    ]


@cache
def published() -> tuple[Published, ...]:
    """The published values, from ``published.csv``."""
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        return tuple(_read(row) for row in csv.DictReader(file))


def _read(row: dict[str, str]) -> Published:
    case = Case(*(row.get(name, "") for name in Case._fields))
    value = Value(row["experiment"], case, row["quantity"], float(row["value"]), float(row["at"] or NAN))
    return Published(value, row["who"], row["source"])


def theirs(experiment: str, quantity: str, who: str = "", **case: str) -> dict[Case, float]:
    """Published single values of a quantity by case."""
    rows = [one for one in published() if who in ("", one.who)]
    return singles([one.value for one in rows], experiment, quantity, **case)


def chosen(values: Iterable[Value], experiment: str, quantity: str, **case: str) -> list[Value]:
    """Values of a quantity whose case has these fields."""
    return [
        one
        for one in values
        if (one.experiment, one.quantity) == (experiment, quantity)
        and all(getattr(one.case, name) == wanted for name, wanted in case.items())
    ]


def singles(values: Iterable[Value], experiment: str, quantity: str, **case: str) -> dict[Case, float]:
    """Single values of a quantity by case, in order."""
    return {one.case: one.value for one in chosen(values, experiment, quantity, **case) if one.at != one.at}


def series(values: Sequence[Value], experiment: str, quantity: str, case: Case) -> tuple[list[float], list[float]]:
    """Places and values of a series."""
    found = [one for one in chosen(values, experiment, quantity) if one.case == case and one.at == one.at]
    return [one.at for one in found], [one.value for one in found]


def mean(numbers: Iterable[float]) -> float:
    """Arithmetic mean; NaN of none."""
    known = list(numbers)
    return sum(known) / len(known) if known else NAN
