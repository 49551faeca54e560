"""Slang and HLSL: what compiled shaders find is what the trace says; refusals are one line.

The compilers are packages that no extra of the tests brings: without them the tests that compile are skipped.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.tracer.render import Request, Summary, render_scene
from rayplay.tracer.run import run_image_launch
from rayplay.tracer.scenes import load
from rayplay.tracer.shader import read_shaders
from rayplay.tracer.shading.prepare import Sampling, prepare_image
from rayplay.tracer.shading.upload import pixel_rays
from rayplay.tracer.slang import bind as binding
from rayplay.tracer.slang import compile as compilers
from rayplay.tracer.slang.bind import Bound, bind_shader
from rayplay.tracer.slang.compile import Compiled, find_nvrtc, find_slangc, is_shader

HITS = Path(__file__).parents[1] / "data" / "hits.slang"
IMAGE = "RWTexture2D<float4> image;\n"
RAYGEN = '[shader("raygeneration")] void main_() '


@pytest.fixture
def compiler() -> None:
    """Skip, with the reason, where a compiler is missing."""
    try:
        find_slangc()
        find_nvrtc()
    except UserError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize(("name", "suffix"), [("cornell", ".slang"), ("wknd", ".slang"), ("cornell", ".hlsl")])
def test_the_picture_is_what_the_rays_met(tmp_path: Path, name: str, suffix: str) -> None:
    scene = load(name)
    program = tmp_path / f"hits{suffix}"
    program.write_text(HITS.read_text())
    width, height = 24, 16
    render_scene(scene, Request(name, program, None, tmp_path / "t.trace", width, height, samples=3), Summary())
    trace = open_trace(tmp_path / "t.trace")
    rays, picture = trace.read("rays"), trace.read("image")
    last = {}
    for row in range(len(rays["lane"])):  # the last stretch of each ray has its hit
        last[int(rays["warp_id"][row]), int(rays["lane"][row])] = row
    order = [
        last[(y, x) if (y, x) in last else (y * ((width + 31) // 32), x)] for y in range(height) for x in range(width)
    ]
    met = np.isfinite(rays["hit_t"][order])
    assert 30 < met.sum() < len(met) - (30 if name == "wknd" else 0)
    expected = np.stack([rays[f"direction_{axis}"][order] for axis in "xyz"], -1)
    hits = np.stack([rays[column][order].astype(np.float32) for column in ("primitive", "instance", "hit_t")], -1)
    found = np.stack([picture[channel] for channel in ("red", "green", "blue")], -1)
    np.testing.assert_array_equal(found, np.where(met[:, None], hits, expected))
    _, directions = pixel_rays(scene.camera, width, height)
    np.testing.assert_allclose(expected, directions.reshape(-1, 3), atol=1e-5)


TRACED = "TraceRay(scene, RAY_FLAG_NONE, 0xff, 0, 1, 0, ray, payload);"
BY_OBJECT = """
    HitObject met = HitObject::TraceRay(scene, RAY_FLAG_NONE, 0xff, 0, 1, 0, ray, payload);
    ReorderThread(met.IsHit() ? met.GetInstanceIndex() + met.GetHitKind() : 0, 4);
    HitObject::Invoke(scene, met, payload);
    if (met.IsHit() && (met.GetPrimitiveIndex() != payload.found.x || met.GetRayDesc().TMax != payload.found.z))
        payload.found = 0.0;
    HitObject other = HitObject::MakeMiss(0, ray);
    Payload missed = {};
    HitObject::Invoke(scene, other, missed);
    if (any(missed.found != ray.Direction) || !other.IsMiss()) payload.found = 1.0;
"""


@pytest.mark.usefixtures("compiler")
def test_a_hit_object_meets_what_a_ray_meets(tmp_path: Path) -> None:
    program = tmp_path / "objects.slang"
    assert TRACED in HITS.read_text()
    program.write_text(HITS.read_text().replace(TRACED, BY_OBJECT))
    found = []
    for file, backend in ((HITS, "machine"), (program, "machine"), (program, "interpreter")):
        out = tmp_path / f"{file.stem}-{backend}.trace"
        render_scene(load("cornell"), Request("cornell", file, None, out, 24, 16, backend=backend), Summary())
        picture = open_trace(out).read("image")
        found.append(np.stack([picture[channel] for channel in ("red", "green", "blue")]))
    assert len(np.unique(found[0][0])) > 4
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.usefixtures("compiler")
def test_a_file_without_ray_tracing_shaders_is_one_line(tmp_path: Path) -> None:
    program = tmp_path / "compute.hlsl"
    program.write_text(IMAGE + "[numthreads(8, 8, 1)] void main(uint3 id : SV_DispatchThreadID) { image[id.xy] = 1; }")
    with pytest.raises(UserError, match=r"compute\.hlsl: must have a ray-tracing shader, .*, found none"):
        read_shaders(program)


@pytest.mark.usefixtures("compiler")
def test_interpreter_equals_machine_code(tmp_path: Path) -> None:
    found = []
    for backend in ("machine", "interpreter"):
        out = tmp_path / f"{backend}.trace"
        render_scene(load("cornell"), Request("cornell", HITS, None, out, 9, 5, backend=backend), Summary())
        found.append({path.name: path.read_bytes() for path in out.iterdir() if path.name != "manifest.json"})
    assert found[0] == found[1]


@pytest.mark.usefixtures("compiler")
def test_the_example_is_bound_to_the_scene() -> None:
    scene = load("cornell")
    bound = bind_shader(HITS.parents[3] / "examples" / "shaders" / "lit.slang", scene)
    assert [m.program for m in bound.config.miss] == ["__miss__sky"]
    assert {name: source for name, (source, _) in bound.buffers.items()} == {
        name: name for name in ("vertices", "indices", "offsets", "materials")
    }
    assert [stride for _, stride in bound.buffers.values()] == [36, 4, 8, 32]


REFUSED = {
    RAYGEN + "{ nowhere(); }": "line 2: undefined identifier",
    RAYGEN + "{ RayQuery<0> q; q.Proceed(); }": "'RayQuery' must not be used: ray queries have no CUDA form",
    "struct P { float3 x; };\n" + RAYGEN + "{ P p; CallShader(0, p); image[uint2(0)] = float4(p.x, 1); }":
        "'CallShader' must not be used: callable shaders have no CUDA form",
    "uniform float exposure;\n" + RAYGEN + "{ image[uint2(0)] = exposure; }":
        "exposure: must have a value in a file (--program-config), or be called as a launch parameter",
    "uniform float width;\n" + RAYGEN + "{ image[uint2(0)] = width; }": "width: must have the type u32, found f32",
    "StructuredBuffer<float4> sphere;\n" + RAYGEN + "{ image[uint2(0)] = sphere[0]; }":
        "sphere: buffers of a scene: unknown name 'sphere'; did you mean 'spheres'?",
    "Texture2D<float4> map;\n" + RAYGEN + "{ image[uint2(0)] = map[uint2(0)]; }":
        "map: a parameter of this kind, texture2D, is not bound",
    RAYGEN + "{ half2 x = half2(DispatchRaysIndex().xy); image[uint2(x)] = float(x.x); }":
        "'half' must not be used: its CUDA form needs a header",
    '[shader("miss")] void sky(inout float4 p) { p = 0; }': "must have one raygeneration shader",
}  # fmt: skip


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("text", REFUSED)
def test_a_refusal_is_one_line(tmp_path: Path, text: str) -> None:
    program = tmp_path / "bad.slang"
    program.write_text(IMAGE + text)
    with pytest.raises(UserError) as caught:
        bind_shader(program, load("cornell"))
    assert str(caught.value).startswith(f"{program}: ")
    assert REFUSED[text] in str(caught.value)


COMPILED = """
.version 8.0
.target sm_75
.address_size 64
.const .align 8 .b8 SLANG_globalParams[32];
.visible .entry __raygen__main()
{
    .reg .b32 %r<4>; .reg .b64 %l<6>;
    call (%r1), _optix_get_launch_index_x, ();
    ld.const.u64 %l1, [SLANG_globalParams];
    mul.wide.u32 %l2, %r1, 16; add.u64 %l1, %l1, %l2;
    ld.const.u32 %r2, [SLANG_globalParams+16];
    st.global.u32 [%l1], %r2;
    ld.const.u64 %l3, [SLANG_globalParams+24];
    ld.global.u32 %r3, [%l3+4];
    st.global.u32 [%l1+4], %r3;
    ret;
}
"""
NUMBER = {"kind": "scalar", "scalarType": "float32"}
FLOATS = {"kind": "vector", "elementCount": 4, "elementType": NUMBER}
PIXELS = {"kind": "resource", "baseShape": "structuredBuffer", "access": "readWrite", "resultType": FLOATS}
PAIR = {"kind": "vector", "elementCount": 2, "elementType": NUMBER}
BLOCK = {
    "kind": "constantBuffer",
    "elementType": {"fields": [{"name": "tint", "type": PAIR, "binding": {"offset": 0}}]},
}
PARAMETERS = [
    {"name": name, "type": kind, "binding": {"offset": offset}}
    for name, kind, offset in (("image", PIXELS, 0), ("exposure", NUMBER, 16), ("frame", BLOCK, 24))
]


def bound_with(folder: Path, values: str, monkeypatch: pytest.MonkeyPatch) -> Bound:
    """Bindings of ``COMPILED`` with a file of values, its compiler left out."""
    file = folder / "values.toml"
    file.write_text(values)
    monkeypatch.setattr(binding, "compile_shader", lambda path: Compiled(COMPILED, {"parameters": PARAMETERS}))
    return bind_shader(folder / "mine.slang", load("cornell"), file)


def test_a_file_fills_what_no_scene_fills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bound = bound_with(tmp_path, '[values]\nexposure = 1.5\n"frame.tint" = [0.25, 3]', monkeypatch)
    prepared = prepare_image(bound.scene, bound.module, bound.config, Sampling(32, 1), own=bound.place)
    run_image_launch(prepared.launch, None, progress=False)
    picture = prepared.launch.memory.view(prepared.image_address, np.float32, (32, 4))
    assert (picture[:, :2] == [1.5, 3]).all()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("exposure = 1", "mine.slang: frame.tint: must have a value in a file"),
        (
            '"frame.tint" = [1, 2]\nexposure = 1\nexposre = 2',
            "values.toml: values: unknown name 'exposre'; did you mean",
        ),
        ('"frame.tint" = [1, 2]\nexposure = 1\nimage = 5', "values.toml: values: unknown name 'image'"),
        ('"frame.tint" = [1, 2, 3]\nexposure = 1', "frame.tint[0].value: must be 2 numbers of type f32x2"),
    ],
)
def test_values_that_do_not_fit_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: str, message: str
) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        bound_with(tmp_path, f"[values]\n{values}", monkeypatch)


def test_glsl_is_refused_and_other_files_are_not_ours() -> None:
    with pytest.raises(UserError, match=r"a\.rchit: GLSL is not compiled, since slangc loses its payloads"):
        is_shader(Path("a.rchit"))
    assert [is_shader(Path(name)) for name in ("a.slang", "a.HLSL", "a.ptx")] == [True, True, False]


@pytest.mark.parametrize(("missing", "message"), [
    ("slangtorch", "slangc is missing, which compiles Slang and HLSL: pip install 'rayplay"),
    ("nvidia", "NVRTC is missing, which makes PTX of what slangc makes: pip install 'rayplay"),
])  # fmt: skip
def test_a_missing_compiler_is_one_line(monkeypatch: pytest.MonkeyPatch, missing: str, message: str) -> None:
    monkeypatch.setattr(compilers.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(compilers.shutil, "which", lambda name: None)
    monkeypatch.setattr(compilers.ctypes.util, "find_library", lambda name: None)
    with pytest.raises(UserError) as caught:
        find_slangc() if missing == "slangtorch" else find_nvrtc()
    assert str(caught.value).startswith(message)
