"""The command line: what it writes, and how it ends when the user can mend something."""

import json
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.command import run
from rayplay.tracer.__main__ import main

DATA = Path(__file__).parents[1] / "data"
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
    said = capsys.readouterr()
    assert "rays traced" in said.out
    assert said.err == f"wrote {out} and {tmp_path / 'cornell.png'}\n"
    assert (tmp_path / "cornell.png").read_bytes().startswith(b"\x89PNG")
    trace = open_trace(out)
    assert trace.image_size == (16, 8)
    assert {"nodes", "image", "threads", "rays", "characterisation"} <= set(trace.tables)
    provenance = trace.manifest.provenance
    assert provenance["seed"] == 3
    assert set(provenance["inputs"]) == {"path-tracing.ptx", "path-tracing.toml"}
    assert all(len(digest) == 64 for digest in provenance["inputs"].values())
    assert str(tmp_path) not in json.dumps(provenance), "a trace is the same wherever it is made"


def test_the_files_of_a_scene_are_hashed(tmp_path: Path, data: Path) -> None:
    out = tmp_path / "cornell.trace"
    assert main(["render", str(data / "scenes/cornell.json"), *SMALL, "--out", str(out)]) == 0
    assert {"cornell.json", "cornell.glb"} < set(open_trace(out).manifest.provenance["inputs"])


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


def test_a_program_made_by_clang_that_traces_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "gradient.trace"
    assert main(["render", "cornell", *SMALL, "--program", str(DATA / "gradient.ptx"), "--out", str(out)]) == 0
    assert "warning" not in capsys.readouterr().err
    trace = open_trace(out)
    assert trace.rows("rays") == 0
    image = trace.read("image")
    assert np.allclose(image["red"], image["pixel_x"] / 16.0)
    assert set(image["green"].tolist()) == {0.25}


def test_an_any_hit_program_runs_where_its_hit_group_names_it(tmp_path: Path) -> None:
    """Triangles are opaque by themselves; naming an any-hit program makes them ask it."""
    found = {}
    for name, extra in (("opaque", ""), ("holes", 'any_hit = "__anyhit__odd"')):
        config = tmp_path / f"{name}.toml"
        config.write_text((DATA / "normals.toml").read_text().replace("closest_hit", f"{extra}\nclosest_hit"))
        out = tmp_path / f"{name}.trace"
        program = ["--program", str(DATA / "normals.ptx"), "--program-config", str(config)]
        assert main(["render", "cornell", "--size", "24x24", *program, "--out", str(out)]) == 0
        rays = open_trace(out).read("rays", ["primitive", "segment"])
        found[name] = set(rays["primitive"].tolist()), int(rays["segment"].max())
    assert any(primitive % 2 == 0 for primitive in found["opaque"][0])
    assert found["opaque"][1] == 0, "nothing was suspended"
    assert all(primitive % 2 for primitive in found["holes"][0]), "odd primitives, and -1 for a miss"
    assert found["holes"][1] > 0


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
        (["render", "cornel"], "did you mean 'cornell'"),
        (["render", "cornell", "--camera", "eye=1"], "--camera: eye must be 3 finite numbers"),
        (["render", "cornell", "--program-config", "x.toml"], "--program-config needs --program"),
        (
            ["render", "cornell", "--workload", "shadows", "--bounces", "3"],
            "--bounces must not be given with --workload",
        ),
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


def test_a_call_that_is_not_supported_is_named_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (DATA / "normals.ptx").read_text()
    old = "call (%r1), _optix_get_launch_index_x, ();"
    assert old in text
    program = tmp_path / "strange.ptx"
    program.write_text(text.replace(old, "call (%r1), _optix_get_transform_list_size, ();"))
    (tmp_path / "strange.toml").write_text((DATA / "normals.toml").read_text())
    message = refused(["render", "cornell", *SMALL, "--program", str(program), "--out", str(tmp_path / "x")], capsys)
    assert "_optix_get_transform_list_size" in message
    assert f"strange.ptx:{1 + text[: text.index(old)].count(chr(10))}" in message


def start(out: Path, *more: str, limit_bytes: int | None = None) -> "subprocess.Popen[str]":
    """``python -m tracer render`` as a process of its own, unable to write files longer than ``limit_bytes``."""

    def limit() -> None:
        if limit_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    command = [sys.executable, "-m", "tracer", "render", *more, "--out", str(out)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=limit)


def test_a_full_disk_leaves_the_old_trace(tmp_path: Path) -> None:
    out = tmp_path / "cornell.trace"
    assert main(["render", "cornell", "--size", "64x64", "--samples", "1", "--out", str(out)]) == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    process = start(out, "cornell", "--size", "64x64", "--samples", "1", "--seed", "2", limit_bytes=100_000)
    errors = process.communicate(timeout=300)[1]
    assert process.returncode == 2, errors
    assert len(errors.splitlines()) == 1, errors
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cornell.png", "cornell.trace"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupting_leaves_nothing_behind(tmp_path: Path, number: signal.Signals, code: int) -> None:
    process = start(tmp_path / "long.trace", "forest", "--size", "1024x1024", "--samples", "64")
    deadline = time.monotonic() + 300
    while not any(tmp_path.iterdir()) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(number)
    errors = process.communicate(timeout=300)[1]
    assert process.returncode == code, errors
    assert errors.splitlines()[-1] == "tracer: error: interrupted; nothing incomplete stands under a final name"
    assert not list(tmp_path.iterdir())


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
    notes = [line.split(maxsplit=4)[4] for line in lines[1:]]
    assert not [note for note in notes if "`" in note or any(word in note for word in ("trees trees", "triangles tri"))]
