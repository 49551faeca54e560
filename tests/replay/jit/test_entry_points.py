"""Functions that are only ever part of compiled code have no entry for Python: a plain call would end the process."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted((ROOT / "replay").rglob("*.py"))
PARTS = {"compiled", "inlined", "intrinsic", "separate", "hook"}
COMPILED = PARTS | {"entry_point", "numba_intrinsic"}


def decorators(function: ast.FunctionDef) -> set[str]:
    return {ast.unparse(decorator).partition("(")[0] for decorator in function.decorator_list}


TREES = {".".join(path.relative_to(ROOT).with_suffix("").parts): ast.parse(path.read_text()) for path in FILES}
PART_NAMES = {
    (module, node.name)
    for module, tree in TREES.items()
    for node in tree.body
    if isinstance(node, ast.FunctionDef) and decorators(node) & PARTS
}


def plain_calls(node: ast.AST, inside: bool = False) -> Iterator[ast.Call]:
    """Calls in functions that Python runs."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield from plain_calls(child, not decorators(child) & COMPILED)
        else:
            if inside and isinstance(child, ast.Call):
                yield child
            yield from plain_calls(child, inside)


@pytest.mark.parametrize("module", TREES)
def test_python_calls_no_part(module: str) -> None:
    imported = {(module, name): (module, name) for _, name in PART_NAMES}
    modules: dict[str, str] = {}
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rayplay.replay"):
            for alias in node.names:
                name, source = alias.asname or alias.name, (node.module or "").removeprefix("rayplay.")
                imported[module, name] = source, alias.name
                modules[name] = f"{source}.{alias.name}"
    for call in plain_calls(TREES[module]):
        called = call.func
        if isinstance(called, ast.Name):
            found = imported.get((module, called.id))
        elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            found = modules.get(called.value.id, ""), called.attr
        else:
            continue
        assert found not in PART_NAMES, f"{module}:{call.lineno}: {ast.unparse(called)}"
