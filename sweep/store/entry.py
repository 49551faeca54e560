"""The files of a result, and whether they are complete: text with its own digest, never a date."""

import json
from typing import Any, NamedTuple

from rayplay.formats.guard.digest import canonical, text_digest
from rayplay.formats.guard.errors import UserError

RESULT, HOST = "result.json", "host.json"


class Entry(NamedTuple):
    """A complete result.

    identity  what its key is the digest of.
    metrics   metric -> value, and ``NAME.low``, ``NAME.high`` of an estimate's interval.
    digest    of the result, by which two runs of one key are compared.
    """

    identity: dict[str, Any]
    metrics: dict[str, float | None]
    digest: str


def as_text(identity: dict[str, Any], described: dict[str, Any], metrics: dict[str, float | None]) -> bytes:
    """``result.json``: equal for every run of one key.

    described  values that the identity has as digests, for a reader: the GPU's.
    """
    value = {"identity": identity, "described": described, "metrics": metrics}
    body = {"sha256": text_digest(canonical(value)), **value}
    return (json.dumps(body, indent=1, sort_keys=True) + "\n").encode()


def read(content: bytes, key: str) -> Entry:
    """The entry of ``result.json``; ``UserError`` when its digest or key does not fit."""
    try:
        found = json.loads(content)
        value = {name: found[name] for name in ("identity", "described", "metrics")}
        digest = text_digest(canonical(value))
    except (ValueError, KeyError, TypeError):
        raise UserError("is no result of a sweep") from None
    if found.get("sha256") != digest:
        raise UserError(f"must have the digest {found.get('sha256')!r:.20}, but has {digest[:16]}")
    if text_digest(canonical(found["identity"])) != key:
        raise UserError("must be of the key that its folder names, and is of another")
    return Entry(found["identity"], found["metrics"], digest)
