"""cp.async and cp.async.bulk as calls of the copy unit. Source: PTX ISA 9.0, 9.7.9.25 (asynchronous copies).

A copy is done when its instruction is executed, before any wait: a program that waits as PTX demands sees the same.
"""

from rayplay.ptx.ir import Address, Immediate, Instruction, Not, Operand, Register
from rayplay.tracer.units.call import Place, UnitCall, UnknownFormError
from rayplay.tracer.units.settings import Settings

WHOLE, SOURCE_BYTES, IGNORE_SOURCE, BULK, BULK_COUNTED, ARRIVE = range(6)
COPY = Settings("COPY", "size[5] mode[3] to_shared from_shared")
WAITS = ("cp.async.commit_group", "cp.async.wait_group", "cp.async.wait_all")
COPIED = (("shared", "global"), ("global", "shared"), ("shared", "shared"))
WITHOUT_EFFECT = (
    ("cp.async.bulk.commit_group", (), ()), ("cp.async.bulk.wait_group", (), ()),
    ("cp.async.bulk.wait_group", (), ("read",)), ("cp.async.bulk.prefetch", ("global",), ("L2",)),
)  # fmt: skip
"""Row, state spaces and other modifiers of bulk forms that change nothing."""


def plan_cp(i: Instruction, place: Place) -> UnitCall | None:
    """``cp.async.{ca,cg}.shared.global [d], [s], size{, source size or predicate}{, policy}``, groups and waits."""
    if i.form.key in WAITS:
        return None
    if i.form.key == "cp.async.mbarrier":
        return _plan_arrival(i)
    if i.form.key != "cp.async":
        return _plan_bulk(i)
    operands = i.operands[: len(i.operands) - i.form.hinted]
    if len(operands) not in (3, 4) or not isinstance(operands[2], Immediate):
        raise UnknownFormError
    size = operands[2].bits
    if size not in ((16,) if i.form.cache == "cg" else (4, 8, 16)):
        raise UnknownFormError(f"{i.full_opcode} of {size} bytes")
    inputs: list[tuple[Operand, int] | None] = [(operands[0], 64), (operands[1], 64)]
    mode = WHOLE
    if not isinstance(operands[0], Address) or not isinstance(operands[1], Address):
        raise UnknownFormError
    if len(operands) == 4:
        mode = IGNORE_SOURCE if _is_predicate(operands[3], place) else SOURCE_BYTES
        inputs.append((operands[3], 1 if mode == IGNORE_SOURCE else 32))
    return UnitCall("copy", COPY.pack(size=size, mode=mode, to_shared=1), tuple(inputs), (), True)


def _plan_bulk(i: Instruction) -> UnitCall | None:
    """``cp.async.bulk.TO.FROM``, which counts its bytes down in an mbarrier or belongs to a group, and its waits."""
    form = i.form
    if (form.key, form.spaces, form.others) in WITHOUT_EFFECT:
        return None
    operands, counted = i.operands[: len(i.operands) - form.hinted], form.counts_bytes
    if form.key != "cp.async.bulk" or form.others or form.spaces not in COPIED or counted == form.grouped:
        raise UnknownFormError
    to_shared, from_shared = (space == "shared" for space in form.spaces)
    addresses = [operand for k, operand in enumerate(operands) if k != 2]
    if counted != to_shared:
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
    if not i.form.keeps_count:
        return None
    settings = COPY.pack(size=8, mode=ARRIVE, to_shared=i.form.space == "shared")
    return UnitCall("copy", settings, ((i.operands[0], 64),), (), False)


def _is_predicate(operand: Operand, place: Place) -> bool:
    name = operand.register.name if isinstance(operand, Not) else getattr(operand, "name", "")
    return isinstance(operand, Register | Not) and place.function.registers.get(name) == "pred"
