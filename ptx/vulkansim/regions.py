"""The choice of the shaders that run, between ``trace_ray`` and ``end_trace_ray``: a trace call makes it.

Each version of the translator writes its own loops there (none, ``intersection_exit`` alone, with ``run_intersection``
and the rows of the intersection table, with or without any-hit shaders). All of them only count candidates and compare
numbers of shaders; the trace call of the tracer finds the same programs through the shader binding table.
"""

from dataclasses import dataclass

from rayplay.ptx.vulkansim.opcodes import DISPATCH
from rayplay.ptx.vulkansim.reader import Shader, Statement

HELPERS = ("mov", "add", "setp", "bra", "ld", "and", "or", "not")
"""Ordinary opcodes of the loops: their results must not be used elsewhere."""


@dataclass(frozen=True, slots=True)
class Region:
    """Index of a ``trace_ray`` and of its ``end_trace_ray``; of the call of a miss shader where that is the last."""

    first: int
    last: int


def find_regions(shader: Shader) -> list[Region]:
    """The regions of a shader. Raises ``UserError`` where one is not closed, or does more than choose shaders."""
    regions: list[Region] = []
    first: int | None = None
    missed: int | None = None  # the guarded call of a miss shader, which ends a region of the first version
    for index, statement in enumerate(shader.body):
        if statement.opcode == "trace_ray":
            if first is not None and missed is None:
                raise shader.refuse(statement, "end_trace_ray must stand before the next trace_ray")
            if first is not None and missed is not None:
                regions.append(Region(first, missed))
            first, missed = index, None
        elif statement.opcode == "end_trace_ray":
            if first is None:
                raise shader.refuse(statement, "trace_ray must stand before end_trace_ray")
            regions.append(Region(first, index))
            first, missed = None, None
        elif statement.opcode == "call_miss_shader" and statement.guard and first is not None:
            missed = index
    if first is not None and missed is None:
        raise shader.refuse(shader.body[first], "end_trace_ray must stand after trace_ray")
    if first is not None and missed is not None:
        regions.append(Region(first, missed))
    _check(shader, regions)
    return regions


def _check(shader: Shader, regions: list[Region]) -> None:
    inside = {index: number for number, r in enumerate(regions) for index in range(r.first + 1, r.last + 1)}
    made: set[str] = set()
    for index in inside:
        statement = shader.body[index]
        family = statement.opcode.partition(".")[0]
        if statement.opcode not in DISPATCH and family not in HELPERS and statement.opcode != "end_trace_ray":
            raise shader.refuse(statement, f"'{statement.opcode}' must not stand between trace_ray and end_trace_ray")
        if statement.opcode != "bra" and not statement.opcode.startswith("call_"):
            made |= set(statement.operands[:1])
    for index, statement in enumerate(shader.body):
        if statement.opcode == "bra":
            _check_branch(shader, index, statement, inside)
        used = {operand.strip("![] ").partition("+")[0].strip() for operand in statement.operands}
        if index not in inside and (lost := sorted((used | {statement.guard.lstrip("!")}) & made)):
            raise shader.refuse(statement, f"'{lost[0]}' must not be used outside: it chooses a ray's shaders")


def _check_branch(shader: Shader, index: int, statement: Statement, inside: dict[int, int]) -> None:
    target = shader.labels.get(statement.operands[0]) if statement.operands else None
    if target is None:
        raise shader.refuse(statement, "the branch must lead to a label of the file")
    if inside.get(index) != inside.get(target):
        raise shader.refuse(statement, "a branch must not lead into or out of trace_ray to end_trace_ray")
