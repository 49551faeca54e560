"""Places of a pipeline's data: descriptors among the launch parameters, variables in a thread's block.

A variable belongs to a thread and is known by its name, in all shaders: so payloads are passed. Hit attributes share
one place whatever their names. Each takes a multiple of 256 B. Of 32 threads in the order of the pixels, a variable's
places lie side by side, and then the next variable's: so we infer that Vulkan-Sim's lie.
Source: ``docs/sources/vulkan-sim.md#thread-variables``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.vulkansim.opcodes import MATRICES, VECTORS, check
from rayplay.ptx.vulkansim.pointers import Base, Pointers, find_pointers, words_used
from rayplay.ptx.vulkansim.reader import Shader, Statement

VARIABLE_ALIGN_BYTES, TOGETHER = 256, 32
MOST_ATTRIBUTE_WORDS = 8
HIT_ATTRIBUTES = "hit attributes"
RAY_STATE = "ray state"
SCENE_TYPE = 1000150000
ATTRIBUTE_MODE, OLD_ATTRIBUTE_MODE, PAYLOAD_MODE = 64, 8192, 32
"""Modes of ``rt_alloc_mem``: hit attributes of Vulkan-Sim 2 and 1, payloads of 2."""
TEXTURE_STRIDE = 48
Key = tuple[int, int]  # descriptor set and binding
PARAMETERS = {"variables": 0, "width": 8, "object_to_world": 16, "world_to_object": 24}
FIRST_DESCRIPTOR = 32


@dataclass(frozen=True, slots=True)
class Descriptor:
    """One binding of a set. ``kind``: scene, buffer, image or textures; ``is_stored``: shaders write the image."""

    kind: str
    offset: int
    is_stored: bool = False
    stride: int = TEXTURE_STRIDE
    """Bytes between the textures of an array: 32 in the translator's first version, 48 in its second."""


@dataclass(frozen=True)
class Layout:
    """Everything that the lowering of one shader has to know of the others.

    variables        offset of each variable, were it one thread's; ``block_bytes`` of all of them.
    attribute_words  32-bit words of hit attributes that shaders use.
    hits             kinds of geometry, ``triangles`` and ``procedural``, by the number of a shader that looks at hits.
    formats          of storage images, ``rgba32f`` or ``rgba8``.
    """

    variables: Mapping[str, int]
    block_bytes: int
    attribute_words: int
    descriptors: Mapping[Key, Descriptor]
    hits: Mapping[int, frozenset[str]]
    formats: Mapping[Key, str]
    old_modes: bool
    uses_matrices: bool

    @property
    def parameter_bytes(self) -> int:
        """Length of the launch parameters."""
        return FIRST_DESCRIPTOR + 8 * len(self.descriptors)

    def bytes_of(self, variable: str) -> int:
        """Length of a variable."""
        offset = self.variables[variable]
        return min((other for other in self.variables.values() if other > offset), default=self.block_bytes) - offset

    def is_attribute(self, shader: Shader, statement: Statement) -> bool:
        """Whether an ``rt_alloc_mem`` asks for hit attributes, which only shaders of hits have."""
        mode = int(statement.operands[2])
        is_one = mode == ATTRIBUTE_MODE or (self.old_modes and mode == OLD_ATTRIBUTE_MODE)
        return is_one and shader.kind not in ("raygen", "miss")

    def name(self, shader: Shader, statement: Statement) -> str:
        """Name of the variable that an ``rt_alloc_mem`` asks for."""
        return HIT_ATTRIBUTES if self.is_attribute(shader, statement) else statement.operands[0]


def make_layout(
    shaders: Sequence[Shader], hits: Mapping[int, frozenset[str]], formats: Mapping[Key, str]
) -> tuple[Layout, dict[int, Pointers]]:
    """Lay out a pipeline; also the pointers of each shader, by its number. Raises ``UserError`` for wrong operands."""
    pointers = {shader.number: find_pointers(shader) for shader in shaders}
    every = [(shader, s) for shader in shaders for s in shader.body]
    asked = [(shader, s) for shader, s in every if s.opcode == "rt_alloc_mem" and check(shader, s)]
    modes = {int(s.operands[2]) for _, s in asked}
    layout = Layout({}, 0, 0, {}, hits, formats, not modes & {ATTRIBUTE_MODE, PAYLOAD_MODE}, False)
    sizes: dict[str, int] = {}
    words = 0
    for shader, statement in asked:
        name = layout.name(shader, statement)
        sizes[name] = max(sizes.get(name, 0), int(statement.operands[1]))
        if name == HIT_ATTRIBUTES:
            most = min(MOST_ATTRIBUTE_WORDS, -(-int(statement.operands[1]) // 4))
            words = max(words, words_used(shader, pointers[shader.number], statement.operands[0], most))
    opcodes = {s.opcode for _, s in every}
    if opcodes & VECTORS.keys():
        sizes[RAY_STATE] = VARIABLE_ALIGN_BYTES
    places, end = {}, 0
    for name, size in sizes.items():
        places[name] = end
        end += -(-max(size, 1) // VARIABLE_ALIGN_BYTES) * VARIABLE_ALIGN_BYTES
    made = Layout(
        places, end, words, _descriptors(shaders, pointers), hits, formats, layout.old_modes,
        bool(opcodes & MATRICES.keys()),
    )  # fmt: skip
    return made, pointers


def _descriptors(shaders: Sequence[Shader], pointers: Mapping[int, Pointers]) -> dict[Key, Descriptor]:
    """Every descriptor that a shader loads, in the order of sets and bindings."""
    kinds: dict[Key, str] = {}
    stored: set[Key] = set()
    for shader in shaders:
        for statement in shader.body:
            if statement.opcode == "load_vulkan_descriptor":
                check(shader, statement)
                key = (int(statement.operands[1]), int(statement.operands[2]))
                typed = statement.operands[3:]
                kinds.setdefault(key, "buffer")
                if typed and int(typed[0]) == SCENE_TYPE:
                    kinds[key] = "scene"
            elif statement.opcode in ("image_deref_store", "image_deref_load", "txl"):
                check(shader, statement)
                for base in pointers[shader.number].bases(statement.operands[0]):
                    if base.kind == "descriptor":
                        found = (int(base.key[0]), int(base.key[1]))
                        kinds[found] = "textures" if statement.opcode == "txl" else "image"
                        if statement.opcode == "image_deref_store":
                            stored.add(found)
    strides = {key: _stride(key, shaders, pointers) for key, kind in kinds.items() if kind == "textures"}
    return {
        key: Descriptor(kinds[key], FIRST_DESCRIPTOR + 8 * number, key in stored, strides.get(key, TEXTURE_STRIDE))
        for number, key in enumerate(sorted(kinds))
    }


def _stride(key: Key, shaders: Sequence[Shader], pointers: Mapping[int, Pointers]) -> int:
    """The step by which shaders index an array of textures: the factor of the index that they add to its address."""
    found: set[int] = set()
    for shader in shaders:
        steps = {s.operands[0]: s.operands[2] for s in shader.body if s.opcode == "mul.wide.u32"}
        for statement in shader.body:
            if statement.opcode != "add.u64" or len(statement.operands) != 3:
                continue
            bases = pointers[shader.number].bases(statement.operands[1])
            step = steps.get(statement.operands[2], "")
            if step.isdecimal() and any(base == Base("descriptor", key) for base in bases):
                found.add(int(step))
    if len(found) > 1 or any(step < 8 or step % 8 for step in found):
        shown = ", ".join(map(str, sorted(found)))
        place = f"{shaders[0].source}: textures of set {key[0]} binding {key[1]}"
        raise UserError(f"{place} must lie one multiple of 8 bytes apart in all shaders, found {shown}")
    return found.pop() if found else TEXTURE_STRIDE
