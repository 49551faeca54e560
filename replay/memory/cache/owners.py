"""Whose lines a cache holds: the class of work that each was allocated for, limits on ways, use by recency.

Kept where classes of work share an L2. A line belongs to the class whose request allocated it, by a texture access or
another; hits change neither. Use by recency is seen in the cache itself, or in monitors: tags of some sets as they were
if a class had the cache alone. Source: ``docs/sources/crisp.md#l2-composition``, ``#partitions``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

SAMPLED = 32  # sets for one with monitors


class Owners(NamedTuple):
    """Labels of the lines of all instances; a label is 2 x the place of the stream told apart + 1 for a texture."""

    owner: np.ndarray  # int32[rows]: label of each line that is in use
    label: np.ndarray  # int64[instances]: of the access under way; in an L1 whether it is of a texture alone
    class_of: np.ndarray  # int64[places]
    ways: np.ndarray  # int64[classes]: lines of a set from which on a class evicts its own alone
    use: np.ndarray  # int64[instances * classes, ways]: hits by how many lines of the set were used since
    monitor: np.ndarray  # int64[instances * classes * sets, ways]: line + 1 and its sectors, the one used last first
    monitored: int  # sets of an instance that monitors have: every ``SAMPLED``-th; 0: none
    classes: int
    are_kept: bool
    are_limited: bool
    takes_back: bool  # whether a class below its limit evicts lines of classes above theirs, or any


@dataclass(frozen=True)
class Sharing:
    """How classes of work share a cache.

    class_of     class of each place of the streams told apart; none: labels are not kept.
    are_limited  whether classes have limits on ways; takes_back: as in ``Owners``.
    has_monitors whether use by recency is seen in monitors.
    """

    class_of: Sequence[int] = ()
    are_limited: bool = False
    takes_back: bool = False
    has_monitors: bool = False


NOT_SHARED = Sharing()


def make_owners(rows: int, instances: int, sets: int, ways: int, sharing: Sharing) -> Owners:
    """No line is anyone's."""
    class_of, are_limited = sharing.class_of, sharing.are_limited
    classes, are_kept = max(class_of, default=0) + 1, len(class_of) > 0
    monitored = -(-sets // SAMPLED) if sharing.has_monitors else 0
    return Owners(
        np.zeros(rows if are_kept else 1, np.int32), np.zeros(instances, np.int64),
        np.array(class_of or [0], np.int64), np.full(classes, ways, np.int64),
        np.zeros((instances * classes if are_limited else 1, ways), np.int64),
        np.zeros((max(instances * classes * monitored, 1), ways), np.int64), monitored, classes, are_kept, are_limited,
        sharing.takes_back,
    )  # fmt: skip
