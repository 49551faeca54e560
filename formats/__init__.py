"""Files between the packages: traces and results as tables, declared once, in Parquet or HDF5.

The names below are loaded when first used, so that importing ``formats`` imports nothing else.
"""

import importlib
from typing import Any

_HOME = {
    "TRACE": "formats.trace",
    "RESULT": "formats.result",
    "UserError": "formats.errors",
    "FormatError": "formats.errors",
    "VersionTooNew": "formats.errors",
    "VersionTooOld": "formats.errors",
    "TraceWriter": "formats.writer",
    "open_trace": "formats.reader",
    "ResultWriter": "formats.result",
    "open_result": "formats.result",
    "read_pixels": "formats.pixels",
    "write_pixels": "formats.pixels",
    "validate": "formats.check",
    "from_frames": "formats.frames",
    "make_trace": "formats.generate",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'formats' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
