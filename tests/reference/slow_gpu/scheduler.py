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
        self.pool = list(self.warps)  # two-level: the active warps, then the pending ones

    def cycle(self) -> None:
        """At most one instruction of one warp."""
        for warp in self._order():
            if not warp.exited and not self.sm.waits(warp) and not warp.buffer_empty and self._try(warp):
                self.last = self.warps.index(warp)
                if self.sm.config.policy == "two-level":
                    self._turn(warp)
                return

    def _order(self) -> list[Warp]:
        if self.sm.config.policy == "two-level":
            return self._admit()
        if self.sm.config.policy in ("lrr", "gtlrr"):
            first = 0 if self.last is None else self.last + (self.sm.config.policy == "lrr")
            return self.warps[first:] + self.warps[:first]
        by_age = sorted(self.warps, key=lambda warp: (warp.exited or self.sm.waits(warp), warp.age))
        if self.sm.config.policy == "gto":
            greedy = self.warps[self.last or 0]
            return [greedy, *(warp for warp in by_age if warp is not greedy)]
        return by_age

    def _admit(self) -> list[Warp]:
        """Move waiting active warps to the end of the pool; return the active ones."""
        active = self.pool[: self.sm.config.active_warps]
        sent = [warp for warp in active if self._pends(warp)]
        kept = [warp for warp in active if warp not in sent]
        self.pool = kept + self.pool[len(active) :] + sent
        return self.pool[: self.sm.config.active_warps]

    def _pends(self, warp: Warp) -> bool:
        if warp.exited or self.sm.waits(warp):
            return True
        return self.sm.scoreboard.waits_for_memory(warp.buffer[warp.next])

    def _turn(self, warp: Warp) -> None:
        """Make the warp that issued the last of the active ones."""
        active = self.pool[: self.sm.config.active_warps]
        place = active.index(warp) + 1
        self.pool[: len(active)] = active[place:] + active[:place]

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
