"""Basic blocks, the control-flow graph of a function, and where diverged lanes meet again.

A block ends at a branch, at ``ret``, ``exit`` or a call that does not return (predicated ones as well), at a CTA
barrier or pause, after a call that runs other code, and before a label that is branched to. Control can only enter at
its top.
"""

from collections.abc import Iterable

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.graph import Cfg, immediate_post_dominators, make_blocks
from rayplay.ptx.ir import NO_FORM, Function, Instruction, Symbol
from rayplay.ptx.isa.optix import INTRINSICS
from rayplay.ptx.isa.row import Control
from rayplay.ptx.isa.table import MAY_END_BLOCK, TABLE


def build(function: Function, apart: Iterable[int] = ()) -> Cfg:
    """The control-flow graph of a function with a body; instructions ``apart`` begin a block each.

    Raises UserError for a branch to a label that the function does not have.
    """
    body, labels = function.body, function.labels

    def targets(last: int) -> list[int]:
        return [labels[label] for label in branch_labels(body[last], function)]

    starts = sorted({*_block_starts(function), *apart})
    blocks = make_blocks(
        starts, len(body), targets, lambda last: falls_through(body[last]), lambda last: _ends_lanes(body[last])
    )
    return Cfg(blocks, immediate_post_dominators([(b.successors, b.leaves) for b in blocks]))


def branch_labels(instruction: Instruction, function: Function) -> tuple[str, ...]:
    """Labels an instruction can branch to, in order. Raises UserError for one that the function does not have."""
    if control_of(instruction) is not Control.BRANCHES:
        return ()
    last = instruction.operands[-1] if instruction.operands else None
    name = last.name if isinstance(last, Symbol) else ""
    labels = function.branch_targets.get(name, ()) if instruction.opcode == "brx" else (name,)
    for label in labels or (name,):
        if label not in function.labels:
            raise UserError(
                f"line {instruction.position.line}: '{instruction.text}' branches to '{label}', which is not a label "
                f"of function '{function.name}'"
            )
    return labels


def control_of(instruction: Instruction) -> Control:
    """The control flow of an instruction's row; ``NEXT`` for an opcode without one."""
    return TABLE[instruction.form.key].control if instruction.form is not NO_FORM else Control.NEXT


def ends_block(instruction: Instruction) -> bool:
    """Whether a block ends after this instruction."""
    control = control_of(instruction)
    return runs_other_code(instruction) if control is Control.CALLS else control is not Control.NEXT


def waits(instruction: Instruction) -> bool:
    """Whether an instruction asks if a phase of an mbarrier is complete; other warps run when it is not."""
    return control_of(instruction) is Control.ASKS


def runs_other_code(instruction: Instruction) -> bool:
    """Whether an instruction calls a function of the module, or a service that runs programs."""
    if instruction.call is None:
        return False
    name = getattr(instruction.call.target, "name", "")
    if name in INTRINSICS:
        return INTRINSICS[name].ends_block
    return not name.startswith("_optix_")


def falls_through(instruction: Instruction) -> bool:
    """Whether control can go on to the next instruction."""
    if instruction.guard is not None:
        return True
    return control_of(instruction) is not Control.BRANCHES and not _ends_lanes(instruction)


def _ends_lanes(instruction: Instruction) -> bool:
    if control_of(instruction) is Control.LEAVES:
        return True
    intrinsic = INTRINSICS.get(getattr(instruction.call.target, "name", "")) if instruction.call else None
    return intrinsic is not None and not intrinsic.returns


def _block_starts(function: Function) -> list[int]:
    starts = {0} if function.body else set()
    for index, instruction in enumerate(function.body):
        if instruction.opcode not in MAY_END_BLOCK:
            continue
        if ends_block(instruction) and index + 1 < len(function.body):
            starts.add(index + 1)
        for label in branch_labels(instruction, function):
            starts.add(function.labels[label])
    return sorted(starts)
