"""cp.async as calls of the copy unit. Source: PTX ISA 9.0, 9.7.9.25 (data movement: asynchronous copy).

A copy is done when its instruction is executed, before any wait: a program that waits as PTX demands sees the same.
"""

from ptx.ir import Address, Immediate, Instruction, Not, Operand, Register
from tracer.unit import Place, UnitCall, UnknownFormError, pack
from tracer.unit_modifiers import Modifiers

WHOLE, SOURCE_BYTES, IGNORE_SOURCE = range(3)
CACHE_WORDS = ("L2::64B", "L2::128B", "L2::256B")


def plan_cp(i: Instruction, place: Place) -> UnitCall | None:
    """``cp.async.{ca,cg}.shared.global [d], [s], size{, source size or predicate}{, policy}``, groups and waits."""
    words = Modifiers(i, ("async",))
    if words.left in (["commit_group"], ["wait_all"]):
        return None
    if words.left == ["wait_group"] and isinstance(i.operands[0], Immediate):
        return None
    level = words.one(("ca", "cg"))
    words.one(("shared", "shared::cta"))
    words.one(("global",))
    words.take(CACHE_WORDS, None)
    operands = list(i.operands)
    if words.flag("L2::cache_hint"):
        operands.pop()
    words.finish()
    if len(operands) not in (3, 4) or not isinstance(operands[2], Immediate):
        raise UnknownFormError
    size = operands[2].bits
    if size not in ((16,) if level == "cg" else (4, 8, 16)):
        raise UnknownFormError(f"{i.full_opcode} of {size} bytes")
    inputs: list[tuple[Operand, int] | None] = [(operands[0], 64), (operands[1], 64)]
    mode = WHOLE
    if not isinstance(operands[0], Address) or not isinstance(operands[1], Address):
        raise UnknownFormError
    if len(operands) == 4:
        mode = IGNORE_SOURCE if _is_predicate(operands[3], place) else SOURCE_BYTES
        inputs.append((operands[3], 1 if mode == IGNORE_SOURCE else 32))
    return UnitCall("copy", pack((size, 5), (mode, 2)), tuple(inputs), (), True)


def _is_predicate(operand: Operand, place: Place) -> bool:
    name = operand.register.name if isinstance(operand, Not) else getattr(operand, "name", "")
    return isinstance(operand, Register | Not) and place.function.registers.get(name) == "pred"
