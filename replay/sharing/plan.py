"""Grants of a partition to each class of work: quotas of every SM, slices of the L2, ways of its sets.

A rule is a function ``plan`` in a file of its own here, with a ``Spec`` of its values; ``rules`` lists them by name. A
rule that changes its plan while the replay runs also has ``adapt``. Source: ``docs/sources/crisp.md#partitions``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.replay.sm import ctas as dispatch
from rayplay.replay.sm.ctas import Needs

NEVER = 1 << 62  # cycle


@dataclass(frozen=True)
class Plan:
    """Grants of a partition.

    quota    int64[sms, classes, dispatch.QUOTA_COLUMNS]: the most that a class may hold of an SM.
    slices   int64[classes, 2]: first L2 slice of a class, and its slices; None: all are shared.
    ways     int64[classes]: lines of an L2 set from which on a class evicts its own alone; None: no limit.
    takes_back, has_monitors  of the ways, as in ``memory.cache.owners``; they never change.
    """

    quota: np.ndarray
    slices: np.ndarray | None = None
    ways: np.ndarray | None = None
    takes_back: bool = False
    has_monitors: bool = False


@dataclass(frozen=True)
class Work:
    """The classes that share a GPU, by number.

    kinds  of work.
    needs  int64[classes, dispatch.QUOTA_COLUMNS]: the most that a CTA of each takes.
    rule   that divides the GPU, for messages.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    needs: np.ndarray
    rule: str

    def expect(self, holds: bool, sentence: str) -> None:
        """``UserError`` with the sentence when it does not hold."""
        if not holds:
            raise UserError(f"partition {self.rule}: {sentence}")


@dataclass(frozen=True)
class Observed:
    """Work of the classes up to a cycle.

    instructions  int64[sms, classes]: warp-instructions issued.
    accesses      int64[classes]: sectors looked up in the L2.
    use           int64[classes, ways]: hits in the L2 by the lines of their set that were used since.
    counts        the counters that ``use`` sums, for ``keep``.
    """

    cycle: int
    instructions: np.ndarray
    accesses: np.ndarray
    use: np.ndarray
    counts: np.ndarray

    def keep(self, percent: int) -> None:
        """Go on from a share of ``use``, rounded down."""
        self.counts[:] = self.counts * percent // 100


def whole_sms(spec: dispatch.Spec, classes: int) -> np.ndarray:
    """Quotas of every SM's whole capacity for each class: int64[sms, classes, dispatch.QUOTA_COLUMNS]."""
    capacity = np.array([spec.warps, spec.ctas, spec.registers, spec.shared_bytes], np.int64)
    return np.tile(capacity, (spec.count, classes, 1))


def bounds(shares: Sequence[int], total: int) -> list[int]:
    """First unit of each class's part of ``total``, and the end: the shares summed before it, rounded down."""
    before = np.cumsum([0, *shares])
    return [int(total * sum_before // before[-1]) for sum_before in before]


def shares_of(shares: Sequence[int], work: Work) -> tuple[int, ...]:
    """A share for each class, equal ones where none are given; ``UserError`` unless each is at least 1."""
    if not shares:
        return (1,) * len(work.names)
    work.expect(
        len(shares) == len(work.names), f"shares must be one for each of {len(work.names)} classes, not {len(shares)}"
    )
    for name, share in zip(work.names, shares, strict=True):
        work.expect(share >= 1, f"shares must give class {name} at least 1, not {share}")
    return tuple(shares)


def expect_some(parts: Sequence[int], work: Work, what: str) -> None:
    """``UserError`` when a class gets none of the units."""
    for name, part in zip(work.names, np.diff(parts), strict=True):
        work.expect(int(part) >= 1, f"class {name} would get none of {parts[-1]} {what}; give it more shares")


def expect_fit(quota: np.ndarray, work_class: int, name: str, kernel: str, need: Needs, rule: str) -> None:
    """``UserError`` when no SM ever grants a class enough for a CTA of its kernel."""
    wanted: list[tuple[int, Any]] = [
        (dispatch.QUOTA_WARPS, need.warps), (dispatch.QUOTA_CTAS, 1), (dispatch.QUOTA_REGISTERS, need.registers),
        (dispatch.QUOTA_SHARED, need.shared_bytes),
    ]  # fmt: skip
    words = ("warps", "CTAs", "registers", "bytes of shared memory")
    if np.all(quota[:, work_class] >= [need for _, need in wanted], axis=1).any():
        return
    most = quota[:, work_class].max(axis=0)
    for column, needed in wanted:
        if needed > most[column]:
            raise UserError(
                f"partition {rule}: kernel {kernel} of class {name} needs {needed} {words[column]} a CTA, but the class"
                f" has at most {most[column]} of an SM"
            )
