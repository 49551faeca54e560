"""Facts of a trace that its estimates share, in the user's cache: later commands read them instead of all warps.

The requests of all warps, the rows of a sample, and the functional traffic that goes with them. An object is named by
the content of its trace, by the sources that decide it and by its own inputs, so nothing is ever out of date. All
together take ``MOST_BYTES``; the oldest go first. ``formats.guard.sealed`` holds them.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard import sealed
from rayplay.formats.guard.code_cache import FILES
from rayplay.formats.guard.digest import bytes_digest, source_digest, text_digest
from rayplay.zatel import CODE
from rayplay.zatel.model.schedule import Phases
from rayplay.zatel.model.traffic import Stream, Traffic
from rayplay.zatel.replays.result_cache import trace_identity

FOLDER = "zatel"
LARGEST_BYTES = 1 << 28  # an object; a larger one is made again each time
MOST_BYTES = 1 << 30  # all objects
ALIGNED_BYTES = 64
EDITS = ("formats/edit/select.py", "formats/edit/renumber.py")
SOURCES = (*CODE, *FILES, *EDITS, "zatel/sample", "zatel/paper/downscale.py", "replay/gpu")

COUNTS = ("reads", "read_misses", "writes", "write_misses", "write_backs", "l1_accesses", "l1_misses")

Arrays = Mapping[str, np.ndarray]


class Kept:
    """The objects of one trace. A trace with rows in no file has none, as nothing names them, nor has ``None``."""

    def __init__(self, trace: Trace | None) -> None:
        entries = [entry for of_one in trace.manifest.tables.values() for entry in of_one] if trace else []
        is_filed = all(entry.bytes for entry in entries if entry.rows)
        self._trace = trace_identity(trace) if trace and is_filed else None

    def load(self, name: str, *inputs: Any) -> Arrays | None:
        """The arrays kept as ``name`` for these inputs; ``None`` when they are missing or were changed."""
        data = None if self._trace is None else sealed.load_writable(self._name(name, inputs))
        return None if data is None else from_bytes(data)

    def holds(self, name: str, *inputs: Any) -> bool:
        """Whether there is something to ``load``."""
        return self._trace is not None and sealed.holds(self._name(name, inputs))

    def keep(self, arrays: Arrays, name: str, *inputs: Any) -> None:
        """Keep ``arrays`` as ``name`` for these inputs, where there is a cache and they are not too large."""
        if self._trace is None or sum(values.nbytes for values in arrays.values()) > LARGEST_BYTES:
            return
        sealed.keep(self._name(name, inputs), *to_parts(arrays))
        sealed.trim(FOLDER, MOST_BYTES)

    def _name(self, name: str, inputs: tuple[Any, ...]) -> str:
        known = [bytes_digest(one.tobytes()) if isinstance(one, np.ndarray) else repr(one) for one in inputs]
        return f"{FOLDER}/{text_digest(repr((self._trace, code_identity(), name, known)))[:32]}"


@cache
def code_identity() -> str:
    """Digest of the sources that decide the objects."""
    return source_digest(SOURCES)


def to_parts(arrays: Arrays) -> list[bytes | memoryview]:
    """Names, types and shapes as a line of JSON, then the numbers, each array where a processor likes to read it.

    Whole numbers of 64 bits take 32 where all fit. ``numpy.savez`` copies everything three times more and reads it
    through checksums, which the seal makes needless.
    """
    held = {name: narrowed(one) for name, one in arrays.items()}
    known = [(name, arrays[name].dtype.str, one.dtype.str, arrays[name].shape) for name, one in held.items()]
    head = json.dumps(known).encode()
    parts: list[bytes | memoryview] = [head + b" " * (-(len(head) + 1) % ALIGNED_BYTES) + b"\n"]
    for one in held.values():
        parts += [one.reshape(-1).view(np.uint8).data, bytes(-one.nbytes % ALIGNED_BYTES)]
    return parts


def narrowed(values: np.ndarray) -> np.ndarray:
    """The same numbers in 32 bits where they are whole, of 64 bits, and none needs more."""
    is_long = values.dtype.kind in "iu" and values.itemsize == 8 and values.size
    fits = is_long and values.min() >= 0 and values.max() < 1 << 32
    return np.ascontiguousarray(values, np.uint32 if fits else values.dtype)


def from_bytes(data: bytearray) -> dict[str, np.ndarray]:
    """The arrays of which ``to_parts`` made the bytes; most lie in the memory of ``data``."""
    at, arrays = data.index(b"\n") + 1, {}
    for name, dtype, stored, shape in json.loads(data[:at]):
        values = np.frombuffer(data, stored, int(np.prod(shape, dtype=np.int64)), at)
        arrays[name] = values.reshape(shape).astype(dtype, copy=False)
        at += values.nbytes + -values.nbytes % ALIGNED_BYTES
    return arrays


def packed(stream: Stream) -> Arrays:
    """The fields of a stream by name."""
    plain = stream._asdict()
    phases = plain.pop("phases")
    return plain | {"shift": np.array(stream.shift)} | {f"phase_{name}": of for name, of in phases._asdict().items()}


def unpacked(arrays: Arrays) -> Stream:
    """The stream of which ``packed`` gave the fields."""
    plain = dict(arrays)
    phases = Phases(*(plain.pop(f"phase_{name}") for name in Phases._fields))
    return Stream(**plain | {"shift": int(arrays["shift"]), "phases": phases})  # type: ignore[arg-type]


def packed_traffic(traffic: Traffic, name: str) -> dict[str, np.ndarray]:
    """The counts and the sectors asked, with ``name`` before their own."""
    counts = np.array([getattr(traffic, count) for count in COUNTS])
    return {f"{name}_counts": counts, f"{name}_asked": traffic.asked, f"{name}_entered": traffic.entered}


def unpacked_traffic(arrays: Arrays, name: str) -> Traffic:
    """The traffic of which ``packed_traffic`` gave the arrays."""
    counts = dict(zip(COUNTS, arrays[f"{name}_counts"].tolist(), strict=True))
    return Traffic(**counts, asked=arrays[f"{name}_asked"], entered=arrays[f"{name}_entered"])
