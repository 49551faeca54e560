"""The shipped networks are their papers', and a description with a mistake is refused with its place."""

from collections.abc import Callable
from math import prod
from pathlib import Path

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.hypa.network.file import Network, read_network
from rayplay.hypa.network.layers import Add, BatchNorm, DepthwiseConvolution, Windowed
from rayplay.hypa.network.plan import plan_network
from rayplay.hypa.network.shapes import Shaped, infer_shapes

FOLDER = Path(__file__).parents[3] / "examples" / "cnn"

# Parameters as keras.io/api/applications states them, but EfficientNet without the 7 of Keras's normalisation of
# the image. Multiply-accumulates as the papers round them: VGG and ResNet in the ResNet paper (Table 1 and section 1),
# MobileNet Table 8, MobileNetV2 Table 4, EfficientNet Table 2; DenseNet and InceptionV3 as torchvision states them.
PUBLISHED: dict[str, tuple[int, float | None]] = {
    "vgg16": (138_357_544, 15.3e9),
    "vgg19": (143_667_240, 19.6e9),
    "resnet50": (25_636_712, 3.8e9),
    "resnet101": (44_707_176, 7.6e9),
    "resnet152": (60_419_944, 11.3e9),
    "resnet50_v2": (25_613_800, None),
    "resnet101_v2": (44_675_560, None),
    "resnet152_v2": (60_380_648, None),
    "xception": (22_910_480, None),
    "mobilenet": (4_253_864, 0.569e9),
    "mobilenet_v2": (3_538_984, 0.300e9),
    "densenet121": (8_062_504, 2.83e9),
    "densenet169": (14_307_880, 3.36e9),
    "densenet201": (20_242_984, 4.29e9),
    "inception_v3": (23_851_784, 5.71e9),
    "efficientnet_b0": (5_330_571 - 7, 0.39e9),
    "efficientnet_b1": (7_856_239 - 7, 0.70e9),
    "efficientnet_b2": (9_177_569 - 7, 1.0e9),
    "efficientnet_b3": (12_320_535 - 7, 1.8e9),
    "efficientnet_b4": (19_466_823 - 7, 4.2e9),
    "efficientnet_b5": (30_562_527 - 7, 9.9e9),
    "efficientnet_b6": (43_265_143 - 7, 19e9),
    "efficientnet_b7": (66_658_687 - 7, 37e9),
}

# "Neurons" of HyPA's Table I: the values that all layers of Keras's model put out, its image among them.
NEURONS = {
    "vgg16": 15_262_696,
    "vgg19": 16_567_272,
    "resnet101": 55_886_036,
    "resnet152": 79_067_348,
    "resnet50_v2": 31_381_204,
    "resnet101_v2": 51_261_140,
    "resnet152_v2": 75_755_220,
    "densenet121": 49_926_612,
    "densenet169": 60_094_164,
    "densenet201": 77_292_244,
    "inception_v3": 32_554_387,
    "xception": 62_981_867,
    "mobilenet": 16_848_248,
    "mobilenet_v2": 21_815_960,
    "efficientnet_b0": 25_117_095,
    "efficientnet_b1": 40_150_331,
    "efficientnet_b2": 50_908_981,
    "efficientnet_b3": 87_507_971,
    "efficientnet_b4": 180_088_531,
    "efficientnet_b5": 358_290_427,
    "efficientnet_b6": 605_671_091,
    "efficientnet_b7": 1_046_113_195,
}


def network(name: str) -> Network:
    return read_network(FOLDER / f"{name}.toml")


def test_every_shipped_network_is_checked() -> None:
    assert sorted(PUBLISHED) == sorted(path.stem for path in FOLDER.glob("*.toml"))


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_and_work_as_published(name: str) -> None:
    parameters, multiply_accumulates = PUBLISHED[name]
    layers = infer_shapes(network(name))
    assert sum(layer.parameters for layer in layers) == parameters
    if multiply_accumulates is not None:
        found = sum(layer.multiply_accumulates for layer in layers)
        assert found == pytest.approx(multiply_accumulates, rel=0.05)
    assert layers[-1].shape == (1, 1, 1000)


def neurons_of(layer: Shaped) -> int:
    """Values that Keras's layers for one of ours put out: convolution, normalisation and activation are three."""
    settings, out, pixels = layer.placed.settings, prod(layer.shape), layer.inputs[0]
    neurons = out
    if layer.placed.operation == "softmax" or (type(settings) is DepthwiseConvolution and not settings.batch_norm):
        neurons = 0  # an activation of the layer before it; the first half of a SeparableConv2D
    if isinstance(settings, Windowed) and isinstance(settings.padding, int):  # a layer of zeros of its own
        neurons += prod(length + 2 * settings.padding for length in pixels[:2]) * pixels[2]
    if isinstance(settings, DepthwiseConvolution) and settings.batch_norm:
        neurons += out + (out if settings.activation else 0)
    elif isinstance(settings, BatchNorm | Add) and settings.activation:
        neurons += out
    return neurons


def idle_neurons_of(layer: Shaped, name: str) -> int:
    """Values that layers put out which compute nothing, and which our descriptions do not have.

    They are the zeros in front of windows with stride 2 (Keras's ``correct_pad``), dropouts, and changes of shape.
    """
    settings, operation, (height, width, channels) = layer.placed.settings, layer.placed.operation, layer.inputs[0]
    is_first = layer.placed.sources == (-1,)
    neurons = 0
    is_stem = is_first and name.startswith("efficient")
    is_padded = is_stem or (operation == "depthwise_convolution" and name.startswith(("mobile", "efficient")))
    if is_padded and isinstance(settings, Windowed) and settings.stride == 2:
        around = [2 * (settings.window[0] // 2) - (1 - length % 2) for length in (height, width)]
        neurons += (height + around[0]) * (width + around[1]) * channels
    if name.startswith("efficient"):
        neurons += prod(layer.shape) if operation in ("add", "global_average_pool") else 0
        neurons += 2 * prod(layer.inputs[0]) if is_first else 0  # scaling and normalisation of the image
    if name == "mobilenet":
        neurons += 2 * prod(layer.shape) if operation in ("global_average_pool", "dense") else 0
    return neurons


@pytest.mark.parametrize("name", NEURONS)
def test_neurons_as_in_table_1_of_the_paper(name: str) -> None:
    described = network(name)
    layers = infer_shapes(described)
    found = prod(described.image) + sum(neurons_of(layer) + idle_neurons_of(layer, name) for layer in layers)
    assert found == NEURONS[name]


@pytest.mark.parametrize("name", PUBLISHED)
def test_launches_cover_their_outputs(name: str) -> None:
    """Every value of every output has a thread, and no CTA is idle."""
    plan = plan_network(network(name))
    for launch in plan.launches:
        shape = plan.layers[launch.layer].shape
        pixels, channels = shape[0] * shape[1], shape[2]
        if launch.entry in ("convolution_direct", "convolution_depthwise", "pool_maximum", "pool_average"):
            assert launch.grid == (-(-channels // 32), -(-pixels // 8), 1)
        elif launch.entry == "convolution_implicit_gemm":
            assert launch.grid == (-(-pixels // 64), -(-channels // 64), 1)
        elif launch.entry.startswith(("batch_norm", "activation", "add", "scale")):
            assert launch.grid == (-(-prod(shape) // 256), 1, 1)
        assert launch.entry in (FOLDER / "kernels" / "kernels.ptx").read_text()


def test_names_of_layers() -> None:
    """A layer alone in its block goes by the name of the block's use; names are unique."""
    names = [layer.name for layer in network("inception_v3").layers]
    assert len(set(names)) == len(names)
    assert {"stem1", "max_pool", "max_pool_2", "mixed1.2/five_a", "mixed1.2/pool/same", "mixed9.1/threes"} < set(names)
    assert [layer.name for layer in network("vgg16").layers][:3] == [
        "stage1/convolution.1", "stage1/convolution.2", "stage1/pool",
    ]  # fmt: skip


CONV = '{ op = "convolution", filters = 4, kernel = 3 }'
MISTAKES = {
    "unknown operation": ('{ op = "convolutoin" }', "layers[0].op: unknown name 'convolutoin'; did you mean 'convol"),
    "unknown key": ('{ op = "flatten", kernel = 3 }', "layers[0]: unknown name 'kernel'"),
    "missing key": ('{ op = "convolution", kernel = 3 }', "layers[0]: needs the key 'filters'"),
    "wrong type": ('{ op = "convolution", kernel = 3, filters = 1.5 }', "layers[0].filters: must be a whole number"),
    "neither op nor block": ("{ kernel = 3 }", "layers[0]: must have either the key 'op' or the key 'block'"),
    "activation": ('{ op = "add", inputs = ["in", "in"], activation = "tanh" }', "activation: unknown name 'tanh'"),
    "kernel": ('{ op = "max_pool", kernel = [1, 2, 3] }', "kernel must be one or two lengths"),
    "stride": ('{ op = "max_pool", kernel = 2, stride = 0 }', "stride must be from 1"),
    "padding name": ('{ op = "max_pool", kernel = 2, padding = "sane" }', "did you mean 'same'"),
    "padding": ('{ op = "max_pool", kernel = 3, padding = [1, 2] }', "top, bottom, left and right"),
    "padding outside": ('{ op = "max_pool", kernel = 3, padding = 3 }', "must be smaller than the window"),
    "window": ('{ op = "max_pool", kernel = 9 }', "the window must fit into the padded input, found 9 and 8"),
    "input": (f'{CONV}, {{ op = "add", inputs = ["in", "cov"] }}', "layers[1].inputs: unknown name 'cov'"),
    "one input": ('{ op = "add", inputs = ["in"] }', "layers[0].inputs: must name 2 of the layers before"),
    "shapes": (
        '{ op = "convolution", name = "c", filters = 4, kernel = 1 }, { op = "add", inputs = ["in", "c"] }',
        "layers[1].inputs: must have one shape, found (8, 8, 3) and (8, 8, 4)",
    ),
    "gates": ('{ op = "scale", inputs = ["in", "in"] }', "the second must be a vector with a gate for each of the 3"),
    "vector": ('{ op = "dense", units = 3 }', "its input must be a vector"),
    "name twice": ('{ op = "flatten", name = "a" }, { op = "flatten", name = "a" }', "layers[1].name: must be letters"),
    "unknown block": ('{ block = "Basic" }', "layers[0].block: unknown name 'Basic'; known are B, R, E"),
    "argument missing": ('{ block = "B" }', "block.B.layers[0].filters: the use of the block must set 'n'; it sets no"),
    "argument unknown": ('{ block = "B", set = { n = 1, m = 2 } }', "layers[0].set: unknown name 'm'"),
    "argument type": ('{ block = "B", set = { n = "x" } }', "block.B.layers[0].filters: must be a whole number"),
    "repeat": ('{ block = "B", repeat = 0, set = { n = 1 } }', "layers[0].repeat: must be from 1"),
    "empty block": ('{ block = "E", repeat = 9 }', "block.E.layers: must have at least one layer"),
    "recursion": ('{ block = "R" }', "must not contain itself"),
    "too large": ('{ block = "B", set = { n = 1000000 } }, { block = "B", set = { n = 1000000 } }', "less than 2^31"),
}


def refused(folder: Path, text: str) -> str:
    (folder / "kernels.ptx").write_text("")
    (folder / "n.toml").write_text(text)
    with pytest.raises(UserError) as caught:
        plan_network(read_network(folder / "n.toml"))
    assert str(caught.value).startswith(str(folder / "n.toml"))
    return str(caught.value)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_in_layers(tmp_path: Path, mistake: str) -> None:
    layers, message = MISTAKES[mistake]
    text = f"""program = "kernels.ptx"
image = [8, 8, 3]
layers = [{layers}]
[block.B]
layers = [{{ op = "convolution", filters = "$n", kernel = 1 }}]
[block.R]
layers = [{{ block = "R" }}]
[block.E]
layers = []
"""
    assert message in refused(tmp_path, text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("[8, 8, 3]", "[8, 8]"), "image: must be height, width and channels"),
        (lambda text: text.replace("[8, 8, 3]", "[8, 8, 0]"), "image: must be height, width and channels"),
        (lambda text: text.replace("[8, 8, 3]", "[99999, 99999, 3]"), "image: must have less than 2^31 values"),
        (lambda text: text.replace("kernels.ptx", "../kernels.ptx"), "program: must be a file in the folder"),
        (lambda text: text.replace("kernels.ptx", "other.ptx"), "program: there is no file"),
        (lambda text: text.replace("image", "imgae"), "unknown name 'imgae'; did you mean 'image'"),
        (lambda text: text.replace('{ op = "flatten" }', ""), "layers: must have at least one layer"),
        (lambda text: text + "]", "must be TOML"),
    ],
)
def test_mistakes_in_files(tmp_path: Path, change: Callable[[str], str], message: str) -> None:
    text = 'program = "kernels.ptx"\nimage = [8, 8, 3]\nlayers = [{ op = "flatten" }]\n'
    assert message in refused(tmp_path, change(text))


def test_too_many_images(tmp_path: Path) -> None:
    (tmp_path / "kernels.ptx").write_text("")
    (tmp_path / "n.toml").write_text(f'program = "kernels.ptx"\nimage = [8, 8, 3]\nlayers = [{CONV}]\n')
    for images, message in ((70_000, "70000 images"), (20_000_000, "image: 20000000 of")):
        with pytest.raises(UserError, match=message):
            plan_network(read_network(tmp_path / "n.toml"), images)
