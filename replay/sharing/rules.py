"""The partitions by name: a rule's file, and its values from the description ``NAME.toml`` beside it or the user's."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.nearest import meant
from rayplay.replay.sharing import fine, greedy, mig, mps, slicer, tap
from rayplay.replay.unit import schema

FOLDER = Path(__file__).parent
RULES: dict[str, ModuleType] = {
    "greedy": greedy,
    "mps": mps,
    "mig": mig,
    "fine": fine,
    "slicer": slicer,
    "tap": tap,
}
PREFIX = "partition."  # of assignments that change a partition's values


@dataclasses.dataclass(frozen=True)
class _Values(schema.Text):
    """Values of a partition, whose keys of the command line begin with ``PREFIX``."""

    def place(self, path: str) -> str:
        """``file:line`` of a key, or ``--set partition.key``."""
        return _prefixed(super().place(path))

    def place_of_law(self, prefix: str) -> str:
        """The same of a broken law."""
        return _prefixed(super().place_of_law(prefix))


def _prefixed(place: str) -> str:
    """A place whose keys, if the command line has them, begin with ``PREFIX``; a file's path is left alone."""
    return (
        place.replace("--set ", f"--set {PREFIX}").replace(", ", f", {PREFIX}") if place.startswith("--set ") else place
    )


def names() -> list[str]:
    """Partitions that come with the package."""
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


def read_partition(name: str, assignments: Sequence[str] = ()) -> Any:
    """The ``Spec`` of a partition by name or .toml file, with ``partition.key=value`` assignments applied."""
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not name.endswith(".toml") and name not in names():
        near = meant(name, names(), "; ")
        raise UserError(f"--partition {name}: must be a .toml file or one of {', '.join(names())}{near}")
    own = [assignment.removeprefix(PREFIX) for assignment in assignments if assignment.startswith(PREFIX)]
    text = _Values(**vars(schema.override(schema.read_text(path), own)))
    rule = text.values.get("rule")
    if rule not in RULES:
        raise UserError(f"{text.place('rule')}: rule must be one of {', '.join(RULES)}, not {rule!r}")
    return schema.build(RULES[rule].Spec, text)


def of_gpu(assignments: Sequence[str]) -> list[str]:
    """The assignments that change the GPU."""
    return [assignment for assignment in assignments if not assignment.startswith(PREFIX)]


def expect_none(assignments: Sequence[str]) -> None:
    """``UserError`` for an assignment that changes a partition, of a replay without one."""
    for assignment in assignments:
        if assignment.startswith(PREFIX):
            raise UserError(f"--set {assignment}: needs --partition, whose values it changes")
