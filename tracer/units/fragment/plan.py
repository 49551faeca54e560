"""ldmatrix, stmatrix, movmatrix, wmma.load and wmma.store as calls of the fragment unit.

Source: PTX ISA 9.0, 9.7.14.3, 9.7.14.4 (wmma) and 9.7.15.5.15 and after (ldmatrix, stmatrix, movmatrix).
"""

from rayplay.ptx.ir import Instruction, Operand
from rayplay.ptx.isa.types import elements
from rayplay.tracer.units.call import Place, UnitCall, UnknownFormError, check_registers, given
from rayplay.tracer.units.matrix import types
from rayplay.tracer.units.matrix.plan import WMMA_SHAPES, matrix_shape, wmma_registers
from rayplay.tracer.units.matrix.types import Shape, accumulator_registers
from rayplay.tracer.units.settings import Settings

LOAD_ROWS, STORE_ROWS, TRANSPOSE, LOAD_FRAGMENT, STORE_FRAGMENT = range(5)
ADDRESS_INPUT, STRIDE_INPUT, DATA_INPUT = 0, 1, 2
FRAGMENT_A, FRAGMENT_B, FRAGMENT_C = range(3)


FRAGMENT = Settings("FRAGMENT", "action[3] shared transposed part[2] m8[3] n8[3] k[8] kind[4] count[4] has_stride")


def plan_ldmatrix(i: Instruction, place: Place) -> UnitCall:
    """``ldmatrix.sync.aligned.m8n8.xN{.trans}{.shared}.b16``."""
    targets = elements(i.operands[0])
    settings = _rows(i, LOAD_ROWS, targets)
    return UnitCall("fragment", settings, ((i.operands[1], 64),), tuple((t, 32) for t in targets), True)


def plan_stmatrix(i: Instruction, place: Place) -> UnitCall:
    """``stmatrix.sync.aligned.m8n8.xN{.trans}{.shared}.b16``."""
    sources = elements(i.operands[1])
    settings = _rows(i, STORE_ROWS, sources)
    return UnitCall("fragment", settings, ((i.operands[0], 64), None, *given(sources, 32)), (), True)


def plan_movmatrix(i: Instruction, place: Place) -> UnitCall:
    """``movmatrix.sync.aligned.m8n8.trans.b16``."""
    target, source = i.operands
    return UnitCall("fragment", FRAGMENT.pack(action=TRANSPOSE), (None, None, (source, 32)), ((target, 32),), False)


def _rows(i: Instruction, action: int, data: tuple[Operand | None, ...]) -> int:
    """Settings of ldmatrix and stmatrix."""
    form = i.form
    if form.shape != "m8n8":
        raise UnknownFormError
    check_registers(data, form.matrices, i)
    shared = form.space == "shared"
    return FRAGMENT.pack(action=action, shared=shared, transposed=form.transposed, count=form.matrices)


def plan_wmma(i: Instruction, place: Place) -> UnitCall:
    """``wmma.load.{a,b,c}`` and ``wmma.store.d``; ``.sync.aligned.LAYOUT.SHAPE{.SPACE}.TYPE``, stride in elements."""
    form, is_load = i.form, i.form.key == "wmma.load"
    shape, name = matrix_shape(i)
    column_major = "col" in form.layouts
    if form.cluster:
        raise UnknownFormError
    operands = list(i.operands)
    registers, address = (operands[0], operands[1]) if is_load else (operands[1], operands[0])
    data = elements(registers)
    part, count, kind, width = _fragment(form.variant, shape, name, form.elements[-1], column_major)
    check_registers(data, count, i)
    settings = FRAGMENT.pack(
        action=LOAD_FRAGMENT if is_load else STORE_FRAGMENT, shared=form.space == "shared",
        transposed=column_major, part=part, m8=shape.m // 8, n8=shape.n // 8, k=shape.k, kind=kind, count=count,
        has_stride=len(operands) > 2,
    )  # fmt: skip
    stride: tuple[Operand, int] | None = (operands[2], 32) if len(operands) > 2 else None
    if is_load:
        return UnitCall("fragment", settings, ((address, 64), stride), tuple((t, width) for t in data), True)
    return UnitCall("fragment", settings, ((address, 64), stride, *given(data, width)), (), True)


def _fragment(
    which: str, shape: Shape, name: str, type_name: str, column_major: bool
) -> tuple[int, int, int, int]:  # fmt: skip
    """Which fragment it is, its registers, the code of its type, and the width of a register."""
    if which in "ab":
        if name not in WMMA_SHAPES.get(type_name, ()):
            raise UnknownFormError
        if type_name in ("s4", "u4", "b1") and column_major != (which == "b"):
            raise UnknownFormError
        kind = types.TYPES[type_name]
        count = wmma_registers(shape.m if which == "a" else shape.n, shape.k, kind)
        return FRAGMENT_A if which == "a" else FRAGMENT_B, count, kind, 64 if type_name == "f64" else 32
    kind = types.ACCUMULATORS.get(type_name, -1)
    if kind < 0 or name not in {each for names in WMMA_SHAPES.values() for each in names}:
        raise UnknownFormError
    return FRAGMENT_C, accumulator_registers(shape, kind), kind, 64 if type_name == "f64" else 32
