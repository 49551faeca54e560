"""Tables of a scene that programs read through calls of OptiX's interface: primitives, and instance records."""

from collections.abc import Sequence

import numpy as np

from rayplay.ptx.ir import Module
from rayplay.ptx.isa.optix import INTRINSICS
from rayplay.tracer.bvh.build import Acceleration
from rayplay.tracer.link.functions import Taken, with_called
from rayplay.tracer.link.launches import InstanceNodes, PrimitiveData
from rayplay.tracer.link.programs import Programs
from rayplay.tracer.meaning.optix import NODE_HANDLE_SHIFT, PRIMITIVES
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.scenes.description import IDENTITY, Scene
from rayplay.tracer.shading.upload import SceneBuffers, inverse_maps

NEEDS_PRIMITIVES = frozenset(
    name
    for name in INTRINSICS
    if any(call in name for call in PRIMITIVES) or name.endswith(("_traversable_handle", "_child_from_handle"))
)
"""Calls that read primitives of the scene, or give the handles by which they are found."""
NEEDS_NODES = frozenset(
    name for name in INTRINSICS if "transform" in name or "_from_handle" in name or "_from_ias" in name
)
"""Calls that speak of instance records."""


def scene_tables(
    scene: Scene, acceleration: Acceleration, buffers: SceneBuffers, memory: DeviceMemory, calls: frozenset[str]
) -> tuple[PrimitiveData | None, InstanceNodes | None]:
    """The tables that some calls need, None for one that they do not."""
    primitives = _primitives(scene, acceleration) if calls & NEEDS_PRIMITIVES else None
    return primitives, _nodes(scene, acceleration, buffers, memory) if calls & NEEDS_NODES else None


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
    meshes = [item.mesh for item in scene.instances] + scene.procedural_meshes
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


def _primitives(scene: Scene, acceleration: Acceleration) -> PrimitiveData:
    """Vertices, spheres and control points by geometry, for programs that fetch them from the structure."""
    values = []
    for geometry in acceleration.geometries:
        if geometry.curves:
            values.append(scene.curves.control.reshape(geometry.primitive_count, -1))
        elif geometry.procedural:
            values.append(np.column_stack([scene.spheres.center, scene.spheres.radius]).astype(np.float32))
        else:
            mesh = scene.meshes[geometry.mesh]
            last = geometry.first_primitive + geometry.primitive_count
            corners = mesh.vertices[mesh.triangles[geometry.first_primitive : last]]
            values.append(np.ascontiguousarray(corners).reshape(-1, 9))
    meshes = np.array([geometry.mesh for geometry in acceleration.geometries])
    return PrimitiveData(
        values=tuple(values),
        first_geometry=np.searchsorted(meshes, np.arange(len(scene.meshes) + 3)).astype(np.int32),
        mesh_of_instance=np.array([item.mesh for item in scene.instances] + scene.procedural_meshes, np.int32),
    )
