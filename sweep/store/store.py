"""The store of a sweep: complete results by key, failures with their reasons, differences between runs of one key."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from rayplay.formats.guard.errors import UserError
from rayplay.sweep.store.entry import HOST, RESULT, Entry, as_text, read
from rayplay.sweep.store.medium import Folder, Medium, medium

LOG_LINES = 20


class Outcome(NamedTuple):
    """End of a point's run.

    status  ``done``, ``again`` (an equal result was there), ``different`` (a bug), ``failed``, or ``killed`` by a
            signal from outside, after which another try makes sense.
    reason  of a failure, one line.
    """

    key: str
    status: str
    reason: str = ""


class Store:
    """A store by its place: a folder, or a URL that fsspec knows."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.medium: Medium = medium(place)

    @property
    def folder(self) -> Path | None:
        """The folder of a store of this machine, None of a bucket."""
        return self.medium.root if isinstance(self.medium, Folder) else None

    def trace_place(self, name: str) -> str:
        """Path or URL of a rendered trace."""
        return f"{self.place.rstrip('/')}/traces/{name}"

    def done(self) -> set[str]:
        """Keys with a result's name: one look at the store, content unread."""
        return set(self.medium.names("results"))

    def failed(self) -> set[str]:
        """Keys with a failure."""
        return {name.removesuffix(".json") for name in self.medium.names("failed")}

    def get(self, key: str) -> Entry | None:
        """The complete result of a key; None where it is missing or, after a line, damaged."""
        content = self.medium.read(f"results/{key}/{RESULT}")
        if content is None:
            return None
        try:
            return read(content, key)
        except UserError as error:
            print(f"warning: {self.place}/results/{key}/{RESULT}: {error}; it is made again", file=sys.stderr)
            return None

    def host(self, key: str) -> dict[str, Any]:
        """Times and memory of the run that made a result; empty where unknown."""
        return _json(self.medium.read(f"results/{key}/{HOST}"))

    def failure(self, key: str) -> dict[str, Any]:
        """Reason, log and tries of a failed point; empty without one."""
        return _json(self.medium.read(f"failed/{key}.json"))

    def put(self, key: str, identity: dict[str, Any], described: dict[str, Any], metrics: dict[str, float | None],
            host: dict[str, Any], beside: Path | None = None) -> Outcome:  # fmt: skip
        """Publish a result. Where another run of the key has, the two must be equal: a difference is kept and told."""
        text = as_text(identity, described, metrics)
        files = {HOST: (json.dumps(host, sort_keys=True) + "\n").encode(), RESULT: text}
        status = "done"
        while not self.medium.publish(key, files, beside):
            known = self.get(key)
            if known is None:
                self.medium.remove(f"results/{key}")
                continue
            ours = read(text, key)
            status = "again" if known.digest == ours.digest else "different"
            if status == "different":
                self.medium.write(f"differences/{key}-{ours.digest[:16]}.json", text)
            break
        self.medium.remove(f"failed/{key}.json")
        reason = f"two runs of one key differ, which is a bug: differences/{key}" if status == "different" else ""
        return Outcome(key, status, reason)

    def fail(self, key: str, about: dict[str, Any], reason: str, log: str, tries: int) -> None:
        """Keep why a point failed, with the last lines of its log."""
        tail = log.splitlines()[-LOG_LINES:]
        content = {"about": about, "reason": reason, "log": tail, "tries": tries}
        self.medium.write(f"failed/{key}.json", (json.dumps(content, indent=1, sort_keys=True) + "\n").encode())

    def forgive(self, keys: Iterable[str]) -> None:
        """Forget failures, so that the points run again."""
        for key in keys:
            self.medium.remove(f"failed/{key}.json")

    def remove(self, keys: Iterable[str]) -> int:
        """Remove results; their number."""
        count = 0
        for count, key in enumerate(keys, 1):  # noqa: B007
            self.medium.remove(f"results/{key}")
        return count

    def check_writable(self) -> None:
        """An ``OSError`` or ``FormatError`` that names the place, before any work, where nothing can be written."""
        self.medium.write("about", b"Store of rayplay sweep: results/KEY is complete when its digest verifies.\n")


def _json(content: bytes | None) -> dict[str, Any]:
    try:
        found = json.loads(content or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
