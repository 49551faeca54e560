"""Look-ups of whole warps in machine code against the texture unit, bit for bit: every format, mode and odd number."""

import numpy as np
import pytest

from rayplay.ptx.ir import Module
from rayplay.tracer.lower.texture.lookup import is_plain
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.memory.images import AXES, Image, Sampler, Texture, place_sampler, place_texture
from rayplay.tracer.units.texture.plan import GATHER, QUERY_TEXTURE, RESULTS, SAMPLE, TEXTURE
from tests.tracer.harness.execution import Handle, both

COORDINATES = {
    "1d": "%f1", "2d": "%f1, %f2", "3d": "%f1, %f2, %f3, %f4", "a1d": "%r4, %f1", "a2d": "%r4, %f1, %f2, %f2",
    "cube": "%f1, %f2, %f3, %f4", "acube": "%r4, %f1, %f2, %f3",
}  # fmt: skip
FRACTIONS = (("uint8", 4), ("uint8", 1), ("uint8", 2), ("int8", 4), ("uint16", 2), ("int16", 1))
FLOATS = (("float32", 1), ("float32", 4), ("float32", 2), ("float16", 4), ("float16", 1))
WHOLE = (("uint8", 4), ("int8", 2), ("uint16", 1), ("int16", 4), ("uint32", 2), ("int32", 1))
MODES = ("wrap", "mirror", "clamp", "border")
THREADS = 160
ODD = (np.nan, np.inf, -np.inf, 1e30, -1e30, 8388609.0, -0.0, 1e-42, 0.99999994, -5e-8)


def kernel(geometry: str, kinds: list[tuple[str, str]], choice: str = "", source: str = "[%rd{0}, {{{1}}}]") -> str:
    """A kernel of a look-up in each of its textures, with the types of a result and of the coordinates."""
    count = len(kinds)
    params = ", ".join(f".param .u64 t{k}" for k in range(count))
    reads = " ".join(f"ld.param.u64 %rd{k + 10}, [t{k}];" for k in range(count))
    names = COORDINATES[geometry]
    looks = "".join(
        f"{{ .reg .b32 %q<4>; tex.{geometry}.v4.{result}.{kind} {{%q0, %q1, %q2, %q3}}, "
        f"{source.format(k + 10, names if kind == 'f32' else names.replace('%f', '%r'))}; "
        f"st.global.v4.b32 [%rd2+{16 * k}], {{%q0, %q1, %q2, %q3}}; }}\n"
        for k, (result, kind) in enumerate(kinds)
    )
    return f"""
    .visible .entry k({params}, .param .u64 coordinates, .param .u64 result) {{
    .reg .b64 %rd<40>; .reg .f32 %f<5>; .reg .b32 %r<5>; .reg .u32 %t; .reg .pred %p;
    mov.u32 %t, %tid.x; mul.wide.u32 %rd8, %t, 16; mul.wide.u32 %rd9, %t, {16 * count};
    ld.param.u64 %rd1, [coordinates]; ld.param.u64 %rd2, [result]; add.s64 %rd1, %rd1, %rd8; add.s64 %rd2, %rd2, %rd9;
    ld.global.v4.b32 {{%r1, %r2, %r3, %r4}}, [%rd1];
    mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3; mov.b32 %f4, %r4; rem.u32 %r4, %t, 7;
    {reads} {choice} {looks} ret; }}"""


def texels(random: np.random.Generator, element: str, shape: tuple[int, ...]) -> np.ndarray:
    """Random texels, with the numbers that are unlike others."""
    if element[0] == "f":
        made = (random.standard_normal(shape) * 10.0 ** random.integers(-9, 4, shape)).astype(element)
        made.reshape(-1)[:: 1 + made.size // 9] = random.choice([np.nan, np.inf, -np.inf, -0.0, 1e-7])
        return made
    limits = np.iinfo(element)
    return random.integers(limits.min, limits.max, shape, element, endpoint=True)


def handle(random: np.random.Generator, geometry: str, element: str, channels: int, **settings: object) -> Handle:
    """A texture of random size, from ``least`` on, and address modes."""
    least = int(settings.pop("least", 1))  # type: ignore[call-overload]
    shape = tuple(int(length) for length in random.integers(least, least + 8, AXES[geometry]))
    if "cube" in geometry:
        shape = (6 * (2 if geometry == "acube" else 1), shape[1], shape[1])
    array = texels(random, element, (*shape, channels))
    modes = tuple(str(mode) for mode in random.choice(MODES, 3))
    read = {"read": settings.pop("read", "element"), "srgb": settings.pop("srgb", False)}
    sampler = Sampler(address=modes, normalized=bool(random.integers(4)), **settings)  # type: ignore[arg-type]

    def make(memory: DeviceMemory, module: Module, address: int) -> int:
        return place_texture(memory, Texture(Image(address, shape, element, channels, geometry), sampler, **read))  # type: ignore[arg-type]

    return Handle(array, make)


def points_of(random: np.random.Generator) -> np.ndarray:
    """[THREADS, 4] coordinates: on texels, between them, far outside, and no numbers."""
    points = random.uniform(-1.5, 2.5, (THREADS, 4)) * random.choice([1.0, 9.0], (THREADS, 1))
    points[::3] = np.round(points[::3] * 8) / 8
    odd = random.random((THREADS, 4)) < 0.1
    points[odd] = random.choice(ODD, odd.sum())
    return points.astype(np.float32)


@pytest.mark.parametrize("geometry", COORDINATES)
@pytest.mark.parametrize("seed", [0, 1])
def test_warps_get_what_the_unit_gives(geometry: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    handles: list[Handle] = []
    kinds: list[tuple[str, str]] = []
    for mode in ("linear", "nearest"):
        made = [handle(random, geometry, *texel, filter=mode, read="normalized") for texel in FRACTIONS]
        made += [handle(random, geometry, *texel, filter=mode) for texel in FLOATS]
        made += [handle(random, geometry, "uint8", 4, filter=mode, read="normalized", srgb=True)]
        handles += made
        kinds += [("f32", "f32")] * len(made)
    if "cube" not in geometry:
        handles += [handle(random, geometry, *texel) for texel in (*WHOLE, *FLOATS)]
        kinds += [("s32" if texel[0][0] != "f" else "f32", "s32") for texel in (*WHOLE, *FLOATS)]
    for some in (slice(0, None, 2), slice(1, None, 2)):
        arguments = [*handles[some], points_of(random), np.zeros((THREADS, len(kinds[some]), 4), np.uint32)]
        both(kernel(geometry, kinds[some]), arguments, block=(THREADS, 1, 1))


@pytest.mark.parametrize("geometry", ["1d", "2d", "3d"])
def test_lanes_whose_texels_lie_side_by_side(geometry: str) -> None:
    """Both texels along x are inside the image for all lanes of a warp but the last one's, others may be outside."""
    random, least = np.random.default_rng(8), 40 if geometry != "3d" else 12
    fractions = (("uint8", 4), ("int8", 4), ("uint16", 2), ("uint16", 4), ("int16", 4), ("uint8", 1))
    made = [handle(random, geometry, *each, filter="linear", read="normalized", least=least) for each in fractions]
    made += [handle(random, geometry, *each, filter="linear", least=least) for each in FLOATS]
    made += [handle(random, geometry, "uint8", 4, filter="linear", read="normalized", srgb=True, least=least)]
    points = random.uniform(-0.5, 1.5, (THREADS, 4)).astype(np.float32)
    points[:, 0] = random.uniform(0.1, 0.9, THREADS)
    points[-1, 0] = 0.999
    kinds = [("f32", "f32")] * len(made)
    both(kernel(geometry, kinds), [*made, points, np.zeros((THREADS, len(kinds), 4), np.uint32)], block=(THREADS, 1, 1))


def test_whole_coordinates_reach_far() -> None:
    """Coordinates of integers on and around a texture, and where 32 bits end."""
    random = np.random.default_rng(5)
    points = random.integers(-3, 12, (THREADS, 4)).astype(np.int32)
    points[::7] = random.choice(np.array([-(2**31), 2**31 - 1], np.int32), (len(points[::7]), 4))
    handles = [handle(random, "2d", *texel) for texel in (*WHOLE, *FLOATS)]
    kinds = [("u32", "s32") for _ in WHOLE] + [("f32", "s32") for _ in FLOATS]
    both(kernel("2d", kinds), [*handles, points, np.zeros((THREADS, len(kinds), 4), np.uint32)], block=(THREADS, 1, 1))


@pytest.mark.parametrize("choice", ["and.b32 %r3, %t, 1;", "shr.u32 %r3, %t, 5; and.b32 %r3, %r3, 1;"])
def test_lanes_or_warps_with_textures_of_their_own(choice: str) -> None:
    random = np.random.default_rng(6)
    handles = [handle(random, "2d", "uint8", 4, filter="linear", read="normalized"), handle(random, "2d", "float32", 1)]
    choice += " setp.eq.u32 %p, %r3, 0; selp.b64 %rd10, %rd10, %rd11, %p;"
    text = kernel("2d", [("f32", "f32")] * 2, choice)
    both(text, [*handles, points_of(random), np.zeros((THREADS, 2, 4), np.uint32)], block=(THREADS, 1, 1))


@pytest.mark.parametrize("border", [(0.0,) * 4, (1.0, 0.1, -2.0, 0.5)])
def test_a_sampler_and_a_border_of_a_colour(border: tuple[float, ...]) -> None:
    random = np.random.default_rng(7)

    def sampler(memory: DeviceMemory, module: Module, address: int) -> int:
        return place_sampler(memory, Sampler(filter="linear", address="border", normalized=True, border=border))

    text = kernel("2d", [("f32", "f32")], source="[t, s, {{{1}}}]").replace(".param .u64 t0", "TEXTURES")
    text = text.replace("TEXTURES", ".param .texref t, .param .samplerref s").replace("ld.param.u64 %rd10, [t0];", "")
    arguments = [handle(random, "2d", "float32", 4), Handle(np.zeros(1), sampler), points_of(random)]
    both(text, [*arguments, np.zeros((THREADS, 1, 4), np.uint32)], block=(THREADS, 1, 1))


def test_bytes_round_alike_as_whole_numbers_and_as_fractions() -> None:
    """Machine code adds bytes as whole numbers, the unit fractions in double precision: one single for all products."""
    bytes_, weights = np.meshgrid(np.arange(256), np.arange(257))
    whole = (bytes_ * weights).astype(np.float32) / np.float32(255 * 256)
    assert np.array_equal(whole, (bytes_ / 255.0 * weights / 256.0).astype(np.float32))


def test_the_unit_keeps_what_is_rare() -> None:
    """Gathers, offsets, half-precision results and queries stay with the unit."""
    assert is_plain(TEXTURE.pack(action=SAMPLE, geometry=4))
    assert not is_plain(TEXTURE.pack(action=GATHER))
    assert not is_plain(TEXTURE.pack(action=QUERY_TEXTURE))
    assert not is_plain(TEXTURE.pack(action=SAMPLE, has_offset=1))
    assert not is_plain(TEXTURE.pack(action=SAMPLE, result=RESULTS.index("f16x2")))
