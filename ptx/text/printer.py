"""Structure to PTX text: what parses back to the same structure, up to positions and the spacing of texts.

A name that the parser made unique (``%r1#2``) is printed as ``%r1$2``, or with more ``$`` where that is taken.
"""

from collections.abc import Callable, Iterable

from rayplay.ptx import ir
from rayplay.ptx.numbers import TYPE_BYTES
from rayplay.ptx.text.names import outside_registers

Naming = Callable[[str], str]
LATE = (".section", "@@DWARF")  # they name labels of functions


def print_module(module: ir.Module) -> str:
    """The text of a module: all functions declared, then variables, functions and, last, entries and debug sections."""
    early = [a.text for a in module.annotations if not a.text.startswith(LATE)]
    late = [a.text for a in module.annotations if a.text.startswith(LATE)]
    parts = [
        f".version {module.version[0]}.{module.version[1]}\n.target {', '.join(module.target)}\n"
        f".address_size {module.address_size}\n"
    ]
    parts += early
    parts += [f".reg {_type(type_name)} {name};" for name, type_name in module.registers.items()]
    functions = sorted(module.functions.values(), key=lambda function: function.is_entry)
    parts += [
        "\n".join([_head(function, str), *_directives(function)]) + ";"
        for function in functions
        if function.is_declaration or not function.is_entry
    ]
    parts += [_variable(variable, str) for variable in module.variables.values()]
    defined = [f for f in functions if not f.is_declaration and f.name not in module.aliases]
    parts += [print_function(function, outside_registers(function, module)) for function in defined]
    parts += [f".alias {alias}, {name};" for alias, name in module.aliases.items()]
    return "\n".join(parts + late) + "\n"


def print_function(function: ir.Function, outside: frozenset[str] = frozenset()) -> str:
    """The text of one function; registers declared ``outside`` functions are not declared again."""
    name = _Renaming(function)
    lines = [f"{_head(function, name)}", *_directives(function), "{"]
    declared = {p.name for p in (*function.returns, *function.parameters) if p.space == "reg"} | outside
    for register, type_name in function.registers.items():
        if register not in declared:
            lines.append(f"\t.reg {_type(type_name)} {name(register)};")
    lines += [f"\t{_variable(v, name)}" for v in function.variables.values()]
    for prototype, signature in function.prototypes.items():
        text = " ".join([_signature(signature, str, "_"), *_directives(signature)])
        lines.append(f"{name(prototype)}: .callprototype {text};")
    lines += [
        f"{name(targets)}: .branchtargets {', '.join(map(name, labels))};"
        for targets, labels in function.branch_targets.items()
    ]
    at: dict[int, list[str]] = {}
    for label, index in function.labels.items():
        at.setdefault(index, []).append(f"{name(label)}:")
    for annotation in function.annotations:
        at.setdefault(annotation.index, []).append(f"\t{annotation.text}")
    for index, instruction in enumerate(function.body):
        lines += at.get(index, ())
        lines.append(f"\t{print_instruction(instruction, name)}")
    lines += at.get(len(function.body), ())
    return "\n".join([*lines, "}"])


class _Renaming:
    """Names of a function as they can be written: ``#`` is not a character of PTX names."""

    def __init__(self, function: ir.Function) -> None:
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


def _head(function: ir.Function, name: Naming) -> str:
    linkage = f".{function.linkage} " if function.linkage else ""
    said = _attributes(function.attributes)
    if function.is_entry:
        return f"{linkage}.entry {said}{function.name} {_parameters(function.parameters, str)}"
    return f"{linkage}.func {said}{_signature(function, name, function.name)}"


def _signature(function: ir.Function, name: Naming, shown: str) -> str:
    returns = f"{_parameters(function.returns, name)} " if function.returns else ""
    return f"{returns}{shown} {_parameters(function.parameters, name)}"


def _parameters(parameters: Iterable[ir.Variable], name: Naming) -> str:
    return f"({', '.join(_variable(p, name).rstrip(';') for p in parameters)})"


def _directives(function: ir.Function) -> list[str]:
    numbers = [f".{name} {', '.join(map(str, numbers))}".rstrip() for name, numbers in function.directives.items()]
    return [*numbers, *(f".pragma {text};" for text in function.pragmas)]


def _type(type_name: str) -> str:
    return "." + " .".join(type_name.split("."))


def _attributes(texts: Iterable[str]) -> str:
    return "".join(f".attribute({text}) " for text in texts)


def _variable(variable: ir.Variable, name: Naming) -> str:
    linkage = f".{variable.linkage} " if variable.linkage else ""
    if variable.space == "reg":
        return f".reg {_type(variable.type)} {name(variable.name)};"
    pointer = ""
    if variable.pointer is not None:
        space, align = variable.pointer
        pointer = " .ptr" + f" .{space}" * bool(space) + f" .align {align}" * bool(align)
    shape = "".join(f"[{d}]" if d else "[]" for d in variable.shape)
    aligned = "" if variable.type.endswith("ref") else f".align {variable.align} "
    said = _attributes(variable.attributes)
    kind = f"{linkage}.{variable.space} {said}{aligned}{_type(variable.type)}{pointer}"
    return f"{kind} {name(variable.name)}{shape}{_initial(variable)};"


def _initial(variable: ir.Variable) -> str:
    if variable.properties:
        return f" = {{{', '.join(f'{name} = {value}' for name, value in variable.properties)}}}"
    if not (variable.initial or variable.relocations):
        return ""
    element = variable.type.rpartition(".")[2]
    shape = list(variable.shape) + ([int(variable.type[1])] if "." in variable.type else [])
    values = _values(variable, element)
    for size in reversed(shape[1:]):
        values = [f"{{{', '.join(values[i : i + size])}}}" for i in range(0, len(values), size)]
    return f" = {{{', '.join(values)}}}" if shape else f" = {values[0]}"


def _values(variable: ir.Variable, element: str) -> list[str]:
    """The elements of an initialiser up to the last that is not 0."""
    size = TYPE_BYTES[element]
    data = variable.initial + bytes(-len(variable.initial) % size)
    linked = {offset: _symbol(symbol) for offset, symbol in variable.relocations if size > 1}
    for offset, symbol in variable.relocations:
        if size == 1:  # an address in an array of bytes: each byte is a mask of it
            linked |= {offset + i: f"{0xFF << 8 * i:#x}({_symbol(symbol)})" for i in range(8)}
    linked |= {offset: f"{mask:#x}({_symbol(symbol)})" for offset, mask, symbol in variable.masked}
    return [
        linked.get(start) or _number(int.from_bytes(data[start : start + size], "little"), element)
        for start in range(0, len(data), size)
    ]


def _symbol(symbol: ir.Symbol) -> str:
    name = f"generic({symbol.name})" if symbol.generic else symbol.name
    return f"{name}+{symbol.offset}" if symbol.offset else name


def _number(bits: int, element: str) -> str:
    return {"f32": f"0F{bits:08X}", "f64": f"0D{bits:016X}"}.get(element, str(bits))


def print_instruction(instruction: ir.Instruction, name: Naming = str) -> str:
    """The text of one instruction, with its guard and semicolon; ``name`` maps names to written ones."""
    guard = ""
    if instruction.guard is not None:
        guard = f"@{'!' * instruction.guard.negated}{print_operand(instruction.guard.register, name)} "
    if instruction.call is not None:
        operands = _call(instruction.call, name)
    else:
        operands = ", ".join(print_operand(operand, name) for operand in instruction.operands)
    return f"{guard}{instruction.full_opcode} {operands}".rstrip() + ";"


def _call(call: ir.Call, name: Naming) -> str:
    results = f"({', '.join(print_operand(o, name) for o in call.results)}), " if call.results else ""
    arguments = f", ({', '.join(print_operand(o, name) for o in call.arguments)})"
    prototype = f", {name(call.prototype)}" if call.prototype else ""
    return f"{results}{print_operand(call.target, name)}{arguments}{prototype}"


def print_operand(operand: "ir.Operand | None", name: Naming = str) -> str:
    """The text of one operand."""
    match operand:
        case None:
            return "_"
        case ir.Register(base, component):
            return f"{name(base)}.{component}" if component else name(base)
        case ir.Immediate(bits, kind):
            return _number(bits, kind)
        case ir.Symbol(base, offset):
            return name(base) + (f"+{offset}" if offset else "")
        case ir.Address(base, offset, unified):
            return f"[{print_operand(base, name)}{f'+{offset}' if offset else ''}]{'.unified' if unified else ''}"
        case ir.Modified(base, "-"):
            return f"-{print_operand(base, name)}"
        case ir.Vector(elements):
            return f"{{{', '.join(print_operand(e, name) for e in elements)}}}"
        case ir.Pair(first, second):
            return f"{print_operand(first, name)}|{print_operand(second, name)}"
        case ir.Not(register):
            return f"!{print_operand(register, name)}"
        case ir.Texture(texture, sampler, coordinates):
            parts = [texture, *([sampler] if sampler else []), coordinates]
            return f"[{', '.join(print_operand(part, name) for part in parts)}]"
    raise TypeError(f"not an operand: {operand!r}")
