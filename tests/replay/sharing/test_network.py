"""Rendering beside the convolution of the study's network: equal shares of every SM against SMs of one's own."""

from pathlib import Path

import pytest

from rayplay.replay.gpu.description import load
from rayplay.tracer.draw import DrawRequest, draw
from rayplay.tracer.launch import run_launch_file
from tests.replay.sharing.test_together import together

PARTNERS = Path(__file__).resolve().parents[3] / "examples" / "partners"
CONVOLUTION = """
program = "segmentation.ptx"

[buffers.picture]
dtype = "float32"
shape = [32, 20, 64]
generator = "random"
low = -0.1
high = 0.1
seed = 1

[buffers.weights]
dtype = "float32"
shape = [32, 32, 3, 3]
generator = "random"
low = -0.1
high = 0.1
seed = 2

[buffers.bias]
dtype = "float32"
shape = [32]

[buffers.convolved]
dtype = "float32"
shape = [32, 20, 64]

[[launch]]
entry = "convolve_3x3"
grid = [10]
block = [256]
parameters = [
    { buffer = "picture" },
    { buffer = "weights" },
    { buffer = "bias" },
    { buffer = "convolved" },
    { type = "s32", value = 64 },
    { type = "s32", value = 20 },
    { type = "s32", value = 32 },
    { type = "s32", value = 32 },
    { type = "f32", value = 0.01 },
]
"""


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A small picture, and a layer of the network: ten CTAs of 256 threads with 71 registers each."""
    folder = tmp_path_factory.mktemp("network")
    (folder / "layer.toml").write_text(CONVOLUTION)
    (folder / "segmentation.ptx").write_bytes((PARTNERS / "segmentation.ptx").read_bytes())
    run_launch_file(folder / "layer.toml", folder / "layer.trace", progress=False)
    draw(DrawRequest("cornell", folder / "picture.trace", 64, 48, shader="pbr"))
    return [f"picture={folder}/picture.trace", f"network={folder}/layer.trace"]


@pytest.mark.parametrize(("registers", "is_faster"), [(131072, True), (65536, False)])
def test_even_beats_mps_where_half_of_an_sm_holds_half_of_its_ctas(
    classes: list[str], registers: int, is_faster: bool
) -> None:
    """As in CRISP's Figure 12. Of 65,536 registers three CTAs of the layer find room, but in half of them one alone."""
    gpu = load("orin-released", ["sm.count=2", f"sm.registers={registers}"])
    cycles = {}
    for partition in ("mps", "even"):
        found = together(classes, gpu, partition).by_class["classes"][0]
        cycles[partition] = int(found["cycles"][list(found["class"]).index("network")])
    assert (cycles["even"] < cycles["mps"]) == is_faster, cycles
