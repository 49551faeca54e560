"""PTX text to structure: parse, control flow, liveness, latencies, injected filters."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rayplay.ptx.text.parser import parse, parse_file
    from rayplay.ptx.verifier.code import verify

LAYERS = (
    "ir",
    "numbers",
    "graph",
    "isa",
    "text",
    "verifier",
    "vulkansim",
    "sass",
    "flow",
    "timing",
    "program",
    "inject",
    "show",
)

__all__ = ["parse", "parse_file", "verify"]

_HOME = {
    "parse": "rayplay.ptx.text.parser",
    "parse_file": "rayplay.ptx.text.parser",
    "verify": "rayplay.ptx.verifier.code",
}


def __getattr__(name: str) -> Any:
    """Import on first use, so that ``import ptx`` costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module 'ptx' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value
