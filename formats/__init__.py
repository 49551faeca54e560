"""Files between the packages: traces and results as tables, declared once, in Parquet or HDF5.

The names below are loaded when first used, so that importing ``formats`` imports nothing else.
"""

import importlib
from typing import Any

_HOME = {
    "TRACE": "rayplay.formats.trace",
    "RESULT": "rayplay.formats.result",
    "UserError": "rayplay.formats.errors",
    "FormatError": "rayplay.formats.errors",
    "VersionTooNew": "rayplay.formats.errors",
    "VersionTooOld": "rayplay.formats.errors",
    "TraceWriter": "rayplay.formats.writer",
    "open_trace": "rayplay.formats.reader",
    "ResultWriter": "rayplay.formats.result",
    "open_result": "rayplay.formats.result",
    "read_pixels": "rayplay.formats.pixels",
    "write_pixels": "rayplay.formats.pixels",
    "validate": "rayplay.formats.check",
    "from_frames": "rayplay.formats.frames",
    "make_trace": "rayplay.formats.generate",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'formats' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
