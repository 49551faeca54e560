"""Which variable or descriptor the 64-bit registers of a shader can point into.

The dialect passes addresses through moves and additions only. So one pass after another over the statements, until
nothing changes, finds for each register every base it can have, whichever way control goes.
"""

from dataclasses import dataclass, field

from rayplay.ptx.vulkansim.reader import Shader, Statement

MOST_OFFSETS = 64
"""Offsets that are told apart for one register and base; more of them become any offset."""
BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}


@dataclass(frozen=True, slots=True)
class Base:
    """Begin of an address: ``("variable", name)`` or ``("descriptor", set, binding)``."""

    kind: str
    key: tuple[str | int, ...]


Offsets = dict[Base, set[int | None]]  # None: any


@dataclass
class Pointers:
    """Bases of every register that holds an address, with the offsets from them."""

    of: dict[str, Offsets] = field(default_factory=dict)

    def bases(self, operand: str) -> list[Base]:
        """Bases that an operand can have, in a fixed order."""
        return sorted(self.of.get(operand, {}), key=lambda base: (base.kind, tuple(map(str, base.key))))

    def add(self, register: str, base: Base, offset: int | None) -> bool:
        """Note one; whether it is new."""
        known = self.of.setdefault(register, {}).setdefault(base, set())
        if None in known or offset in known:
            return False
        if offset is None or len(known) >= MOST_OFFSETS:
            known.clear()
            offset = None
        known.add(offset)
        return True


def find_pointers(shader: Shader) -> Pointers:
    """The pointers of a shader; variables are known by the name of the register that is given their address."""
    found = Pointers()
    moves = []
    for statement in shader.body:
        operands = statement.operands
        if statement.opcode == "rt_alloc_mem" and operands:
            found.add(operands[0], Base("variable", (operands[0],)), 0)
        elif statement.opcode == "load_vulkan_descriptor" and len(operands) >= 3:
            key = (_number(operands[1]), _number(operands[2]))
            found.add(operands[0], Base("descriptor", key), 0)
        elif statement.opcode in ("mov.b64", "mov.u64", "mov.s64", "add.u64", "add.s64"):
            moves.append(statement)
    changes = True
    while changes:
        changes = False
        for statement in moves:
            changes |= _flows(found, statement)
    return found


def _flows(found: Pointers, statement: Statement) -> bool:
    """Carry the bases of a move's or an addition's sources to its result; whether anything is new."""
    target, *sources = statement.operands
    constants = [_constant(source) for source in sources]
    changed = False
    for source, constant in zip(sources, reversed(constants), strict=True):
        step = 0 if len(sources) == 1 else constant
        for base, offsets in list(found.of.get(source, {}).items()):
            for offset in sorted(offsets, key=str):
                moved = None if offset is None or step is None else offset + step
                changed |= found.add(target, base, moved)
    return changed


def words_used(shader: Shader, pointers: Pointers, variable: str, at_most: int) -> int:
    """How many 32-bit words of a variable the shader's loads and stores reach, ``at_most`` where that is not known."""
    most = 0
    for statement in shader.body:
        family, *rest = statement.opcode.split(".")
        if family not in ("ld", "st"):
            continue
        place = next((operand for operand in statement.operands if operand.startswith("[")), "[]")
        register, _, written = place.strip("[] ").partition("+")
        wide = BYTES.get(rest[-1][1:], 8)
        for offset in pointers.of.get(register.strip(), {}).get(Base("variable", (variable,)), ()):
            if offset is None:
                return at_most
            most = max(most, -(-(offset + (_constant(written.strip()) or 0) + wide) // 4))
    return min(most, at_most)


def _constant(operand: str) -> int | None:
    text = operand.removeprefix("-")
    value = int(text) if text.isdecimal() else int(text, 16) if text[:2].lower() == "0x" else None
    return value if value is None or not operand.startswith("-") else -value


def _number(operand: str) -> int:
    return _constant(operand) or 0
