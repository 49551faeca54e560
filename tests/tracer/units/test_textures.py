"""Textures against a slow twin in exact arithmetic, over geometries, filters, address modes, elements and bindings."""

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Module
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.memory.images import Image, Sampler, Texture, bind_reference, place_sampler, place_texture
from tests.reference.texture_slow import FLOATS, fetch
from tests.tracer.harness.execution import Handle, Outcome, both, execute

LOADS = """
    mov.u32 %t, %tid.x; mul.wide.u32 %rd8, %t, 16;
    ld.param.u64 %rd1, [coordinates]; ld.param.u64 %rd2, [result]; add.s64 %rd1, %rd1, %rd8; add.s64 %rd2, %rd2, %rd8;
    ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1]; mov.b32 %r1, %f1; mov.b32 %r2, %f2; mov.b32 %r3, %f3;
"""
REGISTERS = ".reg .b64 %rd<9>; .reg .f32 %f<10>; .reg .b32 %r<10>; .reg .b16 %h<9>; .reg .u32 %t; .reg .pred %p;"
STORE_FLOATS = "st.global.v4.f32 [%rd2], {%f5, %f6, %f7, %f8}; ret; }"
STORE_BITS = "st.global.v4.b32 [%rd2], {%r5, %r6, %r7, %r8}; ret; }"


def kernel(body: str, first: str = ".param .u64 texture", module: str = "", store: str = STORE_FLOATS) -> str:
    """A kernel of one texture instruction; %f1 to %f4 (as bits %r1 to %r3) are the thread's coordinates."""
    first = f"{first}, " if first else ""
    head = f"{module} .visible .entry k({first}.param .u64 coordinates, .param .u64 result) {{ {REGISTERS}"
    return f"{head} {LOADS} {body} {store}"


def textured(array: np.ndarray, image: dict[str, object], **settings: object) -> Handle:
    """An array as a texture parameter."""
    read = {key: settings.pop(key) for key in ("read", "srgb") if key in settings}

    def make(memory: DeviceMemory, module: Module, address: int) -> int:
        made = Image(address, element=array.dtype.name, **image)  # type: ignore[arg-type]
        return place_texture(memory, Texture(made, Sampler(**settings), **read))  # type: ignore[arg-type]

    return Handle(array, make)


def sampled(text: str, texture: Handle, coordinates: np.ndarray, dtype: type = np.float32) -> np.ndarray:
    """Texels that the threads get, [threads, 4]; machine code and interpreter agree."""
    out = both(text, [texture, coordinates, np.zeros((len(coordinates), 4), dtype)], block=(len(coordinates), 1, 1))
    result: np.ndarray = out.buffers[2]
    return result


def image_of(element: str, shape: tuple[int, ...], channels: int, seed: int) -> np.ndarray:
    """[z or layer, y, x, channel] of random texels."""
    random = np.random.default_rng(seed)
    full = (*shape, channels)
    if element in FLOATS:
        return random.standard_normal(full).astype(element)
    limits = np.iinfo(element)
    return random.integers(limits.min, limits.max, full, element, endpoint=True)


def coordinates_of(count: int, seed: int, scale: float) -> np.ndarray:
    """Coordinates inside and outside of an axis, some of them exactly on texels and edges."""
    made = np.random.default_rng(seed).uniform(-1.5, 2.5, (count, 4)).astype(np.float32) * np.float32(scale)
    made[::4] = np.round(made[::4] * 2) / 2
    return np.ascontiguousarray(made, np.float32)


GEOMETRY = {
    "1d": ((1, 1, 9), (9,), 1, "{%f1}"), "2d": ((1, 5, 9), (5, 9), 2, "{%f1, %f2}"),
    "3d": ((4, 5, 9), (4, 5, 9), 3, "{%f1, %f2, %f3, %f4}"), "a1d": ((3, 1, 9), (3, 9), 1, "{%r9, %f1}"),
    "a2d": ((3, 5, 9), (3, 5, 9), 2, "{%r9, %f1, %f2, %f2}"),
}  # fmt: skip
LAYER = "rem.u32 %r9, %t, 5; "  # some layers do not exist


@pytest.mark.parametrize("geometry", GEOMETRY)
@pytest.mark.parametrize("filter_mode", ["nearest", "linear"])
@pytest.mark.parametrize("normalized", [False, True])
def test_a_float_texture_is_that_of_the_programming_guide(geometry: str, filter_mode: str, normalized: bool) -> None:
    full, shape, dimensions, operand = GEOMETRY[geometry]
    text = kernel(
        f"{LAYER} tex.{geometry}.v4.f32.f32 {{%f5, %f6, %f7, %f8}}, [%rd0, {operand}];".replace("%rd0", "%rd3")
    )
    text = text.replace(LOADS, LOADS + "ld.param.u64 %rd3, [texture];")
    for seed, modes in enumerate((("wrap",) * 3, ("mirror",) * 3, ("clamp",) * 3, ("border", "wrap", "clamp"))):
        array = image_of("float32", full, (1, 2, 4, 1)[seed], seed)
        points = coordinates_of(96, seed, 1.0 if normalized else 6.0)
        border = (0.5, 0.25, -1.0, 2.0)
        handle = textured(
            array, {"shape": shape, "channels": array.shape[-1], "geometry": geometry},
            filter=filter_mode, normalized=normalized, address=modes, border=border,
        )  # fmt: skip
        found = sampled(text, handle, points)
        for thread, point in enumerate(points):
            layer = thread % 5 if geometry[0] == "a" else 0
            wanted = fetch(
                array, list(point), layer, dimensions, modes, normalized, filter_mode == "linear", False, border
            )
            assert np.array_equal(found[thread], wanted), (modes, thread, point)


def test_products_of_weights_are_rounded_as_a_gpu_rounds_them() -> None:
    """Three answers of a GPU, and a texture of ones, which stays 1 whatever the weights."""
    array = np.arange(1, 32, 4, dtype=np.float32).reshape(1, 4, 2, 1)
    text = kernel("ld.param.u64 %rd3, [texture]; tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd3, {%f1, %f2}];")
    points = np.zeros((3, 4), np.float32)
    points[:, :2] = (-0.1, -0.1), (0.9, -0.1), (1.3, 0.3)
    image = {"shape": (4, 2), "channels": 1, "geometry": "2d"}
    settings = {"filter": "linear", "normalized": False, "address": ("border",) * 3}
    found = sampled(text, textured(array, image, **settings), points)[:, 0]
    assert [f"{value:.6g}" for value in found] == ["0.160156", "1.03906", "3.36328"]
    ones = np.ones((1, 4, 2, 1), np.float32)
    inside = np.random.default_rng(7).uniform(0.5, 1.5, (96, 4)).astype(np.float32)
    assert (sampled(text, textured(ones, image, **settings), inside)[:, 0] == 1).all()


@pytest.mark.parametrize("element", ["uint8", "int8", "uint16", "int16"])
@pytest.mark.parametrize("filter_mode", ["nearest", "linear"])
def test_small_integers_are_read_as_fractions(element: str, filter_mode: str) -> None:
    array = image_of(element, (1, 5, 9), 4, 3)
    text = kernel("ld.param.u64 %rd3, [texture]; tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd3, {%f1, %f2}];")
    points = coordinates_of(64, 5, 1.0)
    settings = {"filter": filter_mode, "normalized": True, "address": "wrap", "read": "normalized"}
    found = sampled(text, textured(array, {"shape": (5, 9), "channels": 4}, **settings), points)
    linear = filter_mode == "linear"
    wanted = [fetch(array, list(p), 0, 2, ("wrap",) * 3, True, linear, True) for p in points]
    assert np.allclose(found, wanted, rtol=0, atol=6e-8)


@pytest.mark.parametrize("element", ["uint8", "int8", "uint16", "int16", "uint32", "int32"])
def test_integers_are_read_as_they_are(element: str) -> None:
    array = image_of(element, (1, 5, 9), 2, 4)
    kind = "u32" if element[0] == "u" else "s32"
    text = kernel(
        f"ld.param.u64 %rd3, [texture]; tex.2d.v4.{kind}.s32 {{%r5, %r6, %r7, %r8}}, [%rd3, {{%r1, %r2}}];",
        store=STORE_BITS,
    )
    points = np.random.default_rng(0).integers(-3, 12, (64, 4)).astype(np.int32)
    found = sampled(text, textured(array, {"shape": (5, 9), "channels": 2}), points.view(np.float32), np.int32)
    x, y = np.clip(points[:, 0], 0, 8), np.clip(points[:, 1], 0, 4)
    assert np.array_equal(found[:, :2], array[0, y, x].astype(np.int64).astype(np.uint32).view(np.int32))
    assert np.array_equal(found[:, 2:], np.tile([0, 1], (64, 1)))


def test_plain_memory_is_0_beyond_its_end() -> None:
    array = np.arange(1, 11, dtype=np.float32)
    text = kernel("ld.param.u64 %rd3, [texture]; tex.1d.v4.f32.s32 {%f5, %f6, %f7, %f8}, [%rd3, {%r1}];")
    points = np.zeros((32, 4), np.int32)
    points[:, 0] = np.arange(-8, 24)
    found = sampled(text, textured(array, {"shape": (10,), "geometry": "linear"}), points.view(np.float32))
    wanted = [array[k] if 0 <= k < 10 else 0 for k in range(-8, 24)]
    assert np.array_equal(found[:, 0], wanted)


def test_half_precision_results() -> None:
    array = image_of("float16", (1, 5, 9), 4, 8)
    points = coordinates_of(32, 8, 6.0)
    body = "tex.2d.v2.f16x2.f32 {%r5, %r6}, [%rd3, {%f1, %f2}]; mov.b32 %r7, 0; mov.b32 %r8, 0;"
    text = kernel("ld.param.u64 %rd3, [texture];" + body, store=STORE_BITS)
    found = sampled(text, textured(array, {"shape": (5, 9), "channels": 4}, filter="linear"), points, np.uint32)
    halves = np.ascontiguousarray(found[:, :2]).view(np.float16)
    wanted = np.array([fetch(array, list(p), 0, 2, ("clamp",) * 3, False, True, False) for p in points])
    assert np.abs(halves - wanted).max() <= 2**-10
    exact = both(text, [textured(array, {"shape": (5, 9), "channels": 4}), points, np.zeros((32, 4), np.uint32)])
    nearest = np.ascontiguousarray(exact.buffers[2][:, :2]).view(np.float16)
    x, y = (np.clip(np.floor(points[:, k]).astype(int), 0, most) for k, most in ((0, 8), (1, 4)))
    assert np.array_equal(nearest, array[0, y, x])


def test_srgb_becomes_linear() -> None:
    array = np.arange(256, dtype=np.uint8).reshape(1, 64, 4)
    points = np.zeros((64, 4), np.int32)
    points[:, 0] = np.arange(64)
    text = kernel("ld.param.u64 %rd3, [texture]; tex.2d.v4.f32.s32 {%f5, %f6, %f7, %f8}, [%rd3, {%r1, %r2}];")
    handle = textured(array, {"shape": (1, 64), "channels": 4}, read="normalized", srgb=True)
    found = sampled(text, handle, points.view(np.float32))
    level = array[0] / 255
    wanted = np.where(level <= 0.04045, level / 12.92, ((level + 0.055) / 1.055) ** 2.4)
    wanted[:, 3] = level[:, 3]
    assert np.allclose(found, wanted, rtol=1e-6)


def test_offsets_levels_and_gradients() -> None:
    array = image_of("float32", (1, 5, 9), 1, 9)
    points = coordinates_of(32, 9, 6.0)
    handle = {"shape": (5, 9)}
    plain = "tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd3, {%f1, %f2}]"
    read = "ld.param.u64 %rd3, [texture]; mov.b32 %r5, 2; mov.b32 %r6, -1;"
    moved = sampled(kernel(f"{read} {plain}, {{%r5, %r6}};"), textured(array, handle), points)
    shifted = points + np.array([2, -1, 0, 0], np.float32)
    assert np.array_equal(moved, sampled(kernel(f"{read} {plain};"), textured(array, handle), shifted))
    level = plain.replace("tex.2d", "tex.level.2d") + ", %f3"
    assert np.array_equal(
        sampled(kernel(f"{read} {level};"), textured(array, handle), points),
        sampled(kernel(f"{read} {plain};"), textured(array, handle), points),
    )
    gradient = plain.replace("tex.2d", "tex.grad.2d") + ", {%f3, %f4}, {%f4, %f3}"
    assert np.array_equal(
        sampled(kernel(f"{read} {gradient};"), textured(array, handle), points),
        sampled(kernel(f"{read} {plain};"), textured(array, handle), points),
    )


def test_a_gather_takes_the_texels_that_a_linear_filter_would() -> None:
    """The guide's order, and its example: 2.49805 gathers texels 2 and 3."""
    array = image_of("float32", (1, 5, 9), 4, 10)
    text = kernel("ld.param.u64 %rd3, [texture]; tld4.b.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd3, {%f1, %f2}];")
    points = coordinates_of(32, 10, 6.0)
    points[0, :2] = 2.49805, 1.7
    found = sampled(text, textured(array, {"shape": (5, 9), "channels": 4}), points)
    fixed = np.floor((points.astype(np.float64) - 0.5) * 256 + 0.5).astype(int) >> 8
    assert fixed[0, 0] == 2
    x0, x1 = np.clip(fixed[:, 0], 0, 8), np.clip(fixed[:, 0] + 1, 0, 8)
    y0, y1 = np.clip(fixed[:, 1], 0, 4), np.clip(fixed[:, 1] + 1, 0, 4)
    blue = array[0, :, :, 2]
    assert np.array_equal(found, np.stack([blue[y1, x0], blue[y1, x1], blue[y0, x1], blue[y0, x0]], 1))


def test_faces_of_a_cube() -> None:
    array = np.arange(6, dtype=np.float32).reshape(6, 1, 1, 1)
    text = kernel(
        "ld.param.u64 %rd3, [texture]; tex.cube.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd3, {%f1, %f2, %f3, %f4}];"
    )
    points = np.zeros((32, 4), np.float32)
    points[:6, :3] = [[2, 1, 1], [-2, 1, 1], [1, 2, 1], [1, -2, 1], [1, 1, 2], [1, 1, -2]]
    found = sampled(text, textured(array, {"shape": (6, 1, 1), "geometry": "cube"}, filter="linear"), points)
    assert found[:6, 0].tolist() == [0, 1, 2, 3, 4, 5]


def test_queries() -> None:
    names = ("width", "height", "depth", "channel_data_type", "channel_order", "normalized_coords", "array_size")
    body = "ld.param.u64 %rd3, [texture]; ld.param.u64 %rd2, [result];" + "".join(
        f"txq.{name}.b32 %r1, [%rd3]; st.global.u32 [%rd2+{4 * k}], %r1;" for k, name in enumerate(names)
    )
    text = kernel(body, store="ret; }")
    array = image_of("uint8", (3, 5, 9), 4, 0)
    image = {"shape": (3, 5, 9), "channels": 4, "geometry": "a2d"}
    handle = textured(array, image, normalized=True, read="normalized")
    out = both(text, [handle, np.zeros(4, np.float32), np.zeros(8, np.uint32)], block=(1, 1, 1))
    assert out.buffers[2].tolist() == [9, 5, 1, 0x10D2, 0x10B5, 1, 3, 0]


def test_a_module_texture_is_bound_by_name() -> None:
    array = image_of("float32", (1, 5, 9), 1, 12)
    points = coordinates_of(32, 12, 6.0)
    for module in (".global .texref image;", ".tex .u64 image;"):
        text = kernel("tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [image, {%f1, %f2}];", "", module)

        def bind(memory: DeviceMemory, module: Module, address: int) -> None:
            handle = place_texture(memory, Texture(Image(address, (5, 9), "float32")))
            bind_reference(memory, module, "image", handle)

        out = both(text, [Handle(array, bind), points, np.zeros((32, 4), np.float32)])
        wanted = [fetch(array, list(p), 0, 2, ("clamp",) * 3, False, False, False) for p in points]
        assert np.array_equal(out.buffers[2], wanted)


def test_a_texture_and_a_sampler_apart() -> None:
    """Parameters of texref and samplerref named in the instruction; and a sampler that its module describes."""
    array = image_of("float32", (1, 5, 9), 1, 13)
    points = coordinates_of(32, 13, 1.0)

    def texture(memory: DeviceMemory, module: Module, address: int) -> int:
        return place_texture(memory, Texture(Image(address, (5, 9), "float32"), Sampler(normalized=True)))

    def sampler(memory: DeviceMemory, module: Module, address: int) -> int:
        return place_sampler(memory, Sampler(filter="linear", address="wrap", normalized=True))

    text = kernel(
        "tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [t, s, {%f1, %f2}];", ".param .texref t, .param .samplerref s"
    )
    out = both(text, [Handle(array, texture), Handle(np.zeros(1), sampler), points, np.zeros((32, 4), np.float32)])
    wanted = [fetch(array, list(p), 0, 2, ("wrap",) * 3, True, True, False) for p in points]
    assert np.array_equal(out.buffers[3], wanted)
    declared = ".global .samplerref s = { addr_mode_0 = wrap, addr_mode_1 = wrap, filter_mode = linear };"
    text = kernel("tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [t, s, {%f1, %f2}];", ".param .texref t", declared)
    out = both(text, [Handle(array, texture), points, np.zeros((32, 4), np.float32)])
    assert np.array_equal(out.buffers[2], wanted)


def test_an_access_is_recorded_with_its_first_texel() -> None:
    array = np.zeros((4, 8), np.float32)
    text = kernel("ld.param.u64 %rd3, [texture]; tex.2d.v4.f32.s32 {%f5, %f6, %f7, %f8}, [%rd3, {%r1, %r2}];")
    points = np.zeros((32, 4), np.int32)
    points[:, 0], points[:, 1] = np.arange(32) % 8, np.arange(32) // 8
    out: Outcome = execute(text, [textured(array, {"shape": (4, 8)}), points, np.zeros((32, 4), np.float32)])
    instructions, accesses = out.sink.table("instructions"), out.sink.table("accesses")
    row = np.flatnonzero(instructions["operation_class"][accesses["instruction_id"]] == "texture")
    assert len(row) == 1
    start, end = accesses["address_offset"][row[0] : row[0] + 2]
    addresses = accesses["address"][start:end]
    assert np.array_equal(addresses - addresses[0], 4 * np.arange(32) & -16), "the 16 bytes around it"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd1, {%f1, %f2}];", "no texture, sampler or surface"),
        ("tex.3d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd3, {%f1, %f2, %f2, %f2}];", "no texture, sampler or surface"),
        ("tex.2dms.v4.f32.s32 {%f5, %f6, %f7, %f8}, [%rd3, {%r1, %r1, %r1, %r1}];", "does not know tex.2dms"),
        ("tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd3, {%f1}];", "2d with 1 coordinates"),
    ],
)
def test_what_textures_do_not_do(body: str, message: str) -> None:
    arguments = [textured(np.zeros((5, 9), np.float32), {"shape": (5, 9)}), np.zeros((32, 4), np.float32)]
    text = kernel("ld.param.u64 %rd3, [texture];" + body)
    for backend in ("machine", "interpreter"):
        with pytest.raises(UserError, match=message):
            execute(text, [*arguments, np.zeros((32, 4), np.float32)], backend)


def test_a_texture_that_nothing_is_bound_to() -> None:
    text = kernel("tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [image, {%f1, %f2}];", "", ".global .texref image;")
    with pytest.raises(UserError, match=r"test\.ptx:\d+: tex\.2d.*image must be bound"):
        execute(text, [np.zeros((32, 4), np.float32), np.zeros((32, 4), np.float32)])
