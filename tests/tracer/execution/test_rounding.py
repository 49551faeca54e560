"""Arithmetic rounded in a direction: the result is the neighbour of the exact value on that side."""

import math
from fractions import Fraction

import numpy as np
import pytest

from rayplay import ptx
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.record.recorder import MemorySink
from rayplay.tracer.run import run_compute_launch

CASES = 1024
DTYPES = {"f32": np.float32, "f64": np.float64}
SOURCES = {"add": 2, "sub": 2, "mul": 2, "div": 2, "fma": 3, "rcp": 1, "sqrt": 1}


def kernel(opcode: str) -> ptx.ir.Module:
    """One thread per case: c = opcode(a[0], a[1], ...)."""
    name = opcode[-3:]
    size = int(name[1:]) // 8
    loads = "\n".join(f"ld.global.{name} %f{k}, [%rd2+{size * k}];" for k in range(3))
    operands = ", ".join(f"%f{k}" for k in range(SOURCES[opcode.partition(".")[0]]))
    text = f""".version 8.0
    .target sm_75
    .address_size 64
    .visible .entry k(.param .u64 p, .param .u64 q)
    {{
    .reg .{name} %f<5>; .reg .b32 %r<5>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [p]; ld.param.u64 %rd3, [q];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r1, %r2, %r3, %r1;
    mad.wide.u32 %rd2, %r1, {3 * size}, %rd1; mad.wide.u32 %rd4, %r1, {size}, %rd3;
    {loads}
    {opcode} %f4, {operands};
    st.global.{name} [%rd4], %f4;
    ret;
    }}"""
    return ptx.parse(text, "rounding.ptx")


def values(dtype: type) -> np.ndarray:
    """dtype[CASES, 3]: every pair of edges, near cancellation, all magnitudes."""
    random = np.random.default_rng(7)
    about = np.finfo(dtype)
    edges = [0.0, 1.0, 1 + about.eps, about.smallest_subnormal, about.tiny, about.max, 3.0]
    signed = np.array(edges + [-edge for edge in edges], dtype)
    pairs = np.array([(a, b, c) for a in signed for b in signed for c in random.choice(signed, 2)], dtype)
    count = CASES - len(pairs)
    powers = random.integers(about.minexp - about.nmant - 2, about.maxexp - 8, (count, 3))
    with np.errstate(all="ignore"):
        rest = np.ldexp(random.normal(size=(count, 3)), powers).astype(dtype)
        made = np.vstack((pairs, rest))
        near = made[-300:]
        near[:, 1] = 1 + random.normal(size=300) * 2.0**-12
        near[:, 2] = -(near[:, 0] * near[:, 1])
    made[~np.isfinite(made)] = 1.0
    return made


def run(opcode: str, cases: np.ndarray, backend: str) -> np.ndarray:
    memory = DeviceMemory()
    size = cases.itemsize
    addresses = memory.allocate(cases), memory.allocate(size * CASES)
    params = tuple(address.to_bytes(8, "little") for address in addresses)
    launch = ComputeLaunch(kernel(opcode), "k", (CASES // 256, 1, 1), (256, 1, 1), params, memory)
    run_compute_launch(launch, MemorySink(keep=False), backend, progress=False)
    return memory.view(addresses[1], cases.dtype, CASES).copy()


def is_at_most(opcode: str, row: list[Fraction], bound: Fraction) -> bool:
    """Whether the exact result is not above ``bound``: no division and no root is carried out."""
    a, b, c = row
    match opcode.partition(".")[0]:
        case "add":
            return a + b <= bound
        case "sub":
            return a - b <= bound
        case "mul":
            return a * b <= bound
        case "fma":
            return a * b + c <= bound
        case "div":
            return a <= bound * b if b > 0 else a >= bound * b
        case "rcp":
            return bound * a >= 1 if a > 0 else bound * a <= 1
    return bound >= 0 and a <= bound * bound


def is_below(opcode: str, row: list[Fraction], bound: Fraction) -> bool:
    """Whether the exact result is below ``bound``."""
    tiny = Fraction(1, 1 << 4000)
    return is_at_most(opcode, row, bound - tiny)


def is_defined(opcode: str, row: list[Fraction]) -> bool:
    word = opcode.partition(".")[0]
    return not ((word == "div" and row[1] == 0) or (word == "rcp" and row[0] == 0) or (word == "sqrt" and row[0] < 0))


def is_right(opcode: str, row: list[Fraction], found: np.floating, rounding: str) -> bool:
    """Not beyond the exact value on the wrong side, and no other number lies between."""
    goes_up = rounding == "rp" or (rounding == "rz" and is_below(opcode, row, Fraction(0)))
    largest = Fraction(float(np.finfo(type(found)).max))
    if math.isinf(found):
        beyond = not is_at_most(opcode, row, largest) if found > 0 else is_below(opcode, row, -largest)
        return goes_up == (found > 0) and rounding != "rz" and beyond
    with np.errstate(over="ignore"):
        inner = np.nextafter(found, type(found)(-np.inf if goes_up else np.inf))
    value = Fraction(float(found))
    if goes_up:
        fits = is_at_most(opcode, row, value)
        return fits and (math.isinf(inner) or not is_at_most(opcode, row, Fraction(float(inner))))
    fits = not is_below(opcode, row, value)
    return fits and (math.isinf(inner) or is_below(opcode, row, Fraction(float(inner))))


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("rounding", ["rz", "rm", "rp"])
@pytest.mark.parametrize("word", SOURCES)
def test_result_is_the_neighbour_and_backends_agree(word: str, rounding: str, name: str) -> None:
    opcode = f"{word}.{rounding}.{name}"
    cases = values(DTYPES[name])
    found = run(opcode, cases, "machine")
    for index, value in enumerate(found):
        row = [Fraction(float(number)) for number in cases[index]]
        if is_defined(opcode, row):
            assert is_right(opcode, row, value, rounding), (opcode, cases[index], value)
    bits = f"u{found.itemsize}"
    assert (found.view(bits) == run(opcode, cases, "interpreter").view(bits)).all()


@pytest.mark.parametrize("backend", ["machine", "interpreter"])
def test_signs_of_zero(backend: str) -> None:
    """PTX follows IEEE 754: an exact 0 is -0 under .rm unless both summands are +0, else +0 unless both are -0."""
    cases = np.zeros((CASES, 3), np.float32)
    cases[:4, :2] = [(0.0, 0.0), (0.0, -0.0), (-0.0, -0.0), (1.5, -1.5)]
    signs = {opcode: np.signbit(run(opcode, cases, backend)[:4]).tolist() for opcode in ("add.rm.f32", "add.rz.f32")}
    assert signs == {"add.rm.f32": [False, True, True, True], "add.rz.f32": [False, False, True, False]}


def test_special_values() -> None:
    cases = np.ones((CASES, 3), np.float32)
    cases[:3, :2] = [(np.inf, 1.0), (np.inf, -np.inf), (np.nan, 1.0)]
    found = run("add.rm.f32", cases, "machine")
    assert found[0] == np.inf
    assert (found[1:3].view(np.uint32) == 0x7FFFFFFF).all()
    assert (found.view(np.uint32) == run("add.rm.f32", cases, "interpreter").view(np.uint32)).all()
