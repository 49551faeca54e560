"""ldmatrix, stmatrix, movmatrix and wmma between memory and registers, and whole products by wmma."""

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from tests.tracer.harness import execution
from tests.tracer.harness.execution import both, execute

RANDOM = np.random.default_rng(11)
ROW = 16


def rows_kernel(body: str) -> str:
    """[%rd1] is 512 bytes of input, copied to shared memory m; results of four words go to [%rd2]."""
    return f""".visible .entry k(.param .u64 input, .param .u64 result) {{
    .reg .b64 %rd<9>; .reg .b32 %r<20>; .reg .u32 %t, %at, %s; .shared .align 16 .b8 m[512];
    mov.u32 %t, %tid.x; ld.param.u64 %rd1, [input]; ld.param.u64 %rd2, [result];
    mul.wide.u32 %rd3, %t, 16; add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3;
    ld.global.v4.b32 {{%r1, %r2, %r3, %r4}}, [%rd1]; mov.u32 %s, m; shl.b32 %at, %t, 4; add.u32 %at, %at, %s;
    {body} ret; }}"""


LOAD = "st.shared.v4.b32 [%at], {%r1, %r2, %r3, %r4}; bar.sync 0;"
STORE = "st.global.v4.b32 [%rd2], {%r11, %r12, %r13, %r14};"


def fragment_of(matrices: np.ndarray, transposed: bool) -> np.ndarray:
    """Registers [lane, matrix] of matrices uint16[count, 8, 8]: lane 4 r + c holds 2 c and 2 c + 1 of row r."""
    if transposed:
        matrices = matrices.transpose(0, 2, 1)
    pairs = np.ascontiguousarray(matrices).view(np.uint32)
    return pairs.reshape(len(matrices), 32).T


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("space", [".shared", ".shared::cta", ""])
def test_rows_become_a_fragment(count: int, transposed: bool, space: str) -> None:
    names = ", ".join(f"%r{11 + k}" for k in range(count))
    address = "%at" if space else "%rd4"
    generic = "" if space else "cvta.shared.u64 %rd5, m; mul.wide.u32 %rd4, %t, 16; add.s64 %rd4, %rd4, %rd5;"
    if generic:
        generic = generic.replace("cvta.shared.u64 %rd5, m;", "mov.u64 %rd5, m; cvta.shared.u64 %rd5, %rd5;")
    opcode = f"ldmatrix.sync.aligned.m8n8.x{count}{'.trans' if transposed else ''}{space}.b16"
    text = rows_kernel(f"{LOAD} {generic} {opcode} {{{names}}}, [{address}]; {STORE}")
    matrices = RANDOM.integers(0, 1 << 16, (4, 8, 8)).astype(np.uint16)
    out = both(text, [matrices, np.zeros((32, 4), np.uint32)])
    assert np.array_equal(out.buffers[1][:, :count], fragment_of(matrices, transposed)[:, :count])


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_a_fragment_becomes_rows(count: int, transposed: bool) -> None:
    names = ", ".join(f"%r{1 + k}" for k in range(count))
    opcode = f"stmatrix.sync.aligned.m8n8.x{count}{'.trans' if transposed else ''}.shared.b16"
    body = f"{opcode} [%at], {{{names}}}; bar.sync 0; ld.shared.v4.b32 {{%r11, %r12, %r13, %r14}}, [%at]; {STORE}"
    matrices = RANDOM.integers(0, 1 << 16, (4, 8, 8)).astype(np.uint16)
    fragment = np.ascontiguousarray(fragment_of(matrices, transposed))
    out = both(rows_kernel(body), [fragment, np.zeros((32, 4), np.uint32)])
    wanted = matrices.copy()
    wanted[count:] = 0
    assert np.array_equal(out.buffers[1].reshape(-1).view(np.uint16), wanted.reshape(-1))


def test_a_matrix_is_transposed_in_registers() -> None:
    body = "movmatrix.sync.aligned.m8n8.trans.b16 %r11, %r1; mov.b32 %r12, 0; mov.b32 %r13, 0; mov.b32 %r14, 0;"
    matrix = RANDOM.integers(0, 1 << 16, (1, 8, 8)).astype(np.uint16)
    given = np.zeros((32, 4), np.uint32)
    given[:, 0] = fragment_of(matrix, False)[:, 0]
    out = both(rows_kernel(body + STORE), [given, np.zeros((32, 4), np.uint32)])
    assert np.array_equal(out.buffers[1][:, 0], fragment_of(matrix, True)[:, 0])


def test_rows_are_recorded_once_per_lane() -> None:
    opcode = "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r11, %r12}, [%at];"
    out = execute(rows_kernel(LOAD + opcode), [np.zeros((32, 4), np.uint32), np.zeros((32, 4), np.uint32)])
    instructions, accesses = out.sink.table("instructions"), out.sink.table("accesses")
    number = np.flatnonzero(np.char.startswith(instructions["opcode"].astype(str), "ldmatrix"))[0]
    assert instructions["operation_class"][number] == "load"
    assert instructions["memory_space"][number] == "shared"
    assert instructions["access_bytes"][number] == ROW
    row = np.flatnonzero(accesses["instruction_id"] == number)[0]
    start = accesses["address_offset"][row]
    assert np.array_equal(accesses["address"][start : start + 32], 16 * (np.arange(32) % 16))


SIZES = {"f16": 2, "bf16": 2, "tf32": 4, "f64": 8, "s8": 1, "u8": 1, "f32": 4, "s32": 4}


def wmma_kernel(shape: str, layouts: tuple[str, str, str], kinds: tuple[str, str], counts: tuple[int, ...],
                strides: tuple[int, ...], space: str) -> str:  # fmt: skip
    """D = A x B + C by wmma; C and D are [m][n] in the layout ``layouts[2]``."""
    kind, accumulator = kinds
    width = "b64" if kind == "f64" else "b32"
    wide = "b64" if accumulator == "f64" else "b32"
    lists = {
        n: "{" + ", ".join(f"%{n}{k}" for k in range(c)) + "}"
        for n, c in zip("abcd", (*counts, counts[2]), strict=True)
    }
    types = f"{accumulator}.{kind}.{kind}.{accumulator}" if kind != "f16" else f"{accumulator}.{accumulator}"
    pointers = "".join(f"ld.param.u64 %rd{k}, [p{n}];" for k, n in enumerate("abcd", 1))
    loads = "".join(
        f"wmma.load.{n}.sync.aligned.{layout}.{shape}{space}.{k} {lists[n]}, [%rd{number}], {stride};"
        for number, (n, layout, k, stride) in enumerate(
            zip("abc", layouts, (kind, kind, accumulator), strides, strict=True), 1
        )
    )
    return f""".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd) {{
    .reg .b64 %rd<9>; .reg .{width} %a<8>, %b<8>; .reg .{wide} %c<8>, %d<8>; {pointers} {loads}
    wmma.mma.sync.aligned.{layouts[0]}.{layouts[1]}.{shape}.{types}
        {lists["d"]}, {lists["a"]}, {lists["b"]}, {lists["c"]};
    wmma.store.d.sync.aligned.{layouts[2]}.{shape}{space}.{accumulator} [%rd4], {lists["d"]}, {strides[2]}; ret; }}"""


WMMA = [
    ("m16n16k16", "f16", "f32", (8, 8, 8)), ("m16n16k16", "f16", "f16", (8, 8, 4)),
    ("m8n32k16", "f16", "f32", (8, 8, 8)), ("m32n8k16", "f16", "f16", (8, 8, 4)),
    ("m16n16k16", "bf16", "f32", (4, 4, 8)), ("m8n32k16", "bf16", "f32", (2, 8, 8)),
    ("m32n8k16", "bf16", "f32", (8, 2, 8)), ("m16n16k8", "tf32", "f32", (4, 4, 8)), ("m8n8k4", "f64", "f64", (1, 1, 2)),
    ("m16n16k16", "s8", "s32", (2, 2, 8)), ("m8n32k16", "u8", "s32", (1, 4, 8)), ("m32n8k16", "s8", "s32", (4, 1, 8)),
]  # fmt: skip


def values_of(kind: str, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Random elements as they lie in memory, and their values in float64."""
    if kind in ("s8", "u8"):
        raw = RANDOM.integers(0, 256, shape).astype(np.uint8).view(np.int8 if kind == "s8" else np.uint8)
        return raw, raw.astype(np.float64)
    values = RANDOM.integers(-64, 64, shape) / 16.0
    if kind == "f16":
        return values.astype(np.float16), values
    if kind == "f64":
        return values, values
    single = values.astype(np.float32)
    return ((single.view(np.uint32) >> 16).astype(np.uint16) if kind == "bf16" else single), values


def test_the_first_wmma_had_no_aligned(monkeypatch: pytest.MonkeyPatch) -> None:
    """PTX 6.0 wrote wmma.load.a.sync.row.m16n16k16.f16."""
    monkeypatch.setattr(execution, "HEADER", ".version 6.0\n.target sm_70\n.address_size 64\n")
    text = wmma_kernel("m16n16k16", ("row", "col", "row"), ("f16", "f32"), (8, 8, 8), (16, 16, 16), ".global")
    identity = np.eye(16, dtype=np.float16)
    b = np.arange(256).reshape(16, 16).astype(np.float16)
    zeros = np.zeros((16, 16), np.float32)
    out = both(text.replace(".aligned", ""), [identity, b, zeros, zeros])
    assert np.array_equal(out.buffers[3], b.T)


@pytest.mark.parametrize(("shape", "kind", "accumulator", "counts"), WMMA)
@pytest.mark.parametrize("layouts", [("row", "col", "row"), ("col", "row", "col")])
def test_products_of_whole_matrices(
    shape: str, kind: str, accumulator: str, counts: tuple[int, ...], layouts: tuple[str, str, str]
) -> None:
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    sizes = (int(m), int(k)), (int(k), int(n)), (int(m), int(n))
    raw_a, a = values_of(kind, sizes[0])
    raw_b, b = values_of(kind, sizes[1])
    c = RANDOM.integers(-100, 100, sizes[2]).astype(
        {"s32": np.int32, "f64": np.float64, "f16": np.float16}.get(accumulator, np.float32)
    )
    strides = [size[1 if layout == "row" else 0] + 16 for size, layout in zip(sizes, layouts, strict=True)]
    memory = [
        strided(raw, layout, stride) for raw, layout, stride in zip((raw_a, raw_b, c), layouts, strides, strict=True)
    ]
    text = wmma_kernel(shape, layouts, (kind, accumulator), counts, tuple(strides), ".global")
    out = both(text, [*memory, np.zeros_like(memory[2])])
    wanted = (a @ b + c).astype(c.dtype)
    lines = out.buffers[3][:, : sizes[2][1 if layouts[2] == "row" else 0]]
    assert np.array_equal(lines if layouts[2] == "row" else lines.T, wanted)
    assert np.array_equal(out.buffers[3][:, lines.shape[1] :], np.zeros_like(memory[2])[:, lines.shape[1] :])


def strided(matrix: np.ndarray, layout: str, stride: int) -> np.ndarray:
    """Rows, or columns, ``stride`` elements apart."""
    lines = matrix if layout == "row" else matrix.T
    made = np.zeros((lines.shape[0], stride), matrix.dtype)
    made[:, : lines.shape[1]] = lines
    return made


def test_bits_and_nibbles() -> None:
    """wmma of sub-byte types: A by rows and B by columns."""
    a, b = RANDOM.integers(0, 2, (8, 128)), RANDOM.integers(0, 2, (128, 8))
    rows = np.packbits(a, axis=1, bitorder="little").view(np.uint32)
    columns = np.ascontiguousarray(np.packbits(b.T, axis=1, bitorder="little")).view(np.uint32)
    c = RANDOM.integers(0, 9, (8, 8)).astype(np.int32)
    text = wmma_kernel("m8n8k128", ("row", "col", "row"), ("b1", "s32"), (1, 1, 2), (128, 128, 8), ".global")
    text = text.replace("wmma.mma.sync", "wmma.mma.xor.popc.sync")
    out = both(text, [rows, columns, c, np.zeros_like(c)])
    assert np.array_equal(out.buffers[3], (a[:, :, None] ^ b[None]).sum(1) + c)
    a, b = RANDOM.integers(-8, 8, (8, 32)), RANDOM.integers(-8, 8, (32, 8))
    nibbles = [np.ascontiguousarray((m[:, ::2] & 15 | (m[:, 1::2] & 15) << 4).astype(np.uint8)) for m in (a, b.T)]
    text = wmma_kernel("m8n8k32", ("row", "col", "row"), ("s4", "s32"), (1, 1, 2), (32, 32, 8), ".global")
    out = both(text, [*nibbles, c, np.zeros_like(c)])
    assert np.array_equal(out.buffers[3], a @ b + c)


def test_shares_of_a_matrix_are_recorded() -> None:
    """The 32 shares cover each row's bytes, in memory order."""
    text = wmma_kernel("m16n16k16", ("row", "col", "row"), ("f16", "f32"), (8, 8, 8), (24, 16, 16), ".global")
    buffers = [np.zeros((16, 24), np.float16), np.zeros((16, 16), np.float16), *[np.zeros((16, 16), np.float32)] * 2]
    out = execute(text, buffers)
    instructions, accesses = out.sink.table("instructions"), out.sink.table("accesses")
    assert instructions["access_bytes"][accesses["instruction_id"]].tolist() == [16, 16, 32, 32]
    addresses = accesses["address"][:32] - accesses["address"][0]
    assert np.array_equal(addresses, [48 * (lane // 2) + 16 * (lane % 2) for lane in range(32)])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r11, %r12}, [%at];", "2 registers, which must be 4"),
        ("ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32 {%r11}, [%at];", "does not know ldmatrix"),
        (
            "add.u32 %at, %at, 4; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r11}, [%at];",
            "not allocated or not aligned",
        ),
        (
            "add.u32 %at, %at, 512; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%at], {%r11};",
            "not allocated or not aligned",
        ),
        ("wmma.load.a.sync.aligned.row.m16n16k8.f16 {%r11, %r12}, [%rd1], 16;", "does not know wmma"),
    ],
)
def test_what_fragments_do_not_do(body: str, message: str) -> None:
    for backend in ("machine", "interpreter"):
        with pytest.raises(UserError, match=message):
            execute(rows_kernel(body), [np.zeros((32, 4), np.uint32), np.zeros((32, 4), np.uint32)], backend)
