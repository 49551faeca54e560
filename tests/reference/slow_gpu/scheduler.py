"""Warp schedulers: the order in which the warps of a sub-core are tried, and what may issue."""

from typing import TYPE_CHECKING

from .warp import Warp

if TYPE_CHECKING:
    from .sm import Sm


class Scheduler:
    """One sub-core's."""

    def __init__(self, number: int, sm: "Sm") -> None:
        self.number, self.sm = number, sm
        self.warps = [warp for warp in sm.warps if warp.slot % sm.config.schedulers == number]
        self.last: int | None = None if sm.config.policy == "lrr" else 0

    def cycle(self) -> None:
        """At most one instruction of one warp."""
        for warp in self._order():
            if not warp.exited and not self.sm.waits(warp) and not warp.buffer_empty and self._try(warp):
                self.last = self.warps.index(warp)
                return

    def _order(self) -> list[Warp]:
        if self.sm.config.policy == "lrr":
            first = 0 if self.last is None else self.last + 1
            return self.warps[first:] + self.warps[:first]
        by_age = sorted(self.warps, key=lambda warp: (warp.exited or self.sm.waits(warp), warp.age))
        if self.sm.config.policy == "gto":
            greedy = self.warps[self.last or 0]
            return [greedy, *(warp for warp in by_age if warp is not greedy)]
        return by_age

    def _try(self, warp: Warp) -> bool:
        """Issue if no register collides and the pipeline register of the unit is empty."""
        op = warp.buffer[warp.next]
        if op is None or self.sm.scoreboard.collides(op):
            return False
        slots = self.sm.collector.issued.slots[op.instruction.unit]
        if slots[self.number] is not None:
            return False
        slots[self.number] = warp.take()
        op.scheduler = self.number
        self.sm.issue(op, warp)
        return True
