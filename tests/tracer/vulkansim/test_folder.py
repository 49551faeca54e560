"""A folder as Vulkan-Sim leaves it: its tables and buffers, buffers that a scene fills, refusals with their file."""

import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.scenes import load
from rayplay.tracer.shading.upload import camera_values, pixel_rays
from rayplay.tracer.vulkansim.bind import bind_folder
from rayplay.tracer.vulkansim.folder import folder_files, launch_size
from rayplay.tracer.vulkansim.scene_data import SOURCES, uniform

DATA = Path(__file__).parents[3] / "examples" / "shaders" / "vulkan-sim"
SCENE = load("wknd")
FIELD = b'[[descriptor]]\nset = 0\nbinding = 2\nfields = [{ name = "a", '


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the shaders to damage."""
    copy = tmp_path / "shaders"
    copy.mkdir()
    for file in (*folder_files(DATA), DATA / "0.callparams"):
        shutil.copy(file, copy)
    return copy


def record(*words: int) -> bytes:
    return struct.pack("<8I", *words, *[0] * (8 - len(words)))


def refused(folder: Path, bindings: Path | None = None) -> str:
    with pytest.raises(UserError) as caught:
        bind_folder(folder, bindings, SCENE)
    return str(caught.value).replace(f"{folder}", "F")


def test_tables_say_which_shaders_run_where(folder: Path) -> None:
    bound = bind_folder(folder, None, SCENE)
    config = bound.config
    assert (config.raygen.program, [m.program for m in config.miss]) == ("__raygen__0", ["__miss__1", "__miss__2"])
    rows = [(g.geometry, g.closest_hit, g.any_hit, g.intersection) for g in config.hit_groups]
    assert rows == [("triangles", "__closesthit__3", "__anyhit__4", None),
                    ("spheres", "__closesthit__5", None, "__intersection__6")]  # fmt: skip
    assert launch_size(folder) == (48, 32)
    assert config.image_format == "rgba32f"
    (folder / "0_1.vkstorageimagemetadata").write_text("48,32,44,3,1,1,0,0,192\n")
    assert bind_folder(folder, None, SCENE).config.image_format == "rgba8"


def test_a_folder_without_tables_has_one_meaning_or_is_refused(folder: Path) -> None:
    for suffix in ("raygensbt", "misssbt"):
        (folder / f"0.{suffix}").unlink()
    assert [m.program for m in bind_folder(folder, None, SCENE).config.miss] == ["__miss__1", "__miss__2"]
    (folder / "0.hitsbt").unlink()
    assert refused(folder) == "F: must have a .hitsbt, which says what hit groups the shaders make"
    for name in ("INTERSECTION_6", "CLOSEST_HIT_5"):
        (folder / f"MESA_SHADER_{name}.ptx").unlink()
    (group,) = bind_folder(folder, None, SCENE).config.hit_groups
    assert (group.closest_hit, group.any_hit) == ("__closesthit__3", "__anyhit__4")


def test_bytes_of_the_folder_are_the_buffer_unless_a_binding_says_else(folder: Path) -> None:
    data = bytes(range(64))
    (folder / "0_5_64_7.vkdescrptorsetdata").write_bytes(data)
    (folder / "0_0_448_1000150000.vkdescrptorsetdata").write_bytes(b"a tree of Vulkan-Sim's, which is not read")
    values = camera_values(SCENE.camera, 48, 32)

    def contents() -> bytes:
        memory = DeviceMemory(guard_bytes=0)
        address = bind_folder(folder, None, SCENE).place(memory, values)["descriptor_0_5"]
        return memory.view(address, np.uint8, 32).tobytes()

    assert contents() == SOURCES["materials"](SCENE, values)[:32]
    bindings = folder / "bindings.toml"
    kept = [line for line in bindings.read_text().splitlines() if "binding = 5" not in line]
    bindings.write_text("\n".join(kept))
    assert contents() == data[:32]
    fields = '[{ name = "camera_eye", type = "f32x3", offset = 16 }, { name = "samples", type = "u32", value = 7 }]'
    bindings.write_text("\n".join(kept).rstrip("]\n") + f"\n    {{ set = 0, binding = 5, fields = {fields} }},\n]\n")
    made = contents()
    assert np.frombuffer(made[16:28], "<f4").tolist() == np.float32(values["camera_eye"]).tolist()
    assert made[28:32] == struct.pack("<I", 7)


def test_a_buffer_may_hold_addresses_of_the_scenes_buffers(folder: Path) -> None:
    """As shaders have it that reach geometry through addresses; each is the start of the whole scene's buffer."""
    bindings = folder / "bindings.toml"
    names = ("vertices", "indices", "materials", "vertices")
    fields = ", ".join(f'{{ name = "at", type = "pointer", buffer = "{name}" }}' for name in names)
    fields += ', { name = "materials", type = "pointer" }'
    lines = [line for line in bindings.read_text().splitlines() if "binding = 5" not in line]
    bindings.write_text("\n".join(lines).rstrip("]\n") + f"\n    {{ set = 0, binding = 5, fields = [{fields}] }},\n]\n")
    scene, memory = load("cornell"), DeviceMemory()
    values = {**camera_values(scene.camera, 48, 32), "materials": 1234}
    made = bind_folder(folder, None, scene).place(memory, values)
    addresses = memory.view(made["descriptor_0_5"], np.uint64, 5).tolist()
    assert addresses[3] == addresses[0] != addresses[1]
    assert addresses[4] == 1234, "a launch parameter keeps its name"
    for name, address in zip(names, addresses, strict=False):
        data = SOURCES[name](scene, values)
        assert memory.view(address, np.uint8, len(data)).tobytes() == data, name


def test_matrices_lead_through_the_pixels_centres() -> None:
    """Inverse projection and view give the camera's rays; the uniform block has them and their inverses."""
    values = camera_values(SCENE.camera, 48, 32)
    block = np.frombuffer(uniform(SCENE, {**values, "samples": 2, "bounces": 5, "seed": 1, "has_sky": 1}), np.float32)
    view, plane, back, rays = (block[16 * k : 16 * k + 16].reshape(4, 4).T.astype(float) for k in range(4))
    x, y = np.meshgrid((2 * np.arange(48) + 1) / 48 - 1, (2 * np.arange(32) + 1) / 32 - 1)
    target = np.stack([x, y, np.ones_like(x), np.ones_like(x)], -1) @ rays.T
    direction = target[..., :3] @ back[:3, :3].T
    _, expected = pixel_rays(SCENE.camera, 48, 32)
    for each in (direction, expected):
        each /= np.linalg.norm(each, axis=-1, keepdims=True)
    np.testing.assert_allclose(direction, expected, atol=1e-6)
    np.testing.assert_allclose(view @ back, np.eye(4), atol=1e-5)
    np.testing.assert_allclose(plane @ rays, np.eye(4), atol=1e-3)
    assert block.view(np.uint32)[67:72].tolist() == [2, 2, 5, 1, 1]


def test_geometry_is_what_the_scene_has() -> None:
    scene = load("cornell")
    vertices = np.frombuffer(SOURCES["vertices"](scene, {}), np.float32).reshape(-1, 9)
    offsets = np.frombuffer(SOURCES["offsets"](scene, {}), np.uint32).reshape(-1, 2)
    indices = np.frombuffer(SOURCES["indices"](scene, {}), np.uint32)
    for instance, (index, vertex) in zip(scene.instances, offsets, strict=True):
        mesh = scene.meshes[instance.mesh]
        rows = vertices[vertex + indices[index : index + mesh.triangles.size]]
        np.testing.assert_array_equal(rows[:, :3].reshape(-1, 3, 3), mesh.vertices[mesh.triangles])
        np.testing.assert_array_equal(rows[::3, 8].view(np.int32), mesh.material)
        np.testing.assert_allclose(np.linalg.norm(rows[:, 3:6], axis=1), 1, atol=1e-6)


@pytest.mark.parametrize(("name", "data", "message"), [
    ("0.hitsbt", b"1234", "F/0.hitsbt: must be records of 32 bytes, found 4 bytes"),
    ("0.hitsbt", record(0, 0), "F: .hitsbt: group 0 must name a shader of the folder, found none"),
    ("0.misssbt", record(9), "F: .misssbt: shader 9 must be miss, and is none of 0, 1, 2, 3, 4, 5, 6"),
    ("0.raygensbt", record(1), "F: .raygensbt: shader 1 must be raygen, and is miss"),
    ("0.hitsbt", record(9, 4), "F: .hitsbt: group 0: shader 9 must be closesthit, and is none of 0, 1, 2, 3, 4, 5, 6"),
    ("0.hitsbt", record(1, 4), "F: .hitsbt: group 0: shader 1 must be closesthit, and is miss"),
    ("0.hitsbt", record(3, 9), "F: .hitsbt: group 0: shader 9 must be anyhit or intersection, and is none of"),
    ("0.hitsbt", record(3, 1), "F: .hitsbt: group 0: shader 1 must be anyhit or intersection, and is miss"),
    ("1.hitsbt", record(3), "F: must hold one file .hitsbt, found 0.hitsbt, 1.hitsbt"),
    ("0.callparams", b"0,48", "F/0.callparams: must be numbers: indirect, width, height, depth, address; found 0,48"),
    ("0.callparams", b"0,48,32,2,0", "F/0.callparams: must be a launch of one layer, found 48 x 32 x 2"),
    ("a_b.vkdescrptorsetdata", b"", "F/a_b.vkdescrptorsetdata: must be called SET_BINDING_BYTES_TYPE"),
    ("0_1.vkstorageimagemetadata", b"48,32,7,3", "the format must be one of VkFormat 37, 43, 44, 50, 109, found 7"),
    ("bindings.toml", b"", "F: set 0 binding 2: a buffer must have its bytes: 0_2_BYTES_TYPE.vkdescrptorsetdata"),
    ("bindings.toml", b'[[descriptor]]\nset = 0\nbinding = 2\nsource = "vertexes"', "did you mean 'vertices'?"),
    ("bindings.toml", FIELD + b'type = "pointer", buffer = "vertexes" }]', "fields[0].buffer: unknown name 'vertexes'"),
    ("bindings.toml", FIELD + b'type = "u32", buffer = "vertices" }]', "fields[0].type: must be pointer for a buffer"),
    ("bindings.toml", FIELD + b'type = "pointer", buffer = "vertices", value = 0 }]', "source, value and buffer"),
    ("bindings.toml", FIELD + b'type = "pointer", source = "vertices" }]', "fields[0].source: unknown name 'vertices'"),
    ("bindings.toml", b"[[descriptor]]\nset = 0\nbinding = 2", "must have one of source and fields"),
    ("MESA_SHADER_MISS_9.ptx", None, "number 1 must be one shader's"),
])  # fmt: skip
def test_what_is_refused_says_where_and_why(folder: Path, name: str, data: bytes | None, message: str) -> None:
    (folder / name).write_bytes(data if data is not None else (folder / "MESA_SHADER_MISS_1.ptx").read_bytes())
    assert message in refused(folder)


def test_a_folder_without_shaders(tmp_path: Path) -> None:
    assert "must hold shaders called MESA_SHADER_KIND_N.ptx" in refused(tmp_path)


def test_meshes_with_holes_have_no_single_offset() -> None:
    with pytest.raises(UserError, match="must have triangles of one kind for the source 'offsets'"):
        SOURCES["offsets"](load("forest"), {})
