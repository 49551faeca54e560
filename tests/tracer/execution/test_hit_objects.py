"""Hit objects, callables and exceptions of OptiX's interface: what they do, and the same on both backends."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.formats.schema import trace as schema
from rayplay.tracer.meaning import optix
from rayplay.tracer.scenes.description import IDENTITY
from tests.tracer.harness.optix_programs import SET_RAY, both, call, prepare, program, scene, store, trace, words_of

MISSES = "".join(
    program(
        f"miss number{k}",
        f"call (%r4), _optix_get_payload, (0); add.u32 %r4, %r4, {1000 * (k + 1)}; call _optix_set_payload, (0, %r4);",
    )
    for k in range(2)
)
HIT = program(
    "closesthit",
    """
    call (%l4), _optix_get_sbt_data_ptr_64, ();
    ld.u32 %r4, [%l4];
    call (%r5), _optix_get_payload, (0);
    add.u32 %r4, %r4, %r5;
    call _optix_set_payload, (0, %r4);
    call (%f6), _optix_get_ray_tmax, ();
    mov.b32 %r6, %f6;
    call _optix_set_payload, (1, %r6);
""",
)
BOUND = """
[[miss]]
program = "__miss__number0"
[[miss]]
program = "__miss__number1"
record = [{ name = "mark", type = "u32", value = 77 }]
[[hit_group]]
geometry = "triangles"
closest_hit = "__closesthit__test"
record = [{ name = "mark", type = "u32", value = 5 }]
[[hit_group]]
geometry = "triangles"
closest_hit = "__closesthit__test"
record = [{ name = "mark", type = "u32", value = 6 }]
"""


def plain_scene():
    return scene([IDENTITY.copy()], [()])


def test_a_traversal_and_an_invocation_are_a_trace_call(tmp_path: Path) -> None:
    invoke = call("_optix_hitobject_invoke", "0, 4", ("%r20", "%r21", "%r22", "%r23"))
    again = call("_optix_hitobject_invoke", "0, 4", ("%r30", "%r31", "%r32", "%r33"))
    nop = call("_optix_hitobject_invoke", "0, 4", ("%r40", "%r41", "%r42", "%r43"))
    asked = "".join(
        f"    call (%r{50 + k}), _optix_hitobject_{name}, ();\n" + store(10 + k, f"%r{50 + k}")
        for k, name in enumerate((
            "is_hit", "is_miss", "is_nop", "get_instance_idx", "get_primitive_idx", "get_sbt_record_index",
            "get_hitkind", "get_transform_list_size",
        ))
    )  # fmt: skip
    raygen = program(
        "raygen",
        SET_RAY + "    mov.u32 %r14, %r1;\n" + trace(offset="1", stride="2", miss="1") + store(0, "%r10")
        + store(1, "%r11") + trace("_optix_hitobject_traverse", offset="1", stride="2", miss="1")
        + "    call _optix_hitobject_reorder, (%r1, 4);\n" + asked
        + "    call (%f6), _optix_hitobject_get_ray_tmax, ();\n"
        + store(18, "%f6") + "    call (%l5), _optix_hitobject_get_sbt_data_pointer, ();\n    ld.u32 %r60, [%l5];\n"
        + store(19, "%r60") + invoke + store(2, "%r20") + store(3, "%r21")
        + "    call _optix_hitobject_set_sbt_record_index, (0);\n" + again + store(4, "%r30")
        + "    call _optix_hitobject_make_miss_v2, (0, %f1, %f2, %f3, %f2, %f2, %f4, %f2, %f5, %f2, 3);\n"
        + again + store(5, "%r30") + "    call (%r61), _optix_hitobject_get_ray_flags, ();\n" + store(8, "%r61")
        + "    call _optix_hitobject_make_nop, ();\n" + nop + store(6, "%r40"),
    )  # fmt: skip
    words = both(prepare(tmp_path, raygen + HIT + MISSES, BOUND, plain_scene()))
    x = np.arange(32)
    hit = words[:, 10] == 1
    assert 4 < hit.sum() < 28
    assert np.array_equal(words[:, :2], words[:, 2:4]), "the same payload as from one trace call"
    assert np.array_equal(words[:, 0], np.where(hit, x + 6, x + 2000))
    assert np.array_equal(words[:, 4], np.where(hit, x + 5, x + 1000)), "another record, another program's data"
    assert np.array_equal(words[:, 5], x + 1000)
    assert (words[:, 8] == 3).all()
    assert np.array_equal(words[:, 6], x), "a nop runs nothing"
    assert np.array_equal(words[:, 11], ~hit)
    assert not words[:, 12].any()
    assert np.array_equal(words[hit, 13], np.zeros(hit.sum()))
    assert np.array_equal(words[:, 15], np.where(hit, words[:, 15] % 2 == 1, 1)), "ray type 1, or miss 1"
    assert np.array_equal(words[:, 17], hit)
    assert np.array_equal(words[hit, 18], words[hit, 1])
    assert np.array_equal(words[:, 19], np.where(hit, 6, 77))


def test_the_first_attributes_of_a_triangle_are_its_barycentrics(tmp_path: Path) -> None:
    """Slang reads them so."""
    weights = "    call (%f6, %f7), _optix_{}get_triangle_barycentrics, ();\n"
    hit = program(
        "closesthit",
        weights.format("") + store(0, "%f6") + store(1, "%f7")
        + "".join(f"call (%r{k}), _optix_get_attribute_{k - 10}, ();\n" + store(k - 8, f"%r{k}") for k in (10, 11, 12)),
    )  # fmt: skip
    raygen = program(
        "raygen",
        SET_RAY + trace() + trace("_optix_hitobject_traverse") + weights.format("hitobject_")
        + store(8, "%f6") + store(9, "%f7")
        + "".join(
            f"add.u32 %r30, %r1, {k}; call (%r31), _optix_hitobject_get_attribute, (%r30);\n" + store(10 + k, "%r31")
            for k in range(8)
        )
        + "    call (%r32), _optix_hitobject_is_hit, ();\n" + store(20, "%r32"),
    )  # fmt: skip
    words = both(prepare(tmp_path, raygen + hit + MISSES, BOUND, plain_scene()))
    hit_lanes = np.flatnonzero(words[:, 20] == 1)
    assert 4 < len(hit_lanes) < 28
    own = words[hit_lanes]
    assert own[:, :2].all(), "a triangle hit inside"
    assert np.array_equal(own[:, :2], own[:, 2:4])
    assert not own[:, 4].any()
    assert np.array_equal(own[:, :2], own[:, 8:10])
    by_index = own[np.arange(len(own))[:, None], 10 + (np.arange(8) - hit_lanes[:, None]) % 8]
    assert np.array_equal(by_index[:, :2], own[:, :2])
    assert not by_index[:, 2:].any()


def test_tracer_and_traces_call_the_reorder_by_one_name() -> None:
    """Written twice, since the schema is no part of the digest of machine code."""
    assert optix.REORDER_CALL == schema.REORDER_CALL


def test_a_trace_tells_the_hints_of_reorders(tmp_path: Path) -> None:
    """The bits that the call names, of the lanes that call; they are no accesses."""
    raygen = program(
        "raygen",
        "    shl.b32 %r4, %r1, 1; or.b32 %r5, %r1, 0xffff0000; setp.ne.u32 %p1, %r1, 7;\n"
        "    @%p1 call _optix_hitobject_reorder, (%r5, %r4);\n" + store(0, "%r5"),
    )
    prepared = prepare(tmp_path, raygen, '[[hit_group]]\ngeometry = "triangles"\n', plain_scene())
    both(prepared)
    rows = words_of(prepared, "machine")[1]
    hints, accesses = rows.table("hints"), rows.table("accesses")
    x = np.array([lane for lane in range(32) if lane != 7], np.uint64)
    assert hints["lane_mask"].tolist() == [0xFFFFFFFF ^ 1 << 7]
    mask = (np.uint64(1) << np.minimum(2 * x, 32).astype(np.uint64)) - np.uint64(1)
    assert hints["hint"].tolist() == ((x | np.uint64(0xFFFF0000)) & mask).tolist()
    assert len(hints["hint_offset"]) == 2
    assert hints["instruction_id"][0] not in accesses["instruction_id"]
    assert len(accesses["visit"]) == 1


CALLABLES = """
.visible .func (.param .b32 func_retval0) __direct_callable__scale(.param .b32 value)
{
    .reg .b32 %r<4>;
    .reg .b64 %l<4>;
    ld.param.u32 %r1, [value];
    call (%l1), _optix_get_sbt_data_ptr_64, ();
    ld.u32 %r2, [%l1];
    mul.lo.u32 %r3, %r1, %r2;
    st.param.b32 [func_retval0], %r3;
    ret;
}
.visible .func (.param .b32 func_retval0) __direct_callable__negate(.param .b32 value)
{
    .reg .b32 %r<4>;
    ld.param.u32 %r1, [value];
    neg.s32 %r2, %r1;
    st.param.b32 [func_retval0], %r2;
    ret;
}
"""
CALL_RAYGEN = program(
    "raygen",
    """
    rem.u32 %r4, %r1, 3;
    call (%l4), _optix_call_direct_callable, (%r4);
    {
        .param .b32 param0;
        .param .b32 retval0;
        st.param.b32 [param0], %r1;
        prototype_0: .callprototype (.param .b32 _) _ (.param .b32 _);
        call (retval0), %l4, (param0), prototype_0;
        ld.param.b32 %r5, [retval0];
    }
    st.global.b32 [%l1], %r5;
""",
)
RECORDS = """
[[callable]]
program = "__direct_callable__scale"
record = [{ name = "factor", type = "u32", value = 3 }]
[[callable]]
program = "__direct_callable__negate"
[[callable]]
program = "__direct_callable__scale"
record = [{ name = "factor", type = "u32", value = 7 }]
[[hit_group]]
geometry = "triangles"
"""


@pytest.mark.parametrize("modules", [1, 2])
def test_callables_see_their_own_record(tmp_path: Path, modules: int) -> None:
    texts = [CALL_RAYGEN + CALLABLES] if modules == 1 else [CALL_RAYGEN, CALLABLES]
    words = both(prepare(tmp_path, texts, RECORDS, plain_scene()))[:, 0].astype(np.int32)
    x = np.arange(32)
    assert np.array_equal(words, np.choose(x % 3, [3 * x, -x, 7 * x]))


def test_a_callable_beyond_the_table_is_an_error(tmp_path: Path) -> None:
    text = CALL_RAYGEN.replace("rem.u32 %r4, %r1, 3", "rem.u32 %r4, %r1, 4") + CALLABLES
    prepared = prepare(tmp_path, text, RECORDS, plain_scene())
    for backend in ("machine", "interpreter"):
        with pytest.raises(UserError, match="lane 3 calls 0x0, which is not the address of a function"):
            words_of(prepared, backend)


THROWS = HIT.replace(
    "    ret;\n}", "    setp.gt.u32 %p1, %r1, 3; @%p1 call _optix_throw_exception_2, (9, %r1, %r4);\n    ret;\n}"
)
EXCEPTION = program(
    "exception",
    """
    call (%r4), _optix_get_exception_code, ();
    call (%r5), _optix_get_exception_detail_0, ();
    call (%l4), _optix_get_sbt_data_ptr_64, ();
    ld.u32 %r6, [%l4];
"""
    + store(1, "%r4") + store(2, "%r5") + store(3, "%r6"),
)  # fmt: skip


def test_an_exception_ends_its_lanes_and_runs_its_program(tmp_path: Path) -> None:
    raygen = program(
        "raygen", SET_RAY + "mov.u32 %r14, 0;\n" + trace(stride="2") + "    mov.u32 %r4, 1;\n" + store(0, "%r4")
    )
    text = raygen + THROWS + MISSES
    bound = BOUND + '[exception]\nprogram = "__exception__test"\nrecord = [{ name = "m", type = "u32", value = 4 }]\n'
    words = both(prepare(tmp_path, text + EXCEPTION, bound, plain_scene()))
    thrown = words[:, 0] == 0
    assert 2 < thrown.sum() < 28
    assert np.array_equal(words[thrown, 1:4], [(9, x, 4) for x in np.flatnonzero(thrown)])
    assert not words[~thrown, 1:].any()
    prepared = prepare(tmp_path, text, BOUND, plain_scene())
    for backend in ("machine", "interpreter"):
        with pytest.raises(
            UserError,
            match=r"test\.ptx:\d+: call _optix_throw_exception_\d: lane 4 throws exception 9, and no exception program",
        ):
            words_of(prepared, backend)
