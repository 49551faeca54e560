"""The difference of two energies, and whether its sign survives the range of the RT units."""

from collections.abc import Iterator
from typing import NamedTuple

from rayplay.formats.guard.answer import Record
from rayplay.formats.guard.errors import UserError
from rayplay.replay.energy.account import Account
from rayplay.replay.energy.law import KINDS
from rayplay.replay.energy.table import RT_EVENTS
from rayplay.replay.energy.write import quantity


class Difference(NamedTuple):
    """Joules of one replay less another's: the least, by default, the most."""

    low: float
    default: float
    high: float

    @property
    def survives(self) -> bool:
        """Whether the sign is the same anywhere in the range."""
        return self.low > 0 or self.high < 0 or self.low == self.high


def difference(one: Account, other: Account) -> Difference:
    """Joules of ``one`` less the joules of ``other``, over the whole range of every event of the RT units.

    An event costs the same in both, so that a corner of the range is one choice per event: the difference is linear in
    each. Raises ``UserError`` for energies by different tables.
    """
    if one.table != other.table:
        raise UserError(f"{other.result.path}: must be compared by the table {one.table.name}, too")
    default = one.joules[1] - other.joules[1]
    apart = []
    for event in RT_EVENTS:
        low, middle, high = (mine - theirs for mine, theirs in zip(one.rt[event], other.rt[event], strict=True))
        apart.append((low - middle, high - middle))
    return Difference(default + sum(min(pair) for pair in apart), default, default + sum(max(pair) for pair in apart))


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
    kept = "is the same anywhere in" if found.survives else "changes within"
    yield f"The sign of the difference {kept} the range of the RT units' energies."


def record(one: Account, other: Account) -> Record:
    """The difference as a record with the names of ``write.records``."""
    found = difference(one, other)
    return {
        "result": one.result.path.name, "metric": f"less {other.result.path.name}", "value": found.default,
        "low": found.low, "high": found.high, "unit": "J",
    }  # fmt: skip
