"""Errors that stop a launch: one line naming kernel, place and value."""

import numpy as np
import pytest

from rayplay import ptx
from rayplay.formats.guard.errors import UserError
from rayplay.tracer.api import Device, run_kernel
from tests.tracer.harness.execution import HEADER, execute

FRAME = """
.visible .entry test(.param .u64 out)
{{
    .reg .pred %p<4>;
    .reg .b32 %r<8>;
    .reg .b64 %l<8>;
    ld.param.u64 %l1, [out];
    mov.u32 %r1, %tid.x;
    {body}
    ret;
}}
"""
ERRORS = {
    "outside": ("mul.wide.u32 %l2, %r1, 65536; add.u64 %l1, %l1, %l2; st.global.u32 [%l1], %r1;",
                r"test: test\.ptx:\d+: st\.global\.u32: lane 1 accesses 0x\w+, which is not allocated or not aligned"),
    "null": ("mov.u64 %l2, 0; ld.global.u32 %r2, [%l2+4]; st.global.u32 [%l1], %r2;", "lane 0 accesses 0x4, which"),
    "misaligned": ("ld.global.u32 %r2, [%l1+2]; st.global.u32 [%l1], %r2;", "lane 0 accesses 0x10000002, which"),
    "vector": ("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%l1+8]; st.global.u32 [%l1], %r2;",
               "lane 0 accesses 0x10000008"),
    "shared": ("st.shared.u32 [%r1], %r1;", "lane 0 accesses 0x0, which"),
    "trap": ("setp.eq.u32 %p1, %r1, 5; @%p1 trap;", "lane 5 stops the program"),
    "deadlock": ("setp.lt.u32 %p1, %r1, 32; @%p1 bra one; bar.sync 1; ret; one: bar.sync 2;",
                 "no warp of the CTA can go on"),
}  # fmt: skip
UNKNOWN = {
    "opcode": ("movmatrix.sync.aligned.m8n8.trans.b8 %r2, %r1;", r"test\.ptx:\d+:\d+: the executor does not know movm"),
    "modifier": ("add.sat.u32 %r2, %r1, 1;", r"test\.ptx:\d+:\d+: the executor does not know add\.sat\.u32"),
    "out of bounds": (".reg .b16 %h<3>; fma.rn.oob.f16 %h1, %h1, %h2, %h2;", r"does not know fma\.rn\.oob\.f16"),
    "carry": ("addc.u32 %r2, %r1, 1;", r"does not know addc\.u32 without an instruction with \.cc before it"),
    "call": ("call (%r2), _optix_get_transform_list_size, ();", r"_optix_get_transform_list_size needs a scene"),
    "getter": ("call (%r2), _optix_read_instance_id, ();", r"test\.ptx:\d+:\d+: _optix_read_instance_id needs a scene"),
    "filter": ("filter_shader %r2;", r"test\.ptx:\d+:\d+: filter_shader needs a scene or pixels"),
    "register": ("mov.u32 %r2, %ctaid;", "does not know the special register %ctaid"),
}  # fmt: skip


@pytest.mark.parametrize("backend", ["machine", "interpreter"])
@pytest.mark.parametrize("name", ERRORS)
def test_a_launch_that_goes_wrong_says_where(name: str, backend: str) -> None:
    body, message = ERRORS[name]
    with pytest.raises(UserError, match=message):
        execute(FRAME.format(body=body), [np.zeros(64, np.uint32)], backend, block=(64, 1, 1))


@pytest.mark.parametrize("backend", ["machine", "interpreter"])
@pytest.mark.parametrize("name", UNKNOWN)
def test_what_the_executor_lacks_is_named_before_anything_runs(name: str, backend: str) -> None:
    body, message = UNKNOWN[name]
    with pytest.raises(UserError, match=message):
        execute(FRAME.format(body=body), [np.zeros(64, np.uint32)], backend)


def test_recursion_without_an_end_is_an_error() -> None:
    text = """
.func deeper(.param .b32 n)
{
    .reg .b32 %r<2>;
    .local .align 8 .b8 depot[32];
    ld.param.u32 %r1, [n];
    st.local.u32 [depot], %r1;
    {
        .param .b32 more;
        st.param.b32 [more], %r1;
        call.uni deeper, (more);
    }
    ret;
}
.visible .entry test(.param .u64 out)
{
    {
        .param .b32 n;
        st.param.b32 [n], 3;
        call.uni deeper, (n);
    }
    ret;
}
"""
    for backend in ("machine", "interpreter"):
        with pytest.raises(UserError, match="calls are nested too deep"):
            execute(text, [np.zeros(4, np.uint32)], backend)


def test_arguments_that_do_not_fit_the_entry() -> None:
    text = FRAME.format(body="")
    with pytest.raises(UserError, match="needs 1 parameters, 2 are given"):
        execute(text, [np.zeros(4, np.uint32), 5])
    with pytest.raises(UserError, match="test: out has 8 bytes, 4 are given"):
        execute(text, [5])
    with pytest.raises(UserError, match="backend must be one of machine, interpreter, not gpu"):
        execute(text, [np.zeros(4, np.uint32)], "gpu")


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (".reqnctapercluster 2", ".reqnctapercluster: clusters of more than one CTA are not executed"),
        (".reqnctapercluster 1, 2, 1", ".reqnctapercluster: clusters of more than one CTA are not executed"),
        (".explicitcluster", ".explicitcluster: clusters of more than one CTA are not executed"),
        (".explicitcluster .reqnctapercluster 1", ""),
    ],
)
def test_clusters_of_more_than_one_cta_are_refused(head: str, said: str) -> None:
    module = ptx.parse(f".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {head} {{ ret; }}", "c.ptx")
    if not said:
        Device(module).launch("k", [])
        return
    with pytest.raises(UserError, match=f"c.ptx:4: k has {said}"):
        Device(module).launch("k", [])


def test_dynamic_parallelism_is_refused_by_its_name() -> None:
    text = """.version 7.8\n.target sm_75\n.address_size 64
.extern .func (.param .b32 r) cudaLaunchDeviceV2 (.param .b64 a, .param .b64 b);
.visible .entry k() { { .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], 0; st.param.b64 [b], 0;
call (r), cudaLaunchDeviceV2, (a, b); } ret; }"""
    with pytest.raises(UserError, match=r"cudaLaunchDeviceV2 belongs to dynamic parallelism .*, which is not executed"):
        Device(text).launch("k", [])


def test_is_explicit_cluster_is_a_predicate() -> None:
    head = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out) {"
    body = """ .reg .b32 %r<3>; .reg .b64 %d<3>; .reg .pred %p<3>; ld.param.u64 %d1, [out];
        mov.pred %p1, %is_explicit_cluster; selp.u32 %r1, 5, 6, %p1; st.global.u32 [%d1], %r1; ret; }"""
    for backend in ("machine", "interpreter"):
        assert run_kernel(head + body, "k", [np.zeros(1, np.uint32)], backend=backend)[0][0] == 6
    with pytest.raises(UserError, match=r"'%is_explicit_cluster' is a predicate, mov.u32 reads a .u32"):
        Device(head + body.replace("mov.pred %p1", "mov.u32 %r1"))
    with pytest.raises(UserError, match=r"'%laneid' holds 32 bits of an integer, mov.pred reads a .pred"):
        Device(head + body.replace("%is_explicit_cluster", "%laneid"))


def test_a_label_has_no_address() -> None:
    with pytest.raises(UserError, match=r"mov.u64 cannot read the address of the label 'L'"):
        Device(HEADER + ".visible .entry k() { .reg .b64 %d; mov.u64 %d, L; L: ret; }")
