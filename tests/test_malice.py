"""Nothing in a file is executed, unpickled or fetched: not by the sources, not by hostile files."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from rayplay.formats.schema.manifest import MANIFEST, digest_of
from rayplay.formats.testing.generate import make_trace
from tests.reliability.specimens import OBJ, PACK, quad_glb

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("formats", "ptx", "tracer", "replay", "zatel")
SOURCES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
NEVER = {
    "marshal", "shelve", "dill", "cloudpickle", "urllib.request", "http.client", "requests", "ftplib",
}  # fmt: skip
WHERE = {
    "socket": {"formats/hdf5/worker.py", "formats/hdf5/messages.py", "formats/hdf5/source.py"},
    "subprocess": {"formats/hdf5/source.py", "tracer/slang/compile.py"},
    "pickle": {"formats/guard/numba_cache.py"},
}
"""Modules that few may use: the sockets to the child process, the child itself, a compiler of shaders, compiled code
under its seal."""


def imports(tree: ast.AST) -> set[str]:
    """Full names of the modules that a file imports, wherever the import stands."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def calls(tree: ast.AST) -> set[str]:
    """Names of the functions that a file calls, and of the keywords that it sets to True."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found |= {node.func.id} if isinstance(node.func, ast.Name) else set()
            found |= {ast.unparse(node.func)} if isinstance(node.func, ast.Attribute) else set()
            found |= {
                f"{k.arg}=True" for k in node.keywords if isinstance(k.value, ast.Constant) and k.value.value is True
            }
    return found


RUNS = {"replay/plugin/load.py": {"exec"}, "replay/jit/hooks.py": {"exec"}}
"""Where text is run: a plug-in that the user names (SECURITY.md); a hook's call, in the engine's words."""


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_code_comes_out_of_a_file(path: Path) -> None:
    tree, name = ast.parse(path.read_text()), str(path.relative_to(ROOT))
    used = imports(tree)
    assert not used & NEVER
    for module, allowed in WHERE.items():
        assert module not in used or name in allowed, f"{name} may not import {module}"
    forbidden = {"eval", "exec", "os.system", "os.popen", "shell=True", "allow_pickle=True", "yaml.load", "__import__"}
    assert calls(tree) & forbidden == RUNS.get(name, set())


WATCH = """
import sys
from pathlib import Path
folder = Path(sys.argv[1])
import rayplay.formats, h5py, trimesh, PIL.Image, pyarrow.parquet, trimesh.exchange.gltf, trimesh.exchange.obj
from rayplay.formats.guard.errors import UserError
from rayplay.formats.exchange.accelsim.files import read_list
from rayplay.formats.dataset.reader import open_trace
from rayplay.tracer.scenes import load
for name in ("warm.obj", "warm.glb"):
    load(folder / "inside" / name)
seen = []
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "os.system", "pickle.find_class"):
        seen.append(f"{event} {arguments}")
    if event == "open" and "secret" in str(arguments[0]):
        seen.append(f"open {arguments[0]}")
sys.addaudithook(watch)
for path in sorted((folder / "inside").iterdir()):
    if path.name.startswith("warm"):
        continue
    try:
        read_list(path) if path.suffix == ".g" else open_trace(path) if path.suffix == ".trace" else load(path)
        print(path.name, "accepted")
    except UserError as error:
        print(path.name, "refused", error)
print("SEEN", seen)
"""


def write_hostile_files(folder: Path) -> int:
    """Make files in ``folder/inside`` that name files outside; return their number."""
    inside = folder / "inside"
    inside.mkdir()
    (folder / "secret.mtl").write_text("newmtl a\nmap_Kd secret.png\n")
    (folder / "secret.bin").write_bytes(bytes(1000))
    (folder / "secret.traceg").write_text("secret")
    (inside / "warm.obj").write_text(OBJ)
    (inside / "warm.glb").write_bytes(quad_glb())
    (inside / "warm-kernel.traceg").symlink_to(folder / "secret.traceg")
    for number, name in enumerate(("../secret.mtl", str(folder / "secret.mtl"), "http://127.0.0.1:9/secret.mtl")):
        (inside / f"mtl-{number}.obj").write_text(OBJ.replace("quad.mtl", name))
    document = json.loads(quad_glb()[20 : 20 + int.from_bytes(quad_glb()[12:16], "little")])
    uris = ("../secret.bin", "%2e%2e/secret.bin", str(folder / "secret.bin"), "http://[::1]/secret", "file:///dev/zero")
    for number, uri in enumerate(uris):
        document["buffers"] = [{"byteLength": 1000, "uri": uri}]
        (inside / f"buffer-{number}.gltf").write_text(json.dumps(document))
    for number, name in enumerate(("kernel-../../secret.traceg", "kernel/secret.traceg", "kernel.traceg")):
        (inside / f"list-{number}.g").write_text(f"{name}\n")
    (inside / "kernel.traceg").symlink_to(folder / "secret.traceg")
    (inside / "pack.json").write_text(json.dumps(PACK | {"mesh": "../secret.bin"}))
    trace = make_trace(inside / "a.trace")
    manifest = json.loads((trace / MANIFEST).read_text())
    manifest["tables"]["visits"][0]["file"] = "../secret.bin"
    (trace / MANIFEST).write_text(json.dumps(manifest | {"digest": digest_of(manifest)}))
    return sum(not path.name.startswith("warm") for path in inside.iterdir())


def test_hostile_files_reach_nothing_outside_their_folder(tmp_path: Path) -> None:
    """Each names a file outside, a URL or a device; none is opened, no connection is tried."""
    made = write_hostile_files(tmp_path)
    run = subprocess.run([sys.executable, "-c", WATCH, str(tmp_path)], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    *lines, seen = run.stdout.splitlines()
    assert seen == "SEEN []"
    said = dict(line.split(" ", 1) for line in lines)
    accepted = {name for name, text in said.items() if text == "accepted"}
    assert accepted == {f"mtl-{number}.obj" for number in range(3)}, "materials are not read, all else is refused"
    assert len(said) == made
