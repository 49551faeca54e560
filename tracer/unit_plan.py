"""Which unit does an instruction, and what of it (``tracer.unit``): the plans of all units by opcode."""

from collections.abc import Callable

from rayplay.ptx.ir import Instruction
from rayplay.tracer import copy_plan, fragment_plan, matrix_plan, surface_plan, texture_plan
from rayplay.tracer.unit import Place, UnitCall

Plan = Callable[[Instruction, Place], UnitCall | None]


def _plan_wmma(i: Instruction, place: Place) -> UnitCall:
    """wmma.mma multiplies; wmma.load and wmma.store move fragments."""
    return matrix_plan.plan_wmma(i, place) if i.modifiers[:1] == ("mma",) else fragment_plan.plan_wmma(i, place)


PLANS: dict[str, Plan] = {
    "tex": texture_plan.plan_tex, "tld4": texture_plan.plan_tld4, "txq": texture_plan.plan_txq,
    "suld": surface_plan.plan_suld, "sust": surface_plan.plan_sust, "sured": surface_plan.plan_sured,
    "suq": surface_plan.plan_suq,
    "mma": matrix_plan.plan_mma, "wmma": _plan_wmma,
    "ldmatrix": fragment_plan.plan_ldmatrix, "stmatrix": fragment_plan.plan_stmatrix,
    "movmatrix": fragment_plan.plan_movmatrix,
    "cp": copy_plan.plan_cp,
}  # fmt: skip
