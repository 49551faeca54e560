"""cp.async and cp.async.bulk as calls of the copy unit. Source: PTX ISA 9.0, 9.7.9.25 (asynchronous copies).

A copy is done when its instruction is executed, before any wait: a program that waits as PTX demands sees the same.
"""

from rayplay.ptx.ir import Address, Immediate, Instruction, Not, Operand, Register
from rayplay.tracer.units.call import Place, UnitCall, UnknownFormError
from rayplay.tracer.units.settings import Settings

WHOLE, SOURCE_BYTES, IGNORE_SOURCE, BULK, BULK_COUNTED, ARRIVE = range(6)
COPY = Settings("COPY", "size[5] mode[3] to_shared from_shared")
SPACES = ("shared", "shared::cta", "shared::cluster", "global")
COMPLETES = "mbarrier::complete_tx::bytes"


def plan_cp(i: Instruction, place: Place) -> UnitCall | None:
    """``cp.async.{ca,cg}.shared.global [d], [s], size{, source size or predicate}{, policy}``, groups and waits."""
    words = i.modifiers[1:]
    if words[:1] == ("bulk",):
        return _plan_bulk(i, words[1:])
    if words[:1] == ("mbarrier",):
        return _plan_arrival(i)
    if words[0] in ("commit_group", "wait_all", "wait_group"):
        return None
    operands = list(i.operands)
    if "L2::cache_hint" in words:
        operands.pop()
    if len(operands) not in (3, 4) or not isinstance(operands[2], Immediate):
        raise UnknownFormError
    size = operands[2].bits
    if size not in ((16,) if "cg" in words else (4, 8, 16)):
        raise UnknownFormError(f"{i.full_opcode} of {size} bytes")
    inputs: list[tuple[Operand, int] | None] = [(operands[0], 64), (operands[1], 64)]
    mode = WHOLE
    if not isinstance(operands[0], Address) or not isinstance(operands[1], Address):
        raise UnknownFormError
    if len(operands) == 4:
        mode = IGNORE_SOURCE if _is_predicate(operands[3], place) else SOURCE_BYTES
        inputs.append((operands[3], 1 if mode == IGNORE_SOURCE else 32))
    return UnitCall("copy", COPY.pack(size=size, mode=mode, to_shared=1), tuple(inputs), (), True)


def _plan_bulk(i: Instruction, words: tuple[str, ...]) -> UnitCall | None:
    """``cp.async.bulk.TO.FROM``, which counts its bytes down in an mbarrier or belongs to a group, and its waits."""
    if words in (("commit_group",), ("wait_group",), ("wait_group", "read"), ("prefetch", "L2", "global")):
        return None
    spaces = [word for word in words if word in SPACES]
    counted, grouped = COMPLETES in words, "bulk_group" in words
    operands = i.operands[: len(i.operands) - ("L2::cache_hint" in words)]
    rest = set(words) - {*SPACES, COMPLETES, "bulk_group", "L2::cache_hint"}
    to_shared, from_shared = (space != "global" for space in (*spaces, "global", "global")[:2])
    addresses = [operand for k, operand in enumerate(operands) if k != 2]
    if rest or len(spaces) != 2 or counted == grouped or counted != to_shared or not (to_shared or from_shared):
        raise UnknownFormError
    if len(operands) != 3 + counted or not all(isinstance(each, Address) for each in addresses):
        raise UnknownFormError
    mode = BULK_COUNTED if counted else BULK
    settings = COPY.pack(size=16, mode=mode, to_shared=to_shared, from_shared=from_shared)
    return UnitCall("copy", settings, tuple(zip(operands, (64, 64, 32, 64), strict=False)), (), False)


def _plan_arrival(i: Instruction) -> UnitCall | None:
    """``cp.async.mbarrier.arrive{.noinc}{.shared}.b64``: the copies before it are done, so the arrival is at once.

    Without ``.noinc`` the arrival is one more that the phase waits for: nothing changes.
    """
    if "noinc" not in i.modifiers:
        return None
    shared = any(word.startswith("shared") for word in i.modifiers)
    return UnitCall("copy", COPY.pack(size=8, mode=ARRIVE, to_shared=shared), ((i.operands[0], 64),), (), False)


def _is_predicate(operand: Operand, place: Place) -> bool:
    name = operand.register.name if isinstance(operand, Not) else getattr(operand, "name", "")
    return isinstance(operand, Register | Not) and place.function.registers.get(name) == "pred"
