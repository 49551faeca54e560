"""``python -m ptx analyse``: its files, its table, its errors, and that it never differs from full execution."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rayplay.formats.laws.check import validate
from rayplay.formats.look.show import open_any

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "tracer" / "kernels"
PAPER = (
    "filename,ptx_version,ptx_target,address_size,file_instructions,ctas,threads,static_instructions,"
    "dynamic_instructions,fp_instructions,executed_instructions,divergent_branches,cta_divergent_branches,"
    "branch_efficiency,duration_ms"
)


def analyse(name: str, *options: object) -> subprocess.CompletedProcess[str]:
    files = (KERNELS / f"{name}.ptx", "--launch", KERNELS / f"{name}.toml")
    command = [sys.executable, "-m", "ptx", "analyse", *map(str, (*files, *options))]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The profile of the reduction kernels, compared with full execution."""
    out = tmp_path_factory.mktemp("made") / "reduction.profile"
    made = analyse("reduction", "--check", "--out", out)
    assert made.returncode == 0, made.stderr
    assert "full execution counts the same" in made.stdout
    assert made.stdout.splitlines()[1].split()[:3] == ["reduction", "4,096", made.stdout.splitlines()[1].split()[2]]
    return out


def test_the_csv_has_the_columns_of_the_paper(profile: Path) -> None:
    text = (profile / "profile.csv").read_text()
    assert text.splitlines()[0] == PAPER
    first, second = csv.DictReader(text.splitlines())
    assert (first["filename"], first["ptx_target"], first["address_size"]) == ("reduction.ptx", "sm_75", "64")
    assert (first["ctas"], first["threads"], second["threads"]) == ("16", "4096", "32")
    assert first["static_instructions"] == str(100 * 4096)
    assert 0 < int(first["executed_instructions"]) < int(first["dynamic_instructions"])
    assert 0 < float(first["branch_efficiency"]) < 100


def test_the_tables_keep_their_laws_and_agree(profile: Path) -> None:
    dataset = open_any(profile)
    assert validate(dataset) == []
    launches, classes, jumps = (dataset.read(table) for table in ("launches", "classes", "jumps"))
    for number in range(2):
        of_class, of_jump = classes["launch"] == number, jumps["launch"] == number
        assert classes["thread_instructions"][of_class].sum() == launches["dynamic_instructions"][number]
        assert classes["warp_instructions"][of_class].sum() == launches["warp_instructions"][number]
        assert jumps["divergent"][of_jump].sum() == launches["divergent_branches"][number]
        assert jumps["cta_divergent"][of_jump].sum() == launches["cta_divergent_branches"][number]
        assert (jumps["graph_instructions"][of_jump] <= launches["slice_instructions"][number]).all()
        branches, divergent = launches["branches"][number], launches["divergent_branches"][number]
        assert launches["branch_efficiency"][number] == pytest.approx(100 * (branches - divergent) / branches)


def test_only_the_host_files_differ_from_run_to_run(profile: Path, tmp_path: Path) -> None:
    assert analyse("reduction", "--out", tmp_path / "again.profile").returncode == 0
    for file in sorted(profile.iterdir()):
        if file.name not in ("profile.csv", "host.json"):
            assert file.read_bytes() == (tmp_path / "again.profile" / file.name).read_bytes(), file.name
    durations = json.loads((profile / "host.json").read_text())["durations_ms"]
    assert len(durations) == 2
    assert min(durations) > 0


def test_methods_and_kernels(profile: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.profile"
    assert analyse("reduction", "--full", "--out", out).returncode == 0
    full, sliced = (pq.read_table(folder / "launches-00000.parquet").to_pylist() for folder in (out, profile))
    same = ("dynamic_instructions", "branches", "divergent_branches", "cta_branches", "cta_divergent_branches")
    assert [[row[name] for name in same] for row in full] == [[row[name] for name in same] for row in sliced]
    assert all(row["executed_share"] == 1 for row in full)
    assert analyse("reduction", "--static", "--out", out).returncode == 0
    static = pq.read_table(out / "launches-00000.parquet").to_pylist()
    assert [row["dynamic_instructions"] for row in static] == [100 * 4096, 100 * 32]
    assert all(
        row["executed_instructions"] == 0 and row["branch_efficiency"] != row["branch_efficiency"] for row in static
    )
    assert analyse("breadth_first_search", "--kernel", "advance", "--out", out).returncode == 0
    only = pq.read_table(out / "launches-00000.parquet").to_pylist()
    assert {row["kernel"] for row in only} == {"advance"}
    assert len(only) > 5


@pytest.mark.parametrize(("options", "message"), [
    (["--kernel", "reductoin"], "unknown name 'reductoin'; did you mean 'reduction'?"),
    (["--out", "{here}"], "must be absent or an earlier rayplay profile"),
    (["--static", "--check"], "not allowed with"),
])  # fmt: skip
def test_errors_name_what_is_wrong(options: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    made = analyse("reduction", *(each.format(here=tmp_path) for each in options))
    assert made.returncode == 2
    assert message in made.stderr
    assert "Traceback" not in made.stderr


def test_an_opcode_without_meaning_is_named(tmp_path: Path) -> None:
    text = (KERNELS / "vector_add.ptx").read_text().replace("add.f32 ", "frobnicate.f32 ")
    program = tmp_path / "vector_add.ptx"
    program.write_text(text)
    command = [sys.executable, "-m", "ptx", "analyse", str(program), "--launch", str(KERNELS / "vector_add.toml")]
    made = subprocess.run([*command, "--out", str(tmp_path / "x.profile")], capture_output=True, text=True, check=False)
    assert made.returncode == 2
    line = next(number for number, each in enumerate(text.splitlines(), 1) if "frobnicate" in each)
    assert f"vector_add.ptx:{line}" in made.stderr
    assert not (tmp_path / "x.profile").exists()


def test_help_teaches_without_loading_the_executor() -> None:
    code = "import sys; sys.argv = ['ptx', 'analyse', '--help']; import runpy\n"
    code += "try: runpy.run_module('ptx', run_name='__main__')\n"
    code += "except SystemExit: print('numba' in sys.modules, 'tracer' in sys.modules)"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert made.stdout.splitlines()[-1] == "False False"
    assert "Only the slice is executed" in made.stdout
