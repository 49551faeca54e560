"""The folder that Vulkan-Sim writes of a launch: shaders, shader binding table, data of descriptor sets.

| file | contents |
|---|---|
| ``MESA_SHADER_KIND_N.ptx`` | a shader |
| ``*.raygensbt``, ``*.misssbt``, ``*.hitsbt`` | records of 32 B: words 0 and 1 are numbers of shaders |
| ``*.callparams`` | text: indirect, width, height, depth, address |
| ``SET_BINDING_BYTES_TYPE.vkdescrptorsetdata`` | bytes of a buffer |
| ``SET_BINDING.vkstorageimagemetadata`` | text: width, height, VkFormat, ... |

Source: ``docs/sources/vulkan-sim.md#dialect``.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.formats.guard.limits import BUFFER_BYTES, TEXT_BYTES
from rayplay.formats.guard.text import read_bounded, read_text
from rayplay.ptx.vulkansim.layout import SCENE_TYPE, Key
from rayplay.ptx.vulkansim.reader import Shader, read_shader

RECORD_WORDS = 8
IMAGE_FORMATS = {37: "rgba8", 43: "rgba8", 44: "rgba8", 50: "rgba8", 109: "rgba32f"}
"""VkFormat by our name: four bytes, whatever their order on the screen, or four floats."""
_BUFFER = re.compile(r"(\d{1,4})_(\d{1,4})_(\d+)_(\d+)")
_IMAGE = re.compile(r"(\d{1,4})_(\d{1,4})")


@dataclass(frozen=True)
class Folder:
    """Contents of a folder.

    miss, hit    uint32[records, 8]: words of the shader binding table; None where the folder has no such file.
    raygen       number of the ray generation shader, None where no table says it.
    size         width and height of the launch, None where no file says it.
    buffers      bytes by set and binding; ``formats`` of storage images likewise.
    """

    path: Path
    shaders: tuple[Shader, ...]
    raygen: int | None
    miss: NDArray[np.uint32] | None
    hit: NDArray[np.uint32] | None
    size: tuple[int, int] | None
    buffers: dict[Key, bytes]
    formats: dict[Key, str]


def shader_files(path: Path) -> list[Path]:
    """The shaders of a folder, in the order of their names."""
    return sorted(path.glob("MESA_SHADER_*.ptx"))


def folder_files(path: Path) -> list[Path]:
    """Every file of a folder that decides a launch, in the order of their names."""
    suffixes = ("raygensbt", "misssbt", "hitsbt", "vkdescrptorsetdata", "vkstorageimagemetadata", "toml")
    others = sorted(file for suffix in suffixes for file in path.glob(f"*.{suffix}"))
    return [*shader_files(path), *others]


def read_folder(path: Path) -> Folder:
    """Read a folder. Raises ``UserError`` with the file for a file that is missing or damaged."""
    files = shader_files(path)
    if not files:
        raise UserError(f"{path}: must hold shaders called MESA_SHADER_KIND_N.ptx, found none")
    shaders = sorted((read_shader(file) for file in files), key=lambda shader: shader.number)
    raygen = _table(path, "raygensbt")
    return Folder(
        path, tuple(shaders), None if raygen is None else int(raygen[0, 0]), _table(path, "misssbt"),
        _table(path, "hitsbt"), launch_size(path), _buffers(path), _formats(path),
    )  # fmt: skip


def launch_size(path: Path) -> tuple[int, int] | None:
    """Width and height that the ``.callparams`` of a folder say, None without one."""
    file = _only(path, "callparams")
    if file is None:
        return None
    words = read_text(file).strip().split(",")
    if len(words) < 4 or not all(word.strip().isdecimal() for word in words[:4]):
        raise FormatError(
            f"must be numbers: indirect, width, height, depth, address; found {','.join(words)[:60]}", file=file
        )
    width, height, depth = (int(word) for word in words[1:4])
    if depth != 1 or not (0 < width <= 65535 and 0 < height <= 65535):
        raise FormatError(f"must be a launch of one layer, found {width} x {height} x {depth}", file=file)
    return width, height


def _only(path: Path, suffix: str) -> Path | None:
    found = sorted(path.glob(f"*.{suffix}"))
    if len(found) > 1:
        raise UserError(f"{path}: must hold one file .{suffix}, found {', '.join(file.name for file in found)}")
    return found[0] if found else None


def _table(path: Path, suffix: str) -> NDArray[np.uint32] | None:
    """Records of a shader binding table."""
    file = _only(path, suffix)
    if file is None:
        return None
    data = read_bounded(file, TEXT_BYTES)
    if not data or len(data) % (4 * RECORD_WORDS):
        raise FormatError(f"must be records of {4 * RECORD_WORDS} bytes, found {len(data)} bytes", file=file)
    return np.frombuffer(data, "<u4").reshape(-1, RECORD_WORDS)


def _buffers(path: Path) -> dict[Key, bytes]:
    found: dict[Key, bytes] = {}
    for file in sorted(path.glob("*.vkdescrptorsetdata")):
        name = _BUFFER.fullmatch(file.stem)
        if name is None:
            raise FormatError("must be called SET_BINDING_BYTES_TYPE.vkdescrptorsetdata", file=file)
        if int(name[4]) != SCENE_TYPE:  # the scene is ours
            found[int(name[1]), int(name[2])] = read_bounded(file, BUFFER_BYTES)
    return found


def _formats(path: Path) -> dict[Key, str]:
    found: dict[Key, str] = {}
    for file in sorted(path.glob("*.vkstorageimagemetadata")):
        name = _IMAGE.fullmatch(file.stem)
        words = read_text(file).strip().split(",")
        if name is None or len(words) < 3 or not words[2].strip().isdecimal():
            raise FormatError("must be called SET_BINDING, and begin with width, height and format", file=file)
        if int(words[2]) not in IMAGE_FORMATS:
            known = ", ".join(map(str, IMAGE_FORMATS))
            raise FormatError(f"the format must be one of VkFormat {known}, found {words[2].strip()}", file=file)
        found[int(name[1]), int(name[2])] = IMAGE_FORMATS[int(words[2])]
    return found
