"""Running PTX from Python: arguments of every kind, launches that share buffers, printing, and what goes wrong."""

import struct
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.api import Device, run_kernel

PROGRAM = """
.version 7.8
.target sm_75
.address_size 64
.global .align 4 .u32 launches;
.extern .shared .align 4 .b8 tile[];
.const .align 4 .f32 factor = 0f40000000;
.visible .entry scale(.param .u64 data, .param .f32 by, .param .u32 count)
{
    .reg .pred %p; .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .b64 %l<4>;
    ld.param.u64 %l1, [data]; ld.param.f32 %f1, [by]; ld.param.u32 %r1, [count];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
    mad.lo.u32 %r2, %r2, %r3, %r4;
    setp.ge.u32 %p, %r2, %r1;
    @%p exit;
    mul.wide.u32 %l2, %r2, 4; add.u64 %l1, %l1, %l2;
    ld.const.f32 %f3, [factor];
    ld.global.f32 %f2, [%l1]; mul.f32 %f2, %f2, %f1; mul.f32 %f2, %f2, %f3; st.global.f32 [%l1], %f2;
    setp.eq.u32 %p, %r2, 0;
    @%p red.global.add.u32 [launches], 1;
    ret;
}
.visible .entry reverse(.param .align 8 .b8 pair[16])
{
    .reg .b32 %r<8>; .reg .b64 %l<4>;
    ld.param.u64 %l1, [pair]; ld.param.u32 %r1, [pair+8];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %l2, %r2, 4; add.u64 %l1, %l1, %l2;
    ld.global.u32 %r3, [%l1];
    mov.u32 %r5, tile; sub.u32 %r4, %r1, %r2; shl.b32 %r4, %r4, 2; add.u32 %r5, %r5, %r4;
    st.shared.u32 [%r5+-4], %r3;
    bar.sync 0;
    mov.u32 %r5, tile; shl.b32 %r4, %r2, 2; add.u32 %r5, %r5, %r4;
    ld.shared.u32 %r3, [%r5];
    st.global.u32 [%l1], %r3;
    ret;
}
"""


def test_a_kernel_runs_in_one_line() -> None:
    (data,) = run_kernel(PROGRAM, "scale", [np.arange(8, dtype=np.float32), 3.0, 6], block=8)
    assert data.tolist() == [0, 6, 12, 18, 24, 30, 6, 7]


@pytest.mark.parametrize("backend", ["machine", "interpreter"])
def test_launches_share_buffers_variables_and_constants(backend: str) -> None:
    device = Device(PROGRAM)
    data = device.buffer(np.arange(64, dtype=np.float32))
    device.launch("scale", [data, np.float32(0.5), 64], grid=2, block=32, backend=backend)
    device.constants["factor"] = struct.pack("<f", -1.0)
    device.launch("scale", [data.at(4), 1.0, 63], grid=(1, 1, 1), block=64, backend=backend)
    assert data.array.tolist() == [0, *range(-1, -64, -1)]
    assert device.variable("launches", np.uint32)[0] == 2
    device.launch("reverse", [struct.pack("<QI4x", data.address, 64)], block=64, shared_bytes=256, backend=backend)
    assert data.array.tolist() == [*range(-63, 0), 0]


def test_a_program_comes_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "scale.ptx").write_text(PROGRAM)
    assert run_kernel(tmp_path / "scale.ptx", "scale", [np.ones(4, np.float32), 1.0, 4])[0].tolist() == [2] * 4


@pytest.mark.parametrize(
    ("kernel", "arguments", "message"),
    [
        ("scale", [np.zeros(4), 1.0], "scale: takes 3 arguments, 2 are given"),
        ("scale", [np.zeros(4), 1.0, 1 << 32], r"scale: 4294967296 does not fit count \(\.u32\)"),
        ("scale", [np.zeros(4), 1.0, np.uint8(3)], r"count \(\.u32\) takes 4 bytes, .*3.* is none of that size"),
        ("reverse", [b"short"], r"pair \(\.b8\) takes 16 bytes"),
        ("shrink", [], "no entry is called shrink; there are: scale, reverse"),
    ],
)
def test_arguments_that_do_not_fit_are_errors(kernel: str, arguments: list[object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        run_kernel(PROGRAM, kernel, arguments)  # type: ignore[arg-type]
