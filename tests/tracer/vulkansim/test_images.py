"""Textures and storage images of Vulkan-Sim's shaders: the texels that are read, bytes and floats that are written."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.tracer.render import Request, Summary, render_scene
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.description import Picture

# A texel of the second texture for each pixel, through an image of floats to an image of bytes.
SHADER = """.version 2.0
.target sm_10, map_f64_to_f32
.entry MESA_SHADER_RAYGEN_func0_main () {
    .reg .u32 %x; .reg .u32 %y; .reg .u32 %z;
    load_ray_launch_id %x, %y, %z;
    .reg .b64 %Samplers; load_vulkan_descriptor %Samplers, 0, 0;
    .reg .b64 %between; load_vulkan_descriptor %between, 0, 1;
    .reg .b64 %output; load_vulkan_descriptor %output, 0, 2;
    .reg .f32 %half; mov.f32 %half, 0F3f000000;
    .reg .f32 %quarter; mov.f32 %quarter, 0F3e800000;
    .reg .f32 %zero; mov.f32 %zero, 0F00000000;
    .reg .f32 %u; cvt.rn.f32.u32 %u, %x; add.f32 %u, %u, %half; mul.f32 %u, %u, %quarter;
    .reg .f32 %v; cvt.rn.f32.u32 %v, %y; add.f32 %v, %v, %half; mul.f32 %v, %v, %quarter;
    .reg .u32 %one; mov.u32 %one, 1;
    .reg .u64 %step; mul.wide.u32 %step, %one, STRIDE;
    .reg .b64 %texture; add.u64 %texture, %Samplers, %step;
    .reg .f32 %r; .reg .f32 %g; .reg .f32 %b; .reg .f32 %a;
    txl %texture, %texture, %r, %g, %b, %a, %u, %v, %zero;
    image_deref_store %between, %x, %y, %y, %y, %zero, %r, %g, %b, %a, %zero, 0, 160;
    .reg .f32 %r2; .reg .f32 %g2; .reg .f32 %b2; .reg .f32 %a2;
    image_deref_load %between, %r2, %g2, %b2, %a2, %x, %y, %y, %y, %zero, %zero, 0, 160;
    add.f32 %b2, %b2, %b2;
    image_deref_store %output, %x, %y, %y, %y, %zero, %r2, %g2, %b2, %a2, %zero, 0, 160;
    shader_exit:
    ret ;
}
"""


def linear(srgb: np.ndarray) -> np.ndarray:
    """sRGB from 0 to 1 as linear light."""
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


@pytest.mark.parametrize(("stride", "backend"), [(32, "machine"), (48, "interpreter")])
def test_texels_come_through_both_images(tmp_path: Path, stride: int, backend: str) -> None:
    random = np.random.default_rng(5)
    texels = [random.integers(0, 256, (4, 4, 4)).astype(np.uint8) for _ in range(2)]
    pictures = [Picture(str(number), each, is_nearest=True) for number, each in enumerate(texels)]
    folder = tmp_path / "shaders"
    folder.mkdir()
    (folder / "MESA_SHADER_RAYGEN_0.ptx").write_text(SHADER.replace("STRIDE", str(stride)))
    (folder / "0_2.vkstorageimagemetadata").write_text("4,4,37,3,1,1,0,0,16\n")
    scene = replace(load("cornell"), pictures=pictures)
    request = Request("cornell", folder, None, tmp_path / "t.trace", 4, 4, backend=backend)
    render_scene(scene, request, Summary())
    image = open_trace(tmp_path / "t.trace").read("image")
    found = np.stack([image[channel] for channel in ("red", "green", "blue")], -1).reshape(4, 4, 3)
    written = linear(texels[1][..., :3] / 255) * [1, 1, 2]
    expected = linear(np.rint(255 * np.minimum(written, 1)) / 255)
    np.testing.assert_allclose(found, expected, atol=0.01)
    assert (np.abs(found - expected) < 1e-4).mean() > 0.9, "a rounding apart at most here and there"
