"""The texture cache of an SM: tags that run ahead of the data, and results in order (GPGPU-Sim, tex_cache)."""

from collections import OrderedDict, deque
from collections.abc import Callable

from .config import TextureConfig
from .warp import Op


class Line:
    """A line under way."""

    def __init__(self, op: Op, number: int, missing: int) -> None:
        self.op, self.number, self.missing = op, number, missing


class TextureCache:
    """A line is there for the tags once it is asked for; every access leaves in order, when its data has come."""

    def __init__(self, config: TextureConfig) -> None:
        self.config, self.sectors = config, config.line_bytes // 32
        self.sets: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(config.sets)]  # the oldest use first
        self.fragments: deque[tuple[Op, Line | None]] = deque()
        self.requests: deque[Line] = deque()
        self.under_way: deque[Line] = deque()
        self.results: deque[Op] = deque()
        self.asked = 0

    def access(self, op: Op, number: int) -> bool:
        """Whether the access could be taken."""
        config, lines = self.config, self.sets[number % self.config.sets]
        full = len(self.fragments) == config.fragments or len(self.requests) == config.requests
        if full or len(self.under_way) == config.lines:
            return False
        missing = None
        if number not in lines:
            if len(lines) == config.ways:
                lines.popitem(last=False)
            lines[number] = None
            missing = Line(op, number, self.sectors)
            self.requests.append(missing)
            self.under_way.append(missing)
        lines.move_to_end(number)
        self.fragments.append((op, missing))
        return True

    def cycle(self, may_send: bool, send: Callable[[int, Line], None]) -> None:
        """Ask for one sector; the oldest access becomes a result if its line is there."""
        if self.requests and may_send:
            line = self.requests[0]
            send(line.number * self.config.line_bytes + 32 * self.asked, line)
            self.asked += 1
            if self.asked == self.sectors:
                self.asked = 0
                self.requests.popleft()
        if self.fragments and len(self.results) < self.config.results:
            op, missing = self.fragments[0]
            if missing is None or not missing.missing:
                self.fragments.popleft()
                self.results.append(op)
                if missing is not None:
                    assert self.under_way.popleft() is missing
