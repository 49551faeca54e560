"""Cost of a point before it runs: processor time, memory and disk, from the rows and bytes of its trace.

The constants are measured (docs/sweep/growth.md). Once the store has results of the same trace and method, their
mean processor time takes the place of the formula.
"""

from collections.abc import Iterable
from typing import NamedTuple

from rayplay.formats.dataset.reader import Trace
from rayplay.sweep.store.store import Store

FIXED_SECONDS = 0.12  # reading the tables, making the machine, writing the result; engine loaded
SECONDS_PER_MILLION_ROWS = 2.0  # rows of visits, accesses and rays: wknd 1.2, bunny about 3
FIXED_MB, MB_PER_TRACE_MB = 230.0, 6.0
RESULT_KB, RESULT_KB_PER_TRACE_MB = 16.0, 700.0  # summary alone; a whole result more
SHARE = {
    "replay": 1.0,
    "estimate": 0.6,
    "predict": 0.9,
    "sample": 0.1,
}  # of a replay's time; a small trace is estimated whole
SAMPLES = 20  # results of a trace that are looked at


class Cost(NamedTuple):
    """Expected processor time, memory and disk of a point."""

    seconds: float
    memory_mb: float
    disk_kb: float


class Size(NamedTuple):
    """Millions of rows of a trace, of visits, accesses and rays; its bytes in MB; rows that an estimate counts."""

    million_rows: float
    megabytes: float
    sampled_rows: int


def size_of(trace: Trace) -> Size:
    """Size of a trace, from its manifest."""
    rows = {name: trace.rows(name) for name in ("visits", "accesses", "rays") if name in trace.tables}
    sampled = rows.get("accesses", 0) + rows.get("rays", 0)
    return Size(sum(rows.values()) / 1e6, _bytes(trace) / 1e6, sampled)


def _bytes(trace: Trace) -> int:
    path = trace.path
    try:
        if path.is_file():
            return path.stat().st_size
        return sum(file.stat().st_size for file in path.iterdir())
    except OSError:
        return 0


def cost(size: Size, method: str, keep: str, known: float | None = None) -> Cost:
    """Cost of a point. known: processor time of finished points of the trace and method."""
    share = SHARE[method]
    if method == "estimate":
        from rayplay.zatel.sample.whole import FEW_ROWS  # imports scipy, which a replay does not need

        share = share if size.sampled_rows >= FEW_ROWS else 1.0
    seconds = known if known is not None else FIXED_SECONDS + share * SECONDS_PER_MILLION_ROWS * size.million_rows
    disk = RESULT_KB + (RESULT_KB_PER_TRACE_MB * size.megabytes if keep == "result" else 0.0)
    return Cost(seconds, FIXED_MB + MB_PER_TRACE_MB * size.megabytes, disk)


def measured(store: Store, keys: Iterable[str]) -> float | None:
    """Mean processor time of some finished points; None without any."""
    found = []
    for key, _ in zip(keys, range(SAMPLES), strict=False):
        seconds = store.host(key).get("cpu_seconds")
        if isinstance(seconds, (int, float)):
            found.append(float(seconds))
    return sum(found) / len(found) if found else None
