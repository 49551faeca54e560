"""Traces of path tracing, a few warps long."""

from types import SimpleNamespace

import numpy as np
import pytest

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.schema.trace import NODE_KINDS
from rayplay.formats.testing.generate import make_trace


@pytest.fixture(scope="session")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return open_trace(make_trace(tmp_path_factory.mktemp("control") / "small.trace", 2, (128, 24), 0))


@pytest.fixture(scope="session")
def spheres(trace: Trace, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """The trace with every other triangle a procedural primitive."""
    path = tmp_path_factory.mktemp("control") / "spheres.trace"
    triangle, procedural = NODE_KINDS.index("triangle"), NODE_KINDS.index("procedural")
    with TraceWriter(path, {}, trace.image_size) as writer:
        for name in trace.tables:
            columns = trace.read(name)
            if name == "nodes":
                odd = (columns["kind"] == triangle) & (np.arange(len(columns["kind"])) % 2 > 0)
                columns["kind"] = np.where(odd, procedural, columns["kind"]).astype(np.uint8)
            writer.put(name, columns)
    return open_trace(path)


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """The estimator's objects of one test, in place of the user's cache: what a test changes must decide them."""
    objects: dict[str, bytes] = {}

    def load(name: str) -> bytearray | None:
        return bytearray(objects[name]) if name in objects else None

    def keep(name: str, *parts: bytes | memoryview) -> None:
        objects[name] = b"".join(parts)

    cache = SimpleNamespace(
        load_writable=load, keep=keep, holds=objects.__contains__, trim=lambda folder, most: None
    )  # fmt: skip
    monkeypatch.setattr("rayplay.zatel.sample.kept.sealed", cache)  # of this module alone: machine code is kept
    return objects
