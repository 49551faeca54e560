"""cp.async and cp.async.bulk as calls of the copy unit. Source: PTX ISA 9.0, 9.7.9.25 (asynchronous copies).

A copy is done when its instruction is executed, before any wait: a program that waits as PTX demands sees the same.
"""

from rayplay.ptx.ir import Address, Immediate, Instruction, Not, Operand, Register
from rayplay.tracer.units.call import Place, UnitCall, UnknownFormError, pack
from rayplay.tracer.units.modifiers import Modifiers

WHOLE, SOURCE_BYTES, IGNORE_SOURCE, BULK, BULK_COUNTED, ARRIVE = range(6)
SHARED = ("shared", "shared::cta", "shared::cluster")
COMPLETES = "mbarrier::complete_tx::bytes"
CACHE_WORDS = ("L2::64B", "L2::128B", "L2::256B")


def plan_cp(i: Instruction, place: Place) -> UnitCall | None:
    """``cp.async.{ca,cg}.shared.global [d], [s], size{, source size or predicate}{, policy}``, groups and waits."""
    words = Modifiers(i, ("async",))
    if words.flag("bulk"):
        return _plan_bulk(i, words)
    if words.flag("mbarrier"):
        return _plan_arrival(i, words)
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
    return UnitCall("copy", pack((size, 5), (mode, 3), (1, 1), (0, 1)), tuple(inputs), (), True)


def _plan_bulk(i: Instruction, words: Modifiers) -> UnitCall | None:
    """``cp.async.bulk.TO.FROM``, which counts its bytes down in an mbarrier or belongs to a group, and its waits."""
    if words.left in (["commit_group"], ["wait_group"], ["wait_group", "read"], ["prefetch", "L2", "global"]):
        return None
    spaces = words.take((*SHARED, "global"), 2)
    counted, grouped = words.flag(COMPLETES), words.flag("bulk_group")
    operands = list(i.operands)
    if words.flag("L2::cache_hint"):
        operands.pop()
    words.finish()
    to_shared, from_shared = (space != "global" for space in spaces)
    addresses = [operand for k, operand in enumerate(operands) if k != 2]
    if counted == grouped or counted != to_shared or not (to_shared or from_shared):
        raise UnknownFormError
    if len(operands) != 3 + counted or not all(isinstance(each, Address) for each in addresses):
        raise UnknownFormError
    settings = pack((16, 5), (BULK_COUNTED if counted else BULK, 3), (to_shared, 1), (from_shared, 1))
    widths = (64, 64, 32, 64)
    return UnitCall("copy", settings, tuple(zip(operands, widths, strict=False)), (), False)


def _plan_arrival(i: Instruction, words: Modifiers) -> UnitCall | None:
    """``cp.async.mbarrier.arrive{.noinc}{.shared}.b64``: the copies before it are done, so the arrival is at once.

    Without ``.noinc`` the arrival is one more that the phase waits for: nothing changes.
    """
    counts = words.flag("noinc")
    shared = bool(words.take(SHARED[:2], None))
    words.take(("arrive", "b64"), 2)
    words.finish()
    return (
        UnitCall("copy", pack((8, 5), (ARRIVE, 3), (shared, 1)), ((i.operands[0], 64),), (), False) if counts else None
    )


def _is_predicate(operand: Operand, place: Place) -> bool:
    name = operand.register.name if isinstance(operand, Not) else getattr(operand, "name", "")
    return isinstance(operand, Register | Not) and place.function.registers.get(name) == "pred"
