"""Texts and scenes to damage, and the assertions that what a reader accepts of the damage is valid."""

import json
import lzma
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
import trimesh  # noqa: F401 - loaded once here, not in each process that is forked

from rayplay.formats import validate
from rayplay.formats.dataset.reader import Source, Trace, open_trace
from rayplay.formats.dataset.result import ResultWriter
from rayplay.formats.edit.pixels import read_pixels
from rayplay.formats.exchange.accelsim.files import read_list
from rayplay.formats.exchange.accelsim.importer import import_accelsim
from rayplay.formats.exchange.nsight import read_launches
from rayplay.formats.exchange.vulkan_sim import import_vulkan_sim
from rayplay.formats.guard.xz import open_packed
from rayplay.formats.parquet.arrow import Columns, array_names
from rayplay.formats.schema.column import Column, Table
from rayplay.formats.schema.trace import TRACE
from rayplay.formats.testing.generate import make_trace
from rayplay.hypa.network.file import read_network
from rayplay.ptx.text.parser import parse, parse_file
from rayplay.ptx.text.printer import print_module
from rayplay.ptx.verifier.code import verify
from rayplay.ptx.vulkansim.pipeline import lower_pipeline
from rayplay.ptx.vulkansim.reader import read_shader
from rayplay.replay.energy.table import read_table
from rayplay.replay.gpu.description import explain, load, notes
from rayplay.report.film import read_film
from rayplay.report.forecast import read_forecast
from rayplay.report.study import read_study
from rayplay.silicon.correlate import choose_card, compare_suite, read_measured
from rayplay.tracer.launchfile.file import read_launch_file
from rayplay.tracer.motion import scenes
from rayplay.tracer.scenes import load as load_scene
from rayplay.tracer.scenes.description import Scene
from rayplay.tracer.shading.config import read_config
from rayplay.tuner.device import read_device
from tests.formats.exchange.accelsim.test_import import write as write_kernel
from tests.formats.exchange.test_nsight import RAW
from tests.formats.exchange.test_vulkan_sim import DUMP
from tests.reliability.mutate import other_value
from tests.replay.gpu.test_gpgpusim import CONFIG

ROOT = Path(__file__).resolve().parents[2]
OBJ = "mtllib quad.mtl\no quad\nv 0 0 0\nv 2 0 0\nv 2 1 0\nv 0 1 0\nvt 0 0\nvt 1 1\n"
OBJ += "usemtl a\nf 1/1 2/2 3/1\nf 1 3 4\nf -1 -2 -3\n"
FEW_PCS = 1 << 12
PLY = (
    "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
    "element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"
)


def write_result(path: Path) -> Path:
    """A small result with every kind of content."""
    rows = 50
    with ResultWriter(path, {"command": "reliability"}) as writer:
        writer.put("counters", {
            "unit": ["l1d"] * rows, "instance": np.arange(rows), "stream": np.zeros(rows, np.int32),
            "kernel_id": np.zeros(rows, np.int32), "counter": ["hits"] * rows, "value": np.arange(rows) ** 3,
            "measure": ["requests"] * rows,
        })  # fmt: skip
        entry = {"value": 12345, "unit": "cycles", "kind": "max", "definition": "Last cycle of the launch."}
        writer.summary({"gpu_cycles": entry, "gpu_ipc": entry | {"value": 0.25, "kind": "ratio"}})
        writer.host({"seconds": 1.5})
    return path


class Held:
    """A source whose tables are read once and kept: what asks it again and again is not the reader under test."""

    def __init__(self, source: Source) -> None:
        self.path, self.manifest, self._source = source.path, source.manifest, source
        self._kept: dict[str, list[Columns]] = {}

    def groups(self, table: Table, columns: list[Column]) -> Iterator[Columns]:
        """As the source gives them."""
        if table.name not in self._kept:
            self._kept[table.name] = list(self._source.groups(table, list(table.columns)))
        names = array_names(columns)
        return iter([{name: group[name] for name in names} for group in self._kept[table.name]])


def keeps_all_laws(path: Path) -> str:
    """A trace that keeps every law."""
    problems = validate(Trace(Held(open_trace(path).source), TRACE))
    assert not problems, str(problems[0])
    return "valid"


def read_kernel(file: Path) -> str:
    """Import a kernel list; the trace keeps every law. Fewer PCs are allowed than usual: an array of all costs time."""
    out = file.parent / "out.trace"
    with patch("rayplay.formats.exchange.accelsim.importer.MOST_PCS", FEW_PCS):
        import_accelsim(file.parent / "kernelslist.g", out)
    return keeps_all_laws(out)


def read_packed(file: Path) -> str:
    """The unpacked text of an .xz file."""
    with open_packed(file) as text:
        return repr(text.read())


def read_kernel_list(file: Path) -> str:
    """A kernel list: whatever it names is a file beside it."""
    for command in read_list(file):
        if isinstance(command, Path):
            assert command.resolve().parent == file.parent.resolve()
            assert command.is_file()
    return "valid"


def read_dump(file: Path) -> str:
    """Import a dump of Vulkan-Sim; the trace keeps every law."""
    out = file.parent / "out.trace"
    import_vulkan_sim(file, out)
    return keeps_all_laws(out)


def read_ptx(file: Path) -> str:
    """A program that verifies, prints, and parses again to the same print."""
    module = parse_file(file)
    verify(module)
    printed = print_module(module)
    file.with_suffix(".again").write_text(printed)
    assert print_module(parse_file(file.with_suffix(".again"))) == printed
    return "valid"


def read_dialect(file: Path) -> str:
    """A shader of Vulkan-Sim, whose lowered program verifies and prints."""
    module = lower_pipeline([read_shader(file)], {}, {}, "folder").module
    assert not verify(module)
    assert print_module(parse(print_module(module), "printed")) == print_module(module)
    return "valid"


def read_gpu(file: Path) -> str:
    """A description that keeps the laws of ``Gpu``, and can be explained."""
    load(str(file))
    for _ in explain(str(file)):
        pass
    for _ in notes(str(file)):
        pass
    return "valid"


def read_scene(file: Path) -> str:
    """A scene that may be traced: indices in range, finite coordinates, invertible matrices."""
    scene: Scene = load_scene(file)
    for mesh in scene.meshes:
        assert np.isfinite(mesh.vertices).all()
        assert not len(mesh.triangles) or mesh.triangles.max() < len(mesh.vertices)
        assert not len(mesh.material) or mesh.material.max() < len(scene.materials)
    return "valid"


def glb(document: dict, binary: bytes) -> bytes:
    """A GLB file of its two chunks."""
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    size = 12 + 8 + len(text) + 8 + len(binary)
    head = struct.pack("<III", 0x46546C67, 2, size) + struct.pack("<II", len(text), 0x4E4F534A) + text
    return head + struct.pack("<II", len(binary), 0x004E4942) + binary


def quad_glb() -> bytes:
    """Two triangles, with a material, two nodes and UV."""
    corners = np.array([[0, 0, 0], [2, 0, 0], [2, 1, 0], [0, 1, 0]], "<f4")
    uv, index = np.zeros((4, 2), "<f4"), np.array([0, 1, 2, 0, 2, 3], "<u2")
    parts = [corners.tobytes(), uv.tobytes(), index.tobytes() + b"\0" * 4]
    starts = np.cumsum([0, *(len(part) for part in parts)]).tolist()
    views = [{"buffer": 0, "byteOffset": a, "byteLength": len(p)} for a, p in zip(starts, parts, strict=False)]
    document = {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0, 1]}],
        "nodes": [{"mesh": 0, "name": "a"}, {"name": "b", "translation": [0, 0, 3], "children": [2]}, {"mesh": 0}],
        "materials": [{"name": "grey"}],
        "meshes": [{"name": "quad", "primitives": [
            {"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": 2, "material": 0}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3", "min": [0, 0, 0], "max": [2, 1, 0]},
            {"bufferView": 1, "componentType": 5126, "count": 4, "type": "VEC2"},
            {"bufferView": 2, "componentType": 5123, "count": 6, "type": "SCALAR"}],
        "bufferViews": views, "buffers": [{"byteLength": starts[-1]}],
    }  # fmt: skip
    return glb(document, b"".join(parts))


def other_document(data: bytes, chance: random.Random) -> bytes:
    """A GLB or JSON file whose document says something else, its syntax and chunks whole."""
    if data[:4] != b"glTF":
        return json.dumps(other_value(json.loads(data), chance)).encode()
    size = int.from_bytes(data[12:16], "little")
    return glb(other_value(json.loads(data[20 : 20 + size]), chance), data[28 + size :])


PACK = {
    "format": "scene-pack/1", "name": "quad", "mesh": "quad.glb", "lights": [{"position": [0, 5, 0], "radius": 1}],
    "camera": {"eye": [1, 1, 5], "look_at": [1, 0, 0], "up": [0, 1, 0], "vfov_deg": 40, "aperture": 0,
               "focus_distance": 5},
    "sky": {"type": "gradient", "bottom": [1, 1, 1], "top": [0.5, 0.7, 1]},
    "materials": {"grey": {"model": "lambertian", "albedo": [0.5, 0.5, 0.5]}},
    "spheres": [{"center": [0, 0, 0], "radius": 1, "material": {"model": "dielectric", "ior": 1.5}}],
}  # fmt: skip


def make_pack(folder: Path) -> list[Path]:
    """A scene pack, both files of which may be damaged."""
    (folder / "quad.json").write_text(json.dumps(PACK, indent=1))
    (folder / "quad.glb").write_bytes(quad_glb())
    return [folder / "quad.json", folder / "quad.glb"]


def make_kernel(folder: Path) -> list[Path]:
    """A kernel list and its one kernel, of which the kernel may be damaged."""
    write_kernel(folder)
    return [folder / "kernel-1.traceg"]


def made(name: str, content: Callable[[], str | bytes]) -> Callable[[Path], list[Path]]:
    """A file of that name and content."""

    def make(folder: Path) -> list[Path]:
        text = content()
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
        return [folder / name]

    return make


def shipped(path: str) -> Callable[[Path], list[Path]]:
    """A file of the repository."""
    return made(Path(path).name, (ROOT / path).read_bytes)


def beside(path: str, *others: str) -> Callable[[Path], list[Path]]:
    """A file of the repository with others that it names."""

    def make(folder: Path) -> list[Path]:
        for name in (path, *others):
            copy = folder / Path(name).relative_to(Path(path).parent)
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes((ROOT / name).read_bytes())
        return [folder / Path(path).name]

    return make


def accepts(read: Callable[[Path], object]) -> Callable[[Path], str]:
    """A reader whose own checks are all that can be asked of what it accepts."""

    def run(file: Path) -> str:
        read(file)
        return "valid"

    return run


def read_pack(file: Path) -> str:
    """A scene pack, by its JSON."""
    return read_scene(file.with_suffix(".json"))


def read_quantities(file: Path) -> object:
    """Measured quantities, beside nothing simulated."""
    return compare_suite(file, choose_card(file, read_measured(file), None), [], 1e9)


def make_film(folder: Path) -> list[Path]:
    """The table of two frames, whose traces have no picture."""
    for number in range(2):
        make_trace(folder / f"{number}.trace", number, None, 1)
    (folder / "frames.csv").write_text("frame,trace,rays,records_per_ray,ms\n0,0.trace,9,1.5,2\n1,1.trace,8,,\n")
    return [folder / "frames.csv"]


DESIGN = {"change": "rt.warps*2", "predicted": {"gpu_cycles": 0.1}, "full": {"gpu_cycles": 0.2}}
STUDY = {"trace": "a", "gpu": "b", "designs": [DESIGN], "noise_floor": {"gpu_cycles": 0.01}}
ESTIMATE = {"trace": "a", "gpu": "b", "metrics": {"gpu_cycles": {"estimate": 5.0, "interval": [4.0, 6.0]}}}
PATH = {"keys": [{"frame": 0, "eye": [0, 2, 0], "at": [4, 4, -20]}],
        "instances": [{"instance": 0, "keys": [{"frame": 0, "move": [1, 0, 0], "turn_degrees": 30}]}]}  # fmt: skip

TEXTS: dict[str, tuple] = {
    "traceg": (make_kernel, read_kernel, False, True),
    "traceg.xz": (made("a.traceg.xz", lambda: lzma.compress(CONFIG.encode() * 20)), read_packed, True),
    "kernel list": (
        lambda folder: [write_kernel(folder)], read_kernel_list, False, True),
    "Vulkan-Sim dump": (made("dump.txt", lambda: DUMP), read_dump, False, True),
    "PTX": (shipped("tracer/kernels/stencil.ptx"), read_ptx, False, True),
    "PTX (Vulkan-Sim)": (
        shipped("examples/shaders/vulkan-sim/MESA_SHADER_CLOSEST_HIT_3.ptx"), read_dialect, False, True),
    "TOML (GPU)": (shipped("replay/gpu/mobile.toml"), read_gpu, False, True),
    "TOML (energy table)": (
        shipped("replay/energy/tables/accelwattch-sass.toml"), accepts(lambda file: read_table(str(file))), False, True,
    ),
    "TOML (launch)": (shipped("tracer/kernels/stencil.toml"), accepts(read_launch_file), False, True),
    "TOML (program)": (shipped("tracer/programs/shadows.toml"), accepts(read_config), False, True),
    "TOML (network)": (
        beside("examples/cnn/mobilenet.toml", "examples/cnn/kernels/kernels.ptx"), accepts(read_network), False, True),
    "gpgpusim.config": (made("gpgpusim.config", lambda: CONFIG), read_gpu, False, True),
    "GLB": (made("quad.glb", quad_glb), read_scene, False),
    "GLB (document)": (made("quad.glb", quad_glb), read_scene, False, False, Path.write_bytes, other_document),
    "scene pack": (make_pack, read_pack, False, True),
    "scene pack (documents)": (make_pack, read_pack, False, False, Path.write_bytes, other_document),
    "OBJ": (made("quad.obj", lambda: OBJ), read_scene, False, True),
    "PLY": (made("one.ply", lambda: PLY), read_scene, False, True),
    "pixel list": (made("some.pixels", lambda: "# x y\n0 0\n3 2\n1 1\n" * 5),
                   accepts(lambda file: read_pixels(file, (4, 4))), False, True),
    "measured quantities": (
        shipped("silicon/measured/h100_suite.csv"), accepts(read_quantities), False, True),
    "table of frames": (make_film, accepts(lambda file: read_film(file.parent)), False, True),
    "study of changes": (made("a.json", lambda: json.dumps(STUDY)), accepts(read_study), False, True),
    "estimate": (made("a.json", lambda: json.dumps(ESTIMATE)), accepts(read_forecast), False, True),
    "animation path": (
        made("a.json", lambda: json.dumps(PATH)),
        accepts(lambda file: scenes(load_scene("cornell"), str(file), 4)), False, True),
    "TOML (device)": (
        shipped("tuner/devices/geforce-580.toml"), accepts(lambda file: read_device(str(file))), False, True),
    "Nsight CSV": (made("ncu.csv", lambda: RAW), accepts(read_launches), False, True),
}  # fmt: skip
