"""Built-in spheres and curves: intersection programs of this package, for hit groups that name none.

As with OptiX, where they come as a module of the driver's: a program is linked with them, and reads what it hit by
``optixGetSphereData`` and its like. Rules: ``docs/programs.md#built-in-spheres-and-curves``.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from rayplay import ptx
from rayplay.ptx.ir import Module
from rayplay.tracer.scenes.description import Scene
from rayplay.tracer.shading.config import PROGRAM_FOLDER, HitGroup, ProgramConfig

FILE = PROGRAM_FOLDER / "primitives" / "primitives.ptx"
PREFIX = "__intersection__rayplay_"


def with_built_in(
    config: ProgramConfig, modules: Sequence[Module], scene: Scene
) -> tuple[ProgramConfig, tuple[Module, ...]]:
    """The configuration with an intersection program for all procedural primitives of the scene, and the modules."""
    programs = {"spheres": f"{PREFIX}sphere"} if len(scene.spheres) else {}
    programs |= {"curves": PREFIX + scene.curves.basis} if len(scene.curves) else {}

    def filled(group: HitGroup) -> HitGroup:
        named = group.intersection is not None or group.geometry not in programs
        return group if named else replace(group, intersection=programs[group.geometry])

    groups = tuple(filled(group) for group in config.hit_groups)
    if groups == config.hit_groups:
        return config, tuple(modules)
    return replace(config, hit_groups=groups), (*modules, _module())


@cache
def _module() -> Module:
    return ptx.parse_file(FILE)
