"""Objects that the addresses of a program can point into: the alias analysis behind slicing through memory.

A *target* is a set of objects: the allocations that a launch's parameters point into, variables, parameters. It follows
pointers through SSA values, calls and 32-bit halves. It rests on C's rule: an address made from a pointer
by adding to it stays in the object that the pointer points into. An address that comes from memory, or from nowhere
known, can point anywhere.
"""

from collections.abc import Callable
from dataclasses import dataclass

from rayplay.hypa.slicing.accesses import Use
from rayplay.ptx.ir import Address, Immediate, Instruction, Not, Operand, Pair, Register, Symbol, Vector
from rayplay.ptx.isa.row import Yields
from rayplay.ptx.isa.table import TABLE

Object = tuple[str, ...]
ANYWHERE: Object = ("anywhere",)


@dataclass(frozen=True, slots=True)
class Target:
    """``objects`` an address can point into, none for a number; ``offset``: bytes from the start of its one object,
    or the number itself, None where it is not known."""

    objects: frozenset[Object] = frozenset()
    offset: int | None = None


NUMBER, UNKNOWN = Target(), Target(frozenset((ANYWHERE,)))
Arguments = Callable[[str, "int | None", int], Target]
"""(parameter of the kernel, offset or None, bytes) -> what the value there can point into."""


def merged(one: Target | None, other: Target | None) -> Target | None:
    """A value that is one or the other; None is a value not known yet."""
    if one is None or other is None or one == other:
        return one or other
    same = one.objects == other.objects and one.offset == other.offset
    return Target(one.objects | other.objects, one.offset if same else None)


@dataclass(frozen=True, slots=True)
class Location:
    """Bytes that an access can touch."""

    space: str
    target: Target
    bytes: int

    @property
    def is_known(self) -> bool:
        """Whether the objects are known."""
        return ANYWHERE not in self.target.objects and bool(self.target.objects)


def space_of(item: Object) -> str:
    """The state space of an object: ``generic`` for anywhere, ``global`` for what a host allocates."""
    return {"anywhere": "generic", "allocation": "global"}.get(item[0], item[1] if len(item) > 1 else "param")


def may_alias(one: Location, other: Location) -> bool:
    """Whether two accesses can touch the same byte."""
    if one.is_known and other.is_known:
        shared = one.target.objects & other.target.objects
        if not shared:
            return False
        first, second = one.target.offset, other.target.offset
        if len(one.target.objects) > 1 or len(other.target.objects) > 1 or first is None or second is None:
            return True
        return first < second + other.bytes and second < first + one.bytes
    return any(_same_space(a, b) for a in _spaces(one) for b in _spaces(other))


def _spaces(location: Location) -> frozenset[str]:
    if location.space != "generic" or not location.is_known:
        return frozenset((location.space,))
    return frozenset(space_of(item) for item in location.target.objects)


def _same_space(one: str, other: str) -> bool:
    return one == other or (one == "generic" and other != "param") or (other == "generic" and one != "param")


@dataclass(frozen=True, slots=True)
class Scope:
    """Meaning of one function's names: its variables as objects, and which of its registers hold which target."""

    variables: dict[str, Object]
    arguments: Arguments
    address_bytes: int

    def location(self, use: Use, values: "dict[str, Target | None]") -> Location:
        """Bytes that a memory access can touch; ``values``: the targets of the registers it reads."""
        target = UNKNOWN if use.operand is None else self.address(use.operand, values) or UNKNOWN
        return Location(use.space, target if target.objects else UNKNOWN, use.bytes)

    def address(self, operand: Operand, values: "dict[str, Target | None]") -> Target | None:
        """The target of ``[base + offset]``."""
        if not isinstance(operand, Address):
            return UNKNOWN
        base = self.value(operand.base, values)
        return base and _moved(base, operand.offset)

    def value(self, operand: "Operand | None", values: "dict[str, Target | None]") -> Target | None:
        """The target of an operand; None while it is not known yet."""
        if isinstance(operand, Register):
            return values.get(operand.name, values.get(f"{operand.name}.{operand.component}", NUMBER))
        if isinstance(operand, Immediate):
            return Target(frozenset(), operand.bits if operand.kind == "int" else None)
        if isinstance(operand, Symbol):
            if operand.name not in self.variables:
                return NUMBER
            return Target(frozenset((self.variables[operand.name],)), operand.offset)
        if isinstance(operand, Vector):
            return self._any(operand.elements, values)
        if isinstance(operand, Pair):
            return self._any((operand.first, operand.second), values)
        return NUMBER if isinstance(operand, Not) else UNKNOWN

    def _any(self, operands: "tuple[Operand | None, ...]", values: "dict[str, Target | None]") -> Target | None:
        """A value made from all of the operands: their objects together."""
        known = [self.value(operand, values) for operand in operands]
        found = [target for target in known if target is not None]
        if not found:
            return None
        return Target(frozenset().union(*(target.objects for target in found)))

    def result(self, i: Instruction, kind: str, values: "dict[str, Target | None]") -> Target | None:
        """Targets of an instruction's results; ``kind`` is its type."""
        sources, yields = i.operands[1:], TABLE[i.form.key].yields
        if yields is Yields.LOADED:
            return self._loaded(i, kind, values)
        if yields is Yields.NUMBER or kind == "pred" or kind[:1] == "f":
            return NUMBER
        if yields is Yields.SAME and not isinstance(sources[0], Vector):
            return self.value(sources[0], values)
        if yields is Yields.CONVERTED:
            made = self.value(sources[0], values)
            small = made is not None and made.offset is not None and 0 <= made.offset < 1 << 31
            return made if made is None or made.objects or small else NUMBER
        if yields in (Yields.SUM, Yields.DIFFERENCE):
            one, other = (self.value(source, values) for source in sources)
            return _sum(one, other, yields is Yields.DIFFERENCE)
        made = self._any(sources[2:] if yields is Yields.ADDEND else sources, values)
        if yields is Yields.SHIFTED and made is not None:
            return Target(made.objects - {ANYWHERE})
        return made

    def _loaded(self, i: Instruction, kind: str, values: "dict[str, Target | None]") -> Target | None:
        """A number where the type is too narrow for an address or is no integer; a parameter's value is known."""
        bits = "".join(c for c in kind if c.isdigit())
        if kind[:1] not in "bus" or not bits or int(bits) < 8 * self.address_bytes:
            return NUMBER
        address = self.address(i.operands[1], values) if len(i.operands) > 1 else UNKNOWN
        if address is None:
            return None
        parameters = [item for item in address.objects if item[0] == "parameter"]
        if i.opcode != "ld" or not parameters or len(parameters) != len(address.objects):
            return UNKNOWN
        lanes = i.operands[0]
        if isinstance(lanes, Vector) or len(parameters) > 1:
            address = Target(address.objects, None)
        found = [self.arguments(item[2], address.offset, int(bits) // 8) for item in parameters]
        return Target(
            frozenset().union(*(each.objects for each in found)), found[0].offset if len(found) == 1 else None
        )


def _moved(target: Target, by: int) -> Target:
    return target if target.offset is None or by == 0 else Target(target.objects, target.offset + by)


def _sum(one: Target | None, other: Target | None, is_difference: bool) -> Target | None:
    if one is None or other is None:
        return None
    offset = None
    if one.offset is not None and other.offset is not None and not (one.objects and other.objects):
        if not is_difference:
            offset = one.offset + other.offset
        elif not other.objects:
            offset = one.offset - other.offset
    return Target(one.objects | other.objects, offset)
