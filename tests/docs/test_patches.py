"""Tests do not reach each other: what one replaces is of the module that it means, what it leaves is put back.

``monkeypatch.setattr("rayplay.a.b.sealed.keep", ...)`` replaces ``keep`` of ``sealed`` for all of its users in this
process: machine code that is compiled meanwhile goes where only facts of ``b`` should. The name ``sealed`` of ``b``
itself is replaced instead.
"""

import ast
import importlib
import os
import signal
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.conftest import process_as_it_was

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(path for path in (ROOT / "tests").rglob("*.py") if "setattr(" in path.read_text())


def replaced(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and dotted name of each object whose attribute a file replaces, by the file's own imports."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {each.asname: each.name for each in node.names if each.asname}
        elif isinstance(node, ast.ImportFrom):
            names |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setattr":
            first = node.args[0]
            if isinstance(first, ast.Constant):
                yield node.lineno, str(first.value).rpartition(".")[0]
            elif isinstance(first, ast.Name | ast.Attribute):
                head, dot, rest = ast.unparse(first).partition(".")
                yield node.lineno, names.get(head, head) + dot + rest


def owner(name: str) -> Any:
    """The object that a dotted name of ours stands for; None for another or an unknown one."""
    parts = name.split(".")
    if parts[0] != "rayplay":
        return None
    count = next(n for n in range(len(parts), 0, -1) if is_module(".".join(parts[:n])))
    found: Any = importlib.import_module(".".join(parts[:count]))
    for part in parts[count:]:
        found = getattr(found, part, None)
    return found


def is_module(name: str) -> bool:
    """Whether a dotted name has a file, as a module does."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def through_another(name: str) -> bool:
    """Whether a dotted name comes to a module of ours by the name that another module has for it."""
    found = owner(name)
    return isinstance(found, ModuleType) and found.__name__.startswith("rayplay.") and found.__name__ != name


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT / "tests")))
def test_no_name_of_a_shared_module_is_replaced_through_another(path: Path) -> None:
    wrong = [f"line {line}: {name}" for line, name in replaced(ast.parse(path.read_text())) if through_another(name)]
    assert not wrong, f"replace the name in the module that uses it: {', '.join(wrong)}"


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        ('p.setattr("rayplay.zatel.sample.kept.sealed.keep", 1)', True),
        ('p.setattr("rayplay.zatel.sample.kept.sealed", 1)', False),
        ('p.setattr("rayplay.formats.guard.sealed.keep", 1)', False),
        ('from rayplay.zatel.sample import kept as a\np.setattr(a.sealed, "keep", 1)', True),
        ('from rayplay.zatel.sample.kept import Kept\np.setattr(Kept, "keep", 1)', False),
        ('import rayplay.zatel.sample.kept as a\np.setattr(a, "sealed", 1)', False),
        ('import os\np.setattr(os, "fsync", 1)', False),
    ],
)
def test_such_a_name_is_found(call: str, wrong: bool) -> None:
    [(_, name)] = replaced(ast.parse(call))
    assert through_another(name) == wrong


def test_what_a_test_leaves_in_its_process_is_put_back(tmp_path: Path) -> None:
    def state() -> tuple[Any, ...]:
        os.umask(mask := os.umask(0))
        return dict(os.environ), os.getcwd(), mask, np.geterr(), signal.getsignal(signal.SIGINT)

    before = state()
    with process_as_it_was():
        os.environ |= {"RAYPLAY_MAX_WARPS": "7", "HOME": "elsewhere"}
        os.chdir(tmp_path)
        os.umask(0o123)
        np.seterr(all="raise")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert all(one != other for one, other in zip(state(), before, strict=True))
    assert state() == before
