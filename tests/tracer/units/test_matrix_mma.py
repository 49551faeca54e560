"""mma of every type and shape: fragments by the figures of the PTX ISA, products against exact arithmetic."""

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from tests.reference.matrix_slow import Fragments, fragments, gathered, packed, spread
from tests.tracer.harness.execution import both, execute

RANDOM = np.random.default_rng(7)


def kernel(opcode: str, a: int, b: int, c: int, wide: bool = False, wide_c: bool = False) -> str:
    """Registers of A, B and C from three buffers, [lane][register]; D's to a fourth."""
    names = {"a": a, "b": b, "c": c}
    body = "mov.u32 %t, %tid.x;"
    for name, count in names.items():
        size = 8 if (wide_c if name == "c" else wide) else 4
        body += f"ld.param.u64 %rd1, [p{name}]; mul.wide.u32 %rd2, %t, {size * count}; add.s64 %rd1, %rd1, %rd2;"
        for k in range(count):
            body += f"ld.global.b{8 * size} %{name}{k}, [%rd1+{size * k}];"
    lists = {n: "{" + ", ".join(f"%{n}{k}" for k in range(count)) + "}" for n, count in (names | {"d": c}).items()}
    body += f"{opcode} {lists['d']}, {lists['a']}, {lists['b']}, {lists['c']};"
    size = 8 if wide_c else 4
    body += f"ld.param.u64 %rd1, [pd]; mul.wide.u32 %rd2, %t, {size * c}; add.s64 %rd1, %rd1, %rd2;"
    body += "".join(f"st.global.b{8 * size} [%rd1+{size * k}], %d{k};" for k in range(c))
    kinds = ("b64" if wide else "b32", "b64" if wide_c else "b32")
    registers = f".reg .{kinds[0]} %a<{a}>, %b<{b}>; .reg .{kinds[1]} %c<{c}>, %d<{c}>; .reg .b64 %rd<3>; .reg .u32 %t;"
    parameters = ", ".join(f".param .u64 p{n}" for n in "abcd")
    return f".visible .entry k({parameters}) {{ {registers} {body} ret; }}"


def multiplied(opcode: str, f: Fragments, a: np.ndarray, b: np.ndarray, c: np.ndarray, bits: int) -> np.ndarray:
    """D of an instruction whose operands have the element bits ``a`` and ``b`` and the values ``c``."""
    half = c.dtype == np.float16
    a_registers = packed(spread(a, f.a, f.a_count), bits)
    b_registers = packed(spread(b, f.b, f.b_count), bits)
    c_fragment = spread(c, f.c, f.c_count)
    text = kernel(
        opcode, a_registers.shape[1], b_registers.shape[1], f.c_count // (2 if half else 1), bits == 64,
        c.dtype == np.float64,
    )  # fmt: skip
    out = both(text, [a_registers, b_registers, c_fragment, np.zeros_like(c_fragment)])
    return gathered(out.buffers[3], f.c, (f.m, f.n))


def rounded(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The documented rule: float64 sums in ascending k, rounded once."""
    total = c.astype(np.float64)
    for k in range(a.shape[1]):
        total = total + a[:, k : k + 1].astype(np.float64) * b[k].astype(np.float64)
    return total.astype(c.dtype)


HALF_SHAPES = [(16, 8, 8), (16, 8, 16)]


@pytest.mark.parametrize("shape", HALF_SHAPES)
@pytest.mark.parametrize("accumulator", [np.float16, np.float32])
def test_half_precision(shape: tuple[int, int, int], accumulator: type) -> None:
    m, n, k = shape
    a, b = RANDOM.standard_normal((m, k)).astype(np.float16), RANDOM.standard_normal((k, n)).astype(np.float16)
    a[0, 0], b[1, 1] = 6e-8, -1000
    c = RANDOM.standard_normal((m, n)).astype(accumulator)
    name = "f16" if accumulator is np.float16 else "f32"
    opcode = f"mma.sync.aligned.m{m}n{n}k{k}.row.col.{name}.f16.f16.{name}"
    found = multiplied(opcode, fragments(m, n, k, 16), a.view(np.uint16), b.view(np.uint16), c, 16)
    assert np.array_equal(found, rounded(a, b, c))


def bfloat(values: np.ndarray) -> np.ndarray:
    """Values with the upper 16 bits of float32 alone."""
    return (values.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


@pytest.mark.parametrize("shape", HALF_SHAPES)
def test_bfloat(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    a, b = bfloat(RANDOM.standard_normal((m, k))), bfloat(RANDOM.standard_normal((k, n)))
    c = RANDOM.standard_normal((m, n)).astype(np.float32)
    opcode = f"mma.sync.aligned.m{m}n{n}k{k}.row.col.f32.bf16.bf16.f32"
    halves = (a.view(np.uint32) >> 16, b.view(np.uint32) >> 16)
    assert np.array_equal(multiplied(opcode, fragments(m, n, k, 16), *halves, c, 16), rounded(a, b, c))


@pytest.mark.parametrize("k", [4, 8])
def test_tf32_takes_the_upper_19_bits(k: int) -> None:
    a, b = RANDOM.standard_normal((16, k)).astype(np.float32), RANDOM.standard_normal((k, 8)).astype(np.float32)
    c = RANDOM.standard_normal((16, 8)).astype(np.float32)
    cut = [(x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) for x in (a, b)]
    opcode = f"mma.sync.aligned.m16n8k{k}.row.col.f32.tf32.tf32.f32"
    found = multiplied(opcode, fragments(16, 8, k, 32), a.view(np.uint32), b.view(np.uint32), c, 32)
    assert np.array_equal(found, rounded(*cut, c))


@pytest.mark.parametrize("shape", [(8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)])
def test_double_precision_is_fused(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    a, b, c = RANDOM.standard_normal((m, k)), RANDOM.standard_normal((k, n)), RANDOM.standard_normal((m, n))
    opcode = f"mma.sync.aligned.m{m}n{n}k{k}.row.col.f64.f64.f64.f64"
    found = multiplied(opcode, fragments(m, n, k, 64), a.view(np.uint64), b.view(np.uint64), c, 64)
    wanted = c.astype(np.longdouble)
    for index in range(k):  # 64 bits of mantissa stand for the exact product nearly always
        wanted = (
            (wanted + np.outer(a[:, index].astype(np.longdouble), b[index])).astype(np.float64).astype(np.longdouble)
        )
    assert np.abs(found - wanted.astype(np.float64)).max() <= 2e-15


EIGHT_BITS = [(8, 8, 16), (16, 8, 16), (16, 8, 32)]


@pytest.mark.parametrize("shape", EIGHT_BITS)
@pytest.mark.parametrize("types", ["s8.s8", "u8.s8", "s8.u8", "u8.u8"])
def test_bytes_wrap_or_saturate(shape: tuple[int, int, int], types: str) -> None:
    m, n, k = shape
    integers(m, n, k, types, 8)


@pytest.mark.parametrize("shape", [(8, 8, 32), (16, 8, 32), (16, 8, 64)])
@pytest.mark.parametrize("types", ["s4.s4", "u4.s4", "u4.u4"])
def test_nibbles(shape: tuple[int, int, int], types: str) -> None:
    m, n, k = shape
    integers(m, n, k, types, 4)


def integers(m: int, n: int, k: int, types: str, bits: int) -> None:
    """Products of small integers, with accumulators near both ends."""
    low = [-(1 << (bits - 1)) if kind[0] == "s" else 0 for kind in types.split(".")]
    a = RANDOM.integers(low[0], low[0] + (1 << bits), (m, k))
    b = RANDOM.integers(low[1], low[1] + (1 << bits), (k, n))
    c = RANDOM.choice([-(2**31), 2**31 - 1, 0, 12345], (m, n)).astype(np.int32)
    exact = a @ b + c.astype(np.int64)
    for suffix, wanted in (("", exact.astype(np.uint64).astype(np.uint32).view(np.int32)),
                           (".satfinite", np.clip(exact, -(2**31), 2**31 - 1))):  # fmt: skip
        opcode = f"mma.sync.aligned.m{m}n{n}k{k}.row.col{suffix}.s32.{types}.s32"
        found = multiplied(opcode, fragments(m, n, k, bits), a.view(np.uint64), b.view(np.uint64), c, bits)
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize("shape", [(8, 8, 128), (16, 8, 128), (16, 8, 256)])
@pytest.mark.parametrize("operation", ["xor", "and"])
def test_bits_are_counted(shape: tuple[int, int, int], operation: str) -> None:
    m, n, k = shape
    a, b = RANDOM.integers(0, 2, (m, k)), RANDOM.integers(0, 2, (k, n))
    c = RANDOM.integers(-100, 100, (m, n)).astype(np.int32)
    pair = a[:, :, None], b[None]
    counted = (pair[0] ^ pair[1] if operation == "xor" else pair[0] & pair[1]).sum(1)
    opcode = f"mma.sync.aligned.m{m}n{n}k{k}.row.col.s32.b1.b1.s32.{operation}.popc"
    found = multiplied(opcode, fragments(m, n, k, 1), a.view(np.uint64), b.view(np.uint64), c, 1)
    assert np.array_equal(found, c + counted)


def small_float(bits: np.ndarray, exponent: int) -> np.ndarray:
    """Values of e4m3 (exponent 4) and e5m2 (5) without infinities and NaN."""
    mantissa = 7 - exponent
    power, fraction = bits >> mantissa & (1 << exponent) - 1, bits & (1 << mantissa) - 1
    bias = (1 << (exponent - 1)) - 1
    normal = (1 + fraction / (1 << mantissa)) * 2.0 ** (power - bias)
    value = np.where(power == 0, fraction / (1 << mantissa) * 2.0 ** (1 - bias), normal)
    return np.where(bits >> 7, -value, value)


@pytest.mark.parametrize("types", ["e4m3.e4m3", "e4m3.e5m2", "e5m2.e5m2"])
def test_eight_bit_floats(types: str) -> None:
    exponents = [4 if kind == "e4m3" else 5 for kind in types.split(".")]
    a = RANDOM.integers(0, 256, (16, 32)) & 0xBF  # below NaN
    b = RANDOM.integers(0, 256, (32, 8)) & 0xBF
    c = RANDOM.standard_normal((16, 8)).astype(np.float32)
    opcode = f"mma.sync.aligned.m16n8k32.row.col.f32.{types}.f32"
    found = multiplied(opcode, fragments(16, 8, 32, 8), a.view(np.uint64), b.view(np.uint64), c, 8)
    assert np.array_equal(found, rounded(small_float(a, exponents[0]), small_float(b, exponents[1]), c))


@pytest.mark.parametrize("layouts", ["row.col", "row.row", "col.col", "col.row"])
@pytest.mark.parametrize("accumulator", [np.float16, np.float32])
def test_quads_multiply_by_themselves(layouts: str, accumulator: type) -> None:
    """mma.m8n8k4: lanes 4q..4q+3 and 4q+16..4q+19 are one product of 8 x 8 x 4 (PTX ISA 9.7.15.5.1)."""
    a = RANDOM.standard_normal((4, 8, 4)).astype(np.float16)
    b = RANDOM.standard_normal((4, 4, 8)).astype(np.float16)
    c = RANDOM.standard_normal((4, 8, 8)).astype(accumulator)
    half = accumulator is np.float16
    first, second, third = np.zeros((32, 4), np.float16), np.zeros((32, 4), np.float16), np.zeros((32, 8), accumulator)
    places = np.zeros((32, 8, 3), int)
    for lane in range(32):
        quad, high = lane // 4 % 4, 0 if lane < 16 else 4
        for i in range(4):
            at = (lane % 4 + high, i) if layouts.startswith("row") else (i + high, lane % 4)
            first[lane, i] = a[(quad, *at)]
            at = (lane % 4, i + high) if layouts.endswith("row") else (i, lane % 4 + high)
            second[lane, i] = b[(quad, *at)]
        for i in range(8):
            row = lane % 4 + high if half else (lane & 1) + (i & 2) + high
            places[lane, i] = quad, row, i if half else (i & 4) + (lane & 2) + (i & 1)
            third[lane, i] = c[tuple(places[lane, i])]
    name = "f16" if half else "f32"
    text = kernel(f"mma.sync.aligned.m8n8k4.{layouts}.{name}.f16.f16.{name}", 2, 2, 4 if half else 8)
    out = both(text, [first, second, third, np.zeros_like(third)])
    for quad in range(4):
        wanted = rounded(a[quad], b[quad], c[quad])
        for lane, i in np.argwhere(places[:, :, 0] == quad):
            assert out.buffers[3][lane, i] == wanted[tuple(places[lane, i, 1:])]


def test_nan_is_canonical_and_infinities_stay() -> None:
    f = fragments(16, 8, 16, 16)
    a, b = np.ones((16, 16), np.float16), np.ones((16, 8), np.float16)
    a[0, 0], a[1, 1], b[1, 0] = np.nan, np.inf, 0
    c = np.zeros((16, 8), np.float32)
    opcode = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    found = multiplied(opcode, f, a.view(np.uint16), b.view(np.uint16), c, 16)
    assert (found[0].view(np.uint32) == 0x7FFFFFFF).all()
    assert found[1, 0].view(np.uint32) == 0x7FFFFFFF
    assert np.isinf(found[1, 1:]).all()


def test_lanes_that_do_not_execute_it_count_as_zeros() -> None:
    f = fragments(16, 8, 16, 16)
    a = spread(np.ones((16, 16), np.float16), f.a, f.a_count)
    b = spread(np.ones((16, 8), np.float16), f.b, f.b_count)
    text = kernel("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4, 2, 4)
    zeros = np.zeros((32, 4), np.float32)
    out = both(text, [a, b, zeros, zeros], block=(16, 1, 1))
    # half of the rows of A (groups 0 to 3 and 8 to 11) and half of the columns of B are there
    wanted = np.zeros((16, 4))
    wanted[:, :] = np.where(np.arange(16)[:, None] % 4 < 2, 16.0, 0.0)
    assert np.array_equal(out.buffers[3][:16], wanted)
    assert (out.buffers[3][16:] == 0).all()


@pytest.mark.parametrize(
    ("opcode", "registers", "message"),
    [
        ("mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32", (4, 2, 4), "does not know mma"),
        ("mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", (4, 2, 4), "does not know mma"),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", (2, 2, 4), "4, 2, 2, 4 registers.* 4, 4, 2, 4"),
        ("mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32", (4, 2, 4), "does not know mma"),
        ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.f16.f32", (4, 2, 4), "does not know mma"),
        ("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.popc", (4, 2, 4), "does not know mma"),
    ],
)
def test_what_the_matrix_unit_does_not_do(opcode: str, registers: tuple[int, int, int], message: str) -> None:
    buffers = [np.zeros((32, count), np.uint32) for count in (*registers, registers[2])]
    for backend in ("machine", "interpreter"):
        with pytest.raises(UserError, match=message):
            execute(kernel(opcode, *registers), list(buffers), backend)
