"""Draws of a scene that was made for rays: a mesh's triangles of a material are a draw, its places are instances."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.scenes.description import Material, Mesh, Picture, Scene, Spheres
from rayplay.tracer.scenes.gltf.surfaces import MAPS, Surface
from rayplay.tracer.scenes.textured import Draw, TexturedScene

RINGS, SECTORS = 12, 24
"""A sphere becomes so many rings of so many quads."""
GLASS_ALPHA = 0.3


def drawn(scene: Scene) -> TexturedScene:
    """The scene as draws: what blends comes last. Alpha textures cut surfaces out."""
    pictures = [*scene.pictures, *(Picture(each.name, _white(each.alpha)) for each in scene.textures)]
    surfaces = [_surface(material, len(scene.pictures)) for material in scene.materials]
    draws = [*_mesh_draws(scene), *_sphere_draws(scene.spheres)]
    draws.sort(key=lambda draw: surfaces[draw.surface].alpha == "BLEND")
    return TexturedScene(scene.name, draws, surfaces, pictures)


def _white(alpha: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.dstack([np.full((*alpha.shape, 3), 255, np.uint8), alpha])


def _surface(material: Material, first_cut_out: int) -> Surface:
    """The surface of a material. Its cut-out, of pictures from ``first_cut_out`` on, serves where it has no colours."""
    cut_out = material.alpha_texture + first_cut_out if material.alpha_texture >= 0 else -1
    base = material.base_color if material.base_color >= 0 else cut_out
    maps = {"baseColor": base, "emissive": material.emissive}
    is_glass = material.model == "dielectric"
    return Surface(
        material.name,
        (*material.albedo, GLASS_ALPHA if is_glass else 1.0),
        metallic=float(material.model == "metallic"),
        roughness=material.fuzz if material.model in ("metallic", "dielectric") else 1.0,
        emissive=material.emission,
        alpha="MASK" if material.alpha_texture >= 0 else "BLEND" if is_glass else "OPAQUE",
        cutoff=material.alpha_cutoff,
        is_double_sided=True,
        pictures=tuple(maps.get(name, -1) for name in MAPS),
    )


def _mesh_draws(scene: Scene) -> Iterator[Draw]:
    for number, mesh in enumerate(scene.meshes):
        places = [each.object_to_world for each in scene.instances if each.mesh == number]
        for material in np.unique(mesh.material) if places else ():
            yield _mesh_draw(mesh, int(material), np.stack(places), scene.materials[material].name)


def _mesh_draw(mesh: Mesh, material: int, places: NDArray[np.float32], name: str) -> Draw:
    used, index = np.unique(mesh.triangles[mesh.material == material], return_inverse=True)
    normals = np.zeros((len(used), 3), np.float32) if mesh.normals is None else mesh.normals[used]
    uv = np.zeros((len(used), 2), np.float32) if mesh.uv is None else mesh.uv[used]
    indices = np.ascontiguousarray(index.reshape(-1), np.uint32)
    return Draw(f"{mesh.name} {name}", mesh.vertices[used], normals, uv, indices, places, material)


def sphere(rings: int, sectors: int) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.uint32]]:
    """Normals float32[n, 3] (the positions of radius 1), texture coordinates float32[n, 2] and indices uint32[m]."""
    ring, sector = np.divmod(np.arange((rings + 1) * (sectors + 1)), sectors + 1)
    down, around = np.pi * ring / rings, 2 * np.pi * sector / sectors
    normals = np.stack([np.sin(down) * np.cos(around), np.cos(down), np.sin(down) * np.sin(around)], axis=1)
    uv = np.stack([sector / sectors, ring / rings], axis=1)
    corner = (np.arange(rings)[:, None] * (sectors + 1) + np.arange(sectors)).reshape(-1, 1)
    quads = (corner + np.array([0, 1, sectors + 1, 1, sectors + 2, sectors + 1])).reshape(-1)
    return normals.astype(np.float32), uv.astype(np.float32), quads.astype(np.uint32)


def _sphere_draws(spheres: Spheres) -> Iterator[Draw]:
    """Instances of one mesh for each material."""
    normals, uv, quads = sphere(RINGS, SECTORS)
    for material in np.unique(spheres.material):
        chosen = spheres.material == material
        places = np.zeros((int(chosen.sum()), 3, 4), np.float32)
        places[:, range(3), range(3)] = spheres.radius[chosen, None]
        places[:, :, 3] = spheres.center[chosen]
        yield Draw(f"spheres {material}", normals, normals, uv, quads, places, int(material))
