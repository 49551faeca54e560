"""Speed of texture look-ups: ``python -m bench.speed.textures [PART OF A NAME]``. Process CPU time of one core.

One line per kind of look-up, ``name: value M look-ups/s``. Each thread looks up 64 texels in a loop, with coordinates
that neighbours share nearly, as pixels do; nothing is recorded. ``record`` in a name: the trace is made in memory.
"""

import struct
import sys
from typing import NamedTuple

import numpy as np

from bench.speed.clock import seconds
from rayplay import ptx
from rayplay.tracer.graphics.stored import Storage
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.memory.images import AXES, Image, Sampler, Texture, place_texture
from rayplay.tracer.memory.layout import TILINGS
from rayplay.tracer.record.recorder import MemorySink
from rayplay.tracer.run import run_compute_launch

CTA, ROUNDS, SIDE = 128, 64, 256
TEXT = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry look(.param .u64 texture, .param .u64 out)
{{
    .reg .pred %p<2>;
    .reg .b32 %r<12>;
    .reg .f32 %f<12>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [texture];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    and.b32 %r5, %r4, 255;
    cvt.rn.f32.u32 %f1, %r5;
    shr.u32 %r6, %r4, 8;
    cvt.rn.f32.u32 %f2, %r6;
    mul.f32 %f1, %f1, {scale};
    mul.f32 %f2, %f2, {scale};
    mov.f32 %f3, 0f3F000000;
    mov.u32 %r7, 0;
loop:
    add.f32 %f1, %f1, {step};
    add.f32 %f2, %f2, {step};
    {tex}
    add.f32 %f4, %f4, %f5;
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p1, %r7, {rounds};
    @%p1 bra loop;
    mul.wide.u32 %rd3, %r4, 4;
    add.s64 %rd4, %rd2, %rd3;
    st.global.f32 [%rd4], %f4;
    ret;
}}
"""
TEX = "tex.{geometry}.v4.f32.f32 {{%f5, %f6, %f7, %f8}}, [%rd1, {{{coordinates}}}];"
COORDINATES = {
    "1d": "%f1", "2d": "%f1, %f2", "3d": "%f1, %f2, %f3, %f3", "a1d": "%r3, %f1", "a2d": "%r3, %f1, %f2, %f2",
    "cube": "%f1, %f2, %f3, %f3",
}  # fmt: skip
SHAPES = {
    "1d": (SIDE * SIDE,), "2d": (SIDE, SIDE), "3d": (16, 64, 64), "a1d": (16, SIDE), "a2d": (8, SIDE, SIDE),
    "cube": (6, 128, 128),
}  # fmt: skip


class Kind(NamedTuple):
    """One kind of look-up."""

    geometry: str
    element: str
    channels: int
    filter: str
    address: str = "wrap"
    normalized: bool = True
    srgb: bool = False
    records: bool = False
    layout: str = ""
    """A format of blocks, or a tiling."""

    def __str__(self) -> str:
        words = (self.geometry, f"{self.element} x{self.channels}", self.filter, self.address)
        also = "texels" * (not self.normalized), "srgb" * self.srgb, "record" * self.records, self.layout
        return " ".join(word for word in (*words, *also) if word)


FORMATS = (("uint8", 4), ("uint8", 1), ("float32", 1), ("float32", 4), ("float16", 4), ("uint16", 1))
KINDS = (
    *(Kind("2d", *texel, mode) for mode in ("nearest", "linear") for texel in FORMATS),
    Kind("2d", "uint8", 4, "nearest", srgb=True), Kind("2d", "uint8", 4, "linear", srgb=True),
    Kind("2d", "float32", 1, "linear", "clamp", False), Kind("2d", "float32", 1, "linear", "border"),
    Kind("2d", "float32", 1, "linear", "mirror"), Kind("2d", "int16", 1, "linear"),
    *(Kind(g, "uint8", 4, mode) for g in ("1d", "3d", "a1d", "a2d", "cube") for mode in ("nearest", "linear")),
    Kind("2d", "uint8", 4, "linear", records=True),
    *(Kind("2d", "uint8", 4, mode, layout=name) for name in ("block", "bc1", "bc3") for mode in ("nearest", "linear")),
)  # fmt: skip


def launch(kind: Kind, threads: int) -> ComputeLaunch:
    """A kernel of look-ups of a kind in random texels."""
    memory = DeviceMemory()
    shape = SHAPES[kind.geometry]
    assert len(shape) == AXES[kind.geometry]
    texels = np.random.default_rng(1).random((*shape, kind.channels)) * 255
    if kind.layout:
        storage = Storage("rgba8", "block") if kind.layout in TILINGS else Storage(kind.layout)
        image = storage.place(memory, [texels.astype(np.uint8)], "", kind.geometry, "hardware")[0]
    else:
        image = Image(memory.allocate(texels.astype(kind.element)), shape, kind.element, kind.channels, kind.geometry)
    read = "element" if kind.element[0] == "f" else "normalized"
    sampler = Sampler(filter=kind.filter, address=kind.address, normalized=kind.normalized)
    handle = place_texture(memory, Texture(image, sampler, read, kind.srgb))
    out = memory.allocate(4 * threads)
    memory.view(out, np.uint8, 4 * threads)[:] = 0
    tex = TEX.format(geometry=kind.geometry, coordinates=COORDINATES[kind.geometry])
    one = (1 / SIDE if kind.normalized else 1.0) * 0.9
    scale, step = (f"0f{struct.unpack('<I', struct.pack('<f', value))[0]:08X}" for value in (one, 0.37 * one))
    module = ptx.parse(TEXT.format(tex=tex, scale=scale, step=step, rounds=ROUNDS), "look.ptx")
    params = struct.pack("<Q", handle), struct.pack("<Q", out)
    return ComputeLaunch(module, "look", (threads // CTA, 1, 1), (CTA, 1, 1), params, memory)


def bench(kind: Kind, threads: int) -> None:
    chosen = launch(kind, threads)
    sink = MemorySink(keep=False) if kind.records else None
    taken = seconds(lambda: run_compute_launch(chosen, sink, progress=False), warm=True)
    print(f"{kind}: {threads * ROUNDS / taken / 1e6:.0f} M look-ups/s", flush=True)


if __name__ == "__main__":
    for each in KINDS:
        if all(word in str(each) for word in sys.argv[1:]):
            bench(each, 1 << 15)
