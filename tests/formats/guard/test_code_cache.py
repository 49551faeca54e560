"""Digests of sources: an edit makes new what it may change, and nothing else."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from rayplay.formats.guard.digest import PACKAGES, source_digest
from rayplay.replay.layers import ENGINE, RESULTS
from rayplay.tracer import CODE as TRACER
from rayplay.tracer import TRANSLATION
from rayplay.zatel import CODE as ZATEL


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    for name in ("engine/unit/deep.py", "engine/top.py", "other/picture.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("one = 1\n")
    return tmp_path


@pytest.mark.parametrize("name", ["engine/unit/deep.py", "engine/top.py"])
def test_an_edit_in_any_sub_folder_changes_the_digest(packages: Path, name: str) -> None:
    before = source_digest(["engine"], packages)
    (packages / name).write_text("one = 2\n")
    assert source_digest(["engine"], packages) != before


def test_a_file_moved_to_another_folder_changes_the_digest(packages: Path) -> None:
    before = source_digest(["engine"], packages)
    (packages / "engine/unit/deep.py").rename(packages / "engine/deep.py")
    assert source_digest(["engine"], packages) != before


def test_an_edit_in_another_package_leaves_the_digest(packages: Path) -> None:
    before = source_digest(["engine"], packages)
    (packages / "other/picture.py").write_text("one = 2\n")
    assert source_digest(["engine"], packages) == before


def test_a_name_that_stands_for_nothing_is_an_error(packages: Path) -> None:
    with pytest.raises(FileNotFoundError, match="engine/gone"):
        source_digest(["engine/gone"], packages)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for package in ("formats", "replay"):
        shutil.copytree(PACKAGES / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def edit(path: Path) -> None:
    path.write_text(path.read_text() + "\n# one more line\n")


@pytest.mark.parametrize(
    ("edited", "engine", "results"),
    [
        ("replay/picture.py", False, False),
        ("replay/stuck/report.py", False, False),
        ("formats/look/show.py", False, False),
        ("replay/results/metrics.py", False, True),
        ("replay/gpu/description.py", False, True),
        ("formats/parquet/groups.py", False, True),
        ("replay/engine/quantum.py", True, True),
        ("replay/unit/clocks.py", True, True),
        ("replay/memory/dram/banks.py", True, True),
        ("replay/sm/pipeline/issue.py", True, True),
    ],
)
def test_an_edit_discards_the_engine_or_stored_results_only_where_it_may_change_them(
    copy: Path, edited: str, engine: bool, results: bool
) -> None:
    before = source_digest(ENGINE, copy), source_digest(RESULTS, copy)
    edit(copy / edited)
    assert source_digest(ENGINE, copy) != before[0] or not engine
    assert source_digest(ENGINE, copy) == before[0] or engine
    assert (source_digest(RESULTS, copy) != before[1]) == results


# Imported by modules with compiled functions for what Python does around them: errors, types in annotations, reading.
NO_CODE = ("formats/guard", "formats/dataset", "formats/parquet", "formats/exchange/accelsim/sass_classes.py",
           "formats/place", "tracer/scenes", "replay/layers.py")  # fmt: skip
OWN_DIGEST = ("tracer/free_space.py", "replay/reorder/paths.py")
DECORATORS = {"compiled", "inlined", "entry_point", "inlined_entry_point", "intrinsic", "callback", "cfunc", "loop"}


@pytest.mark.parametrize(
    ("package", "sources", "besides"),
    [
        ("replay", ENGINE, OWN_DIGEST),
        ("tracer", TRACER, OWN_DIGEST),
        ("zatel", ZATEL, ("replay/launch", "replay/gpu", "replay/reorder")),
    ],
)
def test_what_compiled_code_imports_is_in_its_digest(
    package: str, sources: Sequence[str], besides: tuple[str, ...]
) -> None:
    compiled = [path for path in (PACKAGES / package).rglob("*.py") if has_compiled_functions(path)]
    assert compiled
    assert_covered(compiled, sources, besides)


def test_what_translates_programs_is_in_its_digest() -> None:
    assert_covered([PACKAGES / "tracer/lower/compile.py", PACKAGES / "tracer/lower/program.py"], TRANSLATION, ())


def assert_covered(to_see: list[Path], sources: Sequence[str], besides: tuple[str, ...]) -> None:
    """All that these files import, and that imports, is among the sources."""
    seen: set[Path] = set()
    while to_see:
        path = to_see.pop()
        name = str(path.relative_to(PACKAGES))
        if path in seen or is_in(name, (*NO_CODE, *besides)) or path.name == "__init__.py":
            continue
        seen.add(path)
        assert is_in(name, sources), f"{name} is not in the digest"
        to_see += imported(path)


def is_in(name: str, sources: Sequence[str]) -> bool:
    return any(name == source or name.startswith(f"{source}/") for source in sources)


def has_compiled_functions(path: Path) -> bool:
    """Whether a function of the file is decorated with one of ``DECORATORS``."""
    found = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef))
    return any(ast.unparse(mark).partition("(")[0] in DECORATORS for node in found for mark in node.decorator_list)


def imported(path: Path) -> list[Path]:
    """Files of the packages that a file imports."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("rayplay."):
            module = PACKAGES / node.module.removeprefix("rayplay.").replace(".", "/")
            found += [module.with_suffix(".py"), *((module / alias.name).with_suffix(".py") for alias in node.names)]
    return [path for path in found if path.is_file()]


WHERE = "from rayplay.replay.engine.quantum import run_quanta as f; print(f._cache.cache_path)"


def test_zatel_and_replay_share_one_compiled_engine(tmp_path: Path) -> None:
    """Whatever is imported before it, and whatever folder the environment names for numba."""
    alone = folder(WHERE, tmp_path)
    assert alone.startswith(str(tmp_path / "sealed/numba-replay-"))
    before = "import rayplay.zatel.model.walk, rayplay.tracer.native.jit, rayplay.formats.edit.rows"
    assert folder(f"{before}\n{WHERE}", tmp_path) == alone
    assert folder(WHERE, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "elsewhere")) == alone


def test_each_package_keeps_its_code_in_its_own_folder(tmp_path: Path) -> None:
    loops = "from rayplay.zatel.model.walk import walk as f; print(f._cache.cache_path)"
    assert folder(loops, tmp_path).startswith(str(tmp_path / "sealed/numba-zatel-"))


def folder(program: str, cache: Path, **environment: str) -> str:
    """Output of a program in a process of its own."""
    variables = os.environ | {"RAYPLAY_CACHE": str(cache)} | environment
    run = subprocess.run([sys.executable, "-c", program], env=variables, capture_output=True, text=True, check=True)
    return run.stdout.strip()


LATE = """
import sys
from numba import njit
from rayplay.formats.guard.code_cache import kept

keep = lambda function: kept(njit(cache=True), ("formats/guard/errors.py",))(function)

@keep
def callee(values: int) -> int:
    return sum([value * value for value in range(values)])

@keep
def caller(values: int) -> int:
    return callee(values) + 1

print((caller if "caller" in sys.argv else callee)(4), len(callee.stats.cache_hits), len(caller.stats.cache_hits))
"""


def test_kept_code_runs_and_is_linked_by_code_that_is_compiled_later(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(LATE)
    for name, expected in (("callee", "14 0 0"), ("callee", "14 1 0"), ("caller", "15 1 0"), ("caller", "15 0 1")):
        program = f"import runpy, sys; sys.argv = ['late', '{name}']; runpy.run_path('{tmp_path}/late.py')"
        assert folder(program, tmp_path / "cache") == expected


CALLER = """
from rayplay.replay.jit.bits import compiled, entry_point

@compiled
def callee(value: int) -> int:
    return value + {}

@entry_point
def caller(value: int) -> int:
    return callee(value)

print(caller(1))
"""


def test_an_edit_of_a_file_outside_the_packages_makes_its_functions_new(tmp_path: Path) -> None:
    environment = os.environ | {"RAYPLAY_CACHE": str(tmp_path / "cache")}
    for number in (1, 7):
        (tmp_path / "mine.py").write_text(CALLER.format(number))
        command = [sys.executable, tmp_path / "mine.py"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout == f"{1 + number}\n"
