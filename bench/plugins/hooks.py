"""Cost of hooks where no plug-in acts: the engine beside a copy without them, in code and in time.

    python -m bench.plugins.hooks traces/sample.trace --gpu rtx2060 --rounds 12

The copy's sources have no hooks: functions that are only told of events are gone with their calls, choices that the
engine makes one way alone stand as values, the rest are plain functions, and states have no ``own``. Prints for each
entry point whether its machine code is the same, byte for byte, and the least processor time of the engine over runs
that take turns. The copy costs one compilation; ``--keep FOLDER`` keeps it. Ends with 1 where results differ.
"""

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rayplay.formats.guard.command import run
from rayplay.replay.jit.bits import FAR

ROOT = Path(__file__).parents[2]


class WithoutHooks(ast.NodeTransformer):
    """A file without the hooks that ``values`` names; ``values``: local name -> what a call stands for, or None."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values, self.dropped = values, 0

    def _value(self, node: ast.AST) -> tuple[bool, Any]:
        is_hook = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self.values
        return is_hook, self.values[node.func.id] if is_hook else None  # type: ignore[attr-defined]

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Drop a call that only tells."""
        is_hook, value = self._value(node.value)
        self.dropped += is_hook
        return ast.Pass() if is_hook and value is None else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Put a value in place of a call that always has it."""
        is_hook, value = self._value(node)
        if not is_hook or value is None:
            return self.generic_visit(node)
        self.dropped += 1
        return ast.parse(repr(value), mode="eval").body

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """Fold ``False and ...`` and ``False or ...``."""
        self.generic_visit(node)
        is_and = isinstance(node.op, ast.And)
        if is_and and any(is_false(each) for each in node.values):
            return ast.Constant(False)
        node.values = [each for each in node.values if not is_false(each)]
        return node.values[0] if len(node.values) == 1 else node if node.values else ast.Constant(False)

    def visit_If(self, node: ast.If) -> Any:
        """Drop a branch that is never taken."""
        self.generic_visit(node)
        return (node.orelse or ast.Pass()) if is_false(node.test) else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Make a hook a plain function."""
        self.generic_visit(node)
        for place, made in enumerate(node.decorator_list):
            if isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and made.func.id == "hook":
                is_inlined = not any(each.arg == "inline" for each in made.keywords)
                node.decorator_list[place] = ast.Name("_inlined" if is_inlined else "_compiled")
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        """Drop ``own`` from a state."""
        return None if isinstance(node.target, ast.Name) and node.target.id == "own" else node


def is_false(node: ast.AST) -> bool:
    """Whether an expression is the word False."""
    return isinstance(node, ast.Constant) and node.value is False


def calls_of(name: str, node: ast.AST) -> bool:
    """Whether a node is a call of a name."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def without_effect(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    """(name, value) of each function of a file that is only told (None), or that has one value."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and any(calls_of("hook", made) for made in node.decorator_list):
            body = node.body[1:]
            if not body:
                yield node.name, None
            elif len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
                with suppress(ValueError):  # another expression is no value
                    text = ast.unparse(body[0].value)
                    yield node.name, FAR if text == "FAR" else ast.literal_eval(text)
        elif isinstance(node, ast.Assign) and any(calls_of("is_replaced", each) for each in ast.walk(node.value)):
            for target in ast.walk(node.targets[0]):
                if isinstance(target, ast.Name):
                    yield target.id, False


def remove_hooks(root: Path) -> int:
    """Rewrite a copy of the engine without hooks; how many calls of hooks are gone."""
    trees = {path: ast.parse(path.read_text()) for path in sorted((root / "replay").rglob("*.py"))}
    values = {(path, name): value for path, tree in trees.items() for name, value in without_effect(tree)}
    gone = 0
    for path, tree in trees.items():
        if path.name == "hooks.py" and path.parent.name == "jit":
            continue
        local = {name: value for (where, name), value in values.items() if where == path}
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module:
                source = root / (node.module.removeprefix("rayplay.").replace(".", "/") + ".py")
                local |= {each.asname or each.name: values[source, each.name]
                          for each in node.names if (source, each.name) in values}  # fmt: skip
        made = WithoutHooks(local)
        text = ast.unparse(ast.fix_missing_locations(made.visit(tree)))
        gone += made.dropped
        if "_inlined" in text or "_compiled" in text:
            head = "from rayplay.replay.jit.bits import compiled as _compiled, inlined as _inlined\n"
            text = text.replace("\nfrom ", "\n" + head + "from ", 1)
        if text != ast.unparse(ast.parse(path.read_text())):
            path.write_text(text + "\n")
    return gone


def copied(folder: Path) -> Path:
    """A copy of the packages, without hooks."""
    for name in (*(link.readlink().name for link in (ROOT / "rayplay").iterdir() if link.is_symlink()), "rayplay"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy2(source, folder / name)
    print(f"{remove_hooks(folder)} calls of hooks are gone in the copy")
    return folder


RUN = """
import json, sys, time
from rayplay.formats.dataset.reader import open_trace
from rayplay.replay.gpu.description import load
from rayplay.replay.run.driver import simulate
from rayplay.replay.testing import digest
trace, gpu = open_trace(sys.argv[1]), load(sys.argv[2])
found = []
for _ in range(int(sys.argv[4])):
    begun = time.process_time()
    result = simulate(trace, gpu, model=sys.argv[3])
    found.append((result.host["engine_cpu_seconds"], time.process_time() - begun))
print(json.dumps([found, digest(result)]))
"""


def run_in(root: Path, cache: Path, script: str, *words: Any) -> Any:
    """Output, as JSON, of a script in a process that runs the engine in a folder, with a cache of its own."""
    environment = os.environ | {"PYTHONPATH": str(root), "RAYPLAY_CACHE": str(cache)}
    command = [sys.executable, "-c", script, *map(str, words)]
    done = subprocess.run(command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


COMPILE = """
import sys
from numba import typeof
from rayplay.formats.dataset.reader import open_trace
from rayplay.replay.engine.machine import Machine
from rayplay.replay.engine.quantum import separate_calls
from rayplay.replay.gpu.description import load
from rayplay.replay.input.program import read_characterisation
from rayplay.replay.jit.separate import compile_function
trace = open_trace(sys.argv[1])
engine = Machine(trace, load("mobile"), read_characterisation(trace, None)).engine()
for function, given in separate_calls(typeof(engine)):
    if function.__module__.rpartition(".")[2] in sys.argv[2:]:
        compile_function(function, given)
"""
CODE = """
import hashlib, json, pickle
from llvmlite import binding
from rayplay.formats.guard.sealed import load, sealed_root
found = {}
for path in sorted(sealed_root().glob("numba-replay-*/*/*")):
    _, payload = pickle.loads(load(str(path.relative_to(sealed_root()))))
    library = next(each for each in payload if isinstance(each, tuple) and len(each) == 3 and each[1] == "object")
    code = b"".join(each.data() for each in binding.ObjectFileRef.from_data(library[2][0]).sections() if each.is_text())
    found.setdefault(path.parent.name.rpartition("-")[0], []).append([len(code), hashlib.sha256(code).hexdigest()])
print(json.dumps(found))
"""
Code = dict[str, list[list[Any]]]


def code(root: Path, cache: Path) -> Code:
    """Bytes and digest of each machine code in the cache of a folder's engine, by entry point."""
    return run_in(root, cache, CODE)  # type: ignore[no-any-return]


def code_of(root: Path, cache: Path, modules: Sequence[str]) -> Code:
    """Compile the engine's entry points in these modules (``partition``, ``unit``); their machine code."""
    run_in(root, cache, COMPILE + "print(0)", ROOT / "traces" / "sample.trace", *modules)
    return code(root, cache)


def main() -> None:
    """Copy, compile, compare, take turns."""
    made = argparse.ArgumentParser(prog="python -m bench.plugins.hooks", description=__doc__.splitlines()[0])
    made.add_argument("trace", type=Path)
    made.add_argument("--gpu", default="rtx2060")
    made.add_argument("--model", default="characterised")
    made.add_argument("--rounds", type=int, default=12, help="processes of each engine (default: %(default)s)")
    made.add_argument("--repeats", type=int, default=3, help="replays of a process (default: %(default)s)")
    made.add_argument("--keep", type=Path, help="folder of the copy and of both caches")
    given = made.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        given.keep = (given.keep or Path(folder)).resolve()
        given.keep.mkdir(parents=True, exist_ok=True)
        bare = given.keep / "bare"
        if not bare.exists():
            copied(bare)
        compare(ROOT, bare, given)


def compare(hooked: Path, bare: Path, given: argparse.Namespace) -> None:
    """Print code and times of both engines."""
    caches = {root: given.keep / f"cache-{name}" for root, name in ((hooked, "hooked"), (bare, "bare"))}
    words = given.trace.resolve(), given.gpu, given.model
    results = [run_in(root, cache, RUN, *words, 1)[1] for root, cache in caches.items()]
    if results[0] != results[1]:
        sys.exit("the engine without hooks has another result")
    after, before = (code(root, cache) for root, cache in caches.items())
    for name in sorted(before):
        sizes = [" + ".join(f"{size:,}" for size, _ in each.get(name, [])) for each in (before, after)]
        same = "the same code" if sorted(before[name]) == sorted(after.get(name, [])) else "other"
        print(f"{name:28} {sizes[0]:>10} B without hooks, {sizes[1]:>10} B with: {same}")
    times: dict[Path, list[list[float]]] = {hooked: [], bare: []}
    for number in range(given.rounds):
        for root in (hooked, bare) if number % 2 else (bare, hooked):
            times[root] += run_in(root, caches[root], RUN, *words, given.repeats)[0]
    for column, what in enumerate(("engine", "whole replay")):
        least = {root: sorted(each[column] for each in times[root]) for root in times}
        middle = len(least[bare]) // 2
        print(f"{what}: least {least[bare][0]:.4f} s without hooks, {least[hooked][0]:.4f} s with, "
              f"{least[hooked][0] / least[bare][0] - 1:+.2%}; medians "
              f"{least[hooked][middle] / least[bare][middle] - 1:+.2%} ({len(least[bare])} replays each)")  # fmt: skip


if __name__ == "__main__":
    run("bench.plugins.hooks", main)
