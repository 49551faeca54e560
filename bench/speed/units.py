"""Cost of a warp instruction of the units: matrix products, fragments, asynchronous copies, textures.

``python -m bench.speed.units``; the fastest of three launches of 20,000 iterations each, process time.
"""

import time

import numpy as np

from rayplay.tracer.api import Device
from rayplay.tracer.memory.images import Sampler

ITERATIONS = 20_000
PRODUCTS = {"m16n8k16": 16 * 8 * 16, "m16n8k32": 16 * 8 * 32}
MMA = "mma.sync.aligned.{} {{%{c}0, %{c}1, %{c}2, %{c}3}}, {{%a0, %a1, %a2, %a3}}, {{%b0, %b1}}, {same};"
CASES = {
    "mma_f16": ("m16n8k16.row.col.f32.f16.f16.f32", "f"), "mma_bf16": ("m16n8k16.row.col.f32.bf16.bf16.f32", "f"),
    "mma_s8": ("m16n8k32.row.col.s32.s8.s8.s32", "c"),
}  # fmt: skip
OTHERS = {
    "ldmatrix_x4": "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%a0, %a1, %a2, %a3}, [%at];",
    "cp_async_16": "cp.async.cg.shared.global [%at], [%rd1], 16;",
    "tex_2d_linear": "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%rd2, {%f4, %f4}]; add.f32 %f4, %f4, 0f3F000000;",
}


def kernel(body: str) -> str:
    """A loop over one instruction."""
    zero = "".join(f"mov.b32 %a{k}, 0x3c003c00; mov.b32 %b{k}, 0x3c003c00; mov.b32 %c{k}, 0;" for k in range(4))
    return f""".version 8.7
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 image) {{
    .reg .b32 %a<4>, %b<4>, %c<4>, %count, %at, %t; .reg .f32 %f<5>; .reg .b64 %rd<3>; .reg .pred %p;
    .shared .align 16 .b8 m[512]; ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [image]; mov.u32 %count, 0;
    mov.u32 %at, m; mov.u32 %t, %tid.x; shl.b32 %t, %t, 4; add.u32 %at, %at, %t; cvt.rn.f32.u32 %f4, %t; {zero}
    mov.f32 %f0, %f4; mov.f32 %f1, %f4; mov.f32 %f2, %f4; mov.f32 %f3, %f4;
again:
    {body} add.u32 %count, %count, 1; setp.lt.u32 %p, %count, {ITERATIONS}; @%p bra again;
    st.global.f32 [%rd1], %f0; st.global.b32 [%rd1+4], %c0; st.global.b32 [%rd1+8], %a0; ret; }}"""


def seconds(body: str) -> float:
    """Per warp instruction, loop included."""
    device = Device(kernel(body))
    texels, out = device.buffer(np.zeros((64, 64), np.float32)), device.buffer(np.zeros(256, np.float32))
    image = device.texture(texels, sampler=Sampler(filter="linear"))
    taken = []
    for _ in range(4):  # the first compiles
        start = time.process_time()
        device.launch("k", [out, image])
        taken.append(time.process_time() - start)
    return min(taken[1:]) / ITERATIONS


def main() -> None:
    """Print a line per instruction."""
    for name, (form, c) in CASES.items():
        same = f"{{%{c}0, %{c}1, %{c}2, %{c}3}}"
        each = seconds(MMA.format(form, c=c, same=same))
        rate = PRODUCTS[form.split(".")[0]] / each / 1e9
        print(f"{name}: {each * 1e9:.0f} ns per warp instruction, {rate:.2f} G products/s (target none)")
    for name, body in OTHERS.items():
        print(f"{name}: {seconds(body) * 1e9:.0f} ns per warp instruction (target none)")


if __name__ == "__main__":
    main()
