"""Slang or HLSL to PTX: ``slangc`` makes CUDA of it, NVRTC makes PTX of that, with our header in OptiX's place.

``slangc`` comes with the package slangtorch, NVRTC with nvidia-cuda-nvrtc; no GPU, driver or SDK is needed.
"""

import ctypes
import ctypes.util
import importlib.util
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rayplay.formats.guard.errors import UserError, reason_of
from rayplay.formats.guard.text import parse_json

SUFFIXES = (".slang", ".hlsl")
GLSL = (".glsl", ".rgen", ".rchit", ".rahit", ".rint", ".rmiss", ".rcall", ".comp")
NEEDS = "pip install 'rayplay[slang]' && pip install --no-deps slangtorch"
SECONDS = 120  # of slangc: a second is usual
HEADERS = tuple(Path(__file__).parents[1] / "programs" / "slang" / name for name in ("optix.h", "hit_objects.h"))
OPTIONS = (b"-arch=compute_75", b"-std=c++17", b"-DSLANG_CUDA_ENABLE_OPTIX", b"-default-device", b"-w")
_ERROR = re.compile(r"error(?:\[?\s*[A-Z]?\d+\]?)?:\s*(.+)")
_LINE = re.compile(r"(?:-->\s*)?([^\s(:]+)[(:](\d+)")
_REFUSED = {
    "RayQuery": "ray queries have no CUDA form: trace rays with TraceRay",
    "TraceRayInline": "ray queries have no CUDA form: trace rays with TraceRay",
    "CallShader": "callable shaders have no CUDA form: call a function instead",
    "__half": "its CUDA form needs a header that NVRTC does not bring: use float",
}


@dataclass(frozen=True)
class Compiled:
    """PTX of a file of shaders, and what the compiler says of its parameters."""

    ptx: str
    reflection: dict[str, Any]


def is_shader(path: Path) -> bool:
    """Whether a file is one that this package compiles. Raises ``UserError`` for GLSL, which it does not."""
    if path.suffix.lower() in GLSL:
        raise UserError(
            f"{path}: GLSL is not compiled, since slangc loses its payloads: write Slang or HLSL, or run the shaders "
            "that Vulkan-Sim makes of it (docs/programs/shaders.md)"
        )
    return path.suffix.lower() in SUFFIXES


def compile_shader(path: Path) -> Compiled:
    """Compile all entry points of a file.

    Raises ``UserError`` with the compiler's first line where the file is wrong, and where a compiler is missing.
    """
    slangc, nvrtc = find_slangc(), find_nvrtc()
    if not path.is_file():
        raise UserError(f"{path}: no such file of shaders")
    with tempfile.TemporaryDirectory() as scratch:
        cuda, found = Path(scratch) / "shader.cu", Path(scratch) / "reflection.json"
        command = [str(slangc), str(path), "-target", "cuda", "-line-directive-mode", "none", "-o", str(cuda)]
        run = subprocess.run(
            [*command, "-reflection-json", str(found)], capture_output=True, text=True, timeout=SECONDS, check=False
        )
        if run.returncode or not cuda.exists():
            raise UserError(f"{path}: {_first_error(run.stderr + run.stdout)}")
        reflection = parse_json(found.read_text(), found)
        return Compiled(_nvrtc(nvrtc, cuda.read_bytes(), path), reflection)


def find_slangc() -> Path:
    """The compiler of the package slangtorch, else of the path. Raises ``UserError`` without one."""
    package = importlib.util.find_spec("slangtorch")
    places = package.submodule_search_locations or [] if package else []
    inside = next((file for place in places if (file := Path(place) / "bin" / "slangc").is_file()), None)
    found = str(inside) if inside else shutil.which("slangc")
    if found is None:
        raise UserError(f"slangc is missing, which compiles Slang and HLSL: {NEEDS}")
    return Path(found)


def find_nvrtc() -> ctypes.CDLL:
    """NVRTC of the package nvidia-cuda-nvrtc, else of the system. Raises ``UserError`` without one."""
    package = importlib.util.find_spec("nvidia")
    places = package.submodule_search_locations or [] if package else []
    inside = sorted(str(file) for place in places for file in Path(place).glob("*/lib/libnvrtc.so*"))
    name = inside[-1] if inside else ctypes.util.find_library("nvrtc")
    if name is None:
        raise UserError(f"NVRTC is missing, which makes PTX of what slangc makes: {NEEDS}")
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        raise UserError(f"{name}: cannot be loaded: {reason_of(error)}") from None


def _first_error(text: str) -> str:
    """One line of what a compiler says: the first error, and where it is."""
    for word, meaning in _REFUSED.items():
        if word in text:
            return f"'{word.lstrip('_')}' must not be used: {meaning}"
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if found := _ERROR.search(line):
            place = next((at for each in lines[number : number + 3] if (at := _LINE.search(each))), None)
            return f"line {place[2]}: {found[1]}" if place else found[1]
    return f"slangc fails: {' '.join(text.split())[:200] or 'without a message'}"


def _nvrtc(library: ctypes.CDLL, source: bytes, path: Path) -> str:
    """PTX of CUDA text."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    array = ctypes.c_char_p * len(HEADERS)
    headers, names = array(*(file.read_bytes() for file in HEADERS)), array(*(file.name.encode() for file in HEADERS))
    if library.nvrtcCreateProgram(ctypes.byref(program), source, b"shader.cu", len(HEADERS), headers, names):
        raise UserError(f"{path}: NVRTC takes no program")
    try:
        options = (ctypes.c_char_p * len(OPTIONS))(*OPTIONS)
        if library.nvrtcCompileProgram(program, len(OPTIONS), options):
            log = _text(library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog, program, size)
            raise UserError(f"{path}: {_first_error(log)}, in what slangc makes of it")
        return _text(library.nvrtcGetPTXSize, library.nvrtcGetPTX, program, size)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _text(length: Any, fill: Any, program: ctypes.c_void_p, size: ctypes.c_size_t) -> str:
    length(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    fill(program, buffer)
    return buffer.value.decode(errors="replace")  # without the NUL at its end
