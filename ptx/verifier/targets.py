"""Targets and the PTX version that has each of them first. Source: PTX ISA 9.0, table of ``.target``."""

import re
from collections.abc import Iterator

from rayplay.ptx.ir import Module, Position

OPTIONS = frozenset(("texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"))
SINCE = {
    10: (1, 0), 11: (1, 0), 12: (1, 2), 13: (1, 2), 20: (2, 0), 21: (2, 0), 30: (3, 0), 32: (4, 0), 35: (3, 1),
    37: (4, 1), 50: (4, 0), 52: (4, 1), 53: (4, 2), 60: (5, 0), 61: (5, 0), 62: (5, 0), 70: (6, 0), 72: (6, 1),
    75: (6, 3), 80: (7, 0), 86: (7, 1), 87: (7, 4), 89: (7, 8), 90: (7, 8), 100: (8, 6), 101: (8, 6), 103: (8, 8),
    120: (8, 7), 121: (8, 8), 88: (9, 0), 110: (9, 0),
}  # fmt: skip
SUFFIXED = {"a": (8, 0), "f": (8, 8)}  # features of one architecture, of its family
WITH_F64 = 13
_ARCHITECTURE = re.compile(r"(?:sm|compute)_(\d+)([af]?)")


def gpu_target(module: Module) -> str:
    """The module's first target that names a GPU, empty when it has none."""
    return next(filter(_ARCHITECTURE.fullmatch, module.target), "")


def architecture(module: Module) -> int:
    """The number of the module's first target, 0 when it has none."""
    matched = _ARCHITECTURE.fullmatch(gpu_target(module))
    return int(matched[1]) if matched else 0


def target_problems(module: Module) -> Iterator[tuple[Position, str]]:
    """Unknown targets, and targets that the module's version does not have yet."""
    for target in module.target:
        matched = _ARCHITECTURE.fullmatch(target)
        if target in OPTIONS:
            continue
        if matched is None or int(matched[1]) not in SINCE:
            yield Position(1, 1), f"target '{target}' is not known"
            continue
        if int(matched[1]) >= WITH_F64 and "map_f64_to_f32" in module.target:
            yield Position(1, 1), f"target '{target}' has .f64, which map_f64_to_f32 is not for"
        since = max(SINCE[int(matched[1])], SUFFIXED.get(matched[2], (1, 0)))
        if module.version < since:
            version = ".".join(map(str, module.version))
            yield Position(1, 1), f"target '{target}' needs .version {since[0]}.{since[1]} or later, not {version}"
