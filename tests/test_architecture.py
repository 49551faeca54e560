"""The import rules of the architecture, and the size of its rooms."""

import ast
import importlib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAY_IMPORT = {
    "formats": set(),
    "ptx": {"formats"},
    "tracer": {"ptx", "formats"},
    "replay": {"formats"},
    "zatel": {"formats", "replay"},
    "hypa": {"formats", "ptx", "tracer"},
}
SOURCES = [path for package in MAY_IMPORT for path in sorted((ROOT / package).rglob("*.py"))]


def imported_modules(path: Path) -> set[str]:
    """Packages that the file imports, wherever the import stands."""
    dotted: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            dotted |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            dotted |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name.split(".")[1] for name in dotted if name.startswith("rayplay.")}


# Command lines stand in front of all packages and nobody imports them: their verbs may call a later one.
EXCEPTIONS = {"ptx/__main__.py": {"hypa", "tracer"}, "tracer/__main__.py": {"hypa"}}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_package_imports_only_what_stands_before_it(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    allowed = MAY_IMPORT[package] | EXCEPTIONS.get(str(path.relative_to(ROOT)), set())
    forbidden = (imported_modules(path) & MAY_IMPORT.keys()) - allowed - {package}
    assert not forbidden, f"{path.relative_to(ROOT)} may not import {sorted(forbidden)}"


LAYERED = [package for package in MAY_IMPORT if hasattr(importlib.import_module(f"rayplay.{package}"), "LAYERS")]


@pytest.mark.parametrize("package", LAYERED)
def test_no_file_imports_a_later_layer(package: str) -> None:
    """Wherever the import stands; the files beside the folders come after all layers."""
    layers = list(importlib.import_module(f"rayplay.{package}").LAYERS)
    found = {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}
    assert found == set(layers), "every folder is a layer"
    rank = {layer: number for number, layer in enumerate(layers)}
    upward = [
        f"{source} -> {target}"
        for source, targets in files_of(package).items()
        for target in targets
        if rank.get(target.split(".")[1], len(rank)) > rank.get(source.split(".")[1], len(rank))
    ]
    assert not upward


@pytest.mark.parametrize("package", LAYERED)
def test_no_circle_of_files(package: str) -> None:
    assert not cycle_in(files_of(package))


@cache
def files_of(package: str) -> dict[str, set[str]]:
    """Modules of a package, dotted from its name on, with those of it that they import, wherever the import stands."""
    graph: dict[str, set[str]] = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[-1] != "__init__":
            graph[".".join(parts)] = set()
    for name, found in graph.items():
        for node in ast.walk(ast.parse((ROOT / f"{name.replace('.', '/')}.py").read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(f"rayplay.{package}"):
                module = node.module.removeprefix("rayplay.")
                found |= {module, *(f"{module}.{alias.name}" for alias in node.names)} & graph.keys()
    return graph


def cycle_in(graph: dict[str, set[str]]) -> list[str]:
    """One import cycle, or an empty list."""
    finished: set[str] = set()

    def visit(node: str, trail: list[str]) -> list[str]:
        if node in trail:
            return trail[trail.index(node) :]
        if node in finished or node not in graph:
            return []
        for following in sorted(graph[node]):
            if cycle := visit(following, [*trail, node]):
                return cycle
        finished.add(node)
        return []

    return next((cycle for node in sorted(graph) if (cycle := visit(node, []))), [])


# Files of less than 40 lines, and why none of their neighbours holds what they say.
SMALL = {
    "replay/jit/indexing.py": "one private function of numba, replaced",
    "replay/launch/host_copies.py": "copies are no launches, and only the machine makes them",
}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_is_of_one_idea(path: Path) -> None:
    """400 lines at most; in the packages with layers 40 at least, but for the files of which ``SMALL`` says why."""
    name, lines = str(path.relative_to(ROOT)), len(path.read_text().splitlines())
    assert lines <= 400
    if path.relative_to(ROOT).parts[0] in LAYERED and path.name != "__init__.py":
        assert (lines < 40) == (name in SMALL)


@pytest.mark.parametrize("package", LAYERED)
def test_a_folder_holds_25_files_at_most(package: str) -> None:
    folders = {path.parent for path in (ROOT / package).rglob("*.py")}
    assert {folder: count for folder in folders if (count := len(list(folder.glob("*.py")))) > 25} == {}
