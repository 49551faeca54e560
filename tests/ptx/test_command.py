"""``python -m ptx``: what it prints, how it fails, and what it does not import."""

import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from rayplay.ptx.text.parser import parse


def ptx(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ptx", *map(str, arguments)], capture_output=True, text=True, check=False
    )


def test_verbs_print_text(data_folder) -> None:
    rays = data_folder / "rays.ptx"
    assert "__raygen__image: 39 instructions" in ptx("parse", rays).stdout
    assert ptx("cfg", rays).stdout == (data_folder / "rays.cfg.txt").read_text()
    assert ptx("characterise", rays).stdout == (data_folder / "rays.characterisation.txt").read_text()
    assert ptx("cfg", rays, "--dot", "--entry", "__miss__sky").stdout.startswith('digraph "__miss__sky"')
    assert "filter_shader" in ptx("inject", rays).stdout
    assert parse(ptx("print", rays).stdout, "x").functions["__miss__sky"]


def test_tables_and_texts_are_written(data_folder, tmp_path) -> None:
    rays = data_folder / "rays.ptx"
    made = ptx("characterise", rays, "--out", tmp_path / "c.parquet")
    assert made.returncode == 0, made.stderr
    assert pq.read_table(tmp_path / "c.parquet").num_rows == 70
    assert ptx("inject", rays, "--out", tmp_path / "i.ptx").returncode == 0
    assert (tmp_path / "i.ptx").read_text() == ptx("inject", rays).stdout


@pytest.mark.parametrize(("verb", "name", "message"), [
    ("characterise", "README.md", "--out {}: must end in .parquet"),
    ("inject", "README.md", "--out {}: must end in .ptx"),
    ("inject", "rays.ptx", "--out {}: must be another file than the one that is read"),
    ("inject", "link.ptx", "--out {}: must be another file than the one that is read"),
])  # fmt: skip
def test_neither_other_files_nor_the_input_are_overwritten(verb, name, message, data_folder, tmp_path) -> None:
    rays, out = tmp_path / "rays.ptx", tmp_path / name
    rays.write_bytes((data_folder / "rays.ptx").read_bytes())
    (tmp_path / "link.ptx").symlink_to(rays)
    (tmp_path / "README.md").write_bytes(rays.read_bytes())
    made = ptx(verb, rays, "--out", out)
    assert (made.returncode, made.stdout, made.stderr) == (2, "", f"ptx: error: {message.format(out)}\n")
    assert out.read_bytes() == (data_folder / "rays.ptx").read_bytes()


@pytest.mark.parametrize(("arguments", "message"), [
    (["parse", "{broken}"], "broken.ptx:4:1: expected a name or opcode"),
    (["cfg", "{missing}"], "missing.ptx: No such file"),
    (["parse", "{wrong}"], "wrong.ptx:3:29: opcode 'foo.u32' is not known"),
    (["parse", "{two}"], "two.ptx: 2 problems, named above"),
    (["cfg", "{rays}", "--entry", "x"], "there is no function 'x'; there are: __raygen__image"),
    (["characterise", "{rays}", "--pipeline", "x"], "pipeline must be one of rtx2060, not 'x'"),
    (["characterise", "{wrong}"], "opcode 'foo.u32' of function 'k'"),
    (["characterise", "{rays}", "--out", "{nowhere}"], "must exist, but does not"),
    (["inject", "{compute}"], "choose one entry with --entry NAME"),
])  # fmt: skip
def test_mistakes_are_one_line_and_exit_code_2(arguments, message, data_folder, tmp_path) -> None:
    (tmp_path / "broken.ptx").write_text(".version 8.0\n.target sm_75\n.visible .entry\n(")
    (tmp_path / "wrong.ptx").write_text(".version 8.0\n.target sm_75\n.entry k() { .reg .b32 %r1; foo.u32 %r1; }")
    (tmp_path / "two.ptx").write_text(
        ".version 8.0\n.target sm_75\n.entry k() { .reg .b32 %r1; foo.u32 %r1; baz.u32 %r1; }"
    )
    places = {
        "two": tmp_path / "two.ptx",
        "broken": tmp_path / "broken.ptx", "missing": tmp_path / "missing.ptx", "wrong": tmp_path / "wrong.ptx",
        "rays": data_folder / "rays.ptx", "compute": data_folder / "compute.ptx",
        "nowhere": tmp_path / "no" / "x.parquet",
    }  # fmt: skip
    made = ptx(*(argument.format(**places) for argument in arguments))
    assert made.returncode == 2
    assert message in made.stderr
    assert made.stderr.splitlines()[-1].startswith("ptx: error: ")
    assert "Traceback" not in made.stderr


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, ptx, ptx.__main__\n"
        "heavy = {'lark', 'numpy', 'numba', 'pyarrow', 'llvmlite'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    shown = ptx("--help")
    assert shown.returncode == 0
    assert "example: python -m ptx cfg" in shown.stdout
