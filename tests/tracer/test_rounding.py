"""f32 arithmetic rounded in a direction: the result is the neighbour of the exact value on that side."""

import math
from fractions import Fraction

import numpy as np
import pytest

import ptx
from tracer.driver import ComputeLaunch
from tracer.memory import DeviceMemory
from tracer.record import MemorySink
from tracer.run import run_compute_launch

LARGEST = float(np.finfo(np.float32).max)
EDGES = [0.0, -0.0, 1.0, -1.0, 1 + 2**-23, -1 - 2**-23, 2.0**-149, -(2.0**-149), 2.0**-126, LARGEST, -LARGEST, 3.0]
CASES = 1536


def kernel(opcode: str, sources: int) -> ptx.ir.Module:
    """One thread per case: c = opcode(a[0], a[1], ...)."""
    loads = "\n".join(f"ld.global.f32 %f{k}, [%rd2+{4 * k}];" for k in range(3))
    operands = ", ".join(f"%f{k}" for k in range(sources))
    text = f""".version 8.0
    .target sm_75
    .address_size 64
    .visible .entry k(.param .u64 p, .param .u64 q)
    {{
    .reg .f32 %f<5>; .reg .b32 %r<5>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [p]; ld.param.u64 %rd3, [q];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r1, %r2, %r3, %r1;
    mad.wide.u32 %rd2, %r1, 12, %rd1; mad.wide.u32 %rd4, %r1, 4, %rd3;
    {loads}
    {opcode} %f4, {operands};
    st.global.f32 [%rd4], %f4;
    ret;
    }}"""
    return ptx.parse(text, "rounding.ptx")


def values() -> np.ndarray:
    """float32[CASES, 3]: every pair of edges, near cancellation, all magnitudes."""
    random = np.random.default_rng(7)
    edges = np.array(EDGES, np.float32)
    pairs = np.array([(a, b, c) for a in edges for b in edges for c in random.choice(edges, 3)], np.float32)
    rest = np.ldexp(random.normal(size=(CASES - len(pairs), 3)), random.integers(-150, 120, (CASES - len(pairs), 3)))
    made = np.vstack((pairs, np.clip(rest, -LARGEST, LARGEST).astype(np.float32)))
    near = made[-400:]
    with np.errstate(over="ignore", under="ignore"):
        near[:, 1] = 1 + random.normal(size=400) * 2.0**-12
        near[:, 2] = -(near[:, 0] * near[:, 1])
    made[~np.isfinite(made)] = 1.0
    return made


def run(opcode: str, cases: np.ndarray, backend: str) -> np.ndarray:
    memory = DeviceMemory()
    addresses = memory.allocate(cases), memory.allocate(4 * CASES)
    params = tuple(address.to_bytes(8, "little") for address in addresses)
    module = kernel(opcode, 3 if opcode.startswith("fma") else 2)
    launch = ComputeLaunch(module, "k", (CASES // 256, 1, 1), (256, 1, 1), params, memory)
    run_compute_launch(launch, MemorySink(keep=False), backend, progress=False)
    return memory.view(addresses[1], np.float32, CASES).copy()


def exact_values(opcode: str, cases: np.ndarray) -> list[Fraction]:
    rows = [[Fraction(float(value)) for value in row] for row in cases]
    word = opcode.partition(".")[0]
    what = {
        "add": lambda a, b, c: a + b, "sub": lambda a, b, c: a - b, "mul": lambda a, b, c: a * b,
        "fma": lambda a, b, c: a * b + c,
    }[word]  # fmt: skip
    return [what(*row) for row in rows]


def is_right(found: np.float32, exact: Fraction, rounding: str) -> bool:
    """Not beyond the exact value on the wrong side, and no f32 lies between."""
    goes_up = rounding == "rp" or (rounding == "rz" and exact < 0)
    if math.isinf(found):
        return goes_up == (found > 0) and rounding != "rz" and abs(exact) > Fraction(LARGEST)
    with np.errstate(over="ignore"):
        inner = np.nextafter(found, np.float32(-np.inf if goes_up else np.inf))
    value = Fraction(float(found))
    if goes_up:
        return value >= exact and (math.isinf(inner) or Fraction(float(inner)) < exact)
    return value <= exact and (math.isinf(inner) or Fraction(float(inner)) > exact)


@pytest.mark.parametrize("rounding", ["rz", "rm", "rp"])
@pytest.mark.parametrize("word", ["add", "sub", "mul", "fma"])
def test_result_is_the_neighbour_and_backends_agree(word: str, rounding: str) -> None:
    opcode = f"{word}.{rounding}.f32"
    cases = values()
    found = run(opcode, cases, "machine")
    for index, (value, exact) in enumerate(zip(found, exact_values(opcode, cases), strict=True)):
        assert is_right(value, exact, rounding), (opcode, cases[index], value)
    assert (found.view(np.uint32) == run(opcode, cases, "interpreter").view(np.uint32)).all()


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
