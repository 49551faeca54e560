"""The command line: what it writes, and how it ends when the user can mend something."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from formats.command import run
from formats.reader import open_trace
from tracer.__main__ import main

DATA = Path(__file__).parent / "data"
SMALL = ["--size", "16x8", "--samples", "1"]


def ends(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Exit code and standard error of ``python -m tracer ARGUMENTS``."""
    with pytest.raises(SystemExit) as caught:
        run("tracer", lambda: main(arguments))
    return int(caught.value.code or 0), capsys.readouterr().err


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    code, message = ends(arguments, capsys)
    assert code == 2
    assert len(message.splitlines()) == 1, message
    assert message.startswith("tracer: error: ")
    return message


def test_render_writes_trace_picture_and_provenance(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "cornell.trace"
    assert main(["render", "cornell", *SMALL, "--seed", "3", "--out", str(out)]) == 0
    assert "rays traced" in capsys.readouterr().out
    assert (tmp_path / "cornell.png").read_bytes().startswith(b"\x89PNG")
    trace = open_trace(out)
    assert trace.image_size == (16, 8)
    assert {"nodes", "image", "threads", "rays", "characterisation"} <= set(trace.tables)
    provenance = trace.manifest.provenance
    assert provenance["seed"] == 3
    assert set(provenance["inputs"]) == {"path-tracing.ptx", "path-tracing.toml"}
    assert all(len(digest) == 64 for digest in provenance["inputs"].values())
    assert str(tmp_path) not in json.dumps(provenance), "a trace is the same wherever it is made"


def test_a_scene_file_is_hashed(tmp_path: Path, data: Path) -> None:
    out = tmp_path / "cornell.trace"
    assert main(["render", str(data / "scenes/cornell.json"), *SMALL, "--out", str(out)]) == 0
    assert "cornell.json" in open_trace(out).manifest.provenance["inputs"]


def test_an_independent_program_runs_on_any_scene(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Normals and barycentrics through payload registers, records, vertex data: none of it through our header."""
    out = tmp_path / "normals.trace"
    program = ["--program", str(DATA / "normals.ptx")]
    assert main(["render", "cornell", "--size", "64x64", *program, "--out", str(out)]) == 0
    columns = open_trace(out).read("image")
    seen = np.stack([columns[name] for name in ("red", "green", "blue")], axis=-1).reshape(64, 64, 3)
    srgb = np.where(seen <= 0.0031308, 12.92 * seen, 1.055 * seen ** (1 / 2.4) - 0.055)
    assert np.allclose(srgb[0, 0], (0.25, 0.5, 1.0), atol=1 / 128), "the background of the miss record"
    back = srgb[28, 32]
    assert back[2] == pytest.approx(0.75, abs=1 / 128), "the back wall's normal is z, of which the blend leaves 3/4"
    left = srgb[32, 4]
    assert left[0] >= 0.75 - 1 / 128, "the left wall's normal is x, plus a barycentric weight"
    assert left[2] < 1 / 128
    rays = open_trace(out).read("rays", ["instance"])
    hit = (rays["instance"] >= 0).reshape(64, 64)
    assert np.array_equal(hit, np.abs(srgb - (0.25, 0.5, 1.0)).max(axis=-1) > 1 / 64)


def test_pixels_outside_the_image_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pixels = tmp_path / "pixels.txt"
    pixels.write_text("0 0\n16 3\n")
    message = refused(
        ["render", "cornell", *SMALL, "--pixels", str(pixels), "--out", str(tmp_path / "x.trace")], capsys
    )
    assert f"{pixels}:2" in message
    assert "16x8" in message
    assert not (tmp_path / "x.trace").exists()


def test_a_camera_that_sees_nothing_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "nothing.trace"
    camera = ["--camera", "eye=0,0,5000,at=0,0,6000"]
    assert main(["render", "cornell", *SMALL, *camera, "--out", str(out)]) == 0
    assert "warning: no ray hit anything" in capsys.readouterr().err
    assert set(open_trace(out).read("rays", ["instance"])["instance"].tolist()) == {-1}
    assert main(["render", "cornell", *SMALL, "--out", str(out)]) == 0
    assert "warning" not in capsys.readouterr().err


def test_a_scene_without_triangles_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.obj"
    empty.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\n")
    message = refused(["render", str(empty), *SMALL, "--out", str(tmp_path / "x.trace")], capsys)
    assert str(empty) in message
    assert "triangle" in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["render", "cornel"], "did you mean cornell"),
        (["render", "cornell", "--camera", "eye=1"], "--camera: eye must be 3 finite numbers"),
        (["render", "cornell", "--program-config", "x.toml"], "--program-config needs --program"),
        (["render", "cornell", "--program", "missing.ptx"], "missing"),
        (["render", "cornell", "--pixels", "missing.txt"], "missing.txt"),
        (["render", "wknd", "--program", str(DATA / "normals.ptx")], "needs a hit_group with geometry 'spheres'"),
    ],
)
def test_mistakes_end_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert message in refused([*arguments, "--out", str(tmp_path / "x.trace")], capsys)
    assert not list(tmp_path.iterdir()), "nothing is left behind"


def test_a_syntax_error_has_line_and_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "broken.ptx"
    program.write_text((DATA / "normals.ptx").read_text().replace("cvt.rn.f32.u32", "cvt.rn.f32.u32 [", 1))
    (tmp_path / "broken.toml").write_text((DATA / "normals.toml").read_text())
    message = refused(["render", "cornell", *SMALL, "--program", str(program), "--out", str(tmp_path / "x")], capsys)
    line = 1 + (DATA / "normals.ptx").read_text()[: (DATA / "normals.ptx").read_text().index("cvt.rn")].count("\n")
    assert f"broken.ptx:{line}:" in message


def test_help_starts_without_the_heavy_libraries() -> None:
    script = "import sys; sys.argv = ['tracer', '--help']; import runpy\n"
    script += "try: runpy.run_module('tracer', run_name='__main__')\nexcept SystemExit: pass\n"
    script += "print([n for n in ('numba', 'llvmlite', 'pyarrow', 'numpy') if n in sys.modules])"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"
    assert "python -m tracer render cornell" in result.stdout


def test_scenes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("wknd") and " 487 " in line for line in lines)
    assert any(line.startswith("cornell") and " 36 " in line for line in lines)
