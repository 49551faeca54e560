"""Surfaces: bytes and texels, geometries, what happens outside, reductions, queries."""

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Module
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.memory.images import Image, bind_reference, place_surface
from tests.tracer.harness.execution import Handle, both, execute

REGISTERS = ".reg .b64 %rd<9>; .reg .b32 %r<16>; .reg .f32 %f<9>; .reg .b16 %h<5>; .reg .u32 %t;"


def kernel(body: str) -> str:
    """%r1 to %r3 are the thread's coordinates; results go to [%rd2]."""
    return f""".visible .entry k(.param .u64 surface, .param .u64 coordinates, .param .u64 result) {{ {REGISTERS}
    mov.u32 %t, %tid.x; mul.wide.u32 %rd8, %t, 16; ld.param.u64 %rd1, [coordinates]; ld.param.u64 %rd2, [result];
    add.s64 %rd1, %rd1, %rd8; add.s64 %rd2, %rd2, %rd8; ld.param.u64 %rd3, [surface];
    ld.global.v4.b32 {{%r1, %r2, %r3, %r4}}, [%rd1]; {body} ret; }}"""


def surface(array: np.ndarray, geometry: str, channels: int = 1) -> Handle:
    """An array as a surface parameter; a last axis of channels is not one of the image's."""
    shape = array.shape[:-1] if channels > 1 else array.shape

    def make(memory: DeviceMemory, module: Module, address: int) -> int:
        return place_surface(memory, Image(address, shape, array.dtype.name, channels, geometry))

    return Handle(array, make)


def points(*columns: object) -> np.ndarray:
    """int32[32, 4] of coordinates."""
    made = np.zeros((32, 4), np.int32)
    for number, column in enumerate(columns):
        made[:, number] = column
    return made


LANES = np.arange(32)
RESULT = np.zeros((32, 4), np.uint32)


def test_bytes_are_loaded_at_byte_coordinates() -> None:
    array = np.arange(4 * 8 * 4, dtype=np.uint8).reshape(4, 8, 4)
    body = "suld.b.2d.b32.trap %r5, [%rd3, {%r1, %r2}]; st.global.u32 [%rd2], %r5;"
    out = both(kernel(body), [surface(array, "2d", 4), points(4 * (LANES % 8), LANES // 8), RESULT])
    assert np.array_equal(out.buffers[2][:, 0], array.reshape(-1).view(np.uint32))
    body = "suld.b.2d.v2.b16.trap {%h1, %h2}, [%rd3, {%r1, %r2}]; st.global.v2.b16 [%rd2], {%h1, %h2};"
    out = both(kernel(body), [surface(array, "2d", 4), points(4 * (LANES % 8), LANES // 8), RESULT])
    assert np.array_equal(out.buffers[2][:, 0], array.reshape(-1).view(np.uint32))


def test_vectors_and_wide_elements_are_stored() -> None:
    array = np.zeros((16, 2), np.uint32)
    body = "mov.b64 %rd4, {%r1, %r2}; sust.b.1d.b64.trap [%rd3, {%r3}], %rd4;"
    coordinates = points(LANES + 100, LANES + 200, 8 * (LANES % 16))
    out = both(kernel(body), [surface(array, "1d", 2), coordinates, RESULT])
    assert np.array_equal(out.buffers[0], np.stack([LANES[16:] + 100, LANES[16:] + 200], 1))
    volume = np.zeros((2, 4, 4, 4), np.uint32)
    body = "sust.b.3d.v4.b32.trap [%rd3, {%r4, %r2, %r3, %r3}], {%r1, %r2, %r3, %r4};"
    coordinates = points(LANES, LANES // 4 % 4, LANES // 16, 16 * (LANES % 4))
    out = both(kernel(body), [surface(volume, "3d", 4), coordinates, RESULT])
    assert np.array_equal(out.buffers[0].reshape(32, 4), coordinates)


@pytest.mark.parametrize("geometry", ["a1d", "a2d"])
def test_layers(geometry: str) -> None:
    shape, operand = ((4, 8), "{%r2, %r1}") if geometry == "a1d" else ((4, 1, 8), "{%r2, %r1, %r4, %r4}")
    array = np.arange(32, dtype=np.uint32).reshape(shape)
    body = f"suld.b.{geometry}.b32.clamp %r5, [%rd3, {operand}]; st.global.u32 [%rd2], %r5;"
    out = both(kernel(body), [surface(array, geometry), points(4 * (LANES % 8), LANES // 8), RESULT])
    assert np.array_equal(out.buffers[2][:, 0], LANES)


def test_outside_clamps_or_is_zero_or_ends_the_launch() -> None:
    array = np.arange(1, 33, dtype=np.uint32).reshape(4, 8)
    x, y = LANES % 16 - 4, LANES // 8 - 1
    coordinates = points(4 * x, y)
    load = "suld.b.2d.b32.{} %r5, [%rd3, {{%r1, %r2}}]; st.global.u32 [%rd2], %r5;"
    out = both(kernel(load.format("clamp")), [surface(array, "2d"), coordinates, RESULT])
    assert np.array_equal(out.buffers[2][:, 0], array[np.clip(y, 0, 3), np.clip(x, 0, 7)])
    inside = (x >= 0) & (x < 8) & (y >= 0) & (y < 4)
    out = both(kernel(load.format("zero")), [surface(array, "2d"), coordinates, RESULT])
    assert np.array_equal(out.buffers[2][:, 0], np.where(inside, array[np.clip(y, 0, 3), np.clip(x, 0, 7)], 0))
    store = "sust.b.2d.b32.zero [%rd3, {%r1, %r2}], %r3;"
    out = both(kernel(store), [surface(array, "2d"), points(4 * x, y, 77), RESULT])
    wanted = array.copy()
    wanted[y[inside], x[inside]] = 77
    assert np.array_equal(out.buffers[0], wanted)
    for backend in ("machine", "interpreter"):
        with pytest.raises(UserError, match=r"suld\.b\.2d\.b32\.trap: lane 0 accesses a place outside its surface"):
            execute(kernel(load.format("trap")), [surface(array, "2d"), coordinates, RESULT], backend)


@pytest.mark.parametrize("element", ["uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32"])
def test_texels_are_converted(element: str) -> None:
    """sust.p: integers clamp to their element, floats round."""
    array = np.zeros((2, 16, 2), element)
    values = points(LANES % 16, LANES // 16)
    values[:, 2] = np.linspace(-70000, 70000, 32)
    values[:, 3] = (np.linspace(-3, 3, 32) ** 5).astype(np.float32).view(np.int32)
    body = "sust.p.2d.v2.b32.trap [%rd3, {%r1, %r2}], {%r3, %r4};"
    out = both(kernel(body), [surface(array, "2d", 2), values, RESULT])
    stored = out.buffers[0].reshape(32, 2)
    if element[0] == "f":
        given = values[:, 2:].copy().view(np.float32)
        assert np.array_equal(stored, given.astype(element), equal_nan=True)
        return
    limits = np.iinfo(element)
    given = (values[:, 2:].view(np.uint32) if element[0] == "u" else values[:, 2:]).astype(np.int64)
    assert np.array_equal(stored, np.clip(given, limits.min, limits.max))


@pytest.mark.parametrize(
    ("operation", "kind", "wanted"),
    [
        ("add", "u32", lambda old, new: (old + new.sum()) % 2**32),
        ("min", "s32", lambda old, new: min(old, new.min())),
        ("max", "s32", lambda old, new: max(old, new.max())),
        ("and", "b32", lambda old, new: old & new[0] & new[1]),
        ("or", "b32", lambda old, new: np.bitwise_or.reduce([old, *new])),
    ],
)
def test_reductions(operation: str, kind: str, wanted: object) -> None:
    array = np.array([5, -7], np.int32)
    values = points(4 * (LANES & 1), 0, LANES * 37 - 500)
    body = f"sured.b.{operation}.1d.{kind}.trap [%rd3, {{%r1}}], %r3;"
    if operation == "and":
        values[:, 2] = np.where(LANES & 2, 0x7FFFFF1F, -2)
    out = both(kernel(body), [surface(array, "1d"), values, RESULT])
    for place in range(2):
        new = values[place::2, 2].astype(np.int64)
        assert out.buffers[0][place] == np.uint32(wanted(int(array[place]), new) & 0xFFFFFFFF).view(np.int32)  # type: ignore[operator]


def test_wide_reductions_are_unsigned_or_signed() -> None:
    array = np.array([[1, 0], [1, 0]], np.uint32)
    body = "mov.b64 %rd4, {%r3, %r4}; sured.b.max.1d.{}.trap [%rd3, {%r1}], %rd4;"
    values = points(0, 0, 3, np.where(LANES == 3, -1, 0))
    for kind, most in (("u64", 0xFFFFFFFF00000003), ("s64", 3)):
        out = both(kernel(body.replace("{}", kind)), [surface(array, "1d", 2), values, RESULT])
        assert out.buffers[0].view(np.uint64)[0, 0] == most


def test_texels_are_reduced_at_texel_coordinates() -> None:
    array = np.zeros(4, np.uint32)
    out = both(
        kernel("sured.p.add.1d.b32.trap [%rd3, {%r1}], %r3;"), [surface(array, "1d"), points(LANES % 4, 0, 1), RESULT]
    )
    assert out.buffers[0].tolist() == [8, 8, 8, 8]


def test_queries_and_module_surfaces() -> None:
    array = np.zeros((3, 5, 9), np.int16)
    names = ("width", "height", "depth", "channel_data_type", "channel_order", "array_size")
    body = "".join(f"suq.{name}.b32 %r1, [image]; st.global.u32 [%rd2+{4 * k}], %r1;" for k, name in enumerate(names))
    text = ".global .surfref image; " + kernel(body).replace(".param .u64 surface, ", "").replace(
        "ld.param.u64 %rd3, [surface];", ""
    )

    def bind(memory: DeviceMemory, module: Module, address: int) -> None:
        bind_reference(memory, module, "image", place_surface(memory, Image(address, (3, 5, 9), "int16", 1, "a2d")))

    out = both(text, [Handle(array, bind), points(), np.zeros(8, np.uint32)], block=(1, 1, 1))
    assert out.buffers[2].tolist() == [9, 5, 1, 0x10D8, 0x10B0, 3, 0, 0]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("suld.b.2d.b32.trap %r5, [%rd1, {%r1, %r2}];", "no texture, sampler or surface"),
        ("suld.b.1d.b32.trap %r5, [%rd3, {%r1}];", "no texture, sampler or surface"),
        ("suld.b.2d.v4.b64.trap {%rd4, %rd5, %rd6, %rd7}, [%rd3, {%r1, %r2}];", "does not know suld"),
        ("suld.p.2d.b32.trap %r5, [%rd3, {%r1, %r2}];", "does not know suld"),
        ("sured.b.xor.2d.b32.trap [%rd3, {%r1, %r2}], %r1;", "does not know sured"),
        ("suld.b.2d.v2.b32.trap {%r5, %r6, %r7}, [%rd3, {%r1, %r2}];", "3 registers, which must be 2"),
    ],
)
def test_what_surfaces_do_not_do(body: str, message: str) -> None:
    for backend in ("machine", "interpreter"):
        with pytest.raises(UserError, match=message):
            execute(kernel(body), [surface(np.zeros((5, 9), np.uint32), "2d"), points(), RESULT], backend)
