"""Which unit does an instruction, and what of it (``tracer.units.call``): the plans of all units by opcode."""

from collections.abc import Callable

from rayplay.ptx.ir import Instruction
from rayplay.tracer.units.call import Place, UnitCall
from rayplay.tracer.units.copy import plan as copy_plan
from rayplay.tracer.units.fragment import plan as fragment_plan
from rayplay.tracer.units.matrix import plan as matrix_plan
from rayplay.tracer.units.surface import plan as surface_plan
from rayplay.tracer.units.texture import plan as texture_plan

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
