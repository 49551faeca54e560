"""Claims: which driver has which point, so that several drivers share a store without a service.

A claim ``claims/KEY`` names its driver; it is made exclusively. A driver's heartbeat is one file, ``drivers/ID``,
written every ``BEAT_SECONDS`` whatever the number of its claims. Where a heartbeat is ``STALE_SECONDS`` old, or its
process on this machine has ended, its claims are stale and taken over. Then a point may run twice, which harms
nothing: results are deterministic, and the store compares them.
"""

import json
import os
import socket
import threading
import uuid
from pathlib import Path
from typing import Any, NamedTuple

from rayplay.sweep.store.medium import Medium

BEAT_SECONDS, STALE_SECONDS = 15.0, 90.0


class Driver(NamedTuple):
    """A process that runs points.

    born  clock ticks between the machine's start and the process's: tells it from a later one with its number.
    """

    id: str
    host: str
    pid: int
    born: str


def this_driver() -> Driver:
    """This process."""
    pid = os.getpid()
    return Driver(uuid.uuid4().hex[:12], socket.gethostname(), pid, _born(pid))


def _born(pid: int) -> str:
    """Start of a process; empty where there is no such process, or it has ended and is not reaped."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


class Claims:
    """The claims of one driver; use it in a ``with`` statement, which keeps its heart beating."""

    def __init__(self, medium: Medium, driver: Driver | None = None, beat: float = BEAT_SECONDS,
                 stale: float = STALE_SECONDS) -> None:  # fmt: skip
        self.medium, self.driver, self.beat, self.stale = medium, driver or this_driver(), beat, stale
        self.held: set[str] = set()
        self._content = json.dumps(self.driver._asdict()).encode()
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._beats, daemon=True)

    def __enter__(self) -> "Claims":
        self.medium.write(f"drivers/{self.driver.id}", self._content)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()
        for key in list(self.held):
            self.release(key)
        self.medium.remove(f"drivers/{self.driver.id}")

    def take(self, key: str) -> bool:
        """Claim a point; False where a living driver has it."""
        name = f"claims/{key}"
        if self.medium.create(name, self._content):
            self.held.add(key)
            return True
        found = self.medium.read(name)
        if found is not None and self.is_alive(found):
            return False
        if self.medium.read(name) == found:  # no other took it over in between
            self.medium.remove(name)
        if not self.medium.create(name, self._content):
            return False
        self.held.add(key)
        return True

    def release(self, key: str) -> None:
        """Give a claim back, unless another driver has taken it over."""
        self.held.discard(key)
        if self.medium.read(f"claims/{key}") == self._content:
            self.medium.remove(f"claims/{key}")

    def is_alive(self, claim: bytes) -> bool:
        """Whether the driver that a claim names still runs."""
        try:
            driver = Driver(**json.loads(claim))
        except (ValueError, TypeError):
            return False
        if driver.host == self.driver.host:
            return bool(driver.born) and _born(driver.pid) == driver.born
        age = self.medium.age_seconds(f"drivers/{driver.id}")
        return age is not None and age < self.stale

    def _beats(self) -> None:
        while not self._ends.wait(self.beat):
            try:
                self.medium.write(f"drivers/{self.driver.id}", self._content)
            except Exception:  # a store that refuses for long makes the claims stale, which harms nothing
                continue


def living(medium: Medium) -> list[dict[str, Any]]:
    """Drivers whose claims count, each with host, pid and the keys that it has claimed."""
    watcher = Claims(medium)
    claims: dict[bytes, list[str]] = {}
    for key in medium.names("claims"):
        content = medium.read(f"claims/{key}")
        if content is not None:
            claims.setdefault(content, []).append(key)
    found = []
    for content, keys in claims.items():
        if watcher.is_alive(content):
            found.append(json.loads(content) | {"keys": sorted(keys)})
    return sorted(found, key=lambda each: (each["host"], each["pid"], each["id"]))
