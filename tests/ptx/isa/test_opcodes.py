"""The opcode table: classes, memory, registers read and written; and the functions of the OptiX interface."""

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.formats.schema.trace import MEMORY_SPACES, OPERATION_CLASSES
from rayplay.ptx.isa.describe import describe
from rayplay.ptx.isa.optix import INTRINSICS

CASES = [
    # text, class, space, bytes, destinations, sources
    ("add.s32 %r1, %r2, 3;", "int", "none", 0, "%r1", "%r2"),
    ("@!%p1 add.f32 %f1, %f2, %f2;", "fp32", "none", 0, "%f1", "%p1 %f2"),
    ("fma.rn.f64 %fd1, %fd2, %fd3, %fd1;", "fp64", "none", 0, "%fd1", "%fd2 %fd3 %fd1"),
    ("fma.rn.f32x2 %rd1, %rd2, %rd3, %rd1;", "fp32", "none", 0, "%rd1", "%rd2 %rd3 %rd1"),
    ("mul.f16 %rs1, %rs2, %rs3;", "fp16", "none", 0, "%rs1", "%rs2 %rs3"),
    ("div.approx.ftz.f32 %f1, %f2, %f3;", "sfu", "none", 0, "%f1", "%f2 %f3"),
    ("rcp.rn.f64 %fd1, %fd2;", "fp64", "none", 0, "%fd1", "%fd2"),
    ("and.pred %p1, %p2, %p3;", "predicate", "none", 0, "%p1", "%p2 %p3"),
    ("setp.lt.or.f32 %p1|%p2, %f1, 0f00000000, !%p3;", "predicate", "none", 0, "%p1 %p2", "%f1 %p3"),
    ("ld.global.nc.v4.f32 {%f1, %f2, _, %f4}, [%rd1+16];", "load", "global", 16, "%f1 %f2 %f4", "%rd1"),
    ("ld.u64 %rd1, [%rd2];", "load", "generic", 8, "%rd1", "%rd2"),
    ("ld.volatile.shared.u8 %rs1, [%r2];", "load", "shared", 1, "%rs1", "%r2"),
    ("ld.shared::cta.b32 %r1, [%r2];", "load", "shared", 4, "%r1", "%r2"),
    ("ld.param.u64 %rd1, [k_param_0];", "constant", "param", 8, "%rd1", ""),
    ("ld.const.f32 %f1, [%rd1];", "constant", "const", 4, "%f1", "%rd1"),
    ("st.local.v2.b64 [%rd1], {%rd2, %rd3};", "store", "local", 16, "", "%rd1 %rd2 %rd3"),
    ("st.param.b32 [k_param_1], %r1;", "move", "param", 4, "", "%r1"),
    ("atom.global.cas.b64 %rd1, [%rd2], %rd3, %rd4;", "atomic", "global", 8, "%rd1", "%rd2 %rd3 %rd4"),
    ("red.shared.add.f32 [%r1], %f1;", "atomic", "shared", 4, "", "%r1 %f1"),
    ("mov.u32 %r1, %ntid.y;", "move", "none", 0, "%r1", ""),
    ("mov.b64 {%r1, %r2}, %rd1;", "move", "none", 0, "%r1 %r2", "%rd1"),
    ("cvt.rzi.s32.f32 %r1, %f1;", "convert", "none", 0, "%r1", "%f1"),
    ("shfl.sync.down.b32 %r1|%p1, %r2, %r3, 31, -1;", "shuffle", "none", 0, "%r1 %p1", "%r2 %r3"),
    ("vote.sync.ballot.b32 %r1, !%p1, %r2;", "shuffle", "none", 0, "%r1", "%p1 %r2"),
    ("bar.warp.sync %r1;", "other", "none", 0, "", "%r1"), ("bar.sync 0;", "barrier", "none", 0, "", ""),
    ("bar.red.popc.u32 %r1, 0, %p1;", "barrier", "none", 0, "%r1", "%p1"),
    ("membar.gl;", "fence", "none", 0, "", ""),
    ("tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];", "texture", "texture", 16, "%f1 %f2 %f3 %f4",
     "%rd1 %f5 %f6"),
    ("bra DONE;", "branch", "none", 0, "", ""), ("ret;", "exit", "none", 0, "", ""),
    ("filter_shader %r1;", "runtime", "none", 0, "%r1", ""),
    ("call (%r1), _optix_trace_1, (%rd1, %f1);", "trace", "none", 0, "%r1", "%rd1 %f1"),
    ("call (%r1), _optix_get_launch_index_x, ();", "runtime", "none", 0, "%r1", ""),
    ("@%p1 call (%r1), f, (%r2);", "branch", "none", 0, "%r1", "%p1 %r2"),
    ("call (%r1), %rd1, (%r2), p;", "branch", "none", 0, "%r1", "%rd1 %r2"),
    ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2}, %rd1, %rd2, %p1, 1, 1, 0, 0;", "matrix", "none", 0,
     "%f1 %f2", "%f1 %f2 %rd1 %rd2 %p1"),
    ("vmad.s32.s32.s32 %r1, %r2, -%r3, %r4;", "int", "none", 0, "%r1", "%r2 %r3 %r4"),
    ("tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}|%p1, [%rd1, {%f5, %f6}];", "texture", "texture", 16,
     "%f1 %f2 %f3 %f4 %p1", "%rd1 %f5 %f6"),
    ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f1};", "matrix", "none", 0, "%f1",
     "%r1 %r2 %f1"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_descriptions(kernel, case) -> None:
    text, operation_class, space, size, destinations, sources = case
    function = kernel(f"{text} DONE: ret;")
    made = describe(function.body[0], function)
    assert (made.operation_class, made.memory_space, made.access_bytes) == (operation_class, space, size)
    assert made.destinations == tuple(destinations.split())
    assert made.sources == tuple(sources.split())


def test_vector_registers_are_their_components(kernel) -> None:
    function = kernel(".reg .v4 .f32 %v; add.f32 %v.w, %v.x, %v.g; tex.2d.v4.f32.f32 %v, [%rd1, {%f5, %f6}]; ret;")
    assert describe(function.body[0], function).destinations == ("%v.w",)
    assert describe(function.body[0], function).sources == ("%v.x", "%v.y")
    assert describe(function.body[1], function).destinations == ("%v.x", "%v.y", "%v.z", "%v.w")


def test_an_unknown_opcode_is_kept_and_named_when_its_meaning_is_needed(kernel) -> None:
    function = kernel("warpfold.sync.aligned %r1, [%rd1]; ret;")
    assert function.body[0].text == "warpfold.sync.aligned %r1, [%rd1];"
    with pytest.raises(UserError, match=r"^line 12: opcode 'warpfold.sync.aligned' of function 'k' is not one that"):
        describe(function.body[0], function)


def test_compiled_programs_are_described(program) -> None:
    for function in program.functions.values():
        for instruction in function.body:
            made = describe(instruction, function)
            assert made.operation_class in OPERATION_CLASSES
            assert made.memory_space in MEMORY_SPACES
            assert {*made.destinations, *made.sources} <= function.registers.keys()


def test_signatures_of_the_interface() -> None:
    trace = INTRINSICS["_optix_trace_typed_32"]
    assert (len(trace.inputs), len(trace.outputs)) == (49, 32)
    assert trace.inputs[:12] == "ulfffffffffu"
    assert (trace.operation_class, trace.ends_block) == ("trace", True)
    assert INTRINSICS["_optix_trace_2"].inputs == "l" + "f" * 9 + "u" * 5 + "uu"
    assert INTRINSICS["_optix_report_intersection_3"].inputs == "fuuuu"
    assert not INTRINSICS["_optix_ignore_intersection"].returns
    assert not INTRINSICS["_optix_get_payload"].ends_block
    assert sum(i.tier == 1 for i in INTRINSICS.values()) >= 66
    assert sum(i.tier <= 2 for i in INTRINSICS.values()) >= 83
    assert {i.tier for i in INTRINSICS.values()} == {1, 2, 3, 4, 5, 6, 7}
