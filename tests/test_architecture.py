"""The floors of the house: who may import whom, in which order, and how large a room may be."""

import ast
import tomllib
from collections.abc import Iterator
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
    "tuner": {"formats", "ptx", "tracer", "replay", "zatel"},
    "crisp": {"formats", "tracer", "replay", "zatel"},
    "animation": {"formats", "tracer", "replay", "zatel", "tuner"},
    "report": {"formats", "tracer", "replay"},
    "sweep": {"formats", "tracer", "replay", "zatel", "report"},
    "silicon": {"formats", "ptx", "tracer", "replay", "report"},
    "cuda": {"formats", "ptx", "tracer", "replay"},
}
FRONT = {"__main__"}  # command lines stand in front of all packages and are imported by none
SOURCES = [path for package in MAY_IMPORT for path in sorted((ROOT / package).rglob("*.py"))]
AROUND = [
    path for folder in ("rayplay/door", "outside", "tools", "bench") for path in sorted((ROOT / folder).rglob("*.py"))
]
SHOWN = (
    "formats",
    "ptx",
    "tracer",
    "replay",
    "zatel",
    "hypa",
    "tuner",
    "crisp",
    "animation",
    "report",
    "sweep",
    "silicon",
    "cuda",
    "rayplay",
    "outside",
    "tools",
    "bench",
    "tests",
)
MOST_FILES, MOST_LINES, MOST_FUNCTION_LINES, FEWEST_LINES = 25, 400, 40, 40
LONG_FUNCTIONS = {"make_state", "parser", "enter", "walk"}  # one array, option or case a line
MAY_USE_NUMBAS = {
    "formats/guard/first_use.py",
    "formats/guard/numba_cache.py",
}  # its events, and its cache in our stead
DOORS = (
    "layers",
    "gpu",
    "gpu.description",
    "geometry",
    "energy.difference",
    "energy.table",
    "energy.write",
)  # of replay, for zatel
ZATEL_MAY_IMPORT = {"rayplay.replay", *(f"rayplay.replay.{door}" for door in DOORS)}


def name_of(path: Path) -> str:
    """Dotted name by which a source file is imported, without ``__init__``."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts if path in AROUND else ("rayplay", *parts)).removesuffix(".__init__")


MODULES = {name_of(path): path for path in (*SOURCES, *AROUND)}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def imports(path: Path) -> frozenset[str]:
    """Modules that the file imports, wherever the import stands: at the top, in a function, under TYPE_CHECKING."""
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            named = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else node.module for name in named}
    return frozenset(found)


def ours(path: Path) -> list[str]:
    """The imported modules of the packages, sorted."""
    return sorted(name for name in imports(path) if name.startswith("rayplay."))


def layers(package: str) -> tuple[str, ...]:
    """``LAYERS`` of a package: sub-packages and files, each of which imports only itself and earlier ones."""
    own = ROOT / package / "layers.py"
    for node in tree(own if own.exists() else ROOT / package / "__init__.py").body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "LAYERS":
            return ast.literal_eval(node.value)
    raise AssertionError(f"{package}/__init__.py must list its LAYERS")


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_only_earlier_packages(package: str) -> None:
    allowed = MAY_IMPORT[package] | {package}
    found = [
        f"{relative(path)} imports {name}"
        for path in SOURCES
        if path.relative_to(ROOT).parts[0] == package and path.stem not in FRONT
        for name in ours(path)
        if name.split(".")[1] in MAY_IMPORT and name.split(".")[1] not in allowed
    ]
    assert not found


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_layer_imports_only_earlier_layers(package: str) -> None:
    rank = {layer: position for position, layer in enumerate(layers(package))}
    found = []
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = name_of(path).split(".")[2:]
        if not parts or parts[0] in FRONT:
            continue
        assert parts[0] in rank, f"{relative(path)} stands in no layer of {package}/__init__.py"
        for name in ours(path):
            target = name.split(".")[1:]
            if target[0] == package and len(target) > 1 and rank[target[1]] > rank[parts[0]]:
                found.append(f"{relative(path)} imports {name}")
    assert not found


def test_no_circle_of_files() -> None:
    graph = {name: sorted(imports(path) & MODULES.keys() - {name}) for name, path in MODULES.items()}
    assert not list(circles(graph))


def circles(graph: dict[str, list[str]]) -> Iterator[list[str]]:
    """Strongly connected components of more than one module (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(node: str) -> Iterator[list[str]]:
        index[node] = low[node] = len(index)
        stack.append(node)
        for following in graph[node]:
            if following not in index:
                yield from visit(following)
                low[node] = min(low[node], low[following])
            elif following in stack:
                low[node] = min(low[node], index[following])
        if low[node] == index[node]:
            component = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(component) > 1:
                yield component

    for node in graph:
        if node not in index:
            yield from visit(node)


def test_the_definition_and_the_emitter_are_apart() -> None:
    for one, other in (("interp", "lower"), ("lower", "interp")):
        for path in sorted((ROOT / "tracer" / one).rglob("*.py")):
            found = [name for name in ours(path) if name.startswith(f"rayplay.tracer.{other}")]
            assert not found, f"{relative(path)} imports {found}"


def test_private_parts_of_numba_stand_in_one_place() -> None:
    found = [
        f"{relative(path)} imports {name}"
        for path in SOURCES
        if path.parent != ROOT / "replay" / "jit" and relative(path) not in MAY_USE_NUMBAS
        for name in sorted(imports(path))
        if name.startswith(("numba.core", "numba.np", "numba.cpython"))
    ]
    assert not found


def test_zatel_reaches_replay_through_its_doors() -> None:
    found = [
        f"{relative(path)} imports {name}"
        for path in SOURCES
        if path.relative_to(ROOT).parts[0] == "zatel"
        for name in ours(path)
        if name.startswith("rayplay.replay") and name not in ZATEL_MAY_IMPORT
    ]
    assert not found


# Modules of replay that declare the columns of a state, which all others name through them (``warps.AGE``).
COLUMNS = {"state", "warps", "ctas", "work", "units", "rounds", "cycle_stack"}
NO_COLUMNS = {"MAX_CTAS", "MODELS", "LANES", "SECTOR_BYTES", "TABLE_BYTES", "WARPS_PER_SM"}
MOST_CONSTANTS = 6  # that a module imports of one other


def constants(node: ast.AST) -> list[str]:
    """The constants that a statement imports from a module of the project; ``L1`` is a class."""
    if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("rayplay."):
        return []
    return [alias.name for alias in node.names if len(alias.name) > 2 and alias.name.isupper()]


def test_columns_are_named_through_their_module() -> None:
    found = [
        f"{relative(path)} imports {names} of {node.module}"
        for path in sorted((ROOT / "replay").rglob("*.py"))
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom) and (names := constants(node))
        if len(names) > MOST_CONSTANTS
        or ((node.module or "").rpartition(".")[2] in COLUMNS and not NO_COLUMNS.issuperset(names))
    ]
    assert not found


def test_a_folder_is_one_floor() -> None:
    listing = {
        relative(folder): sum(1 for entry in folder.iterdir() if entry.is_file() and not entry.name.startswith("."))
        for top in (*SHOWN, "docs", "examples")
        for folder in [ROOT / top, *(p for p in (ROOT / top).rglob("*") if p.is_dir() and not p.is_symlink())]
        if "__pycache__" not in folder.parts
    }
    assert {name: files for name, files in listing.items() if files > MOST_FILES} == {}


def code_lines(function: ast.FunctionDef) -> int:
    """Lines of a function without its docstring."""
    first = function.body[1] if ast.get_docstring(function) and len(function.body) > 1 else function.body[0]
    return (function.end_lineno or 0) - first.lineno + 1


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_a_file_is_one_room(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    assert lines <= MOST_LINES
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef) and node.name not in LONG_FUNCTIONS:
            assert code_lines(node) <= MOST_FUNCTION_LINES, f"{relative(path)}: {node.name} is too long"


SMALL: dict[str, str] = tomllib.loads((ROOT / "tests" / "small_files.toml").read_text())


@pytest.mark.parametrize("package", [*MAY_IMPORT, "rayplay", "tools"])
def test_a_small_file_has_a_reason(package: str) -> None:
    paths = [path for path in (ROOT / package).rglob("*.py") if not any(parent.is_symlink() for parent in path.parents)]
    sizes = {relative(path): len(path.read_text().splitlines()) for path in paths if path.stem != "__init__"}
    small = {name for name, lines in sizes.items() if lines < FEWEST_LINES}
    assert small == {name for name in SMALL if name.startswith(f"{package}/")}
