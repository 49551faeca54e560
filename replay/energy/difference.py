"""The difference of two energies, and whether its sign survives the range of the RT units."""

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.result import open_result
from rayplay.formats.guard.answer import Record
from rayplay.formats.guard.errors import UserError
from rayplay.replay.energy.account import Account, account
from rayplay.replay.energy.law import KINDS
from rayplay.replay.energy.table import RT_EVENTS, read_table
from rayplay.replay.energy.write import quantity
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.run.driver import simulate


class Difference(NamedTuple):
    """Joules of one replay less another's: the least, by default, the most."""

    low: float
    default: float
    high: float

    @property
    def survives(self) -> bool:
        """Whether the sign is the same anywhere in the range."""
        return self.low > 0 or self.high < 0 or self.low == self.high


class Charge(NamedTuple):
    """Joules of a replay.

    joules  by default. seconds of the replay.
    rt      event of the RT units -> joules: the least, by default, the most.
    """

    joules: float
    seconds: float
    rt: Mapping[str, tuple[float, float, float]]

    def less(self, other: "Charge") -> Difference:
        """Joules of this less the joules of ``other``, over the whole range of every event of the RT units.

        An event costs the same in both, so that a corner of the range is one choice per event: the difference is
        linear in each.
        """
        default = self.joules - other.joules
        apart = []
        for event in RT_EVENTS:
            low, middle, high = (mine - theirs for mine, theirs in zip(self.rt[event], other.rt[event], strict=True))
            apart.append((low - middle, high - middle))
        return Difference(default + sum(map(min, apart)), default, default + sum(map(max, apart)))


def charge_of(found: Account) -> Charge:
    """The joules of an account."""
    return Charge(found.joules[1], found.seconds, found.rt)


def charged(trace: Path, gpu: Gpu, table: str) -> Charge:
    """Replay a trace on a GPU and count its joules by a table, as ``rayplay replay --energy`` does."""
    opened = open_trace(trace)
    with tempfile.TemporaryDirectory(prefix="rayplay-energy-") as folder:
        out = Path(folder) / "one.result"
        simulate(opened, gpu).write(out, {"trace": trace.name, "gpu": asdict(gpu)})
        return charge_of(account(open_result(out), read_table(table), opened))


def difference(one: Account, other: Account) -> Difference:
    """Joules of ``one`` less the joules of ``other``, as ``Charge.less``. ``UserError`` for different tables."""
    if one.table != other.table:
        raise UserError(f"{other.result.path}: must be compared by the table {one.table.name}, too")
    return charge_of(one).less(charge_of(other))


def lines(one: Account, other: Account) -> Iterator[str]:
    """The difference for a reader; ``other`` is the base."""
    found, base = difference(one, other), other.joules[1]
    share = f"{found.default / base:+.2%}" if base else "no base"
    yield (
        f"{one.result.path.name} less {other.result.path.name}: {quantity(found.default, 'J')} ({share};"
        f" {quantity(found.low, 'J')} to {quantity(found.high, 'J')})"
    )
    for kind in KINDS:
        apart = one.kind(kind) - other.kind(kind)
        low, high = (apart + end - found.default for end in (found.low, found.high))
        spread = f"  ({quantity(low, 'J')} to {quantity(high, 'J')})" if kind == "dynamic" else ""
        yield f"  {kind:<24}{quantity(apart, 'J'):>12}{spread}"
    yield f"The sign of the difference {kept_text(found)} the range of the RT units' energies."


def kept_text(found: Difference) -> str:
    """Whether a sign survives, in words before "the range"."""
    return "is the same anywhere in" if found.survives else "changes within"


def record(one: Account, other: Account) -> Record:
    """The difference as a record with the names of ``write.records``."""
    found = difference(one, other)
    return {
        "result": one.result.path.name, "metric": f"less {other.result.path.name}", "value": found.default,
        "low": found.low, "high": found.high, "unit": "J",
    }  # fmt: skip
