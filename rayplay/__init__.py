"""Rayplay: a trace-driven simulator of ray tracing on GPUs.

::

    import rayplay

    trace = rayplay.trace("cornell", size=(64, 64), samples=1)
    gpu = rayplay.Gpu.load("rtx2060").with_values(**{"l1.latency_cycles": 40})
    result = rayplay.replay(trace, gpu)
    result.value("gpu_cycles")

The names below are loaded when first used, so that importing ``rayplay`` imports nothing else. ``rayplay.replay`` is
both the function and the package ``rayplay.replay``: a module that can be called.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rayplay.api import estimate, open_any, trace, whatif
    from rayplay.formats.dataset.reader import Trace
    from rayplay.formats.dataset.result import Result
    from rayplay.formats.guard.errors import FormatError, UserError
    from rayplay.replay import ReplayPackage
    from rayplay.replay.gpu.description import Gpu

    open = open_any
    replay: ReplayPackage
    __version__: str

__all__ = [
    "FormatError", "Gpu", "Result", "Trace", "UserError", "__version__",
    "estimate", "open", "replay", "trace", "whatif",
]  # fmt: skip

_HOME = {
    "trace": ("rayplay.api", "trace"),
    "open": ("rayplay.api", "open_any"),
    "estimate": ("rayplay.api", "estimate"),
    "whatif": ("rayplay.api", "whatif"),
    "Gpu": ("rayplay.replay.gpu.description", "Gpu"),
    "Trace": ("rayplay.formats.dataset.reader", "Trace"),
    "Result": ("rayplay.formats.dataset.result", "Result"),
    "UserError": ("rayplay.formats.guard.errors", "UserError"),
    "FormatError": ("rayplay.formats.guard.errors", "FormatError"),
}


def __getattr__(name: str) -> Any:
    if name == "replay":
        return importlib.import_module("rayplay.replay")
    if name == "__version__":
        from importlib.metadata import version

        return version("rayplay")
    if name not in _HOME:
        raise AttributeError(f"module 'rayplay' has no attribute {name!r}")
    module, attribute = _HOME[name]
    return getattr(importlib.import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
