"""Mip chains against a slow twin in exact arithmetic: levels of detail, filters between levels, anisotropy, limits."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Module
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.memory.images import Image, Sampler, Texture, place_texture
from rayplay.tracer.record.recorder import MemorySink
from rayplay.tracer.units.texture.levels import MANTISSA_BITS, STEPS
from tests.reference.texture_slow import along, fetch_chain, level_of_detail, log2_floor, shared
from tests.tracer.harness.execution import Handle, both, execute

MODES = ("wrap", "mirror", "clamp")
NAMES = {
    "1d": "{%f1}", "2d": "{%f1, %f2}", "3d": "{%f1, %f2, %f3, %f3}", "a1d": "{%r9, %f1}",
    "a2d": "{%r9, %f1, %f2, %f2}", "cube": "{%f1, %f2, %f3, %f3}",
}  # fmt: skip
SHAPES = {"1d": (37,), "2d": (20, 37), "3d": (6, 9, 5), "a1d": (3, 37), "a2d": (3, 20, 37), "cube": (6, 16, 16)}
DIMENSIONS = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2, "cube": 3}


def chain_of(geometry: str, channels: int, seed: int, shape: tuple[int, ...] = ()) -> list[np.ndarray]:
    """Levels of random floats, [layer, z or y, x, channel] as the geometry has them, down to one texel."""
    random, shape = np.random.default_rng(seed), shape or SHAPES[geometry]
    layered = geometry in ("a1d", "a2d", "cube")
    levels = []
    for level in range(max(shape[layered:]).bit_length()):
        lengths = (*shape[:layered], *(max(length >> level, 1) for length in shape[layered:]))
        levels.append(random.standard_normal((*lengths, channels)).astype(np.float32))
    return levels


def chained(chain: list[np.ndarray], geometry: str, **settings: object) -> Handle:
    """A chain as a texture parameter."""
    flat = np.concatenate([level.reshape(-1) for level in chain])

    def make(memory: DeviceMemory, module: Module, address: int) -> int:
        starts = address + np.cumsum([0, *(level.nbytes for level in chain)])
        images = [
            Image(int(start), level.shape[:-1], "float32", level.shape[-1], geometry)
            for start, level in zip(starts, chain, strict=False)
        ]
        return place_texture(memory, Texture(images[0], Sampler(normalized=True, **settings), levels=tuple(images[1:])))  # type: ignore[arg-type]

    return Handle(flat, make)


def kernel(instruction: str, words: int) -> str:
    """A kernel of one look-up; a thread has ``words`` floats %f1, %f2, ... and its number %r9 modulo 5."""
    reads = " ".join(f"ld.global.f32 %f{k + 1}, [%rd1+{4 * k}];" for k in range(words))
    return f"""
    .visible .entry k(.param .u64 texture, .param .u64 given, .param .u64 result) {{
    .reg .b64 %rd<9>; .reg .f32 %f<20>; .reg .b32 %r<12>; .reg .b32 %q<4>; .reg .u32 %t;
    ld.param.u64 %rd0, [texture]; ld.param.u64 %rd1, [given]; ld.param.u64 %rd2, [result];
    mov.u32 %t, %tid.x; mul.wide.u32 %rd3, %t, {4 * words}; add.s64 %rd1, %rd1, %rd3;
    mul.wide.u32 %rd3, %t, 16; add.s64 %rd2, %rd2, %rd3; rem.u32 %r9, %t, 5;
    {reads} {instruction} st.global.v4.b32 [%rd2], {{%q0, %q1, %q2, %q3}}; ret; }}"""


def recorded(sink: MemorySink) -> list[int]:
    """Addresses of the only texture access."""
    instructions, accesses = sink.table("instructions"), sink.table("accesses")
    (row,) = np.flatnonzero(instructions["operation_class"][accesses["instruction_id"]] == "texture")
    first, end = accesses["address_offset"][row : row + 2]
    return [int(address) for address in accesses["address"][int(first) : int(end)]]


def looked_up(text: str, texture: Handle, given: np.ndarray) -> np.ndarray:
    """float32[threads, 4]; both backends agree on every bit."""
    out = both(text, [texture, given, np.zeros((len(given), 4), np.float32)], block=(len(given), 1, 1))
    found: np.ndarray = out.buffers[2]
    return found


def four(chain: list[np.ndarray], layered: bool) -> list[np.ndarray]:
    """Levels as [z or layer, y, x, channel]."""
    return [
        level[:, None] if layered and level.ndim == 3 else level.reshape((1,) * (4 - level.ndim) + level.shape)
        for level in chain
    ]


LEVELS = (-1.0, 0.0, 0.25, 0.5, 0.50390625, 0.998, 1.0, 1.4999, 1.5, 2.75, 4.999, 99.0, np.inf, -np.inf, np.nan)


@pytest.mark.parametrize("geometry", ["1d", "2d", "3d", "a1d", "a2d"])
@pytest.mark.parametrize("level_filter", ["nearest", "linear", "floor"])
@pytest.mark.parametrize("linear", [False, True])
def test_a_level_of_detail_is_given(geometry: str, level_filter: str, linear: bool) -> None:
    chain = chain_of(geometry, 4, 1)
    random = np.random.default_rng(2)
    given = random.uniform(-1.5, 2.5, (60, 4)).astype(np.float32)
    given[:, 3] = [LEVELS[k % len(LEVELS)] if k % 2 else random.uniform(0, 6) for k in range(60)]
    filters = {"filter": "linear" if linear else "nearest", "level_filter": level_filter, "address": MODES}
    text = kernel(f"tex.level.{geometry}.v4.f32.f32 {{%q0, %q1, %q2, %q3}}, [%rd0, {NAMES[geometry]}], %f4;", 4)
    found = looked_up(text, chained(chain, geometry, **filters), given)
    for thread, words in enumerate(given):
        level = Fraction(0)
        if words[3] == words[3]:
            level = Fraction(int(np.floor(np.clip(float(words[3]), 0, 60) * 256)), 256)
        layer = thread % 5 if geometry[0] == "a" else 0
        rest = (layer, DIMENSIONS[geometry], MODES, linear, False)
        wanted = fetch_chain(four(chain, geometry[0] == "a"), list(words), (level, 1, []), level_filter, rest)
        assert np.array_equal(found[thread], wanted), (thread, words)


def slopes(count: int, size: int, seed: int) -> np.ndarray:
    """Derivatives of footprints round and long, tiny and beyond the image, some of them exact powers of two."""
    random = np.random.default_rng(seed)
    made = random.standard_normal((count, 2, size)) * 2.0 ** random.uniform(-9, 1, (count, 2, 1))
    made[::5] = 2.0 ** random.integers(-7, 1, (len(made[::5]), 2, size))
    made[::7, 1] = 0
    made[::11, 0] = 0
    made[3] = 0
    return made.astype(np.float32)


@pytest.mark.parametrize("geometry", ["1d", "2d", "3d", "a2d"])
@pytest.mark.parametrize(
    ("level_filter", "anisotropy"), [("nearest", 1), ("linear", 1), ("linear", 16), ("nearest", 5)]
)
def test_derivatives_give_level_and_samples(geometry: str, level_filter: str, anisotropy: int) -> None:
    chain, count = chain_of(geometry, 2, 3), DIMENSIONS[geometry]
    steps = slopes(96, count, 4)
    points = np.random.default_rng(5).uniform(-0.5, 1.5, (96, 3)).astype(np.float32)
    given = np.ascontiguousarray(np.concatenate([points, steps.reshape(96, -1)], axis=1))
    vectors = [[f"%f{4 + count * step + axis}" for axis in range(count)] for step in range(2)]
    along = ", ".join("{" + ", ".join(v + v[-1:] * (count == 3)) + "}" for v in vectors)
    text = kernel(
        f"tex.grad.{geometry}.v4.f32.f32 {{%q0, %q1, %q2, %q3}}, [%rd0, {NAMES[geometry]}], {along};", 3 + 2 * count
    )
    settings = {"filter": "linear", "level_filter": level_filter, "max_anisotropy": anisotropy, "address": MODES}
    found = looked_up(text, chained(chain, geometry, **settings), given)
    lengths = list(SHAPES[geometry][::-1][:count])
    most = anisotropy if geometry in ("2d", "a2d") else 1
    seen = set()
    for thread in range(96):
        level, samples, axis = level_of_detail(lengths, *steps[thread].tolist(), most)
        seen.add((int(level), samples))
        detail = (level, samples, list(steps[thread, axis]))
        rest = (thread % 5 if geometry[0] == "a" else 0, count, MODES, True, False)
        wanted = fetch_chain(four(chain, False), list(points[thread]), detail, level_filter, rest)
        assert np.array_equal(found[thread], wanted), (thread, level, samples)
    assert len(seen) > 4, "all kinds of footprints"


def test_steps_of_the_logarithm_are_exact() -> None:
    """Each mantissa is the least whose logarithm has as many parts of 128, and the one below has fewer."""
    for parts, mantissa in enumerate(STEPS):
        assert log2_floor(Fraction(mantissa, 1 << MANTISSA_BITS), 128) == parts
        assert log2_floor(Fraction(mantissa - 1, 1 << MANTISSA_BITS), 128) == parts - 1


def test_a_cube_has_the_level_of_its_face() -> None:
    """Directions that move by a texel of a face's level along it have this level, whatever face they meet."""
    chain = [np.full((6, 16 >> k, 16 >> k, 1), k, np.float32) for k in range(5)]
    text = kernel(
        "tex.grad.cube.v4.f32.f32 {%q0, %q1, %q2, %q3}, [%rd0, {%f1, %f2, %f3, %f3}], {%f4, %f5, %f6, %f6}, "
        "{%f7, %f8, %f9, %f9};", 9,
    )  # fmt: skip
    given = []
    for axis in range(3):
        for level in range(5):
            for sign in (-3.0, 3.0):
                row = np.zeros((3, 3))
                row[0, axis], row[1, (axis + 1) % 3], row[2, axis] = sign, 3 * 2 / 16 * 2**level, 0.01
                given.append(row.reshape(-1))
    words = np.array(given, np.float32)
    found = looked_up(text, chained(chain, "cube", filter="linear"), words)
    assert found[:, 0].tolist() == [level for _ in range(3) for level in range(5) for _ in range(2)]


@pytest.mark.parametrize("shape", [(1, 1), (1, 16384)])
def test_textures_of_one_texel_and_very_long_ones(shape: tuple[int, int]) -> None:
    chain = chain_of("2d", 1, 7, shape)
    assert len(chain) == shape[1].bit_length()
    given = np.random.default_rng(8).uniform(-3, 3, (64, 3)).astype(np.float32)
    given[:, 2] = np.linspace(0, 20, 64)
    text = kernel("tex.level.2d.v4.f32.f32 {%q0, %q1, %q2, %q3}, [%rd0, {%f1, %f2}], %f3;", 3)
    handle = chained(chain, "2d", filter="linear", level_filter="linear", address=("wrap",) * 3)
    found = looked_up(text, handle, given)
    for thread, words in enumerate(given):
        level = Fraction(int(np.floor(float(words[2]) * 256)), 256)
        wanted = fetch_chain(
            four(chain, False), list(words), (level, 1, []), "linear", (0, 2, ("wrap",) * 3, True, False)
        )
        assert np.array_equal(found[thread], wanted)


def read_texels(shape: tuple[int, ...], x: np.float32, y: np.float32, linear: bool) -> set[tuple[int, int]]:
    """Row and column of the texels of a level that a look-up weighs."""
    columns, rows = (along(c, n, "wrap", True, linear) for c, n in ((x, shape[1]), (y, shape[0])))
    weights = shared(columns[-1][1] if linear else Fraction(0), rows[-1][1] if linear else Fraction(0), Fraction(0))
    return {(rows[j][0], columns[i][0]) for i in range(len(columns)) for j in range(len(rows)) if weights[i, j, 0]}


@pytest.mark.parametrize(("level_filter", "anisotropy"), [("nearest", 1), ("linear", 1), ("linear", 7)])
@pytest.mark.parametrize("levels", [6, 1])
@pytest.mark.parametrize("linear", [True, False])
def test_an_access_has_the_sectors_of_its_texels(level_filter: str, anisotropy: int, levels: int, linear: bool) -> None:
    """One address a lane, of its first texel, then each further sector of all texels, once."""
    chain = chain_of("2d", 1, 13)[:levels]
    steps, points = slopes(32, 2, 14), np.random.default_rng(15).uniform(-1, 2, (32, 2)).astype(np.float32)
    text = kernel("tex.grad.2d.v4.f32.f32 {%q0, %q1, %q2, %q3}, [%rd0, {%f1, %f2}], {%f3, %f4}, {%f5, %f6};", 6)
    filters = {"filter": "linear" if linear else "nearest", "level_filter": level_filter}
    handle = chained(chain, "2d", max_anisotropy=anisotropy, address=("wrap",) * 3, **filters)
    given = np.ascontiguousarray(np.concatenate([points, steps.reshape(32, -1)], axis=1))
    out = both(text, [handle, given, np.zeros((32, 4), np.float32)])
    found = recorded(out.sink)
    starts = np.cumsum([0, *(level.nbytes for level in chain)])
    wanted: set[int] = set()
    for point, step in zip(points, steps, strict=True):
        detail, samples, axis = level_of_detail([37, 20], *step.tolist(), anisotropy)
        detail = min(detail, Fraction(levels - 1))
        if levels == 1:
            samples = 1
        of = [int(detail), int(detail) + 1][: 2 if detail % 1 else 1]
        if level_filter == "nearest":
            of = [int(np.ceil(detail + Fraction(1, 2))) - 1]
        for sample in range(1, samples + 1):
            share = sample / (samples + 1) - 0.5
            x, y = (np.float32(float(c) + share * float(d)) for c, d in zip(point, step[axis], strict=True))
            if samples == 1:
                x, y = point
            for level in of:
                shape = chain[level].shape
                texels = read_texels(shape[:2], x, y, linear)
                wanted |= {int(starts[level]) + 4 * (shape[1] * row + column) for row, column in texels}
    base = min(found) & -256  # where buffers begin
    assert {(address - base) >> 5 for address in found} == {offset >> 5 for offset in wanted}
    further = found[32:]
    assert all(address % 32 == 0 for address in further)
    assert not {address >> 5 for address in further} & {address >> 5 for address in found[:32]}
    assert len(set(further)) == len(further)


def test_the_base_level_is_read_where_no_level_is_named() -> None:
    chain = chain_of("2d", 4, 9)
    given = np.random.default_rng(10).uniform(0, 1, (32, 2)).astype(np.float32)
    found = [
        looked_up(kernel(f"tex{base}.2d.v4.f32.f32 {{%q0, %q1, %q2, %q3}}, [%rd0, {{%f1, %f2}}];", 2), made, given)
        for base in ("", ".base")
        for made in (chained(chain, "2d", filter="linear"), chained(chain[:1], "2d", filter="linear"))
    ]
    assert all(np.array_equal(found[0], each) for each in found)


def test_queries_of_levels() -> None:
    chain = chain_of("2d", 1, 11)
    names = ["num_mipmap_levels", "width", *(f"level.{name}" for name in ("width", "height"))]
    reads = "".join(f"txq.{name}.b32 %q{k}, [%rd0]{', 2' * name.startswith('level')};" for k, name in enumerate(names))
    found = looked_up(kernel(reads, 0), chained(chain, "2d"), np.zeros((32, 1), np.float32))
    assert found[0].view(np.uint32).tolist() == [6, 37, 9, 5]


def wrong_chains() -> Iterator[tuple[dict[str, object], str]]:
    base, half = Image(0, (8, 8), "float32"), Image(0, (4, 4), "float32")
    plain = Sampler(normalized=True)
    yield {"levels": (base,), "sampler": plain}, r"level 1 must have the shape \[4, 4\], found \[8, 8\]"
    yield {"levels": (half,), "sampler": Sampler()}, "must have normalized coordinates"
    yield {"levels": (Image(0, (4, 4), "uint8"),), "sampler": plain}, "level 1 must have"


@pytest.mark.parametrize(("fields", "message"), list(wrong_chains()))
def test_a_chain_that_does_not_fit(fields: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Texture(Image(0, (8, 8), "float32"), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("most", [0, 17])
def test_anisotropy_has_limits(most: int) -> None:
    with pytest.raises(UserError, match=f"max_anisotropy must be 1 to 16, found {most}"):
        Sampler(max_anisotropy=most)


def test_a_level_outside_memory_ends_the_launch() -> None:
    chain = chain_of("2d", 1, 12)

    def make(memory: DeviceMemory, module: Module, address: int) -> int:
        half = Image(1 << 50, (10, 18), "float32")
        texture = Texture(Image(address, (20, 37), "float32"), Sampler(normalized=True), levels=(half,))
        return place_texture(memory, texture)

    text = kernel("tex.level.2d.v4.f32.f32 {%q0, %q1, %q2, %q3}, [%rd0, {%f1, %f1}], %f2;", 2)
    arguments = [Handle(chain[0], make), np.zeros((32, 2), np.float32), np.zeros((32, 4), np.float32)]
    for backend in ("machine", "interpreter"):
        with pytest.raises(UserError, match="no texture, sampler or surface"):
            execute(text, arguments, backend)
