"""The dependency graph of a launch: which instructions the result of each instruction depends on (HyPA, definition 1).

A node is an instruction, numbered as in the program, or one of the helpers behind them: a phi, a ``.param`` variable
that passes a value between functions, or a place in memory. An edge leads from a node to one that it needs:

- a register it reads, to the one definition that SSA gives it: guards and the old value of a guarded write included;
- a load or an atomic, to every store and atomic of any thread that can touch the same bytes
(``hypa.slicing.pointers``);
- an argument or result of a call, to the value passed or returned.

Control dependences need no edges, because every jump is a root of the slice that is made from the graph.
"""

from dataclasses import dataclass, field

from rayplay.hypa.slicing.accesses import Use
from rayplay.hypa.slicing.call_graph import Place, passed, returned
from rayplay.hypa.slicing.pointers import UNKNOWN, Location, may_alias
from rayplay.hypa.slicing.points_to import PointsTo, private_places
from rayplay.hypa.slicing.ssa import ENTRY, INSTRUCTION
from rayplay.ptx.ir import NO_FORM, Address, Operand, Register, Symbol
from rayplay.ptx.isa.row import COPIES
from rayplay.ptx.isa.table import TABLE

# Memory that other threads see, so that the order of warps and the barriers between them matter.
COMMON_SPACES = frozenset(("global", "shared", "generic"))

READING_CALLS = frozenset(("vprintf",))
"""Functions outside of the program that read the memory that their arguments point to."""


@dataclass
class Dependences:
    """``needs[node]`` are the nodes that a node depends on; nodes from ``instructions`` on are helpers.

    stores    per instruction that writes memory, where; ``loads``: per instruction that reads it.
    """

    points_to: PointsTo
    instructions: int
    needs: list[list[int]]
    stores: dict[int, list[Location]] = field(default_factory=dict)
    loads: dict[int, list[Location]] = field(default_factory=dict)
    variables: dict[Place, int] = field(default_factory=dict)

    def value(self, number: int, value: int) -> int | None:
        """The node that defines a value of a function; None for one that is there from the start."""
        return self._values[number].get(value)

    def operand(self, number: int, index: int, operand: "Operand | None") -> list[int]:
        """The nodes behind an operand of an instruction: a register it reads, or a ``.param`` variable."""
        if isinstance(operand, Symbol):
            place = (number, operand.name)
            return [self.variables[place]] if place in self.variables else []
        reads = self.points_to.ssa[number].reads[index]
        names = {operand.name, f"{operand.name}.{operand.component}"} if isinstance(operand, Register) else set()
        nodes = (self.value(number, reads[name]) for name in sorted(names & reads.keys()))
        return [node for node in nodes if node is not None]

    def reads(self, number: int, index: int) -> list[int]:
        """The nodes behind all registers that an instruction reads."""
        nodes = (self.value(number, value) for value in self.points_to.ssa[number].reads[index].values())
        return [node for node in nodes if node is not None]

    _values: list[dict[int, int]] = field(default_factory=list)


def build_dependences(points_to: PointsTo) -> Dependences:
    """The dependency graph of an analysed launch."""
    program = points_to.program
    count = sum(len(function.body) for function in program.functions)
    graph = Dependences(points_to, count, [[] for _ in range(count)])
    _add_variables(graph)
    _add_values(graph)
    _connect_registers(graph)
    _connect_variables(graph)
    _connect_memory(graph)
    return graph


def _node(graph: Dependences) -> int:
    graph.needs.append([])
    return len(graph.needs) - 1


def _add_variables(graph: Dependences) -> None:
    for number, function in enumerate(graph.points_to.program.functions):
        inside = [v for v in function.variables.values() if v.space == "param"]
        for variable in (*([] if function.is_entry else function.parameters), *function.returns, *inside):
            graph.variables[number, variable.name] = _node(graph)


def _add_values(graph: Dependences) -> None:
    """Which node defines each value: an instruction, a phi's helper, or a variable that is passed in a register."""
    program = graph.points_to.program
    results: dict[tuple[int, int, str], list[int]] = {}
    for site in graph.points_to.sites:
        for operand, place in returned(program, site):
            if isinstance(operand, Register):
                results.setdefault((site.caller, site.index, operand.name), []).append(graph.variables[place])
    for number, ssa in enumerate(graph.points_to.ssa):
        base = program.instruction_base[number]
        nodes: dict[int, int] = {}
        for value, (kind, where, register) in enumerate(ssa.definition):
            if kind == ENTRY:
                if (number, register) in graph.variables:
                    nodes[value] = graph.variables[number, register]
            elif kind == INSTRUCTION and (number, where, register) not in results:
                nodes[value] = base + where
            else:
                nodes[value] = _node(graph)
                graph.needs[nodes[value]] += results.get((number, where, register), []) if kind == INSTRUCTION else []
        graph._values.append(nodes)
        for phi in ssa.phis:
            found = {nodes[argument] for argument in phi.arguments if argument in nodes}
            graph.needs[nodes[phi.value]] += sorted(found)


def _connect_registers(graph: Dependences) -> None:
    """Instructions to the definitions of what they read. A call only starts a function: its operands are passed on."""
    program = graph.points_to.program
    for number, function in enumerate(program.functions):
        for index, i in enumerate(function.body):
            node = program.instruction_base[number] + index
            if i.call is None and i.opcode != "ret":
                graph.needs[node] += graph.reads(number, index)
            elif i.guard is not None:
                graph.needs[node] += graph.operand(number, index, i.guard.register)
    for site in graph.points_to.sites:
        node = program.instruction_base[site.caller] + site.index
        operands: list[Operand] = [site.call.target] if site.is_indirect else []
        if not site.callees:  # code outside of the program sees all that is passed
            operands += site.call.arguments
        for operand in operands:
            graph.needs[node] += graph.operand(site.caller, site.index, operand)


def _connect_variables(graph: Dependences) -> None:
    """``.param`` variables to the stores into them, to what calls pass, and to what functions return."""
    program = graph.points_to.program
    for number, function in enumerate(program.functions):
        for index, i in enumerate(function.body):
            node = program.instruction_base[number] + index
            for position, operand in enumerate(i.operands):
                if isinstance(operand, Address) and isinstance(operand.base, Symbol):
                    variable = graph.variables.get((number, operand.base.name))
                    if variable is not None and i.opcode == "st" and position == 0:
                        graph.needs[variable].append(node)
                    elif variable is not None:
                        graph.needs[node].append(variable)
            if i.opcode == "ret":
                for name, value in graph.points_to.ssa[number].reads[index].items():
                    defining = graph.value(number, value)
                    if (number, name) in graph.variables and defining is not None:
                        graph.needs[graph.variables[number, name]].append(defining)
    for site in graph.points_to.sites:
        for operand, place in passed(program, site):
            graph.needs[graph.variables[place]] += graph.operand(site.caller, site.index, operand)
        for operand in site.call.results:
            if isinstance(operand, Symbol) and not site.callees:
                result = graph.variables[site.caller, operand.name]
                graph.needs[result].append(program.instruction_base[site.caller] + site.index)
        for operand, place in returned(program, site):
            if isinstance(operand, Symbol):
                graph.needs[graph.variables[site.caller, operand.name]].append(graph.variables[place])


def _connect_memory(graph: Dependences) -> None:
    """Loads to the stores that can touch the same bytes; loads from the same place share a helper."""
    program = graph.points_to.program
    for number, function in enumerate(program.functions):
        for index in range(len(function.body)):
            node = program.instruction_base[number] + index
            for use, location in graph.points_to.uses(number, index):
                if not _is_private(graph, number, use):
                    for place in private_places(graph.points_to, location, number):
                        variable = graph.variables[place]
                        graph.needs[node] += [variable] if use.reads else []
                        graph.needs[variable] += [node] if use.writes else []
                    if use.writes:
                        graph.stores.setdefault(node, []).append(location)
                    if use.reads and location.space != "const":
                        graph.loads.setdefault(node, []).append(location)
    _connect_copies(graph)
    for site in graph.points_to.sites:
        if getattr(site.call.target, "name", "") in READING_CALLS and not site.callees:
            graph.loads[program.instruction_base[site.caller] + site.index] = [Location("generic", UNKNOWN, 0)]
    places: dict[Location, int] = {}
    for node, locations in graph.loads.items():
        for location in locations:
            if location not in places:
                places[location] = _node(graph)
                graph.needs[places[location]] += stores_into(graph, location)
            graph.needs[node].append(places[location])


def _connect_copies(graph: Dependences) -> None:
    """Asynchronous copies to the instructions that group them and wait for them, wherever these stand."""
    program = graph.points_to.program
    for function, base in zip(program.functions, program.instruction_base, strict=True):
        own = [
            (base + index, i)
            for index, i in enumerate(function.body)
            if i.form is not NO_FORM and TABLE[i.form.key].memory is COPIES
        ]
        waits = [node for node, i in own if not any(isinstance(operand, Address) for operand in i.operands)]
        for node, _ in own:
            graph.needs[node] += [wait for wait in waits if wait != node]


def stores_into(graph: Dependences, location: Location) -> list[int]:
    """The instructions that can write a byte of a location."""
    return [node for node, found in graph.stores.items() if any(may_alias(location, each) for each in found)]


def _is_private(graph: Dependences, number: int, use: Use) -> bool:
    """Whether an access is to a ``.param`` variable by its name, or reads a parameter of the kernel."""
    operand = use.operand
    if not isinstance(operand, Address):
        return False
    if isinstance(operand.base, Symbol) and (number, operand.base.name) in graph.variables:
        return True
    return use.space == "param" and graph.points_to.program.functions[number].is_entry and not use.writes
