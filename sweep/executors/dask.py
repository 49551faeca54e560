"""Points on a dask cluster: a scheduler of one's own by its address, or a local cluster.

Results are files, so a worker's death costs the point that it ran; the scheduler gives it to another worker. Inside a
worker a point has a process of its own, as it has without dask: a crash, a lack of memory and an endless loop end the
point, not the worker, and limits hold. Needs ``pip install "rayplay[dask]"``.
"""

import os
import queue
import select
from typing import Any

from rayplay.formats.guard.errors import UserError, reason_of
from rayplay.sweep.executors.processes import kind_of
from rayplay.sweep.point.nursery import Ended, Nursery
from rayplay.sweep.space.file import Limits

ALLOWED_FAILURES = 1000  # deaths of workers on which a task happened to be queued; the default is 3
START_SECONDS = 60.0

_HELD: dict[tuple[str, ...], Nursery] = {}  # of a worker process


class Dask:
    """A dask cluster."""

    def __init__(self, address: str | None, workers: int | None, limits: Limits) -> None:
        try:
            import dask
            from distributed import Client, LocalCluster
        except ImportError:
            raise UserError('--executor dask: needs the package distributed: pip install "rayplay[dask]"') from None
        self._limits, self._ended, self._cluster = limits, queue.Queue[Ended](), None
        self._futures: dict[str, Any] = {}
        dask.config.set({"distributed.scheduler.allowed-failures": ALLOWED_FAILURES})
        dask.config.set({"distributed.worker.memory.terminate": False, "distributed.worker.memory.pause": False})
        try:
            if address is None:
                count = workers or len(os.sched_getaffinity(0))
                self._cluster = LocalCluster(
                    n_workers=count, threads_per_worker=1, processes=True, memory_limit=0, dashboard_address=None
                )
            self._client = Client(self._cluster or address, timeout=START_SECONDS)
            self._client.wait_for_workers(1, timeout=START_SECONDS)
        except (OSError, TimeoutError, ValueError) as error:
            raise UserError(f"--address {address}: no dask scheduler with workers: {reason_of(error)}") from None
        self.slots = 2 * sum(self._client.nthreads().values())  # one more waits at each worker

    def start(self, task: dict[str, Any]) -> None:
        """As ``Executor``."""
        limits = self._limits
        seconds, memory = (None, None) if task["kind"] == "render" else (limits.seconds, limits.memory_mb)
        future = self._client.submit(on_worker, task, seconds, memory, pure=False)
        self._futures[task["key"]] = future
        future.add_done_callback(lambda done, key=task["key"]: self._ended.put(_end_of(done, key)))

    def wait(self, seconds: float) -> list[Ended]:
        """As ``Executor``."""
        found: list[Ended] = []
        try:
            found.append(self._ended.get(timeout=seconds))
            while True:
                found.append(self._ended.get_nowait())
        except queue.Empty:
            pass
        for ended in found:
            self._futures.pop(ended.key).release()
        return found

    def close(self) -> None:
        """As ``Executor``."""
        for future in self._futures.values():
            future.cancel()
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()


def _end_of(future: Any, key: str) -> Ended:
    if future.status == "finished":
        return Ended(*future.result())
    try:
        future.result()
        reason = future.status
    except Exception as error:
        reason = f"{type(error).__name__}: {reason_of(error)}"
    return Ended(key, "killed", f"its dask worker was lost: {reason}", "")


def on_worker(task: dict[str, Any], seconds: float | None, memory_mb: int | None) -> tuple[str, str, str, str]:
    """Run a task on a worker, in a process that the worker's own zygote forks; the fields of ``Ended``."""
    kind = kind_of(task)
    nursery = _HELD.get(kind)
    if nursery is None or not nursery.is_alive:
        nursery = _HELD[kind] = Nursery(task)
    nursery.start(task, seconds, memory_mb)
    while True:
        select.select([nursery.control], [], [])
        if ended := nursery.take():
            return ended[0].key, ended[0].status, ended[0].reason, ended[0].log
