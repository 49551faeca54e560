"""suld, sust, sured and suq as calls of the surface unit. Source: PTX ISA 9.0, 9.7.11 (surface instructions)."""

from rayplay.ptx.ir import Instruction, Operand, Texture
from rayplay.ptx.isa.types import elements
from rayplay.tracer.memory.image_record import GEOMETRIES
from rayplay.tracer.units.call import Place, UnitCall, UnknownFormError, pack
from rayplay.tracer.units.modifiers import Modifiers
from rayplay.tracer.units.texture.plan import COORDINATE, HANDLE, LAYER, Inputs, indirect, queried

LOAD, STORE, REDUCE, QUERY = range(4)
CLAMPS = ("trap", "clamp", "zero")
LANES = {"scalar": 1, "v2": 2, "v4": 4}
GEOMETRY_WORDS = ("1d", "2d", "3d", "a1d", "a2d")
REDUCTIONS = ("add", "min", "max", "and", "or")
REDUCED_TYPES = ("u32", "s32", "u64", "s64", "b32")
FORMATTED_TYPES = ("b32",)
CACHE_WORDS = ("ca", "cg", "cs", "cv", "wb", "wt")
QUERIES = ("width", "height", "depth", "channel_data_type", "channel_order", "array_size", "memory_layout")
COORDINATES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2}
DATA = 8  # first input slot of what is stored


def plan_suld(i: Instruction, place: Place) -> UnitCall:
    """``suld.b.GEOMETRY{.CACHE}{.VECTOR}.TYPE{.CLAMP}``."""
    settings, geometry, _, lanes, type_name = _access(i, LOAD, place, i.operands[1])
    inputs = _coordinates(i.operands[1], geometry)
    targets = elements(i.operands[0])
    _check(len(targets), lanes, i)
    width = 64 if type_name == "b64" else 32
    return UnitCall("surface", settings, tuple(inputs), tuple((t, width) for t in targets), True)


def plan_sust(i: Instruction, place: Place) -> UnitCall:
    """``sust.b``, and ``sust.p`` of whole texels."""
    settings, geometry, _, lanes, type_name = _access(i, STORE, place, i.operands[0])
    inputs = _coordinates(i.operands[0], geometry)
    sources = elements(i.operands[1])
    _check(len(sources), lanes, i)
    for source in sources:
        if source is None:
            raise UnknownFormError
        inputs.append((source, 64 if type_name == "b64" else 32))
    return UnitCall("surface", settings, tuple(inputs), (), True)


def _access(i: Instruction, action: int, place: Place, surface: Operand) -> tuple[int, str, bool, int, str]:
    """Settings, geometry, whether texels are converted, elements of the vector, and their type."""
    words = Modifiers(i, ())
    formatted = words.one(("b", "p") if action == STORE else ("b",)) == "p"
    geometry = words.one(GEOMETRY_WORDS)
    words.take(CACHE_WORDS, None)
    lanes = LANES[words.one(("v2", "v4"), "scalar")]
    type_name = words.one(FORMATTED_TYPES if formatted else ("b8", "b16", "b32", "b64"))
    clamp = words.one(CLAMPS, "trap")
    words.finish()
    element_bytes = int(type_name[1:]) // 8
    if not formatted and element_bytes * lanes > 16:
        raise UnknownFormError
    settings = pack(
        (action, 2), (formatted, 1), (GEOMETRIES.index(geometry), 3), (element_bytes, 4), (lanes, 3),
        (CLAMPS.index(clamp), 2), (0, 3), (0, 3), (indirect(_name(surface), place), 1),
    )  # fmt: skip
    return settings, geometry, formatted, lanes, type_name


def plan_sured(i: Instruction, place: Place) -> UnitCall:
    """``sured.b.OPERATION.GEOMETRY.TYPE{.CLAMP}``, and ``sured.p``, whose first coordinate counts texels."""
    words = Modifiers(i, ())
    formatted = words.one(("b", "p")) == "p"
    operation = words.one(REDUCTIONS)
    geometry = words.one(GEOMETRY_WORDS)
    type_name = words.one(REDUCED_TYPES)
    clamp = words.one(CLAMPS, "trap")
    words.finish()
    wide = type_name in ("u64", "s64")
    if (wide and operation not in ("add", "min", "max")) or (
        type_name == "b32" and not formatted and operation == "add"
    ):
        raise UnknownFormError
    inputs = _coordinates(i.operands[0], geometry)
    inputs.append((i.operands[1], 64 if wide else 32))
    settings = pack(
        (REDUCE, 2), (formatted, 1), (GEOMETRIES.index(geometry), 3), (8 if wide else 4, 4), (1, 3),
        (CLAMPS.index(clamp), 2), (REDUCTIONS.index(operation), 3), (REDUCED_TYPES.index(type_name), 3),
        (indirect(_name(i.operands[0]), place), 1),
    )  # fmt: skip
    return UnitCall("surface", settings, tuple(inputs), (), True)


def plan_suq(i: Instruction, place: Place) -> UnitCall:
    """``suq.QUERY.b32``."""
    words = Modifiers(i, ("b32",))
    number = QUERIES.index(words.one(QUERIES))
    words.finish()
    handle = queried(i.operands[1])
    settings = pack((QUERY, 2), (number, 3), (indirect(handle, place), 1))
    return UnitCall("surface", settings, ((handle, 64),), ((i.operands[0], 32),), False)


def _name(surface: Operand) -> Operand:
    if not isinstance(surface, Texture) or surface.sampler is not None:
        raise UnknownFormError
    return surface.name


def _coordinates(surface: Operand, geometry: str) -> Inputs:
    """Handle and coordinates in their slots, up to where data begins."""
    assert isinstance(surface, Texture)
    given = list(elements(surface.coordinates))
    layered, count = geometry[0] == "a", COORDINATES[geometry]
    if not count + layered <= len(given) <= 4 or None in given:
        raise UnknownFormError(f"{geometry} with {len(given)} coordinates")
    inputs: Inputs = [None] * DATA
    inputs[HANDLE] = (surface.name, 64)
    for slot, operand in zip(
        ([LAYER] if layered else []) + [COORDINATE + axis for axis in range(count)], given, strict=False
    ):
        assert operand is not None
        inputs[slot] = (operand, 32)
    return inputs


def _check(found: int, wanted: int, i: Instruction) -> None:
    if found != wanted:
        raise UnknownFormError(f"{i.full_opcode} with {found} registers, which must be {wanted}")
