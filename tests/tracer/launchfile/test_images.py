"""Textures, samplers and surfaces of launch files and of the Python interface."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.formats.laws.check import validate
from rayplay.replay.gpu.description import load
from rayplay.replay.run.driver import simulate
from rayplay.tracer.api import Device
from rayplay.tracer.launch import run_launch_file
from rayplay.tracer.memory.images import Sampler

PTX = """.version 7.8
.target sm_75
.address_size 64
.global .texref bound;
.visible .entry halve(.param .u64 picture, .param .u64 table, .param .u64 target) {
    .reg .b64 %rd<6>; .reg .f32 %f<9>; .reg .b32 %r<4>;
    ld.param.u64 %rd1, [picture]; ld.param.u64 %rd2, [table]; ld.param.u64 %rd3, [target];
    ld.global.u64 %rd4, [%rd2+8];
    mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f1, %r1; add.f32 %f1, %f1, 0f3F800000; mov.f32 %f2, 0f3F000000;
    tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1, %f2}];
    tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd4, {%f1, %f2}];
    tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [bound, {%f1, %f2}];
    add.f32 %f3, %f3, %f4; add.f32 %f3, %f3, %f5; mov.b32 %r2, %f3;
    shl.b32 %r1, %r1, 2; mov.b32 %r3, 0;
    sust.b.2d.b32.trap [%rd3, {%r1, %r3}], %r2;
    ret;
}
"""
TOML = """program = "halve.ptx"
[buffers.source]
dtype = "float32"
shape = [1, 32]
generator = "arange"
[buffers.target]
dtype = "float32"
shape = [1, 32]
[buffers.table]
dtype = "uint64"
shape = [2]
[buffers.wanted]
dtype = "float32"
values = [VALUES]
shape = [1, 32]
[textures.picture]
buffer = "source"
filter = "linear"
stored = [{ buffer = "table", offset_bytes = 8 }]
[textures.bound]
buffer = "source"
filter = "linear"
[surfaces.image]
buffer = "target"
[[launch]]
entry = "halve"
grid = [1]
block = [32]
parameters = [{ handle = "picture" }, { buffer = "table" }, { handle = "image" }]
[[expect]]
buffer = "target"
equals = "wanted"
"""
WANTED = 3 * np.minimum(np.arange(32) + 0.5, 31.0)


def files(folder: Path, text: str) -> Path:
    """The program and a launch file."""
    (folder / "halve.ptx").write_text(PTX)
    path = folder / "halve.toml"
    path.write_text(text.replace("VALUES", ", ".join(map(str, WANTED))))
    return path


@pytest.mark.parametrize("backend", ["machine", "interpreter"])
def test_handles_reach_a_kernel_every_way(tmp_path: Path, backend: str) -> None:
    """As a parameter, in a buffer, and bound to a variable; the trace holds every law."""
    summary = run_launch_file(files(tmp_path, TOML), tmp_path / "halve.trace", backend, progress=False)
    assert summary.expectations == 1
    assert validate(open_trace(tmp_path / "halve.trace")) == []


def test_texture_accesses_are_replayed_as_loads(tmp_path: Path) -> None:
    """Each goes through the load/store unit, and what it reads comes through the L1."""
    run_launch_file(files(tmp_path, TOML), tmp_path / "halve.trace", progress=False)
    trace = open_trace(tmp_path / "halve.trace")
    instructions, accesses = trace.read("instructions"), trace.read("accesses")
    classes = instructions["operation_class"].astype(str)[accesses["instruction_id"]]
    assert classes.tolist() == ["load", "texture", "texture", "texture", "store"]
    counters = simulate(trace, load("mobile", ("sm.count=1", "memory.count=1"))).counters
    assert counters is not None
    sums = {
        (unit, name): int(counters["value"][(counters["unit"] == unit) & (counters["counter"] == name)].sum())
        for unit, name in (("lsu", "instructions"), ("sm", "warp_instructions"), ("sm", "retired_instructions"))
    }
    assert sums["lsu", "instructions"] == trace.rows("accesses") == 5
    assert sums["sm", "warp_instructions"] == sums["sm", "retired_instructions"] == trace.rows("instructions")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('{ handle = "picture" }', '{ handle = "pictur" }', r"parameters\[0\]\.handle: .*did you mean 'picture'"),
        ('[textures.picture]\nbuffer = "source"', '[textures.picture]\nbuffer = "sorce"', r"picture\.buffer: "),
        ('filter = "linear"\nstored', 'filter = "cubic"\nstored', "unknown name 'cubic'"),
        ("[surfaces.image]", "[surfaces.picture]", "must have different names: picture"),
        ("offset_bytes = 8", "offset_bytes = 9", r"textures\.picture: stored\.offset_bytes must leave 8 bytes"),
        ('[surfaces.image]\nbuffer = "target"', '[surfaces.image]\nbuffer = "table"', r"surfaces\.image: .*'uint64'"),
        ('[surfaces.image]\n', '[surfaces.image]\ngeometry = "3d"\n', r"surfaces\.image: a 3d image must have 3 axes"),
        ('"source"\nfilter = "linear"\nstored', '"source"\nread = "normalized"\nstored', "must be of 8 or 16"),
        ('"source"\nfilter = "linear"\nstored', '"source"\nchannels = 0\nstored', "picture: channels must be 1"),
        ('[surfaces.image]\n', '[surfaces.image]\nchannels = -1\n', r"image: channels must be 1, 2 or 4, found -1"),
    ],
)  # fmt: skip
def test_what_a_file_may_not_say(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in TOML
    with pytest.raises(UserError, match=message):
        run_launch_file(files(tmp_path, TOML.replace(old, new)), tmp_path / "halve.trace", progress=False)


def test_the_python_interface() -> None:
    device = Device(PTX)
    source = device.buffer(np.arange(32, dtype=np.float32).reshape(1, 32))
    target = device.buffer(np.zeros((1, 32), np.float32))
    handle = device.texture(source, sampler=Sampler(filter="linear"))
    table = device.buffer(np.array([0, handle], np.uint64))
    device.bind("bound", handle)
    device.launch("halve", [handle, table, device.surface(target)])
    assert np.array_equal(target.array[0], WANTED.astype(np.float32))
    with pytest.raises(UserError, match="did you mean 'bound'"):
        device.bind("bond", handle)
    with pytest.raises(UserError, match=r"bound\) takes|takes 3 arguments"):
        device.launch("halve", [handle])
