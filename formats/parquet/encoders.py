"""Threads that encode row groups, as many as there are workers; each table's groups reach its files in order."""

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from rayplay.formats.parquet.arrow import Columns
from rayplay.formats.parquet.shards import ShardWriter

MOST_WORKERS = 4


def default_workers() -> int:
    """One thread a core, less the core that makes the rows."""
    return max(1, min(MOST_WORKERS, (os.cpu_count() or 2) - 1))


class Encoders:
    """Encode row groups on threads and append each to its shard; the bytes do not depend on ``workers``.

    At most ``workers`` + 2 groups are pending, to bound memory: ``submit`` blocks until one is done.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="encoder")
        self._pending: deque[Future[None]] = deque()
        self._last: dict[str, Future[None]] = {}

    def submit(self, shards: ShardWriter, group: Columns, recycle: Callable[[Columns], None]) -> None:
        """Have ``group`` encoded; ``recycle`` gets its memory back. Raises what an earlier group ran into."""
        while len(self._pending) >= self.workers + 2 or (self._pending and self._pending[0].done()):
            self._pending.popleft().result()
        name = shards.table.name
        future = self._pool.submit(_encode, shards, group, recycle, self._last.get(name))
        self._last[name] = future
        self._pending.append(future)

    def finish(self) -> None:
        """Wait until all groups are in their files."""
        while self._pending:
            self._pending.popleft().result()

    def stop(self) -> None:
        """Forget the groups that wait, and end the threads."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def _encode(
    shards: ShardWriter, group: Columns, recycle: Callable[[Columns], None], before: "Future[None] | None"
) -> None:
    encoded = shards.encoder.encode(group)
    recycle(group)
    if before is not None:
        before.result()  # it was submitted earlier, so it runs or has ended
    shards.append(encoded)
