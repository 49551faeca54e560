"""Arrays of samplers that a shader declares as a variable of mode 2, as one revision of the translator writes them.

Vulkan-Sim gives such a variable a thread's block that nothing writes. Here it is a descriptor of textures of a set of
its own, so that a sample of it reads the scene's textures. Source: ``docs/sources/vulkan-sim.md#dialect``.
"""

from collections.abc import Sequence
from dataclasses import replace

from rayplay.ptx.vulkansim.pointers import find_pointers
from rayplay.ptx.vulkansim.reader import Shader, Statement

UNIFORM_MODE = "2"
SAMPLER_SET = 10_000
"""The set of these descriptors, above the four digits that a set has in the name of a folder's file."""


def with_samplers(shaders: Sequence[Shader]) -> list[Shader]:
    """The shaders, in which a variable of mode 2 that is sampled is a descriptor: of one name, one for all shaders."""
    names = sorted({name for shader in shaders for name in _sampled(shader)})
    return [replace(shader, body=tuple(_declared(each, names) for each in shader.body)) for shader in shaders]


def _sampled(shader: Shader) -> set[str]:
    uniforms = {s.operands[0] for s in shader.body if _is_uniform(s)}
    if not uniforms:
        return set()
    pointers = find_pointers(shader)
    textures = [s.operands[0] for s in shader.body if s.opcode == "txl" and s.operands]
    bases = {base for texture in textures for base in pointers.bases(texture)}
    return uniforms & {str(base.key[0]) for base in bases if base.kind == "variable"}


def _declared(statement: Statement, names: Sequence[str]) -> Statement:
    if not _is_uniform(statement) or statement.operands[0] not in names:
        return statement
    place = (str(SAMPLER_SET), str(names.index(statement.operands[0])))
    return replace(statement, opcode="load_vulkan_descriptor", operands=(statement.operands[0], *place))


def _is_uniform(statement: Statement) -> bool:
    return statement.opcode == "rt_alloc_mem" and statement.operands[2:] == (UNIFORM_MODE,)
