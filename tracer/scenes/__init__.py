"""Scenes: where triangles, spheres, materials and cameras come from. ``load(name_or_path)`` gives a ``Scene``."""

from rayplay.tracer.scenes.resolve import load

__all__ = ["load"]
