"""Which shaders run where: a shader binding table of Vulkan-Sim as hit groups and miss programs of ours.

A hit of triangles takes group 0, whatever the ray's offset, and spheres the first group with an intersection shader: as
in Vulkan-Sim. Source: ``docs/sources/vulkan-sim.md#dialect``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.vulkansim.reader import Shader
from rayplay.tracer.vulkansim.folder import Folder

NO_SHADER = (0, 0xFFFFFFFF)
"""Words of a hit group without a shader: a pipeline's first shader is the ray generation shader."""


@dataclass(frozen=True)
class Group:
    """Numbers of the shaders of a hit group, None for none; ``geometry`` is ``triangles`` or ``procedural``."""

    geometry: str
    closest_hit: int | None
    any_hit: int | None = None
    intersection: int | None = None


@dataclass(frozen=True)
class Table:
    """Numbers of the shaders of a launch."""

    raygen: int
    miss: tuple[int, ...]
    groups: tuple[Group, ...]

    def hits(self) -> Mapping[int, frozenset[str]]:
        """Kinds of geometry by the number of the shader that looks at their hits."""
        found: dict[int, frozenset[str]] = {}
        for group in self.groups:
            for number in (group.closest_hit, group.any_hit):
                if number is not None:
                    found[number] = found.get(number, frozenset()) | {group.geometry}
        return found


def read_table(folder: Folder) -> Table:
    """The table of a folder; where it has no files of one, the only order that its shaders can have.

    Raises ``UserError`` for a number that no shader has, and where a table is needed and missing.
    """
    by_number = {shader.number: shader for shader in folder.shaders}
    raygen = folder.raygen if folder.raygen is not None else _only_raygen(folder)
    _require(folder, by_number, raygen, "raygen", "raygensbt")
    misses = [shader.number for shader in folder.shaders if shader.kind == "miss"]
    if folder.miss is not None:
        misses = [int(record[0]) for record in folder.miss]
        for number in misses:
            _require(folder, by_number, number, "miss", "misssbt")
    return Table(raygen, tuple(misses), _groups(folder, by_number))


def _only_raygen(folder: Folder) -> int:
    found = [shader.number for shader in folder.shaders if shader.kind == "raygen"]
    if len(found) != 1:
        raise UserError(f"{folder.path}: must have a .raygensbt or one ray generation shader, found {len(found)}")
    return found[0]


def _require(folder: Folder, by_number: Mapping[int, Shader], number: int, kind: str, suffix: str) -> None:
    found = by_number.get(number)
    if found is None or found.kind != kind:
        what = f"is {found.kind}" if found else f"is none of {', '.join(map(str, by_number))}"
        raise UserError(f"{folder.path}: .{suffix}: shader {number} must be {kind}, and {what}")


def _groups(folder: Folder, by_number: Mapping[int, Shader]) -> tuple[Group, ...]:
    if folder.hit is None:
        return _without_table(folder)
    made: dict[str, Group] = {}
    for number, (first, second) in enumerate(folder.hit[:, :2].tolist()):
        _require_known(folder, by_number, number, first, second)
        kind = by_number[second].kind if second in by_number else ""
        closest = first if first in by_number and by_number[first].kind == "closesthit" else None
        if kind == "intersection":
            made.setdefault("procedural", Group("procedural", closest, None, second))
        elif number == 0:
            made["triangles"] = Group("triangles", closest, second if kind == "anyhit" else None)
    if not any((g.closest_hit, g.any_hit, g.intersection) != (None, None, None) for g in made.values()):
        raise UserError(f"{folder.path}: .hitsbt: group 0 must name a shader of the folder, found none")
    return tuple(made.values())


def _require_known(folder: Folder, by_number: Mapping[int, Shader], group: int, closest: int, other: int) -> None:
    """``UserError`` for a hit group whose words name no shader of their kinds, and not none either."""
    for number, kinds in ((closest, ("closesthit",)), (other, ("anyhit", "intersection"))):
        named = by_number.get(number)
        if number in NO_SHADER or (named is not None and named.kind in kinds):
            continue
        what = f"is {named.kind}" if named else f"is none of {', '.join(map(str, by_number))}"
        must = " or ".join(kinds)
        raise UserError(f"{folder.path}: .hitsbt: group {group}: shader {number} must be {must}, and {what}")


def _without_table(folder: Folder) -> tuple[Group, ...]:
    def numbers(kind: str) -> Sequence[int]:
        return [shader.number for shader in folder.shaders if shader.kind == kind]

    closest, any_hit = numbers("closesthit"), numbers("anyhit")
    if numbers("intersection") or len(closest) > 1 or len(any_hit) > 1:
        raise UserError(f"{folder.path}: must have a .hitsbt, which says what hit groups the shaders make")
    return (Group("triangles", closest[0] if closest else None, any_hit[0] if any_hit else None),)
