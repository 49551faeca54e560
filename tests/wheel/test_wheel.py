"""The wheel: one top-level package with every data file, which works beside others' ``replay`` and ``formats``.

Nothing is downloaded: the fresh environment sees the packages of this one, but not Rayplay's development install.
"""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "animation",
    "crisp",
    "cuda",
    "formats",
    "hypa",
    "ptx",
    "replay",
    "report",
    "silicon",
    "sweep",
    "tracer",
    "tuner",
    "zatel",
)
SOURCES = ("rayplay", *PACKAGES, "traces/sample.trace")
FILES = ("pyproject.toml", "README.md", "LICENSE", "constraints.txt")
NEIGHBOUR = "OWNER = 'another project'\n"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built of a copy: what an earlier build left in the checkout has no part in it."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for folder in SOURCES:
        shutil.copytree(ROOT / folder, source / folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for file in FILES:
        shutil.copy(ROOT / file, source / file)
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    checked([sys.executable, "-m", "pip", "wheel", str(source), *options, "--wheel-dir", str(out)])
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``site-packages`` of a fresh environment with the wheel, beside packages called ``replay`` and ``formats``."""
    environment = tmp_path_factory.mktemp("environment")
    checked([sys.executable, "-m", "venv", "--without-pip", str(environment)])
    found = next(environment.glob("lib/python*/site-packages"))
    here = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    (found / "dependencies.pth").write_text("\n".join(here) + "\n")
    for name in ("replay", "formats"):
        (found / name).mkdir()
        (found / name / "__init__.py").write_text(NEIGHBOUR)
    options = ["--no-deps", "--no-index", "--disable-pip-version-check"]
    python = str(environment / "bin" / "python")
    checked([sys.executable, "-m", "pip", "--python", python, "install", *options, str(wheel)])
    return found


@pytest.fixture
def run(site: Path, tmp_path: Path) -> Run:
    """Run a program of the fresh environment in an empty folder."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RAYPLAY"))}
    programs = site.parents[2] / "bin"

    def start(program: str, *words: str) -> subprocess.CompletedProcess[str]:
        return checked([str(programs / program), *words], cwd=tmp_path, env=inherited)

    return start


def checked(
    command: Sequence[str], cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command; the test fails with what it said unless it ends with 0."""
    ended = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{command}\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}"
    return ended


def test_the_wheel_holds_one_package_with_every_file(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"rayplay"}
    own = [path for path in (ROOT / "rayplay").iterdir() if path.name not in PACKAGES]
    files = [file for path in [*own, *(ROOT / name for name in PACKAGES)] for file in (path, *path.rglob("*"))]
    relative = {file.relative_to(ROOT / "rayplay" if file.is_relative_to(ROOT / "rayplay") else ROOT)
                for file in files if file.is_file() and "__pycache__" not in file.parts}  # fmt: skip
    assert {f"rayplay/{path}" for path in relative} <= set(names)


def test_the_neighbours_stay_what_they_are(run: Run) -> None:
    program = "import formats, replay, rayplay.replay; print(replay.OWNER, formats.OWNER, rayplay.replay.__file__)"
    assert run("python", "-c", program).stdout.startswith("another project another project ")


def test_the_sample_runs_from_another_folder(run: Run, tmp_path: Path) -> None:
    assert "11 tables" in run("rayplay", "data", "check", "sample").stdout
    run("rayplay", "trace", "cornell", "--size", "16x8", "--samples", "1")
    metrics = json.loads(run("rayplay", "replay", "cornell-path-tracing", "--gpu", "mobile", "--json").stdout)
    cycles = next(record["value"] for record in metrics if record["metric"] == "gpu_cycles")
    assert cycles > 5000
    assert f"{cycles:,}" in run("rayplay", "show", "cornell-path-tracing-mobile").stdout
    assert {path.name for path in tmp_path.iterdir()} == {"traces", "results"}


def test_kernels_are_traced_exported_and_imported(run: Run, tmp_path: Path) -> None:
    run("rayplay", "trace", "vector_add")
    run("rayplay", "data", "export", "vector_add", "--out", "vectoradd")
    run("rayplay", "data", "import", "vectoradd/kernelslist.g", "--out", "back.trace")
    assert "all laws hold" in run("rayplay", "data", "check", "back").stdout


def test_the_installation_is_whole(run: Run) -> None:
    found = json.loads(run("rayplay", "doctor", "--json").stdout)
    assert {"python", "numba", "machine code", "GPUs", "cache"} <= {check["name"] for check in found}
    assert not [check for check in found if check["verdict"] == "wrong"]


def test_packages_start_as_modules(run: Run) -> None:
    for package in ("formats", "replay", "ptx", "tracer", "zatel"):
        assert f"python -m {package}" in run("python", "-m", f"rayplay.{package}", "--help").stdout
