"""``python -m formats``: what it prints, and one line with exit code 2 for what the user can mend."""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rayplay.formats.__main__ import main
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.result import ResultWriter, open_result
from rayplay.formats.exchange.frames import from_frames
from rayplay.formats.guard.command import run
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.look.show import extent
from rayplay.formats.schema.manifest import MANIFEST
from rayplay.formats.testing.generate import make_trace

ROOT = Path(__file__).resolve().parents[2]


def formats(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    """Run the command line in this process; returns its exit code."""
    monkeypatch.setattr(sys, "argv", ["formats", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        run("formats", main)
    return end.value.code


def make_result(path: Path) -> None:
    """A result with two metrics."""
    with ResultWriter(path) as writer:
        entry = {"value": 12345, "unit": "cycles", "kind": "max", "definition": "Last cycle of the launch."}
        writer.summary({"gpu_cycles": entry, "gpu_ipc": entry | {"value": None}})


def test_show_prints_every_column_and_the_first_rows(monkeypatch, capsys, sample: Path) -> None:
    assert formats(monkeypatch, "show", sample, "--rows", 2) == 0
    text = capsys.readouterr().out
    trace = open_trace(sample)
    for table in map(trace.layout.table, trace.tables):
        assert f"{table.name}: {trace.rows(table.name):,} rows" in text
        for column in table.columns:
            assert column.doc in text
    assert "bytes per row on disk" in text
    assert '"formats.generate"' in text
    assert "image: 40 x 6 pixels" in text


def test_show_prints_metrics_of_a_result(monkeypatch, capsys, tmp_path: Path) -> None:
    make_result(tmp_path / "a.result")
    assert formats(monkeypatch, "show", tmp_path / "a.result") == 0
    text = capsys.readouterr().out
    assert "12,345 cycles" in text
    assert "not defined" in text


def test_check_says_that_all_laws_hold(monkeypatch, capsys, sample: Path) -> None:
    assert formats(monkeypatch, "check", sample) == 0
    assert "all laws hold" in capsys.readouterr().out


def test_check_prints_the_problem(monkeypatch, capsys, tmp_path: Path) -> None:
    path = make_trace(tmp_path / "a.trace")
    document = json.loads((path / MANIFEST).read_text())
    document["tables"]["accesses"][0]["sha256"] = "0" * 64
    del document["digest"]
    (path / MANIFEST).write_text(json.dumps(document))
    assert formats(monkeypatch, "check", path) == 1
    out = capsys.readouterr().out
    assert out.startswith(f"{path} breaks laws of docs/formats.md:\nfiles_intact: table accesses")
    assert f"{path}: 1 problem (" in out


def test_verify_names_every_damage(monkeypatch, capsys, tmp_path: Path) -> None:
    path = make_trace(tmp_path / "a.trace")
    assert formats(monkeypatch, "verify", path) == 0
    assert "every byte is as it was written" in capsys.readouterr().out
    for name in ("visits-00000.parquet", "warps-00000.parquet"):
        data = bytearray((path / name).read_bytes())
        data[len(data) // 3] ^= 1
        (path / name).write_bytes(data)
    assert formats(monkeypatch, "verify", path) == 2
    out = capsys.readouterr().out
    assert "visits-00000.parquet: table visits: SHA-256 must be" in out
    assert "warps-00000.parquet: table warps: SHA-256 must be" in out
    assert "visits-00000.parquet: table visits, row group 0" in out
    assert f"{path}: {out.count('SHA-256') + out.count('row group')} damaged places (" in out


def test_verify_of_hdf5_counts_the_bytes_of_the_file(monkeypatch, capsys, sample: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.trace.h5"
    assert formats(monkeypatch, "convert", sample, path) == 0
    assert formats(monkeypatch, "verify", path) == 0
    assert f"({path.stat().st_size:,} bytes in all, with {len(open_trace(sample).tables)} tables)" in (
        capsys.readouterr().out
    )


def test_show_prints_letters_as_they_are_and_escapes_what_steers(monkeypatch, capsys, tmp_path: Path) -> None:
    path = make_trace(tmp_path / "a.trace")
    document = json.loads((path / MANIFEST).read_text())
    document["provenance"] = {"by": "Jürgen \x1b[2J \ud800"}
    document["launches"] = [{"name": "größe\x9b"}]
    del document["digest"]
    (path / MANIFEST).write_text(json.dumps(document))
    assert formats(monkeypatch, "show", path, "--rows", 0) == 0
    out = capsys.readouterr().out
    assert 'by: "Jürgen \\u001b[2J \\ud800"\n' in out
    assert 'launch 0: {"name": "größe\\u009b"}\n' in out


def test_what_was_written_is_said(monkeypatch, capsys, tmp_path: Path) -> None:
    """Each verb that writes prints one line with path and extent."""
    listing, xz, again, merged = (tmp_path / name for name in ("files", "xz", "again.trace", "both.trace"))
    plain = from_frames(
        tmp_path / "plain.trace",
        instructions={"operation_class": ["int", "exit"], "opcode": ["IADD3", "EXIT"]},
        visits={"warp_id": [0, 1], "block_id": [0, 0], "active_mask": [1, 1]},
    )
    for arguments in (
        ("export", plain.path, "--out", listing),
        ("export", plain.path, "--out", xz, "--xz"),
        ("import", listing / "kernelslist.g", "--out", again),
        ("merge", plain.path, plain.path, "--out", merged),
        ("convert", plain.path, tmp_path / "plain.h5"),
    ):
        assert formats(monkeypatch, *arguments) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{listing}: kernelslist.g and 1 kernel", f"{xz}: kernelslist.g and 1 kernel",
        *(f"{path}: rayplay trace, {extent(open_trace(path))}" for path in (again, merged, tmp_path / "plain.h5")),
    ]  # fmt: skip
    assert extent(plain) == "8 rows in 6 tables"


def test_a_folder_with_a_kernel_list_is_told_apart_from_tables(monkeypatch, capsys, tmp_path: Path) -> None:
    (tmp_path / "kernelslist.g").write_text("kernel-1.traceg\n")
    assert formats(monkeypatch, "import", tmp_path, "--out", tmp_path / "b.trace") == 2
    said = f"{tmp_path}: give the kernel list in it: {tmp_path / 'kernelslist.g'}"
    assert capsys.readouterr().err == f"formats: error: {said}\n"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_letters_that_a_terminal_cannot_show_are_escaped(stream: str) -> None:
    show = f"run('x', lambda: print('x \u00d7 y', file=sys.{stream}))"
    code = f"import sys; from rayplay.formats.guard.command import run; {show}"
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=ascii_only, cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, getattr(done, stream)) == (0, b"x \\xd7 y\n")


def test_a_trace_is_not_imported_as_tables(monkeypatch, capsys, sample: Path, tmp_path: Path) -> None:
    assert formats(monkeypatch, "import", sample, "--out", tmp_path / "b.trace") == 2
    assert f"{sample}: is a rayplay trace already: every verb reads it as it is" in capsys.readouterr().err


def test_verify_looks_at_what_is_no_table(monkeypatch, capsys, tmp_path: Path) -> None:
    make_result(tmp_path / "a.result")
    summary = tmp_path / "a.result" / "summary.json"
    summary.write_text(summary.read_text().replace("12345", "12346"))
    assert formats(monkeypatch, "verify", tmp_path / "a.result") == 2
    assert "summary.json: SHA-256 must be" in capsys.readouterr().out
    with pytest.raises(FormatError, match=r"summary\.json: SHA-256 must be"):
        _ = open_result(tmp_path / "a.result").summary


def test_convert_there_and_back(monkeypatch, sample: Path, tmp_path: Path) -> None:
    assert formats(monkeypatch, "convert", sample, tmp_path / "a.h5") == 0
    assert formats(monkeypatch, "convert", tmp_path / "a.h5", tmp_path / "a.trace") == 0
    assert open_trace(tmp_path / "a.trace").manifest == open_trace(sample).manifest
    assert formats(monkeypatch, "check", tmp_path / "a.h5") == 0


def test_docs_prints_the_page(monkeypatch, capsys) -> None:
    assert formats(monkeypatch, "docs") == 0
    assert capsys.readouterr().out == (ROOT / "docs" / "formats.md").read_text()


@pytest.mark.parametrize("verb", ["show", "check"])
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda path: (path / MANIFEST).unlink(),
            "must be a trace, result, prediction, profile or energy, but it has no manifest.json",
        ),
        (lambda path: (path / MANIFEST).write_text("{"), "manifest.json: must be"),
        (lambda path: (path / "rays-00000.parquet").unlink(), "rays-00000.parquet: must be a file"),
        (lambda path: (path / "rays-00000.parquet").write_bytes(b""), "bytes long, as the manifest says, not 0"),
    ],
)
def test_a_damaged_trace_is_one_line(monkeypatch, capsys, tmp_path: Path, verb, damage, message) -> None:
    path = make_trace(tmp_path / "a.trace")
    damage(path)
    assert formats(monkeypatch, verb, path) == 2
    error = capsys.readouterr().err
    assert error.startswith("formats: error: ")
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(("verb", "what"), [
    ("show", "trace, result, prediction, profile or energy"), ("check", "trace, result, prediction, profile or energy"),
    ("stats", "rayplay trace"), ("compare", "rayplay result"),
])  # fmt: skip
@pytest.mark.parametrize(("name", "found"), [
    ("README.md", "it is a file, not a folder"), ("none", "there is no such folder"),
])  # fmt: skip
def test_what_stands_there_is_said(monkeypatch, capsys, tmp_path: Path, verb, what, name, found) -> None:
    (tmp_path / "README.md").write_text("Read me.")
    path = tmp_path / name
    assert formats(monkeypatch, verb, *[path] * (1 + (verb == "compare"))) == 2
    assert capsys.readouterr().err == f"formats: error: {path}: must be a {what}, but {found}\n"


def test_convert_onto_itself_is_refused(monkeypatch, capsys, tmp_path: Path) -> None:
    path = make_trace(tmp_path / "a.trace")
    assert formats(monkeypatch, "convert", path, path) == 2
    assert "must be another path" in capsys.readouterr().err
    assert open_trace(path).rows("warps") == 20


def test_a_full_disk_is_one_line(monkeypatch, capsys, sample: Path, tmp_path: Path) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert formats(monkeypatch, "convert", sample, tmp_path / "b.trace") == 2
    error = capsys.readouterr().err
    assert error.startswith(f"formats: error: {tmp_path}")
    assert error.endswith("kernels-00000.parquet: No space left on device\n")
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_is_one_line(monkeypatch, capsys, sample: Path) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rayplay.formats.laws.check.validate", interrupted)
    assert formats(monkeypatch, "check", sample) == 130
    assert capsys.readouterr().err == "formats: error: interrupted; nothing incomplete stands under a final name\n"


@pytest.mark.parametrize("of_ctrl_c", [signal.default_int_handler, signal.SIG_IGN])
def test_sigterm_is_like_ctrl_c_even_where_that_is_ignored(monkeypatch, capsys, sample: Path, of_ctrl_c: Any) -> None:
    def terminated(*arguments: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("rayplay.formats.laws.check.validate", terminated)
    before = signal.signal(signal.SIGINT, of_ctrl_c)
    try:
        assert formats(monkeypatch, "check", sample) == 143
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == "formats: error: interrupted; nothing incomplete stands under a final name\n"
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize("arguments", [["--help"], ["show", "--help"], ["check", "--help"], ["convert", "--help"]])
def test_help_teaches_and_imports_no_library(arguments: list[str]) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "formats", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "numpy" not in done.stderr
    assert "pyarrow" not in done.stderr
    if arguments != ["--help"]:
        assert "python -m formats" in done.stdout.split("example:")[1]
