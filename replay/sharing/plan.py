"""What a partition grants each class of work: quotas of every SM, slices of the L2, ways of its sets.

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


@dataclass(frozen=True)
class Plan:
    """Grants of a partition.

    quota    int64[sms, classes, dispatch.QUOTA_COLUMNS]: the most that a class may hold of an SM.
    slices   int64[classes, slices]: where the requests of a class to an L2 slice go; None: to it.
    ways     int64[classes]: lines of an L2 set from which on a class evicts its own alone; None: no limit.
    """

    quota: np.ndarray
    slices: np.ndarray | None = None
    ways: np.ndarray | None = None


def whole_sms(spec: dispatch.Spec, classes: int) -> np.ndarray:
    """Quotas of every SM's whole capacity for each class: int64[sms, classes, dispatch.QUOTA_COLUMNS]."""
    capacity = np.array([spec.warps, spec.ctas, spec.registers, spec.shared_bytes], np.int64)
    return np.tile(capacity, (spec.count, classes, 1))


def bounds(shares: Sequence[int], total: int) -> list[int]:
    """Where each class's part of ``total`` units begins, and the end: the shares summed before it, rounded down."""
    before = np.cumsum([0, *shares])
    return [int(total * sum_before // before[-1]) for sum_before in before]


def shares_of(shares: Sequence[int], names: Sequence[str], rule: str) -> tuple[int, ...]:
    """A share for each class, equal ones where none are given; ``UserError`` unless each is at least 1."""
    if not shares:
        return (1,) * len(names)
    if len(shares) != len(names):
        raise UserError(f"partition {rule}: shares must be one for each of {len(names)} classes, not {len(shares)}")
    for name, share in zip(names, shares, strict=True):
        if share < 1:
            raise UserError(f"partition {rule}: shares must give class {name} at least 1, not {share}")
    return tuple(shares)


def expect_some(parts: Sequence[int], names: Sequence[str], rule: str, what: str) -> None:
    """``UserError`` when a class gets none of the units."""
    for name, part in zip(names, np.diff(parts), strict=True):
        if part < 1:
            raise UserError(f"partition {rule}: class {name} would get none of {parts[-1]} {what}; give it more shares")


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
