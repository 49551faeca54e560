"""Loads and stores: spellings, 32-bit programs of old PTX, 128 bits, symbols in initialisers, refusals."""

from itertools import pairwise

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.api import Device, run_kernel
from rayplay.tracer.memory.arena import DeviceMemory
from tests.tracer.harness.execution import HEADER, execute

BACKENDS = pytest.mark.parametrize("backend", ["machine", "interpreter"])
OLD = """
	.version 1.4
	.target sm_10, map_f64_to_f32
	.entry _Z6kernelPi (
		.param .u32 __cudaparm__Z6kernelPi_out,
		.param .s32 __cudaparm_n)
	{
	.reg .u16 %rh<4>;
	.reg .u32 %r<12>;
	.reg .f32 %f<4>;
	.reg .pred %p<3>;
	.loc	14	1	0
$LBB1__Z6kernelPi:
	mov.u16 	%rh1, %ctaid.x;
	mov.u16 	%rh2, %ntid.x;
	mul.wide.u16 	%r1, %rh1, %rh2;
	cvt.u32.u16 	%r2, %tid.x;
	add.u32 	%r3, %r2, %r1;
	ld.param.s32 %r8, [__cudaparm_n];
	set.gt.u32.s32 %r9, %r8, %r3;
	neg.s32 %r9, %r9;
	mov.s32 %r10, 0;
	setp.eq.s32 %p1, %r9, %r10;
	@%p1 bra $Lt_0_1026;
	ld.param.u32 	%r4, [__cudaparm__Z6kernelPi_out];
	mul.lo.u32 	%r5, %r3, 4;
	add.u32 	%r6, %r4, %r5;
	cvt.rn.f32.u32 %f1, %r3;
	mad.f32 %f2, %f1, %f1, 0f3f800000;
	cvt.rzi.s32.f32 %r7, %f2;
	st.global.s32 	[%r6+0], %r7;
$Lt_0_1026:
	exit;
$LDWend__Z6kernelPi:
	}
"""
SHARED = """
.version 6.5
.target sm_30
.address_size 64
.shared .align 4 .b8 shared_mem1[128];
.extern .shared .b64 shared_mem[];
.func add1(.param .u64 x)
{
  .reg .u64 t;
  ld.shared.u64 t, [shared_mem];
  add.u64 t, t, 2;
  st.shared.u64 [shared_mem], t;
  ret;
}
.visible .entry k(.param .u64 input, .param .u64 output)
{
    .reg .u64 in_addr; .reg .u64 out_addr; .reg .u64 temp; .reg .u32 a; .reg .b32 f;
    .shared .b32 local_s;
    ld.param.u64 in_addr, [input]; ld.param.u64 out_addr, [output];
    ld.global.u64 temp, [in_addr];
    st.shared.u64 [shared_mem], temp;
    { .param .u64 p; st.param.u64 [p], temp; call add1, (p); }
    mov.u32 a, shared_mem1; st.shared.u32 [a+4], 17; ld.shared.u32 f, [shared_mem1+4];
    ld.shared.u64 temp, [shared_mem];
    st.global.u64 [out_addr], temp;
    st.global.u32 [out_addr+8], f;
    st.u64.global [out_addr+16], temp;
    ret;
}
"""
WIDE = """
.version 8.3
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .b128 %q<3>; .reg .b64 %l<8>;
  ld.param.u64 %l1, [p];
  ld.global.b128 %q1, [%l1];
  mov.b128 {%l2,%l3}, %q1;
  mov.b128 %q2, {%l3,%l2};
  st.global.b128 [%l1+16], %q2;
  atom.global.exch.b128 %q1, [%l1], %q2;
  st.global.b128 [%l1+32], %q1;
  atom.global.cas.b128 %q1, [%l1+16], %q2, %q1;
  ret;
}
"""
SPELLINGS = """
.version 8.3
.target sm_90
.address_size 64
.const .align 8 .u64 ptrs[2] = {g, g+8};
.global .align 4 .u32 g[4] = {1,2,3,4};
.global .u64 gg = generic(g);
.visible .entry k(.param .u64 p, .param .align 4 .b8 s[7])
{
  .reg .b64 %l<8>; .reg .b32 %r<12>; .reg .b16 %h<4>; .reg .pred %p<3>;
  ld.param.u64 %l1, [p];
  ld.const.u64 %l2, [ptrs+8];
  ld.global.u32 %r1, [%l2];
  ld.global.u64 %l3, [gg];
  ld.weak.global.L1::evict_first.L2::128B.u32 %r2, [%l3+4];
  ld.param.u8 %r3, [s+5];
  ld.param.s8 %r4, [s+6];
  ld.param.u16 %r5, [s+2];
  st.global.v4.u32 [%l1], {%r1,%r2,%r3,%r4};
  st.release.gpu.global.u32 [%l1+16], %r5;
  ld.acquire.sys.s16 %r6, [%l1+16];
  st.mmio.relaxed.sys.global.u32 [%l1+20], %r6;
  ld.global.nc.v2.u16 {%h1, %h2}, [%l1+16];
  st.global.v2.b8 [%l1+24], {%h1,%h2};
  ldu.global.u32 %r7, [%l1];
  prefetch.global.L2 [%l1]; prefetchu.L1 [%l1]; discard.global.L2 [%l1+128], 128;
  applypriority.global.L2::evict_normal [%l1], 128;
  membar.gl; fence.acq_rel.gpu; fence.proxy.async; griddepcontrol.wait; pmevent 1; bar.warp.sync -1;
  elect.sync %r8|%p1, -1;
  selp.u32 %r9, 1, 0, %p1;
  createpolicy.fractional.L2::evict_last.b64 %l4, 1.0;
  st.global.L2::cache_hint.u32 [%l1+28], %r9, %l4;

  ret;
}
"""


@BACKENDS
def test_a_program_of_ptx_1_4_has_32_bit_addresses(backend: str) -> None:
    (out,) = run_kernel(OLD, "_Z6kernelPi", [np.zeros(40, np.int32), 40], grid=2, block=32, backend=backend)
    assert out.tolist() == [n * n + 1 for n in range(40)]


@BACKENDS
def test_shared_variables_of_a_module_are_those_of_its_functions(backend: str) -> None:
    _, out = run_kernel(
        SHARED, "k", [np.array([5], np.uint64), np.zeros(3, np.uint64)], block=1, shared_bytes=64, backend=backend
    )
    assert out.tolist() == [7, 17, 7]


@BACKENDS
def test_128_bits_move_whole(backend: str) -> None:
    (out,) = run_kernel(WIDE, "k", [np.arange(6, dtype=np.uint64)], block=1, backend=backend)
    assert out.tolist() == [1, 0, 0, 1, 0, 1]


@BACKENDS
def test_orders_scopes_caches_hints_and_initialisers(backend: str) -> None:
    struct = bytes([1, 2, 3, 4, 5, 6, 0x87])
    (out,) = run_kernel(SPELLINGS, "k", [np.zeros(64, np.uint32), struct], block=1, backend=backend)
    assert out[:8].tolist() == [3, 2, 6, 0xFFFFFF87, 0x0403, 0x0403, 0x0003, 1]


SMALL = """
.version 7.8
.target sm_75
.address_size 64
.const .align 4 .b8 table[8] = {1, 2, 3, 4};
.func f(.param .align 4 .b8 s[8])
{
    .reg .b32 %r<4>;
    ld.param.u32 %r1, [s+INSIDE];
    ret;
}
.visible .entry k(.param .u64 out, .param .align 4 .b8 s[8])
{
    .reg .b64 %l<4>; .reg .b32 %r<4>;
    .local .align 8 .b8 depot[16];
    ld.param.u64 %l1, [out];
    { .param .align 4 .b8 a[8]; st.param.b32 [a], 1; call f, (a); }
    BODY
    st.global.u32 [%l1], %r1;
    ret;
}
"""


@BACKENDS
@pytest.mark.parametrize(
    ("body", "inside", "message"),
    [
        ("ld.param.u32 %r1, [s+2];", 0, r"ld\.param\.u32: lane 0 accesses 0x1\w+, which is not .*a multiple of 4"),
        ("ld.const.u32 %r1, [table+1];", 0, r"ld\.const\.u32: lane 0 accesses 0x1\w+, .*a multiple of 4"),
        ("ld.local.u64 %l2, [depot+4];", 0, r"ld\.local\.u64: lane 0 accesses .* a multiple of 8"),
        (
            "mov.u32 %r2, 0; ld.shared.u32 %r1, [%r2];",
            0,
            r"lane 0 accesses 0x0, .*: the CTA has 0 bytes of shared memory",
        ),
        ("mov.u32 %r1, 0;", 8, r"does not know 4 bytes at 8 of s, which has 8"),
    ],
)
def test_addresses_outside_or_not_aligned_are_named(body: str, inside: int, message: str, backend: str) -> None:
    text = SMALL.replace("BODY", body).replace("INSIDE", str(inside))
    with pytest.raises(UserError, match=message):
        run_kernel(text, "k", [np.zeros(4, np.uint32), bytes(8)], block=1, backend=backend)


def test_functions_may_have_shared_and_static_variables_of_the_same_name() -> None:
    one, other = (
        f".visible .entry {name}(.param .u64 p) {{ .shared .b32 tile[{size}]; .global .u32 count; .reg .b64 %l<2>;"
        f".reg .b32 %r<3>; ld.param.u64 %l1, [p]; mov.u32 %r1, %total_smem_size;"
        f"atom.global.add.u32 %r2, [count], {size};"
        "st.shared.u32 [tile], %r1; st.global.v2.u32 [%l1], {%r1, %r2}; ret; }"
        for name, size in (("small", 4), ("large", 64))
    )
    device = Device(f".version 7.8\n.target sm_75\n.address_size 64\n{one}\n{other}\n")
    found = [device.launch(name, [np.zeros(2, np.uint32)], block=1)[0].tolist() for name in ("small", "large", "small")]
    assert found == [[16, 0], [256, 0], [16, 4]]


def test_a_store_to_a_constant_is_refused() -> None:
    with pytest.raises(UserError, match=r"the executor does not know st\.param\.u32"):
        execute(".visible .entry k(.param .u64 p) { .reg .b64 %l; mov.u64 %l, p; st.param.u32 [%l], 1; ret; }",
                [np.zeros(4)])  # fmt: skip


def test_a_32_bit_program_must_reach_all_memory() -> None:
    device = Device(OLD)
    device.memory.allocate(1 << 32)
    with pytest.raises(UserError, match="addresses have 32 bits, device memory is in use up to 0x1"):
        device.launch("_Z6kernelPi", [0x1000_0000, 0])


# adds 1 to a place of a local array not yet written, and stores it
LOCAL_SUM = """
.visible .entry k(.param .u64 out) {
    .local .align 8 .b8 room[1024]; .reg .b64 %d<9>; .reg .b32 %r<9>;
    mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4; ld.param.u64 %d2, [out]; add.u64 %d3, %d2, %d1;
    ld.local.u32 %r2, [room+512]; add.u32 %r2, %r2, 1; st.local.u32 [room+512], %r2;
    st.global.u32 [%d3], %r2; ret;
}
"""


@BACKENDS
def test_local_memory_is_given_back(backend: str) -> None:
    """A launch leaves as much memory as it found, and finds its local memory empty."""
    device = Device(HEADER + LOCAL_SUM)
    data = device.buffer(np.zeros(64, np.uint32))
    sizes = []
    for _ in range(3):
        device.launch("k", [data], block=64, backend=backend)
        sizes.append(device.memory.used_bytes)
        assert np.array_equal(data.array, np.ones(64))
    assert len({b - a for a, b in pairwise(sizes)}) == 1
    assert sizes[2] - sizes[1] < 64 * 1024


def test_what_is_lent_between_allocations_is_lent_again() -> None:
    memory = DeviceMemory()
    first = memory.lend(100_000, "local memory")
    memory.view(first, np.uint8, 100_000)[:] = 7
    memory.allocate(64)
    memory.give_back(first)
    assert memory.lend(90_000, "local memory") == first
    assert not memory.view(first, np.uint8, 90_000).any()
    assert memory.allocations == sorted(memory.allocations)


INFERRED = """.version VERSION\n.target TARGET\n.address_size 64
SPACE .align 4 .b8 room[256];
.visible .entry k(.param .u64 out) {
    .reg .b32 %r<9>; .reg .b64 %d<9>; SPACE .u32 own[4];
    ld.param.u64 %d1, [out]; mov.u32 %r1, 7; st.u32 [room+4], %r1; ld.u32 %r2, [room+4];
    add.u32 %r2, %r2, 1; st.u32 [own+8], %r2; ld.u32 %r3, [own+8]; st.global.u32 [%d1], %r3; ret;
}
"""


@BACKENDS
@pytest.mark.parametrize(("space", "version", "target"), [(".shared", "7.8", "sm_75"), (".local", "2.3", "sm_20")])
def test_an_address_says_its_space_by_the_variable_that_it_names(
    backend: str, space: str, version: str, target: str
) -> None:
    text = INFERRED.replace("SPACE", space).replace("VERSION", version).replace("TARGET", target)
    assert run_kernel(text, "k", [np.zeros(1, np.uint32)], backend=backend)[0][0] == 8
