"""Hostile scenes, meshes, textures and pictures, and folders of data that hold no scenes."""

import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.hostile.tables import text
from tests.hostile.verbs import VERBS, Case
from tests.reliability.specimens import OBJ, PACK, PLY, glb, quad_glb
from tests.tracer.scenes.test_limits import no_buffer

SIZE = int.from_bytes(quad_glb()[12:16], "little")
DOCUMENT, BINARY = quad_glb()[20 : 20 + SIZE], quad_glb()[28 + SIZE :]
PLY_HEAD = PLY.partition("end_header")[0].replace("ascii", "binary_little_endian")
BARE = PACK | {"mesh": None}
SCENE_VERBS = frozenset(VERBS["glb"]) - {"animate"}  # of which that renders and replays
LEAF = {"grey": {"model": "lambertian", "albedo": [1, 1, 1], "alpha_texture": "leaf.png"}}


def data(name: str, content: bytes) -> Callable[[Path], object]:
    """Write a file."""
    return lambda folder: (folder / name).write_bytes(content)


def changed(change: Callable[[dict[str, Any]], object], suffix: str = "glb") -> Callable[[Path], object]:
    """Write a glTF file whose document ``change`` has changed."""
    document = json.loads(DOCUMENT)
    change(document)
    return data(f"a.{suffix}", glb(document, BINARY) if suffix == "glb" else json.dumps(document).encode())


def pack(**more: Any) -> Callable[[Path], object]:
    """Write a scene pack of a sphere, changed."""
    return text("a.json", json.dumps(BARE | more))


def camera(value: str) -> Callable[[Path], object]:
    """Write a scene pack whose camera looks from here."""
    return text("a.json", json.dumps(BARE).replace('"eye": [1,', f'"eye": [{value},'))


def png(width: int, height: int, rows: int = 1) -> bytes:
    """A PNG picture of 8-bit RGBA that says this size; its data are ``rows`` rows of zeros, 65,536 pixels at most."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0))
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(bytes(1 + 4 * min(width, 1 << 16))) for _ in range(rows)) + packer.flush()
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def with_leaf(content: bytes) -> Callable[[Path], object]:
    """Write a scene pack with an alpha texture."""

    def make(folder: Path) -> None:
        (folder / "leaf.png").write_bytes(content)
        (folder / "quad.glb").write_bytes(quad_glb())
        (folder / "a.json").write_text(json.dumps(PACK | {"materials": LEAF}))

    return make


def data_folder(make: Callable[[Path], object]) -> Callable[[Path], object]:
    """Make what ``RAYPLAY_DATA=data`` finds in ``data/scenes``."""

    def write(folder: Path) -> None:
        (folder / "data" / "scenes").mkdir(parents=True)
        make(folder / "data" / "scenes")

    return write


def circle(document: dict[str, Any]) -> None:
    """A node below itself."""
    document["nodes"][2]["children"] = [1]


def chain(document: dict[str, Any]) -> None:
    """Nodes one below the other."""
    document["nodes"] = [{"children": [number + 1]} for number in range(200_000)] + [{"mesh": 0}]
    document["scenes"] = [{"nodes": [0]}]


def accessor(**more: Any) -> Callable[[Path], object]:
    """Write a GLB file the accessor of whose vertices says more."""
    return changed(lambda document: document["accessors"][0].update(more))


def view(**more: Any) -> Callable[[Path], object]:
    """Write a GLB file the view of whose vertices says more."""
    return changed(lambda document: document["bufferViews"][0].update(more))


def buffer(**more: Any) -> Callable[[Path], object]:
    """Write a .gltf file whose buffer says more."""
    return changed(lambda document: document["buffers"][0].update(more), "gltf")


SPARSE = {"count": 1 << 40, "indices": {"bufferView": 2, "componentType": 5123}, "values": {"bufferView": 0}}
HERE = {"RAYPLAY_DATA": "data"}
LISTS = frozenset({"doctor"})
NAMED = frozenset({"scenes", "doctor"})
CASES = (
    Case("NaN camera", "json", camera("NaN"), "a.json: must be JSON: numbers must be finite, not NaN: line 1"),
    Case("camera at 1e999", "json", camera("1e999"), "numbers must be finite, not 1e999"),
    Case("camera at 1e39", "json", camera("1e39"), "camera.eye must be finite"),
    Case("camera of 5,000 digits", "json", camera("9" * 5000), "must be JSON|finite"),
    Case("field of view of 0", "json", pack(camera=PACK["camera"] | {"vfov_deg": 0}), "vfov must be"),
    Case("scene nested 10^6 deep", "json", text("a.json", "[" * 10**6), "must be JSON"),
    Case("scene of 5 MB", "json", pack(name="x" * 5_000_000), "--limit text-bytes"),
    Case("null scene", "json", text("a.json", "null"), "format must be scene-pack/1"),
    Case("empty scene", "json", text("a.json", ""), "must be JSON"),
    Case("list as a model", "json", pack(materials={"grey": {"model": []}}), "model|wrong type"),
    Case("sphere of radius -1", "json", pack(spheres=[PACK["spheres"][0] | {"radius": -1}]), "radius above 0"),
    Case("70,000 materials", "json", pack(materials={str(n): {"model": "light"} for n in range(70_000)}),
         "materials must be at most|model must be"),
    Case("mesh of another folder", "json", pack(mesh="../../../../../../etc/passwd"), "in its own folder"),
    Case("mesh that is a device", "json", pack(mesh="/dev/zero"), "in its own folder"),
    Case("mesh that is the folder", "json", pack(mesh="."), "missing"),
    Case("mesh with NUL", "json", pack(mesh="a\0b"), "named by text"),
    Case("scene named with escapes", "json", pack(name="\x1b[31m\n", mesh="\x1b[31m"), "missing"),
    Case("texture of 65535 x 65535", "json", with_leaf(png(65535, 65535)), "--limit texture-pixels"),
    Case("texture of 2^31 x 2^31", "json", with_leaf(png((1 << 31) - 1, (1 << 31) - 1)), "leaf.png"),
    Case("texture cut in its middle", "json", with_leaf(png(512, 512, 512)[:200]), "leaf.png"),
    Case("texture that is a text", "json", with_leaf(b"P3 1 1 255 0 0 0"), "leaf.png: must be a picture"),
    Case("unknown required extension", "glb", changed(lambda d: d.update(extensionsRequired=["X_y"])), "found X_y"),
    Case("a billion elements without bytes", "glb", changed(no_buffer), "at most"),
    Case("2^60 elements", "glb", accessor(count=1 << 60), "a.glb"),
    Case("elements from -8 on", "glb", accessor(byteOffset=-8), "a.glb"),
    Case("elements 2^40 apart", "glb", view(byteStride=1 << 40), "a.glb"),
    Case("view past its buffer", "glb", view(byteOffset=1 << 40), "a.glb"),
    Case("2^40 sparse elements", "glb", accessor(sparse=SPARSE), "a.glb"),
    Case("vertices of NaN", "glb", data("a.glb", glb(json.loads(DOCUMENT), b"\xff" * len(BINARY))), "a.glb"),
    Case("two roots, one below the other", "glb", changed(lambda d: d.update(scenes=[{"nodes": [1, 2]}])), "root"),
    Case("nodes in a circle", "glb", changed(circle), "node"),
    Case("200,000 nodes in a chain", "glb", changed(chain), "deep|nest", SCENE_VERBS, SCENE_VERBS),
    Case("GLB chunk of 2^32 - 1 bytes", "glb", data("a.glb", quad_glb()[:12] + b"\xff" * 4 + quad_glb()[16:]), "a.glb"),
    Case("GLB of 12 bytes", "glb", data("a.glb", quad_glb()[:12]), "a.glb"),
    Case("buffer of the network", "gltf", buffer(uri="http://example.com/a.bin"), "a.gltf"),
    Case("buffer of another folder", "gltf", buffer(uri="../secret.bin"), "a.gltf"),
    Case("buffer that is no base64", "gltf", buffer(uri="data:;base64,%%%"), "a.gltf"),
    Case("document of 40 MB", "gltf", changed(lambda d: d.update(extras="x" * 40_000_000), "gltf"),
         "--limit gltf-bytes"),
    Case("OBJ of 40 MB", "obj", text("a.obj", OBJ + "#" * 40_000_000), "--limit obj-bytes"),
    Case("OBJ line of 2 MB", "obj", text("a.obj", OBJ + "f" + " 1" * 1_000_000), "a line must be of at most"),
    Case("vertex number 0", "obj", text("a.obj", OBJ + "f 0 1 2\n"), r"a.obj:\d+: a number of a face"),
    Case("vertex number 2^31 - 1", "obj", text("a.obj", OBJ + f"f 1 2 {(1 << 31) - 1}\n"), "a vertex number must be"),
    Case("OBJ vertex of NaN", "obj", text("a.obj", OBJ + "v nan 0 0\nf 1 2 5\n"), "must be finite"),
    Case("OBJ vertex at 1e300", "obj", text("a.obj", OBJ + "v 1e300 0 0\nf 1 2 5\n"), "must be finite"),
    Case("OBJ of NUL bytes", "obj", data("a.obj", bytes(1 << 20)), "a.obj"),
    Case("PLY of 10^12 faces", "ply", text("a.ply", PLY.replace("face 1", f"face {10**12}")), "a line for each"),
    Case("PLY text of 20 MB", "ply", text("a.ply", PLY + "\n" * 20_000_000), "--limit mesh-text-bytes"),
    Case("binary PLY of 10^12 faces", "ply",
         text("a.ply", PLY_HEAD.replace("face 1", f"face {10**12}") + "end_header\n"), "a.ply"),
    Case("binary PLY of 10^12 empty elements", "ply",
         text("a.ply", PLY_HEAD + f"element nothing {10**12}\nend_header\n"), "a.ply"),
    Case("PLY header of 30 MB", "ply", text("a.ply", PLY_HEAD + "comment x\n" * 3_000_000), "a.ply"),
    Case("PLY of 100,000 kinds of elements", "ply", text(
        "a.ply", PLY_HEAD + "".join(f"element e{n} 0\nproperty int x\n" for n in range(100_000)) + "end_header\n"),
         "a.ply"),
    Case("STL of 2^32 - 1 facets", "stl", data("a.stl", bytes(80) + b"\xff" * 4 + bytes(50)), "a.stl"),
    Case("STL of a million solids", "stl", text("a.stl", "solid x\nendsolid x\n" * 1_000_000), "a.stl|mesh-text-bytes"),
    Case("no data folder", "data", lambda folder: None, "no scene|has no scenes", NAMED, given=HERE),
    Case("data folder that is a file", "data", text("data", ""), "no scene|has no scenes", NAMED, given=HERE),
    Case("data folder that is a device", "data", lambda folder: None, "no scene|has no scenes", NAMED,
         given={"RAYPLAY_DATA": "/dev/null"}),
    Case("data folder with 5,000 letters", "data", lambda folder: None, "no scene|has no scenes|too long", NAMED,
         given={"RAYPLAY_DATA": "x" * 5000}),
    Case("data folder in a circle", "data", lambda folder: (folder / "data").symlink_to("data"),
         "no scene|has no scenes|symbolic links", NAMED, given=HERE),
    Case("scenes that are a file", "data", lambda folder: ((folder / "data").mkdir(), text("data/scenes", "")(folder)),
         "no scene|has no scenes", NAMED, given=HERE),
    Case("scene that is a folder", "data", data_folder(lambda folder: (folder / "a.json").mkdir()),
         "a", LISTS, given=HERE),
    Case("scene of another kind", "data", data_folder(text("a.json", '{"stats": 1}')), "a.json", LISTS, given=HERE),
    Case("scene of a list", "data", data_folder(text("a.json", "[]")), "a.json", LISTS, given=HERE),
    Case("scene with text as counts", "data", data_folder(text("a.json", json.dumps(
        {"stats": {"triangles_unique": "many", "triangles_instanced": None, "spheres": []}, "stands_for": 1}))),
         "a.json", LISTS, given=HERE),
    Case("scene that is a pipe", "data", data_folder(lambda folder: __import__("os").mkfifo(folder / "a.json")),
         "a", LISTS, given=HERE),
)  # fmt: skip
