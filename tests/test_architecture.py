"""The import rules of the architecture, and the size of its rooms."""

import ast
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


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_files_stand_in_the_order_of_the_data_flow(package: str) -> None:
    graph = {path.stem: own_imports(path, package) for path in sorted((ROOT / package).glob("*.py"))}
    assert not cycle_in(graph)


def own_imports(path: Path, package: str) -> set[str]:
    """Modules of the same package that the file imports at its top level."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(f"rayplay.{package}"):
            parts = node.module.split(".")[1:]
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
    return found


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


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_is_small(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 300
