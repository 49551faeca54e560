"""A scene in device memory: the buffers that programs read through their records and launch parameters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.bvh.instances import all_instances
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.memory.images import Image, Sampler, Texture, place_texture
from rayplay.tracer.scenes.description import MODELS, Camera, Mesh, Picture, Scene

MATERIAL = np.dtype(
    [
        ("albedo", "<f4", 3), ("fuzz", "<f4"), ("emission", "<f4", 3), ("ior", "<f4"),
        ("model", "<u4"), ("alpha_width", "<u4"), ("alpha_height", "<u4"), ("alpha_cutoff", "<f4"),
        ("alpha_texels", "<u8"), ("padding", "<u8"),
    ]
)  # fmt: skip
"""``struct Material`` of ``programs/scene.h``: 64 bytes."""


@dataclass(frozen=True)
class SceneBuffers:
    """Addresses and values by the names that a program configuration uses for its sources.

    launch     sources of launch parameters, except the ones that the launch decides.
    geometry   sources of a hit record, one mapping per entry of ``Scene.geometries()``.
    missing    sources of a miss or ray generation record.
    """

    launch: Mapping[str, Any]
    geometry: tuple[Mapping[str, Any], ...]
    missing: Mapping[str, Any]


def upload_scene(scene: Scene, memory: DeviceMemory) -> SceneBuffers:
    """Copy all that programs may read into device memory; instances are numbered as in the acceleration structure."""
    object_to_world = all_instances(scene).matrix
    materials = upload_materials(scene, memory)
    lights = np.array([(*light.position, light.radius) for light in scene.lights], np.float32).reshape(-1, 4)
    launch = {
        "materials": materials,
        "lights": memory.allocate(lights),
        "light_count": len(lights),
        "world_to_object": memory.allocate(inverse_maps(object_to_world)),
        "object_to_world": memory.allocate(object_to_world),
        "instance_count": len(object_to_world),
        "has_sky": int(scene.sky.gradient and not scene.lights),  # else shadow rays go straight up
        "sky_bottom": scene.sky.bottom if scene.sky.gradient else (0.0, 0.0, 0.0),
        "sky_top": scene.sky.top if scene.sky.gradient else (0.0, 0.0, 0.0),
    }
    common = {"materials": materials, "maps": upload_maps(scene, memory)}
    meshes = [_upload_mesh(mesh, memory) for mesh in scene.meshes]
    return SceneBuffers(launch, _geometry_values(scene, meshes, common, memory), common)


def _geometry_values(
    scene: Scene, meshes: list[dict[str, int]], common: dict[str, int], memory: DeviceMemory
) -> tuple[dict[str, Any], ...]:
    """Sources of each geometry's hit record; pointers to per-primitive data start at its first primitive."""
    found = []
    for number, geometry in enumerate(scene.geometries()):
        if geometry.curves:
            curves = scene.curves
            data = {"curve_points": memory.allocate(curves.points), "curve_segments": memory.allocate(curves.first)}
            data["material_numbers"] = memory.allocate(curves.material)
        elif geometry.procedural:
            spheres = np.column_stack([scene.spheres.center, scene.spheres.radius]).astype(np.float32)
            data = {"spheres": memory.allocate(spheres), "material_numbers": memory.allocate(scene.spheres.material)}
        else:
            data = dict(meshes[geometry.mesh])
            data["indices"] += 12 * geometry.first_primitive
            data["material_numbers"] += 2 * geometry.first_primitive
        found.append({**common, **data, "primitive_count": geometry.primitive_count, "geometry_number": number})
    return tuple(found)


def _upload_mesh(mesh: Mesh, memory: DeviceMemory) -> dict[str, int]:
    return {
        "positions": memory.allocate(mesh.vertices.astype(np.float32, copy=False)),
        "indices": memory.allocate(mesh.triangles.astype(np.uint32, copy=False)),
        "normals": 0 if mesh.normals is None else memory.allocate(_whole_normals(mesh, mesh.normals)),
        "uvs": 0 if mesh.uv is None else memory.allocate(mesh.uv.astype(np.float32, copy=False)),
        "material_numbers": memory.allocate(mesh.material.astype(np.uint16, copy=False)),
    }


def _whole_normals(mesh: Mesh, normals: NDArray[np.float32]) -> NDArray[np.float32]:
    """Normals of a mesh; where one has no length, a triangle's of its vertex."""
    first, second, third = (mesh.vertices[mesh.triangles[:, corner]] for corner in range(3))
    flat = normals.astype(np.float32)
    flat[mesh.triangles] = np.cross(second - first, third - first)[:, None]
    return np.where((normals != 0).any(axis=1, keepdims=True), normals, flat).astype(np.float32)


def upload_materials(scene: Scene, memory: DeviceMemory) -> int:
    """Address of the scene's materials, ``MATERIAL`` each, in the order of their numbers."""
    texels = [memory.allocate(texture.alpha) for texture in scene.textures]
    table = np.zeros(len(scene.materials), MATERIAL)
    for row, material in zip(table, scene.materials, strict=True):
        row["albedo"], row["fuzz"], row["ior"] = material.albedo, material.fuzz, material.ior
        row["emission"], row["model"] = material.emission, MODELS.index(material.model)
        if material.alpha_texture >= 0:
            row["alpha_height"], row["alpha_width"] = scene.textures[material.alpha_texture].alpha.shape
            row["alpha_texels"], row["alpha_cutoff"] = texels[material.alpha_texture], material.alpha_cutoff
    return memory.allocate(table)


def upload_maps(scene: Scene, memory: DeviceMemory) -> int:
    """Address of the handles of each material's textures, ``struct Maps`` of ``scene.h``; 0 without pictures."""
    if not scene.pictures:
        return 0
    handles = [0, *(place_picture(picture, memory) for picture in scene.pictures)]
    numbers = [(material.base_color + 1, material.emissive + 1) for material in scene.materials]
    return memory.allocate(np.array(handles, np.uint64)[np.array(numbers)])


def place_picture(picture: Picture, memory: DeviceMemory) -> int:
    address = memory.allocate(picture.texels, name=f"picture {picture.name}")
    image = Image(address, picture.texels.shape[:2], "uint8", 4, "2d")
    sampler = Sampler(filter="nearest" if picture.is_nearest else "linear", address=picture.wrap, normalized=True)
    return place_texture(memory, Texture(image, sampler, "normalized", srgb=True))


def camera_values(camera: Camera, width: int, height: int) -> dict[str, Any]:
    """The camera as launch parameters.

    ``camera_right`` and ``camera_up`` span the image plane at distance 1 along the unit vector ``camera_forward``, so
    that the image's corners lie at ``forward +- right +- up``; the lens radius is half the aperture.
    """
    eye = np.array(camera.eye, np.float64)
    forward = np.array(camera.look_at, np.float64) - eye
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, np.array(camera.up, np.float64))
    right /= np.linalg.norm(right)
    half = np.tan(np.radians(camera.vfov_deg) / 2.0)
    return {
        "camera_eye": tuple(eye),
        "camera_right": tuple(right * half * width / height),
        "camera_up": tuple(np.cross(right, forward) * half),
        "camera_forward": tuple(forward),
        "lens_radius": camera.aperture / 2.0,
        "focus_distance": camera.focus_distance,
    }


def pixel_rays(camera: Camera, width: int, height: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The eye, float64[3], and the direction through each pixel's centre, float64[height, width, 3], not normalised."""
    values = camera_values(camera, width, height)
    eye, right, up, forward = (np.array(values[f"camera_{name}"]) for name in ("eye", "right", "up", "forward"))
    x = (2 * np.arange(width) + 1) / width - 1
    y = 1 - (2 * np.arange(height) + 1) / height
    return eye, forward + x[None, :, None] * right + y[:, None, None] * up


def inverse_maps(matrices: NDArray[np.float32]) -> NDArray[np.float32]:
    """Inverses of affine maps, float32[n, 3, 4]."""
    square = np.zeros((len(matrices), 4, 4))
    square[:, :3], square[:, 3, 3] = matrices, 1.0
    return np.ascontiguousarray(np.linalg.inv(square)[:, :3], np.float32)
