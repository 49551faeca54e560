"""The kernels of CNN inference equal numpy: every kind of layer in odd sizes, and a small whole network."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from rayplay import ptx
from rayplay.hypa.network.file import read_network
from rayplay.hypa.network.plan import Plan, plan_network
from rayplay.hypa.network.run import infer, random_weights
from rayplay.ptx.ir import Module
from tests.reference import network_slow

FOLDER = Path(__file__).parents[3] / "examples" / "cnn"


@pytest.fixture(scope="module")
def kernels() -> Module:
    module = ptx.parse_file(FOLDER / "kernels" / "kernels.ptx")
    assert ptx.verify(module) == []
    return module


def plan_of(folder: Path, image: list[int], layers: list[str], more: str = "", images: int = 2) -> Plan:
    """A network of ``layers``, texts of inline tables."""
    shutil.copy(FOLDER / "kernels" / "kernels.ptx", folder)
    text = f'program = "kernels.ptx"\nimage = {image}\nlayers = [{", ".join(layers)}]\n{more}'
    path = folder / "network.toml"
    path.write_text(text)
    return plan_network(read_network(path), images)


def check(plan: Plan, kernels: Module, backend: str = "machine") -> set[str]:
    """Infer random images on random weights in both ways, compare every layer; the kernels that ran."""
    weights = {tensor.name: values for tensor, values in random_weights(plan, seed=7)}
    image = np.random.default_rng(3).normal(0, 1, plan.image.shape).astype(np.float32)
    placed = infer(plan, kernels, image, weights, backend)
    for shaped, output, expected in zip(
        plan.layers, plan.outputs, network_slow.infer(plan, image, weights), strict=True
    ):
        assert output.shape == expected.shape
        assert expected.std() > 0  # a constant would prove little
        np.testing.assert_allclose(
            placed.view(output), expected, rtol=3e-5, atol=3e-5 * np.abs(expected).max(), err_msg=shaped.placed.name
        )
    return {launch.entry for launch in plan.launches}


WINDOWS = [  # image, window and what follows
    ([7, 9, 5], "kernel = 3"),
    ([8, 6, 16], 'kernel = 3, padding = "same"'),
    ([9, 8, 17], 'kernel = 3, stride = 2, padding = "same"'),
    ([10, 10, 3], 'kernel = 7, stride = 2, padding = "same"'),
    ([11, 5, 4], "kernel = 3, stride = 2, padding = 1"),
    ([6, 13, 8], 'kernel = [1, 7], padding = "same"'),
    ([13, 6, 33], 'kernel = [7, 1], padding = "same"'),
    ([5, 5, 2], "kernel = 5"),
    ([1, 1, 40], "kernel = 1"),
    ([12, 3, 9], "kernel = [3, 2], stride = 3, padding = [2, 1, 1, 0]"),
]


@pytest.mark.parametrize(("image", "window"), WINDOWS)
@pytest.mark.parametrize("algorithm", ["direct", "implicit_gemm"])
@pytest.mark.parametrize("filters", [1, 70])
def test_convolution(
    tmp_path: Path, kernels: Module, image: list[int], window: str, algorithm: str, filters: int
) -> None:
    bias = "true" if filters == 70 else "false"
    layer = f'{{ op = "convolution", filters = {filters}, {window}, bias = {bias}, algorithm = "{algorithm}" }}'
    assert check(plan_of(tmp_path, image, [layer]), kernels) == {f"convolution_{algorithm}"}


@pytest.mark.parametrize(("image", "window"), WINDOWS)
def test_depthwise_convolution_and_pools(tmp_path: Path, kernels: Module, image: list[int], window: str) -> None:
    for operation, kernel, more in (
        ("depthwise_convolution", "convolution_depthwise", ", bias = true"),
        ("max_pool", "pool_maximum", ""),
        ("average_pool", "pool_average", ""),
    ):
        layer = f'{{ op = "{operation}", {window}{more} }}'
        assert check(plan_of(tmp_path, image, [layer]), kernels) == {kernel}


@pytest.mark.parametrize("function", ["relu", "relu6", "sigmoid", "swish"])
def test_activations(tmp_path: Path, kernels: Module, function: str) -> None:
    layers = [
        '{ op = "batch_norm", name = "linear" }',
        f'{{ op = "activation", name = "alone", function = "{function}" }}',
        f'{{ op = "batch_norm", gamma = false, epsilon = 1, activation = "{function}" }}',
        f'{{ op = "add", inputs = ["linear", "in"], activation = "{function}" }}',
        '{ op = "add", inputs = ["alone", "in"] }',
    ]
    names = {"batch_norm_linear", f"activation_{function}", f"batch_norm_{function}", f"add_{function}", "add_linear"}
    assert check(plan_of(tmp_path, [5, 7, 11], layers), kernels) == names


@pytest.mark.parametrize("channels", [1, 31, 300])
def test_vectors(tmp_path: Path, kernels: Module, channels: int) -> None:
    layers = [
        '{ op = "global_average_pool", name = "mean" }',
        f'{{ op = "dense", name = "gates", units = {channels}, activation = "sigmoid" }}',
        '{ op = "scale", inputs = ["in", "gates"] }',
        '{ op = "flatten" }',
        '{ op = "dense", units = 270, bias = false }',
        '{ op = "softmax" }',
    ]
    check(plan_of(tmp_path, [3, 5, channels], layers), kernels)


SMALL = [
    '{ op = "convolution", filters = 12, kernel = 3, stride = 2, padding = "same", batch_norm = true, activation = "relu" }',  # noqa: E501
    '{ op = "max_pool", name = "start", kernel = 3, stride = 2, padding = 1 }',
    '{ block = "inception", name = "mixed", set = { width = 6 } }',
    '{ block = "residual", repeat = 2, set = { channels = 27 } }',
    '{ op = "global_average_pool" }',
    '{ op = "dense", units = 10 }',
    '{ op = "softmax" }',
]
SMALL_BLOCKS = """
[block.inception]
layers = [
    { op = "convolution", name = "one", filters = "$width", kernel = 1, bias = true, activation = "relu6" },
    { op = "convolution", name = "wide", inputs = ["in"], filters = 9, kernel = [1, "$width"], padding = "same" },
    { op = "average_pool", name = "mean", inputs = ["in"], kernel = 3, padding = "same" },
    { op = "concat", inputs = ["wide", "one", "mean"] },
]

[block.residual]
layers = [
    { op = "depthwise_convolution", name = "deep", kernel = 3, padding = 1, batch_norm = true, activation = "swish" },
    { op = "global_average_pool" },
    { op = "dense", units = 3, activation = "swish" },
    { op = "dense", name = "gates", units = "$channels", activation = "sigmoid" },
    { op = "scale", inputs = ["deep", "gates"] },
    { op = "convolution", name = "project", filters = "$channels", kernel = 1, batch_norm = true, gamma = false },
    { op = "add", inputs = ["in", "project"] },
]
"""


@pytest.mark.parametrize("backend", ["machine", "interpreter"])
def test_small_network(tmp_path: Path, kernels: Module, backend: str) -> None:
    size, images = ([35, 30, 3], 2) if backend == "machine" else ([7, 6, 3], 1)
    plan = plan_of(tmp_path, size, SMALL, SMALL_BLOCKS, images)
    used = check(plan, kernels, backend)
    assert {"convolution_direct", "convolution_implicit_gemm", "convolution_depthwise", "copy_channels"} < used
    assert plan.layers[-1].shape == (1, 1, 10)


@pytest.mark.parametrize(
    ("name", "size"),
    [("mobilenet_v2", 32), ("efficientnet_b0", 32), ("densenet121", 32), ("resnet50", 32), ("inception_v3", 75)],
)
def test_whole_networks_on_small_images(tmp_path: Path, kernels: Module, name: str, size: int) -> None:
    """All layers of a shipped network, its image smaller than in the paper."""
    shutil.copy(FOLDER / "kernels" / "kernels.ptx", tmp_path)
    text = re.sub("image = .*", f"image = [{size}, {size}, 3]", (FOLDER / f"{name}.toml").read_text())
    text = text.replace("kernels/kernels.ptx", "kernels.ptx")
    (tmp_path / "network.toml").write_text(text)
    check(plan_network(read_network(tmp_path / "network.toml")), kernels)
