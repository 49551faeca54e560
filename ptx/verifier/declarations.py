"""Faults in the declarations of a module: target, variables, parameters, directives, forward declarations."""

from collections.abc import Iterator

from rayplay.ptx.ir import Function, Module, Position, Variable
from rayplay.ptx.text.declarations import REGISTER_TYPES
from rayplay.ptx.verifier.needs import Needs
from rayplay.ptx.verifier.targets import target_problems

Found = tuple[Position, str]

ENTRY_DIRECTIVES = frozenset((
    "maxntid", "reqntid", "minnctapersm", "maxnctapersm", "maxnreg", "explicitcluster", "reqnctapercluster",
    "maxclusterrank", "blocksareclusters",
))  # fmt: skip
FUNC_DIRECTIVES = frozenset(("noreturn", "abi_preserve", "abi_preserve_control"))
_MOST_NUMBERS = {"maxntid": 3, "reqntid": 3, "reqnctapercluster": 3, "noreturn": 0, "explicitcluster": 0,
                 "blocksareclusters": 0}  # fmt: skip
_NO_INITIAL = frozenset(("shared", "local", "param"))
_WITH_ABI = (3, 0)  # from this version on registers and local memory belong to functions


def module_problems(module: Module, known_version: bool) -> Iterator[Found]:
    """Problems of the module's head and of all its declarations."""
    if known_version:
        yield from target_problems(module)
        yield from Needs(module).of_declarations()
    for variable in module.variables.values():
        yield from _variable_problems(variable)
        if variable.space == "param" or (variable.space == "local" and module.version >= _WITH_ABI):
            yield variable.position, f"'{variable.name}' is in .{variable.space}, which only functions have"
        if variable.space == "tex" and module.version >= (1, 5):
            yield variable.position, f"'{variable.name}' is in .tex, which .version 1.5 has replaced by .texref"
        if variable.type == "samplerref" and "texmode_independent" not in module.target:
            yield variable.position, f"'{variable.name}' is a .samplerref, which needs .target texmode_independent"
        if variable.name in module.functions:
            yield variable.position, f"'{variable.name}' is both a variable and a function"
    for alias, name in module.aliases.items():
        if name not in module.functions:
            yield Position(1, 1), f".alias {alias} stands for '{name}', which is no function"
    for name in module.registers if module.version >= _WITH_ABI else ():
        yield Position(1, 1), f"register '{name}' is declared outside functions"
    for function in module.functions.values():
        yield from _head_problems(function, known_version)
        if "maxnctapersm" in function.directives and module.version >= (2, 1):
            yield function.position, ".maxnctapersm was dropped in .version 2.1, where .minnctapersm replaces it"
        for variable in function.variables.values():
            yield from _variable_problems(variable)


def _variable_problems(variable: Variable) -> Iterator[Found]:
    name, place = variable.name.partition("#")[0], variable.position
    has_initial = bool(variable.initial or variable.relocations or variable.masked)
    if has_initial and variable.space in _NO_INITIAL:
        yield place, f"'{name}' is in .{variable.space}, which has no initial values"
    if has_initial and variable.linkage == "extern":
        yield place, f"'{name}' is .extern and cannot have an initial value here"
    if variable.bytes == 0 and variable.linkage != "extern" and variable.space not in ("param", "reg"):
        yield place, f"'{name}' has no size; only .extern arrays may leave it out"
    kind = variable.type.rpartition(".")[2]
    if kind == "pred":
        yield place, f"'{name}' is a predicate, which only registers hold"
    elif f".{kind}" not in REGISTER_TYPES and not kind.endswith("ref"):
        yield place, f"'{name}' is a .{kind}, a type that only instructions have"


def _head_problems(function: Function, known_version: bool) -> Iterator[Found]:
    place, name = function.position, function.name
    for parameter in function.parameters:
        if parameter.space not in (("param",) if function.is_entry else ("param", "reg")):
            yield place, f"parameter '{parameter.name}' of '{name}' must be in .param, it is in .{parameter.space}"
        elif parameter.space == "param" and parameter.type == "pred":
            yield place, f"parameter '{parameter.name}' of '{name}' is a predicate, which only registers hold"
        elif function.is_entry and parameter.shape and not parameter.bytes:
            yield place, f"parameter '{parameter.name}' of entry '{name}' has no size"
    if len(function.returns) > 1 and any(r.space == "param" for r in function.returns):
        yield place, f"'{name}' returns more than one .param"
    if {"maxntid", "reqntid"} <= function.directives.keys():
        yield place, f"'{name}' has both .maxntid and .reqntid"
    allowed = ENTRY_DIRECTIVES if function.is_entry else FUNC_DIRECTIVES
    for directive, numbers in function.directives.items():
        if directive not in allowed and known_version:
            yield place, f".{directive} is no directive of {'an .entry' if function.is_entry else 'a .func'}"
        most = _MOST_NUMBERS.get(directive, 1)
        if not min(most, 1) <= len(numbers) <= most or any(number <= 0 for number in numbers):
            wanted = f"1 to {most} positive numbers" if most > 1 else f"{most} positive numbers"
            yield place, f".{directive} needs {wanted}, not {', '.join(map(str, numbers)) or 'none'}"
