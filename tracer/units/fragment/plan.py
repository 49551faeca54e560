"""ldmatrix, stmatrix, movmatrix, wmma.load and wmma.store as calls of the fragment unit.

Source: PTX ISA 9.0, 9.7.14.3, 9.7.14.4 (wmma) and 9.7.15.5.15 and after (ldmatrix, stmatrix, movmatrix).
"""

from rayplay.ptx.ir import Instruction, Operand
from rayplay.ptx.isa.types import elements
from rayplay.tracer.units.call import Place, UnitCall, UnknownFormError, pack
from rayplay.tracer.units.matrix.plan import WMMA_SHAPES, matrix_shape, wmma_registers
from rayplay.tracer.units.matrix.types import (
    ACC_F64,
    ACCUMULATORS,
    B1,
    F64,
    S4,
    TYPES,
    U4,
    Shape,
    accumulator_registers,
)
from rayplay.tracer.units.modifiers import Modifiers

LOAD_ROWS, STORE_ROWS, TRANSPOSE, LOAD_FRAGMENT, STORE_FRAGMENT = range(5)
ADDRESS_INPUT, STRIDE_INPUT, DATA_INPUT = 0, 1, 2
SHARED = ("shared", "shared::cta")
COUNTS = {"x1": 1, "x2": 2, "x4": 4}
FRAGMENT_A, FRAGMENT_B, FRAGMENT_C = range(3)


def plan_ldmatrix(i: Instruction, place: Place) -> UnitCall:
    """``ldmatrix.sync.aligned.m8n8.xN{.trans}{.shared}.b16``."""
    settings, count = _rows(i, LOAD_ROWS)
    targets = elements(i.operands[0])
    _check(len(targets), count, i)
    return UnitCall("fragment", settings, ((i.operands[1], 64),), tuple((t, 32) for t in targets), True)


def plan_stmatrix(i: Instruction, place: Place) -> UnitCall:
    """``stmatrix.sync.aligned.m8n8.xN{.trans}{.shared}.b16``."""
    settings, count = _rows(i, STORE_ROWS)
    sources = elements(i.operands[1])
    _check(len(sources), count, i)
    return UnitCall("fragment", settings, ((i.operands[0], 64), None, *_data(sources, 32)), (), True)


def plan_movmatrix(i: Instruction, place: Place) -> UnitCall:
    """``movmatrix.sync.aligned.m8n8.trans.b16``."""
    Modifiers(i, ("sync", "aligned", "m8n8", "trans", "b16")).finish()
    target, source = i.operands
    return UnitCall("fragment", pack((TRANSPOSE, 3)), (None, None, (source, 32)), ((target, 32),), False)


def _rows(i: Instruction, action: int) -> tuple[int, int]:
    """Settings and matrices of ldmatrix and stmatrix."""
    words = Modifiers(i, ("sync", "aligned", "m8n8", "b16"))
    count = COUNTS[words.one(tuple(COUNTS))]
    transposed, shared = words.flag("trans"), bool(words.take(SHARED, None))
    words.finish()
    return pack((action, 3), (shared, 1), (transposed, 1), (count, 4)), count


def plan_wmma(i: Instruction, place: Place) -> UnitCall:
    """``wmma.load.{a,b,c}`` and ``wmma.store.d``; ``.sync{.aligned}.LAYOUT.SHAPE{.SPACE}.TYPE``, stride in elements."""
    is_load = i.modifiers[:1] == ("load",)
    words = Modifiers(i, ("load" if is_load else "store", "sync"))
    words.flag("aligned")  # PTX 6.0 leaves it out
    what = words.one(("a", "b", "c") if is_load else ("d",))
    shape, name = matrix_shape(words)
    column_major = words.one(("row", "col")) == "col"
    type_name = words.one((*TYPES, *ACCUMULATORS))
    shared, _ = bool(words.take(SHARED, None)), words.take(("global",), None)
    words.finish()
    operands = list(i.operands)
    registers, address = (operands[0], operands[1]) if is_load else (operands[1], operands[0])
    data = elements(registers)
    part, count, kind, width = _fragment(what, shape, name, type_name, column_major)
    _check(len(data), count, i)
    settings = pack(
        (LOAD_FRAGMENT if is_load else STORE_FRAGMENT, 3), (shared, 1), (column_major, 1), (part, 2),
        (shape.m // 8, 3), (shape.n // 8, 3), (shape.k, 8), (kind, 4), (count, 4), (len(operands) > 2, 1),
    )  # fmt: skip
    stride: tuple[Operand, int] | None = (operands[2], 32) if len(operands) > 2 else None
    if is_load:
        return UnitCall("fragment", settings, ((address, 64), stride), tuple((t, width) for t in data), True)
    return UnitCall("fragment", settings, ((address, 64), stride, *_data(data, width)), (), True)


def _fragment(
    what: str, shape: Shape, name: str, type_name: str, column_major: bool
) -> tuple[int, int, int, int]:  # fmt: skip
    """Which fragment it is, its registers, the code of its type, and the width of a register."""
    if what in "ab":
        kind = TYPES.get(type_name, -1)
        if name not in WMMA_SHAPES.get(kind, ()):
            raise UnknownFormError
        if kind in (S4, U4, B1) and column_major != (what == "b"):
            raise UnknownFormError
        count = wmma_registers(shape.m if what == "a" else shape.n, shape.k, kind)
        return FRAGMENT_A if what == "a" else FRAGMENT_B, count, kind, 64 if kind == F64 else 32
    kind = ACCUMULATORS.get(type_name, -1)
    if kind < 0 or name not in {each for names in WMMA_SHAPES.values() for each in names}:
        raise UnknownFormError
    return FRAGMENT_C, accumulator_registers(shape, kind), kind, 64 if kind == ACC_F64 else 32


def _data(sources: tuple[Operand | None, ...], width: int) -> list[tuple[Operand, int]]:
    if None in sources:
        raise UnknownFormError
    return [(source, width) for source in sources if source is not None]


def _check(found: int, wanted: int, i: Instruction) -> None:
    if found != wanted:
        raise UnknownFormError(f"{i.full_opcode} with {found} registers, which must be {wanted}")
