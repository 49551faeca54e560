"""A warp scheduler's choice as plainly as it can be said: a list of warps by age. Twin of ``replay.sm.warps``."""


class SlowScheduler:
    """The warps of one scheduler, oldest first. ``policy`` is one of ``replay.sm.policies.OF_ALL``."""

    def __init__(self, policy: str, active_warps: int) -> None:
        self.policy, self.active_warps = policy, active_warps
        self.by_age: list[int] = []
        self.last: int | None = None
        self.active: set[int] = set()

    def join(self, warp: int) -> None:
        self.by_age.append(warp)

    def leave(self, warp: int) -> None:
        self.by_age.remove(warp)
        self.active.discard(warp)
        if self.last == warp:
            self.last = None

    def park(self, warp: int) -> None:
        """The warp waits for a slot: it gives up its place among the active ones."""
        self.active.discard(warp)

    def choose(self, ready: set[int], able: set[int] | None = None) -> int | None:
        """The warp that issues, None for none. ``able``: the ready warps whose unit is free, without it all."""
        candidates = [warp for warp in self.by_age if warp in ready]
        if self.policy == "two-level":
            for warp in candidates:
                if len(self.active) < self.active_warps:
                    self.active.add(warp)
            candidates = [warp for warp in candidates if warp in self.active]
        candidates = [warp for warp in candidates if able is None or warp in able]
        if not candidates:
            return None
        self.last = self.prefer(candidates)
        return self.last

    def prefer(self, candidates: list[int]) -> int:
        """Of candidates by age: the last (gto, gty, gtlrr), else the oldest (gto, oldest), youngest (gty) or next."""
        if self.policy == "gty":
            return self.last if self.last is not None and self.last in candidates else candidates[-1]
        if self.policy == "oldest" or self.last is None:
            return candidates[0]
        if self.policy == "gto":
            return self.last if self.last in candidates else candidates[0]
        if self.policy == "gtlrr" and self.last in candidates:
            return self.last
        start = self.by_age.index(self.last) + 1
        return next(warp for warp in self.by_age[start:] + self.by_age[:start] if warp in candidates)
