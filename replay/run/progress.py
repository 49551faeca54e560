"""How far a replay is: a bar on a terminal, and lines for logs."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import NamedTuple, Self, TextIO

from tqdm import tqdm

from rayplay.formats.guard.errors import UserError


class Standing(NamedTuple):
    """Progress of a replay: simulated cycle, warp-instructions issued, warp-instructions of all chosen kernels."""

    cycle: int
    instructions: int
    total: int


BEGINNING = Standing(0, 0, 0)


class Heartbeat:
    """Shows standings; use it in a ``with`` statement and hand it to ``simulate`` as ``progress``.

    seconds   between two lines of ``stream``; None: no lines.
    clock     seconds of the host, for tests.

    Raises ``UserError`` for seconds that are not above 0.

    The bar is silent where there is no terminal, and both where the replay is shorter than a moment. Rates count from
    the first standing on: what an interrupted run did before it took none of this process's time.
    """

    def __init__(
        self, seconds: float | None, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if seconds is not None and not seconds > 0:
            raise UserError(f"--heartbeat {seconds:g}: must be more than 0 seconds")
        self.seconds, self.stream, self.clock = seconds, stream or sys.stderr, clock
        self.begun = self.last = clock()
        self.first: Standing | None = None
        self.bar: tqdm[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.close()

    def __call__(self, standing: Standing) -> None:
        """Take note of a standing."""
        now = self.clock()
        if self.first is None or self.bar is None:
            self.first, self.begun, self.bar = standing, now, self._bar_from(standing)
        if not self.bar.disable:
            rate = (standing.cycle - self.first.cycle) / max(now - self.begun, 1e-9)
            self.bar.set_postfix_str(f"cycle {standing.cycle:,}, {rate:,.0f} cycles/s", refresh=False)
            self.bar.update(standing.instructions - self.bar.n)
        if self.seconds is not None and now - self.last >= self.seconds:
            self.last = now
            print(line(standing, now - self.begun, self.first), file=self.stream, flush=True)

    def _bar_from(self, standing: Standing) -> "tqdm[None]":
        return tqdm(
            total=standing.total, initial=standing.instructions, unit="instr", unit_scale=True, desc="replay",
            disable=None, delay=2, file=self.stream,
        )  # fmt: skip


def line(standing: Standing, seconds: float, first: Standing = BEGINNING) -> str:
    """One line: cycle, share done, rates since ``first``, ``seconds`` ago, and seconds until the expected end."""
    cycle, done, total = standing
    text = f"cycle {cycle:,}: {done:,} of {total:,} warp-instructions ({done / max(total, 1):.1%})"
    if done == first.instructions:
        return f"{text}, no end in sight"
    rate, cycles = (
        (now - then) / max(seconds, 1e-9) for now, then in ((done, first.instructions), (cycle, first.cycle))
    )
    return f"{text}, {rate:,.0f} warp-instructions/s, {cycles:,.0f} cycles/s, {(total - done) / rate:,.0f} s left"
