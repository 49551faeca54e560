"""A scene as arrays: meshes, instances, spheres, materials, textures, camera, sky and lights.

Right-handed, y up; colours are linear RGB. Every reader and generator of this package returns a ``Scene``; the
acceleration structure and the programs' buffers are made from it and from nothing else.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

MODELS = ("lambertian", "metallic", "dielectric", "diffuse_light")

Color = tuple[float, float, float]
Vector = tuple[float, float, float]

LARGEST_COORDINATE = 1e15
"""So that no area or product of lengths overflows float32."""
IDENTITY = np.eye(3, 4, dtype=np.float32)
TEXTURED, TESTED, KINDS = 1, 2, 4
"""Kinds of materials: two bits, and how many there are."""


def triple(values: Iterable[float]) -> Vector:
    """Three numbers as floats. Raises ``ValueError`` or ``TypeError`` for others."""
    x, y, z = (float(value) for value in values)
    return x, y, z


@dataclass(frozen=True)
class Material:
    """How a surface scatters light, and which of its texels let a ray pass."""

    name: str
    model: str = "lambertian"
    """One of ``MODELS``."""
    albedo: Color = (0.7, 0.7, 0.7)
    fuzz: float = 0.0
    """Metallic: radius of the sphere that perturbs the mirrored direction, 0 to 1."""
    ior: float = 1.5
    """Dielectric: index of refraction."""
    emission: Color = (0.0, 0.0, 0.0)
    """Diffuse light: emitted radiance."""
    alpha_texture: int = -1
    """Index into ``Scene.textures``; -1 for a surface without holes."""
    alpha_cutoff: float = 0.5
    """A hit counts only where alpha / 255 >= this."""
    base_color: int = -1
    """Index into ``Scene.pictures``, whose colour multiplies ``albedo`` and whose alpha the test takes; -1 for none."""
    emissive: int = -1
    """Index into ``Scene.pictures``, whose colour multiplies ``emission``; -1 for none."""

    @property
    def is_textured(self) -> bool:
        """Whether programs read its colours through texture fetches."""
        return self.base_color >= 0 or self.emissive >= 0


@dataclass(frozen=True, eq=False)
class Texture:
    """Alpha of a surface, wrapped by repetition; row 0 is v = 0, the top, as in glTF."""

    name: str
    alpha: NDArray[np.uint8]
    """uint8[height, width], 255 is opaque."""


@dataclass(frozen=True, eq=False)
class Picture:
    """Texels of a texture and how they are read."""

    name: str
    texels: NDArray[np.uint8]
    """uint8[height, width, 4], sRGB where they are colours; row 0 is v = 0, the top, as in glTF."""
    wrap: tuple[str, str] = ("wrap", "wrap")
    """Along u and v: wrap, clamp or mirror."""
    is_nearest: bool = False
    level_filter: str = "linear"
    """Of a mip chain: nearest, linear (between two levels), or empty where the largest level alone is read."""
    levels: tuple[NDArray[np.uint8], ...] = ()
    """The chain behind ``texels`` where the file has one; else it is made of them."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles in object space; becomes one bottom-level structure."""

    name: str
    vertices: NDArray[np.float32]
    """float32[n, 3]."""
    triangles: NDArray[np.uint32]
    """uint32[m, 3], vertex numbers."""
    material: NDArray[np.uint16]
    """uint16[m], index into ``Scene.materials``."""
    uv: NDArray[np.float32] | None = None
    """float32[n, 2] as in glTF, or None."""
    normals: NDArray[np.float32] | None = None
    """float32[n, 3], of any length; zero, or None, where a surface is as flat as its triangles."""


@dataclass(frozen=True, eq=False)
class Instance:
    """A mesh put into the world."""

    mesh: int
    object_to_world: NDArray[np.float32] = field(default_factory=IDENTITY.copy)
    """float32[3, 4]."""
    within: tuple[NDArray[np.float32], ...] = ()
    """float32[3, 4] each: the matrices of the instances around it, outermost first, all in ``object_to_world``."""

    @property
    def own(self) -> NDArray[np.float32]:
        """float32[3, 4]: its matrix inside of the instances around it."""
        square = np.eye(4)
        for matrix in self.within:
            square = square @ np.vstack([matrix, (0.0, 0.0, 0.0, 1.0)])
        whole = np.vstack([self.object_to_world, (0.0, 0.0, 0.0, 1.0)])
        return np.ascontiguousarray((np.linalg.inv(square) @ whole)[:3], np.float32)


def turned(mesh: int, angle: float, translation: Vector, scale: float = 1.0) -> Instance:
    """A mesh scaled, turned about y by ``angle`` radians, then translated."""
    cos, sin = scale * np.cos(angle), scale * np.sin(angle)
    x, y, z = translation
    return Instance(mesh, np.array([[cos, 0, sin, x], [0, scale, 0, y], [-sin, 0, cos, z]], dtype=np.float32))


@dataclass(frozen=True, eq=False)
class Spheres:
    """Procedural primitives: a bounding box each, and an intersection program."""

    center: NDArray[np.float32]
    """float32[n, 3]."""
    radius: NDArray[np.float32]
    """float32[n]."""
    material: NDArray[np.uint16]
    """uint16[n], index into ``Scene.materials``."""
    apart: bool = False
    """Each is a bottom level of its own, placed by an instance of its own; otherwise they share one."""

    @property
    def instance_count(self) -> int:
        """How many instances place them."""
        return len(self) if self.apart else min(len(self), 1)

    @classmethod
    def none(cls) -> "Spheres":
        return cls(np.zeros((0, 3), np.float32), np.zeros(0, np.float32), np.zeros(0, np.uint16))

    def __len__(self) -> int:
        return len(self.radius)


CONTROL_POINTS = {"linear": 2, "quadratic_bspline": 3, "cubic_bspline": 4, "catmullrom": 4, "cubic_bezier": 4}
"""Control points of a segment, by the basis of its curve."""


@dataclass(frozen=True, eq=False)
class Curves:
    """Round curves of one basis: a segment is a primitive, its surface the spheres along it."""

    basis: str
    """Of ``CONTROL_POINTS``."""
    points: NDArray[np.float32]
    """float32[n, 4], control points: centre and radius."""
    first: NDArray[np.uint32]
    """uint32[m], the first control point of each segment; the others follow it."""
    material: NDArray[np.uint16]
    """uint16[m], index into ``Scene.materials``."""

    @classmethod
    def none(cls) -> "Curves":
        return cls("linear", np.zeros((0, 4), np.float32), np.zeros(0, np.uint32), np.zeros(0, np.uint16))

    def __len__(self) -> int:
        return len(self.first)

    @property
    def control(self) -> NDArray[np.float32]:
        """float32[m, control points, 4]: each segment's."""
        return self.points[self.first[:, None] + np.arange(CONTROL_POINTS[self.basis], dtype=np.uint32)]

    def boxes(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Low and high corners, float32[m, 3], of a hull of each segment, rounded outwards."""
        hull = self.control.astype(np.float64)
        if self.basis == "catmullrom":  # leaves the hull of its points; as a Bezier curve it does not
            before, begin, end, after = (hull[:, k] for k in range(4))
            hull = np.stack([begin, begin + (end - before) / 6, end - (after - begin) / 6, end], axis=1)
        reach = np.abs(hull[..., 3:])
        low, high = (hull[..., :3] - reach).min(axis=1), (hull[..., :3] + reach).max(axis=1)
        return (
            np.nextafter(low.astype(np.float32), np.float32(-np.inf)),
            np.nextafter(high.astype(np.float32), np.float32(np.inf)),
        )


@dataclass(frozen=True)
class Camera:
    """A thin-lens camera."""

    eye: Vector
    look_at: Vector
    up: Vector = (0.0, 1.0, 0.0)
    vfov_deg: float = 40.0
    """Vertical field of view, full angle."""
    aperture: float = 0.0
    """Diameter of the lens; 0 is a pinhole."""
    focus_distance: float = 10.0


@dataclass(frozen=True)
class Sky:
    """Radiance of a ray that leaves the scene: ``lerp(bottom, top, 0.5 * (direction.y + 1))``, or black."""

    gradient: bool = True
    bottom: Color = (1.0, 1.0, 1.0)
    top: Color = (0.5, 0.7, 1.0)


@dataclass(frozen=True)
class Light:
    """A sphere light that shadow rays aim at; it is not geometry and no ray can hit it."""

    position: Vector
    radius: float


@dataclass(frozen=True)
class Geometry:
    """A run of primitives of one bottom-level structure that share a hit record: a mesh has up to four, its opaque
    triangles before its alpha-tested ones, and plain ones before textured ones within each; all spheres are one, and
    all curves. A primitive number counts from the run's start.
    """

    mesh: int
    """Index into ``Scene.meshes``; ``len(Scene.meshes)`` for the spheres, one more for the curves."""
    first_primitive: int
    primitive_count: int
    opaque: bool
    procedural: bool = False
    textured: bool = False
    curves: bool = False


@dataclass(frozen=True, eq=False)
class Scene:
    """Everything that is rendered. ``validate`` has been called on what ``tracer.scenes.load`` returns.

    ``unused`` names what its file says of surfaces and lights and no program reads.
    """

    name: str
    meshes: list[Mesh]
    instances: list[Instance]
    materials: list[Material]
    camera: Camera
    spheres: Spheres = field(default_factory=Spheres.none)
    textures: list[Texture] = field(default_factory=list)
    sky: Sky = field(default_factory=Sky)
    lights: list[Light] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    unused: tuple[str, ...] = ()
    curves: Curves = field(default_factory=Curves.none)

    @property
    def unique_triangles(self) -> int:
        return sum(len(mesh.triangles) for mesh in self.meshes)

    @property
    def instanced_triangles(self) -> int:
        return sum(len(self.meshes[instance.mesh].triangles) for instance in self.instances)

    def geometries(self) -> list[Geometry]:
        """The hit geometries in order: of mesh 0, of mesh 1, ..., then the spheres, then the curves. Their position in
        this list is the number of their hit record (for one ray type)."""
        kinds = self.kinds()
        found = [each for index in range(len(self.meshes)) for each in self.geometries_of(index, kinds)]
        if len(self.spheres):
            found.append(Geometry(len(self.meshes), 0, len(self.spheres), opaque=True, procedural=True))
        if len(self.curves):
            count = len(self.curves)
            found.append(Geometry(len(self.meshes) + 1, 0, count, opaque=True, procedural=True, curves=True))
        return found

    def geometries_of(self, index: int, kinds: NDArray[np.uint8]) -> Iterator[Geometry]:
        """The hit geometries of a mesh, with what ``kinds`` gives."""
        counts = np.bincount(kinds[self.meshes[index].material], minlength=KINDS)
        for kind, first, count in zip(range(KINDS), np.cumsum(counts) - counts, counts, strict=True):
            if count:
                opaque, textured = kind < TESTED, kind % TESTED == TEXTURED
                yield Geometry(index, int(first), int(count), opaque=opaque, textured=textured)

    def alpha_tested(self) -> NDArray[np.bool_]:
        """bool[materials]: which materials have an alpha texture."""
        return np.array([material.alpha_texture >= 0 for material in self.materials], dtype=bool)

    def kinds(self) -> NDArray[np.uint8]:
        """uint8[materials]: ``TEXTURED`` of one with pictures, plus ``TESTED`` of one with an alpha texture."""
        textured = np.array([material.is_textured for material in self.materials], dtype=np.uint8)
        return TEXTURED * textured + TESTED * self.alpha_tested().astype(np.uint8)

    def bounds(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Lowest and highest corner in world space, float32[3] each, from the vertices themselves."""
        low, high = np.full(3, np.inf, np.float32), np.full(3, -np.inf, np.float32)
        for instance in self.instances:
            matrix = instance.object_to_world
            corners = self.meshes[instance.mesh].vertices @ matrix[:, :3].T + matrix[:, 3]
            low, high = np.minimum(low, corners.min(axis=0)), np.maximum(high, corners.max(axis=0))
        if len(self.spheres):
            center, radius = self.spheres.center, self.spheres.radius[:, None]
            low, high = np.minimum(low, (center - radius).min(axis=0)), np.maximum(high, (center + radius).max(axis=0))
        if len(self.curves):
            first, last = self.curves.boxes()
            low, high = np.minimum(low, first.min(axis=0)), np.maximum(high, last.max(axis=0))
        return low, high

    @property
    def procedural_meshes(self) -> list[int]:
        """Number in place of a mesh's, for each instance of procedural primitives: of spheres, then of curves."""
        curves = [len(self.meshes) + 1] * bool(len(self.curves))
        return [len(self.meshes)] * self.spheres.instance_count + curves


def sort_by_kind(scene: Scene) -> Scene:
    """The same scene with each mesh's triangles in the order of their kinds, as ``geometries`` expects."""
    kinds = scene.kinds()
    meshes = []
    for mesh in scene.meshes:
        order = np.argsort(kinds[mesh.material], kind="stable")
        meshes.append(replace(mesh, triangles=mesh.triangles[order], material=mesh.material[order]))
    return Scene(**{**vars(scene), "meshes": meshes})


def moved_into_world(scene: Scene) -> Scene:
    """The same scene with each mesh that is placed once moved to its place, as Vulkan-Sim's workloads have theirs
    (``docs/sources/vulkan-sim.md#scenes``): its instance then has the identity. A mirrored mesh is wound the other way
    round, so that its front stays its front."""
    placed = Counter(instance.mesh for instance in scene.instances)
    meshes, instances = list(scene.meshes), list(scene.instances)
    for number, instance in enumerate(scene.instances):
        if placed[instance.mesh] > 1:
            continue
        mesh, matrix = scene.meshes[instance.mesh], instance.object_to_world
        x, y, z = mesh.vertices.T
        is_mirrored = np.linalg.det(matrix[:, :3].astype(np.float64)) < 0
        meshes[instance.mesh] = replace(
            mesh,
            vertices=np.stack([(x * a + y * b) + (z * c + d) for a, b, c, d in matrix], axis=1),
            triangles=np.ascontiguousarray(mesh.triangles[:, [0, 2, 1]]) if is_mirrored else mesh.triangles,
            normals=None if mesh.normals is None else _turned_normals(mesh.normals, matrix),
        )
        instances[number] = Instance(instance.mesh)
    return replace(scene, meshes=meshes, instances=instances)


def _turned_normals(normals: NDArray[np.float32], matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """Normals under the transposed inverse of a map, as programs turn them."""
    x, y, z = normals.T
    rows = np.linalg.inv(matrix[:, :3].astype(np.float64)).T.astype(np.float32)
    return np.stack([x * a + y * b + z * c for a, b, c in rows], axis=1)
