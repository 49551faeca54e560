"""Vulkan-Sim's dialect: every opcode and its meaning, forms of both versions of the translator, refusals."""

import re
from collections.abc import Mapping

import pytest

from rayplay import ptx
from rayplay.formats.guard.errors import UserError
from rayplay.ptx.text.printer import print_module
from rayplay.ptx.vulkansim.layout import Key
from rayplay.ptx.vulkansim.pipeline import Pipeline, lower_pipeline
from rayplay.ptx.vulkansim.reader import is_dialect, parse_shader
from rayplay.ptx.vulkansim.samplers import SAMPLER_SET

HEAD = ".version 2.0\n.target sm_10, map_f64_to_f32\n// ubos: 1\n.entry MESA_SHADER_{kind}_func{number}_main () {{\n"
ADDRESS = """
        .reg .b64 %address; get_intersection_shader_data_address %address, %counter;"""
DATA = """
        .reg .u32 %primitive; ld.global.u32 %primitive, [%address];
        .reg .u32 %instance; ld.global.u32 %instance, [%address + 4];"""
RUN = """
        .reg .pred %run; run_intersection.pred %run, %counter, %done; @!%run bra skip_row;"""
ROW = """
        call_intersection_shader %counter;
        skip_row:"""
NUMBERS = """
        .reg .u32 %id; get_intersection_shaderID %id, %counter;
        .reg .pred %skip; setp.ne.u32 %skip, %id, 5; @%skip bra skip_5;
        call_intersection_shader %counter;
        skip_5:
        .reg .pred %other; setp.ne.u32 %other, %id, 6; @%other bra skip_6;
        call_intersection_shader %counter;
        skip_6:"""
LOOPS = {
    "baseline": ADDRESS + DATA + NUMBERS, "numbers alone": NUMBERS, "address and numbers": ADDRESS + NUMBERS,
    "rows": RUN + ROW, "data before rows": ADDRESS + DATA + RUN + ROW, "data in rows": ADDRESS + RUN + DATA + ROW,
    "rows with data": RUN + ADDRESS + DATA + NUMBERS + "\n        skip_row:",
}  # fmt: skip


def trace(loop: str) -> str:
    """A ray and the choice of its shaders, as one of the translator's versions writes it."""
    return f"""
    .reg .b64 %scene; load_vulkan_descriptor %scene, 0, 0, 1000150000;
    .reg .f32 %one; mov.f32 %one, 0F00000001;
    .reg .f32 %x; mov.f32 %x, 0F3f800000;
    .reg .u32 %done;
    trace_ray %scene, %one, %one, %x, %x, %one, %x, %x, %x, %x, %x, %x, %x, %x, %done; // all
    .reg .u32 %counter; mov.u32 %counter, 0;
    loop:
    .reg .pred %leave; intersection_exit.pred %leave, %counter, %done;
    @%leave bra loop_exit;{loop}
    add.u32 %counter, %counter, 1;
    bra loop;
    loop_exit:
    .reg .pred %hit; hit_geometry.pred %hit, %done;
    @!%hit bra no_hit;
    .reg .u32 %shader; get_closest_hit_shaderID %shader;
    call_closest_hit_shader 2;
    no_hit:
    @%hit bra no_miss;
    call_miss_shader ;
    no_miss:
    end_trace_ray ;"""


STORE = """
    .reg .b64 %image; load_vulkan_descriptor %image, 0, 1;
    .reg .b64 %handle; mov.b64 %handle, %image;
    .reg .f32 %v; mov.f32 %v, 0F3f800000;
    image_deref_store %handle, %v, %v, %v, %v, %v, %v, %v, %v, %v, %v, 0, 160;"""


OF_A_HIT = ("_read_primitive_idx", "_read_instance_id", "_get_ray_tmin", "_get_ray_tmax")
"""Calls that a ray-generation program may not make."""


def lowered(
    body: str, kind: str = "RAYGEN", formats: Mapping[Key, str] | None = None, hits: frozenset[str] = frozenset()
) -> Pipeline:
    text = HEAD.format(kind=kind, number=3) + body + "\n    shader_exit:\n    ret ;\n}\n"
    assert is_dialect(text)
    return lower_pipeline([parse_shader(text, "shader.ptx")], {3: hits} if hits else {}, formats or {}, "folder")


def instructions(pipeline: Pipeline) -> list[str]:
    (function,) = pipeline.module.functions.values()
    return [i.text for i in function.body]


def opcodes(pipeline: Pipeline) -> list[str]:
    (function,) = pipeline.module.functions.values()
    return [i.callee or i.full_opcode for i in function.body]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_ray_is_one_trace_call_whichever_loops_stand_behind_it(loop: str) -> None:
    pipeline = lowered(trace(LOOPS[loop]))
    made = [text for text in instructions(pipeline) if "_optix" in text]
    assert made == [
        "call (), _optix_trace_0, (%scene, %x, %x, %x, %x, %x, %x, %x, %x, 0f00000000, %one, %one, 0, 1, %one);"
    ]
    assert opcodes(pipeline) == ["ld.const.u64", "mov.f32", "mov.f32", "_optix_trace_0", "ret"]


def test_a_ray_whose_loops_name_no_result() -> None:
    unnamed = trace(LOOPS["rows"]).replace(", %done;", ";")
    assert instructions(lowered(unnamed)) == instructions(lowered(trace(LOOPS["rows"])))


def test_a_closest_hit_shader_traces_a_ray_behind_a_branch() -> None:
    branch = ".reg .pred %dark; .reg .f32 %z; setp.ge.f32 %dark, %z, %z; @%dark bra past;"
    made = instructions(lowered(branch + trace(LOOPS["baseline"]) + "past:", "CLOSEST_HIT"))
    (call,) = (n for n, text in enumerate(made) if "_optix_trace_0" in text)
    (jump,) = (n for n, text in enumerate(made) if text.startswith("@%dark bra"))
    assert jump < call


def test_rays_in_both_branches_stay_in_their_branches() -> None:
    names = re.compile(r"%\w+|\b(?:loop|loop_exit|no_hit|no_miss|skip_row)\b")
    even, odd = (names.sub(rf"\g<0>_{ray}", trace(LOOPS["rows"])) for ray in (0, 1))
    branches = f".reg .pred %odd; @%odd bra else_0; {even} bra end_if_0; else_0: {odd} end_if_0:"
    (function,) = lowered(branches).module.functions.values()
    order = [i.callee or i.full_opcode for i in function.body if i.callee or i.full_opcode == "bra"]
    assert order == ["bra", "_optix_trace_0", "bra", "_optix_trace_0"]
    assert ["%scene_1" in i.text for i in function.body if i.callee] == [False, True]


def test_lines_are_the_lines_of_the_file() -> None:
    pipeline = lowered(trace(""))
    (function,) = pipeline.module.functions.values()
    call = next(i for i in function.body if i.callee)
    text = HEAD + trace("")
    assert call.position.line == 1 + text[: text.index("trace_ray")].count("\n")
    assert function.name == "__raygen__3"
    assert pipeline.names == {3: "__raygen__3"}


def test_the_module_is_ordinary_ptx() -> None:
    pipeline = lowered(trace("") + STORE)
    again = ptx.parse(print_module(pipeline.module), "again.ptx")
    assert not ptx.verify(pipeline.module)
    assert not ptx.verify(again)
    assert [i.full_opcode for i in again.functions["__raygen__3"].body] == [
        i.full_opcode for i in pipeline.module.functions["__raygen__3"].body
    ]


@pytest.mark.parametrize(("written", "made"), [
    ("mov.f32 %f, 0F00000001", ["mov.f32 %f, 0F00000001;"]),  # an integer among floats: bits, never flushed
    ("mov.b32 %f, %s", ["mov.b32 %f, %s;"]),
    ("add.s32 %f, %s, %f", ["add.s32 %f, %s, %f;"]),
    ("add.u32 %s, %w, 1", ["cvt.u32.u64 %t$0, %w;", "add.u32 %s, %t$0, 1;"]),
    ("mov.b64 %w, %s", ["cvt.u64.u32 %t$0, %s;", "mov.b64 %w, %t$0;"]),
    ("and.b16 %h, %h, %h", ["and.b16 %h, %h, %h;"]),
    ("mov.b8 %h, 1", ["mov.b16 %h, 1;"]),
    ("setp.ne.f32 %p, %f, %s", ["setp.neu.f32 %p, %f, %s;"]),  # true for NaN, as C's != is
    ("setp.ne.u32 %p, %f, 3", ["setp.ne.u32 %p, %f, 3;"]),
    ("@!%p mov.f32 %f, %s", ["@!%p mov.f32 %f, %s;"]),
    ("copysignf %f, %s", ["copysign.f32 %f, %s, %f;"]),
    ("load_primitive_id %f", ["call (%f), _optix_read_primitive_idx, ();"]),
    ("load_ray_instance_custom_index %f", ["call (%f), _optix_read_instance_id, ();"]),
    ("load_ray_t_min %f", ["call (%f), _optix_get_ray_tmin, ();"]),
    ("load_ray_t_max %f", ["call (%f), _optix_get_ray_tmax, ();"]),
    ("mov.pred %p, %q", ["mov.pred %p, %q;"]),
    ("or.pred %p, %p, %q", ["or.pred %p, %p, %q;"]),
    ("setp.eq.u16 %p, %h, 1", ["setp.eq.u16 %p, %h, 1;"]),
    ("mov.f64 %w, 0D0000000000000000", ["mov.f64 %w, 0D0000000000000000;"]),
    ("neg.s64 %w, %w", ["neg.s64 %w, %w;"]),
    ("cvt.rn.f32.u32 %f, %w", ["cvt.u32.u64 %t$0, %w;", "cvt.rn.f32.u32 %f, %t$0;"]),
    ("cvt.s64.s32 %w, %f", ["cvt.s64.s32 %w, %f;"]),
    ("shl.b64 %w, %w, %s", ["shl.b64 %w, %w, %s;"]),  # as the two words of a clock are put together
    ("cvt.u32.s64 %f, %w", ["cvt.u32.s64 %f, %w;"]),
    ("cvt.rni.u32.f32 %f, %f", ["cvt.rni.u32.f32 %f, %f;"]),
    ("selp.s32 %f, %s, %f, %p", ["selp.s32 %f, %s, %f, %p;"]),
    ("setp.lt.s32 %p, %f, %s", ["setp.lt.s32 %p, %f, %s;"]),
    ("shader_clock %f, %s", ["mov.u64 %t$0, %clock64;", "mov.b64 {%f, %s}, %t$0;"]),
    ("load_ray_launch_size %f, %s, %f", [f"call ({r}), _optix_get_launch_dimension_{a}, ();"
                                         for r, a in (("%f", "x"), ("%s", "y"), ("%f", "z"))]),
])  # fmt: skip
def test_an_instruction_and_its_meaning(written: str, made: list[str]) -> None:
    declared = ".reg  .f32 %f; .reg .s32 %s; .reg .u64 %w; .reg .u16 %h; .reg .pred %p; .reg .pred %q;\n"
    kind = "CLOSEST_HIT" if any(call in text for call in OF_A_HIT for text in made) else "RAYGEN"
    assert instructions(lowered(declared + written + ";", kind))[:-1] == made


def test_a_name_of_a_special_register_is_no_special_register() -> None:
    assert instructions(lowered(".reg .f32 %clock; mov.f32 %clock, 0F3f800000;"))[0] == "mov.f32 %clock$, 0F3f800000;"


def test_variables_are_linked_by_name_and_hit_attributes_share_a_place() -> None:
    texts = [
        HEAD.format(kind=kind, number=number) + body + "\nret;}"
        for number, (kind, body) in enumerate((
            ("RAYGEN", ".reg .b64 %Ray; rt_alloc_mem %Ray, 300, 32; .reg .b64 %own; rt_alloc_mem %own, 4, 8192;"),
            ("CLOSEST_HIT", ".reg .b64 %a; rt_alloc_mem %a, 36, 64; .reg .b64 %Ray; rt_alloc_mem %Ray, 36, 32;"
                            ".reg .f32 %f; ld.global.f32 %f, [%a + 4];"),
            ("INTERSECTION", ".reg .b64 %b; rt_alloc_mem %b, 16, 64; .reg .b64 %c; add.u64 %c, %b, 8; .reg .f32 %f;"
                             "st.global.f32 [%c], %f; .reg .pred %p; report_ray_intersection.pred %p, %f, %f;"),
        ))
    ]  # fmt: skip
    shaders = [parse_shader(text, f"{number}.ptx") for number, text in enumerate(texts)]
    pipeline = lower_pipeline(shaders, {1: frozenset({"procedural"})}, {}, "folder")
    layout = pipeline.layout
    assert layout.variables == {"%Ray": 0, "%own": 512, "hit attributes": 768}
    assert (layout.block_bytes, layout.attribute_words) == (1024, 3)
    bodies = {name: [i.text for i in f.body] for name, f in pipeline.module.functions.items()}
    for name in ("__raygen__0", "__closesthit__1"):
        (base,) = (text.split()[1] for text in bodies[name] if text.endswith("%thread$lane, 256, %thread$block;"))
        assert f"add.u64 %Ray, {base} 0;" in bodies[name]
    assert "add.u64 %own, %thread$block, 16384;" in bodies["__raygen__0"], "32 threads' %Ray lie before it"
    assert sum("get_attribute" in text for text in bodies["__closesthit__1"]) == 3
    assert any("report_intersection_3" in text for text in bodies["__intersection__2"])


@pytest.mark.parametrize(("hits", "calls"), [
    ({"triangles"}, ["barycentrics"]), ({"procedural"}, ["attribute_0", "attribute_1"]),
    ({"triangles", "procedural"}, ["barycentrics", "hit_kind", "attribute_0", "attribute_1"]),
])  # fmt: skip
def test_hit_attributes_are_weights_or_what_was_reported(hits: set[str], calls: list[str]) -> None:
    body = ".reg .b64 %a; rt_alloc_mem %a, 16, 8192; .reg .f32 %f; ld.global.f32 %f, [%a + 4];"
    made = opcodes(lowered(body, "CLOSEST_HIT", hits=frozenset(hits)))  # 8192: the first version's mode
    found = [name.removeprefix("_optix_get_").removeprefix("triangle_") for name in made if "_optix_get" in name]
    assert found[2:] == calls, "after the two launch indices"
    assert made.count("st.global.b32") == 2


def test_images_by_their_format() -> None:
    floats, quads = (opcodes(lowered(STORE, formats={(0, 1): name})) for name in ("rgba32f", "rgba8"))
    assert [each.count("st.global.v4.b32") for each in (floats, quads)] == [1, 0]
    assert [quads.count(name) for name in ("cvt.rni.u32.f32", "st.global.b32")] == [4, 1]
    load = STORE + "image_deref_load %handle, %v, %v, %v, %v, %v, %v, %v, %v, %v, %v, 0;"
    assert "ld.global.v4.b32" in opcodes(lowered(load))
    assert opcodes(lowered(load, formats={(0, 1): "rgba8"})).count("bfe.u32") == 4


@pytest.mark.parametrize("stride", [32, 48])  # of the first and second version
def test_a_texture_is_sampled_through_its_entry(stride: int) -> None:
    body = f""".reg .b64 %Samplers; load_vulkan_descriptor %Samplers, 0, 8; .reg .u64 %step; .reg .u32 %i;
        mul.wide.u32 %step, %i, {stride}; .reg .b64 %t; add.u64 %t, %Samplers, %step; .reg .f32 %c;
        txl %t, %t, %c, %c, %c, %c, %i, %c, %c;"""
    pipeline = lowered(body)
    found = pipeline.layout.descriptors[0, 8]
    assert (found.kind, found.stride) == ("textures", stride)
    assert instructions(pipeline)[-2] == "tex.level.2d.v4.f32.f32 {%c, %c, %c, %c}, [%t$0, {%i, %c}], %c;"


def test_samplers_in_a_variable_of_mode_2_are_the_scenes_textures() -> None:
    """As the shaders of one public dump have them; other variables of that mode stay variables."""
    body = """.reg .b64 %Own; rt_alloc_mem %Own, 4, 2; .reg .b64 %Samplers; rt_alloc_mem %Samplers, 4, 2; .reg .f32 %c;
        .reg .u32 %i; .reg .u64 %step; mul.wide.u32 %step, %i, 32; .reg .b64 %t; add.u64 %t, %Samplers, %step;
        txl %t, %t, %c, %c, %c, %c, %c, %c, %c; ld.global.f32 %c, [%Own];"""
    pipeline = lowered(body, "CLOSEST_HIT")
    (key,) = pipeline.layout.descriptors
    found = pipeline.layout.descriptors[key]
    assert (key, found.kind, found.stride) == ((SAMPLER_SET, 0), "textures", 32)
    assert set(pipeline.layout.variables) == {"%Own"}
    assert f"ld.const.u64 %Samplers, [vulkan+{found.offset}];" in instructions(pipeline)
    assert sum("tex.level.2d" in text for text in instructions(pipeline)) == 1


@pytest.mark.parametrize("operands", ["%a, 2", "%x, %y, %z, 2"])
def test_matrices_of_both_versions(operands: str) -> None:
    declared = ".reg .b64 %a; .reg .f32 %x; .reg .f32 %y; .reg .f32 %z;\n"
    pipeline = lowered(f"{declared}load_ray_world_to_object {operands};", "CLOSEST_HIT")
    assert pipeline.layout.uses_matrices
    assert any("+32]" in text or ", 32;" in text for text in instructions(pipeline)), "column 2 begins at byte 32"


REFUSED = {
    "mov.f32 %f, %g;": "register '%g' must be declared",
    "st.global.f32 [%f + 4], %f;": "the address '%f' must have the width b64, found b32",
    "load_primitive_id %w;": "'%w' must have the width b32, found b64",
    "load_primitive_id;": "'load_primitive_id' must have 1 operands, found 0",
    "load_vulkan_descriptor %w, 0, %f;": "'%f' must be an integer constant",
    "run_anyhit.pred %p;": "'run_anyhit.pred' must not be used: Vulkan-Sim itself ends there",
    "call_miss_shader ;": "must stand between trace_ray and end_trace_ray",
    "end_trace_ray ;": "trace_ray must stand before end_trace_ray",
    "@%p load_primitive_id %f;": "must not have a guard",
    "bra nowhere;": "the branch must lead to a label of the file",
    "frobnicate.f32 %f, %f;": "opcode 'frobnicate.f32' is not known",
    "mul.wide.unan %w, %f, 4;": "'.unan' is no modifier of mul",
    "load_ray_object_to_world %w, 7;": "the column must be 0 to 3",
    "image_deref_store %w, %f, %f, %f, %f, %f, %f, %f, %f, %f, %f;": "the image must be one descriptor",
}


@pytest.mark.parametrize("statement", REFUSED)
def test_a_refusal_names_file_line_and_reason(statement: str) -> None:
    declared = ".reg .f32 %f; .reg .u64 %w; .reg .pred %p;\n"
    with pytest.raises(UserError) as caught:
        lowered(declared + statement)
    assert str(caught.value).startswith("shader.ptx:6:1: ")
    assert REFUSED[statement] in str(caught.value)


@pytest.mark.parametrize(("old", "new", "message"), [
    ("end_trace_ray ;", "", "end_trace_ray must stand after trace_ray"),
    ("call_miss_shader ;", "st.global.f32 [%scene], %x;", "'st.global.f32' must not stand between"),
    ("end_trace_ray ;", "end_trace_ray ; add.u32 %counter, %counter, 1;", "'%counter' must not be used outside"),
    ("end_trace_ray ;", "end_trace_ray ; bra loop;", "a branch must not lead into or out of trace_ray"),
])  # fmt: skip
def test_what_stands_between_a_ray_and_its_end(old: str, new: str, message: str) -> None:
    assert old in trace("")
    with pytest.raises(UserError, match=re.escape(message)):
        lowered(trace("").replace(old, new))


@pytest.mark.parametrize(("text", "message"), [
    (".version 2.0\n.entry main() {}", "bad.ptx: expected .entry MESA_SHADER_KIND_funcN_main () {, found none"),
    (HEAD.format(kind="CALLABLE", number=1) + "}", "bad.ptx:4:20: shaders of kind CALLABLE are not executed"),
    (HEAD.format(kind="MISS", number=1) + "  ret ", "bad.ptx:5:3: expected a statement that ends with"),
    (HEAD.format(kind="MISS", number=1) + "a: a: ret;}", "bad.ptx:5:4: label 'a' stands twice in the file"),
    (HEAD.format(kind="MISS", number=1) + ".reg .f99 %f;}", "bad.ptx:5:1: expected .reg with one of"),
    (HEAD.format(kind="MISS", number=1) + ".reg .f32 %f;\n.reg .b64 %f;}", "bad.ptx:6:1: register '%f' has two widths"),
    (HEAD.format(kind="MISS", number=1) * 2, "bad.ptx: expected one .entry in the file, found more"),
])  # fmt: skip
def test_a_text_that_is_not_the_dialect(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_shader(text, "bad.ptx")
    assert str(caught.value).startswith(message)


FIRST_TRACE = """
    .reg .b64 %scene; load_vulkan_descriptor %scene, 0, 0, 1000150000;
    .reg .f32 %one; mov.f32 %one, 0F00000001;
    .reg .u32 DONE;
    trace_ray %scene, %one, %one, %one, %one, %one, %one, %one, %one, %one, %one, %one, %one, %one, ENDS;
"""


def test_rays_of_the_first_versions_are_the_same_call() -> None:
    """Without loops and ``end_trace_ray``; with two results that say which shaders run."""
    bare = FIRST_TRACE.replace("DONE", "hit_geometry").replace("ENDS", "hit_geometry")
    chosen = "@!hit_geometry\tcall_closest_hit_shader ;\n@hit_geometry\tcall_miss_shader ;\n"
    again = re.sub(r"\.reg[^;]*;|load_vulkan[^;]*;", "", bare)
    twice = instructions(lowered(bare + chosen + again + chosen + STORE))
    assert sum("_optix_trace_0" in text for text in twice) == 2
    pair = FIRST_TRACE.replace("DONE", "%hits; .reg .u32 %misses").replace("ENDS", "%hits, %misses")
    skips = "".join(
        f".reg .pred %skip_{k}; setp.eq.u32 %skip_{k}, %{k}, 0; @%skip_{k} bra past_{k};\ncall_{call}_shader ;\n"
        f"past_{k}:\n"
        for k, call in (("hits", "closest_hit"), ("misses", "miss"))
    )
    once = instructions(lowered(pair + skips + "end_trace_ray ;" + STORE))
    assert sum("_optix_trace_0" in text for text in once) == 1
    assert not any("call_" in text or "skip" in text for text in [*once, *twice])
    with pytest.raises(UserError, match="end_trace_ray must stand after trace_ray"):
        lowered(bare + "@!hit_geometry call_closest_hit_shader ;" + STORE)
    with pytest.raises(UserError, match="must not stand between"):
        lowered(bare + ".reg .f32 %y; mul.f32 %y, %one, %one; " + chosen)


def test_ray_vectors_come_as_an_address_or_as_floats() -> None:
    body = ".reg .f32 %x; .reg .f32 %y; .reg .f32 %z; load_ray_world_direction %x, %y, %z;"
    calls = [text for text in instructions(lowered(body, "CLOSEST_HIT")) if "_optix_get_world" in text]
    assert [text[text.index("(") :] for text in calls] == [
        f"(%{axis}), _optix_get_world_ray_direction_{axis}, ();" for axis in "xyz"
    ]
    vector = ".reg .b64 %a; .reg .f32 %f; load_ray_world_direction %a;"
    loaded = instructions(lowered(vector + "ld.global.f32 %f, [%a + 4];", "CLOSEST_HIT"))
    assert not any("st.global" in text for text in loaded), "Vulkan-Sim's traversal writes it without a store"
    place = next(n for n, text in enumerate(loaded) if text.startswith("ld.global"))
    assert "call (%f), _optix_get_world_ray_direction_y, ();" in loaded[place + 1]
    other = ".reg .b64 %b; add.u64 %b, %a, 4; ld.global.f32 %f, [%b];"
    for use in (other, "ld.global.f32 %f, [%a + 8];" + other, "load_ray_world_origin %a; ld.global.f32 %f, [%a];"):
        found = instructions(lowered(vector + use, "CLOSEST_HIT"))
        assert sum("st.global" in text for text in found) == 3 * (1 + ("origin" in use))


def test_the_number_of_an_entry_without_one_is_its_files() -> None:
    text = HEAD.format(kind="MISS", number=3).replace("_func3", "") + "ret ;\n}\n"
    assert is_dialect(text)
    assert parse_shader(text, "gpgpusimShaders/MESA_SHADER_MISS_17.ptx").number == 17
    with pytest.raises(UserError, match="expected _funcN in the entry's name, or _N in the file's"):
        parse_shader(text, "shader.ptx")


def test_a_bare_register_is_the_base_of_an_address() -> None:
    """Else the address would name a symbol, which no module has."""
    body = ".reg .b64 addr; .reg .b32 %a; mov.b64 addr, 0; ld.global.b32 %a, [addr+4]; st.global.b32 [addr], %a;"
    texts = instructions(lowered(body))
    assert sum("[%addr" in text for text in texts) == 2
    assert not any("[addr" in text for text in texts)
