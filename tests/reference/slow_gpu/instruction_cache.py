"""The instruction cache of an SM: lines asked for as a whole, answered sector by sector (GPGPU-Sim, L1I)."""

from collections import Counter, OrderedDict, deque
from collections.abc import Callable

from .config import InstructionCacheConfig

LINE_BYTES = 128
FIRST_ADDRESS = 0xF0000000  # of PC 0, of every kernel


class Missing:
    """A line under way and the warps that wait for it."""

    def __init__(self, line: int) -> None:
        self.line, self.left, self.warps = line, LINE_BYTES // 32, deque[int]()


class InstructionCache:
    """Lines get their place when they come; a set's oldest use goes."""

    def __init__(self, config: InstructionCacheConfig) -> None:
        self.config = config
        self.ways: list[list[tuple[int, int]]] = [[(-1, -1)] * config.ways for _ in range(config.sets)]  # (line, used)
        self.missing: OrderedDict[int, Missing] = OrderedDict()
        self.queue: deque[Missing] = deque()
        self.ready: deque[Missing] = deque()
        self.counts: Counter[str] = Counter()

    def access(self, pc: int, warp: int, now: int) -> str:
        """Outcome of a look-up for a warp; after a miss ``next_warp`` will name it."""
        line = (FIRST_ADDRESS + pc) // LINE_BYTES
        lines = self.ways[line % self.config.sets]
        for way, (held, _) in enumerate(lines):
            if held == line:
                lines[way] = (line, now)
                return self._count("hits")
        missing = self.missing.get(line)
        full = len(missing.warps) == self.config.merges if missing else len(self.missing) == self.config.mshrs
        if len(self.queue) >= self.config.miss_queue or full:
            return self._count("fails")
        if missing is None:
            missing = self.missing[line] = Missing(line)
            self.queue.append(missing)
        missing.warps.append(warp)
        return self._count("misses")

    def _count(self, outcome: str) -> str:
        self.counts[outcome] += 1
        return outcome

    def cycle(self, may_send: bool, send: Callable[[int, Missing], None]) -> None:
        """One line is asked for."""
        if self.queue and may_send:
            missing = self.queue.popleft()
            send(missing.line * LINE_BYTES, missing)

    def fill(self, missing: Missing, now: int) -> None:
        """A sector has come; with the last one the line is there. The last empty way goes first."""
        missing.left -= 1
        if missing.left:
            return
        lines = self.ways[missing.line % self.config.sets]
        held = [line for line, _ in lines]
        if missing.line not in held:
            empty = [way for way, line in enumerate(held) if line < 0]
            way = empty[-1] if empty else min(range(len(lines)), key=lambda number: lines[number][1])
            lines[way] = (missing.line, now)
        self.ready.append(missing)

    def next_warp(self) -> int:
        """The warp that waits longest for the first line that has come."""
        missing = self.ready[0]
        warp = missing.warps.popleft()
        if not missing.warps:
            self.ready.popleft()
            del self.missing[missing.line]
        return warp
