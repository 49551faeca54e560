"""Arithmetic on several words and on packed bytes equals Python's integers, on both backends."""

import numpy as np
import pytest

from rayplay import ptx
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.record.recorder import MemorySink
from rayplay.tracer.run import run_compute_launch

THREADS = 256
EDGES = [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE, 0x00FF80FF, 0x80808080]


def inputs() -> np.ndarray:
    """uint32[THREADS, 4]: pairs of edges, then random words."""
    random = np.random.default_rng(3)
    made = random.integers(0, 1 << 32, (THREADS, 4), dtype=np.uint32)
    made[:64, 0], made[:64, 1] = np.repeat(EDGES, 8), np.tile(EDGES, 8)
    made[:64, 2:] = random.choice(np.array(EDGES, np.uint32), (64, 2))
    return made


def run(body: str, results: int, backend: str) -> np.ndarray:
    """uint32[THREADS, results]: %a to %d are the inputs of a thread, %r0, %r1, ... its results."""
    words = "abcd"
    loads = "".join(f"ld.global.u32 %{name}, [%rd2+{4 * k}];\n" for k, name in enumerate(words))
    stores = "".join(f"st.global.u32 [%rd4+{4 * k}], %r{k};\n" for k in range(results))
    text = f""".version 8.0
    .target sm_75
    .address_size 64
    .visible .entry k(.param .u64 p, .param .u64 q)
    {{
    .reg .b32 %a, %b, %c, %d, %t, %r<9>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [p]; ld.param.u64 %rd3, [q]; mov.u32 %t, %tid.x;
    mad.wide.u32 %rd2, %t, 16, %rd1; mad.wide.u32 %rd4, %t, {4 * results}, %rd3;
    {loads}{body}{stores}ret;
    }}"""
    memory = DeviceMemory()
    addresses = memory.allocate(inputs()), memory.allocate(4 * THREADS * results)
    params = tuple(address.to_bytes(8, "little") for address in addresses)
    launch = ComputeLaunch(ptx.parse(text, "extended.ptx"), "k", (1, 1, 1), (THREADS, 1, 1), params, memory)
    run_compute_launch(launch, MemorySink(keep=False), backend, progress=False)
    return memory.view(addresses[1], np.uint32, (THREADS, results)).copy()


def joined(words: "list[int]") -> int:
    """Words, lowest first, as one number."""
    return sum(int(word) << 32 * k for k, word in enumerate(words))


BACKENDS = pytest.mark.parametrize("backend", ["machine", "interpreter"])


@BACKENDS
def test_64_bit_sum_and_difference_with_carry_out(backend: str) -> None:
    body = """add.cc.u32 %r0, %a, %c; addc.cc.u32 %r1, %b, %d; addc.u32 %r2, 0, 0;
    sub.cc.u32 %r3, %a, %c; subc.cc.u32 %r4, %b, %d; subc.u32 %r5, 0, 0;"""
    for (a, b, c, d), found in zip(inputs().tolist(), run(body, 6, backend).tolist(), strict=True):
        x, y = joined([a, b]), joined([c, d])
        assert joined(found[:3]) == x + y
        assert joined(found[3:]) == (x - y) % (1 << 96)


@BACKENDS
def test_sums_and_differences_share_one_flag(backend: str) -> None:
    """The flag of a difference is the carry of a + ~b + 1, which ptxas keeps in one predicate with the flag of sums."""
    body = """sub.cc.u32 %r0, %a, %c; addc.u32 %r1, 1, 0; sub.cc.u32 %r0, %a, %c; subc.u32 %r2, 2, 0;
    add.cc.u32 %r0, %a, %c; subc.u32 %r3, 2, 0; add.cc.u32 %r0, %a, %c; addc.u32 %r4, 1, 0;"""
    for (a, _, c, _), found in zip(inputs().tolist(), run(body, 5, backend).tolist(), strict=True):
        no_borrow, carry = int(a >= c), int(a + c >= 1 << 32)
        assert found[1:] == [1 + no_borrow, 1 + no_borrow, 1 + carry, 1 + carry]


@BACKENDS
def test_128_bit_product(backend: str) -> None:
    body = """mul.lo.u32 %r0, %a, %c; mul.hi.u32 %r1, %a, %c;
    mad.lo.cc.u32 %r1, %a, %d, %r1; madc.hi.u32 %r2, %a, %d, 0;
    mad.lo.cc.u32 %r1, %b, %c, %r1; madc.hi.cc.u32 %r2, %b, %c, %r2; addc.u32 %r3, 0, 0;
    mad.lo.cc.u32 %r2, %b, %d, %r2; madc.hi.u32 %r3, %b, %d, %r3;"""
    for (a, b, c, d), found in zip(inputs().tolist(), run(body, 4, backend).tolist(), strict=True):
        assert joined(found) == joined([a, b]) * joined([c, d])


@BACKENDS
def test_high_word_of_signed_product_with_carry(backend: str) -> None:
    body = "mad.hi.cc.s32 %r0, %a, %b, %c; addc.u32 %r1, 0, 0;"
    for (a, b, c, _), found in zip(inputs().view(np.int32).tolist(), run(body, 2, backend).tolist(), strict=True):
        assert joined(found) == (a * b >> 32) % (1 << 32) + c % (1 << 32)


@BACKENDS
@pytest.mark.parametrize("first", ["u32", "s32"])
@pytest.mark.parametrize("second", ["u32", "s32"])
def test_dot_product_of_bytes(first: str, second: str, backend: str) -> None:
    words = inputs()
    found = run(f"dp4a.{first}.{second} %r0, %a, %b, %c;", 1, backend)[:, 0]
    a, b = (
        np.ascontiguousarray(words[:, k]).view(np.int8 if name == "s32" else np.uint8).reshape(-1, 4).astype(np.int64)
        for k, name in enumerate((first, second))
    )
    assert (found == ((a * b).sum(1) + words[:, 2]).astype(np.uint32)).all()
