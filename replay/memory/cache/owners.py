"""Whose lines a cache holds: the class of work that each was allocated for, limits on ways, use by recency.

Kept where classes of work share an L2. A line belongs to the class whose request allocated it, by a texture access or
another; hits change neither. Source: ``docs/sources/crisp.md#l2-composition``, ``#partitions``.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Owners(NamedTuple):
    """Labels of the lines of all instances; a label is 2 x the place of the stream told apart + 1 for a texture."""

    owner: np.ndarray  # int32[rows]: label of each line that is in use
    label: np.ndarray  # int64[instances]: of the access under way; in an L1 whether it is of a texture alone
    class_of: np.ndarray  # int64[places]
    ways: np.ndarray  # int64[classes]: lines of a set from which on a class evicts its own alone
    use: np.ndarray  # int64[instances * classes, ways]: hits by how many lines of the set were used since
    classes: int
    are_kept: bool
    are_limited: bool


def make_owners(
    rows: int, instances: int, ways: int, class_of: Sequence[int] = (), are_limited: bool = False
) -> Owners:  # fmt: skip
    """No line is anyone's; class_of: class of each place of the streams told apart, none: labels are not kept."""
    classes, are_kept = max(class_of, default=0) + 1, len(class_of) > 0
    return Owners(
        np.zeros(rows if are_kept else 1, np.int32), np.zeros(instances, np.int64),
        np.array(class_of or [0], np.int64), np.full(classes, ways, np.int64),
        np.zeros((instances * classes if are_limited else 1, ways), np.int64), classes, are_kept, are_limited,
    )  # fmt: skip
