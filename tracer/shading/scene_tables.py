"""Tables of a scene that programs read through calls of OptiX's interface: triangles, and instance records."""

from collections.abc import Sequence

import numpy as np

from rayplay.ptx.ir import Module
from rayplay.ptx.isa.optix import INTRINSICS
from rayplay.tracer.bvh.build import Acceleration
from rayplay.tracer.link.functions import Taken, with_called
from rayplay.tracer.link.launches import InstanceNodes, TriangleGeometry
from rayplay.tracer.link.programs import Programs
from rayplay.tracer.meaning.optix import NODE_HANDLE_SHIFT
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.scenes.description import IDENTITY, Scene
from rayplay.tracer.shading.upload import SceneBuffers, inverse_maps

NEEDS_TRIANGLES = frozenset(
    name
    for name in INTRINSICS
    if "triangle_vertex_data" in name or name.endswith(("_traversable_handle", "_child_from_handle"))
)
"""Calls that read triangles of the scene, or give the handles by which they are found."""
NEEDS_NODES = frozenset(
    name for name in INTRINSICS if "transform" in name or "_from_handle" in name or "_from_ias" in name
)
"""Calls that speak of instance records."""


def scene_tables(
    scene: Scene, acceleration: Acceleration, buffers: SceneBuffers, memory: DeviceMemory, calls: frozenset[str]
) -> tuple[TriangleGeometry | None, InstanceNodes | None]:
    """The tables that some calls need, None for one that they do not."""
    triangles = _triangles(scene, acceleration) if calls & NEEDS_TRIANGLES else None
    return triangles, _nodes(scene, acceleration, buffers, memory) if calls & NEEDS_NODES else None


def mentioned(programs: Programs, modules: Sequence[Module]) -> frozenset[str]:
    """The calls of OptiX's interface that programs, or the functions that they may call, make."""
    reached = with_called(programs, modules, Taken())
    return frozenset(i.callee for _, function in reached for i in function.body if i.callee in INTRINSICS)


def _nodes(scene: Scene, acceleration: Acceleration, buffers: SceneBuffers, memory: DeviceMemory) -> InstanceNodes:
    """The instance records that transform lists name: one an instance, or more where it stands inside others.

    The records of instances come first, in their order, then the ones around them; each instance has its own.
    """
    count = len(acceleration.instance_geometry)
    chains = [item.within for item in scene.instances] + [()] * (count - len(scene.instances))
    first = np.cumsum([0] + [1 + len(chain) for chain in chains]).astype(np.int32)
    meshes = [item.mesh for item in scene.instances] + [len(scene.meshes)] * (count - len(scene.instances))
    nodes: list[int] = []
    ids, children = list(range(count)), [mesh + 1 for mesh in meshes]
    for number, chain in enumerate(chains):
        outer = range(len(ids), len(ids) + len(chain))
        listed = [*outer, number]
        nodes += listed
        ids += [number] * len(outer)
        children += [node | 1 << NODE_HANDLE_SHIFT for node in listed[1:]]
    forth, back = buffers.launch["object_to_world"], buffers.launch["world_to_object"]
    if any(chains):
        own = [item.own for item in scene.instances] + [IDENTITY] * (count - len(scene.instances))
        matrices = np.array([*own, *(matrix for chain in chains for matrix in chain)], np.float32)
        forth, back = memory.allocate(matrices), memory.allocate(inverse_maps(matrices))
    listed_nodes, handles = np.array(nodes, np.int32), np.array(children, np.int64)
    return InstanceNodes(first, listed_nodes, np.array(ids, np.uint32), handles, forth, back, acceleration.top_address)


def _triangles(scene: Scene, acceleration: Acceleration) -> TriangleGeometry:
    """Vertices of all triangles by geometry, for programs that fetch them from the acceleration structure."""
    vertices = []
    for geometry in acceleration.geometries:
        if geometry.procedural:
            vertices.append(np.zeros((0, 3, 3), np.float32))
            continue
        mesh = scene.meshes[geometry.mesh]
        last = geometry.first_primitive + geometry.primitive_count
        vertices.append(np.ascontiguousarray(mesh.vertices[mesh.triangles[geometry.first_primitive : last]]))
    meshes = np.array([geometry.mesh for geometry in acceleration.geometries])
    spheres = [len(scene.meshes)] * scene.spheres.instance_count
    return TriangleGeometry(
        vertices=tuple(vertices),
        first_geometry=np.searchsorted(meshes, np.arange(len(scene.meshes) + 2)).astype(np.int32),
        mesh_of_instance=np.array([instance.mesh for instance in scene.instances] + spheres, np.int32),
    )
