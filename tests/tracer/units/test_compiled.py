"""Kernels of ours as nvcc compiles them: textures and surfaces through CUDA's objects, wmma, ldmatrix and mma."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.tracer.api import Device
from rayplay.tracer.memory.images import Sampler
from tests.reference.texture_slow import fetch

DATA = Path(__file__).parents[1] / "data"
BACKENDS = pytest.mark.parametrize("backend", ["machine", "interpreter"])
RANDOM = np.random.default_rng(3)


@BACKENDS
def test_an_image_is_rotated(backend: str) -> None:
    """tex2D with linear filtering and wrapped, normalised coordinates."""
    device = Device(DATA / "images.ptx")
    picture = RANDOM.random((24, 40), np.float32)
    image = device.texture(
        device.buffer(picture), sampler=Sampler(filter="linear", address="wrap", normalized=True)
    )  # fmt: skip
    out = device.buffer(np.zeros((24, 40), np.float32))
    device.launch("rotate", [image, out, 40, 24, 0.6], grid=(5, 6), block=(8, 4), backend=backend)
    y, x = np.mgrid[:24, :40].astype(np.float32)
    u, v = x / np.float32(40) - np.float32(0.5), y / np.float32(24) - np.float32(0.5)
    c, s = np.cos(np.float32(0.6)), np.sin(np.float32(0.6))
    for row, column in RANDOM.integers(0, (24, 40), (60, 2)):
        at = [u[row, column] * c - v[row, column] * s, v[row, column] * c + u[row, column] * s]
        point = [np.float32(each + np.float32(0.5)) for each in at]
        wanted = fetch(picture[None, :, :, None], point, 0, 2, ("wrap",) * 3, True, True, False)[0]
        assert abs(out.array[row, column] - wanted) <= 1 / 128  # a weight may round the other way


@BACKENDS
def test_a_list_is_fetched(backend: str) -> None:
    """tex1Dfetch of float4."""
    device = Device(DATA / "images.ptx")
    values = RANDOM.random((50, 4), np.float32)
    index = RANDOM.integers(-5, 55, 100).astype(np.int32)
    table = device.texture(device.buffer(values), "linear", 4)
    _, out = device.launch("gather_list", [table, index, np.zeros((100, 4), np.float32), 100], 4, 32, backend=backend)
    inside = (index >= 0) & (index < 50)
    assert np.array_equal(out, np.where(inside[:, None], values[np.clip(index, 0, 49)], 0))


@BACKENDS
def test_a_volume_and_layers(backend: str) -> None:
    device = Device(DATA / "images.ptx")
    field = RANDOM.random((4, 5, 6), np.float32)
    layers = RANDOM.integers(0, 256, (3, 4, 8, 4)).astype(np.uint8)
    first = device.texture(device.buffer(field), "3d", sampler=Sampler(filter="linear", normalized=True))
    second = device.texture(device.buffer(layers), "a2d", 4)
    (out,) = device.launch("volume", [first, second, np.zeros((32, 4), np.float32)], backend=backend)
    for i in range(32):
        point = [np.float32(i) * np.float32(step) for step in (0.1, 0.07, 0.03)]
        assert out[i, 0] == fetch(field[..., None], point, 0, 3, ("clamp",) * 3, True, True, False)[0]
        texel = layers[i % 3, i // 8, i % 8].astype(float)
        assert out[i, 1:].tolist() == [texel[0] + 256 * texel[1], texel[2], texel[3]]


@BACKENDS
def test_a_surface_is_inverted(backend: str) -> None:
    device = Device(DATA / "images.ptx")
    picture = RANDOM.integers(0, 256, (12, 20, 4)).astype(np.uint8)
    texels = device.buffer(picture.copy())
    image = device.surface(texels, "2d", 4)
    device.launch("invert", [image, 20, 12], grid=(3, 3), block=(8, 4), backend=backend)
    picture[..., :3] = 255 - picture[..., :3]
    assert np.array_equal(texels.array, picture)


@BACKENDS
def test_a_product_by_wmma_and_asynchronous_copies(backend: str) -> None:
    device = Device(DATA / "tensor.ptx")
    a = (RANDOM.integers(-64, 64, (32, 80)) / 16).astype(np.float16)
    b = (RANDOM.integers(-64, 64, (80, 48)) / 16).astype(np.float16)
    *_, c = device.launch("wmma_gemm", [a, b, np.zeros((32, 48), np.float32), 48, 80], grid=(3, 2), backend=backend)
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32) / 2)


@BACKENDS
def test_a_product_by_ldmatrix_and_mma(backend: str) -> None:
    device = Device(DATA / "tensor.ptx")
    a = (RANDOM.integers(-64, 64, (16, 16)) / 16).astype(np.float16)
    b = (RANDOM.integers(-64, 64, (16, 8)) / 16).astype(np.float16)
    *_, c = device.launch("mma_tile", [a, b, np.zeros((16, 8), np.float32)], backend=backend)
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


@BACKENDS
def test_a_product_of_bytes(backend: str) -> None:
    device = Device(DATA / "tensor.ptx")
    a, b = RANDOM.integers(-128, 128, (32, 16)), RANDOM.integers(-128, 128, (16, 8))
    columns = np.ascontiguousarray(b.T.astype(np.int8))
    *_, c = device.launch("wmma_bytes", [a.astype(np.int8), columns, np.zeros((32, 8), np.int32)], backend=backend)
    assert np.array_equal(c, a @ b + 7)
