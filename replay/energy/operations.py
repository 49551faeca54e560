"""AccelWattch's event of an instruction, from the tables of ``operations.toml``.

Source: ``docs/sources/accelwattch.md#counting-rules``.
"""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
NONE = "none"
_SINGLE, _DOUBLE = re.compile(r"\.(?:b?f16|f32|tf32)(?:x2)?\b"), re.compile(r"\.f64\b")


def _by_opcode(events: dict[str, str]) -> dict[str, str]:
    return {opcode: event for event, opcodes in events.items() for opcode in opcodes.split()}


_SASS = _by_opcode(TABLES["sass"])
_PTX = {name: _by_opcode(events) for name, events in TABLES["ptx"].items()}


@cache
def event_of(opcode: str, operation_class: str, source: str) -> str:
    """The event that counts the active threads of an instruction; ``none`` for memory, control flow and rays.

    opcode           with its modifiers, as the trace has it.
    operation_class  of ``formats.schema.trace.OPERATION_CLASSES``.
    source           ``sass`` or ``ptx``.
    """
    base = opcode.partition(".")[0]
    default: str = TABLES["classes"].get(operation_class, NONE)
    if source == "sass":
        return _SASS.get(opcode, _SASS.get(base, default))
    if operation_class in ("predicate", "convert"):  # by the type that is compared; by any that is converted
        if _SINGLE.search(opcode):
            return "FP_ACC"
        return "DP_ACC" if _DOUBLE.search(opcode) else "INT_ACC"
    return _PTX.get(operation_class, {}).get(base, default)
