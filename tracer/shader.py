"""From shaders to PTX: the verb ``shader``."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rayplay import ptx
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.publish import atomic_file
from rayplay.ptx.ir import Module
from rayplay.ptx.text.printer import print_module
from rayplay.ptx.vulkansim.pipeline import lower_pipeline
from rayplay.ptx.vulkansim.reader import read_shader
from rayplay.tracer.slang.compile import compile_shader, is_shader
from rayplay.tracer.vulkansim.folder import read_folder
from rayplay.tracer.vulkansim.groups import read_table

ENTRY = re.compile(r"__(raygen|miss|closesthit|anyhit|intersection)__")


@dataclass(frozen=True)
class Shaders:
    """Programs of a file or folder of shaders. ``parameters``: name and kind of each, as the source has them."""

    module: Module
    text: str
    parameters: tuple[tuple[str, str], ...]

    def lines(self) -> list[str]:
        """A line for each program and parameter."""
        rows = [(name, f"{len(f.body):,} instructions") for name, f in self.module.functions.items() if f.is_entry]
        return [f"{name:<32}{what}" for name, what in (*rows, *self.parameters)]

    def records(self, path: Path) -> list[dict[str, Any]]:
        """The programs for another program."""
        entries = {name: f for name, f in self.module.functions.items() if f.is_entry}
        return [{"file": str(path), "program": name, "instructions": len(f.body)} for name, f in entries.items()]


def read_shaders(path: Path) -> Shaders:
    """Shaders of Slang, HLSL or Vulkan-Sim (a folder, or one file) as programs of the tracer.

    Raises ``UserError`` with file and line for what does not compile or lower.
    """
    if path.is_dir():
        folder = read_folder(path)
        found = lower_pipeline(folder.shaders, read_table(folder).hits(), folder.formats, str(path))
    elif is_shader(path):
        compiled = compile_shader(path)
        types = [(given["name"], given["type"]) for given in compiled.reflection["parameters"]]
        module = ptx.parse(compiled.ptx, str(path))
        if not any(function.is_entry and ENTRY.match(name) for name, function in module.functions.items()):
            raise UserError(f'{path}: must have a ray-tracing shader, such as [shader("raygeneration")], found none')
        declared = tuple((name, kind.get("baseShape", kind["kind"])) for name, kind in types)
        return Shaders(module, compiled.ptx, declared)
    elif path.suffix == ".ptx" and path.is_file():
        found = lower_pipeline([read_shader(path)], {}, {}, str(path))
    else:
        raise UserError(f"{path}: must be a file of Slang or HLSL, a shader of Vulkan-Sim or a folder of them")
    named = [(f"set {a} binding {b}", each.kind) for (a, b), each in found.layout.descriptors.items()]
    return Shaders(found.module, print_module(found.module), tuple(named))


def write_ptx(shaders: Shaders, out: Path) -> None:
    """Write the programs as PTX, whole or not at all."""
    with atomic_file(out) as partial:
        partial.write_text(shaders.text)
