"""suld, sust, sured and suq as calls of the surface unit. Source: PTX ISA 9.0, 9.7.11 (surface instructions)."""

from rayplay.ptx.ir import Instruction, Operand, Texture
from rayplay.ptx.isa.types import elements
from rayplay.tracer.memory.image_record import GEOMETRIES
from rayplay.tracer.units.call import Inputs, Place, UnitCall, UnknownFormError, check_registers, given, number_of
from rayplay.tracer.units.settings import Settings
from rayplay.tracer.units.texture.plan import coordinates, indirect, queried

LOAD, STORE, REDUCE, QUERY = range(4)
CLAMPS = ("trap", "clamp", "zero")
REDUCTIONS = ("add", "min", "max", "and", "or")
REDUCED_TYPES = ("u32", "s32", "u64", "s64", "b32")
QUERIES = ("width", "height", "depth", "channel_data_type", "channel_order", "array_size", "memory_layout")
SURFACE = Settings(
    "SURFACE", "action[2] formatted geometry[3] bytes[4] lanes[3] clamp[2] operation[3] kind[3] indirect query[3]"
)
DATA = 8  # first input slot of the data to store


def plan_suld(i: Instruction, place: Place) -> UnitCall:
    """``suld.b.GEOMETRY{.CACHE}{.VECTOR}.TYPE{.CLAMP}``."""
    settings, inputs, width = _access(i, LOAD, place, i.operands[1])
    targets = elements(i.operands[0])
    check_registers(targets, i.form.lanes, i)
    return UnitCall("surface", settings, tuple(inputs), tuple((t, width) for t in targets), True)


def plan_sust(i: Instruction, place: Place) -> UnitCall:
    """``sust.b``, and ``sust.p`` of whole texels."""
    settings, inputs, width = _access(i, STORE, place, i.operands[0])
    sources = elements(i.operands[1])
    check_registers(sources, i.form.lanes, i)
    return UnitCall("surface", settings, (*inputs, *given(sources, width)), (), True)


def _access(i: Instruction, action: int, place: Place, surface: Operand) -> tuple[int, Inputs, int]:
    """Settings, inputs up to the data, and the width of a register of data."""
    type_name = i.form.type
    settings = SURFACE.pack(
        action=action, bytes=int(type_name[1:]) // 8, lanes=i.form.lanes, **_common(i, surface, place)
    )
    return settings, _coordinates(i, surface), 64 if type_name == "b64" else 32


def _common(i: Instruction, surface: Operand, place: Place) -> dict[str, int]:
    """Fields of every access; ``.p`` counts texels and converts them."""
    return {
        "formatted": i.form.variant == "p", "geometry": number_of(i.form.geometry, GEOMETRIES[:5]),
        "clamp": number_of(i.form.bounds or "trap", CLAMPS), "indirect": indirect(_name(surface), place),
    }  # fmt: skip


def plan_sured(i: Instruction, place: Place) -> UnitCall:
    """``sured.b.OPERATION.GEOMETRY.TYPE{.CLAMP}``, and ``sured.p``, whose first coordinate counts texels."""
    kind = number_of(i.form.type, REDUCED_TYPES)
    width = 64 if i.form.type in ("u64", "s64") else 32
    inputs = _coordinates(i, i.operands[0])
    inputs.append((i.operands[1], width))
    settings = SURFACE.pack(
        action=REDUCE, bytes=width // 8, lanes=1, operation=number_of(i.form.operation, REDUCTIONS), kind=kind,
        **_common(i, i.operands[0], place),
    )  # fmt: skip
    return UnitCall("surface", settings, tuple(inputs), (), True)


def plan_suq(i: Instruction, place: Place) -> UnitCall:
    """``suq.QUERY.b32``."""
    handle = queried(i.operands[1])
    settings = SURFACE.pack(action=QUERY, query=number_of(i.form.variant, QUERIES), indirect=indirect(handle, place))
    return UnitCall("surface", settings, ((handle, 64),), ((i.operands[0], 32),), False)


def _name(surface: Operand) -> Operand:
    if not isinstance(surface, Texture) or surface.sampler is not None:
        raise UnknownFormError
    return surface.name


def _coordinates(i: Instruction, surface: Operand) -> Inputs:
    """Handle and coordinates in their slots, up to where data begins."""
    assert isinstance(surface, Texture)
    return coordinates(surface, i.form.geometry)[:DATA]
