"""Basic blocks and the control-flow graph of a SASS function, and where diverged lanes meet again.

Blocks are as in ``nvdisasm -bbcfg``: they begin at every label of the listing and end behind branches, calls,
returns and EXIT, predicated or not. A call goes on behind it; the callee is a function of its own.
Source: docs/sources/ptx-sass.md#sass-control-flow.
"""

from collections.abc import Iterator
from itertools import chain

from rayplay.formats.guard.errors import UserError
from rayplay.ptx import graph
from rayplay.ptx.graph import END, Block, Cfg, immediate_post_dominators, make_blocks
from rayplay.ptx.ir import Function, Instruction, Not, Register, Symbol

_BRANCHES = frozenset(("BRA", "JMP"))
INDIRECT = frozenset(("BRX", "BRXU", "JMX", "JMXU"))
_LEAVES = frozenset(("EXIT", "RET", "KILL"))
_CALLS = frozenset(("CALL",))
_ENDS_BLOCK = _BRANCHES | INDIRECT | _LEAVES | _CALLS


def build(function: Function) -> Cfg:
    """The control-flow graph of a SASS function.

    Raises UserError for a branch to a label that the function does not have, and for an indirect branch whose targets
    the listing does not name (``cuobjdump`` does not, ``nvdisasm`` does).
    """
    body, labels = function.body, function.labels

    def targets(last: int) -> list[int]:
        return [labels[label] for label in branch_labels(body[last], function)]

    starts = _block_starts(function)
    blocks = make_blocks(
        starts, len(body), targets, lambda last: falls_through(body[last]), lambda last: body[last].opcode in _LEAVES
    )
    return Cfg(blocks, _reconvergence(function, blocks))


def branch_labels(instruction: Instruction, function: Function) -> tuple[str, ...]:
    """Labels an instruction can branch to, in order."""
    if instruction.opcode in INDIRECT:
        labels = function.branch_targets.get(f"{instruction.address:04x}", ())
        if not labels:
            raise _error(instruction, "has no list of targets, which 'nvdisasm -c' writes behind it")
    elif instruction.opcode in _BRANCHES:
        last = instruction.operands[-1] if instruction.operands else None
        if not isinstance(last, Symbol):
            raise _error(instruction, "does not branch to a label or instruction of its section")
        labels = (last.name,)
    elif callee(instruction) in function.labels:
        labels = (str(callee(instruction)),)  # a call that stays in its function is a branch as well
    else:
        return ()
    for label in labels:
        if label not in function.labels:
            raise _error(instruction, f"branches to '{label}', which is not a label of function '{function.name}'")
    return labels


def _error(instruction: Instruction, message: str) -> UserError:
    return UserError(f"line {instruction.position.line}: '{instruction.text}' {message}")


def falls_through(instruction: Instruction) -> bool:
    """Whether control can go on to the next instruction: a branch may also hang on a predicate among its operands
    (``BRA P1, `(.L)``) or on lanes that differ (``BRA.DIV``)."""
    if instruction.opcode not in _ENDS_BLOCK or instruction.opcode in _CALLS:
        return True
    if instruction.guard is not None:
        return True
    conditions = instruction.operands[:-1] if instruction.opcode in _BRANCHES else instruction.operands
    predicated = any(isinstance(o, Not) or (isinstance(o, Register) and "P" in o.name) for o in conditions)
    return predicated or not {"DIV", "CONV"}.isdisjoint(instruction.modifiers)


def ends_block(instruction: Instruction) -> bool:
    """Whether a block ends behind this instruction."""
    return instruction.opcode in _ENDS_BLOCK


def callee(instruction: Instruction) -> str | None:
    """The function that a call names; None for other instructions and for calls through a register."""
    if instruction.opcode not in _CALLS:
        return None
    last = instruction.operands[-1] if instruction.operands else None
    return last.name if isinstance(last, Symbol) else None


def _block_starts(function: Function) -> list[int]:
    starts = {0, *function.labels.values()}
    size = len(function.body)
    starts.update(index + 1 for index, i in enumerate(function.body) if i.opcode in _ENDS_BLOCK and index + 1 < size)
    return sorted(starts)


def _reconvergence(function: Function, blocks: tuple[Block, ...]) -> tuple[int, ...]:
    """The immediate post-dominator; but inside ``BSSY B, label``, lanes that do not exit meet at that label at last."""
    meets = list(immediate_post_dominators([(b.successors, b.leaves) for b in blocks]))
    block_of = {block.first: number for number, block in enumerate(blocks)}
    regions = []
    for number, block in enumerate(blocks):
        for instruction in function.body[block.first : block.first + block.count]:
            label = instruction.operands[-1] if instruction.opcode == "BSSY" and instruction.operands else None
            if isinstance(label, Symbol) and label.name in function.labels:
                regions.append((number, block_of[function.labels[label.name]]))
    for first, target in regions:
        for number in _region(blocks, first, target, meets):
            meets[number] = target
    return tuple(meets)


def _region(blocks: tuple[Block, ...], first: int, target: int, meets: list[int]) -> list[int]:
    """Blocks between a BSSY and its label that have no meeting place of their own, because some lanes exit there."""
    seen = graph.reached((first,), lambda number: blocks[number].successors, (target,))
    meeting = any(target in blocks[number].successors for number in (*seen, target))
    return [number for number in seen if meets[number] == END] if meeting else []


def callees(function: Function, functions: dict[str, Function]) -> dict[int, tuple[str, ...]]:
    """Per call of a function, by the index of its instruction, the functions that it can run.

    A call through a register can run every function that returns; one of a name outside of ``functions`` none of them.
    """
    made: dict[int, tuple[str, ...]] = {}
    for index, instruction in enumerate(function.body):
        if instruction.opcode not in _CALLS or callee(instruction) in function.labels:
            continue
        first = instruction.operands[0] if instruction.operands else None
        if isinstance(first, Symbol):
            made[index] = (first.name,) if first.name in functions else ()
        else:
            made[index] = tuple(name for name, f in functions.items() if any(i.opcode == "RET" for i in f.body))
    return made


def reached(function: Function, functions: dict[str, Function]) -> list[Function]:
    """A function and all that it can call, in the order of the listing: what one launch of it runs."""

    def called(name: str) -> Iterator[str]:
        return chain.from_iterable(callees(functions[name], functions).values())

    found = graph.reached((function.name,), called)
    return [f for name, f in functions.items() if name in found]
