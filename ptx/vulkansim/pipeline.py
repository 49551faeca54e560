"""The shaders of a ray tracing pipeline to one module of programs that the tracer runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Function, Module
from rayplay.ptx.text.parser import parse
from rayplay.ptx.verifier.code import verify
from rayplay.ptx.vulkansim.code import PARAMETERS, Code
from rayplay.ptx.vulkansim.layout import Key, Layout, make_layout
from rayplay.ptx.vulkansim.lower import lower
from rayplay.ptx.vulkansim.reader import Shader
from rayplay.ptx.vulkansim.samplers import with_samplers

HEAD = ".version 7.8\n.target sm_75\n.address_size 64\n.const .align 8 .b8 {symbol}[{bytes}];\n"
"""Of lowered modules: a target whose f32 instructions keep subnormal numbers, as Vulkan-Sim's do."""


@dataclass(frozen=True)
class Pipeline:
    """A lowered pipeline. ``names`` of the programs and ``kinds`` of the shaders go by the numbers of stages."""

    module: Module
    layout: Layout
    names: Mapping[int, str]
    kinds: Mapping[int, str]


def lower_pipeline(
    shaders: Sequence[Shader], hits: Mapping[int, frozenset[str]], formats: Mapping[Key, str], source: str
) -> Pipeline:
    """Lower all shaders of a pipeline; lines of the module's instructions are the lines of their files.

    hits     kinds of geometry, ``triangles`` and ``procedural``, whose hits a closest-hit or any-hit shader looks at.
    formats  of storage images by set and binding, ``rgba32f`` (the default) or ``rgba8``.
    source   what messages about the whole call it.
    Raises ``UserError`` with file and line for whatever has no meaning.
    """
    numbers: dict[int, Shader] = {}
    for shader in shaders:
        other = numbers.setdefault(shader.number, shader)
        if other is not shader:
            raise UserError(f"{shader.source}: number {shader.number} must be one shader's, {other.source} has it, too")
    shaders = with_samplers(shaders)
    layout, pointers = make_layout(shaders, hits, formats)
    head = HEAD.format(symbol=PARAMETERS, bytes=layout.parameter_bytes)
    functions: dict[str, Function] = {}
    texts = [head]
    for shader in shaders:
        code = lower(shader, layout, pointers[shader.number])
        module = _placed(parse(head + code.text(), shader.source), code)
        if problems := verify(module):
            raise UserError(str(problems[0]))
        functions |= module.functions
        texts.append(code.text())
    whole = parse(head, source)
    lines = tuple("\n".join(texts).split("\n"))
    joined = replace(whole, functions=functions, source_lines=lines)
    names = {shader.number: shader.name for shader in shaders}
    return Pipeline(joined, layout, names, {shader.number: shader.kind for shader in shaders})


def _placed(module: Module, code: Code) -> Module:
    """The module with its instructions at the places of the shader's statements."""
    (function,) = module.functions.values()
    body = tuple(replace(i, position=place) for i, place in zip(function.body, code.places, strict=True))
    placed = replace(function, body=body, position=code.shader.position)
    return replace(module, functions={function.name: placed})
