"""Which kernels of a trace are replayed: by number, by name, and by place, as Nsight Compute chooses launches.

The name comes first: launches to skip and to count are those whose name matches. A launch left out takes no cycle, and
its warps change nothing; host copies before it stay visible to the kernels after it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rayplay.formats.guard.errors import UserError
from rayplay.replay.launch.launches import Launch


@dataclass(frozen=True)
class Selection:
    """Kernels chosen on the command line; by default all.

    kernels   numbers of launches, as in the table ``kernels``; empty: all.
    name      regular expression found somewhere in the name.
    skip      matching launches to leave out at the beginning.
    count     matching launches to replay after those; None: all.
    """

    kernels: tuple[int, ...] = ()
    name: str | None = None
    skip: int = 0
    count: int | None = None

    def __post_init__(self) -> None:
        if self.skip < 0:
            raise UserError(f"--launch-skip must not be negative, but is {self.skip}")
        if self.count is not None and self.count < 1:
            raise UserError(f"--launch-count must be at least 1, not {self.count}")

    def choose(self, launches: Sequence[Launch]) -> list[Launch]:
        """The chosen launches, in order; ``UserError`` when a number is unknown or nothing is left."""
        if self == Selection():
            return list(launches)
        known = {launch.kernel_id for launch in launches}
        for kernel in self.kernels:
            if kernel not in known:
                raise UserError(f"--kernel {kernel}: must be one of the trace's kernels, 0 to {len(launches) - 1}")
        named = [launch for launch in launches if self._matches(launch.name)]
        if not named:
            names = ", ".join(sorted({launch.name for launch in launches})[:8])
            raise UserError(f"--kernel-name {self.name}: must match a kernel of the trace, such as {names}")
        counted = named[self.skip :][: self.count]
        if not counted:
            raise UserError(f"--launch-skip {self.skip} leaves none of {len(named)} launches")
        chosen = [launch for launch in counted if not self.kernels or launch.kernel_id in self.kernels]
        if not chosen:
            raise UserError(f"--kernel {' '.join(map(str, self.kernels))}: the other options leave none of these")
        return chosen

    def _matches(self, name: str) -> bool:
        if self.name is None:
            return True
        try:
            return re.search(self.name, name) is not None
        except re.error as error:
            raise UserError(f"--kernel-name {self.name}: must be a regular expression: {error}") from None
