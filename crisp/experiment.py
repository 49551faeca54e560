"""An experiment: what it needs done, the values in that, the findings that they decide, and its table and figure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rayplay.crisp.suite import Suite
from rayplay.crisp.tasks import Task
from rayplay.crisp.values import Case, Finding, Value

Found = Mapping[Case, dict[str, Any]]
Table = tuple[Sequence[str], Sequence[Sequence[str]]]


@dataclass(frozen=True)
class Experiment:
    """A figure of the paper, repeated.

    tasks     what must be done, by the case that it is of; nothing where the suite lacks what it needs.
    values    the numbers in what the tasks found.
    findings  the paper's sentences about them.
    table     head and lines for the page.
    draw      the figure.
    """

    name: str
    title: str
    tasks: Callable[[Suite], Mapping[Case, Task]]
    values: Callable[[Found], Iterator[Value]]
    findings: Callable[[Sequence[Value]], Iterator[Finding]]
    table: Callable[[Sequence[Value]], Table]
    draw: Callable[[Sequence[Value], Path], None]
