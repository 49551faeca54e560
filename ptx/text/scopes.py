"""Names of a function while it is read: nested scopes, shadowing, and the unique names that replace it.

PTX lets a ``{ }`` inside a body declare registers, variables and labels that hide outer ones (every call sequence of
nvcc declares ``param0``). The structure that the parser builds has one flat set of names per function, so the second
``param0`` becomes ``param0#2``. A range ``%r<1000000>`` costs nothing: its registers are made when they are named.
"""

from dataclasses import dataclass, field

from rayplay.ptx.ir import Register, Symbol
from rayplay.ptx.isa.special import SPECIAL

MOST_DIGITS = 10  # of the number of a register in a range
MOST_SCOPES = 4096  # inside each other
OUTSIDE = -1  # the depth of declarations outside functions

Meaning = Register | Symbol


@dataclass
class Range:
    """``name<count>``: the registers of it that have been named so far, by number."""

    count: int
    type: str
    depth: int
    made: dict[int, Register] = field(default_factory=dict)


@dataclass
class Scope:
    """Declarations of a ``{ }``: plain names, prefixes of ranges, and per prefix the lowest number of a plain name."""

    names: set[str] = field(default_factory=set)
    prefixes: list[str] = field(default_factory=list)
    lowest: dict[str, int] = field(default_factory=dict)
    outer_meaning: dict[str, Meaning] | None = None


class Scopes:
    """Meaning of each written name at the point being read; ``registers`` made so far have their types.

    ``meaning`` only remembers what ``lookup`` has found; a range, which may hide any of it, begins a new one.
    """

    def __init__(self) -> None:
        self.meaning: dict[str, Meaning] = {}
        self.uses: dict[str, int] = {}  # how many declarations of a name the function has had
        self.registers: dict[str, str] = {}
        self.unknown: set[str] = set()  # registers that were named and not declared by then
        self._scopes = [Scope()]
        self._plain: dict[str, list[tuple[int, Meaning]]] = {}
        self._ranges: dict[str, list[Range]] = {}
        self._outside: dict[str, str] = {}  # types of single registers declared outside functions

    def open(self) -> None:
        """A ``{``: from here on declarations hide outer ones."""
        self._scopes.append(Scope())

    def close(self) -> None:
        """A ``}``: outer meanings are back."""
        scope = self._scopes.pop()
        if scope.outer_meaning is not None:
            self.meaning = scope.outer_meaning
        for name in scope.names:
            self._plain[name].pop()
            self.meaning.pop(name, None)
        for prefix in scope.prefixes:
            for number in self._ranges[prefix].pop().made:
                self.meaning.pop(f"{prefix}{number}", None)

    @property
    def depth(self) -> int:
        """How many scopes are open inside the body."""
        return len(self._scopes) - 1

    def is_declared_here(self, name: str, count: int | None = None) -> bool:
        """Whether the innermost scope has the name already, or with ``count`` a register of the range."""
        scope = self._scopes[-1]
        if count is not None:
            ranges = self._ranges.get(name)
            return bool(ranges and ranges[-1].depth == self.depth) or scope.lowest.get(name, count) < count
        if name in scope.names:
            return True
        return any(
            ranges[-1].depth == self.depth and number < ranges[-1].count
            for prefix, number in _numbered(name)
            if (ranges := self._ranges.get(prefix))
        )

    def unique(self, name: str) -> str:
        """A name nothing else of the function has."""
        count = self.uses[name] = self.uses.get(name, 0) + 1
        return name if count == 1 else f"{name}#{count}"

    def declare_register(self, name: str, type_name: str) -> None:
        """Declare a register in the innermost scope."""
        self._in_ranges(name)  # so that an outer one keeps the name
        unique = self.unique(name)
        self.registers[unique] = type_name
        self._declare(name, Register(unique))

    def declare_variable(self, name: str) -> str:
        """Declare a variable in the innermost scope; returns its unique name."""
        self._in_ranges(name)
        unique = self.unique(name)
        self._declare(name, Symbol(unique))
        return unique

    def declare_range(self, prefix: str, count: int, type_name: str) -> None:
        """Declare ``prefix<count>`` in the innermost scope."""
        scope = self._scopes[-1]
        if scope.outer_meaning is None:
            scope.outer_meaning = self.meaning
        self.meaning = {}
        self._ranges.setdefault(prefix, []).append(Range(count, type_name, self.depth))
        scope.prefixes.append(prefix)

    def declare_outside(self, name: str, count: int | None, type_name: str) -> None:
        """A register, or a range of them, that the function itself may hide."""
        if count is not None:
            self._ranges.setdefault(name, []).append(Range(count, type_name, OUTSIDE))
            return
        self._outside[name] = type_name
        self._plain.setdefault(name, []).append((OUTSIDE, Register(self.unique(name))))

    def lookup(self, name: str) -> Meaning:
        """Meaning of a name in an operand: a register, or else the address of a variable, function or label."""
        found = self.meaning.get(name) or self._declared(name)
        if found is None:
            base, dot, component = name.partition(".")
            outer = self.meaning.get(base) or self._declared(base) if dot else None
            if isinstance(outer, Register):
                return Register(outer.name, component)
            if name[0] != "%" and name != "_":
                found = Symbol(name)
            else:
                found = Register(base, component)
                if base not in SPECIAL and base != "_":
                    self.unknown.add(base)
        self.meaning[name] = found
        return found

    def _declared(self, name: str) -> Meaning | None:
        """The innermost declaration of a name."""
        plain = self._plain.get(name)
        depth, meaning = plain[-1] if plain else (OUTSIDE - 1, None)
        if depth == OUTSIDE:
            self.registers.setdefault(name, self._outside[name])
        in_range, register = self._in_ranges(name)
        return register if in_range > depth else meaning

    def _in_ranges(self, name: str) -> tuple[int, Register | None]:
        """The register of the innermost range, made on first use; outer ones first: they keep the name."""
        depth, found = OUTSIDE - 1, None
        for prefix, number in _numbered(name):
            for declared in self._ranges.get(prefix, ()):
                if number >= declared.count:
                    continue
                known = declared.made.get(number)
                if known is None:
                    known = declared.made[number] = Register(self.unique(f"{prefix}{number}"))
                    self.registers[known.name] = declared.type
                if declared.depth > depth:
                    depth, found = declared.depth, known
        return depth, found

    def _declare(self, name: str, meaning: Meaning) -> None:
        scope = self._scopes[-1]
        scope.names.add(name)
        self._plain.setdefault(name, []).append((self.depth, meaning))
        self.meaning[name] = meaning
        for prefix, number in _numbered(name):
            scope.lowest[prefix] = min(number, scope.lowest.get(prefix, number))


def _numbered(name: str) -> list[tuple[str, int]]:
    """The ways to read a name as the register of a range: ``%r12`` is ``%r<..>``'s 12th or ``%r1<..>``'s second."""
    ways = []
    for digits in range(1, min(MOST_DIGITS, len(name) - 1) + 1):
        if not "0" <= name[-digits] <= "9":
            break
        ways.append((name[:-digits], int(name[-digits:])))
    return ways
