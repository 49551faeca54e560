"""Warp schedulers: the order in which the warps of a sub-core are tried, and what may issue."""

from typing import TYPE_CHECKING

from .warp import Warp

if TYPE_CHECKING:
    from .sm import Sm


class Scheduler:
    """One of an SM; a sub-core's where there are any."""

    def __init__(self, number: int, sm: "Sm") -> None:
        self.number, self.sm = number, sm
        self.warps = [warp for warp in sm.warps if warp.slot % sm.config.schedulers == number]
        self.last: int | None = None if sm.config.policy in ("lrr", "rrr", "gty") else 0
        self.pool = list(self.warps)  # two-level: the active warps, then the pending ones

    def cycle(self) -> None:
        """Instructions of one warp: one, or as many as ``issues`` where the one before has issued."""
        for place, warp in enumerate(self._order()):
            if warp.exited:
                continue
            kind, issued = "", 0
            while issued < self.sm.config.issues and not self.sm.waits(warp) and not warp.buffer_empty:
                kind = self._try(warp, kind)
                if not kind:
                    break
                issued += 1
                if self.sm.config.policy == "two-level":
                    self._turn(place)
            if issued:
                self.last = self.warps.index(warp)
                return

    def _order(self) -> list[Warp]:
        if self.sm.config.policy == "two-level":
            return self._admit()
        if self.sm.config.policy == "rrr":
            first = 0 if self.last is None else self.last + 1
            in_turn = self.warps[first:] + self.warps[:first]
            return [next((warp for warp in in_turn if not warp.exited and not self.sm.waits(warp)), self.warps[0])]
        if self.sm.config.policy in ("lrr", "gtlrr"):
            first = 0 if self.last is None else self.last + (self.sm.config.policy == "lrr")
            return self.warps[first:] + self.warps[:first]
        by_age = sorted(self.warps, key=lambda warp: (warp.exited or self.sm.waits(warp), warp.age))
        if self.sm.config.policy == "gty":
            by_age = sorted(self.warps, key=lambda warp: (warp.exited or self.sm.waits(warp), -warp.age))
            greedy = [] if self.last is None else [self.warps[self.last]]
            return [*greedy, *(warp for warp in by_age if warp not in greedy)]
        if self.sm.config.policy in ("gto", "limited"):
            greedy = self.warps[self.last or 0]
            some = by_age[: self.sm.config.active_warps] if self.sm.config.policy == "limited" else by_age
            return [greedy, *(warp for warp in some if warp is not greedy)]
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

    def _turn(self, place: int) -> None:
        """Make the active warp of a place the last of them."""
        active = self.pool[: self.sm.config.active_warps]
        self.pool[: len(active)] = active[place + 1 :] + active[: place + 1]

    def _try(self, warp: Warp, before: str) -> str:
        """Issue if no register collides and a pipeline register of the unit is empty; the kind of unit, or nothing.

        before  the kind of unit of the instruction issued before it in this cycle.
        """
        op = warp.buffer[warp.next]
        if op is None or self.sm.scoreboard.collides(op):
            return ""
        kind = "specialised" if op.instruction.unit in ("S1", "S2", "S3", "S4") else op.instruction.unit
        slots = self.sm.collector.issued.slots[op.instruction.unit]
        free = self.sm.collector.free_slot(slots, self.number)
        if free is None or (kind == before and self.sm.config.different_units):
            return ""
        slots[free] = warp.take()
        op.scheduler = self.number
        self.sm.issue(op, warp)
        return kind
