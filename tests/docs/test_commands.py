"""Old names do not survive: commands, modules and files that pages and docstrings mention exist, and benches import."""

import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.test_words import FOLDERS, PAGES, files, texts

ROOT = Path(__file__).resolve().parents[2]
ANY = "|".join(FOLDERS)
COMMAND = re.compile(r"\bpython3? -m ([a-z][\w.]*\w)")
MODULE = re.compile(rf"`((?:{ANY})(?:\.(?!py`)[a-z_]\w*)+)`")
KEYS = {"rayplay.format", "rayplay.version"}  # of the metadata of Parquet files
FILE = re.compile(rf"(?<![\w/.{{*])((?:{ANY}|docs|examples)/[\w/.-]+\.(?:py|md|toml|csv|ptx))\b")
ATTRIBUTES = 2  # names after a module: a class and its member


def mentions(pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """File, and the text that the pattern finds in the Makefile, a page, or a docstring or comment."""
    made = [("Makefile", (ROOT / "Makefile").read_text())]
    for folder in (*FOLDERS, PAGES):
        made += [(str(path.relative_to(ROOT)), text) for path in files(folder) for _, text in texts(path)]
    for name, text in made:
        yield from ((name, match[1]) for match in pattern.finditer(text))


def source_of(module: str) -> Path | None:
    """Source file of a module of the project."""
    path = ROOT.joinpath(*module.removeprefix("rayplay.").split("."))
    own = ROOT.joinpath(*module.split("."))
    found = [path.with_suffix(".py"), own.with_suffix(".py"), path / "__init__.py", path / "__main__.py"]
    return next((one for one in found if one.is_file()), own if own.is_dir() else None)


def exists(name: str) -> bool:
    """Whether a dotted name is a module, or a name that stands in the source of one."""
    parts = name.split(".")
    for cut in range(len(parts), max(0, len(parts) - ATTRIBUTES - 1), -1):
        source = source_of(".".join(parts[:cut]))
        if source is not None:
            text = source.read_text() if source.is_file() else ""
            return all(re.search(rf"\b{part}\b", text) for part in parts[cut:])
    return False


def test_commands_exist() -> None:
    wrong = {
        f"{name}: python -m {module}"
        for name, module in mentions(COMMAND)
        if source_of(module) is None and importlib.util.find_spec(module.partition(".")[0]) is None
    }
    assert not wrong


def test_modules_exist() -> None:
    assert not {f"{name}: {module}" for name, module in mentions(MODULE) if module not in KEYS and not exists(module)}


def test_files_exist() -> None:
    assert not {f"{name}: {file}" for name, file in mentions(FILE) if not (ROOT / file).exists()}


@pytest.mark.parametrize(
    "name", ["bench.speed.nothing", "formats.laws.check.gone_from_here", "rayplay.formats.gone_from_here"]
)
def test_a_name_that_is_gone_is_found(name: str) -> None:
    assert not exists(name)


def test_benches_import() -> None:
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sorted((ROOT / "bench").rglob("*.py"))
    ]
    program = f"import importlib\nfor name in {modules}:\n    importlib.import_module(name)\n    print(name)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert (result.returncode, result.stdout.split()) == (0, modules), result.stderr
