"""The targets of all values of a program, by repeating the rules of ``hypa.slicing.pointers`` until nothing changes."""

from dataclasses import dataclass, field

from rayplay.hypa.slicing.accesses import Use, memory_uses
from rayplay.hypa.slicing.call_graph import CallSite, Place, call_sites, passed, returned
from rayplay.hypa.slicing.pointers import NUMBER, UNKNOWN, Arguments, Location, Object, Scope, Target, merged
from rayplay.hypa.slicing.ssa import ENTRY, PHI, Ssa, build_ssa
from rayplay.ptx.ir import Address, Function, Module, Operand, Register, Symbol
from rayplay.ptx.isa.describe import describe
from rayplay.ptx.program import Program

Values = list["Target | None"]


@dataclass
class PointsTo:
    """Targets of all values of a program.

    ssa        per function.
    targets    per function and value; None for a value that nothing defines.
    variables  of the ``.param`` variables that pass values between functions; ``exposed``: the ones reached by
               address as well.
    types      of all instructions; ``stores`` and ``returns``: where these stand, (function, index).
    """

    program: Program
    ssa: list[Ssa]
    sites: list[CallSite]
    scopes: list[Scope]
    targets: list[Values]
    variables: dict[Place, "Target | None"] = field(default_factory=dict)
    exposed: dict[Place, str] = field(default_factory=dict)
    types: list[list[str]] = field(default_factory=list)
    stores: list[tuple[int, int]] = field(default_factory=list)
    returns: list[tuple[int, int]] = field(default_factory=list)

    def uses(self, number: int, index: int) -> list[tuple[Use, Location]]:
        """The memory accesses of instruction ``index`` of function ``number``, and where they can go."""
        function = self.program.functions[number]
        values = self.read_by(number, index)
        return [(use, self.scopes[number].location(use, values)) for use in memory_uses(function.body[index], function)]

    def read_by(self, number: int, index: int) -> "dict[str, Target | None]":
        """The targets of the registers that an instruction reads."""
        return {name: self.targets[number][value] for name, value in self.ssa[number].reads[index].items()}


def points_to(program: Program, arguments: Arguments) -> PointsTo:
    """Analyse the functions of a launch. ``arguments`` says what the kernel's parameters point into."""
    ssa = [build_ssa(function, cfg) for function, cfg in zip(program.functions, program.cfgs, strict=True)]
    pairs = zip(program.modules, program.functions, strict=True)
    scopes = [Scope(_variables(m, f), arguments, m.address_size // 8) for m, f in pairs]
    made = PointsTo(program, ssa, call_sites(program), scopes, [[None] * len(each.definition) for each in ssa])
    made.exposed = _exposed(made)
    made.types = [[describe(i, function).type for i in function.body] for function in program.functions]
    made.stores, made.returns = (
        [(number, index) for number, f in enumerate(program.functions) for index, i in enumerate(f.body)
         if i.opcode == opcode]
        for opcode in ("st", "ret")
    )  # fmt: skip
    _enter(made)
    while _step(made):
        pass
    return made


def _variables(module: Module, function: Function) -> dict[str, Object]:
    """The object behind each name that an address can be made from."""
    found: dict[str, Object] = {}
    for variable in (*module.variables.values(), *function.variables.values()):
        name = variable.name
        if variable.space == "shared" and (variable.linkage == "extern" or not variable.bytes):
            name = ""  # all unsized ones lie at the same place
        elif variable.space in ("local", "param"):
            name = f"{function.name}:{name}"
        found[variable.name] = ("variable", variable.space, name)
    for parameter in (*function.parameters, *function.returns):
        if function.is_entry:
            found[parameter.name] = ("parameter", "param", parameter.name)
        else:
            found[parameter.name] = ("variable", "param", f"{function.name}:{parameter.name}")
    return found


def _enter(made: PointsTo) -> None:
    """Registers without a value at the entry hold no pointer, except arguments, which hold the value passed."""
    for number, ssa in enumerate(made.ssa):
        formals = {variable.name for variable in made.program.functions[number].parameters}
        for value, (kind, _, register) in enumerate(ssa.definition):
            if kind == ENTRY and register not in formals:
                made.targets[number][value] = NUMBER


def _step(made: PointsTo) -> bool:
    """Apply every rule once; whether anything changed."""
    changed = _pass_values(made)
    for number, ssa in enumerate(made.ssa):
        targets = made.targets[number]
        for phi in ssa.phis:
            found: Target | None = None
            for argument in phi.arguments:
                found = merged(found, targets[argument])
            changed |= _set(targets, phi.value, found)
        for value, (kind, where, register) in enumerate(ssa.definition):
            if kind == ENTRY and (number, register) in made.variables:
                changed |= _set(targets, value, made.variables[number, register])
            elif kind not in (ENTRY, PHI):
                changed |= _set(targets, value, _defined(made, number, where, register))
    return changed


def _set(targets: Values, value: int, found: "Target | None") -> bool:
    if targets[value] == found or found is None:
        return False
    targets[value] = found
    return True


def _defined(made: PointsTo, number: int, index: int, register: str) -> "Target | None":
    """The target that an instruction leaves in a register."""
    function = made.program.functions[number]
    i = function.body[index]
    values = made.read_by(number, index)
    if i.call is not None:
        found = _returned(made, number, index, register)
    elif (place := _private_variable(made, number, i.operands[1] if len(i.operands) > 1 else None)) is not None:
        found = made.variables.get(place)
    else:
        found = made.scopes[number].result(i, made.types[number][index], values)
    if i.guard is not None:
        found = merged(found, values.get(register))
    return found


def _returned(made: PointsTo, number: int, index: int, register: str) -> "Target | None":
    site = next(s for s in made.sites if (s.caller, s.index) == (number, index))
    if not site.callees:
        return UNKNOWN
    found: Target | None = None
    for operand, place in returned(made.program, site):
        if isinstance(operand, Register) and operand.name == register:
            found = merged(found, made.variables.get(place))
    return found


def _private_variable(made: PointsTo, number: int, operand: Operand | None) -> Place | None:
    """The ``.param`` variable of a function that ``[name + offset]`` names; not a parameter of a kernel."""
    base = operand.base if isinstance(operand, Address) else None
    return (number, base.name) if isinstance(base, Symbol) and _passes(made, number, base.name) else None


def _passes(made: PointsTo, number: int, name: str) -> bool:
    """Whether a name is a ``.param`` variable that passes values between functions."""
    return made.scopes[number].variables.get(name, ("",))[:2] == ("variable", "param")


def _pass_values(made: PointsTo) -> bool:
    """Join into ``.param`` variables the values stored there, passed to a function, or returned by one."""
    changed = False
    for number, index in made.stores:
        i = made.program.functions[number].body[index]
        place = _private_variable(made, number, i.operands[0])
        if place is not None:
            stored = made.scopes[number].value(i.operands[1], made.read_by(number, index))
            changed |= _join(made, place, stored)
        elif made.exposed:
            changed |= _store_by_address(made, number, index)
    for number, index in made.returns:
        for name, value in made.ssa[number].reads[index].items():
            changed |= _join(made, (number, name), made.targets[number][value])
    for site in made.sites:
        for operand, place in passed(made.program, site):
            changed |= _join(made, place, _operand_target(made, site, operand))
        if not site.callees:
            for operand in site.call.results:
                if isinstance(operand, Symbol):
                    changed |= _join(made, (site.caller, operand.name), UNKNOWN)
        for operand, place in returned(made.program, site):
            if isinstance(operand, Symbol):
                changed |= _join(made, (site.caller, operand.name), made.variables.get(place))
    return changed


def private_places(made: PointsTo, location: Location, only: int | None = None) -> list[Place]:
    """The ``.param`` variables that an access by address can reach: those it points into, or any whose address is made.

    only  the function whose variables an access in state space ``param`` can reach.
    """
    if location.is_known:
        wanted = {item[2] for item in location.target.objects if item[:2] == ("variable", "param")}
        return [place for place, key in made.exposed.items() if key in wanted]
    if location.space not in ("param", "generic"):
        return []
    return [place for place in made.exposed if location.space == "generic" or place[0] == only]


def _store_by_address(made: PointsTo, number: int, index: int) -> bool:
    i = made.program.functions[number].body[index]
    stored = made.scopes[number].value(i.operands[1], made.read_by(number, index))
    places = [place for _, location in made.uses(number, index) for place in private_places(made, location, number)]
    changed = False
    for place in places:
        changed |= _join(made, place, stored)
    return changed


def _exposed(made: PointsTo) -> dict[Place, str]:
    """The ``.param`` variables whose address some instruction makes, and the last part of their objects' names."""
    found = {}
    for number, function in enumerate(made.program.functions):
        for i in function.body:
            for operand in i.operands if i.call is None else ():
                if isinstance(operand, Symbol) and _passes(made, number, operand.name):
                    found[number, operand.name] = made.scopes[number].variables[operand.name][2]
    return found


def _operand_target(made: PointsTo, site: CallSite, operand: Operand) -> "Target | None":
    if isinstance(operand, Symbol) and _passes(made, site.caller, operand.name):
        return made.variables.get((site.caller, operand.name))
    return made.scopes[site.caller].value(operand, made.read_by(site.caller, site.index))


def _join(made: PointsTo, place: Place, found: "Target | None") -> bool:
    joined = merged(made.variables.get(place), found)
    if joined is None or joined == made.variables.get(place):
        return False
    made.variables[place] = joined
    return True
