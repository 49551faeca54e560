"""Launches: an image of OptiX-style programs, or a grid of a compute kernel."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rayplay import ptx
from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Function, Module
from rayplay.tracer.memory.arena import DeviceMemory

Lengths = tuple[int, int, int]
DEFAULT_TRACE_DEPTH = 16
SBT_HEADER_BYTES = 32


@dataclass(frozen=True)
class PrimitiveData:
    """Untransformed triangles, spheres and curves that ``_optix_get_triangle_vertex_data`` and its like read.

    values           one array per geometry (build input) of the scene: float32[triangles, 9], float32[spheres, 4], or
                     float32[segments, 4 * control points], each centre and radius.
    first_geometry   int32[meshes + 1]: geometries of mesh ``m`` are ``first_geometry[m]`` to ``first_geometry[m + 1]``.
    mesh_of_instance int32[instances]; the traversable handle of an instance's mesh is ``mesh + 1``.
    """

    values: tuple[np.ndarray, ...]
    first_geometry: np.ndarray
    mesh_of_instance: np.ndarray


@dataclass(frozen=True)
class InstanceNodes:
    """The instance records of a scene, which transform lists name; one scene above another where instances nest.

    first       int32[instances + 1]: the list of instance ``i`` is ``nodes[first[i]:first[i + 1]]``.
    nodes       int32[...]: numbers of records, from the root of the scene to the mesh.
    ids         uint32[records]; children: int64[records], handle of the record or mesh below.
    object_to_world, world_to_object   device addresses of float32[records, 3, 4]: each record's own matrix.
    top_level   handle of the whole scene, the first argument of trace calls.
    """

    first: np.ndarray
    nodes: np.ndarray
    ids: np.ndarray
    children: np.ndarray
    object_to_world: int
    world_to_object: int
    top_level: int


@dataclass(frozen=True)
class ImageLaunch:
    """One launch of a ray generation program over ``width x height`` pixels (docs/sources/optix.md#modules).

    programs               (module, function) in the order of program ids; ``filter_shader`` already injected in raygen.
    raygen_index           program id of the ray generation program.
    constants              bytes of launch-parameter symbols, such as ``params``; one buffer per symbol for all modules.
    raygen_record_address  address of the raygen SBT record; programs see it plus 32.
    miss_record_addresses  uint64[miss records]; hit_record_addresses: uint64[hit records].
    hit_programs           int32[hit records, 3]: program ids closest-hit, any-hit, intersection, -1 for none.
    instance_ids           uint32[instances]: what ``_optix_read_instance_id`` returns.
    trace_context          what ``tracer.rays.traverse.make_context`` returns: the traversal's ``int64[:]`` of raw
                           pointers, in its attribute ``context``.
    selected               bool[height, width], the pixels ``filter_shader`` lets pass; None: all.
    trace_depth            how deep trace calls may nest.
    nodes                  what transform lists name; None where no program asks.
    callables              program ids by callable index; callable_record_addresses: uint64[callables].
    libraries              modules whose functions programs may call, beside their own.
    exception_index        program id of the exception program, -1 for none; exception_record_address: of its record.
    """

    programs: tuple[tuple[Module, Function], ...]
    raygen_index: int
    width: int
    height: int
    memory: DeviceMemory
    constants: dict[str, bytes]
    raygen_record_address: int
    miss_record_addresses: np.ndarray
    hit_record_addresses: np.ndarray
    hit_programs: np.ndarray
    instance_ids: np.ndarray
    trace_context: Any
    primitives: PrimitiveData | None = None
    selected: np.ndarray | None = None
    trace_depth: int = DEFAULT_TRACE_DEPTH
    name: str = ""
    nodes: InstanceNodes | None = None
    callables: tuple[int, ...] = ()
    callable_record_addresses: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint64))
    libraries: tuple[Module, ...] = ()
    exception_index: int = -1
    exception_record_address: int = 0


@dataclass(frozen=True)
class ComputeLaunch:
    """One launch of a compute kernel.

    params    bytes of the parameters in order, each as wide as its ``.param`` says.
    cooperative   whether all CTAs make progress together, and a barrier of the grid works.
    libraries     modules whose functions and variables the kernel may use, beside its own.
    grid, block   CTAs and threads of a CTA along x, y, z.
    """

    module: Module
    entry: str
    grid: Lengths
    block: Lengths
    params: tuple[bytes, ...]
    memory: DeviceMemory
    dynamic_shared_bytes: int = 0
    stream: int = 0
    cooperative: bool = False
    constants: dict[str, bytes] = field(default_factory=dict)
    libraries: tuple[Module, ...] = ()


def three(lengths: Sequence[int]) -> Lengths:
    """Lengths along x, y and z; the ones not given are 1."""
    x, y, z = (*lengths, 1, 1)[:3]
    return x, y, z


def require_sound(module: Module) -> None:
    """``UserError`` for the first problem that verification finds in a module."""
    if problems := ptx.verify(module):
        more = f" (and {len(problems) - 1} more: python -m ptx parse {module.source_name})" if problems[1:] else ""
        raise UserError(f"{problems[0]}{more}")
