"""Structure to PTX text: what parses back to the same structure, up to positions and the spacing of texts.

A name that the parser made unique (``%r1#2``) is printed as ``%r1$2``, or with more ``$`` where that is taken.
"""

from collections.abc import Callable, Iterable

from ptx.ir import (
    Address,
    Call,
    Function,
    Immediate,
    Instruction,
    Module,
    Not,
    Operand,
    Pair,
    Register,
    Symbol,
    Texture,
    Variable,
    Vector,
)
from ptx.numbers import TYPE_BYTES

Naming = Callable[[str], str]


def print_module(module: Module) -> str:
    """The text of a module: all functions declared, then variables, functions and, last, entries."""
    parts = [
        f".version {module.version[0]}.{module.version[1]}\n.target {', '.join(module.target)}\n"
        f".address_size {module.address_size}\n"
    ]
    functions = sorted(module.functions.values(), key=lambda function: function.is_entry)
    parts += [
        "\n".join([_head(function, str), *_directives(function)]) + ";"
        for function in functions
        if function.is_declaration or not function.is_entry
    ]
    symbols = frozenset(module.variables)
    parts += [_variable(variable, str, symbols) for variable in module.variables.values()]
    parts += [print_function(function, symbols) for function in functions if not function.is_declaration]
    return "\n".join(parts) + "\n"


def print_function(function: Function, module_variables: frozenset[str] = frozenset()) -> str:
    """The text of one function."""
    name = _Renaming(function)
    lines = [f"{_head(function, name)}", *_directives(function), "{"]
    parameters = {p.name for p in (*function.returns, *function.parameters) if p.space == "reg"}
    for register, type_name in function.registers.items():
        if register not in parameters:
            lines.append(f"\t.reg {_type(type_name)} {name(register)};")
    lines += [f"\t{_variable(v, name, module_variables)}" for v in function.variables.values()]
    lines += [f"{name(p)}: .callprototype {_signature(f, str, '_')};" for p, f in function.prototypes.items()]
    lines += [
        f"{name(targets)}: .branchtargets {', '.join(map(name, labels))};"
        for targets, labels in function.branch_targets.items()
    ]
    at: dict[int, list[str]] = {}
    for label, index in function.labels.items():
        at.setdefault(index, []).append(label)
    for index, instruction in enumerate(function.body):
        lines += [f"{name(label)}:" for label in at.get(index, ())]
        lines.append(f"\t{print_instruction(instruction, name)}")
    return "\n".join([*lines, "}"])


class _Renaming:
    """Names of a function as they can be written: ``#`` is not a character of PTX names."""

    def __init__(self, function: Function) -> None:
        taken = {*function.registers, *function.labels, *function.variables, *function.prototypes,
                 *function.branch_targets}  # fmt: skip
        self._names: dict[str, str] = {}
        for name in sorted(n for n in taken if "#" in n):
            new = name.replace("#", "$")
            while new in taken:
                new += "$"
            taken.add(new)
            self._names[name] = new

    def __call__(self, name: str) -> str:
        return self._names.get(name, name)


def _head(function: Function, name: Naming) -> str:
    linkage = f".{function.linkage} " if function.linkage else ""
    if function.is_entry:
        return f"{linkage}.entry {function.name} {_parameters(function.parameters)}"
    return f"{linkage}.func {_signature(function, name, function.name)}"


def _signature(function: Function, name: Naming, shown: str) -> str:
    returns = f"{_parameters(function.returns)} " if function.returns else ""
    return f"{returns}{shown} {_parameters(function.parameters)}"


def _parameters(parameters: Iterable[Variable]) -> str:
    return f"({', '.join(_variable(p, str, frozenset()).rstrip(';') for p in parameters)})"


def _directives(function: Function) -> list[str]:
    return [f".{name} {', '.join(map(str, numbers))}".rstrip() for name, numbers in function.directives.items()]


def _type(type_name: str) -> str:
    return "." + " .".join(type_name.split("."))


def _variable(variable: Variable, name: Naming, symbols: frozenset[str]) -> str:
    linkage = f".{variable.linkage} " if variable.linkage else ""
    if variable.space == "reg":
        return f".reg {_type(variable.type)} {name(variable.name)};"
    element = variable.type.rpartition(".")[2]
    lanes = int(variable.type[1]) if "." in variable.type else 1
    count = variable.bytes // (TYPE_BYTES[element] * lanes)
    shape = "" if count == 1 else f"[{count}]" if count else "[]"
    initial = f" = {_initial(variable, element, symbols)}" if variable.initial else ""
    kind = f"{linkage}.{variable.space} .align {variable.align} {_type(variable.type)}"
    return f"{kind} {name(variable.name)}{shape}{initial};"


def _initial(variable: Variable, element: str, symbols: frozenset[str]) -> str:
    size = TYPE_BYTES[element]
    data = variable.initial + bytes(-len(variable.initial) % size)
    relocations = dict(variable.relocations)
    values = []
    for start in range(0, len(data), size):
        symbol = relocations.get(start)
        if symbol is not None:
            shown = f"generic({symbol.name})" if symbol.name in symbols else symbol.name
            values.append(f"{shown}+{symbol.offset}" if symbol.offset else shown)
        else:
            values.append(_number(int.from_bytes(data[start : start + size], "little"), element))
    return values[0] if variable.bytes == size else f"{{{', '.join(values)}}}"


def _number(bits: int, element: str) -> str:
    return {"f32": f"0F{bits:08X}", "f64": f"0D{bits:016X}"}.get(element, str(bits))


def print_instruction(instruction: Instruction, name: Naming = str) -> str:
    """The text of one instruction, with its guard and semicolon; ``name`` maps names to written ones."""
    guard = ""
    if instruction.guard is not None:
        guard = f"@{'!' * instruction.guard.negated}{print_operand(instruction.guard.register, name)} "
    if instruction.call is not None:
        operands = _call(instruction.call, name)
    else:
        operands = ", ".join(print_operand(operand, name) for operand in instruction.operands)
    return f"{guard}{instruction.full_opcode} {operands}".rstrip() + ";"


def _call(call: Call, name: Naming) -> str:
    results = f"({', '.join(print_operand(o, name) for o in call.results)}), " if call.results else ""
    arguments = f", ({', '.join(print_operand(o, name) for o in call.arguments)})"
    prototype = f", {name(call.prototype)}" if call.prototype else ""
    return f"{results}{print_operand(call.target, name)}{arguments}{prototype}"


def print_operand(operand: "Operand | None", name: Naming = str) -> str:
    """The text of one operand."""
    match operand:
        case None:
            return "_"
        case Register(base, component):
            return f"{name(base)}.{component}" if component else name(base)
        case Immediate(bits, kind):
            return _number(bits, kind)
        case Symbol(base, offset):
            return name(base) + (f"+{offset}" if offset > 0 else str(offset) if offset else "")
        case Address(base, offset):
            return f"[{print_operand(base, name)}{f'+{offset}' if offset else ''}]"
        case Vector(elements):
            return f"{{{', '.join(print_operand(e, name) for e in elements)}}}"
        case Pair(first, second):
            return f"{print_operand(first, name)}|{print_operand(second, name)}"
        case Not(register):
            return f"!{print_operand(register, name)}"
        case Texture(texture, sampler, coordinates):
            parts = [texture, *([sampler] if sampler else []), coordinates]
            return f"[{', '.join(print_operand(part, name) for part in parts)}]"
    raise TypeError(f"not an operand: {operand!r}")
