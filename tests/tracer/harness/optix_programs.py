"""Small OptiX programs in PTX for tests: each pixel stores words in its own part of a buffer."""

from pathlib import Path

import numpy as np

from rayplay import ptx
from rayplay.tracer.record.recorder import MemorySink
from rayplay.tracer.run import run_image_launch
from rayplay.tracer.scenes.description import Camera, Instance, Material, Mesh, Scene, Sky
from rayplay.tracer.shading.config import read_config
from rayplay.tracer.shading.prepare import Prepared, Sampling, prepare_image

WORDS = 64
"""Words that each pixel may store."""
HEAD = """
.version 8.0
.target sm_75
.address_size 64
.const .align 8 .b8 params[24];
"""
CONFIG = """
params_symbol = "params"
params = [{ name = "out", type = "pointer", bytes_per_pixel = 256 }, { name = "scene", type = "u64" },
          { name = "image", type = "pointer" }]
[raygen]
program = "__raygen__test"
"""
PLACE = """
    .reg .pred %p<8>;
    .reg .b32 %r<128>;
    .reg .f32 %f<64>;
    .reg .b64 %l<32>;
    call (%r1), _optix_get_launch_index_x, ();
    call (%r2), _optix_get_launch_dimension_x, ();
    call (%r3), _optix_get_launch_index_y, ();
    mad.lo.u32 %r2, %r2, %r3, %r1;
    ld.const.u64 %l1, [params];
    ld.const.u64 %l2, [params+8];
    mul.wide.u32 %l3, %r2, 256;
    add.u64 %l1, %l1, %l3;
"""
"""Declarations, %r1 the x of the pixel, %l1 the address of its words, %l2 the scene."""
SLOTS = ", ".join(["%r127"] * 28)
SINKS = ", ".join(f"%r{64 + k}" for k in range(28))


def program(kind: str, body: str) -> str:
    """An entry called ``__KIND__test``, or as ``kind`` says after a blank."""
    kind, _, name = kind.partition(" ")
    return f".visible .entry __{kind}__{name or 'test'}()\n{{{PLACE}{body}\n    ret;\n}}\n"


def store(word: int, register: str) -> str:
    """Store a register of 32 or 64 bits."""
    bits = 64 if register.startswith("%l") else 32
    return f"    st.global.b{bits} [%l1+{4 * word}], {register};\n"


def ray(offset: str = "0", stride: str = "1", miss: str = "0", flags: str = "0", time: str = "0f00000000") -> str:
    """Arguments of a trace call from (x / 8, 0, -5) along z, without payload type and payload."""
    return f"%l2, %f1, %f2, %f3, %f2, %f2, %f4, %f2, %f5, {time}, 255, {flags}, {offset}, {stride}, {miss}, 4"


SET_RAY = """
    cvt.rn.f32.u32 %f1, %r1;
    mul.f32 %f1, %f1, 0f3e000000;
    mov.f32 %f2, 0f00000000;
    mov.f32 %f3, 0fc0a00000;
    mov.f32 %f4, 0f3f800000;
    mov.f32 %f5, 0f447a0000;
"""


def call(name: str, arguments: str, results: tuple[str, str, str, str] = ("%r10", "%r11", "%r12", "%r13")) -> str:
    """A call with 32 payload words, four of them in registers; %r14 to %r17 go in."""
    given = f"{', '.join(results)}, {SINKS}"
    return f"    call ({given}), {name}, ({arguments}, %r14, %r15, %r16, %r17, {SLOTS});\n"


def trace(name: str = "_optix_trace_typed_32", **words: str) -> str:
    """A trace call along the ray of ``SET_RAY``."""
    return call(name, f"0, {ray(**words)}")


def scene(matrices: list[np.ndarray], within: list[tuple[np.ndarray, ...]], materials: int = 1) -> Scene:
    """An instance of a mesh of two triangles across z = 0 for each matrix; the second mesh is a larger one."""
    corners = np.array([[-1, -1, 0], [1, -1, 0], [0, 1, 0], [-2, -2, 0.5], [2, -2, 0.5], [0, 2, 0.5]], np.float32)
    triangles = np.arange(6, dtype=np.uint32).reshape(2, 3)
    meshes = [
        Mesh(f"mesh {k}", (1 + k) * corners, triangles, np.zeros(2, np.uint16)) for k in range(2)
    ]  # fmt: skip
    instances = [Instance(k % 2, m, w) for k, (m, w) in enumerate(zip(matrices, within, strict=True))]
    camera = Camera((0.0, 0.0, -5.0), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    return Scene("test", meshes, instances, [Material("grey")] * materials, camera, sky=Sky(False))


def prepare(folder: Path, text: "str | list[str]", config: str, what: Scene, width: int = 32) -> Prepared:
    """A launch of one row of pixels."""
    path = folder / "test.toml"
    path.write_text(CONFIG + config)
    texts = [text] if isinstance(text, str) else text
    modules = [
        ptx.parse((HEAD if ".version" not in each else "") + each, f"test{k or ''}.ptx") for k, each in enumerate(texts)
    ]
    return prepare_image(what, modules, read_config(path), Sampling(width, 1))


def words_of(prepared: Prepared, backend: str, width: int = 32) -> tuple[np.ndarray, MemorySink]:
    """uint32[width, WORDS] that the pixels stored, and the trace."""
    memory = prepared.launch.memory
    address = int(np.frombuffer(prepared.launch.constants["params"][:8], np.uint64)[0])
    memory.view(address, np.uint32, (width, WORDS))[:] = 0
    sink = MemorySink()
    run_image_launch(prepared.launch, sink, backend, progress=False)
    return memory.view(address, np.uint32, (width, WORDS)).copy(), sink


def both(prepared: Prepared, width: int = 32) -> np.ndarray:
    """Words that the pixels stored; machine code and the interpreter must agree, trace and all."""
    ours, trace_ = words_of(prepared, "machine", width)
    theirs, plain = words_of(prepared, "interpreter", width)
    assert np.array_equal(ours, theirs)
    for table in ("visits", "accesses", "rays", "hints"):
        mine, other = trace_.table(table), plain.table(table)
        assert mine.keys() == other.keys(), table
        assert all(np.array_equal(mine[column], other[column]) for column in mine), table
    return ours
