"""A plug-in: one file outside the package whose functions replace hooks of the units.

To load one runs its code, which is the user's own act: only an option or an argument names it, never a description.
"""

import inspect
import keyword
import linecache
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata, util
from pathlib import Path
from types import ModuleType
from typing import Any

from rayplay.formats.guard.digest import text_digest
from rayplay.formats.guard.errors import UserError, reason_of
from rayplay.formats.guard.nearest import meant
from rayplay.formats.guard.text import read_text
from rayplay.replay.input.traversals import NEEDS
from rayplay.replay.jit.bits import called_from_python
from rayplay.replay.plugin.author import Parameter
from rayplay.replay.plugin.targets import UNITS, hook_named

RESERVED = ("counters", "instances", "digest")
"""Names in a plug-in's own state and in its section that are the engine's."""
GROUP = "rayplay.policies"
"""Entry points of packages that bring policies: NAME = MODULE."""


@dataclass(frozen=True, repr=False)
class Plugin:
    """A plug-in that was loaded.

    name        of its file, without ``.py``; digest: SHA-256 of its text.
    functions   by hook, such as ``l1.replace``, compiled.
    arrays      what its file calls ``arrays``: (unit, state, parameters[, nodes]) -> its own arrays of that unit.
    parameters  by name; ``counters``: names of the columns of ``own.counters``.
    needs       tables of the trace, of ``traversals.NEEDS``, that it reads.
    classes     of its own states, by unit; filled by ``attach``.
    """

    name: str
    path: str
    source: str
    digest: str
    module: ModuleType
    functions: dict[str, Any]
    arrays: Callable[..., dict[str, Any]] | None
    parameters: dict[str, Parameter]
    counters: tuple[str, ...]
    needs: tuple[str, ...] = ()
    classes: dict[str, type] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Plugin {self.name}: {', '.join(self.functions)}>"

    @property
    def units(self) -> tuple[str, ...]:
        """The units that it acts on, in the order of ``UNITS``."""
        named = {hook.partition(".")[0] for hook in self.functions}
        return tuple(unit for unit in UNITS if unit in named)


LOADED: dict[tuple[str, str], Plugin] = {}
"""By name and digest: the types of the engine's states name classes of a plug-in, which must be made once."""


def load(name: Path | str) -> Plugin:
    """Load a plug-in by its ``.py`` file, or by the entry point of a package; ``UserError`` for another file."""
    path = Path(name)
    if path.suffix != ".py":
        path = of_package(str(name))
    return load_text(str(path), read_text(path, "plug-in"))


def of_package(name: str) -> Path:
    """The file of the policy that an installed package brings under a name."""
    found = {entry.name: entry for entry in metadata.entry_points(group=GROUP)}
    if name not in found:
        near = meant(name, found, "; ")
        raise UserError(f"--plugin {name}: must be a .py file, or a policy of an installed package{near}")
    try:
        spec = util.find_spec(found[name].module)
    except ImportError:
        spec = None
    if spec is None or spec.origin is None:
        raise UserError(f"--plugin {name}: its package has no module {found[name].module}")
    return Path(spec.origin)


def load_text(path: str, source: str) -> Plugin:
    """The plug-in of a text, which ``path`` names in messages; each text is run once in a process."""
    name, digest = Path(path).stem, text_digest(source)
    if not name.isidentifier() or keyword.iskeyword(name):
        raise UserError(f"{path}: a plug-in's file must have a name of letters, digits and _, such as longest_first.py")
    if (name, digest) not in LOADED:
        module = ModuleType(f"rayplay_plugin_{name}_{digest[:12]}")
        module.__file__ = path
        run(module, path, source)
        LOADED[name, digest] = made_of(module, name, path, source, digest)
        sys.modules[module.__name__] = module
    return LOADED[name, digest]


def run(module: ModuleType, path: str, source: str) -> None:
    """Run a plug-in's text; whatever is wrong with it is a ``UserError`` with its line."""
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    try:
        exec(compile(source, path, "exec"), vars(module))
    except SyntaxError as error:
        raise UserError(f"{path}:{error.lineno}: {error.msg}") from None
    except Exception as error:
        frames, line = inspect.getinnerframes(error.__traceback__) if error.__traceback__ else [], 0
        for frame in frames:
            line = frame.lineno if frame.filename == path else line
        kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
        raise UserError(f"{path}:{line}: {kind}{reason_of(error)}") from None


def made_of(module: ModuleType, name: str, path: str, source: str, digest: str) -> Plugin:
    """The plug-in that a module declares."""
    functions: dict[str, Any] = {}
    for made in list(vars(module).values()):
        if isinstance(named := getattr(made, "hooks", None), tuple):
            for hook in named:
                if hook in functions and functions[hook] is not made:
                    raise UserError(f"{place(path, made)}: hook {hook} is replaced twice")
                expect_arguments(path, made, hook)
                functions[hook] = made
    if not functions:
        raise UserError(f'{path}: replaces no hook; decorate a function with @hook("rt.choose_warp") or another')
    parameters, counters = getattr(module, "PARAMETERS", {}), getattr(module, "COUNTERS", ())
    if not isinstance(parameters, dict) or not all(isinstance(each, Parameter) for each in parameters.values()):
        raise UserError(f"{path}: PARAMETERS must be a table of name: parameter(...)")
    for key in parameters:
        if not is_field(key) or key in RESERVED:
            raise UserError(
                f"{path}: PARAMETERS: {key!r} must be a name of letters, digits and _ that begins with a letter, and"
                f" not {', '.join(RESERVED)}"
            )
    if not isinstance(counters, tuple) or not all(isinstance(each, str) and each.isidentifier() for each in counters):
        raise UserError(f"{path}: COUNTERS must be a tuple of names, not {counters!r}")
    needs = getattr(module, "NEEDS", ())
    if not isinstance(needs, tuple) or not all(each in NEEDS for each in needs):
        raise UserError(f"{path}: NEEDS must be a tuple of {', '.join(NEEDS)}, not {needs!r}")
    return Plugin(
        name, path, source, digest, module, functions, getattr(module, "arrays", None), parameters, counters, needs
    )  # fmt: skip


def is_field(name: Any) -> bool:
    """Whether a text may name a value of a plug-in's own state."""
    return isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_")


def place(path: str, made: Any) -> str:
    """File and line of a function of a plug-in."""
    return f"{path}:{called_from_python(made).__code__.co_firstlineno}"


def expect_arguments(path: str, made: Any, name: str) -> None:
    """``UserError`` for a function that takes other arguments than the hook gives."""
    function, wanted = called_from_python(made), hook_named(name).of_plugin
    given = tuple(inspect.signature(function).parameters)
    if len(given) != len(wanted):
        raise UserError(
            f"{place(path, made)}: {function.__name__}({', '.join(given)}): hook {name} gives {len(wanted)} arguments:"
            f" ({', '.join(wanted)})"
        )
