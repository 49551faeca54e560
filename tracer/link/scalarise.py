"""Vector registers (``.reg .v4 .f32 %v``) as their elements, ``%v.x`` to ``%v.w``: what comes after knows only scalars.

An operand without a component becomes the vector of all elements; as a parameter, argument or result of a function,
that many of them.
"""

from dataclasses import replace

from rayplay.ptx.ir import Address, Call, Function, Instruction, Module, Operand, Register, Texture, Variable, Vector
from rayplay.ptx.numbers import TYPE_BYTES

COMPONENTS = "xyzw"
COLOURS = str.maketrans("rgba", COMPONENTS)


def scalar_module(module: Module) -> Module:
    """The module with the vector registers of its functions as scalars; itself without any."""
    functions = {name: scalar_function(function) for name, function in module.functions.items()}
    if all(functions[name] is function for name, function in module.functions.items()):
        return module
    return replace(module, functions=functions)


def scalar_function(function: Function) -> Function:
    """The function with its vector registers, and its prototypes' ones, as scalars."""
    prototypes = {name: scalar_function(prototype) for name, prototype in function.prototypes.items()}
    unchanged = all(prototypes[name] is prototype for name, prototype in function.prototypes.items())
    vectors = {name: kind for name, kind in function.registers.items() if kind[0] == "v"}
    specials = any(_reads_special_vector(i) for i in function.body)
    if unchanged and not vectors and not specials:
        return function
    registers: dict[str, str] = {}
    for name, kind in function.registers.items():
        registers.update({part: kind.split(".")[-1] for part in _parts(name, kind)})
    return replace(
        function,
        registers=registers,
        parameters=tuple(part for variable in function.parameters for part in _variables(variable)),
        returns=tuple(part for variable in function.returns for part in _variables(variable)),
        body=tuple(_instruction(i, vectors) for i in function.body),
        prototypes=prototypes,
    )


def _parts(name: str, kind: str) -> list[str]:
    """Names of the scalar registers of a register."""
    return [f"{name}.{c}" for c in COMPONENTS[: int(kind[1])]] if kind[0] == "v" else [name]


def _variables(variable: Variable) -> list[Variable]:
    """The scalar parameters of a parameter."""
    if variable.space != "reg" or variable.type[0] != "v":
        return [variable]
    kind = variable.type.split(".")[-1]
    return [
        replace(variable, name=name, type=kind, bytes=TYPE_BYTES[kind]) for name in _parts(variable.name, variable.type)
    ]


def _reads_special_vector(i: Instruction) -> bool:
    """``mov.v4.u32 {..}, %tid``"""
    return i.opcode == "mov" and i.form.lanes == 4 and isinstance(i.operands[-1], Register)


def _instruction(i: Instruction, vectors: dict[str, str]) -> Instruction:
    if i.call is not None:
        call = Call(_flat(i.call.results, vectors), i.call.target, _flat(i.call.arguments, vectors), i.call.prototype)
        return replace(i, call=call)
    operands = tuple(_operand(operand, vectors) for operand in i.operands)
    if _reads_special_vector(i) and isinstance(operands[-1], Register):
        name = operands[-1].name
        operands = (*operands[:-1], Vector(tuple(Register(name, c) for c in COMPONENTS)))
    return replace(i, operands=operands)


def _flat(operands: tuple[Operand, ...], vectors: dict[str, str]) -> tuple[Operand, ...]:
    made: list[Operand] = []
    for operand in operands:
        changed = _operand(operand, vectors)
        whole = isinstance(operand, Register) and isinstance(changed, Vector)
        made += [e for e in changed.elements if e is not None] if whole and isinstance(changed, Vector) else [changed]
    return tuple(made)


def _operand(operand: Operand, vectors: dict[str, str]) -> Operand:
    if isinstance(operand, Register) and operand.name in vectors:
        if operand.component:
            return Register(f"{operand.name}.{operand.component.translate(COLOURS)}")
        return Vector(tuple(Register(part) for part in _parts(operand.name, vectors[operand.name])))
    if isinstance(operand, Vector):
        return Vector(tuple(None if each is None else _operand(each, vectors) for each in operand.elements))
    if isinstance(operand, Address):
        base = _operand(operand.base, vectors)
        return replace(operand, base=base) if isinstance(base, Register) else operand
    if isinstance(operand, Texture):
        return replace(operand, coordinates=_operand(operand.coordinates, vectors))
    return operand
