"""A suite and its outcome, one row per subject; ``docs/reliability.md`` is made of them."""

from collections.abc import Callable
from dataclasses import dataclass, field

Progress = Callable[[str], None]


@dataclass
class Row:
    """The outcome for one subject.

    outcomes  what happened -> in how many cases.
    failures  one line per case that broke the suite's rule, with what repeats it.
    note      measured besides, such as "peak +12 MB".
    """

    subject: str
    cases: int
    outcomes: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    note: str = ""


@dataclass(frozen=True)
class Suite:
    """One suite.

    name      as ``--only`` takes it.
    what      the damage and its subject, as a sentence.
    rule      the required outcome; anything else is a failure.
    subjects  names of its rows.
    run       (subject, seed, count) -> its row; ``count``: cases wanted, where the number is not fixed.
    """

    name: str
    what: str
    rule: str
    subjects: tuple[str, ...]
    run: Callable[[str, int, int], Row]
