"""Files between the packages: traces and results as tables, declared once, in Parquet or HDF5.

The names below are loaded when first used, so that importing ``formats`` imports nothing else.
"""

import importlib
from typing import Any

LAYERS = (
    "guard",
    "schema",
    "place",
    "parquet",
    "hdf5",
    "dataset",
    "laws",
    "edit",
    "look",
    "exchange",
    "testing",
    "page",
)

_HOME = {
    "TRACE": "rayplay.formats.schema.trace",
    "RESULT": "rayplay.formats.dataset.result",
    "UserError": "rayplay.formats.guard.errors",
    "FormatError": "rayplay.formats.guard.errors",
    "VersionTooNew": "rayplay.formats.guard.errors",
    "VersionTooOld": "rayplay.formats.guard.errors",
    "TraceWriter": "rayplay.formats.dataset.writer",
    "open_trace": "rayplay.formats.dataset.reader",
    "ResultWriter": "rayplay.formats.dataset.result",
    "open_result": "rayplay.formats.dataset.result",
    "read_pixels": "rayplay.formats.edit.pixels",
    "write_pixels": "rayplay.formats.edit.pixels",
    "validate": "rayplay.formats.laws.check",
    "from_frames": "rayplay.formats.exchange.frames",
    "make_trace": "rayplay.formats.testing.generate",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'formats' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
