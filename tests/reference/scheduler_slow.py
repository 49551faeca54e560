"""A warp scheduler's choice as plainly as it can be said: a list of warps by age. Twin of ``replay.scheduler``."""


class SlowScheduler:
    """The warps of one scheduler, oldest first. ``policy`` is gto or lrr."""

    def __init__(self, policy: str) -> None:
        self.policy = policy
        self.by_age: list[int] = []
        self.last: int | None = None

    def join(self, warp: int) -> None:
        self.by_age.append(warp)

    def leave(self, warp: int) -> None:
        self.by_age.remove(warp)
        if self.last == warp:
            self.last = None

    def choose(self, ready: set[int]) -> int | None:
        """The warp that issues: gto the last one while it is ready, else the oldest; lrr the next after the last."""
        candidates = [warp for warp in self.by_age if warp in ready]
        if not candidates:
            return None
        if self.policy == "gto":
            chosen = self.last if self.last in candidates else candidates[0]
        else:
            start = 0 if self.last is None else self.by_age.index(self.last) + 1
            chosen = next(warp for warp in self.by_age[start:] + self.by_age[:start] if warp in ready)
        self.last = chosen
        return chosen
