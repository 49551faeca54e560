"""The units by name and the plans of their calls by opcode (``tracer.units.call``)."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from rayplay.ptx.ir import Instruction
from rayplay.tracer.units.call import NUMBERS, UNITS, Place, UnitCall
from rayplay.tracer.units.copy import plan as copy_plan
from rayplay.tracer.units.fragment import plan as fragment_plan
from rayplay.tracer.units.matrix import plan as matrix_plan
from rayplay.tracer.units.surface import plan as surface_plan
from rayplay.tracer.units.texture import plan as texture_plan

Plan = Callable[[Instruction, Place], UnitCall | None]


def _plan_wmma(i: Instruction, place: Place) -> UnitCall:
    """wmma.mma multiplies; wmma.load and wmma.store move fragments."""
    return matrix_plan.plan_wmma(i, place) if i.form.key == "wmma.mma" else fragment_plan.plan_wmma(i, place)


PLANS: dict[str, Plan] = {
    "tex": texture_plan.plan_tex, "tld4": texture_plan.plan_tld4, "txq": texture_plan.plan_txq,
    "suld": surface_plan.plan_suld, "sust": surface_plan.plan_sust, "sured": surface_plan.plan_sured,
    "suq": surface_plan.plan_suq,
    "mma": matrix_plan.plan_mma, "wmma": _plan_wmma,
    "ldmatrix": fragment_plan.plan_ldmatrix, "stmatrix": fragment_plan.plan_stmatrix,
    "movmatrix": fragment_plan.plan_movmatrix,
    "cp": copy_plan.plan_cp,
}  # fmt: skip


def unit_function(name: str) -> Any:
    """The compiled function of a unit; it is imported, and so compiled, when a program first needs it."""
    return getattr(import_module(f"rayplay.tracer.units.{name}.unit"), f"{name}_unit")


SERVED = {
    "texture": ("tex", "tld4", "txq"),
    "surface": ("suld", "sust", "sured", "suq"), "matrix": ("mma", "wmma"),
    "fragment": ("ldmatrix", "stmatrix", "movmatrix", "wmma"), "copy": ("cp",),
    "bounds": ("ld", "ldu", "st", "atom", "red", "mbarrier"),
}  # fmt: skip


def unit_addresses(opcodes: set[str]) -> np.ndarray:
    """int64[units]: code of the units that these opcodes need, 0 for the others."""
    table = np.zeros(len(UNITS), np.int64)
    for name, served in SERVED.items():
        if not opcodes.isdisjoint(served):
            table[NUMBERS[name]] = unit_function(name).address
    return table
