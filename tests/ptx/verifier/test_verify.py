"""Verification: each mistake has its sentence and place; what ptxas refuses is refused, what it takes is taken."""

import re
import shutil
import subprocess

import pytest

from rayplay.ptx.text.parser import parse, parse_file
from rayplay.ptx.text.printer import print_module
from rayplay.ptx.verifier.code import verify

PTXAS = shutil.which("ptxas")
needs_ptxas = pytest.mark.skipif(PTXAS is None, reason="ptxas is not installed: its verdict cannot be compared")

BROKEN = [
    ("add.s32 %r1, %r2;", "add.s32 needs 3 operands, not 2"),
    ("add.s32 %r1, %r2, %rd1;", "'%rd1' must be a .s32 register, it is .b64"),
    ("add.f32 %f1, %f2, %fd1;", "'%fd1' must be a .f32 register, it is .f64"),
    ("add.s32 %r1, %f2, %r3;", "'%f2' must be a .s32 register, it is .f32"),
    ("add.s32 5, %r2, %r3;", "the destination must be a register, not a constant"),
    ("add.s32 %p1, %r2, %r3;", "'%p1' must be a .s32 register, it is .pred"),
    ("mul.wide.u32 %r1, %r2, %r3;", "'%r1' must be a .u64 register, it is .b32"),
    ("setp.eq.s32 %r1, %r2, %r3;", "'%r1' must be a .pred register, it is .b32"),
    ("selp.b32 %r1, %r2, %r3, %r4;", "'%r4' must be a .pred register, it is .b32"),
    ("@%r1 ret;", "'%r1' must be a .pred register, it is .b32"),
    ("add.s32 %r1, %r99, %r3;", "register '%r99' is not declared"),
    ("mov.u64 %rd1, nowhere;", "'nowhere' is neither a register nor a variable"),
    ("bra NOWHERE;", "'NOWHERE' is not a label of the function"),
    ("ld.global.u32 %r1, %rd1;", "ld.global.u32 needs an address in [..], not register '%rd1'"),
    ("add.s32 %r1, [%rd1], 2;", "an operand in [..] belongs to loads, stores and atomics"),
    ("ld.global.v2.f32 {%f1, %f2, %f3}, [%rd1];", "ld.global.v2.f32 needs 2 registers in {..}, not 3"),
    ("mov.b64 {%r1, %rd2}, %rd1;", "the registers in {..} hold 96 bits, the type .b64 has 64"),
    ("ld.global.u64 %r1, [%rd1];", "'%r1' must be a .u64 register, it is .b32"),
    ("ld.global.u64 %rd1, [k_param_0];", "'k_param_0' is in .param, but ld.global.u64 accesses .global"),
    ("shl.b64 %rd1, %rd2, %rd3;", "'%rd3' must be a .u32 register, it is .b64"),
    ("ad.s32 %r1, %r2, %r3;", "opcode 'ad.s32' is not known (did you mean"),
    ("add %r1, %r2, %r3;", "add needs a type"),
    ("call (%r1), nothing, (%r2);", "function 'nothing' is not declared"),
    ("add.uni.s32 %r1, %r2, %r3;", "'.uni' is no modifier of add"),
    ("cvt.s32.f32 %r1, %f1;", "cvt.s32.f32 needs one of .rni, .rzi, .rmi, .rpi"),
    ("mul.s32 %r1, %r2, %r3;", "mul.s32 needs one of .lo, .hi"),
    ("add.rn.rz.f32 %f1, %f2, %f3;", "'.rz' does not go with the rest"),
    ("mov.f32 %f1, 1;", "mov.f32 reads a .f32, which an integer constant is not"),
    ("add.u32 %r1, %tid.x, 1;", "add.u32 cannot read special register '%tid'; mov can"),
    ("mov.u32 %r1, %tid;", "'%tid' has components .x, .y and .z"),
    ("mov.u32 %r1, %clock64;", "'%clock64' holds 64 bits of an integer, mov.u32 reads a .u32"),
    ("ld.global.u32 %r1, [16];", "ld.global.u32 cannot access a constant address"),
    ("ld.global.u32 %r1, [%f1];", "'%f1' is a .f32 register, which holds no address"),
    ("add.s32 _, %r1, %r2;", "the result of add.s32 cannot be discarded"),
    ("vote.any.pred %p1, %p2;", "vote.any.pred needs '.sync' since .version 6.4"),
    ("ld.volatile.const.u32 %r1, [%rd1];", "no form of ld"),
    ("atom.global.add.s64 %rd1, [%rd2], %rd3;", "no form of atom"),
    ("mov.u32 %r1, %rd1;", "'%rd1' must be a .u32 register, it is .b64"),
    ("lop3.b32 %r1, %r2, %r3, %r4, %r5;", "needs an integer constant here, not register '%r5'"),
    ("call (%r1), %rd1, (%r2);", "an indirect call needs a .callprototype"),
    ("l: .branchtargets A; brx.idx %r1, l; ret;", "'l' lists 'A', which is not a label of the function"),
]  # fmt: skip
OPTIX_BROKEN = [
    ("call (%r1), _optix_get_launch_index_w, ();", "not a known function of the OptiX interface (did you mean"),
    ("call (%r1, %r2), _optix_get_launch_index_x, ();", "has 1 results, the call gives 2"),
    ("call (%rd1), _optix_get_launch_index_x, ();", "takes 32 bits where '%rd1' has 64"),
    ("call (%f1), _optix_get_launch_index_x, ();", "takes a .u32 where '%f1' is a .f32"),
    ("call (%fd1), _optix_get_sbt_data_ptr_64, ();", "takes a .u64 where '%fd1' is a .f64"),
    ("call (%p1), _optix_get_launch_index_x, ();", "takes 32 bits where '%p1' has 8"),
    ("{ .reg .u32 %w; call (%w), _optix_get_ray_tmin, (); }", "takes a .f32 where '%w' is a .u32"),
    ("call (5), _optix_get_launch_index_x, ();", "gives its results to registers"),
    ("call (%r1), _optix_get_payload, (32);", "takes 0 to 31 as argument 0, not 32"),
    ("call _optix_set_payload, (-1, %r1);", "takes 0 to 31 as argument 0, not -1"),
    ("call (%r1), _optix_get_payload, (0f3F800000);", "takes a .u32 as argument 0"),
    ("call (%r1), _optix_get_payload, (%f1);", "takes a .u32 where '%f1' is a .f32"),
    ("call (%r1), _optix_get_payload, (4294967296);", "takes a .u32 as argument 0"),
    ("call (%r1), _optix_report_intersection_0, (1, 0);", "takes a .f32 as argument 0"),
]  # fmt: skip
VALID = [
    "ld.global.u8 %r1, [%rd1];", "st.global.u16 [%rd1], %r1;", "cvt.u8.u32 %rs1, %r1;", "mov.b32 %r1, %f1;",
    "add.u64 %rd1, %rd2, 8;", "mov.b64 {%r1, %r2}, %rd1;", "setp.ne.and.b64 %p1, %rd1, 0, !%p2;",
    "mov.u32 %r1, %tid.x;",
    "mad.wide.s32 %rd1, %r1, %r2, %rd3;", "shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;", "xor.pred %p1, %p2, %p3;",
    "lop3.b32 %r1, %r2, %r3, %r4, 0x80;", "atom.global.add.f32 %f1, [%rd1], %f2;", "bar.sync 0;", "popc.b64 %r1, %rd1;",
    "mul.wide.u16 %r1, %rs1, %rs2;", "vote.sync.ballot.b32 %r1, %p1, -1;", "bfe.u64 %rd1, %rd2, %r1, %r2;",
    "set.lt.u32.f32 %r1, %f1, %f2;", "slct.f32.s32 %f1, %f2, %f3, %r1;", "fma.rn.f64 %fd1, %fd2, %fd3, %fd4;",
    "bfind.shiftamt.u64 %r1, %rd1;", "prmt.b32 %r1, %r2, %r3, 0x3210;", "cvt.rn.f16.f32 %rs1, %f1;",
    "fma.rn.f16x2 %r1, %r2, %r3, %r4;", "activemask.b32 %r1;", "match.any.sync.b64 %r1, %rd1, -1;",
    "isspacep.shared %p1, %rd1;",
    "copysign.f32 %f1, %f2, %f3;", "bar.red.popc.u32 %r1, 0, %p1;", "nanosleep.u32 32;",
    "dp4a.s32.s32 %r1, %r2, %r3, %r4;",
]  # fmt: skip


@pytest.mark.parametrize(("body", "sentence"), BROKEN + OPTIX_BROKEN, ids=[b for b, _ in BROKEN + OPTIX_BROKEN])
def test_mistakes_have_a_place_and_a_sentence(wrap, body, sentence) -> None:
    problems = [str(problem) for problem in verify(parse(wrap(body), "k.ptx"))]
    assert len(problems) == 1, problems
    assert re.match(r"k\.ptx:(12:\d+|4:1): ", problems[0])
    assert sentence in problems[0]


@pytest.mark.parametrize("body", VALID)
def test_valid_instructions(wrap, body) -> None:
    assert verify(parse(wrap(f"{body} ret;"), "k.ptx")) == []


@pytest.mark.parametrize("call", [
    "_optix_set_payload_0, (0f3F800000)", "_optix_set_payload, (1, 0f3F800000)", "_optix_set_payload, (1, %f1)",
    "_optix_throw_exception_1, (9, 0f3F800000)", "(%r1), _optix_report_intersection_1, (0f3F800000, 1, %f1)",
])  # fmt: skip
def test_words_of_calls_are_of_any_type(wrap, call: str) -> None:
    assert verify(parse(wrap(f"call {call}; ret;"), "k.ptx")) == []


def test_all_problems_in_the_order_of_the_text(wrap) -> None:
    problems = verify(parse(wrap("add.s32 %r1;\nbra A;\nadd.s32 %r1, %r77, %r78;"), "k.ptx"))
    assert [(p.position.line, p.message.split(",")[0]) for p in problems] == [
        (12, "add.s32 needs 3 operands"), (13, "'A' is not a label of the function"),
        (14, "register '%r77' is not declared"), (14, "register '%r78' is not declared"),
    ]  # fmt: skip


def ptxas_accepts(path) -> bool:
    run = subprocess.run([PTXAS, "-arch=sm_75", str(path), "-o", "/dev/null"], capture_output=True, check=False)
    return run.returncode == 0


@needs_ptxas
def test_ptxas_takes_every_valid_instruction(wrap, tmp_path) -> None:
    path = tmp_path / "valid.ptx"
    path.write_text(wrap("\n".join(VALID) + "\nret;"))
    assert ptxas_accepts(path)


@needs_ptxas
@pytest.mark.parametrize("body", [body for body, _ in BROKEN])
def test_ptxas_refuses_every_broken_instruction(wrap, tmp_path, body) -> None:
    path = tmp_path / "broken.ptx"
    path.write_text(wrap(f"{body} ret;"))
    assert not ptxas_accepts(path)


@needs_ptxas
@pytest.mark.parametrize("name", ["compute", "compute_plain"])
def test_ptxas_takes_what_is_printed(name, data_folder, tmp_path) -> None:
    path = tmp_path / "printed.ptx"
    path.write_text(print_module(parse_file(data_folder / f"{name}.ptx")))
    assert ptxas_accepts(path)


@pytest.mark.parametrize(("version", "problems"), [("6.0", 0), ("6.2", 0), ("6.3", 1)])
def test_wmma_has_needed_aligned_since_6_3(version: str, problems: int) -> None:
    registers = "{" + ", ".join(f"%r{k}" for k in range(8)) + "}"
    text = f""".version {version}
.target sm_70
.address_size 64
.visible .entry k(.param .u64 p) {{ .reg .b32 %r<8>; .reg .b64 %rd; ld.param.u64 %rd, [p];
wmma.load.a.sync.row.m16n16k16.f16 {registers}, [%rd], 16; ret; }}"""
    assert len(verify(parse(text, "wmma.ptx"))) == problems
